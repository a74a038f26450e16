#include "engine/check_rows.h"

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/check_deleted.h"
#include "engine/check_segment.h"
#include "engine/check_values.h"
#include "engine/scan.h"
#include "model/partition.h"
#include "store/checks.h"

enum { MERGED_PARTITIONS_MAX = 64 };

/* All that is walked at once: partitions ascending by id, and beside them what is ordered by partition. */
struct walk {
  struct tide_check *check;
  sqlite3_stmt *partitions;
  sqlite3_stmt *segments;
  sqlite3_stmt *sizes;
  sqlite3_stmt *tail;
  sqlite3_stmt *tail_data;
  bool tail_there; /* the entry at hand is */
  struct tide_tail_entry entry;
  struct tide_check_deleted deleted;
  struct tide_partition_row row; /* the partition at hand; without its text */
  struct tide_buf text;          /* its text, with a NUL */
  struct tide_check_partition partition;
  int64_t tail_rows;
};

/* Takes damage; whether the statement that met it can go on, for SQLite's own ends it. */
static bool take_and_go_on(struct walk *walk, struct tide_err *err) {
  const bool ours = err->rc == SQLITE_CORRUPT_VTAB;
  if (!tide_check_report_take(walk->check->report, NULL, err))
    return false;
  walk->check->unreadable = true;
  return ours;
}

/* ---- partitions ---- */

static bool next_partition(struct walk *walk, struct tide_err *err) {
  struct tide_partition_row row = {0};
  const bool known = tide_catalog_partition_row(walk->partitions, walk->check->names, &row, err);
  if (!known && !take_and_go_on(walk, err))
    return false;
  tide_buf_reset(&walk->text);
  size_t size = 0;
  const char *text = tide_stmt_text(walk->partitions, 1, &size, err);
  tide_buf_put(&walk->text, text, size, err);
  tide_buf_put_u8(&walk->text, 0, err);
  walk->row = row;
  walk->tail_rows = 0;
  walk->partition = (struct tide_check_partition){.id = sqlite3_column_int64(walk->partitions, 0),
                                                  .text = (const char *)walk->text.data,
                                                  .known = known,
                                                  .pruned_upto = row.pruned_upto,
                                                  .last_since = row.last_since,
                                                  .counted = true};
  return !tide_err_is_set(err);
}

static void say(struct walk *walk, struct tide_err *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *what = tide_err_is_set(err) ? NULL : sqlite3_vmprintf(format, args);
  va_end(args);
  if (what == NULL)
    tide_err_nomem(err);
  tide_check_report_add(walk->check->report, err, "%s_partition (id %lld, '%s'): %s", walk->check->names.dataset,
                        (long long)walk->partition.id, walk->partition.text, what);
  sqlite3_free(what);
}

/* Its text is what encodes to it. */
static void check_text(struct walk *walk, struct tide_err *err) {
  struct tide_val values[TIDE_SPEC_PARTITION_MAX];
  struct tide_buf bytes = {0};
  struct tide_err unlike = {0};
  if (tide_err_is_set(err))
    return;
  tide_partition_decode(walk->check->spec, walk->partition.text, walk->text.len - 1, values, &bytes, &unlike);
  tide_buf_clear(&bytes);
  if (unlike.rc == SQLITE_ERROR) {
    walk->check->unreadable = true;
    say(walk, err, "%s", unlike.msg);
  } else if (tide_err_is_set(&unlike)) {
    *err = unlike;
  }
}

/* What its row says of the numbers that were met. */
static void check_numbers(struct walk *walk, struct tide_err *err) {
  struct tide_check *check = walk->check;
  const struct tide_partition_row *row = &walk->row;
  const int64_t newest = walk->partition.end > row->last_since ? walk->partition.end : row->last_since;
  if (row->last_since > check->config.sealed_since) {
    check->unreadable = true; /* so nobody reads the dataset */
    say(walk, err, "its last_since is %lld, above the %lld of sealed_since in %s_config", (long long)row->last_since,
        (long long)check->config.sealed_since, check->names.dataset);
  }
  if (row->pruned_upto > newest)
    say(walk, err, "its pruned_upto is %lld, above the %lld of its newest row", (long long)row->pruned_upto,
        (long long)newest);
  if (newest > check->last_since)
    check->last_since = newest;
}

/* What its row says of the rows that were met. Counts are small enough for sums: tide_catalog_is_count. */
static void check_counts(struct walk *walk, struct tide_err *err) {
  struct tide_check *check = walk->check;
  const struct tide_partition_row *row = &walk->row;
  const int64_t written = row->written + walk->tail_rows;
  const int64_t left = written - row->deleted - row->pruned;
  check->written = written < INT64_MAX - check->written ? check->written + written : INT64_MAX;
  if (!walk->partition.counted || left == walk->partition.live)
    return;
  check->miscounted = true;
  say(walk, err,
      "written %lld, %lld more in the tail, less deleted %lld and pruned %lld are %lld rows, but %lld are there",
      (long long)row->written, (long long)walk->tail_rows, (long long)row->deleted, (long long)row->pruned,
      (long long)left, (long long)walk->partition.live);
}

