/* A SELECT that stays open while its own connection writes, seals and rolls back. */
#include <string.h>

#include "tidemark.h"
#include "unit.h"

static sqlite3 *open_db(const char *sql) {
  sqlite3 *db = NULL;
  ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
  ck_assert_int_eq(sqlite3_tidemark_init(db, NULL, NULL), SQLITE_OK);
  ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
  return db;
}

static void exec(sqlite3 *db, const char *sql) {
  ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
  return stmt;
}

static void expect_row(sqlite3_stmt *stmt, int64_t since, const char *text) {
  const int rc = sqlite3_step(stmt);
  ck_assert_msg(rc == SQLITE_ROW, "%d: %s", rc, sqlite3_errmsg(sqlite3_db_handle(stmt)));
  ck_assert_int_eq(sqlite3_column_int64(stmt, 0), since);
  ck_assert_str_eq((const char *)sqlite3_column_text(stmt, 1), text);
}

static void expect_end(sqlite3_stmt *stmt) {
  const int rc = sqlite3_step(stmt);
  ck_assert_msg(rc == SQLITE_DONE, "%d: %s", rc, sqlite3_errmsg(sqlite3_db_handle(stmt)));
  sqlite3_finalize(stmt);
}

static const char two_partitions[] = "CREATE VIRTUAL TABLE d USING tidemark(p TEXT, v TEXT, partition_by=p);"
                                     "INSERT INTO d VALUES('a', 'one'), ('b', 'two'), ('a', 'three'), ('b', 'four')";

START_TEST(rows_that_come_later_are_not_this_reads) {
  sqlite3 *db = open_db(two_partitions);
  sqlite3_stmt *read = prepare(db, "SELECT since, v FROM d ORDER BY since");
  expect_row(read, 1, "one");
  exec(db, "INSERT INTO d VALUES('a', 'five'); SELECT tidemark_flush('d'); INSERT INTO d VALUES('b', 'six')");
  expect_row(read, 2, "two");
  expect_row(read, 3, "three");
  expect_row(read, 4, "four");
  expect_end(read);
  sqlite3_close(db);
}
END_TEST

START_TEST(a_seal_moves_no_row_away) {
  static const char *const orders[] = {"SELECT since, v FROM d WHERE p = 'a'",
                                       "SELECT since, v FROM d WHERE p = 'a' ORDER BY since"};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    sqlite3 *db = open_db(two_partitions);
    exec(db, "INSERT INTO d VALUES('a', 'five')");
    sqlite3_stmt *read = prepare(db, orders[i]);
    expect_row(read, 1, "one");
    exec(db, "SELECT tidemark_flush('d')");
    expect_row(read, 3, "three");
    expect_row(read, 5, "five");
    expect_end(read);
    sqlite3_close(db);
  }
}
END_TEST

/* Both have segments at hand that the ROLLBACK takes: a merge has rows of each partition waiting, not yet decoded. */
START_TEST(a_rollback_of_a_flush_leaves_every_row) {
  static const char *const orders[] = {"", "WHERE +p > ''"};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    char sql[100];
    sqlite3 *db = open_db(two_partitions);
    exec(db, "BEGIN; SELECT tidemark_flush('d')");
    sqlite3_snprintf(sizeof sql, sql, "SELECT since, v FROM d %s ORDER BY since", orders[i]);
    sqlite3_stmt *read = prepare(db, sql);
    expect_row(read, 1, "one");
    exec(db, "ROLLBACK");
    expect_row(read, 2, "two");
    expect_row(read, 3, "three");
    expect_row(read, 4, "four");
    expect_end(read);
    sqlite3_close(db);
  }
}
END_TEST

START_TEST(a_rollback_of_a_flush_leaves_an_unordered_read_every_row) {
  sqlite3 *db = open_db(
      "CREATE VIRTUAL TABLE d USING tidemark(v TEXT, segment_rows=16, autoflush=0);"
      "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT 40) INSERT INTO d SELECT 'v' || i FROM n;"
      "BEGIN; SELECT tidemark_flush('d')");
  sqlite3_stmt *read = prepare(db, "SELECT since, v FROM d");
  expect_row(read, 1, "v1");
  exec(db, "ROLLBACK");
  for (int i = 2; i <= 40; i++) {
    char text[8];
    sqlite3_snprintf(sizeof text, text, "v%d", i);
    expect_row(read, i, text);
  }
  expect_end(read);
  sqlite3_close(db);
}
END_TEST

