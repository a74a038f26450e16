#include "store/bind.h"

#include "base/stmt.h"

void tide_bind_value(sqlite3_stmt *stmt, int at, const struct tide_val *value, struct tide_err *err) {
  int rc = SQLITE_OK;
  switch (value->type) {
  case TIDE_VAL_INT:
    rc = sqlite3_bind_int64(stmt, at, value->i);
    break;
  case TIDE_VAL_REAL:
    rc = sqlite3_bind_double(stmt, at, value->r);
    break;
  case TIDE_VAL_TEXT: /* of no bytes, p may be NULL, which SQLite would take for an SQL NULL */
    rc = sqlite3_bind_text64(stmt, at, value->n > 0 ? value->p : "", value->n, SQLITE_STATIC, SQLITE_UTF8);
    break;
  case TIDE_VAL_BLOB:
    rc = sqlite3_bind_blob64(stmt, at, value->n > 0 ? value->p : "", value->n, SQLITE_STATIC);
    break;
  default:
    rc = sqlite3_bind_null(stmt, at);
    break;
  }
  if (rc != SQLITE_OK)
    tide_stmt_error(sqlite3_db_handle(stmt), rc, err);
}
