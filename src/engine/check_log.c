#include "engine/check_log.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/stats.h"
#include "store/checks.h"
#include "store/exportlog.h"

struct sink {
  char *name;
  bool registered;
  int64_t start;
  int64_t caught_up;
  bool from_first; /* nothing of the dataset was gone before it began, so that its log accounts for every row */
};

struct checking {
  struct tide_check *check;
  sqlite3_stmt *trimmed;
  sqlite3_stmt *account;
};

static void bind_place(sqlite3_stmt *stmt, const struct sink *sink, const char *partition, size_t size) {
  sqlite3_bind_text(stmt, 1, sink->name, -1, SQLITE_STATIC);
  sqlite3_bind_text64(stmt, 2, partition, size, SQLITE_STATIC, SQLITE_UTF8);
}

/* A text that no row lacks; in a file from elsewhere one may, which ends what is read of the table. */
static const char *need_text(sqlite3_stmt *stmt, int column, const char *what, size_t *ret_size, struct tide_err *err) {
  const char *text = tide_stmt_text(stmt, column, ret_size, err);
  if (text == NULL)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "%s has a row without a name", what);
  return text;
}

/* ---- the log by itself ---- */

/* What the next row of a sink and partition must fit. */
struct log_end {
  struct tide_buf partition; /* with a NUL */
  bool known;                /* there was a row before, perhaps a trimmed one */
  int64_t generation;
  int64_t until;
};

/* One that is no count is damage, and the next row is held against 0: it can be added to. */
static int64_t generation_of(sqlite3_stmt *stmt, int column) {
  const int64_t generation = sqlite3_column_int64(stmt, column);
  return tide_catalog_is_count(generation) ? generation : 0;
}

/* From the trimmed rows, when there were any. A partition's first row begins at the start that its sink had then. */
static void begin_partition(struct checking *at, const struct sink *sink, sqlite3_stmt *log, struct log_end *end,
                            struct tide_err *err) {
  size_t size = 0;
  const char *text = need_text(log, 0, "tidemark_export_log", &size, err);
  tide_buf_reset(&end->partition);
  tide_buf_put(&end->partition, text, size, err);
  tide_buf_put_u8(&end->partition, 0, err);
  if (tide_err_is_set(err))
    return;
  const struct tide_check *check = at->check;
  if (tide_catalog_partition_find(check->db, check->names, text, size, err) == 0)
    tide_check_report_add(check->report, err, "tidemark_export_log, sink '%s': dataset %s has no partition '%s'",
                          sink->name, check->names.dataset, text);
  if (tide_err_is_set(err))
    return;
  *end = (struct log_end){.partition = end->partition};
  bind_place(at->trimmed, sink, text, size);
  if (tide_stmt_row(at->trimmed, err)) {
    end->known = true;
    end->generation = generation_of(at->trimmed, 0);
    end->until = sqlite3_column_int64(at->trimmed, 1);
    if (!tide_stmt_are_ints(at->trimmed, 0, 2) || end->generation != sqlite3_column_int64(at->trimmed, 0))
      tide_check_report_add(
          check->report, err,
          "tidemark_export_total, sink '%s', partition '%s': its last generation or until is no number that"
          " there can be",
          sink->name, text);
  }
  sqlite3_reset(at->trimmed);
}

static bool is_same_partition(const struct log_end *end, sqlite3_stmt *log, struct tide_err *err) {
  size_t size = 0;
  const char *text = tide_stmt_text(log, 0, &size, err);
  return text != NULL && end->partition.len == size + 1 && memcmp(end->partition.data, text, size) == 0;
}

static void check_log_row(struct checking *at, const struct sink *sink, sqlite3_stmt *log, struct log_end *end,
                          struct tide_err *err) {
  struct tide_check_report *report = at->check->report;
  const long long id = sqlite3_column_int64(log, 1);
  const int64_t generation = sqlite3_column_int64(log, 2);
  const bool rewinds = sqlite3_column_int(log, 3);
  const int64_t since = sqlite3_column_int64(log, 4);
  const int64_t until = sqlite3_column_int64(log, 5);
  const int64_t expected = end->generation + rewinds;
  const char *partition = (const char *)end->partition.data;
  if (!tide_stmt_are_ints(log, 1, 5))
    tide_check_report_add(
        report, err,
        "tidemark_export_log row %lld, sink '%s', partition '%s': its generation, since or until is no"
        " number",
        id, sink->name, partition);
  if (end->known && since != end->until)
    tide_check_report_add(report, err,
                          "tidemark_export_log row %lld, sink '%s', partition '%s': it begins at %lld, the one before"
                          " ends at %lld",
                          id, sink->name, partition, (long long)since, (long long)end->until);
  if (generation != expected)
    tide_check_report_add(report, err,
                          "tidemark_export_log row %lld, sink '%s', partition '%s': its generation is %lld, expected"
                          " %lld",
                          id, sink->name, partition, (long long)generation, (long long)expected);
  if (rewinds ? until >= since || until < 0 : until <= since)
    tide_check_report_add(report, err,
                          "tidemark_export_log row %lld, sink '%s', partition '%s': it goes from %lld to %lld", id,
                          sink->name, partition, (long long)since, (long long)until);
  end->known = true;
  end->generation = generation_of(log, 2);
  end->until = until;
}

