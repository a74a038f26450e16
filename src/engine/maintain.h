/* Housekeeping that a timer calls: seals the tail, prunes, compacts where it pays, trims the export log, a bounded
 * amount of each, so that a call takes seconds however much there is to do; and notes which sinks have all there is. */
#ifndef TIDE_ENGINE_MAINTAIN_H
#define TIDE_ENGINE_MAINTAIN_H

#include "engine/compact.h"
#include "engine/prune.h"
#include "engine/seal.h"

enum {
  TIDE_MAINTAIN_SEAL_PARTITIONS = 10000, /* at 30 microseconds for a small one */
  TIDE_MAINTAIN_SEAL_BYTES = 64 << 20,   /* of the tail, uncompressed; one partition is sealed in any case */
  TIDE_MAINTAIN_PRUNE_BYTES = 256 << 20, /* stored bytes taken away */
  TIDE_MAINTAIN_COMPACT_BYTES = 8 << 20, /* stored bytes read */
  TIDE_MAINTAIN_TRIM_ROWS = 10000        /* of the export log */
};
/* Rows of the export log as old as that are trimmed, but for the last of each sink and partition. */
#define TIDE_MAINTAIN_LOG_AGE_MS ((int64_t)30 * 24 * 3600 * 1000)

struct tide_maintain_result {
  struct tide_seal_result sealed;
  struct tide_prune_result pruned;
  struct tide_compact_result compacted;
  int64_t trimmed;
  bool more;                     /* a bound was reached */
  struct tide_failures failures; /* of sealing; the others have their own */
};

/* All zero before, tide_maintain_result_clear after. Damaged partitions go into the failures; any other error ends the
 * call, and what was committed stays. */
void tide_maintain(struct tide_dataset *ds, struct tide_maintain_result *result, struct tide_err *err);
void tide_maintain_result_clear(struct tide_maintain_result *result);

#endif
