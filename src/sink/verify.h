/* Reads back what a sink delivered and compares it with the export log: each object that a batch of the log wrote is
 * there, has the size that was logged, and its encoded rows have the hash that was: it covers their number, order and
 * every value, and no more than the format's hash_object does (of a Parquet file: pages and schema, but not the
 * statistics and offsets of its footer). Then what else of this log lies in the sink's folders. Nothing is written, and
 * nothing of SQLite's is open while the target works; memory does not grow with the log or the archive. */
#ifndef TIDE_SINK_VERIFY_H
#define TIDE_SINK_VERIFY_H

#include "base/buf.h"
#include "engine/dataset.h"
#include "sink/scheme.h"
#include "store/sink_row.h"

/* How many a list names, of those that it counts. */
#ifdef TIDE_TEST_HOOKS
enum { TIDE_VERIFY_LIST_MAX = 3 };
#else
enum { TIDE_VERIFY_LIST_MAX = 100 };
#endif

/* JSON values with commas between. */
struct tide_verify_list {
  struct tide_buf json;
  int64_t count;
};

/* What was found; all zero is nothing. Several calls add to one: tide_verified_clear. */
struct tide_verified {
  int64_t objects; /* of the log that were looked for, and the bytes of them that were read */
  int64_t bytes;
  int64_t unhashed;                /* of which the log has no hash, or in a format not known here: only size counts */
  struct tide_verify_list missing; /* names */
  struct tide_verify_list damaged; /* {"object","expected","found"} */
  struct tide_verify_list extra;   /* {"object","bytes"} and "batch" when it is that open batch's */
  int64_t leftovers;               /* of extra, those of no open batch: left by a batch that was given up */
  int64_t trimmed_batches;         /* whose log rows housekeeping took, and their bytes: those are not compared */
  int64_t trimmed_bytes;
  int64_t trimmed_objects; /* in the folders, from before the log begins */
  int64_t first_id;        /* the log row from which on objects were compared; 0: none */
};
void tide_verified_clear(struct tide_verified *verified);

/* Whether all that the log says is there, and no more. */
bool tide_verified_is_ok(const struct tide_verified *verified);

/* Verifies a sink. A sink without a target, or whose target keeps nothing to read, is SQLITE_ERROR. An object that
 * cannot be read counts as damaged, with the reason; when ever more cannot be, the last reason is the error. */
void tide_verify(struct tide_conn *conn, const struct tide_schemes *schemes, const char *schema,
                 const struct tide_sink *sink, struct tide_verified *verified, struct tide_err *err);

#endif
