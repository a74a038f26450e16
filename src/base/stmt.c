#include "base/stmt.h"

void tide_stmt_error(sqlite3 *db, int rc, struct tide_err *err) {
  if (rc == SQLITE_NOMEM)
    tide_err_nomem(err);
  else
    tide_err_set(err, rc, "%s", sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare(sqlite3 *db, struct tide_err *err, const char *format, va_list args) {
  if (tide_err_is_set(err))
    return NULL;
  sqlite3_stmt *stmt = NULL;
  char *sql = sqlite3_vmprintf(format, args);
  if (sql == NULL) {
    tide_err_nomem(err);
    return NULL;
  }
  int rc = sqlite3_prepare_v3(db, sql, -1, 0, &stmt, NULL);
  sqlite3_free(sql);
  if (rc != SQLITE_OK)
    tide_stmt_error(db, rc, err);
  return stmt;
}

sqlite3_stmt *tide_stmt_prepare(sqlite3 *db, struct tide_err *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  sqlite3_stmt *stmt = prepare(db, err, format, args);
  va_end(args);
  return stmt;
}

bool tide_stmt_row(sqlite3_stmt *stmt, struct tide_err *err) {
  if (tide_err_is_set(err) || stmt == NULL)
    return false;
  int rc = sqlite3_step(stmt);
  if (rc == SQLITE_ROW)
    return true;
  if (rc != SQLITE_DONE)
    tide_stmt_error(sqlite3_db_handle(stmt), rc, err);
  sqlite3_reset(stmt);
  return false;
}

void tide_stmt_run(sqlite3_stmt *stmt, struct tide_err *err) {
  while (tide_stmt_row(stmt, err)) {
  }
}

void tide_stmt_exec(sqlite3 *db, struct tide_err *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  sqlite3_stmt *stmt = prepare(db, err, format, args);
  va_end(args);
  tide_stmt_run(stmt, err);
  sqlite3_finalize(stmt);
}

int64_t tide_stmt_int(sqlite3 *db, int64_t fallback, struct tide_err *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  sqlite3_stmt *stmt = prepare(db, err, format, args);
  va_end(args);
  int64_t value = fallback;
  if (tide_stmt_row(stmt, err) && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
    value = sqlite3_column_int64(stmt, 0);
  sqlite3_finalize(stmt);
  return value;
}
