/* A tick behind one that found nothing: it costs a few looks whoever has committed what, and none of what it goes by is
 * taken for what the file holds. */
#define _GNU_SOURCE
#include "export_db.h"

static sqlite3 *other; /* another connection to the same file */

/* Two rows that the sink has. */
static void begin_idle(void) {
  begin();
  other = db_open(scratch_path("db"), "shim");
  db_exec(other, "CREATE TABLE unrelated(x); INSERT INTO logs VALUES ('a', 'one'), ('b', 'two')");
  ck_assert_str_eq(tick("rows"), "2");
  ck_assert_str_eq(tick("rows"), "0");
}

static void end_idle(void) {
  db_close(other);
  end();
}

static void expect_nothing(void) {
  ck_assert_str_eq(tick("batches"), "0");
  ck_assert_str_eq(tick("failed"), "0");
  ck_assert_str_eq(tick("waiting"), "0");
  ck_assert_str_eq(tick("stopped"), "0");
}

static void finalize_all(void) {
  for (sqlite3_stmt *stmt; (stmt = sqlite3_next_stmt(db, NULL)) != NULL;)
    sqlite3_finalize(stmt);
}

/* ---- what it costs ---- */

static int count_select(void *count, int action, const char *a, const char *b, const char *c, const char *d) {
  (void)a, (void)b, (void)c, (void)d;
  *(int *)count += action == SQLITE_SELECT;
  return SQLITE_OK;
}

START_TEST(unrelated_commit_compiles_no_query) {
  int compiled = 0;
  sqlite3_stmt *stmt = NULL;
  begin_idle();
  sqlite3_prepare_v2(db, "SELECT tidemark_export('s')", -1, &stmt, NULL);
  sqlite3_set_authorizer(db, count_select, &compiled);
  for (int i = 0; i < 4; i++) {
    compiled = 0;
    db_exec(i % 2 == 0 ? other : db, "INSERT INTO unrelated VALUES (1)");
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    ck_assert_ptr_nonnull(strstr((const char *)sqlite3_column_text(stmt, 0), "\"batches\":0"));
    sqlite3_reset(stmt);
  }
  ck_assert_int_eq(compiled, 0);
  sqlite3_finalize(stmt);
  end_idle();
}
END_TEST

/* One that only ticks has the first tick to find out what it needs. */
START_TEST(connection_that_only_ticks) {
  int compiled = 0;
  sqlite3_stmt *stmt = NULL;
  begin_idle();
  sqlite3 *ticker = db_open(scratch_path("db"), "shim");
  assert_text(ticker, "0", "SELECT tidemark_export('s') ->> 'batches'");
  db_exec(other, "INSERT INTO unrelated VALUES (1)");
  assert_text(ticker, "0", "SELECT tidemark_export('s') ->> 'batches'");
  sqlite3_prepare_v2(ticker, "SELECT tidemark_export('s')", -1, &stmt, NULL);
  sqlite3_set_authorizer(ticker, count_select, &compiled);
  for (int i = 0; i < 3; i++) {
    compiled = 0;
    db_exec(other, "INSERT INTO unrelated VALUES (1)");
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    sqlite3_reset(stmt);
  }
  ck_assert_int_eq(compiled, 0);
  sqlite3_finalize(stmt);
  sqlite3_set_authorizer(ticker, NULL, NULL);
  db_exec(other, "INSERT INTO logs VALUES ('a', 'three'); ALTER TABLE logs RENAME TO renamed");
  assert_text(ticker, "1", "SELECT tidemark_export('s') ->> 'rows'");
  db_exec(other, "INSERT INTO renamed VALUES ('a', 'four')");
  assert_text(ticker, "1", "SELECT tidemark_export('s') ->> 'rows'");
  db_close(ticker);
  end_idle();
}
END_TEST

static int count_step(void *steps) {
  ++*(int64_t *)steps;
  return 0;
}

/* SQLite's steps for a tick, behind an unrelated commit, of a sink that begins behind what there is. */
static int64_t steps_of_latest(int partitions) {
  int64_t steps = 0;
  begin();
  db_exec(db,
          "CREATE TABLE unrelated(x); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d)"
          " INSERT INTO logs SELECT 'p' || i, 'x' FROM c; SELECT tidemark_flush('logs');"
          "DELETE FROM tidemark_sink; INSERT INTO tidemark_sink(sink, dataset, target, format, start)"
          " VALUES ('l', 'logs', 'file://%s', 'ndjson', 'latest'); SELECT tidemark_export('l')",
          partitions, folder);
  db_exec(db, "INSERT INTO unrelated VALUES (1)");
  sqlite3_progress_handler(db, 1, count_step, &steps);
  assert_text(db, "0", "SELECT tidemark_export('l') ->> 'batches'");
  sqlite3_progress_handler(db, 0, NULL, NULL);
  db_exec(db, "INSERT INTO logs VALUES ('p7', 'new')");
  assert_text(db, "1", "SELECT tidemark_export('l') ->> 'rows'");
  end();
  scratch_close();
  return steps;
}

