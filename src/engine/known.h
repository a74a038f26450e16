/* Partitions that were read lately, by their texts: what a reader that polls one need not ask the tables for again. All
 * zero is empty. It is a cache of a dataset's handle (dataset.h), forgotten with whatever may change a partition's
 * row. */
#ifndef TIDE_ENGINE_KNOWN_H
#define TIDE_ENGINE_KNOWN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A partition's row, as far as a read needs it. */
struct tide_known_partition {
  int64_t id;
  int64_t last_since; /* of its segments */
  int64_t pruned_upto;
};

struct tide_known_slot {
  char *text; /* NULL: free */
  size_t size;
  struct tide_known_partition partition;
};

struct tide_known {
  struct tide_known_slot *slots; /* TIDE_KNOWN_SLOTS of them, by hash of the text; NULL: none yet */
};

enum { TIDE_KNOWN_SLOTS = 256 };

void tide_known_forget(struct tide_known *known);

/* NULL when it is not known; until the next call of the others. */
const struct tide_known_partition *tide_known_find(const struct tide_known *known, const char *text, size_t size);

/* Puts it in the place of one that was there. */
void tide_known_add(struct tide_known *known, const char *text, size_t size,
                    const struct tide_known_partition *partition, struct tide_err *err);

#endif
