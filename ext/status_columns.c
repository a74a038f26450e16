#include "status_columns.h"

#include <string.h>

#include "base/stmt.h"
#include "engine/retention.h"
#include "glue.h"

/* ---- the four tables ---- */

enum {
  DATASET_NAME,
  DATASET_LOG_ID,
  DATASET_LAST_SINCE,
  DATASET_PARTITIONS,
  DATASET_ROWS,
  DATASET_WRITTEN,
  DATASET_DELETED,
  DATASET_TAIL_ROWS,
  DATASET_PRUNED,
  DATASET_OPTIONS /* and those that follow: in the order of tide_options_facts */
};

enum {
  STAT_DATASET,
  STAT_PARTITION,
  STAT_ROWS,
  STAT_WRITTEN,
  STAT_DELETED,
  STAT_SEGMENTS,
  STAT_TAIL_ROWS,
  STAT_RAW_BYTES,
  STAT_STORED_BYTES,
  STAT_FIRST_SINCE,
  STAT_LAST_SINCE,
  STAT_OLDEST_AT,
  STAT_NEWEST_AT,
  STAT_HELD_BY,
  STAT_HELD_ROWS,
  STAT_PRUNED_UPTO
};

enum { LAG_SINK, LAG_DATASET, LAG_PARTITION, LAG_SINCE, LAG_UNTIL, LAG_ROWS, LAG_BYTES, LAG_OLDEST, LAG_STATE };

const struct tide_status_table tide_status_tables[TIDE_STATUS_KINDS] = {
    {"dataset",
     "CREATE TABLE x(dataset TEXT, log_id TEXT, last_since INTEGER, partitions INTEGER, rows INTEGER, written INTEGER,"
     " deleted INTEGER, tail_rows INTEGER, pruned INTEGER, segment_rows INTEGER, zstd_level INTEGER, autoflush INTEGER,"
     " retention_age, retention_rows INTEGER, retention_bytes INTEGER, retention_by TEXT, \"unique\" TEXT)",
     -1, DATASET_NAME, -1},
    {"stat",
     "CREATE TABLE x(dataset TEXT, partition TEXT, rows INTEGER, written INTEGER, deleted INTEGER, segments INTEGER,"
     " tail_rows INTEGER, raw_bytes INTEGER, stored_bytes INTEGER, first_since INTEGER, last_since INTEGER,"
     " oldest_at INTEGER, newest_at INTEGER, held_by TEXT, held_rows INTEGER, pruned_upto INTEGER HIDDEN)",
     -1, STAT_DATASET, STAT_PARTITION},
    {"segment",
     "CREATE TABLE x(dataset TEXT, partition TEXT, first_since INTEGER, last_since INTEGER, rows INTEGER, deleted "
     "INTEGER,"
     " revision INTEGER, raw_bytes INTEGER, stored_bytes INTEGER, pruned INTEGER, zstd_level INTEGER,"
     " newest_at INTEGER)",
     -1, 0, 1},
    {"lag",
     "CREATE TABLE x(sink TEXT, dataset TEXT, partition TEXT, since INTEGER, until INTEGER, rows INTEGER, bytes "
     "INTEGER,"
     " oldest_at INTEGER, state TEXT, max_rows INTEGER HIDDEN, max_until INTEGER HIDDEN)",
     LAG_SINK, LAG_DATASET, LAG_PARTITION},
};

/* A sum over all partitions of the dataset at hand. */
static struct tide_val dataset_sum(struct tide_status_cursor *cursor, int column, struct tide_err *err) {
  int64_t sum = 0;
  struct tide_stat stat;
  struct tide_stats *stats = tide_stats_open(cursor->ds, NULL, 0, 0, err);
  while (stats != NULL && tide_stats_next(stats, &stat, err)) {
    const int64_t parts[] = {
        [DATASET_PARTITIONS] = 1,         [DATASET_ROWS] = stat.rows,           [DATASET_WRITTEN] = stat.written,
        [DATASET_DELETED] = stat.deleted, [DATASET_TAIL_ROWS] = stat.tail_rows, [DATASET_PRUNED] = stat.pruned};
    if (parts[column] > INT64_MAX - sum)
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_partition counts more rows than there can be",
                   cursor->ds->name, cursor->ds->name);
    else
      sum += parts[column];
  }
  tide_stats_close(stats);
  return tide_val_int(sum);
}

