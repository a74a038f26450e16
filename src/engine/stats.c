#include "engine/stats.h"

#include <stdlib.h>

#include "base/mem.h"
#include "engine/rank.h"
#include "engine/scan.h"
#include "store/durable.h"

/* First the partitions with segments above the bound, from the index; then those that have newer rows in the tail
 * alone. */
struct tide_stats {
  struct tide_dataset *ds;
  int64_t above;
  int64_t only; /* that partition; 0: all */
  sqlite3_stmt *sealed_stmt;
  sqlite3_stmt *by_id_stmt;
  int64_t *tail; /* partitions of the tail above the bound, each once, ascending */
  size_t ntail;
  size_t tail_at;
};

static int by_id(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a;
  const int64_t y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void list_tail(struct tide_stats *stats, struct tide_err *err) {
  const struct tide_tail_index *tail = &stats->ds->tail;
  size_t count = 0;
  const size_t first = tide_tail_index_above(tail, stats->above);
  if (first >= tail->end)
    return;
  stats->tail = tide_alloc_zero(tail->end - first, sizeof *stats->tail, err);
  for (size_t i = first; stats->tail != NULL && i < tail->end; i++) {
    if (tail->entries[i].rows > 0)
      stats->tail[count++] = tail->entries[i].partition;
  }
  if (count > 0)
    qsort(stats->tail, count, sizeof *stats->tail, by_id);
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || stats->tail[i] != stats->tail[i - 1])
      stats->tail[stats->ntail++] = stats->tail[i];
  }
}

struct tide_stats *tide_stats_open(struct tide_dataset *ds, const char *text, size_t text_size, int64_t above,
                                   struct tide_err *err) {
  struct tide_stats *stats = tide_alloc_zero(1, sizeof *stats, err);
  if (stats == NULL)
    return NULL;
  sqlite3 *db = ds->conn->db;
  const struct tide_names names = tide_dataset_names(ds);
  stats->ds = tide_dataset_ref(ds);
  tide_stmt_pool_hold(ds->pool);
  stats->above = above;
  tide_txn_flush(ds, err);
  tide_dataset_refresh(ds, err);
  stats->by_id_stmt = tide_catalog_partition_by_id(db, names, err);
  if (tide_err_is_set(err)) {
    tide_stats_close(stats);
    return NULL;
  }
  if (text != NULL) {
    stats->only = tide_catalog_partition_find(db, names, text, text_size, err);
    stats->tail = tide_alloc_zero(1, sizeof *stats->tail, err);
    if (stats->only != 0 && stats->tail != NULL)
      stats->tail[stats->ntail++] = stats->only;
  } else {
    stats->sealed_stmt = tide_catalog_partitions_above(db, names, above, err);
    list_tail(stats, err);
  }
  return stats;
}

void tide_stats_close(struct tide_stats *stats) {
  if (stats == NULL)
    return;
  tide_stmt_pool_give(stats->ds->pool, stats->sealed_stmt);
  tide_stmt_pool_give(stats->ds->pool, stats->by_id_stmt);
  tide_stmt_pool_release(stats->ds->pool);
  tide_free(stats->tail);
  tide_dataset_release(stats->ds);
  tide_free(stats);
}

/* SQLITE_CORRUPT_VTAB when the partition would have fewer rows than none, or more than can be counted. */
static int fill(const struct tide_stats *stats, const struct tide_partition_row *row, struct tide_stat *stat,
                struct tide_err *err) {
  const struct tide_tail_entry *tail = tide_tail_index_find(&stats->ds->tail, row->id);
  *stat = (struct tide_stat){.partition = row->id,
                             .text = row->text_size > 0 ? row->text : "",
                             .text_size = row->text_size,
                             .written = row->written,
                             .deleted = row->deleted,
                             .pruned = row->pruned,
                             .pruned_upto = row->pruned_upto,
                             .last_since = row->last_since};
  bool plausible = true;
  if (tail != NULL) {
    plausible = tide_catalog_is_count(tail->partition_rows) && tide_catalog_is_count(tail->partition_raw_bytes);
    stat->tail_rows = tail->partition_rows;
    stat->tail_bytes = tail->partition_bytes;
    stat->tail_raw_bytes = tail->partition_raw_bytes;
    stat->written += plausible ? tail->partition_rows : 0;
    stat->last_since = tail->last_since;
  }
  stat->rows = stat->written - stat->deleted - stat->pruned;
  if (!plausible || stat->rows < 0)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_partition row (id %lld) contradicts itself or its tail",
                 stats->ds->name, stats->ds->name, (long long)row->id);
  return err->rc;
}

