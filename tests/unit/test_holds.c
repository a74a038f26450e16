/* What the store says of sinks to retention, and writes for it: who holds what of a partition, gaps, and the trimming
 * of the export log. */
#define _GNU_SOURCE
#include "oom.h"
#include "shim_vfs.h"
#include "sql_db.h"
#include "store/exportlog.h"
#include "store/holds.h"
#include "unit.h"

static sqlite3 *db;
static struct tide_err err;
static const struct tide_names names = {.schema = "main", .dataset = "logs"};

/* Rows 1, 2, 4 of source=a and 3, 5 of source=b; every log row is committed at 1000 until a test says otherwise. */
static void begin(void) {
  scratch_open();
  shim_register();
  shim.now_ms = 1000;
  err = (struct tide_err){0};
  db = db_open(scratch_path("db"), "shim");
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source)");
  db_exec(db, "INSERT INTO logs VALUES ('a', '1'), ('a', '2'), ('b', '3'), ('a', '4'), ('b', '5')");
}

static void end(void) {
  ck_assert_msg(!tide_err_is_set(&err), "%s", err.msg);
  db_close(db);
}

static void log_row(const char *sink, const char *dataset, const char *partition, int since, int until) {
  db_exec(
      db,
      "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES (%Q, %Q, %Q, %d, %d, 1)",
      sink, dataset, partition, since, until);
}

/* ---- holds ---- */

/* sink registered holds watermark hold_rows hold_age_ms batch since until owner, a line each. */
static const char *holds_of(const char *partition) {
  static char text[2048];
  struct tide_holds holds = {0};
  sqlite3_stmt *stmt = tide_holds_prepare(db, names, &err);
  tide_holds_read(stmt, "source=other", strlen("source=other"), &holds, &err); /* a list is used again */
  tide_holds_read(stmt, partition, strlen(partition), &holds, &err);
  ck_assert_int_eq(sqlite3_stmt_busy(stmt), 0);
  text[0] = '\0';
  for (size_t i = 0; i < holds.count; i++) {
    const struct tide_hold *hold = &holds.items[i];
    const size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s%s %d %d %lld %lld %lld %lld %lld %lld %s", i > 0 ? "\n" : "",
             hold->sink, hold->registered, hold->holds, (long long)hold->watermark, (long long)hold->hold_rows,
             (long long)hold->hold_age_ms, (long long)hold->batch, (long long)hold->batch_since,
             (long long)hold->batch_until, hold->batch_owner != NULL ? "owned" : "-");
  }
  sqlite3_finalize(stmt);
  tide_holds_clear(&holds);
  ck_assert_ptr_null(holds.items);
  ck_assert_msg(!tide_err_is_set(&err), "%s", err.msg);
  return text;
}

START_TEST(sinks_hold_from_where_they_stand) {
  begin();
  ck_assert_str_eq(holds_of("source=a"), "");
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, start, hold, hold_rows, hold_age, state) VALUES"
              " ('active', 'logs', 0, 1, NULL, NULL, 'active'), ('blocked', 'logs', 3, 1, 100, NULL, 'blocked'),"
              " ('disabled', 'logs', 'latest', 1, NULL, '2 min', 'disabled'),"
              " ('diverged', 'logs', 0, 1, 0, 1.5, 'diverged'), ('lax', 'logs', 0, 0, NULL, NULL, 'active'),"
              " ('paused', 'logs', 0, 1, NULL, 0, 'paused')");
  log_row("active", "logs", "source=a", 0, 2);
  ck_assert_str_eq(holds_of("source=a"), "active 1 1 2 -1 -1 0 0 0 -\n"
                                         "blocked 1 1 3 100 -1 0 0 0 -\n"
                                         "disabled 1 0 5 -1 120000 0 0 0 -\n"
                                         "diverged 1 1 0 0 1500 0 0 0 -\n"
                                         "lax 1 0 0 -1 -1 0 0 0 -\n"
                                         "paused 1 1 0 -1 0 0 0 0 -");
  db_exec(db, "CREATE VIRTUAL TABLE more USING tidemark(x); INSERT INTO tidemark_sink(sink, dataset) VALUES"
              " ('elsewhere', 'more'); UPDATE tidemark_sink SET state = 'active' WHERE sink = 'disabled';"
              "DELETE FROM tidemark_sink WHERE sink IN ('blocked', 'diverged', 'lax', 'paused')");
  ck_assert_str_eq(holds_of("source=b"), "active 1 1 0 -1 -1 0 0 0 -\ndisabled 1 1 5 -1 120000 0 0 0 -");
  end();
}
END_TEST

START_TEST(sink_that_is_gone_is_listed_where_its_log_is) {
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs')");
  log_row("s", "logs", "source=a", 0, 1);
  log_row("s", "logs", "source=a", 1, 2);
  db_exec(db, "DELETE FROM tidemark_sink");
  ck_assert_str_eq(holds_of("source=a"), "s 0 0 2 -1 -1 0 0 0 -");
  ck_assert_str_eq(holds_of("source=b"), "");
  end();
}
END_TEST

