#include "store/unique.h"

#include "base/stmt.h"
#include "base/stmt_pool.h"
#include "store/bind.h"

enum { UNIQUE_VALUE = 1, UNIQUE_PARTITION, UNIQUE_SINCE };

/* A conflict of the other key, (partition, since), is none that the user made. */
sqlite3_stmt *tide_unique_add_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(names.pool, db, err,
                             "INSERT INTO " TIDE_TABLE("unique") "(value, partition, since) VALUES(?1, ?2, ?3)"
                                                                 " ON CONFLICT(value) DO NOTHING",
                             names.schema, names.dataset);
}

bool tide_unique_add(sqlite3_stmt *stmt, struct tide_names names, const struct tide_val *value, int64_t partition,
                     int64_t since, struct tide_err *err) {
  if (tide_err_is_set(err))
    return false;
  tide_bind_value(stmt, UNIQUE_VALUE, value, err);
  sqlite3_bind_int64(stmt, UNIQUE_PARTITION, partition);
  sqlite3_bind_int64(stmt, UNIQUE_SINCE, since);
  tide_stmt_run(stmt, err);
  if ((err->rc & 0xff) == SQLITE_CONSTRAINT) {
    tide_err_clear(err);
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_unique has a row of since %lld, which was never given",
                 names.dataset, names.dataset, (long long)since);
  }
  return !tide_err_is_set(err) && sqlite3_changes(sqlite3_db_handle(stmt)) > 0;
}

sqlite3_stmt *tide_unique_remove_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(names.pool, db, err,
                             "DELETE FROM " TIDE_TABLE("unique") " WHERE partition = ?2 AND since = ?3", names.schema,
                             names.dataset);
}

void tide_unique_remove(sqlite3_stmt *stmt, int64_t partition, int64_t since, struct tide_err *err) {
  if (tide_err_is_set(err))
    return;
  sqlite3_bind_int64(stmt, UNIQUE_PARTITION, partition);
  sqlite3_bind_int64(stmt, UNIQUE_SINCE, since);
  tide_stmt_run(stmt, err);
}

/* By the value alone: that its key is there is what is asked. */
sqlite3_stmt *tide_unique_has_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(
      names.pool, db, err,
      "SELECT 1 FROM " TIDE_TABLE("unique") " WHERE value = ?1 AND +partition = ?2 AND +since = ?3", names.schema,
      names.dataset);
}

bool tide_unique_has(sqlite3_stmt *stmt, const struct tide_val *value, int64_t partition, int64_t since,
                     struct tide_err *err) {
  if (tide_err_is_set(err))
    return false;
  tide_bind_value(stmt, UNIQUE_VALUE, value, err);
  sqlite3_bind_int64(stmt, UNIQUE_PARTITION, partition);
  sqlite3_bind_int64(stmt, UNIQUE_SINCE, since);
  const bool has = tide_stmt_row(stmt, err);
  sqlite3_reset(stmt);
  return has;
}

void tide_unique_forget(sqlite3 *db, struct tide_names names, int64_t partition, int64_t upto, struct tide_err *err) {
  tide_stmt_exec(db, err, "DELETE FROM " TIDE_TABLE("unique") " WHERE partition = %lld AND since <= %lld", names.schema,
                 names.dataset, (long long)partition, (long long)upto);
}

int64_t tide_unique_last_since(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_int(db, 0, err, "SELECT max(since) FROM " TIDE_TABLE("unique"), names.schema, names.dataset);
}
