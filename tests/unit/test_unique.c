/* unique=: which values are the same, who takes one and when it is free again, over partitions, connections, failures.
 * An ordinary table with UNIQUE says what is right where it can. */
#define _GNU_SOURCE
#include "engine/check.h"
#include "oom.h"
#include "sql_db.h"
#include "unit.h"

static sqlite3 *db;

static void begin_with(const char *options) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, id, n INTEGER, partition_by=source, unique=id%s)",
          options);
}

static void begin(void) {
  begin_with(", segment_rows=16");
}

static void check_ok(void) {
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  assert_int(db, 0,
             "SELECT count(*) FROM (SELECT id, since FROM logs WHERE id IS NOT NULL EXCEPT SELECT value, since FROM"
             " logs_unique)");
  assert_int(db, 0, "SELECT (SELECT count(*) FROM logs_unique) - (SELECT count(*) FROM logs WHERE id IS NOT NULL)");
}

static void end(void) {
  check_ok();
  db_close(db);
}

/* Rows with ids 'k1' to 'k<rows>'; how many of them were new. */
static int append(const char *source, int rows) {
  db_exec(db,
          "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d)"
          " INSERT OR IGNORE INTO logs SELECT %Q, 'k' || n, n FROM c",
          rows, source);
  return sqlite3_changes(db);
}

/* ---- which values are the same ---- */

/* Offered twice to both, in an order that mixes types. */
static const char *const values[] = {"1",
                                     "1.0",
                                     "'1'",
                                     "x'31'",
                                     "'1.0'",
                                     "NULL",
                                     "9007199254740993",
                                     "9007199254740992",
                                     "9007199254740992.0",
                                     "9223372036854775807",
                                     "9.223372036854775807e18",
                                     "0",
                                     "-0.0",
                                     "''",
                                     "x''",
                                     "'a'",
                                     "'A'",
                                     "'a '",
                                     "x'61'",
                                     "'caf\xc3\xa9'",
                                     "'cafe\xcc\x81'",
                                     "'a' || char(0) || 'b'",
                                     "'a' || char(0)",
                                     "char(0x1f600)",
                                     "1e308 * 10",
                                     "zeroblob(3)",
                                     "printf('%.*c', 5000, 'x')"};

static void offer(const char *type, const char *encoding) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db,
          "PRAGMA encoding = %Q; CREATE VIRTUAL TABLE logs USING tidemark(id %s, unique=id);"
          " CREATE TABLE ordinary(id %s UNIQUE) STRICT",
          encoding, type, type);
  const size_t count = sizeof values / sizeof *values;
  for (size_t i = 0; i < 2 * count; i++) {
    char *of_log = sqlite3_mprintf("INSERT INTO logs VALUES (%s)", values[i % count]);
    char *of_table = sqlite3_mprintf("INSERT INTO ordinary VALUES (%s)", values[i % count]);
    const int want = sqlite3_exec(db, of_table, NULL, NULL, NULL);
    const int code = sqlite3_extended_errcode(db);
    ck_assert_msg(sqlite3_exec(db, of_log, NULL, NULL, NULL) == want && sqlite3_extended_errcode(db) == code,
                  "%s column, %s: %s gives %d (%s), of the table %d", type, encoding, values[i % count],
                  sqlite3_extended_errcode(db), sqlite3_errmsg(db), code);
    sqlite3_free(of_log);
    sqlite3_free(of_table);
  }
  assert_text(db, "1",
              "SELECT (SELECT group_concat(quote(id)) FROM (SELECT id FROM logs ORDER BY since)) ="
              " (SELECT group_concat(quote(id)) FROM (SELECT id FROM ordinary ORDER BY rowid))");
  db_exec(db, "SELECT tidemark_flush('logs')");
  check_ok();
  db_close(db);
}

START_TEST(same_values_as_in_an_ordinary_table) {
  static const char *const types[] = {"ANY", "INTEGER", "REAL", "TEXT", "BLOB"};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    offer(types[i], "UTF-8");
    offer(types[i], "UTF-16le");
  }
}
END_TEST

/* ---- when a value is free again ---- */

