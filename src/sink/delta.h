/* A sink's folder as a Delta Lake table: "<dataset>" (of a generation above 0 "<dataset>.g<N>") below the target is
 * one, and every batch is one commit of it. Written against delta-io/delta, PROTOCOL.md, for readers of version 1 and
 * writers of version 2, with no features.
 *
 * A commit has an add of the batch's object and a txn that says how far the batch's sink and partition have come:
 * appId "<log id>/<sink>/<partition>/<generation>", version the batch's until. So a batch that is committed already is
 * known, whatever happened before its ack: a retry is one commit, not two. Commits are made by put-if-absent, and
 * whoever comes second reads what came between and takes the next version.
 *
 * Others may work on the table too, as long as its protocol stays one that we know: what they add, remove and change is
 * read before every commit. Columns are only ever added to its schema.
 *
 * Life: create, commit any number of batches, destroy. What is known of the table stays from one commit to the next, so
 * that only the first one reads it as a whole; the others ask whether its last version is still there, and for the one
 * behind it. A commit that fails leaves nothing known.
 *
 * Every 10 commits, or of a table with more than 1,000 files every hundredth of their number, but at least every 100, a
 * checkpoint is made (delta_checkpoint.h), "_last_checkpoint" points to it, and the kept copy (delta_kept.h) is made
 * anew; in a table from which others have removed files, the copy alone, at every commit. Commits and checkpoints are
 * never deleted. The first commit reads the kept copy but for its list of files, and the commits since, and of files
 * only those since that copy are known; a checkpoint holds the list twice in memory, compressed (some 50 bytes a file
 * each). */
#ifndef TIDE_SINK_DELTA_H
#define TIDE_SINK_DELTA_H

#include "sink/delta_schema.h"
#include "sink/target.h"

struct tide_delta_add {
  struct tide_object object; /* the batch's Parquet object, which is there: its name, and whose it is */
  int64_t size;              /* bytes of the object */
  int64_t rows;
  const char *stats; /* what the encoder's put_stats says of it; NULL: the number of rows alone is known */
  struct tide_delta_columns columns;
  const struct tide_val *partition_values; /* of the partition columns, in partition_by's order */
  const char *sink;
  const char *partition;
  int64_t generation;
  int64_t until;
  int64_t now_ms; /* the times in the commit: no bytes of two tries are ever compared */
};

struct tide_delta;

/* The target stays the caller's, and is there for as long. NULL when memory runs out. */
struct tide_delta *tide_delta_create(struct tide_target *target, struct tide_err *err);
void tide_delta_destroy(struct tide_delta *delta); /* NULL is fine */

/* Commits a batch, of any table of the target, unless it is committed already, and makes a checkpoint when it is time
 * for one. On failure it is not known which of these were done, and the same call again does the rest. *ret_altered is
 * set when a partition value is not what it is in the file (delta_meta.h). SQLITE_CONSTRAINT with a sentence when the
 * table is not ours, needs what we do not know, or has a column of another type. Returns 0 or the code. */
int tide_delta_commit(struct tide_delta *delta, const struct tide_delta_add *add, bool *ret_altered,
                      struct tide_err *err);

#endif