/* Downwards the tail comes first: what of it was read is not read again in the segment that it became. */
START_TEST(a_seal_amid_a_read_downwards_repeats_no_row) {
  static const char *const orders[] = {"WHERE p = 'a'", ""};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    char sql[100];
    sqlite3 *db = open_db(two_partitions);
    exec(db, "SELECT tidemark_flush('d'); INSERT INTO d VALUES('a', 'five'), ('a', 'six')");
    sqlite3_snprintf(sizeof sql, sql, "SELECT since, v FROM d %s ORDER BY since DESC", orders[i]);
    sqlite3_stmt *read = prepare(db, sql);
    expect_row(read, 6, "six");
    exec(db, "SELECT tidemark_flush('d'); INSERT INTO d VALUES('a', 'seven')");
    expect_row(read, 5, "five");
    if (i == 1)
      expect_row(read, 4, "four");
    expect_row(read, 3, "three");
    if (i == 1)
      expect_row(read, 2, "two");
    expect_row(read, 1, "one");
    expect_end(read);
    sqlite3_close(db);
  }
}
END_TEST

START_TEST(a_rollback_of_a_flush_leaves_every_row_downwards) {
  sqlite3 *db = open_db(two_partitions);
  exec(db, "BEGIN; SELECT tidemark_flush('d')");
  sqlite3_stmt *read = prepare(db, "SELECT since, v FROM d ORDER BY since DESC");
  expect_row(read, 4, "four");
  exec(db, "ROLLBACK");
  expect_row(read, 3, "three");
  expect_row(read, 2, "two");
  expect_row(read, 1, "one");
  expect_end(read);
  sqlite3_close(db);
}
END_TEST

static void expect_text(sqlite3_stmt *stmt, const char *text) {
  const int rc = sqlite3_step(stmt);
  ck_assert_msg(rc == SQLITE_ROW, "%d: %s", rc, sqlite3_errmsg(sqlite3_db_handle(stmt)));
  ck_assert_str_eq((const char *)sqlite3_column_text(stmt, 0), text);
}

/* A read that asks for no row's number still knows where it is when rows move: sealed and rolled back by a transaction
 * that began after it. */
START_TEST(a_read_without_numbers_finds_its_place_again) {
  static const char *const orders[] = {"", " ORDER BY since", " ORDER BY since DESC"};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    char sql[100], text[8];
    sqlite3 *db = open_db(
        "CREATE VIRTUAL TABLE d USING tidemark(v TEXT, segment_rows=16, autoflush=0);"
        "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT 40) INSERT INTO d SELECT 'v' || i "
        "FROM n; SELECT tidemark_flush('d'); INSERT INTO d VALUES('v41'), ('v42')");
    sqlite3_snprintf(sizeof sql, sql, "SELECT v FROM d%s", orders[i]);
    sqlite3_stmt *read = prepare(db, sql);
    for (int row = 1; row <= 42; row++) {
      if (row == 5)
        exec(db, "BEGIN; INSERT INTO d VALUES('later'); SELECT tidemark_flush('d')");
      if (row == 9)
        exec(db, "ROLLBACK; SELECT tidemark_flush('d')");
      sqlite3_snprintf(sizeof text, text, "v%d", i == 2 ? 43 - row : row);
      expect_text(read, text);
    }
    expect_end(read);
    sqlite3_close(db);
  }
}
END_TEST

/* The partition's id is given again, to another one. */
START_TEST(a_partition_that_was_rolled_back_ends_its_read) {
  sqlite3 *db = open_db("CREATE VIRTUAL TABLE d USING tidemark(p TEXT, v TEXT, partition_by=p);"
                        "BEGIN; INSERT INTO d VALUES('a', 'old'); SAVEPOINT s;"
                        "INSERT INTO d VALUES('x', 'one'); SAVEPOINT t; INSERT INTO d VALUES('x', 'two')");
  sqlite3_stmt *read = prepare(db, "SELECT since, v FROM d WHERE p > 'b'");
  expect_row(read, 2, "one");
  exec(db, "ROLLBACK TO s; INSERT INTO d VALUES('y', 'other'), ('y', 'another')");
  expect_end(read);
  sqlite3_close(db);
}
END_TEST

