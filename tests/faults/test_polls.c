/* A connection that has polled and found nothing is cheap to poll again: it remembers what it saw. When another one has
 * appended since, and a call to the file system fails in the next poll, that poll tells of the error or of the rows,
 * and the one after it tells of the rows: nothing is remembered of a look that failed. */
#define _GNU_SOURCE
#include "../unit/effort.h"
#include "../unit/unit.h"
#include "trial.h"

struct poll {
  const char *sql;
  const char *appended; /* what it says of the rows that came */
  bool ships;           /* when an error comes with its answer, it may have shipped them */
};

static const struct poll polls[] = {
    {"SELECT since, x FROM logs WHERE since > 44 AND source = 's1'", "46|late|\n", false},
    {"SELECT count(*), max(since) FROM logs WHERE since > 44", "2|46|\n", false},
    {"SELECT since FROM logs WHERE since > 44 AND partition = 'source=s9' ORDER BY since", "45|\n", false},
    {"SELECT count(*) FROM keys WHERE id = 'late'", "1|\n", false},
    {"SELECT body FROM web WHERE since > 6", "late|\n", false},
    {"SELECT partition, rows FROM tidemark_lag WHERE sink = 'a' AND rows > 0", "source=s1|1|\nsource=s9|1|\n", false},
    {"SELECT sum(tail_rows) FROM tidemark_stat WHERE dataset = 'logs' AND last_since > 44", "2|\n", false},
    {"SELECT tidemark_peek('a') ->> '$.sinks[0].rows'", "2|\n", false},
    {"SELECT tidemark_export('a')", "\"rows\":2,", true},
    {"SELECT tidemark_export()", "\"rows\":2,", true},
};

static const struct operation nothing_to_do = {
    .sql = "",
    .failed = OPERATION_WHOLE,
    .before = "DELETE FROM tidemark_sink WHERE sink = 'hook'; SELECT tidemark_export(NULL, 'now')"};

static void append_by_another(void) {
  sqlite3 *other = database_connect();
  db_exec(other, "BEGIN; INSERT INTO logs VALUES ('s9', 1, 'late'), ('s1', 2, 'late');"
                 "INSERT INTO keys VALUES ('s0', 'late'); INSERT INTO visits VALUES ('web', 'late'); COMMIT");
  db_close(other);
}

/* A connection that has polled twice, and rows that it does not know of. */
static sqlite3 *begin(const struct poll *poll) {
  sqlite3 *db = database_open();
  sqlite3_busy_timeout(db, 0);
  for (int i = 0; i < 2; i++)
    db_exec(db, "%s", poll->sql);
  append_by_another();
  return db;
}

static bool is_right(const struct poll *poll, const char *answer) {
  return poll->ships ? strstr(answer, poll->appended) != NULL : strcmp(answer, poll->appended) == 0;
}

/* All that was appended has left once, as it does without faults. */
static void check_end(sqlite3 *db, const char *outside, const char *at) {
  shim.now_ms += 600000;
  db_exec(db, "SELECT tidemark_export('a', 'now')");
  ck_assert_msg(db_int(db, "SELECT sum(rows) FROM tidemark_lag WHERE sink = 'a'") == 0, "%s: rows are left", at);
  char *left = observed_outside();
  ck_assert_msg(strcmp(left, outside) == 0, "%s: what left:\n%s\nnot:\n%s", at, left, outside);
  free(left);
}

static char *outside_without_faults(const struct poll *poll) {
  char *answer = NULL;
  sqlite3 *db = begin(poll);
  ck_assert_int_eq(trial_exec(db, poll->sql, &answer), SQLITE_OK);
  ck_assert_msg(is_right(poll, answer), "%s: %s", poll->sql, answer);
  db_exec(db, "SELECT tidemark_export('a', 'now')");
  db_close(db);
  free(answer);
  return observed_outside();
}

/* Whether a call was there to fail. */
static bool try(const struct poll *poll, long n, int rc, unsigned kinds, const char *outside) {
  char at[300];
  char *answer = NULL;
  snprintf(at, sizeof at, "call %ld, error %d, of %s", n, rc, poll->sql);
  sqlite3 *db = begin(poll);
  shim_fault_plan(kinds, n, false, rc);
  const int got = trial_exec(db, poll->sql, &answer);
  const bool failed = shim_fault.failed > 0;
  const bool told = got != SQLITE_OK || trial_tells(answer);
  shim_fault_plan(0, 0, false, 0);
  ck_assert_msg(failed || !told, "%s: %d %s", at, got, sqlite3_errmsg(db));
  ck_assert_msg(told || is_right(poll, answer), "%s: says %s", at, answer);
  free(answer);
  if (told) {
    shim.now_ms += 600000; /* what a tick tries again waits */
    ck_assert_msg(trial_exec(db, poll->sql, &answer) == SQLITE_OK && !trial_tells(answer), "%s: again: %s %s", at,
                  sqlite3_errmsg(db), answer);
    ck_assert_msg(poll->ships || is_right(poll, answer), "%s: again: %s", at, answer);
    free(answer);
  }
  check_end(db, outside, at);
  db_close(db);
  return failed;
}

START_TEST(a_poll_that_failed_remembers_nothing) {
  static const struct {
    const char *journal;
    int rc;
    unsigned kinds;
  } ways[] = {{"wal", 0, SHIM_ALL},
              {"delete", 0, SHIM_ALL},
              {"wal", SQLITE_BUSY, SHIM_LOCKS},
              {"delete", SQLITE_BUSY, SHIM_LOCKS}};
  const struct poll *poll = &polls[_i];
  for (int i = 0; i < 4; i++) {
    if (!effort_is_long() && (_i + i) % 4 != 0)
      continue;
    long n = 1;
    database_make(ways[i].journal);
    database_prepare(&nothing_to_do);
    char *outside = outside_without_faults(poll);
    while (try(poll, n, ways[i].rc, ways[i].kinds, outside))
      n += effort_is_long() ? 1 : 1 + n * EFFORT_DIVISOR / 3;
    ck_assert_int_gt(n, 1);
    free(outside);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("polls");
  TCase *tcase = tcase_create("polls");
  tcase_set_timeout(tcase, effort_is_long() ? 3600 : 300);
  tcase_add_loop_test(tcase, a_poll_that_failed_remembers_nothing, 0, (int)(sizeof polls / sizeof *polls));
  suite_add_tcase(suite, tcase);
  return unit_run(suite);
}
