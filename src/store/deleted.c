#include "store/deleted.h"

#include "base/stmt.h"
#include "base/stmt_pool.h"

sqlite3_stmt *tide_deleted_add_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(names.pool, db, err, "INSERT OR IGNORE INTO " TIDE_TABLE("deleted") " VALUES(?1, ?2)",
                             names.schema, names.dataset);
}

bool tide_deleted_add(sqlite3_stmt *stmt, int64_t since, int64_t partition, struct tide_err *err) {
  if (tide_err_is_set(err))
    return false;
  sqlite3_bind_int64(stmt, 1, since);
  sqlite3_bind_int64(stmt, 2, partition);
  tide_stmt_run(stmt, err);
  return !tide_err_is_set(err) && sqlite3_changes(sqlite3_db_handle(stmt)) > 0;
}

sqlite3_stmt *tide_deleted_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(
      names.pool, db, err,
      "SELECT since FROM " TIDE_TABLE("deleted") " WHERE partition = ?1 AND since BETWEEN ?2 AND ?3 ORDER BY since",
      names.schema, names.dataset);
}

size_t tide_deleted_mark(sqlite3_stmt *stmt, int64_t partition, const struct tide_batch *batch, uint8_t *live,
                         struct tide_err *err) {
  size_t marked = 0;
  size_t row = 0;
  if (batch->rows == 0 || tide_err_is_set(err))
    return 0;
  tide_stmt_bind_ints(stmt, (const int64_t[]){partition, batch->since[0], batch->since[batch->rows - 1]}, 3);
  while (tide_stmt_row(stmt, err)) {
    const int64_t since = sqlite3_column_int64(stmt, 0);
    while (row < batch->rows && batch->since[row] < since)
      row++;
    if (row < batch->rows && batch->since[row] == since) {
      live[row] = 0;
      marked++;
    }
  }
  return marked;
}

sqlite3_stmt *tide_deleted_has_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(names.pool, db, err,
                             "SELECT 1 FROM " TIDE_TABLE("deleted") " WHERE partition = ?1 AND since BETWEEN ?2 AND ?3",
                             names.schema, names.dataset);
}

bool tide_deleted_has(sqlite3_stmt *stmt, int64_t partition, int64_t first, int64_t last, struct tide_err *err) {
  if (tide_err_is_set(err))
    return false;
  tide_stmt_bind_ints(stmt, (const int64_t[]){partition, first, last}, 3);
  const bool has = tide_stmt_row(stmt, err);
  sqlite3_reset(stmt);
  return has;
}

void tide_deleted_forget(sqlite3 *db, struct tide_names names, int64_t partition, int64_t above, int64_t upto,
                         struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err, "DELETE FROM " TIDE_TABLE("deleted") " WHERE since > ?1 AND since <= ?2 AND partition = ?3",
      names.schema, names.dataset);
  tide_stmt_bind_ints(stmt, (const int64_t[]){above, upto, partition}, 3);
  tide_stmt_run(stmt, err);
  tide_stmt_pool_give(names.pool, stmt);
}