bool tide_stats_next(struct tide_stats *stats, struct tide_stat *ret_stat, struct tide_err *err) {
  struct tide_partition_row row;
  const struct tide_names names = tide_dataset_names(stats->ds);
  if (stats->sealed_stmt != NULL) {
    if (tide_catalog_partition_row(stats->sealed_stmt, names, &row, err))
      return fill(stats, &row, ret_stat, err) == 0;
    tide_stmt_pool_give(names.pool, stats->sealed_stmt);
    stats->sealed_stmt = NULL;
  }
  while (stats->tail_at < stats->ntail && !tide_err_is_set(err)) {
    sqlite3_reset(stats->by_id_stmt);
    sqlite3_bind_int64(stats->by_id_stmt, 1, stats->tail[stats->tail_at++]);
    if (!tide_catalog_partition_row(stats->by_id_stmt, names, &row, err))
      continue;
    if (stats->only == 0 && row.last_since > stats->above)
      continue; /* came with the sealed ones */
    if (fill(stats, &row, ret_stat, err) == 0 && ret_stat->last_since > stats->above)
      return true;
  }
  return false;
}

bool tide_stats_one(struct tide_dataset *ds, const char *text, size_t text_size, struct tide_stat *ret_stat,
                    struct tide_err *err) {
  struct tide_stats *stats = tide_stats_open(ds, text, text_size, 0, err);
  const bool found = stats != NULL && tide_stats_next(stats, ret_stat, err);
  tide_stats_close(stats);
  if (found)
    ret_stat->text = text;
  return found;
}

void tide_stats_sum(struct tide_dataset *ds, struct tide_stats_sum *ret_sum, struct tide_err *err) {
  struct tide_catalog_totals totals = {0};
  struct tide_stats_sum sum = {0};
  sqlite3_stmt *snapshot = tide_read_begin(ds->conn->db, ds->schema, err);
  tide_txn_flush(ds, err);
  tide_dataset_refresh(ds, err);
  tide_catalog_totals(ds->conn->db, tide_dataset_names(ds), &totals, err);
  sqlite3_finalize(snapshot);
  sum.tail_rows = ds->tail.rows;
  sum.rows = totals.rows + sum.tail_rows;
  sum.segments = totals.segments;
  sum.raw_bytes = totals.raw_bytes + ds->tail.raw_bytes;
  sum.stored_bytes = totals.stored_bytes + ds->tail.bytes;
  if (!tide_err_is_set(err))
    *ret_sum = sum;
}

/* ---- ranges ---- */

/* A range being counted. */
struct counting {
  struct tide_dataset *ds;
  const struct tide_stat *stat;
  int64_t at; /* counted up to here */
  int64_t pruned_upto;
  int64_t upto;
  int64_t max_rows;
  struct tide_range range;
};

static struct tide_scan *open_scan(const struct counting *counting, int64_t upto, struct tide_err *err) {
  struct tide_scan_request request;
  tide_scan_request_init(&request);
  request.above = counting->at;
  request.upto = upto;
  request.partition_id = counting->stat->partition;
  return tide_scan_open(counting->ds, &request, err);
}

/* Counts rows one by one up to a since. */
static void count_rows(struct counting *counting, int64_t upto, struct tide_err *err) {
  struct tide_scan_frame frame;
  struct tide_range *range = &counting->range;
  struct tide_scan *scan = open_scan(counting, upto, err);
  while (scan != NULL && range->rows < counting->max_rows && tide_scan_next_frame(scan, &frame, err)) {
    for (size_t row = frame.first; row < frame.end && range->rows < counting->max_rows; row++) {
      if (!frame.live[row])
        continue;
      range->rows++;
      range->last = frame.batch->since[row];
    }
  }
  tide_scan_close(scan);
  counting->at = range->rows < counting->max_rows ? upto : range->last;
}

