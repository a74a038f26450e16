/* A copy of a Delta table's state that a sink keeps for itself, so that neither a commit nor a checkpoint reads the log
 * from its start: the object "<table>/_delta_log/_tidemark", which readers of the table pass over. It is a zstd stream
 * of lines; each but the first is an action as in a commit:
 *
 *   {"tidemark":{"version":12,"adds":3,"shared":false}}   what it is a copy of, and how many files follow
 *   {"protocol":{...}}
 *   {"metaData":{...}}
 *   {"txn":{...}}      one an application
 *   {"add":{...}}      one a file; none when shared
 *
 * It is replaced as a whole, and only ever saves work: when it is not there, or damaged, or of a table that is gone,
 * the log says the same. */
#ifndef TIDE_SINK_DELTA_KEPT_H
#define TIDE_SINK_DELTA_KEPT_H

#include "sink/delta_table.h"
#include "sink/target.h"

/* Fills a table that was only initialised with all but the list of files; it is left so when there is no copy that can
 * be read. Returns 0 or the code. folder: "<table>/_delta_log". */
int tide_delta_kept_read(struct tide_target *target, const char *folder, struct tide_delta_table *table,
                         struct tide_err *err);

/* Calls each for the object of every add action in the copy. false, without an error, when the copy is not the one of
 * that version (any more). */
bool tide_delta_kept_each(struct tide_target *target, const char *folder, int64_t version,
                          void (*each)(void *context, struct tide_json_slice add, struct tide_err *err), void *context,
                          struct tide_err *err);

/* The lines of a copy before those of its files; one of these. */
void tide_delta_kept_put_head(struct tide_buf *out, const struct tide_delta_table *table, struct tide_err *err);
void tide_delta_kept_put_add(struct tide_buf *out, struct tide_json_slice add, struct tide_err *err);

/* The object's name, for tide_free. */
char *tide_delta_kept_name(const char *folder, struct tide_err *err);

#endif
