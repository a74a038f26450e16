#include "engine/cut.h"

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/scan.h"
#include "segment/segment.h"

/* ---- pure ---- */

static int64_t saturate(int64_t ms, int64_t factor) {
  int64_t value;
  if (__builtin_mul_overflow(ms, factor, &value))
    return ms < 0 ? INT64_MIN : INT64_MAX;
  return value;
}

int64_t tide_cut_in_unit(int64_t ms, enum tide_type type) {
  switch (type) {
  case TIDE_TYPE_TIMESTAMP_S:
    return ms / 1000 - (ms % 1000 < 0);
  case TIDE_TYPE_TIMESTAMP_US:
    return saturate(ms, 1000);
  case TIDE_TYPE_TIMESTAMP_NS:
    return saturate(ms, 1000000);
  default:
    return ms;
  }
}

int64_t tide_cut_rows_past_bytes(const struct tide_cut_part *parts, size_t count, int64_t limit) {
  int64_t past = 0;
  double left = (double)limit; /* for the rows of parts[i] and those before; from the newest back */
  size_t i = count;
  while (i > 0 && (double)parts[i - 1].bytes <= left)
    left -= (double)parts[--i].bytes;
  if (i == 0)
    return 0;
  const struct tide_cut_part *part = &parts[i - 1];
  int64_t kept = part->bytes > 0 ? (int64_t)(left / (double)part->bytes * (double)part->rows) : part->rows;
  past = part->rows - (kept < part->rows ? kept : part->rows);
  while (--i > 0)
    past += parts[i - 1].rows;
  return past;
}

/* ---- by rows and bytes ---- */

struct parts {
  struct tide_cut_part *list;
  size_t count;
  size_t cap;
};

static void add_part(struct parts *parts, int64_t rows, int64_t bytes, int64_t rows_of_bytes, struct tide_err *err) {
  void *list = parts->list;
  if (tide_grow(&list, &parts->cap, parts->count + 1, sizeof *parts->list, err) != 0)
    return;
  parts->list = list;
  parts->list[parts->count++] =
      (struct tide_cut_part){rows, (int64_t)((double)bytes * ((double)rows / (double)rows_of_bytes))};
}

static int64_t rows_past_bytes(struct tide_dataset *ds, const struct tide_stat *stat, struct tide_err *err) {
  struct tide_segment_row segment;
  struct parts parts = {0};
  int64_t in_tail = stat->rows;
  const struct tide_names names = tide_dataset_names(ds);
  sqlite3_stmt *stmt = tide_catalog_segments_prepare(ds->conn->db, names, err);
  if (stmt != NULL)
    tide_catalog_segments_seek(stmt, stat->partition, stat->pruned_upto);
  while (tide_catalog_segments_next(stmt, names, &segment, err)) {
    add_part(&parts, tide_segment_row_live(&segment), segment.stored_bytes, segment.rows, err);
    in_tail -= tide_segment_row_live(&segment);
  }
  sqlite3_finalize(stmt);
  if (stat->tail_rows > 0)
    add_part(&parts, in_tail, stat->tail_bytes, stat->tail_rows, err);
  const int64_t past =
      tide_err_is_set(err) ? 0 : tide_cut_rows_past_bytes(parts.list, parts.count, ds->config.options.retention_bytes);
  tide_free(parts.list);
  return past;
}

/* ---- by age ---- */

/* Rows from a since on, as long as their time is at or before a moment. */
struct aging {
  struct tide_dataset *ds;
  const struct tide_stat *stat;
  int column;          /* TIDE_OPTIONS_BY_INGEST: none */
  int64_t ingest_upto; /* ms */
  int64_t column_upto; /* the same in the column's unit */
  int64_t at;          /* rows up to it are past */
  bool kept;           /* the next one is not: */
  int64_t kept_since;
  int64_t kept_at;
  bool kept_by_ingest; /* its time is that of its ingest */
};

/* Whether a segment's description says that no row in it is younger. */
static bool whole_is_past(const struct aging *aging, const struct tide_segment_row *row, struct tide_err *err) {
  const bool by_ingest = row->newest_at <= aging->ingest_upto;
  if (aging->column == TIDE_OPTIONS_BY_INGEST)
    return by_ingest;
  struct tide_zone zone;
  const struct tide_chunk_source none = {0};
  struct tide_segment *segment = tide_segment_open(aging->ds->spec, row->meta, row->meta_size, none, err);
  if (segment == NULL) {
    tide_err_prefix(err, "dataset %s, segment of partition '%.*s' up to since %lld", aging->ds->name,
                    (int)aging->stat->text_size, aging->stat->text, (long long)row->last_since);
    return false;
  }
  tide_segment_zone(segment, (size_t)aging->column, &zone);
  const bool has_null = (zone.types & (1u << TIDE_VAL_NULL)) != 0;
  const bool only_null = zone.types == 1u << TIDE_VAL_NULL;
  const bool past =
      (only_null || (zone.bounded && zone.max.type == TIDE_VAL_INT && zone.max.i <= aging->column_upto)) &&
      (!has_null || by_ingest);
  tide_segment_close(segment);
  return past;
}