START_TEST(deleted_values_come_again) {
  begin();
  ck_assert_int_eq(append("a", 40), 40);
  ck_assert_int_eq(append("b", 45), 5);
  db_exec(db, "DELETE FROM logs WHERE n %% 3 = 0");
  check_ok();
  ck_assert_int_eq(append("c", 45), 15);
  db_exec(db, "SELECT tidemark_flush('logs'); DELETE FROM logs WHERE n > 30; SELECT tidemark_compact('logs')");
  check_ok();
  ck_assert_int_eq(append("d", 50), 20);
  assert_int(db, 50, "SELECT count(DISTINCT id) FROM logs");
  end();
}
END_TEST

START_TEST(pruned_values_come_again) {
  begin();
  append("a", 40);
  db_exec(db, "INSERT INTO logs VALUES ('a', NULL, 41), ('b', 'k42', 42); SELECT tidemark_flush('logs')");
  db_exec(db, "INSERT INTO logs VALUES ('a', 'k43', 43); DELETE FROM logs WHERE n IN (2, 38)");
  db_exec(db, "SELECT tidemark_set('logs', 'retention_rows', 10)");
  assert_int(db, 30, "SELECT tidemark_prune('logs') -> '$.rows'");
  assert_text(db, "32,33,34,35,36,37,39,40,41,43",
              "SELECT group_concat(n) FROM (SELECT n FROM logs WHERE source = 'a' ORDER BY since)");
  check_ok();
  ck_assert_int_eq(append("c", 43), 33); /* 1 to 31, 38 and 41 */
  check_ok();
  db_exec(db, "BEGIN; SELECT tidemark_set('logs', 'retention_rows', 0), tidemark_prune('logs')");
  assert_int(db, 0, "SELECT count(*) FROM logs_unique");
  db_exec(db, "ROLLBACK");
  check_ok();
  ck_assert_int_eq(append("d", 43), 0);
  end();
}
END_TEST

START_TEST(what_is_rolled_back_takes_no_value) {
  begin();
  db_exec(db, "BEGIN");
  ck_assert_int_eq(append("a", 20), 20);
  db_exec(db, "SAVEPOINT s");
  ck_assert_int_eq(append("b", 100), 80);
  db_exec(db, "DELETE FROM logs WHERE n < 10; ROLLBACK TO s");
  ck_assert_int_eq(append("b", 30), 10);
  db_refuses(db, SQLITE_CONSTRAINT, "UNIQUE constraint failed: logs.id",
             "INSERT INTO logs VALUES ('b', 'new', 1), ('b', 'k1', 1)");
  db_exec(db, "INSERT INTO logs VALUES ('b', 'new', 2); COMMIT");
  check_ok();
  db_exec(db, "BEGIN");
  append("c", 3000);
  db_exec(db, "ROLLBACK");
  assert_int(db, 31, "SELECT count(*) FROM logs");
  end();
}
END_TEST

/* A row that is refused for its partition is refused before it takes its value. */
START_TEST(refused_row_takes_no_value) {
  begin();
  db_exec(db, "BEGIN");
  db_refuses(db, SQLITE_CONSTRAINT, "too long", "INSERT INTO logs VALUES (printf('%%.*c', 300, 'x'), 'k', 1)");
  db_exec(db, "INSERT INTO logs VALUES ('a', 'k', 1); COMMIT");
  end();
}
END_TEST

/* 20 rows of 1.5 MB are more than stays in memory. */
START_TEST(rows_that_leave_memory_midway) {
  begin_with(", autoflush=0");
  db_exec(db, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 20)"
              " INSERT OR IGNORE INTO logs SELECT 's' || (n %% 2), CAST(zeroblob(1500000 + n / 2) AS BLOB), n FROM c");
  ck_assert_int_eq(sqlite3_changes(db), 11); /* 1, and each even one */
  assert_int(db, 11, "SELECT count(*) FROM logs");
  end();
}
END_TEST

/* ---- connections ---- */

START_TEST(value_of_another_connection) {
  begin();
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  db_exec(other, "INSERT INTO logs VALUES ('a', 'k', 1)");
  db_refuses(db, SQLITE_CONSTRAINT, "UNIQUE constraint failed: logs.id", "INSERT INTO logs VALUES ('b', 'k', 2)");
  ck_assert_int_eq(sqlite3_extended_errcode(db), SQLITE_CONSTRAINT_UNIQUE);
  db_exec(other, "DELETE FROM logs");
  db_exec(db, "INSERT INTO logs VALUES ('b', 'k', 3)");
  db_close(other);
  end();
}
END_TEST

