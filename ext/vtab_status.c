#include "vtab_status.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "glue.h"
#include "status_columns.h"
#include "store/shadows.h"
#include "vtab_rows.h"

struct status_vtab {
  sqlite3_vtab base;
  struct tide_conn *conn;
  char *schema;
  enum tide_status_kind kind;
  struct tide_dataset *recent; /* the handle of the last cursor, kept for the next: triggers ask once for each row */
};

static struct status_vtab *vtab_of(sqlite3_vtab *vtab) {
  return (struct status_vtab *)vtab;
}

static struct tide_status_cursor *cursor_of(sqlite3_vtab_cursor *cursor) {
  return (struct tide_status_cursor *)cursor;
}

/* ---- connecting ---- */

static int status_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
                          char **ret_message) {
  struct tide_err err = {0};
  int kind = 0;
  while (kind < TIDE_STATUS_KINDS && (argc != 4 || sqlite3_stricmp(argv[3], tide_status_tables[kind].name) != 0))
    kind++;
  if (kind == TIDE_STATUS_KINDS) {
    *ret_message = sqlite3_mprintf("tidemark_status takes one word: dataset, stat, segment or lag");
    return SQLITE_ERROR;
  }
  struct status_vtab *vtab = tide_alloc_zero(1, sizeof *vtab, &err);
  if (vtab == NULL)
    return err.rc;
  vtab->schema = tide_copy_string(argv[1], &err);
  tide_shadows_check_kinds(db, (struct tide_names){.schema = argv[1]}, &err);
  if (tide_glue_declare(db, tide_status_tables[kind].declaration, &err) != SQLITE_OK) {
    tide_err_prefix(&err, "tidemark_%s", tide_status_tables[kind].name);
    tide_free(vtab->schema);
    tide_free(vtab);
    return tide_vtab_rows_connect_error(ret_message, &err);
  }
  sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  vtab->conn = tide_conn_ref(aux);
  vtab->kind = (enum tide_status_kind)kind;
  *ret_vtab = &vtab->base;
  return SQLITE_OK;
}

/* Its own, so that the module's name by itself is no table. */
static int status_create(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
                         char **ret_message) {
  return status_connect(db, aux, argc, argv, ret_vtab, ret_message);
}

static int status_disconnect(sqlite3_vtab *base) {
  struct status_vtab *vtab = vtab_of(base);
  tide_dataset_release(vtab->recent);
  tide_conn_unref(vtab->conn);
  tide_free(vtab->schema);
  tide_free(vtab);
  return SQLITE_OK;
}

/* ---- planning: idxNum says which arguments come, in this order ---- */

enum { BY_SINK = 1, BY_DATASET = 2, BY_PARTITION = 4, BY_ROWS = 8, BY_MAX_ROWS = 16, BY_MAX_UNTIL = 32, BY_KINDS = 6 };

static int usable_for(const struct tide_status_table *table, enum tide_status_kind kind, sqlite3_index_info *info,
                      int i) {
  const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
  if (!constraint->usable)
    return 0;
  if (kind == TIDE_STATUS_LAG && constraint->iColumn == TIDE_LAG_ROWS && constraint->op == SQLITE_INDEX_CONSTRAINT_GT)
    return BY_ROWS;
  if (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ || constraint->iColumn < 0)
    return 0;
  if (kind == TIDE_STATUS_LAG && constraint->iColumn == TIDE_LAG_MAX_ROWS)
    return BY_MAX_ROWS;
  if (kind == TIDE_STATUS_LAG && constraint->iColumn == TIDE_LAG_MAX_UNTIL)
    return BY_MAX_UNTIL;
  if (sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
    return 0;
  if (constraint->iColumn == table->sink_column)
    return BY_SINK;
  if (constraint->iColumn == table->dataset_column)
    return BY_DATASET;
  return constraint->iColumn == table->partition_column ? BY_PARTITION : 0;
}

static int status_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
  const enum tide_status_kind kind = vtab_of(base)->kind;
  int argument = 0;
  double rows = 1000000;
  info->idxNum = 0;
  for (int bit = 0; bit < BY_KINDS; bit++) {
    for (int i = 0; i < info->nConstraint; i++) {
      if (usable_for(&tide_status_tables[kind], kind, info, i) != 1 << bit || (info->idxNum & 1 << bit) != 0)
        continue;
      info->idxNum |= 1 << bit;
      info->aConstraintUsage[i].argvIndex = ++argument;
      info->aConstraintUsage[i].omit = 1 << bit >= BY_MAX_ROWS;
      rows /= 20;
    }
  }
  info->estimatedCost = rows;
  info->estimatedRows = (sqlite3_int64)rows + 1;
  return SQLITE_OK;
}

/* ---- moving ---- */

