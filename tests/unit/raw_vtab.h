/* A virtual table of one row whose column y is declared with the type that is the module's client data, and gives
 * *raw_value as it is: a value under an affinity that was never applied to it, which no ordinary table can hold. */
#ifndef TIDE_TESTS_RAW_VTAB_H
#define TIDE_TESTS_RAW_VTAB_H

#include <stdbool.h>
#include <stdio.h>

#include "base/sqlite.h"
#include "model/val.h"

static const struct tide_val *raw_value;

struct raw_cursor {
  sqlite3_vtab_cursor base;
  bool at_end;
};

static int raw_connect(sqlite3 *db, void *type, int argc, const char *const *argv, sqlite3_vtab **ret_table,
                       char **error) {
  (void)argc, (void)argv, (void)error;
  char sql[40];
  snprintf(sql, sizeof sql, "CREATE TABLE x(y %s)", (const char *)type);
  *ret_table = sqlite3_malloc(sizeof **ret_table);
  return sqlite3_declare_vtab(db, sql);
}

static int raw_disconnect(sqlite3_vtab *table) {
  sqlite3_free(table);
  return SQLITE_OK;
}

static int raw_best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
  (void)table, (void)info;
  return SQLITE_OK;
}

static int raw_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor) {
  (void)table;
  *ret_cursor = sqlite3_malloc(sizeof(struct raw_cursor));
  return SQLITE_OK;
}

static int raw_close(sqlite3_vtab_cursor *cursor) {
  sqlite3_free(cursor);
  return SQLITE_OK;
}

static int raw_filter(sqlite3_vtab_cursor *cursor, int index, const char *name, int argc, sqlite3_value **argv) {
  (void)index, (void)name, (void)argc, (void)argv;
  ((struct raw_cursor *)cursor)->at_end = false;
  return SQLITE_OK;
}

static int raw_next(sqlite3_vtab_cursor *cursor) {
  ((struct raw_cursor *)cursor)->at_end = true;
  return SQLITE_OK;
}

static int raw_eof(sqlite3_vtab_cursor *cursor) {
  return ((struct raw_cursor *)cursor)->at_end;
}

static int raw_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
  (void)cursor, (void)column;
  if (raw_value->type == TIDE_VAL_INT)
    sqlite3_result_int64(context, raw_value->i);
  else if (raw_value->type == TIDE_VAL_REAL)
    sqlite3_result_double(context, raw_value->r);
  else if (raw_value->type == TIDE_VAL_TEXT)
    sqlite3_result_text(context, raw_value->p, (int)raw_value->n, SQLITE_STATIC);
  else if (raw_value->type == TIDE_VAL_BLOB)
    sqlite3_result_blob(context, raw_value->p, (int)raw_value->n, SQLITE_STATIC);
  return SQLITE_OK;
}

static int raw_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid) {
  (void)cursor;
  *ret_rowid = 1;
  return SQLITE_OK;
}

static const sqlite3_module raw_module = {.xConnect = raw_connect,
                                          .xDisconnect = raw_disconnect,
                                          .xBestIndex = raw_best_index,
                                          .xOpen = raw_open,
                                          .xClose = raw_close,
                                          .xFilter = raw_filter,
                                          .xNext = raw_next,
                                          .xEof = raw_eof,
                                          .xColumn = raw_column,
                                          .xRowid = raw_rowid};

#endif
