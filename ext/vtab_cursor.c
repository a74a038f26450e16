#include "base/mem.h"
#include "best_index.h"
#include "engine/erase.h"
#include "engine/plan.h"
#include "engine/scan.h"
#include "glue.h"
#include "vtab_rows.h"

struct rows_cursor {
  sqlite3_vtab_cursor base;
  struct tide_scan *scan;
  int ncolumns; /* of the table, as it was at xFilter */
  bool at_end;
};

static struct tide_vtab_rows *vtab_of(sqlite3_vtab *vtab) {
  return (struct tide_vtab_rows *)vtab;
}

static struct rows_cursor *cursor_of(sqlite3_vtab_cursor *cursor) {
  return (struct rows_cursor *)cursor;
}

/* ---- planning ---- */

int tide_vtab_rows_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
  struct tide_err err = {0};
  struct tide_vtab_rows *vtab = vtab_of(base);
  if (vtab->spec == NULL && vtab->find(vtab, false, &err) == NULL &&
      ((err.rc & 0xff) == SQLITE_CORRUPT || err.rc == SQLITE_SCHEMA))
    return SQLITE_OK; /* without a plan: opening it says what is wrong, with the code, which a statement that is not even
                         prepared cannot give. SQLITE_SCHEMA: SQLite does not read the schema anew amid planning, but
                         before the first step, and then connects and plans again */
  if (!tide_err_is_set(&err))
    tide_best_index(vtab->spec, vtab->utf16, vtab->fixed != NULL ? 1 : vtab->ds->npartitions, info, &err);
  return tide_glue_vtab_error(base, &err);
}

/* ---- reading ---- */

int tide_vtab_rows_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor) {
  struct tide_err err = {0};
  struct tide_vtab_rows *vtab = vtab_of(base);
  if (vtab->spec == NULL)
    vtab->find(vtab, false, &err);
  struct rows_cursor *cursor = tide_err_is_set(&err) ? NULL : tide_alloc_zero(1, sizeof *cursor, &err);
  if (cursor != NULL)
    *ret_cursor = &cursor->base;
  return tide_glue_vtab_error(base, &err);
}

int tide_vtab_rows_close(sqlite3_vtab_cursor *base) {
  struct rows_cursor *cursor = cursor_of(base);
  tide_scan_close(cursor->scan);
  tide_free(cursor);
  return SQLITE_OK;
}

/* To a row that is not just the next one in memory. */
static int move_on(struct rows_cursor *cursor) {
  struct tide_err err = {0};
  cursor->at_end = cursor->scan == NULL || !tide_scan_next(cursor->scan, &err);
  return tide_glue_vtab_error(cursor->base.pVtab, &err);
}

int tide_vtab_rows_next(sqlite3_vtab_cursor *base) {
  struct rows_cursor *cursor = cursor_of(base);
  return !cursor->at_end && tide_scan_step(cursor->scan) ? SQLITE_OK : move_on(cursor);
}

static struct tide_val filter_value(const char *idx, int i, sqlite3_value *value) {
  /* since compares as an INTEGER column does: text that looks like a number is one. To convert one of another column
   * as well would only make it a number where SQLite compares text, so those stay as they are. */
  if (tide_plan_is_since(idx, (size_t)i))
    sqlite3_value_numeric_type(value);
  return tide_glue_value(value);
}

/* The numbers of a list that a since can be equal to. */
static void take_list(sqlite3_value *value, struct tide_scan_request *request, struct tide_err *err) {
  int64_t *list = NULL;
  size_t count = 0;
  size_t cap = 0;
  sqlite3_value *item = NULL;
  int rc = sqlite3_vtab_in_first(value, &item);
  for (; rc == SQLITE_OK && item != NULL && !tide_err_is_set(err); rc = sqlite3_vtab_in_next(value, &item)) {
    int64_t since = 0;
    void *grown = list;
    if (!tide_glue_integer(item, &since) || tide_grow(&grown, &cap, count + 1, sizeof *list, err) != 0)
      continue;
    list = grown;
    list[count++] = since;
  }
  if (rc != SQLITE_OK && rc != SQLITE_DONE)
    tide_err_set(err, rc, "the list of an IN cannot be read");
  tide_scan_request_list(request, list, count);
}

static struct tide_scan *open_scan(const struct tide_vtab_rows *vtab, const char *idx, const struct tide_val *values,
                                   sqlite3_value **argv, int argc, struct tide_err *err) {
  const struct tide_vtab_fixed *fixed = vtab->fixed;
  struct tide_scan_request request;
  if (tide_plan_request(idx, values, (size_t)argc, vtab->spec, &request, err) != 0)
    return NULL;
  for (int i = 0; i < argc && !tide_err_is_set(err); i++) {
    if (tide_plan_is_list(idx, (size_t)i))
      take_list(argv[i], &request, err);
  }
  if (fixed != NULL && !tide_err_is_set(err))
    tide_scan_request_partition(&request, (const char *)fixed->text.data, fixed->text.len, err);
  if (tide_err_is_set(err)) {
    tide_scan_request_clear(&request);
    return NULL;
  }
  request.by_rows = true;
  return tide_scan_open(vtab->ds, &request, err);
}

