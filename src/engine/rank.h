/* Where rows stand in one segment: how many come up to a since, and which since the n-th has. It decodes the frame that
 * is asked about and no other, so that a part of a segment is counted at the cost of its two ends. Rows that DELETE
 * took are counted like the others: for segments that have none. Life: open, ask any number of times, close at any
 * time. */
#ifndef TIDE_ENGINE_RANK_H
#define TIDE_ENGINE_RANK_H

#include "engine/dataset.h"
#include "model/batch.h"
#include "segment/segment.h"
#include "store/chunks.h"

struct tide_rank {
  struct tide_dataset *ds;
  const char *partition; /* its text, for messages */
  size_t partition_size;
  int64_t last_since; /* the segment's */
  struct tide_chunk_reader reader;
  struct tide_segment *segment;
  struct tide_batch batch; /* since of the frame at hand */
  size_t frame;            /* SIZE_MAX: none yet */
};

/* The caller has set ds and the partition's text, which live as long; all else is zero, and rank stays where it is.
 * Damage says dataset, partition and segment, also from the calls below. On failure only close is left. */
int tide_rank_open(struct tide_rank *rank, const struct tide_segment_row *row, struct tide_err *err);
void tide_rank_close(struct tide_rank *rank); /* all zero is fine */

/* The number of rows with a since of at most `since`. */
int64_t tide_rank_upto(struct tide_rank *rank, int64_t since, struct tide_err *err);

/* The since of the row with `before` others in front of it, which is below the segment's number of rows. */
int64_t tide_rank_since(struct tide_rank *rank, int64_t before, struct tide_err *err);

#endif
