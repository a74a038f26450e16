/* A clock that steps back an hour, or goes ten years ahead and comes back: nothing is lost or shipped twice, nobody waits
 * for ever, and retention takes nothing that a sink holds. */
#define _GNU_SOURCE
#include <sys/wait.h>

#include "effort.h"
#include "export_db.h"
#include "random.h"
#include "sink/target.h"

static const int64_t HOUR = 3600000;
static const int64_t TEN_YEARS = INT64_C(10) * 365 * 86400000;

static void break_target(void) {
  ck_assert_int_eq(rename(folder, scratch_path("away")), 0);
}

static void mend_target(void) {
  ck_assert_int_eq(rename(scratch_path("away"), folder), 0);
}

/* ---- who waits ---- */

/* A try was put off; then the clock is set, and the batch goes at the latest when so much time has passed. */
static void expect_wait(int64_t step, int64_t at_most) {
  begin();
  append_many(3, 10);
  break_target();
  ck_assert_str_eq(tick("failed"), "1");
  mend_target();
  shim.now_ms += step;
  if (at_most > 0) {
    ck_assert_str_eq(tick("waiting"), "1");
    shim.now_ms += at_most;
  }
  ck_assert_str_eq(tick("rows"), "3");
  check_archive();
  end();
}

START_TEST(try_that_was_put_off_comes) {
  expect_wait(0, 1000);
  expect_wait(-HOUR, HOUR + 1000);
  expect_wait(-48 * HOUR, 0);
  expect_wait(-TEN_YEARS, 0);
  expect_wait(TEN_YEARS, 0);
}
END_TEST

START_TEST(rows_that_wait_for_company_go_when_the_clock_was_ahead) {
  static const int64_t steps[] = {-3600000, -INT64_C(315360000000)};
  for (int i = 0; i < 2; i++) {
    begin();
    db_exec(db, "UPDATE tidemark_sink SET min_rows = 100, max_delay = '10 seconds'");
    append_many(3, 10);
    ck_assert_str_eq(tick("waiting"), "1");
    shim.now_ms += steps[i];
    ck_assert_str_eq(tick("rows"), "3");
    append_many(3, 10);
    ck_assert_str_eq(tick("waiting"), "1");
    shim.now_ms += 10000;
    ck_assert_str_eq(tick("rows"), "3");
    check_archive();
    end();
  }
}
END_TEST

/* ---- leases ---- */

static struct {
  sqlite3 *second; /* another connection, which ticks once while the first one's batch is under way */
  int64_t step;    /* of the clock, before that */
  char seen[64];
} during;

static void tick_under_another_clock(const char *step) {
  if (during.second == NULL || strcmp(step, "written") != 0)
    return;
  sqlite3 *other = during.second;
  during.second = NULL;
  shim.now_ms += during.step;
  snprintf(during.seen, sizeof during.seen, "%s", db_text(other, "SELECT tidemark_export('s') ->> 'batches'"));
  db_close(other);
}

/* Who finds the lease over, or ending in a future that no lease reaches, takes the batch; the other cannot ack it. */
static void expect_one_of_two(int64_t step, const char *by_second) {
  begin();
  append_many(3, 10);
  during.second = db_open(scratch_path("db"), "shim");
  during.step = step;
  tide_target_dir_step = tick_under_another_clock;
  const bool by_first = strcmp(tick("batches"), "1") == 0;
  tide_target_dir_step = NULL;
  ck_assert_str_eq(during.seen, by_second);
  ck_assert_int_eq(by_first, strcmp(by_second, "0") == 0);
  assert_text(db, "1|3", "SELECT count(*), sum(rows) FROM tidemark_export_log");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
  append_many(2, 10);
  shim.now_ms += 1000; /* who lost the batch was put off */
  ck_assert_str_eq(tick("rows"), "2");
  check_archive();
  end();
}

START_TEST(lease_is_over_under_any_other_clock) {
  expect_one_of_two(0, "0");
  expect_one_of_two(-1000, "0");
  expect_one_of_two(-HOUR, "1");
  expect_one_of_two(TEN_YEARS, "1");
  expect_one_of_two(-TEN_YEARS, "1");
}
END_TEST

