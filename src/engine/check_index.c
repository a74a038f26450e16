#include "engine/check_index.h"

#include "base/stmt.h"
#include "base/stmt_pool.h"
#include "engine/scan.h"
#include "engine/stats.h"
#include "store/checks.h"
#include "store/unique.h"

/* The entries of a partition, walked beside its rows: both ascending in since. */
struct walk {
  struct tide_check *check;
  sqlite3_stmt *entries;
  sqlite3_stmt *has;
  int64_t partition;
  struct tide_buf text; /* the partition's */
  bool there;           /* the entry at hand is */
  int64_t since;
};

static void say(struct walk *walk, int64_t since, const char *what, struct tide_err *err) {
  tide_check_report_add(walk->check->report, err, "%s_unique: since %lld of partition '%.*s' %s",
                        walk->check->names.dataset, (long long)since, (int)walk->text.len,
                        walk->text.len > 0 ? (const char *)walk->text.data : "", what);
}

static void next_entry(struct walk *walk, struct tide_err *err) {
  walk->there = tide_stmt_row(walk->entries, err);
  tide_check_report_take(walk->check->report, NULL, err);
  if (walk->there)
    walk->since = sqlite3_column_int64(walk->entries, 0);
}

/* Goes to the first entry at or behind a since and reports those before it. */
static void pass_entries(struct walk *walk, int64_t since, struct tide_err *err) {
  while (walk->there && walk->since < since && !tide_err_is_set(err)) {
    say(walk, walk->since, "has an entry, but there is no such row", err);
    next_entry(walk, err);
  }
}

static void check_row(struct walk *walk, int64_t since, const struct tide_val *value, struct tide_err *err) {
  pass_entries(walk, since, err);
  const bool entered = walk->there && walk->since == since;
  if (entered)
    next_entry(walk, err);
  if (value->type == TIDE_VAL_NULL) {
    if (entered)
      say(walk, since, "has an entry, but its value is NULL", err);
  } else if (!entered) {
    say(walk, since, "has no entry", err);
  } else if (!tide_unique_has(walk->has, value, walk->partition, since, err)) {
    say(walk, since, "has the entry of another value", err);
  }
  tide_check_report_take(walk->check->report, NULL, err);
}

static void check_rows(struct walk *walk, struct tide_err *err) {
  struct tide_scan_request request;
  struct tide_val value;
  const size_t column = (size_t)walk->check->config.options.unique;
  tide_scan_request_init(&request);
  tide_scan_request_partition(&request, walk->text.len > 0 ? (const char *)walk->text.data : "", walk->text.len, err);
  struct tide_scan *scan = tide_scan_open(walk->check->ds, &request, err);
  while (scan != NULL && tide_scan_next(scan, err) && tide_scan_value(scan, column, &value, err) == 0)
    check_row(walk, tide_scan_since(scan), &value, err);
  tide_scan_close(scan);
}

static void check_partition(struct walk *walk, struct tide_err *err) {
  sqlite3_bind_int64(walk->entries, 1, walk->partition);
  next_entry(walk, err);
  check_rows(walk, err);
  if (!tide_check_report_take(walk->check->report, NULL, err))
    pass_entries(walk, INT64_MAX, err);
  sqlite3_reset(walk->entries);
}

static bool next_partition(struct walk *walk, struct tide_err *err) {
  tide_buf_reset(&walk->text);
  walk->partition = tide_catalog_partition_next(walk->check->db, walk->check->names, walk->partition, &walk->text, err);
  return walk->partition != 0 && !tide_err_is_set(err);
}

static void check_entries(struct tide_check *check, struct tide_err *err) {
  struct walk walk = {.check = check};
  walk.entries = tide_checks_unique(check->db, check->names, err);
  walk.has = tide_unique_has_prepare(check->db, check->names, err);
  while (!tide_err_is_set(err) && next_partition(&walk, err))
    check_partition(&walk, err);
  sqlite3_finalize(walk.entries);
  tide_stmt_pool_give(check->names.pool, walk.has);
  tide_buf_clear(&walk.text);
}

/* Entries of partitions that are not there. */
static void check_astray(struct tide_check *check, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_checks_unique_astray(check->db, check->names, err);
  while (tide_stmt_row(stmt, err))
    tide_check_report_add(
        check->report, err, "%s_unique: an entry is of partition %lld, since %lld, which is not there",
        check->names.dataset, (long long)sqlite3_column_int64(stmt, 0), (long long)sqlite3_column_int64(stmt, 1));
  tide_check_report_take(check->report, NULL, err);
  sqlite3_finalize(stmt);
}

static void check_counts(struct tide_check *check, struct tide_err *err) {
  struct tide_stats_sum sum = {0};
  const struct tide_column *column = &check->spec->columns[check->config.options.unique];
  tide_stats_sum(check->ds, &sum, err);
  const int64_t entries = tide_checks_unique_count(check->db, check->names, err);
  if (entries > sum.rows || (column->not_null && entries < sum.rows))
    tide_check_report_add(check->report, err, "%s_unique has %lld entries, dataset %s has %lld rows",
                          check->names.dataset, (long long)entries, check->names.dataset, (long long)sum.rows);
  tide_check_report_take(check->report, NULL, err);
}

void tide_check_index(struct tide_check *check, struct tide_err *err) {
  if (check->config.options.unique == TIDE_OPTIONS_NOT_UNIQUE || check->unreadable || tide_err_is_set(err))
    return;
  check_astray(check, err);
  if (!check->quick)
    check_entries(check, err);
  else if (!check->miscounted)
    check_counts(check, err);
}
