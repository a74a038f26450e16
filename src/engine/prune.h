/* Takes away what retention lets go (engine/retention.h) of all partitions (engine/prune_partition.h), many of them in
 * one transaction when they are small. */
#ifndef TIDE_ENGINE_PRUNE_H
#define TIDE_ENGINE_PRUNE_H

#include "engine/prune_partition.h"

/* Prunes all partitions, piece by piece. A damaged one goes into the failures and does not stop the others; any other
 * error ends the call, and what was committed stays. Nothing is written when nothing may go. */
void tide_prune(struct tide_dataset *ds, const struct tide_prune_request *request, struct tide_prune_result *result,
                struct tide_err *err);
void tide_prune_result_clear(struct tide_prune_result *result);

#endif
