#include "engine/once.h"

#include "base/stmt_pool.h"
#include "store/unique.h"

int tide_once_enter(struct tide_dataset *ds, const struct tide_val *values, int64_t partition, int64_t since,
                    struct tide_err *err) {
  const struct tide_names names = tide_dataset_names(ds);
  const int64_t column = ds->config.options.unique;
  if (!names.unique || values[column].type == TIDE_VAL_NULL || tide_err_is_set(err))
    return err->rc;
  sqlite3_stmt *stmt = tide_unique_add_prepare(ds->conn->db, names, err);
  if (!tide_unique_add(stmt, names, &values[column], partition, since, err))
    tide_err_set(err, SQLITE_CONSTRAINT_UNIQUE, "UNIQUE constraint failed: %s.%s", ds->name,
                 ds->spec->columns[column].name);
  tide_stmt_pool_give(ds->pool, stmt);
  return err->rc;
}

void tide_once_leave(struct tide_dataset *ds, int64_t partition, int64_t since, struct tide_err *err) {
  const struct tide_names names = tide_dataset_names(ds);
  if (!names.unique || tide_err_is_set(err))
    return;
  sqlite3_stmt *stmt = tide_unique_remove_prepare(ds->conn->db, names, err);
  tide_unique_remove(stmt, partition, since, err);
  tide_stmt_pool_give(ds->pool, stmt);
}