static void skip_whole_segments(struct aging *aging, struct tide_err *err) {
  struct tide_segment_row row;
  const struct tide_names names = tide_dataset_names(aging->ds);
  sqlite3_stmt *stmt = tide_catalog_segments_prepare(aging->ds->conn->db, names, err);
  if (stmt != NULL)
    tide_catalog_segments_seek(stmt, aging->stat->partition, aging->at);
  while (tide_catalog_segments_next(stmt, names, &row, err) && whole_is_past(aging, &row, err))
    aging->at = row.last_since;
  sqlite3_finalize(stmt);
}

/* Whether the row at hand is past; when not, it is the one that ends the run. */
static bool row_is_past(struct aging *aging, struct tide_scan *scan, struct tide_err *err) {
  struct tide_val value = tide_val_null();
  int64_t at = 0;
  if (aging->column != TIDE_OPTIONS_BY_INGEST)
    tide_scan_value(scan, (size_t)aging->column, &value, err);
  const bool by_ingest = value.type != TIDE_VAL_INT;
  if (by_ingest)
    tide_scan_ingested_at(scan, &at, err);
  else
    at = value.i;
  if (tide_err_is_set(err) || at <= (by_ingest ? aging->ingest_upto : aging->column_upto))
    return !tide_err_is_set(err);
  aging->kept = true;
  aging->kept_since = tide_scan_since(scan);
  aging->kept_at = at;
  aging->kept_by_ingest = by_ingest;
  return false;
}

static void pass_rows(struct aging *aging, struct tide_err *err) {
  struct tide_scan_request request;
  tide_scan_request_init(&request);
  request.above = aging->at;
  tide_scan_request_partition(&request, aging->stat->text, aging->stat->text_size, err);
  struct tide_scan *scan = tide_scan_open(aging->ds, &request, err);
  while (scan != NULL && !aging->kept && tide_scan_next(scan, err) && row_is_past(aging, scan, err)) {
  }
  tide_scan_close(scan);
  if (!tide_err_is_set(err))
    aging->at = aging->kept ? aging->kept_since - 1 : aging->stat->last_since;
}

static void find_age(struct aging *aging, struct tide_err *err) {
  if (aging->at < aging->stat->pruned_upto)
    aging->at = aging->stat->pruned_upto;
  skip_whole_segments(aging, err);
  if (!tide_err_is_set(err))
    pass_rows(aging, err);
}

int64_t tide_cut_by_ingest(struct tide_dataset *ds, const struct tide_stat *stat, int64_t above, int64_t upto_ms,
                           struct tide_err *err) {
  struct aging aging = {.ds = ds, .stat = stat, .column = TIDE_OPTIONS_BY_INGEST, .ingest_upto = upto_ms, .at = above};
  find_age(&aging, err);
  return aging.kept && aging.at < above ? above : aging.at;
}

static void cut_by_age(struct tide_dataset *ds, const struct tide_stat *stat, int64_t now_ms, struct tide_cut *cut,
                       struct tide_err *err) {
  const struct tide_options *options = &ds->config.options;
  struct aging aging = {.ds = ds, .stat = stat, .column = (int)options->retention_by, .at = cut->upto};
  if (__builtin_sub_overflow(now_ms, options->retention_age, &aging.ingest_upto))
    return; /* before all time */
  enum tide_type type = TIDE_TYPE_TIMESTAMP_MS;
  if (aging.column != TIDE_OPTIONS_BY_INGEST)
    type = ds->spec->columns[aging.column].type;
  aging.column_upto = tide_cut_in_unit(aging.ingest_upto, type);
  find_age(&aging, err);
  if (tide_err_is_set(err))
    return;
  if (aging.at > cut->upto)
    cut->upto = aging.at;
  cut->has_future = aging.kept && aging.kept_at > (aging.kept_by_ingest ? now_ms : tide_cut_in_unit(now_ms, type));
  cut->future_since = aging.kept_since;
  cut->future_at = aging.kept_at;
}

/* ---- together ---- */

void tide_cut_find(struct tide_dataset *ds, const struct tide_stat *stat, int64_t now_ms, struct tide_cut *ret_cut,
                   struct tide_err *err) {
  const struct tide_options *options = &ds->config.options;
  struct tide_cut cut = {.upto = stat->pruned_upto};
  struct tide_range range;
  int64_t past = 0;
  if (options->retention_rows != TIDE_OPTIONS_NO_LIMIT && stat->rows > options->retention_rows)
    past = stat->rows - options->retention_rows;
  if (options->retention_bytes != TIDE_OPTIONS_NO_LIMIT && past < stat->rows) {
    const int64_t by_bytes = rows_past_bytes(ds, stat, err);
    past = by_bytes > past ? by_bytes : past;
  }
  if (past > 0 && !tide_err_is_set(err)) {
    tide_stats_range(ds, stat->text, stat->text_size, stat->pruned_upto, stat->last_since, past, &range, err);
    cut.upto = range.until;
  }
  if (options->retention_age != TIDE_OPTIONS_NO_LIMIT && past < stat->rows && !tide_err_is_set(err))
    cut_by_age(ds, stat, now_ms, &cut, err);
  if (!tide_err_is_set(err))
    *ret_cut = cut;
}
