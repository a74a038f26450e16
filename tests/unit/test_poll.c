/* A reader that asks one partition for what is new, again and again with a prepared statement: what it remembers of the
 * partition is never taken for what the file holds, and when there is nothing new it asks the tables nothing. */
#define _GNU_SOURCE
#include "sql_db.h"
#include "unit.h"

static sqlite3 *db;
static sqlite3_stmt *poll;

static void begin(void) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "PRAGMA journal_mode = wal; CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT,"
              " partition_by=source, autoflush=0);"
              "INSERT INTO logs VALUES ('a', 'one'), ('b', 'two'), ('a', 'three'), ('b', 'four');"
              "SELECT tidemark_flush('logs')");
  static const char sql[] =
      "SELECT group_concat(body) FROM (SELECT body FROM logs WHERE source = ?1 AND since > ?2 ORDER BY since)";
  ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &poll, NULL), SQLITE_OK);
}

static void end(void) {
  sqlite3_finalize(poll);
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  db_close(db);
}

static void expect(const char *rows, const char *source, int64_t since) {
  sqlite3_bind_text(poll, 1, source, -1, SQLITE_STATIC);
  sqlite3_bind_int64(poll, 2, since);
  ck_assert_msg(sqlite3_step(poll) == SQLITE_ROW, "%s", sqlite3_errmsg(db));
  const char *got = (const char *)sqlite3_column_text(poll, 0);
  ck_assert_str_eq(got != NULL ? got : "", rows);
  ck_assert_int_eq(sqlite3_reset(poll), SQLITE_OK);
}

static int count_select(void *count, int action, const char *a, const char *b, const char *c, const char *d) {
  (void)a, (void)b, (void)c, (void)d;
  *(int *)count += action == SQLITE_SELECT;
  return SQLITE_OK;
}

START_TEST(nothing_new_compiles_no_statement) {
  int compiled = 0;
  begin();
  sqlite3_set_authorizer(db, count_select, &compiled);
  expect("", "a", 3);
  ck_assert_int_gt(compiled, 0); /* the poll itself, and what looks the partition up */
  compiled = 0;
  expect("", "a", 3);
  ck_assert_int_eq(compiled, 0);
  expect("three", "a", 2);
  ck_assert_int_gt(compiled, 0);
  end();
}
END_TEST

START_TEST(rows_that_come_are_found) {
  begin();
  expect("", "a", 4);
  db_exec(db, "INSERT INTO logs VALUES ('a', 'five'), ('b', 'six')");
  expect("five", "a", 4);
  expect("", "a", 5);
  db_exec(db, "SELECT tidemark_flush('logs')");
  expect("five", "a", 4);
  expect("six", "b", 4);
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', 'seven')");
  expect("seven", "a", 6);
  db_exec(db, "SELECT tidemark_flush('logs')");
  expect("seven", "a", 6);
  db_exec(db, "COMMIT");
  expect("seven", "a", 6);
  end();
}
END_TEST

START_TEST(rows_of_another_connection_are_found) {
  begin();
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  expect("", "a", 4);
  expect("", "c", 4);
  db_exec(other, "INSERT INTO logs VALUES ('a', 'five'), ('c', 'six'); SELECT tidemark_flush('logs')");
  expect("five", "a", 4);
  expect("six", "c", 4);
  db_exec(other, "SELECT tidemark_compact('logs'); DELETE FROM logs WHERE since = 3;"
                 "SELECT tidemark_set('logs', 'retention_rows', 1); SELECT tidemark_prune('logs')");
  expect("five", "a", 0);
  db_close(other);
  end();
}
END_TEST

/* The partition of the first poll goes with the ROLLBACK, and its id is given to another. */
START_TEST(a_partition_that_was_rolled_back_is_forgotten) {
  begin();
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('x', 'five'); SELECT tidemark_flush('logs')");
  expect("five", "x", 4);
  db_exec(db, "ROLLBACK; INSERT INTO logs VALUES ('y', 'other'); SELECT tidemark_flush('logs')");
  expect("", "x", 0);
  expect("other", "y", 0);
  db_exec(db, "SAVEPOINT s; INSERT INTO logs VALUES ('z', 'six'); SAVEPOINT t; SELECT tidemark_flush('logs')");
  expect("six", "z", 0);
  db_exec(db, "ROLLBACK TO s");
  expect("", "z", 0);
  db_exec(db, "RELEASE s");
  end();
}
END_TEST

START_TEST(more_partitions_than_are_remembered) {
  begin();
  db_exec(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 600)"
              " INSERT INTO logs SELECT 'p' || i, 'row ' || i FROM c; SELECT tidemark_flush('logs')");
  for (int round = 0; round < 2; round++) {
    for (int i = 1; i <= 600; i += 7) {
      char source[8], body[12];
      snprintf(source, sizeof source, "p%d", i);
      snprintf(body, sizeof body, "row %d", i);
      expect(body, source, 0);
      expect("", source, 4 + i);
    }
  }
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {nothing_new_compiles_no_statement,    rows_that_come_are_found,
                                rows_of_another_connection_are_found, a_partition_that_was_rolled_back_is_forgotten,
                                more_partitions_than_are_remembered,  NULL};
  return unit_main("poll", tests);
}