/* More than the whole is never taken, and a sum stops at the highest number: it is an estimate. */
static void add_bytes(struct tide_range *range, int64_t bytes, int64_t part, int64_t whole) {
  const int64_t share = part < whole ? (int64_t)((double)bytes * ((double)part / (double)whole)) : bytes;
  range->raw_bytes = share < INT64_MAX - range->raw_bytes ? range->raw_bytes + share : INT64_MAX;
}

/* Counts rows up to a since in a segment from which DELETE took none, by their places. */
static void count_places(struct counting *counting, const struct tide_segment_row *segment, int64_t upto,
                         struct tide_err *err) {
  const struct tide_stat *stat = counting->stat;
  struct tide_rank rank = {.ds = counting->ds, .partition = stat->text, .partition_size = stat->text_size};
  struct tide_range *range = &counting->range;
  if (tide_rank_open(&rank, segment, err) == 0) {
    const int64_t first = tide_rank_upto(&rank, counting->at, err);
    const int64_t end = tide_rank_upto(&rank, upto, err);
    const int64_t left = counting->max_rows - range->rows;
    const int64_t rows = end - first < left ? end - first : left;
    if (rows > 0 && !tide_err_is_set(err))
      range->last = tide_rank_since(&rank, first + rows - 1, err);
    range->rows += rows;
    counting->at = rows < left ? upto : range->last;
  }
  tide_rank_close(&rank);
}

static void count_segment(struct counting *counting, const struct tide_segment_row *segment, struct tide_err *err) {
  struct tide_range *range = &counting->range;
  const int64_t live = tide_segment_row_live(segment);
  const int64_t before = range->rows;
  const int64_t upto = segment->last_since < counting->upto ? segment->last_since : counting->upto;
  /* what a segment has at or below pruned_upto is not among its live rows */
  const bool whole = segment->first_since > counting->at || counting->at <= counting->pruned_upto;
  if (whole && segment->last_since <= counting->upto && live <= counting->max_rows - range->rows) {
    range->rows += live;
    counting->at = segment->last_since;
    if (live > 0)
      range->last = segment->last_since;
  } else if (segment->deleted == 0) {
    count_places(counting, segment, upto, err);
  } else {
    count_rows(counting, upto, err);
  }
  add_bytes(range, segment->raw_bytes, range->rows - before, segment->rows);
}

/* Counts an entry of the tail. Where DELETE took none, a whole one has as many rows as it says, and one whose numbers
 * have no gap has a row for each; only others are read. */
static void count_entry(struct counting *counting, const struct tide_tail_entry *entry, struct tide_err *err) {
  struct tide_range *range = &counting->range;
  const int64_t left = counting->max_rows - range->rows;
  const int64_t upto = entry->last_since < counting->upto ? entry->last_since : counting->upto;
  const bool complete = entry->first_since > counting->ds->deleted_max;
  const bool whole = entry->first_since > counting->at && entry->last_since <= counting->upto && entry->rows <= left;
  const bool dense = entry->last_since - entry->first_since == entry->rows - 1;
  if (!complete || !(whole || dense)) {
    count_rows(counting, upto, err);
    return;
  }
  const int64_t above = counting->at < entry->first_since ? entry->first_since - 1 : counting->at;
  const int64_t rows = whole ? entry->rows : upto - above < left ? upto - above : left;
  range->rows += rows;
  range->last = whole ? entry->last_since : above + rows;
  counting->at = range->last;
}

/* The partition's entries in the tail that reach into the range, ascending; NULL when there are none, and on failure.
 * The caller frees them. */
static struct tide_tail_entry *list_entries(const struct counting *counting, size_t *ret_count, struct tide_err *err) {
  const struct tide_tail_index *tail = &counting->ds->tail;
  const struct tide_tail_entry *newest = tide_tail_index_find(tail, counting->stat->partition);
  size_t count = 0;
  while (newest != NULL && newest->first_since > counting->upto)
    newest = tide_tail_index_before(tail, newest);
  for (const struct tide_tail_entry *entry = newest; entry != NULL && entry->last_since > counting->at;
       entry = tide_tail_index_before(tail, entry))
    count++;
  struct tide_tail_entry *entries = count > 0 ? tide_alloc_zero(count, sizeof *entries, err) : NULL;
  *ret_count = entries != NULL ? count : 0;
  for (size_t i = *ret_count; i > 0; newest = tide_tail_index_before(tail, newest))
    entries[--i] = *newest;
  return entries;
}

