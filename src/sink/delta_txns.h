/* How far the applications of a Delta table have come, in the order in which they first came, and each found by its
 * name. All zero is without any. */
#ifndef TIDE_SINK_DELTA_TXNS_H
#define TIDE_SINK_DELTA_TXNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tide_delta_txn {
  char *app;
  int64_t version;
  int64_t updated_ms; /* -1: it was not said */
};

struct tide_delta_txns {
  struct tide_delta_txn *all;
  size_t count;
  size_t cap;
  uint32_t *slots; /* by hash of the application: 1 + its place in all; 0: free */
  size_t nslots;   /* 0 or a power of two, at least twice count */
};

/* The one of an application, valid until the next put; NULL: it never was here. */
const struct tide_delta_txn *tide_delta_txns_find(const struct tide_delta_txns *txns, const char *app, size_t size);

/* Takes a txn in the place of its application's present one, if any. The name, without a NUL in it, is copied. */
void tide_delta_txns_put(struct tide_delta_txns *txns, const char *app, size_t size, int64_t version,
                         int64_t updated_ms, struct tide_err *err);

void tide_delta_txns_clear(struct tide_delta_txns *txns); /* all zero again */

#endif
