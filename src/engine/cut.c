#include "engine/cut.h"

#include <assert.h>

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

__extension__ typedef unsigned __int128 wide; /* rows times bytes fit */

static int64_t bytes_of(const struct tide_cut_part *part) {
  return (int64_t)(((wide)part->rows * (wide)part->bytes + (wide)part->of - 1) / (wide)part->of);
}

int64_t tide_cut_rows_past_bytes(const struct tide_cut_part *parts, size_t count, int64_t limit) {
  int64_t past = 0;
  int64_t left = limit; /* for the rows of parts[i - 1] and those before, from the newest back */
  size_t i = count;
  while (i > 0 && bytes_of(&parts[i - 1]) <= left)
    left -= bytes_of(&parts[--i]);
  if (i == 0)
    return 0;
  const struct tide_cut_part *part = &parts[i - 1];
  past = part->rows - (int64_t)((wide)left * (wide)part->of / (wide)part->bytes);
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

static void add_part(struct parts *parts, struct tide_cut_part part, struct tide_err *err) {
  void *list = parts->list;
  if (tide_grow(&list, &parts->cap, parts->count + 1, sizeof *parts->list, err) != 0)
    return;
  parts->list = list;
  parts->list[parts->count++] = part;
}

/* `live` rows of the batch in the tail that ends with a row. */
static struct tide_cut_part part_of_tail(const struct tide_tail_index *tail, int64_t last_since, int64_t live) {
  const size_t place = tide_tail_index_above(tail, last_since - 1);
  assert(place < tail->places);
  return (struct tide_cut_part){live, tail->entries[place].bytes, tail->entries[place].rows};
}

/* One part for each batch in the tail. Gives their rows. */
static int64_t add_tail(struct tide_dataset *ds, const struct tide_stat *stat, int64_t above, struct parts *parts,
                        struct tide_err *err) {
  struct tide_scan_frame frame;
  struct tide_scan_request request;
  int64_t rows = 0;
  tide_scan_request_init(&request);
  request.above = above;
  request.partition_id = stat->partition;
  struct tide_scan *scan = tide_scan_open(ds, &request, err);
  while (scan != NULL && tide_scan_next_frame(scan, &frame, err)) {
    int64_t live = 0;
    for (size_t row = frame.first; row < frame.end; row++)
      live += frame.live[row];
    add_part(parts, part_of_tail(&ds->tail, frame.batch->since[frame.batch->rows - 1], live), err);
    rows += live;
  }
  tide_scan_close(scan);
  return rows;
}

/* One part for each segment. Gives the last since, at least pruned_upto. */
static int64_t add_segments(struct tide_dataset *ds, const struct tide_stat *stat, struct parts *parts,
                            int64_t *ret_rows, struct tide_err *err) {
  struct tide_segment_row segment;
  int64_t last = stat->pruned_upto;
  const struct tide_names names = tide_dataset_names(ds);
  sqlite3_stmt *stmt = tide_catalog_segments_prepare(ds->conn->db, names, err);
  if (stmt != NULL)
    tide_catalog_segments_seek(stmt, stat->partition, stat->pruned_upto);
  while (tide_catalog_segments_next(stmt, names, &segment, err)) {
    const int64_t live = tide_segment_row_live(&segment);
    add_part(parts, (struct tide_cut_part){live, segment.stored_bytes, segment.rows}, err);
    *ret_rows += live;
    last = segment.last_since;
  }
  tide_stmt_pool_give(names.pool, stmt);
  return last;
}

/* Reads the tail only when the limit is not far. */
static int64_t rows_past_bytes(struct tide_dataset *ds, const struct tide_stat *stat, struct tide_err *err) {
  struct parts parts = {0};
  int64_t rows = 0;
  int64_t past = 0;
  const int64_t limit = ds->config.options.retention_bytes;
  const int64_t last = add_segments(ds, stat, &parts, &rows, err);
  if (!tide_err_is_set(err) &&
      (stat->tail_bytes > limit || tide_cut_rows_past_bytes(parts.list, parts.count, limit - stat->tail_bytes) > 0)) {
    rows += add_tail(ds, stat, last, &parts, err);
    if (rows != stat->rows)
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: partition '%.*s' has %lld rows, its counts say %lld",
                   ds->name, (int)stat->text_size, stat->text, (long long)rows, (long long)stat->rows);
    if (!tide_err_is_set(err))
      past = tide_cut_rows_past_bytes(parts.list, parts.count, limit);
  }
  tide_free(parts.list);
  return past;
}

