#include "shared.h"

#include "base/mem.h"

struct tide_shared *tide_shared_create(sqlite3 *db, struct tide_err *err) {
  struct tide_shared *shared = tide_alloc_zero(1, sizeof *shared, err);
  if (shared == NULL)
    return NULL;
  shared->refs = 1;
  shared->conn = tide_conn_create(db, err);
  if (shared->conn != NULL)
    return shared;
  tide_free(shared);
  return NULL;
}

struct tide_shared *tide_shared_ref(struct tide_shared *shared) {
  shared->refs++;
  return shared;
}

void tide_shared_unref(struct tide_shared *shared) {
  if (--shared->refs > 0)
    return;
  tide_conn_unref(shared->conn);
  tide_free(shared);
}
