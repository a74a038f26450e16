/* Texts of statements without memory: a text that cannot be had is SQLITE_NOMEM, never NULL. In a UTF-16 database each
 * one is converted, which allocates. And statements that are kept, under hosts that finalize what they find. */
#define _GNU_SOURCE
#include "base/mem.h"
#include "base/stmt.h"
#include "oom.h"
#include "sql_db.h"
#include "store/sink_row.h"
#include "unit.h"

static sqlite3 *db;

static void begin(void) {
  oom_install();
  sqlite3_shutdown();
  ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "PRAGMA encoding = 'UTF-16'; CREATE VIRTUAL TABLE logs USING tidemark(level TEXT)");
}

START_TEST(text_or_the_error) {
  begin();
  db_exec(db, "CREATE TABLE t(x); INSERT INTO t VALUES ('caf\xc3\xa9'), (NULL)");
  bool failed = true;
  for (long n = 1; failed; n++) {
    struct tide_err err = {0};
    size_t size = 9;
    sqlite3_stmt *stmt = tide_stmt_prepare(db, &err, "SELECT x FROM t ORDER BY rowid");
    ck_assert(tide_stmt_row(stmt, &err));
    oom_fail_at(n);
    char *text = tide_stmt_copy_text(stmt, 0, &err);
    failed = oom_has_failed();
    oom_fail_at(0);
    ck_assert_int_eq(err.rc, failed ? SQLITE_NOMEM : SQLITE_OK);
    if (failed)
      ck_assert_ptr_null(text);
    else
      ck_assert_str_eq(text, "caf\xc3\xa9");
    tide_free(text);
    if (!failed) {
      ck_assert(tide_stmt_row(stmt, &err));
      ck_assert_ptr_null(tide_stmt_text(stmt, 0, &size, &err));
      ck_assert_uint_eq(size, 0);
      ck_assert(!tide_err_is_set(&err));
    }
    ck_assert_msg(failed || n > 2, "%ld: nothing was allocated", n);
    sqlite3_finalize(stmt);
  }
  db_close(db);
}
END_TEST

START_TEST(what_is_no_integer_is_not_read_as_one) {
  static const char *const values[] = {"'7'", "7.0", "x'37'"};
  begin();
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    struct tide_err err = {0};
    ck_assert_int_eq(tide_stmt_int(db, -1, &err, "SELECT %s", values[i]), -1);
    ck_assert_int_eq(err.rc, SQLITE_CORRUPT_VTAB);
  }
  struct tide_err err = {0};
  ck_assert_int_eq(tide_stmt_int(db, -1, &err, "SELECT NULL"), -1);
  ck_assert_int_eq(err.rc, SQLITE_OK);
  db_close(db);
}
END_TEST

START_TEST(sink_is_never_read_without_its_filter) {
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, target, format, filter, columns, max_delay) VALUES"
              " ('s', 'logs', 'file:///tmp', 'ndjson', 'level = ''error''', '[\"level\"]', '5 min')");
  bool failed = true;
  for (long n = 1; failed; n++) {
    struct tide_err err = {0};
    struct tide_sink sink;
    sqlite3_stmt *stmt = tide_sink_prepare(db, "main", "s", "logs", &err);
    ck_assert(!tide_err_is_set(&err));
    oom_fail_at(n);
    const bool found = tide_sink_next(stmt, &sink, &err);
    failed = oom_has_failed();
    oom_fail_at(0);
    ck_assert_int_eq(err.rc, failed ? SQLITE_NOMEM : SQLITE_OK);
    ck_assert_int_eq(found, !failed);
    if (found) {
      ck_assert_str_eq(sink.filter, "level = 'error'");
      ck_assert_str_eq(sink.target, "file:///tmp");
      ck_assert_str_eq(sink.columns, "[\"level\"]");
      ck_assert_int_eq(sink.max_delay_ms, 300000);
      tide_sink_clear(&sink);
    }
    sqlite3_finalize(stmt);
  }
  db_close(db);
}
END_TEST

START_TEST(host_finalizes_all_before_it_closes) {
  oom_install();
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(n INTEGER); INSERT INTO logs VALUES (1), (2);"
              "BEGIN; DELETE FROM logs WHERE n = 1");
  int kept = 0;
  for (sqlite3_stmt *stmt; (stmt = sqlite3_next_stmt(db, NULL)) != NULL; kept++)
    sqlite3_finalize(stmt);
  ck_assert_int_gt(kept, 0);
  db_close(db);
  db = db_open(scratch_path("db"), NULL);
  assert_text(db, "2|ok", "SELECT count(*), tidemark_check('logs') FROM logs");
  db_close(db);
}
END_TEST

/* The statement that a handle keeps is in nobody's way. */
START_TEST(kept_statement_between_transactions) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db,
          "PRAGMA journal_mode = wal; ATTACH '%q' AS two;"
          "CREATE VIRTUAL TABLE logs USING tidemark(n INTEGER); INSERT INTO logs VALUES (1);"
          "CREATE VIRTUAL TABLE two.more USING tidemark(n INTEGER); INSERT INTO more VALUES (1)",
          scratch_path("two"));
  db_exec(db, "VACUUM; INSERT INTO logs VALUES (2); VACUUM two; INSERT INTO more VALUES (2);"
              "PRAGMA wal_checkpoint = truncate; INSERT INTO logs VALUES (3); PRAGMA journal_mode = delete;"
              "INSERT INTO logs VALUES (4); DETACH two; INSERT INTO logs VALUES (5)");
  db_exec(db, "ATTACH '%q' AS two; INSERT INTO more VALUES (3)", scratch_path("two"));
  for (sqlite3_stmt *stmt; (stmt = sqlite3_next_stmt(db, NULL)) != NULL;)
    sqlite3_finalize(stmt);
  db_exec(db, "INSERT INTO logs VALUES (6); INSERT INTO more VALUES (4); ALTER TABLE logs RENAME TO renamed;"
              "INSERT INTO renamed VALUES (7); DROP TABLE more; CREATE TABLE more_tail(a, b, c, d, e);"
              "CREATE VIRTUAL TABLE logs USING tidemark(n INTEGER); INSERT INTO logs VALUES (8)");
  assert_text(db, "7|28|ok|1|ok|0",
              "SELECT count(*), sum(n), tidemark_check('renamed'), (SELECT count(*) FROM logs), tidemark_check('logs'),"
              " (SELECT count(*) FROM more_tail) FROM renamed");
  db_close(db);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {text_or_the_error,
                                what_is_no_integer_is_not_read_as_one,
                                sink_is_never_read_without_its_filter,
                                host_finalizes_all_before_it_closes,
                                kept_statement_between_transactions,
                                NULL};
  return unit_main("stmt", tests);
}