/* ---- by age ---- */

/* Rows from a since on, as long as their time is at or before a moment. */
struct aging {
  struct tide_dataset *ds;
  const struct tide_stat *stat;
  int column;           /* TIDE_OPTIONS_BY_INGEST: none */
  int64_t ingest_upto;  /* ms */
  int64_t column_upto;  /* the same in the column's unit; INT64_MIN: before all that the column can say */
  struct tide_zone all; /* of a column of partition_by: what all rows have there; types 0: another column */
  int64_t at;           /* rows up to it are past */
  bool kept;            /* the next one is not: */
  int64_t kept_since;
  int64_t kept_at;
  bool kept_by_ingest; /* its time is that of its ingest */
};

static bool column_is_past(const struct aging *aging, int64_t value) {
  return value <= aging->column_upto && aging->column_upto != INT64_MIN;
}

/* What the column has in a segment, by the segment's description. */
static struct tide_zone zone_of(const struct aging *aging, const struct tide_segment_row *row, struct tide_err *err) {
  struct tide_zone zone = {.types = 0xff};
  const struct tide_chunk_source none = {0};
  struct tide_segment *segment = tide_segment_open(aging->ds->spec, row->meta, row->meta_size, none, NULL, err);
  if (segment == NULL) {
    tide_err_prefix(err, "dataset %s, segment of partition '%.*s' up to since %lld", aging->ds->name,
                    (int)aging->stat->text_size, aging->stat->text, (long long)row->last_since);
    return zone;
  }
  tide_segment_zone(segment, (size_t)aging->column, &zone);
  tide_segment_close(segment); /* the values are integers: no view of it is kept */
  return zone;
}

/* Whether a segment's description says that no row in it is younger. */
static bool whole_is_past(const struct aging *aging, const struct tide_segment_row *row, struct tide_err *err) {
  const bool by_ingest = row->newest_at <= aging->ingest_upto;
  if (aging->column == TIDE_OPTIONS_BY_INGEST)
    return by_ingest;
  const struct tide_zone zone = aging->all.types != 0 ? aging->all : zone_of(aging, row, err);
  const bool has_null = (zone.types & (1u << TIDE_VAL_NULL)) != 0;
  const bool only_null = zone.types == 1u << TIDE_VAL_NULL;
  return !tide_err_is_set(err) && (!has_null || by_ingest) &&
         (only_null || (zone.bounded && zone.max.type == TIDE_VAL_INT && column_is_past(aging, zone.max.i)));
}

/* Goes behind the segments that are past as a whole. Gives the last since of the first one that is not; 0: there is
 * none. */
static int64_t skip_whole_segments(struct aging *aging, struct tide_err *err) {
  struct tide_segment_row row;
  int64_t stopped_by = 0;
  const struct tide_names names = tide_dataset_names(aging->ds);
  sqlite3_stmt *stmt = tide_catalog_segments_prepare(aging->ds->conn->db, names, err);
  if (stmt != NULL)
    tide_catalog_segments_seek(stmt, aging->stat->partition, aging->at);
  while (stopped_by == 0 && tide_catalog_segments_next(stmt, names, &row, err)) {
    if (whole_is_past(aging, &row, err))
      aging->at = row.last_since;
    else
      stopped_by = row.last_since;
  }
  tide_stmt_pool_give(names.pool, stmt);
  return stopped_by;
}

/* The time of a row in the column; false when it is that of its ingest. */
static bool time_in_column(const struct aging *aging, const struct tide_scan_frame *frame, size_t row,
                           int64_t *ret_at) {
  if (aging->column == TIDE_OPTIONS_BY_INGEST)
    return false;
  if (aging->all.types != 0) {
    *ret_at = aging->all.min.i;
    return aging->all.min.type == TIDE_VAL_INT;
  }
  const struct tide_vec *vec = &frame->batch->columns[aging->column];
  *ret_at = vec->num[row];
  return vec->tag[row] == TIDE_VAL_INT;
}