int tide_vtab_rows_filter(sqlite3_vtab_cursor *base, int idx_num, const char *idx, int argc, sqlite3_value **argv) {
  (void)idx_num;
  struct tide_err err = {0};
  struct rows_cursor *cursor = cursor_of(base);
  struct tide_vtab_rows *vtab = vtab_of(base->pVtab);
  tide_scan_close(cursor->scan);
  cursor->scan = NULL;
  cursor->at_end = true;
  if (idx == NULL)
    tide_err_set(&err, SQLITE_CORRUPT_VTAB, "%s %s was damaged when this statement was prepared: prepare it anew",
                 vtab->noun, vtab->name);
  struct tide_val *values = tide_err_is_set(&err) ? NULL : tide_alloc_zero((size_t)argc + 1, sizeof *values, &err);
  for (int i = 0; values != NULL && i < argc; i++)
    values[i] = filter_value(idx, i, argv[i]);
  if (values != NULL && vtab->find(vtab, false, &err) != NULL)
    cursor->scan = open_scan(vtab, idx, values, argv, argc, &err);
  cursor->ncolumns = (int)vtab->spec->ncolumns;
  tide_free(values);
  return tide_err_is_set(&err) ? tide_glue_vtab_error(base->pVtab, &err) : move_on(cursor);
}

int tide_vtab_rows_eof(sqlite3_vtab_cursor *base) {
  return cursor_of(base)->at_end;
}

int tide_vtab_rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_rowid) {
  struct tide_err err = {0};
  struct tide_scan *scan = cursor_of(base)->scan;
  struct tide_dataset *ds = vtab_of(base->pVtab)->ds;
  if (tide_scan_number(scan, &err) != 0)
    return tide_glue_vtab_error(base->pVtab, &err);
  *ret_rowid = tide_scan_since(scan);
  if (ds->txn.open) /* a DELETE may be about to ask for it by this number */
    tide_erase_hint(&ds->txn.erase, *ret_rowid, tide_scan_partition_id(scan));
  return SQLITE_OK;
}

/* A value of a column that is decoded, read where it lies: this is run for every value of a SELECT. With a NUL behind a
 * text for the time of the call SQLite copies that too, and need not copy all once more for a host that asks for it
 * with one. */
static void result_of(sqlite3_context *context, struct tide_vec *vec, size_t row) {
  if (vec->tag[row] == TIDE_VAL_INT) {
    sqlite3_result_int64(context, vec->num[row]);
    return;
  }
  char *behind = tide_vec_behind_text(vec, row);
  if (behind != NULL) {
    const char was = *behind;
    *behind = '\0';
    tide_glue_result_text(context, behind - vec->size[row], vec->size[row]);
    *behind = was;
  } else {
    const struct tide_val value = tide_vec_get(vec, row);
    tide_glue_result(context, &value);
  }
}

/* A partition column's value: its text has a NUL behind it. */
static void result_fixed(sqlite3_context *context, const struct tide_val *value) {
  if (value->type == TIDE_VAL_TEXT)
    tide_glue_result_text(context, value->p, value->n);
  else
    tide_glue_result(context, value);
}

/* One that is not decoded, or no column's of the dataset. */
static int other_column(struct rows_cursor *cursor, sqlite3_context *context, int column) {
  struct tide_err err = {0};
  struct tide_scan *scan = cursor->scan;
  struct tide_val value = tide_val_null();
  int64_t ingested_at = 0;
  size_t size = 0;
  if (column < cursor->ncolumns) {
    tide_scan_value(scan, (size_t)column, &value, &err);
  } else if (column == cursor->ncolumns + TIDE_HIDDEN_SINCE) {
    if (tide_scan_number(scan, &err) == 0)
      value = tide_val_int(tide_scan_since(scan));
  } else if (column == cursor->ncolumns + TIDE_HIDDEN_PARTITION) {
    const char *text = tide_scan_partition(scan, &size);
    value = tide_val_text(text, size);
  } else {
    tide_scan_ingested_at(scan, &ingested_at, &err);
    value = tide_val_int(ingested_at);
  }
  if (tide_err_is_set(&err))
    return tide_glue_vtab_error(cursor->base.pVtab, &err);
  tide_glue_result(context, &value);
  return SQLITE_OK;
}

int tide_vtab_rows_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  struct rows_cursor *cursor = cursor_of(base);
  const struct tide_scan_view *view = tide_scan_view(cursor->scan);
  struct tide_window *window = view->window;
  const int hidden = column - cursor->ncolumns;
  if (hidden < 0 && window->columns[column] == TIDE_WINDOW_DECODED)
    result_of(context, &window->batch.columns[column], window->row);
  else if (hidden < 0 && window->columns[column] == TIDE_WINDOW_FIXED)
    result_fixed(context, &view->partition_values[view->spec->columns[column].partition_at]);
  else if (hidden == TIDE_HIDDEN_SINCE && window->numbered)
    sqlite3_result_int64(context, window->batch.since[window->row]);
  else
    return other_column(cursor, context, column);
  return SQLITE_OK;
}
