/* The rows of several partitions as one run, ascending or descending in since: a heap of streams, the one whose row is
 * next on top. All zero is an empty one. */
#ifndef TIDE_ENGINE_MERGE_H
#define TIDE_ENGINE_MERGE_H

#include "engine/stream.h"

struct tide_merge {
  struct tide_stream **streams; /* those with rows left; each one's row at hand is its window's */
  size_t count;
  bool downwards;
};

void tide_merge_clear(struct tide_merge *merge);

/* Goes to the first row of the partitions. */
void tide_merge_start(struct tide_merge *merge, struct tide_stream_shared *shared, const int64_t *partitions,
                      size_t npartitions, struct tide_err *err);

/* Moves on from the row on top, which was read. After either the next one is on top; none is left when count is 0. */
void tide_merge_next(struct tide_merge *merge, struct tide_err *err);
/* The same when rows have moved. Look with tide_stream_shared_look first. */
void tide_merge_again(struct tide_merge *merge, struct tide_err *err);

#endif
