#include "vtab_status.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/stats.h"
#include "glue.h"
#include "store/exportlog.h"
#include "store/sink_row.h"

/* ---- the four tables ---- */

enum status_kind { STATUS_DATASET, STATUS_STAT, STATUS_SEGMENT, STATUS_LAG, STATUS_KINDS };

enum {
  LAG_SINK,
  LAG_DATASET,
  LAG_PARTITION,
  LAG_SINCE,
  LAG_UNTIL,
  LAG_ROWS,
  LAG_BYTES,
  LAG_OLDEST,
  LAG_STATE,
  LAG_MAX_ROWS,
  LAG_MAX_UNTIL
};

/* Which column a constraint on it narrows, -1: the table has none such. */
struct status_table {
  const char *name;
  const char *declaration;
  int sink_column;
  int dataset_column;
  int partition_column;
};

static const struct status_table tables[STATUS_KINDS] = {
    {"dataset",
     "CREATE TABLE x(dataset TEXT, log_id TEXT, last_since INTEGER, partitions INTEGER, rows INTEGER, written INTEGER,"
     " deleted INTEGER, tail_rows INTEGER)",
     -1, 0, -1},
    {"stat",
     "CREATE TABLE x(dataset TEXT, partition TEXT, rows INTEGER, written INTEGER, deleted INTEGER, segments INTEGER,"
     " tail_rows INTEGER, raw_bytes INTEGER, stored_bytes INTEGER, first_since INTEGER, last_since INTEGER,"
     " oldest_at INTEGER, newest_at INTEGER, pruned_upto INTEGER HIDDEN)",
     -1, 0, 1},
    {"segment",
     "CREATE TABLE x(dataset TEXT, partition TEXT, first_since INTEGER, last_since INTEGER, rows INTEGER, deleted "
     "INTEGER,"
     " revision INTEGER, raw_bytes INTEGER, stored_bytes INTEGER)",
     -1, 0, 1},
    {"lag",
     "CREATE TABLE x(sink TEXT, dataset TEXT, partition TEXT, since INTEGER, until INTEGER, rows INTEGER, bytes "
     "INTEGER,"
     " oldest_at INTEGER, state TEXT, max_rows INTEGER HIDDEN, max_until INTEGER HIDDEN)",
     LAG_SINK, LAG_DATASET, LAG_PARTITION},
};

struct status_vtab {
  sqlite3_vtab base;
  struct tide_conn *conn;
  char *schema;
  enum status_kind kind;
};

struct status_cursor {
  sqlite3_vtab_cursor base;
  bool at_end;
  char *partition; /* asked for; NULL: all */
  int64_t max_rows;
  bool max_rows_given;
  int64_t max_until;
  bool max_until_given;
  bool behind_only;        /* lag: partitions with rows to deliver are enough */
  sqlite3_stmt *outer;     /* datasets, or sinks */
  struct tide_sink sink;   /* lag: the sink at hand */
  struct tide_dataset *ds; /* the dataset at hand */
  struct tide_stats *stats;
  struct tide_stat stat;
  sqlite3_stmt *watermarks;
  sqlite3_stmt *segments;
  struct tide_watermark watermark;
  bool range_known;
  struct tide_range range;
  int64_t rowid;
};

static struct status_vtab *vtab_of(sqlite3_vtab *vtab) {
  return (struct status_vtab *)vtab;
}

static struct status_cursor *cursor_of(sqlite3_vtab_cursor *cursor) {
  return (struct status_cursor *)cursor;
}

/* ---- connecting ---- */

static int status_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
                          char **ret_message) {
  struct tide_err err = {0};
  int kind = 0;
  while (kind < STATUS_KINDS && (argc != 4 || sqlite3_stricmp(argv[3], tables[kind].name) != 0))
    kind++;
  if (kind == STATUS_KINDS) {
    *ret_message = sqlite3_mprintf("tidemark_status takes one word: dataset, stat, segment or lag");
    return SQLITE_ERROR;
  }
  struct status_vtab *vtab = tide_alloc_zero(1, sizeof *vtab, &err);
  if (vtab == NULL)
    return err.rc;
  vtab->schema = tide_copy_string(argv[1], &err);
  if (vtab->schema == NULL || (err.rc = sqlite3_declare_vtab(db, tables[kind].declaration)) != SQLITE_OK) {
    tide_free(vtab->schema);
    tide_free(vtab);
    return err.rc;
  }
  sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  vtab->conn = tide_conn_ref(aux);
  vtab->kind = (enum status_kind)kind;
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
  tide_conn_unref(vtab->conn);
  tide_free(vtab->schema);
  tide_free(vtab);
  return SQLITE_OK;
}