static void check_sink_log(struct checking *at, const struct sink *sink, struct tide_err *err) {
  struct log_end end = {0};
  sqlite3_stmt *log = tide_checks_log(at->check->db, at->check->names, err);
  if (log != NULL)
    sqlite3_bind_text(log, 1, sink->name, -1, SQLITE_STATIC);
  while (tide_stmt_row(log, err)) {
    if (!is_same_partition(&end, log, err))
      begin_partition(at, sink, log, &end, err);
    if (!tide_err_is_set(err))
      check_log_row(at, sink, log, &end, err);
  }
  sqlite3_finalize(log);
  tide_buf_clear(&end.partition);
}

/* ---- the log against the rows ---- */

static int64_t rows_between(const struct checking *at, const struct tide_stat *stat, int64_t above, int64_t upto,
                            struct tide_err *err) {
  struct tide_range range = {0};
  if (above < upto)
    tide_stats_range(at->check->ds, stat, above, upto, INT64_MAX, &range, err);
  return range.rows;
}

/* delivered: what the log accounts for. A row may be deleted before or after it was delivered. */
static void check_sum(struct checking *at, const struct sink *sink, const struct tide_stat *stat, int64_t delivered,
                      int64_t watermark, struct tide_err *err) {
  const int64_t behind = rows_between(at, stat, watermark, stat->last_since, err);
  const bool too_many = delivered > stat->written - behind;
  const bool too_few = sink->registered && sink->from_first && delivered < stat->written - stat->deleted - behind;
  if ((too_many || too_few) && !tide_err_is_set(err))
    tide_check_report_add(at->check->report, err,
                          "sink '%s', partition '%.*s': its log accounts for %lld rows and %lld are still to come, but"
                          " %lld were written and %lld deleted",
                          sink->name, (int)stat->text_size, stat->text, (long long)delivered, (long long)behind,
                          (long long)stat->written, (long long)stat->deleted);
}

static void check_standing(struct checking *at, const struct sink *sink, const struct tide_stat *stat,
                           struct tide_err *err) {
  struct tide_check_report *report = at->check->report;
  bind_place(at->account, sink, stat->text, stat->text_size);
  if (!tide_stmt_row(at->account, err))
    return;
  const int64_t delivered = sqlite3_column_int64(at->account, 0);
  const bool in_log = sqlite3_column_type(at->account, 1) != SQLITE_NULL;
  const int64_t watermark = in_log ? sqlite3_column_int64(at->account, 1) : sink->start;
  sqlite3_reset(at->account);
  if (!in_log && !sink->registered)
    return;
  if (in_log && watermark > stat->last_since)
    tide_check_report_add(report, err, "sink '%s', partition '%.*s': its watermark is %lld, the newest row is %lld",
                          sink->name, (int)stat->text_size, stat->text, (long long)watermark,
                          (long long)stat->last_since);
  if (at->check->miscounted)
    return;
  check_sum(at, sink, stat, delivered, watermark, err);
  const int64_t upto = sink->caught_up < stat->last_since ? sink->caught_up : stat->last_since;
  if (sink->registered && rows_between(at, stat, watermark, upto, err) > 0)
    tide_check_report_add(report, err,
                          "tidemark_sink_state, sink '%s': caught_up is %lld, but partition '%.*s' has rows up to it"
                          " above the watermark %lld",
                          sink->name, (long long)sink->caught_up, (int)stat->text_size, stat->text,
                          (long long)watermark);
}

static void check_sink_standing(struct checking *at, const struct sink *sink, struct tide_err *err) {
  struct tide_stat stat;
  struct tide_stats *stats = tide_err_is_set(err) ? NULL : tide_stats_open(at->check->ds, NULL, 0, 0, err);
  while (stats != NULL && tide_stats_next(stats, &stat, err))
    check_standing(at, sink, &stat, err);
  tide_stats_close(stats);
}

/* ---- sinks ---- */

