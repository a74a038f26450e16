/* Compaction: rewrites runs of segments (engine/pick.h says which) without the rows that are gone, compressed harder.
 * Number, values, types and time of ingest of every other row stay. What DELETE took of the tail goes as well: a
 * partition with such rows there is sealed first. */
#ifndef TIDE_ENGINE_COMPACT_H
#define TIDE_ENGINE_COMPACT_H

#include "engine/work.h"

/* The level segments are rewritten at, unless the dataset's own is higher. 100,000 rows like the sample's (29 MB raw,
 * in 16 partitions), stored, with the CPU seconds of rewriting them and the memory that took:  3: 3.24 MB  6: 2.86,
 * 0.42 s, 17 MiB  9: 2.64, 0.59 s, 26 MiB  12: 2.61, 1.5 s, 38 MiB.  Reading takes the same time at all of them. The
 * write lock is held meanwhile. */
enum { TIDE_COMPACT_LEVEL = 9 };

enum { TIDE_COMPACT_BYTES = 64 << 20 }; /* a call's work when nothing else is asked for */

struct tide_compact_request {
  int64_t max_bytes; /* stored bytes of segments to rewrite; one run is done in any case */
  bool eager;        /* every run that is due, and the tail; otherwise runs that are worth it to a timer, which seals */
};

struct tide_compact_result {
  int64_t runs; /* a partition's tail counts as one, of no segments */
  int64_t segments_in;
  int64_t segments_out;
  int64_t rows;    /* rewritten */
  int64_t dropped; /* rows whose bytes are gone: deleted or pruned before */
  int64_t stored_in;
  int64_t stored_out;
  bool more; /* stopped at max_bytes with a run still due */
  struct tide_failures failures;
};

/* Rewrites the runs that are due, each in a transaction of its own, or in a savepoint of the one that is open. What was
 * done stays when a later run fails. A damaged partition is entered in the failures and left as it is; any other error
 * ends the call. With nothing due nothing is written. SQLITE_LOCKED when a cursor of this connection is open on the
 * dataset. The result is added to, also on error (tide_failures_clear it). */
void tide_compact(struct tide_dataset *ds, const struct tide_compact_request *request,
                  struct tide_compact_result *result, struct tide_err *err);

#endif
