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

/* Seals one partition after another within one transaction, so that what is compiled, read and set up for one serves
 * the others. Life: open, partition any number of times, close. */
struct tide_sealer;

/* NULL on failure. The cache is made right. */
struct tide_sealer *tide_sealer_open(struct tide_dataset *ds, struct tide_err *err);

/* Seals all tail rows of a partition, or those that the run (NULL: there is none) has encoded, for where there are such
 * the tail has none; then the run's other rows. The run is not looked at any more when the call fails: an error may
 * have freed it. Rows that are gone are dropped. The cache is right after it. result (NULL: not asked for) is added to.
 * Does nothing when err is set, and sealer may then be NULL. */
void tide_sealer_partition(struct tide_sealer *sealer, int64_t partition, const struct tide_run *run,
                           struct tide_seal_result *result, struct tide_err *err);
/* The same of what a run has encoded alone. */
void tide_sealer_packed(struct tide_sealer *sealer, const struct tide_run *run, struct tide_err *err);

/* Stores the counters; when err is set, forgets the cache instead. NULL is fine. */
void tide_sealer_close(struct tide_sealer *sealer, struct tide_err *err);

/* One partition by itself. */
void tide_seal_partition(struct tide_dataset *ds, int64_t partition, const struct tide_run *run, struct tide_err *err);

/* Seals the tails of partitions as pieces of the housekeeping of a function, `what`, many of them in one transaction
 * when they are small. One that has no tail by then is nothing. Damage is entered in the failures. */
void tide_seal_pieces(struct tide_dataset *ds, const char *what, const int64_t *partitions, size_t count,
                      struct tide_seal_result *result, struct tide_failures *failures, struct tide_err *err);

/* Seals the whole tail, rows in memory included, partition by partition. */
void tide_seal_all(struct tide_dataset *ds, struct tide_seal_result *result, struct tide_err *err);

/* Whether so much of one partition in the tail (and in memory) is to be sealed. */
bool tide_seal_is_due(const struct tide_dataset *ds, int64_t rows, int64_t bytes);

/* What autoflush does at a commit: seals the partitions written since `since` that are due; then, when the tail is
 * beyond its limits (engine/txn.h), those that have most of it, until it is an eighth below them. */
void tide_seal_due(struct tide_dataset *ds, int64_t since, struct tide_err *err);

#endif
