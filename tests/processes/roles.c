#define _GNU_SOURCE
#include <sched.h>

#include "../unit/sql_db.h"
#include "chance.h"
#include "processes.h"

/* ---- one call ---- */

/* false when another process was in the way, which is the one thing that may be. A call of ours never says that
 * another transaction is newer: waiting for that is no use. */
static bool attempt_text(sqlite3 *db, const char *sql, char **ret_text) {
  sqlite3_stmt *stmt = NULL;
  char *text = NULL;
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  if (rc == SQLITE_OK) {
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && text == NULL) {
      const char *value = (const char *)sqlite3_column_text(stmt, 0);
      text = strdup(value != NULL ? value : "");
    }
  }
  ck_assert_msg(rc == SQLITE_DONE || (rc & 0xff) == SQLITE_BUSY, "%s: %d, %s", sql, rc, sqlite3_errmsg(db));
  if (rc != SQLITE_DONE && strstr(sql, "tidemark_") != NULL && strncmp(sql, "SELECT", 6) == 0)
    ck_assert_msg(sqlite3_extended_errcode(db) != SQLITE_BUSY_SNAPSHOT, "%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_finalize(stmt);
  if (rc == SQLITE_DONE && ret_text != NULL)
    *ret_text = text;
  else
    free(text);
  if (rc != SQLITE_DONE)
    __atomic_fetch_add(&shared->busy, 1, __ATOMIC_RELAXED);
  return rc == SQLITE_DONE;
}

static bool attempt(sqlite3 *db, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  const bool done = attempt_text(db, sql, NULL);
  sqlite3_free(sql);
  return done;
}

void insist(sqlite3 *db, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  while (!attempt_text(db, sql, NULL))
    sched_yield();
  sqlite3_free(sql);
}

static char *insist_text(sqlite3 *db, const char *sql) {
  char *text = NULL;
  while (!attempt_text(db, sql, &text))
    sched_yield();
  return text;
}

/* COMMIT, tried again while readers are in its way, or given up after some tries. */
static bool commit(sqlite3 *db, bool give_up) {
  for (size_t tries = 0; !attempt(db, "COMMIT"); tries++) {
    ck_assert_int_eq(sqlite3_get_autocommit(db), 0);
    if (give_up && tries > 3) {
      insist(db, "ROLLBACK");
      return false;
    }
    sched_yield();
  }
  return true;
}

/* ---- writers ---- */

#define ALL_ROWS "(SELECT since, writer, n FROM copy UNION SELECT since, writer, n FROM logs)"

/* What it wrote before is what it knows, or all of the transaction whose COMMIT was not answered. */
static int64_t find_own(sqlite3 *db, int writer) {
  const int64_t n = db_int(db, "SELECT coalesce(max(n), 0) FROM " ALL_ROWS " WHERE writer = %d", writer);
  const int64_t committed = shared->writers[writer].committed;
  const int64_t pending = shared->writers[writer].pending;
  ck_assert_msg(n == committed || n == pending, "writer %d has %lld, not %lld or %lld", writer, (long long)n,
                (long long)committed, (long long)pending);
  return n;
}

static void append(sqlite3 *db, int writer, int64_t from, int64_t upto) {
  const char *partition = one_in(3) ? "'p0'" : "'p' || ((i * 7) % 4)";
  db_exec(db,
          "WITH RECURSIVE c(i) AS (SELECT %lld UNION ALL SELECT i + 1 FROM c WHERE i < %lld)"
          " INSERT INTO logs(source, writer, n, body) SELECT %s, %d, i, printf('%%.*c', i %% 60, 'x') FROM c",
          (long long)from, (long long)upto, partition, writer);
  ck_assert_int_eq(sqlite3_changes(db), (int)(upto - from + 1));
}

void step_write(sqlite3 *db, int writer) {
  static const int sizes[] = {1, 1, 1, 2, 5, 20, 40, 150};
  insist(db, "BEGIN IMMEDIATE");
  const int64_t from = find_own(db, writer);
  const int64_t upto = from + PICK(sizes);
  const int64_t between = from + 1 + (int64_t)pick((size_t)(upto - from));
  const bool roll_back = one_in(10);
  shared->writers[writer].committed = from;
  shared->writers[writer].pending = roll_back ? from : upto;
  append(db, writer, from + 1, between);
  if (one_in(4)) {
    db_exec(db, "SAVEPOINT junk");
    append(db, JUNK_WRITER, 1, 30);
    db_exec(db, "ROLLBACK TO junk; RELEASE junk");
  }
  if (between < upto)
    append(db, writer, between + 1, upto);
  if (roll_back)
    db_exec(db, "ROLLBACK");
  else if (commit(db, one_in(2)))
    shared->writers[writer].committed = upto;
  shared->writers[writer].pending = shared->writers[writer].committed;
}

/* ---- readers ---- */

/* In one snapshot: numbers ascend in the order of since, which is that of the commits, and each writer's without a
 * hole; what was copied and what is in the dataset are the same rows. */