static struct tide_val dataset_column(struct tide_status_cursor *cursor, int column, struct tide_err *err) {
  struct tide_dataset *ds = cursor->ds;
  tide_txn_flush(ds, err);
  tide_dataset_refresh(ds, err);
  if (tide_err_is_set(err))
    return tide_val_null();
  switch (column) {
  case DATASET_NAME:
    return tide_val_text(ds->name, strlen(ds->name));
  case DATASET_LOG_ID:
    return tide_val_text(ds->config.log_id, strlen(ds->config.log_id));
  case DATASET_LAST_SINCE:
    return tide_val_int(tide_dataset_last_since(ds));
  default:
    return column < DATASET_OPTIONS ? dataset_sum(cursor, column, err)
                                    : tide_glue_option(ds, &tide_options_facts[column - DATASET_OPTIONS]);
  }
}

enum { ROW_SINCE, ROW_TIME };

/* What of the first live row above a since; NULL when there is none. */
static struct tide_val first_row(struct tide_status_cursor *cursor, int64_t above, int what, struct tide_err *err) {
  const struct tide_stat *stat = &cursor->stat;
  struct tide_stats_row row;
  if (!tide_stats_first(cursor->ds, stat->text, stat->text_size, above, &row, err))
    return tide_val_null();
  return tide_val_int(what == ROW_SINCE ? row.since : row.ingested_at);
}

static struct tide_val newest_time(struct tide_status_cursor *cursor, struct tide_err *err) {
  struct tide_stats_row row;
  return tide_stats_last(cursor->ds, &cursor->stat, &row, err) ? tide_val_int(row.ingested_at) : tide_val_null();
}

/* Who keeps rows of the partition at hand from retention, and how many. */
static void know_held(struct tide_status_cursor *cursor, struct tide_err *err) {
  struct tide_retention retention = {0};
  struct tide_holds holds = {0};
  if (cursor->held_known)
    return;
  tide_buf_reset(&cursor->held_by);
  tide_retention_look(cursor->ds, &cursor->stat, tide_dataset_now_ms(cursor->ds), &holds, &retention, err);
  cursor->held_rows = retention.cut.rows - retention.free_rows;
  for (size_t i = 0; i < retention.nheld; i++) {
    if (retention.held_rows[i] > 0)
      tide_buf_printf(&cursor->held_by, err, "%s%s", cursor->held_by.len > 0 ? ", " : "", holds.items[i].sink);
  }
  tide_retention_clear(&retention);
  tide_holds_clear(&holds);
  cursor->held_known = !tide_err_is_set(err);
}

static struct tide_val stat_sum(struct tide_status_cursor *cursor, int column, struct tide_err *err) {
  const struct tide_stat *stat = &cursor->stat;
  struct tide_segment_totals totals = {0};
  tide_catalog_segment_totals(cursor->ds->conn->db, tide_dataset_names(cursor->ds), stat->partition, &totals, err);
  if (column == STAT_SEGMENTS)
    return tide_val_int(totals.segments);
  return tide_val_int(column == STAT_RAW_BYTES ? totals.raw_bytes + stat->tail_raw_bytes
                                               : totals.stored_bytes + stat->tail_bytes);
}