START_TEST(changes_stays_that_of_the_statement) {
  sqlite3 *db = open_db("CREATE VIRTUAL TABLE d USING tidemark(p INTEGER NOT NULL, segment_rows=16, partition_by=p)");
  exec(db, "BEGIN; INSERT INTO d VALUES(1), (2), (3)");
  exec(db, "SELECT count(*) FROM d; SAVEPOINT s; RELEASE s");
  ck_assert_int_eq(sqlite3_changes(db), 3);
  exec(db, "COMMIT");
  ck_assert_int_eq(sqlite3_changes(db), 3);
  ck_assert_int_eq(sqlite3_last_insert_rowid(db), 3);
  exec(db, "BEGIN; WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT 40) INSERT INTO d SELECT 1 "
           "FROM n; COMMIT");
  ck_assert_int_eq(sqlite3_changes(db), 40);
  ck_assert_int_eq(sqlite3_last_insert_rowid(db), 43);
  exec(db, "BEGIN; DELETE FROM d WHERE since IN (1, 2, 3, 4, 5, 99); COMMIT");
  ck_assert_int_eq(sqlite3_changes(db), 5);
  exec(db, "BEGIN; INSERT INTO d VALUES(1); INSERT OR IGNORE INTO d VALUES(NULL); SELECT count(*) FROM d");
  ck_assert_int_eq(sqlite3_changes(db), 0);
  exec(db, "COMMIT");
  ck_assert_int_eq(sqlite3_changes(db), 0);
  sqlite3_close(db);
}
END_TEST

/* Two batches of the tail are deleted when the third is found damaged, and are in no segment then. */
START_TEST(a_seal_that_broke_off_ends_no_read) {
  static const char *const reads[] = {"SELECT since, v FROM d WHERE since <= 4 AND p = 'a'",
                                      "SELECT since, v FROM d WHERE since <= 4 ORDER BY since"};
  for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
    sqlite3 *db = open_db("CREATE VIRTUAL TABLE d USING tidemark(p TEXT, v TEXT, partition_by=p, segment_rows=16);"
                          "INSERT INTO d VALUES('a', 'one'); INSERT INTO d VALUES('b', 'two');"
                          "INSERT INTO d VALUES('a', 'three'); INSERT INTO d VALUES('b', 'four');"
                          "INSERT INTO d VALUES('a', 'five');"
                          "UPDATE d_tail SET data = zeroblob(length(data)) WHERE last_since = 5");
    exec(db, "BEGIN");
    sqlite3_stmt *read = prepare(db, reads[i]);
    expect_row(read, 1, "one");
    int rc = SQLITE_OK;
    for (int n = 0; n < 40 && rc == SQLITE_OK; n++)
      rc = sqlite3_exec(db, "INSERT INTO d VALUES('a', 'more')", NULL, NULL, NULL);
    ck_assert_int_eq(rc, SQLITE_CORRUPT);
    ck_assert_int_eq(sqlite3_step(read), SQLITE_ABORT);
    ck_assert_str_eq(sqlite3_errmsg(db), "an earlier write to dataset d failed midway: roll the transaction back");
    sqlite3_finalize(read);
    exec(db, "ROLLBACK; DELETE FROM d WHERE since = 1");
    sqlite3_close(db);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {rows_that_come_later_are_not_this_reads,
                                a_seal_moves_no_row_away,
                                a_rollback_of_a_flush_leaves_every_row,
                                a_rollback_of_a_flush_leaves_an_unordered_read_every_row,
                                a_seal_amid_a_read_downwards_repeats_no_row,
                                a_rollback_of_a_flush_leaves_every_row_downwards,
                                a_read_without_numbers_finds_its_place_again,
                                a_partition_that_was_rolled_back_ends_its_read,
                                changes_stays_that_of_the_statement,
                                a_seal_that_broke_off_ends_no_read,
                                NULL};
  return unit_main("open_reads", tests);
}
