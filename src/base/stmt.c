#include "base/stmt.h"

#include <string.h>

#include "base/mem.h"

void tide_stmt_error(sqlite3 *db, int rc, struct tide_err *err) {
  if (rc == SQLITE_NOMEM)
    tide_err_nomem(err);
  else if ((rc & 0xff) == SQLITE_BUSY && sqlite3_extended_errcode(db) == SQLITE_BUSY_SNAPSHOT)
    tide_err_set(err, SQLITE_BUSY,
                 "this statement or transaction reads an older state than the newest write: end it and try again");
  else if (rc == SQLITE_TOOBIG)
    tide_err_set(err, rc,
                 "a value, or rows that are stored as one, are too big for the host's limit of %d bytes: raise"
                 " SQLITE_LIMIT_LENGTH, or write fewer rows at a time",
                 sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1));
  else if (rc == SQLITE_ERROR && strncmp(sqlite3_errmsg(db), "not authorized", strlen("not authorized")) == 0)
    tide_err_set(err, SQLITE_AUTH, "%s", sqlite3_errmsg(db)); /* of a function; of all else SQLite gives the code */
  else
    tide_err_set(err, rc, "%s", sqlite3_errmsg(db));
}

/* The first table with a schema that a statement names, quotes and all, and its size; "" when there is none. */
static const char *first_table(const char *sql, int *ret_size) {
  static const char between[] = "\".\"";
  const char *at = strstr(sql, between), *begin = at;
  while (begin != NULL && begin > sql && begin[-1] != '"')
    begin--;
  const char *end = at != NULL ? strchr(at + sizeof between - 1, '"') : NULL;
  *ret_size = end != NULL && begin > sql ? (int)(end - begin) + 2 : 0;
  return *ret_size > 0 ? begin - 1 : "";
}

/* What our statements read is ours: a table that is not there was lost, and one without a column was changed. One that
 * was kept finds that out when it runs. */
static void own_error(sqlite3 *db, int rc, const char *sql, struct tide_err *err) {
  static const char missing[] = "no such table: ", lacking[] = "no such column: ";
  const char *message = sqlite3_errmsg(db);
  const bool unlike = strncmp(message, lacking, sizeof lacking - 1) == 0 || strstr(message, " columns but ") != NULL;
  int size = 0;
  const char *table = first_table(sql, &size);
  if (rc == SQLITE_ERROR && strncmp(message, missing, sizeof missing - 1) == 0)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "table %s is missing", message + sizeof missing - 1);
  else if (rc == SQLITE_ERROR && unlike)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "%s, in a statement on %.*s: a table of Tidemark is not as it was made",
                 message, size, table);
  else
    tide_stmt_error(db, rc, err);
}

static sqlite3_stmt *prepare(sqlite3 *db, bool as_is, struct tide_err *err, const char *format, va_list args) {
  if (tide_err_is_set(err))
    return NULL;
  sqlite3_stmt *stmt = NULL;
  char *sql = sqlite3_vmprintf(format, args);
  if (sql == NULL) {
    tide_err_nomem(err);
    return NULL;
  }
  int rc = as_is ? sqlite3_prepare(db, sql, -1, &stmt, NULL) : sqlite3_prepare_v3(db, sql, -1, 0, &stmt, NULL);
  if (rc != SQLITE_OK)
    own_error(db, rc, sql, err);
  sqlite3_free(sql);
  return stmt;
}

sqlite3_stmt *tide_stmt_vprepare(sqlite3 *db, struct tide_err *err, const char *format, va_list args) {
  return prepare(db, false, err, format, args);
}

sqlite3_stmt *tide_stmt_prepare_as_is(sqlite3 *db, struct tide_err *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  sqlite3_stmt *stmt = prepare(db, true, err, format, args);
  va_end(args);
  return stmt;
}

sqlite3_stmt *tide_stmt_prepare(sqlite3 *db, struct tide_err *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  sqlite3_stmt *stmt = tide_stmt_vprepare(db, err, format, args);
  va_end(args);
  return stmt;
}

/* A host's authorizer that answers SQLITE_IGNORE makes nothing of a write, and SQLite does not say so. */
static bool is_ignored_write(sqlite3_stmt *stmt) {
  static const char *const words[] = {"INSERT ", "UPDATE ", "DELETE ", "CREATE ", "ALTER ", "DROP "};
  if (!sqlite3_stmt_readonly(stmt))
    return false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strncmp(sqlite3_sql(stmt), words[i], strlen(words[i])) == 0)
      return true;
  }
  return false;
}

bool tide_stmt_row(sqlite3_stmt *stmt, struct tide_err *err) {
  if (tide_err_is_set(err) || stmt == NULL)
    return false;
  int rc = sqlite3_step(stmt);
  if (rc == SQLITE_ROW)
    return true;
  if (rc != SQLITE_DONE)
    own_error(sqlite3_db_handle(stmt), rc, sqlite3_sql(stmt), err);
  else if (is_ignored_write(stmt))
    tide_err_set(err, SQLITE_AUTH, "the host's authorizer ignores a change that is needed: %s", sqlite3_sql(stmt));
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
  sqlite3_stmt *stmt = tide_stmt_vprepare(db, err, format, args);
  va_end(args);
  tide_stmt_run(stmt, err);
  sqlite3_finalize(stmt);
}

int64_t tide_stmt_int(sqlite3 *db, int64_t fallback, struct tide_err *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  sqlite3_stmt *stmt = tide_stmt_vprepare(db, err, format, args);
  va_end(args);
  int64_t value = fallback;
  if (tide_stmt_row(stmt, err) && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
    if (tide_stmt_are_ints(stmt, 0, 1))
      value = sqlite3_column_int64(stmt, 0);
    else
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "a table has a value that is no integer where one is needed: %s",
                   sqlite3_sql(stmt));
  }
  sqlite3_finalize(stmt);
  return value;
}

const char *tide_stmt_text(sqlite3_stmt *stmt, int column, size_t *ret_size, struct tide_err *err) {
  const bool null =
      sqlite3_column_type(stmt, column) == SQLITE_NULL; /* asked first: a failed conversion turns it NULL */
  const char *text = (const char *)sqlite3_column_text(stmt, column);
  if (text == NULL && !null)
    tide_err_nomem(err);
  if (ret_size != NULL)
    *ret_size = text != NULL ? (size_t)sqlite3_column_bytes(stmt, column) : 0;
  return text;
}

char *tide_stmt_copy_text(sqlite3_stmt *stmt, int column, struct tide_err *err) {
  size_t size = 0;
  const char *text = tide_stmt_text(stmt, column, &size, err);
  return text != NULL ? tide_copy_text(text, size, err) : NULL;
}

bool tide_stmt_are_ints(sqlite3_stmt *stmt, int at, int count) {
  for (int i = at; i < at + count; i++) {
    if (sqlite3_column_type(stmt, i) != SQLITE_INTEGER)
      return false;
  }
  return true;
}

void tide_stmt_bind_ints(sqlite3_stmt *stmt, const int64_t *values, int count) {
  for (int i = 0; stmt != NULL && i < count; i++)
    sqlite3_bind_int64(stmt, i + 1, values[i]);
}

void tide_stmt_bind_texts(sqlite3_stmt *stmt, int at, const char *const *texts, int count, struct tide_err *err) {
  for (int i = 0; i < count && !tide_err_is_set(err); i++) {
    const int rc = sqlite3_bind_text(stmt, at + i, texts[i], -1, SQLITE_STATIC);
    if (rc != SQLITE_OK)
      tide_stmt_error(sqlite3_db_handle(stmt), rc, err);
  }
}