static void leave_dataset(struct tide_status_cursor *cursor) {
  tide_stats_close(cursor->stats);
  cursor->stats = NULL;
  sqlite3_finalize(cursor->segments);
  cursor->segments = NULL;
  if (cursor->watermarks != NULL)
    tide_stmt_pool_give(cursor->ds->pool, cursor->watermarks);
  cursor->watermarks = NULL;
  tide_dataset_release(cursor->ds);
  cursor->ds = NULL;
  tide_sink_clear(&cursor->sink);
}

static void leave_all(struct tide_status_cursor *cursor) {
  leave_dataset(cursor);
  sqlite3_finalize(cursor->outer);
  cursor->outer = NULL;
  tide_free(cursor->partition);
  cursor->partition = NULL;
  tide_buf_clear(&cursor->held_by);
  cursor->at_end = true;
}

static size_t partition_size(const struct tide_status_cursor *cursor) {
  return cursor->partition != NULL ? strlen(cursor->partition) : 0;
}

static void open_inner(struct tide_status_cursor *cursor, enum tide_status_kind kind, struct tide_err *err) {
  struct tide_dataset *ds = cursor->ds;
  sqlite3 *db = ds->conn->db;
  if (kind == TIDE_STATUS_SEGMENT) {
    tide_txn_flush(ds, err);
    cursor->segments = tide_catalog_all_segments(db, tide_dataset_names(ds), cursor->partition, err);
  } else if (kind == TIDE_STATUS_STAT) {
    cursor->stats = tide_stats_open(ds, cursor->partition, partition_size(cursor), 0, err);
  } else if (kind == TIDE_STATUS_LAG) {
    cursor->watermarks = tide_watermark_prepare(db, tide_dataset_names(ds), cursor->sink.sink, err);
    cursor->stats = tide_stats_open(ds, cursor->partition, partition_size(cursor),
                                    cursor->behind_only ? cursor->sink.caught_up : 0, err);
  }
}

static struct tide_dataset *find_dataset(struct status_vtab *vtab, const char *name, struct tide_err *err) {
  if (vtab->recent != NULL && sqlite3_stricmp(vtab->recent->name, name) == 0 && tide_dataset_is_fresh(vtab->recent))
    return tide_dataset_ref(vtab->recent);
  struct tide_dataset *ds = tide_dataset_acquire(vtab->conn, vtab->schema, name, err);
  if (ds == NULL)
    return NULL;
  tide_dataset_release(vtab->recent);
  vtab->recent = tide_dataset_ref(ds);
  return ds;
}

/* The next dataset (or sink) of the outer statement: false at the end. */
static bool next_outer(struct tide_status_cursor *cursor, struct status_vtab *vtab, struct tide_err *err) {
  leave_dataset(cursor);
  const char *name = NULL;
  if (vtab->kind == TIDE_STATUS_LAG) {
    if (!tide_sink_next(cursor->outer, &cursor->sink, err))
      return false;
    name = cursor->sink.dataset;
  } else {
    if (!tide_stmt_row(cursor->outer, err))
      return false;
    name = tide_stmt_text(cursor->outer, 0, NULL, err);
  }
  if (name == NULL)
    return false;
  cursor->ds = find_dataset(vtab, name, err);
  if (cursor->ds != NULL)
    open_inner(cursor, vtab->kind, err);
  return !tide_err_is_set(err);
}

static bool next_inner(struct tide_status_cursor *cursor, enum tide_status_kind kind, struct tide_err *err) {
  if (cursor->ds == NULL)
    return false;
  if (kind == TIDE_STATUS_SEGMENT)
    return tide_stmt_row(cursor->segments, err);
  cursor->held_known = false;
  if (kind != TIDE_STATUS_LAG)
    return tide_stats_next(cursor->stats, &cursor->stat, err);
  while (tide_stats_next(cursor->stats, &cursor->stat, err)) {
    cursor->watermark =
        tide_watermark_get(cursor->watermarks, cursor->stat.text, cursor->stat.text_size, cursor->sink.start, err);
    cursor->range_known = false;
    if (!cursor->behind_only || cursor->watermark.since < cursor->stat.last_since)
      return !tide_err_is_set(err);
  }
  return false;
}

static int status_next(sqlite3_vtab_cursor *base) {
  struct tide_err err = {0};
  struct tide_status_cursor *cursor = cursor_of(base);
  struct status_vtab *vtab = vtab_of(base->pVtab);
  cursor->rowid++;
  bool found = vtab->kind != TIDE_STATUS_DATASET && next_inner(cursor, vtab->kind, &err);
  while (!found && next_outer(cursor, vtab, &err))
    found = vtab->kind == TIDE_STATUS_DATASET || next_inner(cursor, vtab->kind, &err);
  cursor->at_end = !found;
  return tide_glue_vtab_error(base->pVtab, &err);
}

