/* Kills a process that prunes, at every change of the database's files. Each partition is then as it was after one of
 * the steps, its rows, figures and the gaps of its sinks together; what was durable stays; no log misses a row. */
#define _GNU_SOURCE
#include "crash.h"
#include "unit.h"

#define APPEND(rows)                                                                                                   \
  "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < " #rows ")"                                \
  " INSERT INTO logs SELECT substr('abc', 1 + n % 3, 1), n, random() FROM c;"
#define PRUNE "SELECT tidemark_prune('logs');"

static const char *const steps[] = {
    APPEND(70),
    PRUNE,
    APPEND(10),
    "BEGIN; " APPEND(5) PRUNE APPEND(4) "COMMIT",
    "DELETE FROM logs WHERE since % 7 = 0",
    "SELECT tidemark_set('logs', 'retention_rows', 2)",
    PRUNE,
    "SELECT tidemark_set('logs', 'retention_age', 0)",
    PRUNE,
    APPEND(3),
    PRUNE,
    APPEND(30),
};
enum { STEPS = sizeof steps / sizeof *steps, PARTITIONS = 3 };

static const char *journal, *synchronous;
static char work[256];
static char *states[STEPS + 1][PARTITIONS]; /* after so many steps, without a crash */

/* Sinks: one holds with a cap, one has had some rows and does not hold, one is gone and left an open account. */
static void make_database(void) {
  static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
  for (int i = 0; i < 4; i++) {
    char path[300];
    snprintf(path, sizeof path, "%s%s", work, suffixes[i]);
    unlink(path);
  }
  sqlite3 *db = db_open(work, NULL);
  db_exec(db, "PRAGMA journal_mode = %s", journal);
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n INTEGER, id INTEGER, partition_by=source,"
              " unique=id, segment_rows=16, retention_rows=9);"
              " INSERT INTO logs VALUES ('a', 0, NULL), ('b', 0, NULL), ('c', 0, NULL);"
              "INSERT INTO tidemark_sink(sink, dataset, hold, hold_rows) VALUES ('capped', 'logs', 1, 12),"
              " ('lax', 'logs', 0, NULL), ('gone', 'logs', 1, NULL);"
              "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
              " SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag"
              " WHERE sink = 'gone' OR (sink = 'lax' AND partition = 'source=b');"
              "DELETE FROM tidemark_sink WHERE sink = 'gone'");
  db_close(db);
}

static void take_steps(void) {
  sqlite3 *db = db_open(work, "shim");
  db_exec(db, "PRAGMA synchronous = %s; PRAGMA wal_autocheckpoint = 8", synchronous);
  for (int step = 0; step < STEPS; step++) {
    db_exec(db, "%s", steps[step]);
    crash.shared->commits = step + 1;
    crash.shared->since = sqlite3_last_insert_rowid(db);
  }
  db_close(db);
}

static char *state_of(sqlite3 *db, int partition) {
  const char name[] = {(char)('a' + partition), '\0'};
  return strdup(db_text(db,
                        "SELECT (SELECT group_concat(since) FROM (SELECT since FROM logs WHERE source = %Q"
                        " ORDER BY since)), (SELECT rows || ' ' || written || ' ' || deleted FROM tidemark_stat"
                        " WHERE partition = 'source=' || %Q), (SELECT group_concat(concat) FROM (SELECT sink || kind"
                        " || since || '-' || until || ':' || rows AS concat FROM tidemark_export_log"
                        " WHERE partition = 'source=' || %Q ORDER BY sink, id))",
                        name, name, name));
}

static void learn_states(void) {
  make_database();
  sqlite3 *db = db_open(work, NULL);
  for (int step = 0; step <= STEPS; step++) {
    if (step > 0)
      db_exec(db, "%s", steps[step - 1]);
    for (int partition = 0; partition < PARTITIONS; partition++) {
      free(states[step][partition]);
      states[step][partition] = state_of(db, partition);
    }
  }
  assert_int(db, 3, "SELECT count(DISTINCT sink) FROM tidemark_export_log WHERE kind = 'gap'");
  db_close(db);
}

static void check_states(sqlite3 *db, bool durable) {
  const int commits = crash.shared->commits;
  for (int partition = 0; partition < PARTITIONS; partition++) {
    char *state = state_of(db, partition);
    int step = commits < STEPS ? commits + 1 : STEPS;
    while (step >= 0 && strcmp(state, states[step][partition]) != 0)
      step--;
    ck_assert_msg(step >= (durable ? commits : 0), "after %d of %d steps %s\nwas   %s\nor    %s", step, commits, state,
                  states[commits][partition], states[commits < STEPS ? commits + 1 : STEPS][partition]);
    free(state);
  }
}

static void check(enum crash_how how) {
  sqlite3 *db = db_open(work, NULL);
  const bool durable = how == CRASH_KILL || (strcmp(journal, "wal") == 0 && strcmp(synchronous, "full") == 0);
  assert_text(db, "ok", "PRAGMA integrity_check");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  check_states(db, durable);
  db_exec(db, "SELECT tidemark_prune('logs')"); /* goes on where it was */
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  assert_text(db, "",
              "SELECT sink, partition, id FROM (SELECT *, lag(until) OVER (PARTITION BY sink, partition ORDER BY id)"
              " AS before FROM tidemark_export_log) WHERE since <> before");
  assert_text(db, "",
              "SELECT l.sink, p.partition FROM tidemark_lag l JOIN tidemark_stat p USING (partition)"
              " WHERE l.rows + (SELECT total(rows) FROM tidemark_export_log e WHERE e.sink = l.sink"
              "   AND e.partition = p.partition) NOT BETWEEN p.written - p.deleted AND p.written");
  db_exec(db, "INSERT INTO logs VALUES ('a', 0, NULL)");
  if (durable)
    ck_assert_int_gt(sqlite3_last_insert_rowid(db), crash.shared->since);
  db_close(db);
}

static void crash_in(const char *journal_mode, const char *synchronous_level, int stride) {
  journal = journal_mode;
  synchronous = synchronous_level;
  if (crash.shared == NULL) {
    scratch_open();
    crash_open();
  }
  snprintf(work, sizeof work, "%s/work", scratch);
  learn_states();
  crash_everywhere(make_database, take_steps, check, stride);
}

START_TEST(wal_normal) {
  crash_in("wal", "normal", 13);
}
END_TEST

START_TEST(wal_full) {
  crash_in("wal", "full", 13);
}
END_TEST

START_TEST(delete_normal) {
  crash_in("delete", "normal", 17);
}
END_TEST

START_TEST(delete_full) {
  crash_in("delete", "full", 17);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {wal_normal, wal_full, delete_normal, delete_full, NULL};
  return unit_main("crash prune", tests);
}