/* ---- segments ---- */

static void check_segments(struct walk *walk, struct tide_err *err) {
  struct tide_check *check = walk->check;
  struct tide_segment_row row;
  if (tide_err_is_set(err))
    return;
  tide_catalog_segments_seek(walk->segments, walk->partition.id, INT64_MIN);
  for (;;) {
    if (tide_catalog_segments_next(walk->segments, check->names, &row, err)) {
      tide_check_segment(check, &walk->partition, &walk->deleted, walk->sizes, &row, err);
      continue;
    }
    if ((err->rc & 0xff) == SQLITE_CORRUPT)
      check->owner_unknown = true;
    if (!take_and_go_on(walk, err))
      return;
    walk->partition.counted = false;
    tide_check_deleted_skip(&walk->deleted, check, walk->partition.id, sqlite3_column_int64(walk->segments, 1), err);
  }
}

/* ---- the tail ---- */

static void next_entry(struct walk *walk, struct tide_err *err) {
  walk->tail_there = tide_stmt_row(walk->tail, err);
  take_and_go_on(walk, err);
  if (walk->tail_there && !tide_stmt_are_ints(walk->tail, 0, 5)) {
    walk->check->unreadable = true;
    tide_check_report_add(walk->check->report, err, "dataset %s: %s_tail row %lld contradicts itself",
                          walk->check->names.dataset, walk->check->names.dataset,
                          (long long)sqlite3_column_int64(walk->tail, 0));
  }
  if (walk->tail_there)
    walk->entry = (struct tide_tail_entry){.last_since = sqlite3_column_int64(walk->tail, 0),
                                           .first_since = sqlite3_column_int64(walk->tail, 1),
                                           .partition = sqlite3_column_int64(walk->tail, 2),
                                           .rows = sqlite3_column_int64(walk->tail, 3),
                                           .bytes = sqlite3_column_int64(walk->tail, 4)};
}

static void check_entry_values(struct walk *walk, struct tide_err *err) {
  const struct tide_check *check = walk->check;
  for (size_t i = 0; i < check->spec->ncolumns; i++) {
    const struct tide_column *column = &check->spec->columns[i];
    struct tide_check_seen seen = {0};
    if (column->partition_at >= 0)
      continue;
    tide_check_values_look(&check->batch.columns[i], check->batch.rows, NULL, &seen);
    const char *foreign = tide_check_values_foreign(column, seen.types);
    if (foreign != NULL)
      tide_check_report_add(check->report, err, "%s_tail row %lld, column %s: it is %s%s and holds %s",
                            check->names.dataset, (long long)walk->entry.last_since, column->name,
                            tide_spec_type_name(column->type), column->not_null ? " NOT NULL" : "", foreign);
  }
}

static void check_entry_rows(struct walk *walk, struct tide_err *err) {
  struct tide_check *check = walk->check;
  struct tide_check_partition *partition = &walk->partition;
  for (size_t row = 0; row < check->batch.rows && !tide_err_is_set(err); row++) {
    const int64_t since = check->batch.since[row];
    if (!tide_check_deleted_meet(&walk->deleted, check, partition->id, since, err) && since > partition->pruned_upto)
      partition->live++;
  }
  walk->tail_rows += (int64_t)check->batch.rows;
}

static void check_entry(struct walk *walk, struct tide_err *err) {
  struct tide_check *check = walk->check;
  struct tide_check_partition *partition = &walk->partition;
  const struct tide_tail_entry *entry = &walk->entry;
  const int64_t below = partition->end > partition->last_since ? partition->end : partition->last_since;
  if (entry->first_since <= below)
    tide_check_report_add(check->report, err,
                          "%s_tail row %lld begins at %lld, not above %lld, where the rows of partition '%s' before it"
                          " end",
                          check->names.dataset, (long long)entry->last_since, (long long)entry->first_since,
                          (long long)below, partition->text);
  if (entry->last_since > partition->end)
    partition->end = entry->last_since;
  tide_check_deleted_pass(&walk->deleted, check, partition->id, entry->first_since, err);
  tide_batch_reset(&check->batch);
  const struct tide_tail_part whole = tide_tail_whole(entry);
  if (tide_tail_read(walk->tail_data, check->names, check->spec, &whole, &check->batch, err)) {
    check_entry_rows(walk, err);
    check_entry_values(walk, err);
    return;
  }
  take_and_go_on(walk, err);
  partition->counted = false;
  tide_check_deleted_skip(&walk->deleted, check, partition->id, entry->last_since, err);
}

static void check_tail(struct walk *walk, struct tide_err *err) {
  for (; walk->tail_there && walk->entry.partition == walk->partition.id && !tide_err_is_set(err);
       next_entry(walk, err))
    check_entry(walk, err);
}

