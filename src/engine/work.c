#include "engine/work.h"

#include <string.h>

#include "base/mem.h"

void tide_work_begin(struct tide_dataset *ds, const char *what, struct tide_work *ret_work, struct tide_err *err) {
  sqlite3 *db = ds->conn->db;
  *ret_work = (struct tide_work){.ds = ds};
  tide_unit_begin(db, ds->schema, what, &ret_work->unit, err);
  if (!tide_err_is_set(err))
    tide_catalog_join_transaction(db, tide_dataset_names(ds), err);
  tide_txn_flush(ds, err);
  tide_dataset_refresh(ds, err);
}

void tide_work_end(struct tide_work *work, struct tide_err *err) {
  struct tide_dataset *ds = work->ds;
  tide_unit_end(&work->unit, err);
  if (tide_err_is_set(err))
    tide_dataset_forget(ds);
}

/* ---- what failed ---- */

void tide_failures_take(struct tide_failures *failures, const char *partition, size_t size, struct tide_err *err) {
  struct tide_err none = {0};
  if ((err->rc & 0xff) != SQLITE_CORRUPT)
    return;
  if (failures->count < TIDE_FAILURES_LISTED) {
    struct tide_failure *failure = &failures->list[failures->count];
    failure->partition = tide_copy_text(partition, size, &none);
    if (failure->partition == NULL) {
      *err = none;
      return;
    }
    memcpy(failure->message, err->msg, sizeof failure->message);
  }
  failures->count++;
  tide_err_clear(err);
}

void tide_failures_clear(struct tide_failures *failures) {
  for (int i = 0; i < TIDE_FAILURES_LISTED; i++)
    tide_free(failures->list[i].partition);
  *failures = (struct tide_failures){0};
}