/* Passes the rows of the frame at hand up to the first that is not past, which ends the run. */
static void pass_frame(struct aging *aging, struct tide_scan *scan, const struct tide_scan_frame *frame,
                       struct tide_err *err) {
  if (aging->column != TIDE_OPTIONS_BY_INGEST && aging->all.types == 0)
    tide_scan_decode(scan, (size_t)aging->column, err);
  for (size_t row = frame->first; row < frame->end && !tide_err_is_set(err); row++) {
    int64_t at = 0;
    if (!frame->live[row])
      continue;
    const bool by_column = time_in_column(aging, frame, row, &at);
    if (!by_column && tide_scan_decode(scan, aging->ds->spec->ncolumns, err) == 0)
      at = frame->batch->ingested_at[row];
    if (tide_err_is_set(err) || (by_column ? column_is_past(aging, at) : at <= aging->ingest_upto))
      continue;
    aging->kept = true;
    aging->kept_since = frame->batch->since[row];
    aging->kept_at = at;
    aging->kept_by_ingest = !by_column;
    return;
  }
}

/* Looks at the rows up to a since one by one, as far as they are past. */
static void pass_rows(struct aging *aging, int64_t upto, struct tide_err *err) {
  struct tide_scan_request request;
  struct tide_scan_frame frame;
  tide_scan_request_init(&request);
  request.above = aging->at;
  request.upto = upto;
  request.partition_id = aging->stat->partition;
  struct tide_scan *scan = tide_scan_open(aging->ds, &request, err);
  while (scan != NULL && !aging->kept && tide_scan_next_frame(scan, &frame, err))
    pass_frame(aging, scan, &frame, err);
  tide_scan_close(scan);
  if (!tide_err_is_set(err))
    aging->at = aging->kept ? aging->kept_since - 1 : upto;
}

static void find_age(struct aging *aging, struct tide_err *err) {
  int64_t segment_last = 0;
  if (aging->at < aging->stat->pruned_upto)
    aging->at = aging->stat->pruned_upto;
  while (!aging->kept && !tide_err_is_set(err) && (segment_last = skip_whole_segments(aging, err)) > 0)
    pass_rows(aging, segment_last, err);
  if (!aging->kept && !tide_err_is_set(err) && aging->at < aging->stat->last_since)
    pass_rows(aging, aging->stat->last_since, err);
}

int64_t tide_cut_by_ingest(struct tide_dataset *ds, const struct tide_stat *stat, int64_t above, int64_t upto_ms,
                           struct tide_err *err) {
  struct aging aging = {.ds = ds, .stat = stat, .column = TIDE_OPTIONS_BY_INGEST, .ingest_upto = upto_ms, .at = above};
  find_age(&aging, err);
  return aging.kept && aging.at < above ? above : aging.at;
}

/* All rows of a partition have the same in a column of partition_by, and no segment stores it. */
static void know_partition_column(struct aging *aging, struct tide_err *err) {
  struct tide_val values[TIDE_SPEC_PARTITION_MAX];
  struct tide_buf bytes = {0};
  const struct tide_spec *spec = aging->ds->spec;
  const int at = aging->column != TIDE_OPTIONS_BY_INGEST ? spec->columns[aging->column].partition_at : -1;
  if (at < 0)
    return;
  if (tide_catalog_partition_values(tide_dataset_names(aging->ds), spec, aging->stat->text, aging->stat->text_size,
                                    values, &bytes, err) == 0)
    aging->all = (struct tide_zone){.types = (uint8_t)(1u << values[at].type),
                                    .bounded = values[at].type != TIDE_VAL_NULL,
                                    .min = values[at],
                                    .max = values[at]};
  tide_buf_clear(&bytes);
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
  know_partition_column(&aging, err);
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
    tide_stats_range(ds, stat, stat->pruned_upto, stat->last_since, past, &range, err);
    cut.upto = range.until;
    cut.rows = range.rows;
  }
  const int64_t upto = cut.upto;
  if (options->retention_age != TIDE_OPTIONS_NO_LIMIT && past < stat->rows && !tide_err_is_set(err))
    cut_by_age(ds, stat, now_ms, &cut, err);
  if (cut.upto > upto && !tide_err_is_set(err)) {
    tide_stats_range(ds, stat, upto, cut.upto, INT64_MAX, &range, err);
    cut.rows += range.rows;
  }
  if (!tide_err_is_set(err))
    *ret_cut = cut;
}