static bool next_sink(struct tide_check *check, sqlite3_stmt *stmt, struct sink *sink, bool *ret_has_state,
                      struct tide_err *err) {
  tide_free(sink->name);
  *sink = (struct sink){0};
  if (!tide_stmt_row(stmt, err))
    return false;
  const char *name = need_text(stmt, 0, "one of tidemark_sink, tidemark_sink_state and tidemark_export_log", NULL, err);
  if (name != NULL)
    sink->name = tide_copy_string(name, err);
  for (int i = 2; i <= 5 && name != NULL; i++) {
    if (sqlite3_column_type(stmt, i) != SQLITE_NULL && !tide_stmt_are_ints(stmt, i, 1))
      tide_check_report_add(check->report, err, "sink '%s' of dataset %s: its %s is no whole number", sink->name,
                            check->names.dataset, sqlite3_column_name(stmt, i));
  }
  sink->registered = sqlite3_column_int(stmt, 1);
  sink->start = sqlite3_column_int64(stmt, 2);
  *ret_has_state = sqlite3_column_int(stmt, 3);
  sink->caught_up = sqlite3_column_int64(stmt, 4);
  sink->from_first = sqlite3_column_int64(stmt, 5) != 0;
  return !tide_err_is_set(err);
}

static void check_sinks(struct checking *at, struct tide_err *err) {
  struct sink sink = {0};
  bool has_state;
  struct tide_check *check = at->check;
  sqlite3_stmt *stmt = tide_checks_sinks(check->db, check->names, err);
  while (next_sink(check, stmt, &sink, &has_state, err)) {
    if (!has_state)
      tide_check_report_add(check->report, err, "tidemark_sink_state has no row of sink '%s', dataset %s", sink.name,
                            check->names.dataset);
    check_sink_log(at, &sink, err);
    if (!check->unreadable)
      check_sink_standing(at, &sink, err);
  }
  sqlite3_finalize(stmt);
}

/* ---- batches ---- */

static int64_t newest_since(struct tide_check *check, const char *partition, size_t size, struct tide_err *err) {
  struct tide_stat stat = {0};
  struct tide_stats *stats = tide_err_is_set(err) ? NULL : tide_stats_open(check->ds, partition, size, 0, err);
  if (stats != NULL && !tide_stats_next(stats, &stat, err))
    stat.last_since = 0;
  tide_stats_close(stats);
  return stat.last_since;
}

static void check_batch(struct tide_check *check, sqlite3_stmt *stmt, struct tide_err *err) {
  size_t size = 0;
  const char *partition = need_text(stmt, 2, "tidemark_batch", &size, err);
  const char *sink = need_text(stmt, 1, "tidemark_batch", NULL, err);
  if (tide_err_is_set(err))
    return;
  const long long batch = sqlite3_column_int64(stmt, 0);
  const int64_t since = sqlite3_column_int64(stmt, 4);
  const int64_t until = sqlite3_column_int64(stmt, 5);
  if (sqlite3_column_type(stmt, 7) == SQLITE_NULL)
    tide_check_report_add(check->report, err, "tidemark_batch %lld: its sink '%s' is not registered", batch, sink);
  else if (since != sqlite3_column_int64(stmt, 7) || sqlite3_column_int64(stmt, 3) != sqlite3_column_int64(stmt, 6))
    tide_check_report_add(check->report, err,
                          "tidemark_batch %lld: it begins at %lld of generation %lld, sink '%s' stands at %lld of"
                          " generation %lld in partition '%s'",
                          batch, (long long)since, (long long)sqlite3_column_int64(stmt, 3), sink,
                          (long long)sqlite3_column_int64(stmt, 7), (long long)sqlite3_column_int64(stmt, 6),
                          partition);
  if (check->unreadable)
    return;
  const int64_t newest = newest_since(check, partition, size, err);
  if (until <= since || until > newest)
    tide_check_report_add(check->report, err,
                          "tidemark_batch %lld: it goes from %lld to %lld, the newest row of partition '%s' is %lld",
                          batch, (long long)since, (long long)until, partition, (long long)newest);
}

static void check_batches(struct tide_check *check, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_checks_batches(check->db, check->names, err);
  while (tide_stmt_row(stmt, err))
    check_batch(check, stmt, err);
  sqlite3_finalize(stmt);
}

void tide_check_log(struct tide_check *check, struct tide_err *err) {
  if (tide_err_is_set(err))
    return;
  struct checking at = {.check = check};
  at.trimmed = tide_checks_trimmed(check->db, check->names, err);
  at.account = tide_checks_account(check->db, check->names, err);
  check_sinks(&at, err);
  if (!tide_err_is_set(err))
    check_batches(check, err);
  tide_check_report_take(check->report, NULL, err);
  sqlite3_finalize(at.trimmed);
  sqlite3_finalize(at.account);
}
