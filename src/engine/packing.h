/* Encodes the rows of a big transaction while it goes on: a run that has a frame's rows, and is bound for a segment,
 * gives them to a writer of its own, so that memory holds encoded rows and no more than a frame's of others for each
 * partition. Segments are written when they are full, the rest with whatever else is in memory (engine/txn.h). All zero
 * is one that has not begun. */
#ifndef TIDE_ENGINE_PACKING_H
#define TIDE_ENGINE_PACKING_H

#include "engine/runs.h"
#include "segment/segment.h"

struct tide_dataset;

enum {
  TIDE_PACKING_FROM = 512 << 10,   /* a run of fewer bytes than that may still go to the tail */
  TIDE_PACKING_BYTES_MAX = 4 << 20 /* one of more is not waited for to have a frame's rows */
};

/* What the writers of a transaction share. */
struct tide_packing {
  struct tide_frame_encoder *encoder;
  int64_t level;          /* the encoder's */
  struct tide_batch rows; /* a frame's, on their way */
};

/* Whether a run is to be encoded before another row is added to it. */
bool tide_packing_is_due(const struct tide_dataset *ds, const struct tide_run *run);

/* Encodes a run's rows, and writes the segments that are full. A partition with rows in the tail, which are older,
 * begins with a segment of those and the run's. After a failure only a rollback is left, and the run may be gone.
 * Changes last_insert_rowid. */
void tide_packing_take(struct tide_dataset *ds, struct tide_run *run, struct tide_err *err);

/* Writes what is encoded of some runs, the largest first, until rows take no more memory than `bytes` or too little is
 * encoded to be worth it. Failures as above. */
void tide_packing_shrink(struct tide_dataset *ds, size_t bytes, struct tide_err *err);

void tide_packing_clear(struct tide_packing *packing);

#endif