static struct tide_val stat_column(struct tide_status_cursor *cursor, int column, struct tide_err *err) {
  const struct tide_stat *stat = &cursor->stat;
  const int64_t known[] = {
      [STAT_ROWS] = stat->rows,           [STAT_WRITTEN] = stat->written,       [STAT_DELETED] = stat->deleted,
      [STAT_TAIL_ROWS] = stat->tail_rows, [STAT_LAST_SINCE] = stat->last_since, [STAT_PRUNED_UPTO] = stat->pruned_upto};
  switch (column) {
  case STAT_DATASET:
    return tide_val_text(cursor->ds->name, strlen(cursor->ds->name));
  case STAT_PARTITION:
    return tide_val_text(stat->text, stat->text_size);
  case STAT_SEGMENTS:
  case STAT_RAW_BYTES:
  case STAT_STORED_BYTES:
    return stat_sum(cursor, column, err);
  case STAT_FIRST_SINCE:
    return first_row(cursor, 0, ROW_SINCE, err);
  case STAT_OLDEST_AT:
    return first_row(cursor, 0, ROW_TIME, err);
  case STAT_NEWEST_AT:
    return newest_time(cursor, err);
  case STAT_HELD_BY:
    know_held(cursor, err);
    return cursor->held_by.len > 0 ? tide_val_text((const char *)cursor->held_by.data, cursor->held_by.len)
                                   : tide_val_null();
  case STAT_HELD_ROWS:
    know_held(cursor, err);
    return tide_val_int(cursor->held_rows);
  default:
    return tide_val_int(known[column]);
  }
}

static void segment_column(const struct tide_status_cursor *cursor, int column, sqlite3_context *context) {
  if (column == 0)
    sqlite3_result_text(context, cursor->ds->name, -1, SQLITE_TRANSIENT);
  else
    sqlite3_result_value(context, sqlite3_column_value(cursor->segments, column - 1));
}

/* The partition's newest since, or the one asked for below it. */
static int64_t newest_counted(const struct tide_status_cursor *cursor) {
  const int64_t newest = cursor->stat.last_since;
  return cursor->max_until_given && cursor->max_until < newest ? cursor->max_until : newest;
}

static void know_range(struct tide_status_cursor *cursor, struct tide_err *err) {
  const struct tide_stat *stat = &cursor->stat;
  const int64_t newest = newest_counted(cursor);
  if (cursor->range_known)
    return;
  cursor->range = (struct tide_range){.until = newest};
  if (cursor->watermark.since < newest)
    tide_stats_range(cursor->ds, stat, cursor->watermark.since, newest,
                     cursor->max_rows_given ? cursor->max_rows : INT64_MAX, &cursor->range, err);
  cursor->range_known = !tide_err_is_set(err);
}

static struct tide_val lag_until(struct tide_status_cursor *cursor, struct tide_err *err) {
  if (cursor->max_rows_given)
    know_range(cursor, err);
  const int64_t until = cursor->max_rows_given ? cursor->range.until : newest_counted(cursor);
  return tide_val_int(until > cursor->watermark.since ? until : cursor->watermark.since);
}

static struct tide_val lag_column(struct tide_status_cursor *cursor, int column, struct tide_err *err) {
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
  case TIDE_LAG_MAX_ROWS:
    return cursor->max_rows_given ? tide_val_int(cursor->max_rows) : tide_val_null();
  default:
    return cursor->max_until_given ? tide_val_int(cursor->max_until) : tide_val_null();
  }
}

void tide_status_put_column(struct tide_status_cursor *cursor, enum tide_status_kind kind, int column,
                            sqlite3_context *context, struct tide_err *err) {
  if (kind == TIDE_STATUS_SEGMENT) {
    segment_column(cursor, column, context);
    return;
  }
  struct tide_val (*const columns[])(struct tide_status_cursor *, int, struct tide_err *) = {
      [TIDE_STATUS_DATASET] = dataset_column, [TIDE_STATUS_STAT] = stat_column, [TIDE_STATUS_LAG] = lag_column};
  const struct tide_val value = columns[kind](cursor, column, err);
  if (!tide_err_is_set(err))
    tide_glue_result(context, &value);
}
