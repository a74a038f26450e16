/* Which segments of a partition to rewrite together. Pure: segments come in one after another, in order, and the first
 * run of them that is due comes out. It keeps no more of them than the run spans and one behind.
 *
 * From each segment on, those behind it are gathered while together they still fit into one: live rows within
 * segment_rows, their share of the raw bytes within segment_bytes. Segments without a live row weigh nothing.
 *
 *   dead    segments without a live row in front are due: they go, and nothing but their numbers is read
 *   merge   a gathering of two or more is due. Lazily, by a timer, only when its first has no more live rows and no
 *           more raw bytes than all behind it together: whenever a row that was there before is written again, its
 *           segment at least doubles, so that happens O(log) times, however often the timer calls
 *   clean   one by itself is due when DELETE took rows of it, for their bytes must go; or retention did: lazily, a
 *           quarter of them
 *   press   so is one that was written at a lower level; lazily only a settled one, which has no room for its newer
 *           neighbour or fills half a segment by itself
 *   next    otherwise the same is asked from the next segment on
 *
 * When nothing is due any more, nothing will be until rows come or go: two neighbours exceed the target together
 * (lazily: or the first outweighs what is behind it), no deleted row is left, and levels are reached. A segment bigger
 * than the target, whose option was lowered, is not due for that. */
#ifndef TIDE_ENGINE_PICK_H
#define TIDE_ENGINE_PICK_H

#include "store/catalog_segment.h"

/* Bounds of one run, whatever is in it: how many segments are remembered, and stored bytes behind the first. */
enum { TIDE_PICK_SEGMENTS_MAX = 1024, TIDE_PICK_STORED_MAX = 64 << 20 };

struct tide_pick_rules {
  int64_t segment_rows;  /* the target, as the next */
  int64_t segment_bytes; /* raw */
  int64_t level;         /* zstd's, that runs are written at */
  bool eager;
};

struct tide_pick_sum {
  int64_t live;
  int64_t raw;
  int64_t stored;
};

struct tide_pick {
  struct tide_pick_rules rules;
  struct tide_segment_row *window; /* those from head on are still to be decided on */
  size_t count;
  size_t cap;
  size_t head;
  size_t gathered;          /* window[head] to window[gathered - 1] fit into one segment */
  struct tide_pick_sum sum; /* of these */
};

/* A view of the picker's memory. */
struct tide_pick_run {
  const struct tide_segment_row *segments;
  size_t count;
  int64_t live;
  int64_t stored_bytes;
  int64_t revision; /* the highest of them */
};

void tide_pick_init(struct tide_pick *pick,
                    const struct tide_pick_rules *rules); /* the memory of an earlier use stays */

/* Adds the next segment of the partition (meta is not kept); NULL: there are no more. True: a run is due, and the
 * picker is to be initialized before its next use. */
bool tide_pick_add(struct tide_pick *pick, const struct tide_segment_row *segment, struct tide_pick_run *ret_run,
                   struct tide_err *err);
void tide_pick_clear(struct tide_pick *pick);

#endif