START_TEST(open_batch_comes_along) {
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, max_rows) VALUES ('s', 'logs', 2)");
  assert_int(db, 2, "SELECT tidemark_claim('s', 'logs')");
  db_exec(db, "UPDATE tidemark_batch SET owner = 'me', lease_until = 77 WHERE partition = 'source=a'");
  db_exec(db, "UPDATE tidemark_batch SET owner = NULL, lease_until = NULL WHERE partition = 'source=b'");
  const int64_t a = db_int(db, "SELECT batch FROM tidemark_batch WHERE partition = 'source=a'");
  const int64_t b = db_int(db, "SELECT batch FROM tidemark_batch WHERE partition = 'source=b'");
  char wanted[128];
  snprintf(wanted, sizeof wanted, "s 1 1 0 -1 -1 %lld 0 2 owned", (long long)a);
  ck_assert_str_eq(holds_of("source=a"), wanted);
  snprintf(wanted, sizeof wanted, "s 1 1 0 -1 -1 %lld 0 5 -", (long long)b);
  ck_assert_str_eq(holds_of("source=b"), wanted);
  end();
}
END_TEST

static const char *hidden; /* a table and a column of it */

static int hide(void *data, int action, const char *table, const char *column, const char *schema,
                const char *trigger) {
  (void)data, (void)schema, (void)trigger;
  const size_t size = action == SQLITE_READ ? strlen(table) : 0;
  const bool is_it = size > 0 && strncmp(hidden, table, size) == 0 && strcmp(hidden + size + 1, column) == 0;
  return is_it ? SQLITE_IGNORE : SQLITE_OK;
}

/* What the host's authorizer hides is not taken for nothing. */
START_TEST(hidden_numbers_hold_nothing_silently) {
  static const char *const columns[] = {"tidemark_export_log.until", "tidemark_sink.hold",   "tidemark_sink.state",
                                        "tidemark_batch.batch",      "tidemark_batch.since", "tidemark_batch.until"};
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs')");
  log_row("s", "logs", "source=a", 0, 2);
  db_exec(db, "SELECT tidemark_claim('s', 'logs')");
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    struct tide_holds holds = {0};
    hidden = columns[i];
    sqlite3_set_authorizer(db, hide, NULL);
    sqlite3_stmt *stmt = tide_holds_prepare(db, names, &err);
    tide_holds_read(stmt, "source=a", strlen("source=a"), &holds, &err);
    sqlite3_finalize(stmt);
    ck_assert_msg(err.rc == SQLITE_CORRUPT_VTAB, "%s: %d %s", hidden, err.rc, err.msg);
    ck_assert_ptr_nonnull(strstr(err.msg, "sink s of dataset logs: what it holds cannot be read"));
    tide_holds_clear(&holds);
    err = (struct tide_err){0};
  }
  sqlite3_set_authorizer(db, NULL, NULL);
  end();
}
END_TEST

/* ---- gaps ---- */

START_TEST(gap_takes_the_open_batch_along_when_asked) {
  struct tide_gap gap = {"s", "logs", "source=a", 0, 2, 2, "retention_rows", false};
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs'); SELECT tidemark_claim('s', 'logs')");
  tide_exportlog_gap(db, "main", &gap, &err);
  ck_assert_int_eq(err.rc & 0xff, SQLITE_CONSTRAINT);
  ck_assert_ptr_nonnull(strstr(err.msg, "an open batch begins at that since"));
  assert_int(db, 2, "SELECT count(*) FROM tidemark_batch");
  err = (struct tide_err){0};
  gap.ends_batch = true;
  tide_exportlog_gap(db, "main", &gap, &err);
  assert_text(db, "source=b", "SELECT partition FROM tidemark_batch");
  assert_text(db, "source=a|0|gap|0|2|2|retention_rows|1000",
              "SELECT partition, generation, kind, since, until, rows, reason, committed_at FROM tidemark_export_log");
  db_exec(db, "DELETE FROM tidemark_sink");
  gap = (struct tide_gap){"s", "logs", "source=a", 2, 4, 1, "retention_rows", true};
  tide_exportlog_gap(db, "main", &gap, &err);
  assert_int(db, 4, "SELECT since FROM tidemark_watermark");
  end();
}
END_TEST

/* ---- trimming ---- */

static int64_t trim(int64_t before_ms, int64_t max_rows) {
  const int64_t rows = tide_exportlog_trim(db, names, before_ms, max_rows, &err);
  ck_assert_msg(!tide_err_is_set(&err), "%s", err.msg);
  return rows;
}

static const char *log_ids(void) {
  return db_text(db, "SELECT group_concat(id, ' ') FROM (SELECT id FROM tidemark_export_log ORDER BY id)");
}

