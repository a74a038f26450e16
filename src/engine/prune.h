/* Takes away what retention lets go (engine/retention.h): whole segments with their chunks, tail entries, and the
 * front of the segment or entry that the cut falls into, which stays stored until compaction but is read no more. In
 * the same transaction every sink that is overtaken gets a gap in its log. */
#ifndef TIDE_ENGINE_PRUNE_H
#define TIDE_ENGINE_PRUNE_H

#include "engine/work.h"

struct tide_prune_request {
  bool dry_run;      /* look only */
  int64_t max_bytes; /* stored bytes to take away before it stops; at least one segment with rows goes */
};

/* A sink that holds rows back. */
struct tide_prune_held {
  char *sink;
  int64_t rows;
  int64_t partitions;
};

/* A row of the future that keeps those behind it. */
struct tide_prune_future {
  char *partition;
  int64_t since;
  int64_t at; /* in retention_by's unit; ms when it is the time of ingest */
};

enum { TIDE_PRUNE_FUTURE_LISTED = 10 };

/* What was done, or with dry_run would be. All zero before; tide_prune_result_clear after. */
struct tide_prune_result {
  int64_t rows; /* live ones that went */
  int64_t partitions;
  int64_t segments; /* that went whole */
  int64_t stored_bytes;
  int64_t gaps; /* log rows */
  int64_t gap_rows;
  int64_t held_rows; /* past the limits, but held */
  struct tide_prune_held *held;
  size_t nheld;
  size_t held_cap;
  int64_t nfuture;
  struct tide_prune_future future[TIDE_PRUNE_FUTURE_LISTED]; /* the first of them */
  bool more;                                                 /* stopped at max_bytes */
  struct tide_failures failures;
};

/* Prunes all partitions, piece by piece. A damaged one goes into the failures and does not stop the others; any other
 * error ends the call, and what was committed stays. Nothing is written when nothing may go. */
void tide_prune(struct tide_dataset *ds, const struct tide_prune_request *request, struct tide_prune_result *result,
                struct tide_err *err);
void tide_prune_result_clear(struct tide_prune_result *result);

#endif