START_TEST(commit_tried_again) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', 'old', 1); PRAGMA busy_timeout = 0");
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  db_exec(other, "BEGIN; SELECT * FROM logs");
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', 'k', 2)");
  db_refuses(db, SQLITE_BUSY, "locked", "COMMIT");
  db_refuses(db, SQLITE_CONSTRAINT, "UNIQUE", "INSERT INTO logs VALUES ('b', 'k', 3)");
  db_exec(db, "INSERT INTO logs VALUES ('b', 'more', 4); DELETE FROM logs WHERE id = 'old'");
  db_refuses(db, SQLITE_BUSY, "locked", "COMMIT");
  db_exec(other, "COMMIT");
  db_exec(db, "INSERT INTO logs VALUES ('b', 'old', 5); COMMIT");
  assert_text(db, "k|2 more|4 old|5", "SELECT id, n FROM logs ORDER BY since");
  db_close(other);
  end();
}
END_TEST

/* Those that write which stay at rest; gives how many stay in all. */
static int lasting(int *ret_writers) {
  int count = 0;
  *ret_writers = 0;
  for (sqlite3_stmt *stmt = sqlite3_next_stmt(db, NULL); stmt != NULL; stmt = sqlite3_next_stmt(db, stmt)) {
    ck_assert(!sqlite3_stmt_busy(stmt));
    if (!sqlite3_stmt_readonly(stmt))
      ck_assert_str_eq(sqlite3_sql(stmt), "INSERT INTO \"main\".\"logs_tail\" VALUES(?1, ?2, ?3, ?4, ?5)");
    *ret_writers += !sqlite3_stmt_readonly(stmt);
    count++;
  }
  return count;
}

/* Of those that a transaction keeps: beside it only what looks at the tables after each commit of others. */
START_TEST(one_that_writes_lasts_beyond_the_transaction) {
  int writers;
  begin();
  append("a", 3);
  const int count = lasting(&writers);
  ck_assert_int_eq(writers, 1);
  ck_assert_int_le(count, 6);
  db_exec(db, "DELETE FROM logs WHERE id = 'k1'");
  db_exec(db, "BEGIN; DELETE FROM logs WHERE id = 'k2'; INSERT INTO logs VALUES ('a', 'x', 1); ROLLBACK");
  ck_assert_int_le(lasting(&writers), 6);
  ck_assert_int_eq(writers, 1);
  end();
}
END_TEST

START_TEST(host_finalizes_all_before_it_closes) {
  begin();
  append("a", 3);
  db_exec(db, "BEGIN; DELETE FROM logs WHERE id = 'k1'; INSERT INTO logs VALUES ('a', 'x', 1)");
  int kept = 0;
  for (sqlite3_stmt *stmt; (stmt = sqlite3_next_stmt(db, NULL)) != NULL; kept++)
    sqlite3_finalize(stmt);
  ck_assert_int_gt(kept, 1);
  db_close(db);
  db = db_open(scratch_path("db"), NULL);
  ck_assert_int_eq(append("a", 3), 0);
  end();
}
END_TEST

/* ---- names ---- */

