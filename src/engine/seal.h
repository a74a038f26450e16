/* Sealing moves the rows of a partition from the tail, and from memory, into segments. */
#ifndef TIDE_ENGINE_SEAL_H
#define TIDE_ENGINE_SEAL_H

#include "engine/work.h"

/* What sealing did, added up. */
struct tide_seal_result {
  int64_t partitions;
  int64_t segments;
  int64_t rows;
  int64_t dropped; /* rows that were gone: deleted or pruned before */
  int64_t stored_bytes;
};

/* Seals all tail rows of a partition and then the run's (NULL: none), which is empty after it; rows that are
 * gone are dropped. The cache is right after it. ret_result may be NULL. */
void tide_seal_partition(struct tide_dataset *ds, int64_t partition, struct tide_tail_run *run,
                         struct tide_seal_result *ret_result, struct tide_err *err);

/* Seals a partition's tail as a piece of the housekeeping of a function, `what`; nothing when it has none by then.
 * Damage is entered in the failures. */
void tide_seal_piece(struct tide_dataset *ds, const char *what, int64_t partition, struct tide_seal_result *result,
                     struct tide_failures *failures, struct tide_err *err);

/* Seals the whole tail, rows in memory included, partition by partition. */
void tide_seal_all(struct tide_dataset *ds, struct tide_seal_result *ret_result, struct tide_err *err);

/* Whether so much of one partition in the tail (and in memory) is to be sealed. */
bool tide_seal_is_due(const struct tide_dataset *ds, int64_t rows, int64_t bytes);

/* What autoflush does at a commit: seals the partitions written since `since` that are due, then the oldest ones of
 * the tail until that is within the limits of engine/txn.h. */
void tide_seal_due(struct tide_dataset *ds, int64_t since, struct tide_err *err);

#endif
