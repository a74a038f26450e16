#include "sink/filter_row.h"

#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"

struct row_table {
  sqlite3_vtab base;
  sqlite3 *db;
  struct tide_filter_row *row;
};

static int declare(sqlite3 *db, const struct tide_spec *spec) {
  struct tide_err err = {0};
  struct tide_buf sql = {0};
  tide_buf_put_string(&sql, "CREATE TABLE x(", &err);
  for (size_t i = 0; i < spec->ncolumns; i++)
    tide_buf_printf(&sql, &err, "\"%w\" %s,", spec->columns[i].name, tide_spec_declared_type(spec->columns[i].type));
  tide_buf_printf(&sql, &err, "\"%w\" INTEGER,\"%w\" TEXT,\"%w\" INTEGER)", tide_spec_hidden_name(TIDE_HIDDEN_SINCE),
                  tide_spec_hidden_name(TIDE_HIDDEN_PARTITION), tide_spec_hidden_name(TIDE_HIDDEN_INGESTED_AT));
  tide_buf_put_u8(&sql, '\0', &err);
  int rc = tide_err_is_set(&err) ? err.rc : sqlite3_declare_vtab(db, (const char *)sql.data);
  tide_buf_clear(&sql);
  return rc;
}

static int row_connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **ret_table,
                       char **ret_message) {
  struct tide_filter_row *row = context;
  (void)argc, (void)argv, (void)ret_message;
  int rc = declare(db, row->spec);
  if (rc != SQLITE_OK)
    return rc;
  struct tide_err err = {0};
  struct row_table *table = tide_alloc_zero(1, sizeof *table, &err);
  if (table == NULL)
    return err.rc;
  table->db = db;
  table->row = row;
  *ret_table = &table->base;
  return SQLITE_OK;
}

static int row_disconnect(sqlite3_vtab *table) {
  tide_free(table);
  return SQLITE_OK;
}

static int row_best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
  (void)table;
  info->estimatedCost = 1e6;
  info->estimatedRows = 4096;
  return SQLITE_OK;
}

static int row_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor) {
  struct tide_err err = {0};
  (void)table;
  *ret_cursor = tide_alloc_zero(1, sizeof **ret_cursor, &err);
  return err.rc;
}

static int row_close(sqlite3_vtab_cursor *cursor) {
  tide_free(cursor);
  return SQLITE_OK;
}

static struct tide_filter_row *row_of(const sqlite3_vtab_cursor *cursor) {
  return ((struct row_table *)cursor->pVtab)->row;
}

static void bound_made(sqlite3 *db, size_t size_read) {
  const size_t most = (INT_MAX - TIDE_FILTER_MADE_MAX) / 2;
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, TIDE_FILTER_MADE_MAX + 2 * (int)(size_read < most ? size_read : most));
}

/* To the first row in the table from `at` on. */
static void move_to(const sqlite3_vtab_cursor *cursor, size_t at) {
  struct tide_filter_row *row = row_of(cursor);
  if (row->size_read > 0) {
    row->size_read = 0;
    memset(row->is_read, 0, sizeof row->is_read);
    bound_made(((struct row_table *)cursor->pVtab)->db, 0);
  }
  while (row->batch != NULL && at < row->batch->rows && !row->keep[at])
    at++;
  row->at = at;
}

static int row_filter(sqlite3_vtab_cursor *cursor, int index, const char *text, int argc, sqlite3_value **argv) {
  (void)index, (void)text, (void)argc, (void)argv;
  move_to(cursor, 0);
  return SQLITE_OK;
}

static int row_next(sqlite3_vtab_cursor *cursor) {
  move_to(cursor, row_of(cursor)->at + 1);
  return SQLITE_OK;
}

static int row_eof(sqlite3_vtab_cursor *cursor) {
  const struct tide_filter_row *row = row_of(cursor);
  return row->batch == NULL || row->at >= row->batch->rows;
}

/* A column that an expression names often counts once. */
static void make_room(struct row_table *table, int column, size_t size) {
  struct tide_filter_row *row = table->row;
  if (row->is_read[column] || size == 0)
    return;
  row->is_read[column] = true;
  row->size_read = size < SIZE_MAX - row->size_read ? row->size_read + size : SIZE_MAX;
  bound_made(table->db, row->size_read);
}

/* The bytes live as long as the batch, which is longer than the run of the statement that reads them. */
static void result_value(sqlite3_context *context, const struct tide_val *val) {
  switch (val->type) {
  case TIDE_VAL_INT:
    sqlite3_result_int64(context, val->i);
    break;
  case TIDE_VAL_REAL:
    sqlite3_result_double(context, val->r);
    break;
  case TIDE_VAL_TEXT:
    sqlite3_result_text64(context, val->n > 0 ? val->p : "", val->n, SQLITE_STATIC, SQLITE_UTF8);
    break;
  case TIDE_VAL_BLOB:
    sqlite3_result_blob64(context, val->n > 0 ? val->p : "", val->n, SQLITE_STATIC);
    break;
  default:
    sqlite3_result_null(context);
  }
}

static int row_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
  const struct tide_filter_row *row = row_of(cursor);
  struct tide_val val;
  switch (column - (int)row->spec->ncolumns) {
  case TIDE_HIDDEN_SINCE:
    val = tide_val_int(row->batch->since[row->at]);
    break;
  case TIDE_HIDDEN_PARTITION:
    val = tide_val_text(row->partition, strlen(row->partition));
    break;
  case TIDE_HIDDEN_INGESTED_AT:
    val = tide_val_int(row->batch->ingested_at[row->at]);
    break;
  default: {
    int partition_at = row->spec->columns[column].partition_at;
    val = partition_at >= 0 ? row->partition_values[partition_at] : tide_vec_get(&row->batch->columns[column], row->at);
  }
  }
  if (val.type == TIDE_VAL_TEXT || val.type == TIDE_VAL_BLOB)
    make_room((struct row_table *)cursor->pVtab, column, val.n);
  result_value(context, &val);
  return SQLITE_OK;
}

static int row_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid) {
  *ret_rowid = (sqlite3_int64)row_of(cursor)->at;
  return SQLITE_OK;
}

void tide_filter_row_register(sqlite3 *db, struct tide_filter_row *row, struct tide_err *err) {
  static const sqlite3_module module = {
      .xConnect = row_connect,
      .xBestIndex = row_best_index,
      .xDisconnect = row_disconnect,
      .xOpen = row_open,
      .xClose = row_close,
      .xFilter = row_filter,
      .xNext = row_next,
      .xEof = row_eof,
      .xColumn = row_column,
      .xRowid = row_rowid,
  };
  int rc = sqlite3_create_module_v2(db, TIDE_FILTER_ROW, &module, row, NULL);
  if (rc != SQLITE_OK)
    tide_stmt_error(db, rc, err);
  tide_stmt_exec(db, err, "SELECT 1 FROM \"%w\"", TIDE_FILTER_ROW);
}