/* A batch that a process left behind and its clock with it. */
START_TEST(batch_of_the_dead_goes_under_any_clock) {
  static const int64_t steps[] = {0, -3600000, INT64_C(315360000000), -INT64_C(315360000000)};
  for (int i = 0; i < 4; i++) {
    begin();
    append_many(3, 10);
    db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('mine', 'logs')");
    db_close(db);
    const pid_t child = fork();
    if (child == 0) {
      db = db_open(scratch_path("db"), "shim");
      _exit(db_int(db, "SELECT tidemark_claim('mine', 'logs')") == 1 ? 0 : 1);
    }
    int status = 1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    shim.now_ms += steps[i];
    db = db_open(scratch_path("db"), "shim");
    assert_int(db, 1, "SELECT tidemark_claim('mine', 'logs')");
    db_exec(db, "SELECT tidemark_ack(%s)", db_text(db, "SELECT batch FROM tidemark_batch WHERE sink = 'mine'"));
    assert_text(db, "1|3", "SELECT count(*), sum(rows) FROM tidemark_export_log WHERE sink = 'mine'");
    end();
  }
}
END_TEST

/* Another process has a batch, works on it, and then not any more. What it may not have synced is synced once. */
START_TEST(claim_leaves_a_batch_to_who_works_on_it) {
  begin();
  append_many(3, 10);
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('mine', 'logs'); SELECT tidemark_claim('mine', 'logs');"
              "UPDATE tidemark_batch SET owner = 'elsewhere:1:1'");
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  const int64_t at_first = db_int(other, "PRAGMA data_version");
  assert_int(db, 1, "SELECT tidemark_claim('mine', 'logs')");
  const int64_t synced = db_int(other, "PRAGMA data_version");
  ck_assert_int_ne(at_first, synced);
  assert_int(db, 1, "SELECT tidemark_claim('mine', 'logs')");
  ck_assert_int_eq(synced, db_int(other, "PRAGMA data_version"));
  assert_text(db, "1|elsewhere:1:1|1767225660000", "SELECT batch, owner, lease_until FROM tidemark_batch");
  shim.now_ms += 60000;
  assert_int(db, 1, "SELECT tidemark_claim('mine', 'logs')");
  assert_text(db, "1|1|1767225720000", "SELECT batch, owner <> 'elsewhere:1:1', lease_until FROM tidemark_batch");
  db_exec(db, "SELECT tidemark_ack(1)");
  db_close(other);
  end();
}
END_TEST

/* ---- retention ---- */

/* The clock is ten years ahead for one call of maintain, while `s` has nothing yet; then it is right again. */
static void maintain_ten_years_ahead(void) {
  begin();
  db_exec(db, "SELECT tidemark_set('logs', 'retention_age', '7 days');"
              "INSERT INTO tidemark_sink(sink, dataset, hold) VALUES ('loose', 'logs', 0);"
              "INSERT INTO tidemark_sink(sink, dataset, hold_age) VALUES ('capped', 'logs', '30 days')");
}

START_TEST(clock_that_is_ahead_takes_no_row_that_is_held) {
  maintain_ten_years_ahead();
  append_many(10, 10);
  shim.now_ms += TEN_YEARS;
  db_exec(db, "SELECT tidemark_maintain('logs')");
  assert_int(db, 10, "SELECT count(*) FROM logs");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_export_log");
  append_many(5, 10);
  shim.now_ms = T0;
  ck_assert_str_eq(tick("rows"), "15");
  check_archive();
  end();
}
END_TEST

/* What no sink holds is old under that clock, and goes; who had not seen it is told. */
START_TEST(clock_that_is_ahead_makes_old_what_nobody_holds) {
  maintain_ten_years_ahead();
  append_many(10, 10);
  ck_assert_str_eq(tick("rows"), "10");
  shim.now_ms += TEN_YEARS;
  db_exec(db, "SELECT tidemark_prune('logs')");
  assert_int(db, 0, "SELECT count(*) FROM logs");
  assert_text(db, "capped|gap|10 loose|gap|10",
              "SELECT sink, kind, rows FROM tidemark_export_log WHERE sink <> 's' ORDER BY 1");
  shim.now_ms = T0;
  db_exec(db, "INSERT INTO logs VALUES ('web', 'new')");
  assert_text(db, "11|new", "SELECT since, body FROM logs");
  ck_assert_str_eq(tick("rows"), "1");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  end();
}
END_TEST

/* Rows that were written under it are in the future, and keep those behind them until somebody acts. */
START_TEST(rows_of_a_clock_that_was_ahead_are_named) {
  begin();
  db_exec(db, "SELECT tidemark_set('logs', 'retention_age', '7 days')");
  shim.now_ms = T0 + TEN_YEARS;
  append_many(2, 10);
  shim.now_ms = T0;
  append_many(3, 10);
  ck_assert_str_eq(tick("rows"), "5");
  shim.now_ms = T0 + 10 * 24 * HOUR;
  const char *report = db_text(db, "SELECT tidemark_prune('logs')");
  ck_assert_msg(strstr(report, "\"future\"") != NULL, "%s", report);
  assert_int(db, 5, "SELECT count(*) FROM logs");
  db_exec(db, "DELETE FROM logs WHERE ingested_at > %lld; SELECT tidemark_prune('logs')", (long long)shim.now_ms);
  assert_int(db, 0, "SELECT count(*) FROM logs");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  end();
}
END_TEST