/* ---- what has no partition ---- */

/* Entries of the tail before a partition, which are of one that is not there. */
static void pass_tail(struct walk *walk, int64_t partition, struct tide_err *err) {
  struct tide_check *check = walk->check;
  for (; walk->tail_there && walk->entry.partition < partition && !tide_err_is_set(err); next_entry(walk, err)) {
    check->unreadable = true;
    tide_check_report_add(check->report, err, "%s_tail row %lld is of partition %lld, which is not there",
                          check->names.dataset, (long long)walk->entry.last_since, (long long)walk->entry.partition);
  }
}

static void check_segments_astray(struct walk *walk, struct tide_err *err) {
  struct tide_check *check = walk->check;
  sqlite3_stmt *stmt = tide_checks_segments_astray(check->db, check->names, err);
  while (tide_stmt_row(stmt, err))
    tide_check_report_add(
        check->report, err, "%s_segment (partition %lld, last_since %lld): its partition is not there",
        check->names.dataset, (long long)sqlite3_column_int64(stmt, 0), (long long)sqlite3_column_int64(stmt, 1));
  take_and_go_on(walk, err);
  sqlite3_finalize(stmt);
}

/* ---- together ---- */

static void open_walk(struct walk *walk, struct tide_err *err) {
  struct tide_check *check = walk->check;
  walk->partitions = tide_catalog_partitions_all(check->db, check->names, err);
  walk->segments = tide_catalog_segments_prepare(check->db, check->names, err);
  walk->sizes = tide_checks_chunk_size(check->db, check->names, err);
  walk->tail = tide_checks_tail(check->db, check->names, err);
  walk->tail_data = tide_tail_prepare(check->db, check->names, err);
  next_entry(walk, err);
  tide_check_deleted_open(&walk->deleted, check, err);
}

static void close_walk(struct walk *walk) {
  struct tide_stmt_pool *pool = walk->check->names.pool;
  tide_stmt_pool_give(pool, walk->partitions);
  tide_stmt_pool_give(pool, walk->segments);
  sqlite3_finalize(walk->sizes);
  sqlite3_finalize(walk->tail);
  tide_stmt_pool_give(pool, walk->tail_data);
  tide_check_deleted_close(&walk->deleted);
  tide_buf_clear(&walk->text);
}

void tide_check_rows(struct tide_check *check, struct tide_err *err) {
  struct walk walk = {.check = check};
  check->last_since = check->config.sealed_since;
  open_walk(&walk, err);
  while (!tide_err_is_set(err) && next_partition(&walk, err)) {
    check->partitions++;
    pass_tail(&walk, walk.partition.id, err);
    tide_check_deleted_pass(&walk.deleted, check, walk.partition.id, INT64_MIN, err);
    check_text(&walk, err);
    check_segments(&walk, err);
    check_tail(&walk, err);
    if (!walk.partition.known || !walk.partition.counted)
      check->unreadable = true;
    if (walk.partition.known)
      check_numbers(&walk, err);
    if (walk.partition.known)
      check_counts(&walk, err);
  }
  pass_tail(&walk, INT64_MAX, err);
  tide_check_deleted_pass(&walk.deleted, check, INT64_MAX, INT64_MAX, err);
  check_segments_astray(&walk, err);
  close_walk(&walk);
}

/* ---- over partitions ---- */

static void say_twice(struct tide_check *check, const struct tide_scan *scan, struct tide_err *err) {
  size_t size;
  const char *text = tide_scan_partition(scan, &size);
  tide_check_report_add(check->report, err, "dataset %s: since %lld is given twice, once of them in partition '%.*s'",
                        check->names.dataset, (long long)tide_scan_since(scan), (int)size, text);
}

static void check_order(struct tide_check *check, struct tide_err *err) {
  struct tide_scan_request request;
  int64_t before = 0;
  tide_scan_request_init(&request);
  request.order = TIDE_SCAN_UPWARDS;
  struct tide_scan *scan = tide_scan_open(check->ds, &request, err);
  while (scan != NULL && tide_scan_next(scan, err)) {
    if (tide_scan_since(scan) <= before)
      say_twice(check, scan, err);
    before = tide_scan_since(scan);
  }
  tide_check_report_take(check->report, NULL, err);
  tide_scan_close(scan);
}

void tide_check_unique(struct tide_check *check, struct tide_err *err) {
  if (check->unreadable || tide_err_is_set(err))
    return;
  if (!check->miscounted && check->written > check->last_since)
    tide_check_report_add(check->report, err, "dataset %s: %lld rows were written, but the highest since is %lld",
                          check->names.dataset, (long long)check->written, (long long)check->last_since);
  if (check->partitions > 1 && check->partitions <= MERGED_PARTITIONS_MAX && !check->quick)
    check_order(check, err);
}