START_TEST(sink_that_has_shipped_nothing_looks_at_no_partition) {
  const int64_t few = steps_of_latest(150);
  const int64_t many = steps_of_latest(1500);
  ck_assert_int_gt(few, 0);
  ck_assert_msg(many <= few + 20, "150 partitions: %lld steps; 1500: %lld", (long long)few, (long long)many);
}
END_TEST

/* ---- what ends it ---- */

START_TEST(rows_however_they_come) {
  begin_idle();
  db_exec(other, "INSERT INTO unrelated VALUES (1)");
  expect_nothing();
  db_exec(other, "BEGIN; INSERT INTO logs VALUES ('a', 'three')");
  expect_nothing();
  db_exec(other, "COMMIT");
  ck_assert_str_eq(tick("rows"), "1");
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('c', 'x'); SAVEPOINT s; INSERT INTO logs VALUES ('a', 'y'); ROLLBACK");
  expect_nothing();
  db_exec(db, "SAVEPOINT s; INSERT INTO logs VALUES ('a', 'x'); ROLLBACK TO s; INSERT INTO unrelated VALUES (1);"
              "RELEASE s");
  expect_nothing();
  db_exec(db, "SAVEPOINT s; INSERT INTO logs VALUES ('c', 'four'); RELEASE s");
  ck_assert_str_eq(tick("rows"), "1");
  db_exec(other, "INSERT INTO logs VALUES ('d', 'five'); SELECT tidemark_flush('logs')");
  ck_assert_str_eq(tick("rows"), "1");
  check_archive();
  end_idle();
}
END_TEST

START_TEST(upkeep_brings_nothing) {
  begin_idle();
  db_exec(other, "SELECT tidemark_flush('logs'); SELECT tidemark_compact('logs')");
  expect_nothing();
  db_exec(other, "DELETE FROM logs WHERE since = 2; SELECT tidemark_set('logs', 'retention_rows', 0);"
                 "SELECT tidemark_prune('logs'); VACUUM");
  expect_nothing();
  db_exec(other, "INSERT INTO logs VALUES ('a', 'three')");
  ck_assert_str_eq(tick("rows"), "1");
  end_idle();
}
END_TEST

START_TEST(rewind_of_another_connection) {
  begin_idle();
  db_exec(other, "INSERT INTO tidemark_export_log(sink, dataset, partition, kind, since, until, reason)"
                 " VALUES ('s', 'logs', 'source=a', 'rewind', 1, 0, 'again')");
  ck_assert_str_eq(tick("rows"), "1");
  expect_nothing();
  end_idle();
}
END_TEST

/* Beside the others the sink "l", which begins behind the newest row and has nothing to ship. */
static void begin_late(void) {
  begin_idle();
  mkdir(scratch_path("late"), 0755);
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format, start)"
          " VALUES ('l', 'logs', 'file://%s', 'ndjson', 'latest')",
          scratch_path("late"));
  assert_text(db, "0", "SELECT tidemark_export('l') ->> 'rows'");
}

/* What it begins behind is then what it is to have. */
START_TEST(rewind_below_the_start) {
  begin_late();
  db_exec(other, "SELECT tidemark_rewind('l', 'logs', 'source=b', 0, 'all of b')");
  assert_text(db, "1", "SELECT tidemark_export('l') ->> 'rows'");
  assert_text(db, "0", "SELECT tidemark_export('l') ->> 'rows'");
  end_idle();
}
END_TEST

START_TEST(start_that_is_lowered) {
  begin_late();
  db_exec(other, "UPDATE tidemark_sink SET start = 1 WHERE sink = 'l'");
  assert_text(db, "1", "SELECT tidemark_export('l') ->> 'rows'");
  end_idle();
}
END_TEST

START_TEST(sinks_that_change) {
  begin_idle();
  db_exec(other, "UPDATE tidemark_sink SET state = 'paused'; INSERT INTO logs VALUES ('a', 'three')");
  expect_nothing();
  db_exec(other, "UPDATE tidemark_sink SET state = 'active'");
  ck_assert_str_eq(tick("rows"), "1");
  mkdir(scratch_path("second"), 0755);
  db_exec(other, "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('t', 'logs', 'file://%s', 'ndjson')",
          scratch_path("second"));
  assert_text(db, "3", "SELECT tidemark_export() ->> 'rows'");
  db_exec(other, "DELETE FROM tidemark_sink WHERE sink = 's'");
  db_refuses(db, SQLITE_ERROR, "no such sink", "SELECT tidemark_export('s')");
  end_idle();
}
END_TEST