START_TEST(rename_and_drop_that_are_rolled_back) {
  begin();
  append("a", 3);
  db_exec(db, "BEGIN; ALTER TABLE logs RENAME TO renamed; INSERT INTO renamed VALUES ('a', 'k4', 4)");
  db_refuses(db, SQLITE_CONSTRAINT, "UNIQUE constraint failed: renamed.id",
             "INSERT INTO renamed VALUES ('a', 'k4', 5)");
  db_exec(db, "ROLLBACK");
  ck_assert_int_eq(append("b", 4), 1);
  db_exec(db, "BEGIN; DROP TABLE logs");
  assert_int(db, 0, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'logs%%'");
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(id); INSERT INTO logs VALUES ('k1'), ('k1'); ROLLBACK");
  ck_assert_int_eq(append("c", 5), 1);
  end();
}
END_TEST

START_TEST(each_schema_has_its_own) {
  begin();
  append("a", 3);
  db_exec(db,
          "ATTACH %Q AS aux; CREATE VIRTUAL TABLE aux.logs USING tidemark(id, unique=id);"
          " CREATE VIRTUAL TABLE temp.others USING tidemark(id, unique=id);"
          " INSERT INTO aux.logs VALUES ('k1'); INSERT INTO others VALUES ('k1')",
          scratch_path("aux"));
  db_refuses(db, SQLITE_CONSTRAINT, "UNIQUE constraint failed: logs.id", "INSERT INTO aux.logs VALUES ('k1')");
  db_refuses(db, SQLITE_CONSTRAINT, "UNIQUE constraint failed: others.id", "INSERT INTO others VALUES ('k1')");
  assert_text(db, "ok|ok|ok",
              "SELECT tidemark_check('main.logs'), tidemark_check('aux.logs'), tidemark_check('others')");
  db_exec(db, "DROP TABLE others; DROP TABLE aux.logs; DETACH aux");
  end();
}
END_TEST

/* ---- failures ---- */

/* All of them with TIDE_TEST_LONG=1; otherwise the further on, the fewer. */
static long next_allocation(long n) {
  return getenv("TIDE_TEST_LONG") != NULL ? n + 1 : n + 1 + n / 8;
}

/* Allocations of one row's INSERT or DELETE in a transaction fail in turn: the row is not there, and the statement then
 * works, unless the transaction says that it can only be rolled back. */
static void fail_each_allocation(const char *sql, const char *want) {
  bool failed = true;
  for (long n = 1; failed; n = next_allocation(n)) {
    begin();
    sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    db_exec(db, "INSERT INTO logs VALUES ('a', 'old', 1); BEGIN; INSERT INTO logs VALUES ('a', 'first', 2)");
    oom_fail_at(n);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    failed = oom_has_failed();
    oom_fail_at(0);
    ck_assert_msg(rc == SQLITE_OK || rc == SQLITE_NOMEM, "allocation %ld: %d %s", n, rc, sqlite3_errmsg(db));
    if (rc != SQLITE_OK && sqlite3_get_autocommit(db))
      db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', 'first', 2)");
    if (rc != SQLITE_OK && (rc = sqlite3_exec(db, sql, NULL, NULL, NULL)) != SQLITE_OK) {
      ck_assert_msg(rc == SQLITE_ABORT, "allocation %ld: again: %d %s", n, rc, sqlite3_errmsg(db));
      db_exec(db, "ROLLBACK; BEGIN; INSERT INTO logs VALUES ('a', 'first', 2); %s", sql);
    }
    db_exec(db, "COMMIT");
    assert_text(db, want, "SELECT group_concat(id) FROM (SELECT id FROM logs ORDER BY since)");
    end();
    ck_assert_msg(failed || n > 5, "%ld: nothing was allocated", n);
  }
}

START_TEST(insert_without_memory) {
  oom_install();
  fail_each_allocation("INSERT INTO logs VALUES ('a', 'new', 3)", "old,first,new");
  fail_each_allocation("INSERT INTO logs VALUES ('other', 'new', 3)", "old,first,new");
}
END_TEST

START_TEST(delete_without_memory) {
  oom_install();
  fail_each_allocation("DELETE FROM logs WHERE since = 1", "first");
}
END_TEST

/* Below SQLite's statements, which roll back when memory fails: a value whose row could not be kept is never
 * committed. */
START_TEST(value_without_its_row) {
  oom_install();
  begin();
  struct tide_err err = {0};
  struct tide_conn *conn = tide_conn_create(db, &err);
  struct tide_dataset *ds = tide_dataset_acquire(conn, "main", "logs", &err);
  int without_row = 0;
  bool failed = true;
  for (long n = 1; failed; n++) {
    const struct tide_val row[] = {tide_val_text("a", 1), tide_val_int(n), tide_val_int(n)};
    int64_t since = 0;
    db_exec(db, "BEGIN IMMEDIATE");
    tide_txn_begin(ds);
    oom_fail_at(n);
    tide_txn_append(ds, row, &since, &err);
    failed = oom_has_failed();
    oom_fail_at(0);
    ck_assert_int_eq(err.rc, failed ? SQLITE_NOMEM : SQLITE_OK);
    tide_err_clear(&err);
    if (failed && !sqlite3_get_autocommit(db) && db_int(db, "SELECT count(*) FROM logs_unique") > 0) {
      without_row++;
      tide_txn_sync(ds, &err);
      ck_assert_int_eq(err.rc, SQLITE_ABORT);
      tide_err_clear(&err);
    }
    if (!sqlite3_get_autocommit(db))
      db_exec(db, "ROLLBACK");
    tide_txn_rolled_back(ds);
  }
  ck_assert_int_gt(without_row, 0);
  tide_dataset_release(ds);
  tide_conn_unref(conn);
  end();
}
END_TEST

/* A number that the index has though no row was given it is damage, never a value that is there. */
START_TEST(number_that_is_entered_already) {
  begin();
  append("a", 3);
  db_exec(db, "INSERT INTO logs_unique VALUES ('stray', 1, 4)");
  db_refuses(db, SQLITE_CORRUPT, "dataset logs: logs_unique has a row of since 4, which was never given",
             "INSERT OR IGNORE INTO logs VALUES ('a', 'new', 4)");
  assert_text(db, "logs_unique: since 4 of partition 'source=a' has an entry, but there is no such row",
              "SELECT tidemark_check('logs')");
  db_exec(db, "DELETE FROM logs_unique WHERE value = 'stray'; INSERT INTO logs VALUES ('a', 'new', 4)");
  end();
}
END_TEST

/* ---- the check ---- */

static const char *quick_check(void) {
  static char lines[1000];
  struct tide_err err = {0};
  struct tide_check_report report = {0};
  struct tide_buf text = {0};
  struct tide_conn *conn = tide_conn_create(db, &err);
  struct tide_dataset *ds = tide_dataset_acquire(conn, "main", "logs", &err);
  tide_check(ds, true, &report, &err);
  tide_check_report_put(&report, &text, &err);
  assert_ok(err);
  snprintf(lines, sizeof lines, "%.*s", (int)text.len, (const char *)text.data);
  tide_buf_clear(&text);
  tide_check_report_clear(&report);
  tide_dataset_release(ds);
  tide_conn_unref(conn);
  return lines;
}

START_TEST(quick_check_counts) {
  begin();
  append("a", 20);
  ck_assert_str_eq(quick_check(), "ok");
  db_exec(db, "DELETE FROM logs_unique WHERE value = 'k7'"); /* its row may have a NULL there */
  ck_assert_str_eq(quick_check(), "ok");
  db_exec(db, "INSERT INTO logs_unique VALUES ('k7', 1, 7), ('stray', 1, 77)");
  ck_assert_str_eq(quick_check(), "logs_unique has 21 entries, dataset logs has 20 rows");
  db_exec(db, "DELETE FROM logs_unique WHERE value = 'stray'; DROP TABLE logs;"
              "CREATE VIRTUAL TABLE logs USING tidemark(id TEXT NOT NULL, unique=id);"
              "INSERT INTO logs VALUES ('k1'), ('k2'); DELETE FROM logs_unique WHERE value = 'k1'");
  ck_assert_str_eq(quick_check(), "logs_unique has 1 entries, dataset logs has 2 rows");
  db_exec(db, "INSERT INTO logs_unique VALUES ('k1', 1, 1); DROP TABLE logs_unique");
  ck_assert_str_eq(quick_check(), "dataset logs: table logs_unique is missing");
  db_close(db);
}
END_TEST

/* The rows of a damaged segment cannot be held against the index: it is named, and nothing of the index with it. */
START_TEST(damage_elsewhere_is_not_the_indexs) {
  begin();
  append("a", 16);
  append("b", 20);
  db_exec(db, "UPDATE logs_chunk SET data = zeroblob(length(data)) WHERE id = (SELECT max(id) FROM logs_chunk)");
  ck_assert_ptr_null(strstr(db_text(db, "SELECT tidemark_check('logs')"), "logs_unique"));
  db_close(db);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {same_values_as_in_an_ordinary_table,
                                deleted_values_come_again,
                                pruned_values_come_again,
                                what_is_rolled_back_takes_no_value,
                                refused_row_takes_no_value,
                                rows_that_leave_memory_midway,
                                value_of_another_connection,
                                commit_tried_again,
                                one_that_writes_lasts_beyond_the_transaction,
                                host_finalizes_all_before_it_closes,
                                rename_and_drop_that_are_rolled_back,
                                each_schema_has_its_own,
                                insert_without_memory,
                                delete_without_memory,
                                value_without_its_row,
                                number_that_is_entered_already,
                                quick_check_counts,
                                damage_elsewhere_is_not_the_indexs,
                                NULL};
  return unit_main("unique", tests);
}
