/* What everything that one connection registers shares: its datasets, and the target schemes it knows. */
#ifndef TIDE_EXT_SHARED_H
#define TIDE_EXT_SHARED_H

#include "engine/dataset.h"
#include "sink/scheme.h"

struct tide_shared {
  int refs;
  struct tide_conn *conn;
  struct tide_schemes schemes;
};

struct tide_shared *tide_shared_create(sqlite3 *db, struct tide_err *err);
struct tide_shared *tide_shared_ref(struct tide_shared *shared);
void tide_shared_unref(struct tide_shared *shared);

#endif