/* Its log rows are old under that clock too: the last one of each sink and partition stays, the sums hold, and the sink
 * goes on. What is logged under it ends the trimming, until that time comes. */
START_TEST(log_is_trimmed_and_goes_on) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET max_rows = 2");
  append_many(10, 10);
  ck_assert_str_eq(tick("batches"), "5");
  shim.now_ms += TEN_YEARS;
  db_exec(db, "SELECT tidemark_maintain('logs')");
  assert_text(db, "1|8", "SELECT (SELECT count(*) FROM tidemark_export_log), sum(rows) FROM tidemark_export_total");
  append_many(4, 10);
  ck_assert_str_eq(tick("batches"), "2");
  shim.now_ms = T0;
  append_many(4, 10);
  ck_assert_str_eq(tick("batches"), "2");
  db_exec(db, "SELECT tidemark_maintain('logs')");
  assert_int(db, 5, "SELECT count(*) FROM tidemark_export_log");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  check_archive();
  end();
}
END_TEST

/* ---- all of it ---- */

static int64_t below(int64_t n) {
  return (int64_t)(next_random() % (uint64_t)n);
}

static void set_clock(void) {
  const int64_t steps[] = {-HOUR, HOUR, TEN_YEARS, -TEN_YEARS, -48 * HOUR, 1000, 61000, 61000};
  shim.now_ms += steps[below(sizeof steps / sizeof *steps)];
  if (shim.now_ms < HOUR || shim.now_ms > T0 + 20 * TEN_YEARS)
    shim.now_ms = T0;
}

static void tick_or_fail(void) {
  const bool broken = below(4) == 0;
  if (broken)
    break_target();
  db_exec(db, below(2) == 0 ? "SELECT tidemark_export('s')" : "SELECT tidemark_export('s', 'now')");
  if (broken)
    mend_target();
}

/* Appends, ticks, failures and upkeep under a clock that is set at random. What is expected is the count of rows that
 * were appended, numbered by the test. */
static void live_under_any_clock(int steps) {
  int64_t rows = 0;
  begin();
  db_exec(db, "SELECT tidemark_set('logs', 'retention_age', '2 hours');"
              "UPDATE tidemark_sink SET max_rows = 7, min_rows = 3, max_delay = '1 hour'");
  for (int i = 0; i < steps; i++) {
    set_clock();
    for (int64_t n = below(6); n > 0; n--) {
      db_exec(db, "INSERT INTO logs VALUES ('p%lld', '%lld')", (long long)below(2), (long long)++rows);
      ck_assert_int_eq(sqlite3_last_insert_rowid(db), rows); /* since, which knows no clock */
    }
    if (below(2) == 0)
      tick_or_fail();
    if (below(3) == 0)
      db_exec(db, "SELECT tidemark_%s('logs')", below(2) == 0 ? "maintain" : "prune");
  }
  /* an honest hour and a day later all has left, without being told to go now */
  shim.now_ms += 25 * HOUR;
  ck_assert_str_eq(tick("failed"), "0");
  assert_int(db, 0, "SELECT sum(rows) FROM tidemark_lag");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_export_log WHERE kind <> 'batch'");
  archive_read(db, folder);
  assert_text(
      db, db_text(db, "SELECT %lld, %lld", (long long)rows, (long long)rows),
      "SELECT count(*), count(DISTINCT json ->> 'body') FROM temp.line WHERE (json ->> 'body') + 0 BETWEEN 1 AND %lld",
      (long long)rows);
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  end();
}

START_TEST(each_row_leaves_once_under_any_clock) {
  const long rounds = effort(3, 300);
  for (random_seed = 1; random_seed <= (uint64_t)rounds;) {
    const uint64_t seed = random_seed;
    live_under_any_clock(60);
    random_seed = seed + 1;
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {try_that_was_put_off_comes,
                                rows_that_wait_for_company_go_when_the_clock_was_ahead,
                                lease_is_over_under_any_other_clock,
                                batch_of_the_dead_goes_under_any_clock,
                                claim_leaves_a_batch_to_who_works_on_it,
                                clock_that_is_ahead_takes_no_row_that_is_held,
                                clock_that_is_ahead_makes_old_what_nobody_holds,
                                rows_of_a_clock_that_was_ahead_are_named,
                                log_is_trimmed_and_goes_on,
                                each_row_leaves_once_under_any_clock,
                                NULL};
  return unit_main("clock", tests);
}