/* Time alone ends it. */
START_TEST(delay_that_is_over) {
  begin_idle();
  db_exec(db, "UPDATE tidemark_sink SET min_rows = 10, max_delay = '1 hour'; INSERT INTO logs VALUES ('a', 'three')");
  ck_assert_str_eq(tick("waiting"), "1");
  db_exec(other, "INSERT INTO unrelated VALUES (1)");
  ck_assert_str_eq(tick("waiting"), "1");
  shim.now_ms += 3600 * 1000 + 1;
  ck_assert_str_eq(tick("rows"), "1");
  end_idle();
}
END_TEST

START_TEST(batch_that_another_left_open) {
  begin_idle();
  db_exec(other, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('own', 'logs');"
                 "SELECT tidemark_claim('own', 'logs'); INSERT INTO unrelated VALUES (1)");
  expect_nothing();
  db_exec(other, "INSERT INTO logs VALUES ('b', 'three')");
  ck_assert_str_eq(tick("rows"), "1");
  end_idle();
}
END_TEST

/* ---- another log, another file ---- */

START_TEST(dataset_of_the_same_name) {
  begin_idle();
  db_exec(other,
          "DROP TABLE logs; CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);"
          "INSERT INTO logs VALUES ('a', 'new'), ('b', 'log')");
  mkdir(scratch_path("again"), 0755);
  db_exec(other, "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('s', 'logs', 'file://%s', 'ndjson')",
          scratch_path("again"));
  ck_assert_str_eq(tick("rows"), "2");
  expect_nothing();
  db_exec(other, "ALTER TABLE logs RENAME TO renamed; INSERT INTO renamed VALUES ('a', 'three')");
  ck_assert_str_eq(tick("rows"), "1");
  expect_nothing();
  end_idle();
}
END_TEST

static void copy(sqlite3 *to, sqlite3 *from) {
  sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
  ck_assert_ptr_nonnull(backup);
  ck_assert_int_eq(sqlite3_backup_step(backup, -1), SQLITE_DONE);
  ck_assert_int_eq(sqlite3_backup_finish(backup), SQLITE_OK);
}

/* As many rows as before, but one of them is another: the target knows that the sink has been further. */
START_TEST(backup_that_was_restored) {
  begin_idle();
  sqlite3 *old = db_open(scratch_path("old"), "shim");
  copy(old, db);
  db_exec(db, "INSERT INTO logs VALUES ('a', 'three')");
  ck_assert_str_eq(tick("rows"), "1");
  expect_nothing();
  copy(other, old);
  expect_nothing();
  db_exec(other, "INSERT INTO logs VALUES ('b', 'another three')");
  ck_assert_str_eq(tick("stopped"), "1");
  db_close(old);
  end_idle();
}
END_TEST

/* ---- the host ---- */

START_TEST(host_finalizes_what_it_finds) {
  begin_idle();
  for (int i = 0; i < 3; i++) {
    finalize_all();
    db_exec(other, "INSERT INTO unrelated VALUES (1)");
    expect_nothing();
    finalize_all();
    db_exec(other, "INSERT INTO logs VALUES ('a', 'more')");
    ck_assert_str_eq(tick("rows"), "1");
  }
  check_archive();
  end_idle();
}
END_TEST

/* What stays open between ticks is in nobody's way. */
START_TEST(statements_that_stay) {
  begin_idle();
  db_exec(other, "INSERT INTO unrelated VALUES (1)");
  expect_nothing();
  ck_assert_ptr_nonnull(sqlite3_next_stmt(db, NULL));
  db_exec(db, "VACUUM; PRAGMA wal_checkpoint = truncate");
  db_close(other);
  db_exec(db, "PRAGMA journal_mode = delete; PRAGMA locking_mode = normal; INSERT INTO unrelated VALUES (2)");
  expect_nothing();
  db_exec(db, "DROP TABLE logs");
  ck_assert_ptr_null(sqlite3_next_stmt(db, NULL));
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {unrelated_commit_compiles_no_query,
                                connection_that_only_ticks,
                                sink_that_has_shipped_nothing_looks_at_no_partition,
                                rows_however_they_come,
                                upkeep_brings_nothing,
                                rewind_of_another_connection,
                                rewind_below_the_start,
                                start_that_is_lowered,
                                sinks_that_change,
                                delay_that_is_over,
                                batch_that_another_left_open,
                                dataset_of_the_same_name,
                                backup_that_was_restored,
                                host_finalizes_what_it_finds,
                                statements_that_stay,
                                NULL};
  return unit_main("idle", tests);
}