/* Ids 1 to 8 at 1000 to 8000 ms; 2 is another dataset's, 3 the last of its partition. */
static void log_of_eight(void) {
  db_exec(db, "CREATE VIRTUAL TABLE more USING tidemark(x); INSERT INTO more VALUES (1), (2), (3);"
              "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs'), ('t', 'logs'), ('s', 'more')");
  static const struct {
    const char *sink, *dataset, *partition;
    int since, until;
  } rows[] = {{"s", "logs", "source=a", 0, 1}, {"s", "more", "", 0, 1},         {"s", "logs", "source=b", 0, 3},
              {"s", "logs", "source=a", 1, 2}, {"t", "logs", "source=a", 0, 1}, {"s", "more", "", 1, 2},
              {"s", "logs", "source=a", 2, 3}, {"t", "logs", "source=a", 1, 2}};
  for (int i = 0; i < 8; i++) {
    shim.now_ms = 1000 * (i + 1);
    log_row(rows[i].sink, rows[i].dataset, rows[i].partition, rows[i].since, rows[i].until);
  }
}

START_TEST(trim_takes_the_oldest_but_the_last_of_each_partition) {
  begin();
  log_of_eight();
  ck_assert_int_eq(trim(INT64_MAX, 0), 0);
  ck_assert_int_eq(trim(1000, 100), 0);
  ck_assert_int_eq(trim(4000, 100), 1); /* those before 4000, of this dataset, that are not the last */
  ck_assert_str_eq(log_ids(), "2 3 4 5 6 7 8");
  ck_assert_int_eq(trim(INT64_MAX, 1), 1);
  ck_assert_str_eq(log_ids(), "2 3 5 6 7 8");
  ck_assert_int_eq(trim(INT64_MAX, 100), 1);
  ck_assert_str_eq(log_ids(), "2 3 6 7 8");
  ck_assert_int_eq(trim(INT64_MAX, 100), 0);
  assert_text(db, "s|source=a|2|2 t|source=a|1|1", "SELECT sink, partition, rows, until FROM tidemark_export_total");
  log_row("s", "logs", "source=a", 3, 4); /* everything goes on */
  assert_text(db, "3|5|1", "SELECT since, until, rows FROM tidemark_lag WHERE partition = 'source=b' AND sink = 's'");
  end();
}
END_TEST

START_TEST(trim_stops_at_the_first_row_that_is_young) {
  begin();
  log_of_eight();
  shim.now_ms = 1; /* the clock went back: a later row that looks old waits for those before it */
  log_row("s", "logs", "source=a", 3, 4);
  ck_assert_int_eq(trim(7000, 100), 3);
  ck_assert_str_eq(log_ids(), "2 3 6 7 8 9");
  end();
}
END_TEST

START_TEST(trim_under_recursive_triggers) {
  begin();
  log_of_eight();
  db_exec(db, "PRAGMA recursive_triggers = on");
  ck_assert_int_eq(trim(INT64_MAX, 2), 2);
  ck_assert_int_eq(trim(INT64_MAX, 2), 1);
  end();
}
END_TEST

/* ---- memory ---- */

START_TEST(holds_and_trim_without_memory) {
  oom_install();
  begin();
  log_of_eight();
  db_exec(db, "SELECT tidemark_claim('t', 'logs')");
  bool failed = true;
  for (long n = 1; failed; n++) {
    struct tide_holds holds = {0};
    err = (struct tide_err){0};
    db_exec(db, "BEGIN");
    oom_fail_at(n);
    sqlite3_stmt *stmt = tide_holds_prepare(db, names, &err);
    tide_holds_read(stmt, "source=a", strlen("source=a"), &holds, &err);
    const size_t count = tide_err_is_set(&err) ? 0 : 2;
    const int64_t rows = tide_exportlog_trim(db, names, INT64_MAX, 100, &err);
    failed = oom_has_failed();
    oom_fail_at(0);
    ck_assert_msg(!tide_err_is_set(&err) || err.rc == SQLITE_NOMEM, "%ld: %d %s", n, err.rc, err.msg);
    ck_assert_uint_eq(holds.count, count);
    ck_assert_int_eq(rows, tide_err_is_set(&err) ? 0 : 3);
    assert_int(db, tide_err_is_set(&err) ? 8 : 5, "SELECT count(*) FROM tidemark_export_log");
    tide_holds_clear(&holds);
    sqlite3_finalize(stmt);
    db_exec(db, sqlite3_get_autocommit(db) ? "SELECT 1" : "ROLLBACK");
  }
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {sinks_hold_from_where_they_stand,
                                sink_that_is_gone_is_listed_where_its_log_is,
                                open_batch_comes_along,
                                hidden_numbers_hold_nothing_silently,
                                gap_takes_the_open_batch_along_when_asked,
                                trim_takes_the_oldest_but_the_last_of_each_partition,
                                trim_stops_at_the_first_row_that_is_young,
                                trim_under_recursive_triggers,
                                holds_and_trim_without_memory,
                                NULL};
  return unit_main("holds", tests);
}