static void check_order(sqlite3 *db) {
  int64_t last[WRITERS] = {0};
  int64_t since = 0;
  sqlite3_stmt *stmt = NULL;
  const int rc = sqlite3_prepare_v2(db, "SELECT since, writer, n FROM " ALL_ROWS " ORDER BY since", -1, &stmt, NULL);
  ck_assert_msg(rc == SQLITE_OK, "%s", sqlite3_errmsg(db));
  while (sqlite3_step(stmt) == SQLITE_ROW) {
    const int writer = sqlite3_column_int(stmt, 1);
    const int64_t n = sqlite3_column_int64(stmt, 2);
    ck_assert_msg(sqlite3_column_int64(stmt, 0) > since, "since %lld is there twice", (long long)since);
    since = sqlite3_column_int64(stmt, 0);
    ck_assert_msg(writer >= 0 && writer < WRITERS && n == last[writer] + 1, "since %lld: %lld of writer %d",
                  (long long)since, (long long)n, writer);
    last[writer] = n;
  }
  ck_assert_msg(sqlite3_finalize(stmt) == SQLITE_OK, "%s", sqlite3_errmsg(db));
}

static void check_partitions(sqlite3 *db) {
  for (int i = 0; i < PARTITIONS; i++)
    assert_int(db, 0,
               "SELECT count(*) FROM (SELECT since, lag(since, 1, 0) OVER () AS before FROM logs"
               " WHERE source = 'p%d') WHERE since <= before",
               i);
  assert_text(db, "",
              "SELECT source, count(*) FROM logs GROUP BY 1 EXCEPT SELECT substr(partition, 8), rows FROM"
              " tidemark_stat");
  assert_int(db, db_int(db, "SELECT count(*) FROM copy"),
             "SELECT total(rows) FROM tidemark_export_log WHERE sink = 'copy'");
}

void step_read(sqlite3 *db, int number) {
  (void)number;
  db_exec(db, "BEGIN");
  insist(db, "SELECT count(*) FROM logs"); /* a snapshot is had from here on */
  check_order(db);
  check_partitions(db);
  if (one_in(5))
    assert_text(db, "ok", "SELECT tidemark_check('logs')");
  insist(db, "COMMIT");
}

/* ---- sinks ---- */

void step_tick(sqlite3 *db, int number) {
  static const char *const calls[] = {"SELECT tidemark_export('archive')", "SELECT tidemark_export()",
                                      "SELECT tidemark_export('archive', 'max_batches=2')",
                                      "SELECT tidemark_export('archive', 'now')"};
  (void)number;
  char *report = NULL;
  if (attempt_text(db, PICK(calls), &report))
    ck_assert_msg(strstr(report, "\"failed\":0") != NULL, "%s", report);
  ck_assert_int_eq(sqlite3_txn_state(db, NULL), SQLITE_TXN_NONE);
  free(report);
}

void step_copy(sqlite3 *db, int number) {
  (void)number;
  insist(db, "BEGIN IMMEDIATE");
  db_exec(db,
          "INSERT INTO copy(since, writer, n) SELECT l.since, l.writer, l.n FROM tidemark_lag w CROSS JOIN logs l"
          " ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until"
          " WHERE w.sink = 'copy' AND w.rows > 0;"
          "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
          " SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'copy' AND rows > 0");
  if (one_in(8))
    db_exec(db, "ROLLBACK");
  else
    commit(db, one_in(2));
}

/* ---- upkeep ---- */

static const char *const upkeep[] = {"SELECT tidemark_flush('logs')",
                                     "SELECT tidemark_prune('logs')",
                                     "SELECT tidemark_compact('logs', 1)",
                                     "SELECT tidemark_compact('logs')",
                                     "SELECT tidemark_maintain('logs')",
                                     "SELECT tidemark_maintain()",
                                     "SELECT tidemark_set('logs', 'retention_rows', abs(random() % 60))",
                                     "SELECT tidemark_set('logs', 'segment_rows', 16 + abs(random() % 60))"};

/* Some of the rows that both sinks have. */
static const char delete_some[] =
    "DELETE FROM logs WHERE since IN (SELECT l.since FROM logs l WHERE l.n % 7 = 0 AND l.since <="
    " (SELECT iif(count(*) = 2, min(w.since), 0) FROM tidemark_watermark w WHERE w.partition = l.partition))";

/* Several in a transaction, which may have read before another process's commit; then BUSY is for good. */
static void upkeep_in_transaction(sqlite3 *db) {
  bool going_on = attempt(db, one_in(2) ? "BEGIN IMMEDIATE" : "BEGIN");
  for (size_t i = 1 + pick(3); going_on && i > 0; i--) {
    if (one_in(3))
      going_on = attempt(db, "SELECT count(*) FROM logs");
    going_on = going_on && attempt(db, "%s", PICK(upkeep));
  }
  if (going_on && !one_in(4))
    commit(db, true);
  else if (!sqlite3_get_autocommit(db))
    insist(db, "ROLLBACK");
}

void step_upkeep(sqlite3 *db, int number) {
  (void)number;
  const size_t dice = pick(20);
  if (dice < 11)
    attempt(db, "%s", PICK(upkeep));
  else if (dice < 14)
    attempt(db, "%s", delete_some);
  else if (dice < 17)
    upkeep_in_transaction(db);
  else if (dice < 18)
    attempt(db, "VACUUM");
  else if (dice < 19)
    attempt(db, "PRAGMA wal_checkpoint(TRUNCATE)");
  else {
    char *text = insist_text(db, "SELECT tidemark_check('logs')");
    ck_assert_str_eq(text, "ok");
    free(text);
  }
}