/* ---- planning: idxNum says which arguments come, in this order ---- */

enum { BY_SINK = 1, BY_DATASET = 2, BY_PARTITION = 4, BY_ROWS = 8, BY_MAX_ROWS = 16, BY_MAX_UNTIL = 32, BY_KINDS = 6 };

static int usable_for(const struct status_table *table, enum status_kind kind, sqlite3_index_info *info, int i) {
  const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
  if (!constraint->usable)
    return 0;
  if (kind == STATUS_LAG && constraint->iColumn == LAG_ROWS && constraint->op == SQLITE_INDEX_CONSTRAINT_GT)
    return BY_ROWS;
  if (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ || constraint->iColumn < 0)
    return 0;
  if (kind == STATUS_LAG && constraint->iColumn == LAG_MAX_ROWS)
    return BY_MAX_ROWS;
  if (kind == STATUS_LAG && constraint->iColumn == LAG_MAX_UNTIL)
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
  const enum status_kind kind = vtab_of(base)->kind;
  int argument = 0;
  double rows = 1000000;
  info->idxNum = 0;
  for (int bit = 0; bit < BY_KINDS; bit++) {
    for (int i = 0; i < info->nConstraint; i++) {
      if (usable_for(&tables[kind], kind, info, i) != 1 << bit || (info->idxNum & 1 << bit) != 0)
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

static void leave_dataset(struct status_cursor *cursor) {
  tide_stats_close(cursor->stats);
  cursor->stats = NULL;
  sqlite3_finalize(cursor->segments);
  cursor->segments = NULL;
  sqlite3_finalize(cursor->watermarks);
  cursor->watermarks = NULL;
  tide_dataset_release(cursor->ds);
  cursor->ds = NULL;
  tide_sink_clear(&cursor->sink);
}

static void leave_all(struct status_cursor *cursor) {
  leave_dataset(cursor);
  sqlite3_finalize(cursor->outer);
  cursor->outer = NULL;
  tide_free(cursor->partition);
  cursor->partition = NULL;
  cursor->at_end = true;
}

static size_t partition_size(const struct status_cursor *cursor) {
  return cursor->partition != NULL ? strlen(cursor->partition) : 0;
}

static void open_inner(struct status_cursor *cursor, enum status_kind kind, struct tide_err *err) {
  struct tide_dataset *ds = cursor->ds;
  sqlite3 *db = ds->conn->db;
  if (kind == STATUS_SEGMENT) {
    tide_txn_flush(ds, err);
    cursor->segments = tide_catalog_all_segments(db, tide_dataset_names(ds), cursor->partition, err);
  } else if (kind == STATUS_STAT) {
    cursor->stats = tide_stats_open(ds, cursor->partition, partition_size(cursor), 0, err);
  } else if (kind == STATUS_LAG) {
    cursor->watermarks = tide_watermark_prepare(db, ds->schema, cursor->sink.sink, ds->name, err);
    cursor->stats = tide_stats_open(ds, cursor->partition, partition_size(cursor),
                                    cursor->behind_only ? cursor->sink.caught_up : 0, err);
  }
}

/* The next dataset (or sink) of the outer statement: false at the end. */
static bool next_outer(struct status_cursor *cursor, const struct status_vtab *vtab, struct tide_err *err) {
  leave_dataset(cursor);
  const char *name = NULL;
  if (vtab->kind == STATUS_LAG) {
    if (!tide_sink_next(cursor->outer, &cursor->sink, err))
      return false;
    name = cursor->sink.dataset;
  } else {
    if (!tide_stmt_row(cursor->outer, err))
      return false;
    name = (const char *)sqlite3_column_text(cursor->outer, 0);
  }
  cursor->ds = tide_dataset_acquire(vtab->conn, vtab->schema, name, err);
  if (cursor->ds != NULL)
    open_inner(cursor, vtab->kind, err);
  return !tide_err_is_set(err);
}

static bool next_inner(struct status_cursor *cursor, enum status_kind kind, struct tide_err *err) {
  if (cursor->ds == NULL)
    return false;
  if (kind == STATUS_SEGMENT)
    return tide_stmt_row(cursor->segments, err);
  if (kind != STATUS_LAG)
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
  struct status_cursor *cursor = cursor_of(base);
  const struct status_vtab *vtab = vtab_of(base->pVtab);
  cursor->rowid++;
  bool found = vtab->kind != STATUS_DATASET && next_inner(cursor, vtab->kind, &err);
  while (!found && next_outer(cursor, vtab, &err))
    found = vtab->kind == STATUS_DATASET || next_inner(cursor, vtab->kind, &err);
  cursor->at_end = !found;
  return tide_glue_vtab_error(base->pVtab, &err);
}

static int status_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor) {
  struct tide_err err = {0};
  struct status_cursor *cursor = tide_alloc_zero(1, sizeof *cursor, &err);
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
  struct status_cursor *cursor = cursor_of(base);
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
    const char *text = 1 << bit < BY_ROWS ? (const char *)sqlite3_value_text(value) : NULL;
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
  cursor->outer = vtab->kind == STATUS_LAG ? tide_sink_prepare(vtab->conn->db, vtab->schema, sink, dataset, &err)
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

/* ---- columns ---- */

/* A sum over all partitions of the dataset at hand. */
static struct tide_val dataset_sum(struct status_cursor *cursor, int column, struct tide_err *err) {
  int64_t sum = 0;
  struct tide_stat stat;
  struct tide_stats *stats = tide_stats_open(cursor->ds, NULL, 0, 0, err);
  while (stats != NULL && tide_stats_next(stats, &stat, err)) {
    const int64_t parts[] = {0, 0, 0, 1, stat.rows, stat.written, stat.deleted, stat.tail_rows};
    if (parts[column] > INT64_MAX - sum)
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_partition counts more rows than there can be",
                   cursor->ds->name, cursor->ds->name);
    else
      sum += parts[column];
  }
  tide_stats_close(stats);
  return tide_val_int(sum);
}

static struct tide_val dataset_column(struct status_cursor *cursor, int column, struct tide_err *err) {
  struct tide_dataset *ds = cursor->ds;
  switch (column) {
  case 0:
    return tide_val_text(ds->name, strlen(ds->name));
  case 1:
    return tide_val_text(ds->config.log_id, strlen(ds->config.log_id));
  case 2:
    tide_txn_flush(ds, err);
    tide_dataset_refresh(ds, err);
    return tide_val_int(tide_dataset_last_since(ds));
  default:
    return dataset_sum(cursor, column, err);
  }
}

enum { ROW_SINCE, ROW_TIME };

/* What of the first live row above a since; NULL when there is none. */
static struct tide_val first_row(struct status_cursor *cursor, int64_t above, int what, struct tide_err *err) {
  const struct tide_stat *stat = &cursor->stat;
  struct tide_stats_row row;
  if (!tide_stats_first(cursor->ds, stat->text, stat->text_size, above, &row, err))
    return tide_val_null();
  return tide_val_int(what == ROW_SINCE ? row.since : row.ingested_at);
}

static struct tide_val newest_time(struct status_cursor *cursor, struct tide_err *err) {
  struct tide_stats_row row;
  return tide_stats_last(cursor->ds, &cursor->stat, &row, err) ? tide_val_int(row.ingested_at) : tide_val_null();
}

static struct tide_val stat_column(struct status_cursor *cursor, int column, struct tide_err *err) {
  const struct tide_stat *stat = &cursor->stat;
  const int64_t known[] = {0, 0, stat->rows, stat->written, stat->deleted};
  struct tide_segment_totals totals = {0};
  if (column == 0)
    return tide_val_text(cursor->ds->name, strlen(cursor->ds->name));
  if (column == 1)
    return tide_val_text(stat->text, stat->text_size);
  if (column < 5)
    return tide_val_int(known[column]);
  if (column == 6)
    return tide_val_int(stat->tail_rows);
  if (column == 10)
    return tide_val_int(stat->last_since);
  if (column == 9 || column == 11)
    return first_row(cursor, 0, column == 9 ? ROW_SINCE : ROW_TIME, err);
  if (column == 12)
    return newest_time(cursor, err);
  if (column == 13)
    return tide_val_int(stat->pruned_upto);
  tide_catalog_segment_totals(cursor->ds->conn->db, tide_dataset_names(cursor->ds), stat->partition, &totals, err);
  const int64_t sums[] = {totals.segments, 0, totals.raw_bytes + stat->tail_bytes,
                          totals.stored_bytes + stat->tail_bytes};
  return tide_val_int(sums[column - 5]);
}

static void segment_column(const struct status_cursor *cursor, int column, sqlite3_context *context) {
  if (column == 0)
    sqlite3_result_text(context, cursor->ds->name, -1, SQLITE_TRANSIENT);
  else
    sqlite3_result_value(context, sqlite3_column_value(cursor->segments, column - 1));
}

/* The partition's newest since, or the one asked for below it. */
static int64_t newest_counted(const struct status_cursor *cursor) {
  const int64_t newest = cursor->stat.last_since;
  return cursor->max_until_given && cursor->max_until < newest ? cursor->max_until : newest;
}

static void know_range(struct status_cursor *cursor, struct tide_err *err) {
  const struct tide_stat *stat = &cursor->stat;
  const int64_t newest = newest_counted(cursor);
  if (cursor->range_known)
    return;
  cursor->range = (struct tide_range){.until = newest};
  if (cursor->watermark.since < newest)
    tide_stats_range(cursor->ds, stat->text, stat->text_size, cursor->watermark.since, newest,
                     cursor->max_rows_given ? cursor->max_rows : INT64_MAX, &cursor->range, err);
  cursor->range_known = !tide_err_is_set(err);
}

static struct tide_val lag_until(struct status_cursor *cursor, struct tide_err *err) {
  if (cursor->max_rows_given)
    know_range(cursor, err);
  const int64_t until = cursor->max_rows_given ? cursor->range.until : newest_counted(cursor);
  return tide_val_int(until > cursor->watermark.since ? until : cursor->watermark.since);
}

static struct tide_val lag_column(struct status_cursor *cursor, int column, struct tide_err *err) {
  const struct tide_stat *stat = &cursor->stat;
  switch (column) {
  case LAG_SINK:
    return tide_val_text(cursor->sink.sink, strlen(cursor->sink.sink));
  case LAG_DATASET:
    return tide_val_text(cursor->sink.dataset, strlen(cursor->sink.dataset));
  case LAG_PARTITION:
    return tide_val_text(stat->text, stat->text_size);
  case LAG_SINCE:
    return tide_val_int(cursor->watermark.since);
  case LAG_UNTIL:
    return lag_until(cursor, err);
  case LAG_ROWS:
  case LAG_BYTES:
    know_range(cursor, err);
    return tide_val_int(column == LAG_ROWS ? cursor->range.rows : cursor->range.raw_bytes);
  case LAG_OLDEST:
    return first_row(cursor, cursor->watermark.since, ROW_TIME, err);
  case LAG_STATE:
    return tide_val_text(cursor->sink.state, strlen(cursor->sink.state));
  case LAG_MAX_ROWS:
    return cursor->max_rows_given ? tide_val_int(cursor->max_rows) : tide_val_null();
  default:
    return cursor->max_until_given ? tide_val_int(cursor->max_until) : tide_val_null();
  }
}

static int status_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  struct tide_err err = {0};
  struct status_cursor *cursor = cursor_of(base);
  const enum status_kind kind = vtab_of(base->pVtab)->kind;
  if (kind == STATUS_SEGMENT) {
    segment_column(cursor, column, context);
    return SQLITE_OK;
  }
  struct tide_val (*const columns[])(struct status_cursor *, int, struct tide_err *) = {
      [STATUS_DATASET] = dataset_column, [STATUS_STAT] = stat_column, [STATUS_LAG] = lag_column};
  const struct tide_val value = columns[kind](cursor, column, &err);
  if (tide_err_is_set(&err))
    return tide_glue_vtab_error(base->pVtab, &err);
  tide_glue_result(context, &value);
  return SQLITE_OK;
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
