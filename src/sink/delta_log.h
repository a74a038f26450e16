/* The log of a Delta table (delta-io/delta, PROTOCOL.md, "Delta Log Entries"): commits as objects
 * "<table>/_delta_log/<version in 20 digits>.json", one JSON line an action, versions without a gap. An object of that
 * name is only ever made anew, which is what makes a commit atomic. */
#ifndef TIDE_SINK_DELTA_LOG_H
#define TIDE_SINK_DELTA_LOG_H

#include "sink/delta_table.h"
#include "sink/target.h"

/* The name of an object of the log, for tide_free. suffix: ".json", say. */
char *tide_delta_log_name(const char *folder, int64_t version, const char *suffix, struct tide_err *err);

/* Takes the commits behind table->version, one name after the other until there is none: the log is listed only when it
 * is read from its start. What is known of a log that is not there (any more) is forgotten, and it begins anew.
 * SQLITE_CORRUPT when a version is missing. On failure the table is of no use. Returns 0 or the code. */
int tide_delta_log_read(struct tide_target *target, const char *folder, struct tide_delta_table *table,
                        struct tide_err *err);

/* Puts a whole object; false, without an error, when there is one of its name. `object` says all but the name.
 * is_commit: it is put as an exclusive one, for two commits of one version are of different batches, and one in the
 * place of the other would lose a batch's file; whoever makes a version's checkpoint, it says the same. */
bool tide_delta_log_put(struct tide_target *target, const struct tide_object *object, const char *name, bool is_commit,
                        const struct tide_buf *bytes, struct tide_err *err);

#endif
