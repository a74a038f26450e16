#include "sink/json_each.h"

#include <string.h>

#include "base/buf.h"
#include "base/stmt.h"
#include "sink/json.h"

static sqlite3 *open_connection(struct tide_err *err) {
  sqlite3 *db = NULL;
  int rc = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
  if (rc == SQLITE_OK)
    return db;
  tide_err_set(err, rc, "cannot open a connection to read JSON: %s", sqlite3_errmsg(db));
  sqlite3_close(db);
  return NULL;
}

static bool is_strict(const char *json, char bracket, struct tide_err *err) {
  struct tide_buf compact = {0};
  bool is = tide_json_put_strict(&compact, json, strlen(json), err) && compact.data[0] == (unsigned char)bracket;
  tide_buf_clear(&compact);
  return is;
}

bool tide_json_each_open(struct tide_json_each *each, const char *json, char bracket, struct tide_err *err) {
  *each = (struct tide_json_each){0};
  if (!is_strict(json, bracket, err))
    return false;
  each->db = open_connection(err);
  if (each->db != NULL)
    each->stmt = tide_stmt_prepare(each->db, err, "SELECT key, value, type FROM json_each(?1)");
  int rc = each->stmt != NULL ? sqlite3_bind_text(each->stmt, 1, json, -1, SQLITE_STATIC) : SQLITE_OK;
  if (rc != SQLITE_OK)
    tide_stmt_error(each->db, rc, err);
  return !tide_err_is_set(err);
}

void tide_json_each_close(struct tide_json_each *each) {
  sqlite3_finalize(each->stmt);
  sqlite3_finalize(each->inner);
  sqlite3_close(each->db);
  *each = (struct tide_json_each){0};
}

bool tide_json_each_next(struct tide_json_each *each, struct tide_err *err) {
  return tide_stmt_row(each->stmt, err);
}

/* "" when it is NULL, or when there is no memory for it, which err then says. */
static const char *text_of(struct tide_json_each *each, int column, struct tide_err *err) {
  const char *text = tide_stmt_text(each->stmt, column, NULL, err);
  return text != NULL ? text : "";
}

const char *tide_json_each_key(struct tide_json_each *each, struct tide_err *err) {
  return text_of(each, 0, err);
}

const char *tide_json_each_text(struct tide_json_each *each, struct tide_err *err) {
  return text_of(each, 1, err);
}

const char *tide_json_each_type(struct tide_json_each *each, struct tide_err *err) {
  return text_of(each, 2, err);
}

int64_t tide_json_each_integer(struct tide_json_each *each) {
  return sqlite3_column_int64(each->stmt, 1);
}

const char *tide_json_each_field(struct tide_json_each *each, const char *name, const char **ret_type,
                                 struct tide_err *err) {
  *ret_type = "";
  if (strcmp(tide_json_each_type(each, err), "object") != 0)
    return "";
  if (each->inner == NULL)
    each->inner = tide_stmt_prepare(each->db, err, "SELECT value, type FROM json_each(?1) WHERE key = ?2");
  if (each->inner == NULL)
    return "";
  sqlite3_reset(each->inner);
  int rc = sqlite3_bind_value(each->inner, 1, sqlite3_column_value(each->stmt, 1));
  if (rc == SQLITE_OK)
    rc = sqlite3_bind_text(each->inner, 2, name, -1, SQLITE_TRANSIENT);
  if (rc != SQLITE_OK)
    tide_stmt_error(each->db, rc, err);
  if (!tide_stmt_row(each->inner, err))
    return "";
  const char *type = tide_stmt_text(each->inner, 1, NULL, err);
  const char *text = tide_stmt_text(each->inner, 0, NULL, err);
  *ret_type = type != NULL ? type : "";
  return text != NULL ? text : "";
}