static int status_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor) {
  struct tide_err err = {0};
  struct tide_status_cursor *cursor = tide_alloc_zero(1, sizeof *cursor, &err);
  if (cursor != NULL)
    *ret_cursor = &cursor->base;
  return tide_glue_vtab_error(base, &err);
}

static int status_close(sqlite3_vtab_cursor *base) {
  leave_all(cursor_of(base));
  tide_free(base);
  return SQLITE_OK;
}

/* The value of a hidden argument of tidemark_lag. */
static bool take_limit(sqlite3_value *value, const char *name, int64_t least, int64_t *ret_limit,
                       struct tide_err *err) {
  if (sqlite3_value_numeric_type(value) != SQLITE_INTEGER)
    tide_err_set(err, SQLITE_ERROR, "tidemark_lag: %s is not an integer", name);
  else if (sqlite3_value_int64(value) < least)
    tide_err_set(err, SQLITE_ERROR, "tidemark_lag: %s is %lld, expected %lld or more", name,
                 (long long)sqlite3_value_int64(value), (long long)least);
  else
    *ret_limit = sqlite3_value_int64(value);
  return !tide_err_is_set(err);
}

static int status_filter(sqlite3_vtab_cursor *base, int idx_num, const char *idx, int argc, sqlite3_value **argv) {
  (void)idx;
  (void)argc;
  struct tide_err err = {0};
  struct tide_status_cursor *cursor = cursor_of(base);
  const struct status_vtab *vtab = vtab_of(base->pVtab);
  const char *sink = NULL;
  const char *dataset = NULL;
  leave_all(cursor);
  cursor->behind_only = false;
  cursor->max_rows_given = false;
  cursor->max_until_given = false;
  bool null_given = false; /* an equality with NULL has no rows */
  for (int bit = 0, i = 0; bit < BY_KINDS; bit++) {
    if ((idx_num & 1 << bit) == 0)
      continue;
    sqlite3_value *value = argv[i++];
    const char *text = 1 << bit < BY_ROWS ? tide_glue_text(value, &err) : NULL;
    null_given = null_given || (1 << bit < BY_ROWS && text == NULL);
    if (1 << bit == BY_SINK)
      sink = text;
    else if (1 << bit == BY_DATASET)
      dataset = text;
    else if (1 << bit == BY_PARTITION && text != NULL)
      cursor->partition = tide_copy_text(text, (size_t)sqlite3_value_bytes(value), &err);
    else if (1 << bit == BY_ROWS)
      cursor->behind_only = sqlite3_value_type(value) == SQLITE_INTEGER && sqlite3_value_int64(value) >= 0;
    else if (1 << bit == BY_MAX_ROWS)
      cursor->max_rows_given = take_limit(value, "max_rows", 1, &cursor->max_rows, &err);
    else if (1 << bit == BY_MAX_UNTIL)
      cursor->max_until_given = take_limit(value, "max_until", 0, &cursor->max_until, &err);
  }
  if (null_given || tide_err_is_set(&err))
    return tide_glue_vtab_error(base->pVtab, &err);
  cursor->outer = vtab->kind == TIDE_STATUS_LAG
                      ? tide_sink_prepare(vtab->conn->db, vtab->schema, sink, dataset, &err)
                      : tide_sink_datasets_prepare(vtab->conn->db, vtab->schema, dataset, &err);
  return tide_err_is_set(&err) ? tide_glue_vtab_error(base->pVtab, &err) : status_next(base);
}

static int status_eof(sqlite3_vtab_cursor *base) {
  return cursor_of(base)->at_end;
}

static int status_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_rowid) {
  *ret_rowid = cursor_of(base)->rowid;
  return SQLITE_OK;
}

static int status_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  struct tide_err err = {0};
  tide_status_put_column(cursor_of(base), vtab_of(base->pVtab)->kind, column, context, &err);
  return tide_glue_vtab_error(base->pVtab, &err);
}

static const sqlite3_module module = {
    .iVersion = 1,
    .xCreate = status_create,
    .xConnect = status_connect,
    .xBestIndex = status_best_index,
    .xDisconnect = status_disconnect,
    .xDestroy = status_disconnect,
    .xOpen = status_open,
    .xClose = status_close,
    .xFilter = status_filter,
    .xNext = status_next,
    .xEof = status_eof,
    .xColumn = status_column,
    .xRowid = status_rowid,
};

static void unref_conn(void *conn) {
  tide_conn_unref(conn);
}

int tide_vtab_status_register(struct tide_conn *conn) {
  return sqlite3_create_module_v2(conn->db, "tidemark_status", &module, tide_conn_ref(conn), unref_conn);
}