static void count_tail(struct counting *counting, struct tide_err *err) {
  const struct tide_tail_entry *newest = tide_tail_index_find(&counting->ds->tail, counting->stat->partition);
  const struct tide_tail_entry whole = newest != NULL ? *newest : (struct tide_tail_entry){0};
  const int64_t before = counting->range.rows;
  size_t count;
  struct tide_tail_entry *entries = list_entries(counting, &count, err);
  for (size_t i = 0; i < count && counting->range.rows < counting->max_rows && !tide_err_is_set(err); i++)
    count_entry(counting, &entries[i], err);
  if (count > 0)
    add_bytes(&counting->range, whole.partition_raw_bytes, counting->range.rows - before, whole.partition_rows);
  tide_free(entries);
}

void tide_stats_range(struct tide_dataset *ds, const struct tide_stat *stat, int64_t above, int64_t upto,
                      int64_t max_rows, struct tide_range *ret_range, struct tide_err *err) {
  struct counting counting = {.ds = ds,
                              .stat = stat,
                              .at = above > stat->pruned_upto ? above : stat->pruned_upto,
                              .pruned_upto = stat->pruned_upto,
                              .upto = upto,
                              .max_rows = max_rows};
  struct tide_segment_row segment;
  const struct tide_names names = tide_dataset_names(ds);
  tide_txn_flush(ds, err);
  tide_dataset_refresh(ds, err);
  const bool in_segments = counting.at < upto && counting.at < ds->config.sealed_since;
  sqlite3_stmt *stmt = in_segments ? tide_catalog_segments_prepare(ds->conn->db, names, err) : NULL;
  if (stmt != NULL) {
    tide_catalog_segments_seek(stmt, stat->partition, counting.at);
    while (counting.range.rows < max_rows && tide_catalog_segments_next(stmt, names, &segment, err) &&
           segment.first_since <= upto)
      count_segment(&counting, &segment, err);
  }
  tide_stmt_pool_give(names.pool, stmt);
  if (counting.range.rows < max_rows && !tide_err_is_set(err))
    count_tail(&counting, err);
  counting.range.until = counting.range.rows < max_rows || counting.range.last == 0 ? upto : counting.range.last;
  *ret_range = counting.range;
}

static bool row_at_hand(struct tide_scan *scan, struct tide_stats_row *row, struct tide_err *err) {
  row->since = tide_scan_since(scan);
  return tide_scan_ingested_at(scan, &row->ingested_at, err) == 0;
}

bool tide_stats_first(struct tide_dataset *ds, const char *text, size_t text_size, int64_t above,
                      struct tide_stats_row *ret_row, struct tide_err *err) {
  struct tide_scan_request request;
  tide_scan_request_init(&request);
  request.above = above;
  if (tide_scan_request_partition(&request, text, text_size, err) != 0)
    return false;
  struct tide_scan *scan = tide_scan_open(ds, &request, err);
  const bool found = scan != NULL && tide_scan_next(scan, err) && row_at_hand(scan, ret_row, err);
  tide_scan_close(scan);
  return found;
}

/* Looks further and further back, for the newest rows may have been deleted. */
bool tide_stats_last(struct tide_dataset *ds, const struct tide_stat *stat, struct tide_stats_row *ret_row,
                     struct tide_err *err) {
  struct counting counting = {.ds = ds, .stat = stat};
  bool found = false;
  int64_t end = stat->last_since;
  for (int64_t back = 1; !found && stat->rows > 0 && end > 0 && !tide_err_is_set(err); back *= 16) {
    counting.at = end > back ? end - back : 0;
    struct tide_scan *scan = open_scan(&counting, end, err);
    while (scan != NULL && tide_scan_next(scan, err) && row_at_hand(scan, ret_row, err))
      found = true;
    tide_scan_close(scan);
    end = counting.at;
  }
  return found && !tide_err_is_set(err);
}
