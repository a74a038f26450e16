/* Kills a process that appends, seals and compacts, at every change of the database's files. What was committed must
 * be there, whole and under its numbers; what was not must not be; and no number that anybody saw is given again. */
#define _GNU_SOURCE
#include "crash.h"
#include "unit.h"

static const char *journal, *synchronous;
static char work[256];

enum { TRANSACTIONS = 6, COLUMN_AFTER = 3 }; /* then a column is added */

static void make_database(void) {
  static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
  for (int i = 0; i < 4; i++) {
    char path[300];
    snprintf(path, sizeof path, "%s%s", work, suffixes[i]);
    unlink(path);
  }
  sqlite3 *db = db_open(work, NULL);
  db_exec(db, "PRAGMA journal_mode = %s", journal);
  db_exec(db,
          "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n INTEGER, body TEXT, id TEXT, partition_by=source,"
          " unique=id, segment_rows=16)");
  db_close(db);
}

/* Transaction t has rows n = 1 to size(t) that stay, and others, with the same ids each time, that are rolled back or
 * deleted within it. Every third one seals. */
static int size_of(int t) {
  return 5 + 9 * (t % 3);
}

static void append(sqlite3 *db, const char *tag, int rows) {
  db_exec(
      db,
      "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d)"
      " INSERT OR IGNORE INTO logs(source, n, body, id) SELECT iif(n %% 4, 'web', 'db'), n, '%s', '%s ' || n FROM c",
      rows, tag, tag);
}

/* A producer that does not know what has arrived sends all of it again: rows there are then, each once. */
static void append_again(sqlite3 *db) {
  int64_t rows = 0;
  for (int t = 1; t <= TRANSACTIONS; t++) {
    char tag[16];
    snprintf(tag, sizeof tag, "t%d", t);
    append(db, tag, size_of(t));
    rows += size_of(t);
  }
  assert_int(db, rows, "SELECT count(*) FROM logs");
  assert_int(db, rows, "SELECT count(DISTINCT id) FROM logs");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
}

static void append_transactions(void) {
  sqlite3 *db = db_open(work, "shim");
  db_exec(db, "PRAGMA synchronous = %s; PRAGMA wal_autocheckpoint = 8", synchronous);
  for (int t = 1; t <= TRANSACTIONS; t++) {
    char tag[16];
    snprintf(tag, sizeof tag, "t%d", t);
    db_exec(db, "BEGIN");
    append(db, "deleted", 3);
    db_exec(db, "SAVEPOINT a");
    append(db, "rolled back", 20);
    db_exec(db, "ROLLBACK TO a; RELEASE a; DELETE FROM logs WHERE body = 'deleted'");
    append(db, tag, size_of(t));
    const int64_t last = sqlite3_last_insert_rowid(db);
    db_exec(db, "COMMIT");
    crash.shared->commits = t;
    crash.shared->since = last;
    db_exec(db, "BEGIN");
    append(db, "never committed", t % 2 ? 30 : 2);
    db_exec(db, "ROLLBACK");
    if (t % 2 == 0)
      db_exec(db, "SELECT tidemark_flush('logs')");
    if (t % 2 == 0 || t == TRANSACTIONS - 1)
      db_exec(db, "SELECT tidemark_compact('logs')");
    if (t == COLUMN_AFTER)
      db_exec(db, "SELECT tidemark_add_column('logs', 'x TEXT DEFAULT ''then''')");
  }
  db_close(db);
}

/* Transactions 1 to the result are there, each whole; the log has nothing else. */
static int whole_transactions(sqlite3 *db) {
  int found = 0;
  int64_t rows = 0;
  for (int t = 1; t <= TRANSACTIONS; t++) {
    const int64_t count = db_int(db, "SELECT count(*) FROM logs WHERE body = 't%d'", t);
    ck_assert_msg(count == 0 || count == size_of(t), "%d rows of transaction %d", (int)count, t);
    ck_assert_msg(count == 0 || found == t - 1, "transaction %d is there and %d is not", t, t - 1);
    if (count > 0)
      found = t;
    rows += count;
  }
  assert_int(db, rows, "SELECT count(*) FROM logs");
  return found;
}

/* The column is there as a whole or not at all, and not without what was committed before it. */
static void check_column(sqlite3 *db, int found) {
  const bool there = db_int(db, "SELECT count(*) FROM pragma_table_info('logs') WHERE name = 'x'") == 1;
  ck_assert_msg(there ? found >= COLUMN_AFTER : found <= COLUMN_AFTER, "transactions 1 to %d, and %s column", found,
                there ? "a" : "no");
  if (there)
    assert_int(db, 0, "SELECT count(*) FROM logs WHERE x IS NOT iif(body > 't%d', NULL, 'then')", COLUMN_AFTER);
}

static void check(enum crash_how how) {
  sqlite3 *db = db_open(work, NULL);
  const bool durable = how == CRASH_KILL || (strcmp(journal, "wal") == 0 && strcmp(synchronous, "full") == 0);
  assert_text(db, "ok", "PRAGMA integrity_check");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  const int found = whole_transactions(db);
  ck_assert_msg(found == crash.shared->commits || found == crash.shared->commits + 1 ||
                    (!durable && found < crash.shared->commits),
                "%d transactions are there, %d had committed", found, crash.shared->commits);
  check_column(db, found);
  assert_int(db, 0,
             "SELECT count(*) FROM (SELECT n, lag(n, 1, 0) OVER (PARTITION BY body ORDER BY since) AS before FROM logs)"
             " WHERE n <> before + 1");
  assert_int(db, 0,
             "SELECT count(*) FROM (SELECT body, lag(body, 1, '') OVER (ORDER BY since) AS before FROM logs)"
             " WHERE body < before");
  assert_text(db, "0|0", "SELECT rows - (SELECT count(*) FROM logs), written - deleted - rows FROM tidemark_dataset");
  const int64_t last = db_int(db, "SELECT coalesce(max(since), 0) FROM logs");
  db_exec(db, "BEGIN");
  append_again(db);
  db_exec(db, "ROLLBACK; DELETE FROM logs");
  append(db, "after", 1);
  ck_assert_int_gt(sqlite3_last_insert_rowid(db), last);
  if (durable)
    ck_assert_int_gt(sqlite3_last_insert_rowid(db), crash.shared->since);
  db_exec(db, "SELECT tidemark_flush('logs')");
  assert_text(db, "after", "SELECT body FROM logs");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
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
  crash_everywhere(make_database, append_transactions, check, stride);
}

START_TEST(wal_normal) {
  crash_in("wal", "normal", 19);
}
END_TEST

START_TEST(wal_full) {
  crash_in("wal", "full", 19);
}
END_TEST

START_TEST(delete_normal) {
  crash_in("delete", "normal", 19);
}
END_TEST

START_TEST(delete_full) {
  crash_in("delete", "full", 19);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {wal_normal, wal_full, delete_normal, delete_full, NULL};
  return unit_main("crash append", tests);
}
