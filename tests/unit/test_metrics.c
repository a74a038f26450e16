/* The figures of tidemark_metrics that depend on the clock, and what of damage and of transactions reaches its reader;
 * tests/metrics holds the others against SQL, and has them parsed. */
#define _GNU_SOURCE
#include "export_db.h"

/* The value of a sample: what stands behind "name{...}" with those labels behind schema and dataset; "-" for none. */
static const char *sample(const char *name, const char *labels) {
  static char value[64];
  char start[200];
  snprintf(start, sizeof start, "\n%s{schema=\"main\",dataset=\"logs\"%s} ", name, labels);
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT tidemark_metrics()", -1, &stmt, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  const char *at = strstr((const char *)sqlite3_column_text(stmt, 0), start);
  snprintf(value, sizeof value, "%.*s", at != NULL ? (int)strcspn(at + strlen(start), "\n") : 1,
           at != NULL ? at + strlen(start) : "-");
  sqlite3_finalize(stmt);
  return value;
}

static const char *of_sink(const char *name) {
  char full[100];
  snprintf(full, sizeof full, "tidemark_sink_%s", name);
  return sample(full, ",sink=\"s\"");
}

START_TEST(times) {
  begin();
  ck_assert_str_eq(of_sink("lag_seconds"), "0.000");
  ck_assert_str_eq(of_sink("last_commit_timestamp_seconds"), "-");
  db_exec(db, "INSERT INTO logs VALUES ('a', 'one')");
  shim.now_ms = T0 + 60000;
  db_exec(db, "INSERT INTO logs VALUES ('b', 'two')");
  shim.now_ms = T0 + 72345;
  ck_assert_str_eq(of_sink("lag_seconds"), "72.345");
  shim.now_ms = T0 - 1000; /* set back */
  ck_assert_str_eq(of_sink("lag_seconds"), "0.000");
  shim.now_ms = T0 + 100001;
  ck_assert_str_eq(tick("rows"), "2");
  ck_assert_str_eq(of_sink("lag_seconds"), "0.000");
  ck_assert_str_eq(of_sink("last_commit_timestamp_seconds"), "1767225700.001");
  end();
}
END_TEST

/* A folder that is away: the place waits a second, and so does its batch. */
START_TEST(next_try) {
  begin();
  ck_assert_int_eq(rmdir(folder), 0);
  db_exec(db, "INSERT INTO logs VALUES ('a', 'one')");
  ck_assert_str_eq(tick("failed"), "1");
  ck_assert_str_eq(of_sink("next_try_timestamp_seconds"), "1767225601.000");
  ck_assert_str_eq(of_sink("failing_batches"), "1");
  ck_assert_int_eq(mkdir(folder, 0755), 0);
  shim.now_ms = T0 + 1000;
  ck_assert_str_eq(tick("rows"), "1");
  ck_assert_str_eq(of_sink("next_try_timestamp_seconds"), "-");
  ck_assert_str_eq(of_sink("failing_batches"), "0");
  end();
}
END_TEST

/* What the place of before was to wait for is nothing to the present one. */
START_TEST(next_try_of_a_place_that_was_left) {
  begin();
  ck_assert_int_eq(rmdir(folder), 0);
  db_exec(db, "INSERT INTO logs VALUES ('a', 'one')");
  ck_assert_str_eq(tick("failed"), "1");
  ck_assert_str_eq(of_sink("next_try_timestamp_seconds"), "1767225601.000");
  const char *other = scratch_path("other");
  ck_assert_int_eq(mkdir(other, 0755), 0);
  db_exec(db, "DELETE FROM tidemark_batch; UPDATE tidemark_sink SET target = 'file://%s'", other);
  ck_assert_str_eq(of_sink("next_try_timestamp_seconds"), "-");
  end();
}
END_TEST

/* One that this Tidemark is too old for keeps nobody from seeing the others. */
START_TEST(newer_format) {
  begin();
  db_exec(db, "CREATE VIRTUAL TABLE newer USING tidemark(body TEXT);"
              "UPDATE newer_config SET value = 99 WHERE key = 'format'; INSERT INTO logs VALUES ('a', 'one')");
  sqlite3 *again = db_open(scratch_path("db"), NULL);
  sqlite3 *first = db;
  db = again;
  ck_assert_str_eq(sample("tidemark_dataset_rows", ""), "1");
  ck_assert_str_eq(sample("tidemark_dataset_readable", ""), "1");
  ck_assert_int_eq(db_int(db, "SELECT tidemark_metrics() LIKE '%%readable{schema=\"main\",dataset=\"newer\"} 0%%'"), 1);
  db = first;
  db_close(again);
  end();
}
END_TEST

START_TEST(own_transaction_is_counted) {
  begin();
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', 'one'), ('b', 'two')");
  ck_assert_str_eq(sample("tidemark_dataset_rows", ""), "2");
  ck_assert_str_eq(of_sink("lag_rows"), "2");
  db_exec(db, "ROLLBACK");
  ck_assert_str_eq(sample("tidemark_dataset_rows", ""), "0");
  end();
}
END_TEST

/* What the sinks' tables have of a dataset is damaged along with it. */
START_TEST(damaged_log) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', 'one')");
  db_exec(db, "SELECT tidemark_export('s')");
  db_exec(db, "PRAGMA writable_schema = on; PRAGMA ignore_check_constraints = on;"
              "DROP TRIGGER tidemark_export_log_update; UPDATE tidemark_export_log SET bytes = -9");
  ck_assert_str_eq(sample("tidemark_dataset_readable", ""), "0");
  ck_assert_str_eq(sample("tidemark_dataset_rows", ""), "-");
  ck_assert_str_eq(sample("tidemark_dataset_error_info", ",error=\"tidemark_export_log: bytes adds up to -9\""), "1");
  end();
}
END_TEST

/* A sum passes over a text, and a counter that falls would look like a new log. */
START_TEST(text_in_the_log) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', 'one'); SELECT tidemark_export('s');"
              "PRAGMA writable_schema = on; UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')')"
              " WHERE name = 'tidemark_export_log'; DROP TRIGGER tidemark_export_log_update");
  db_close(db);
  db = db_open(scratch_path("db"), NULL);
  ck_assert_str_eq(sample("tidemark_dataset_readable", ""), "1");
  db_exec(db, "UPDATE tidemark_export_log SET rows = 'many'");
  ck_assert_str_eq(sample("tidemark_dataset_readable", ""), "0");
  ck_assert_str_eq(
      sample("tidemark_dataset_error_info", ",error=\"tidemark_export_log: rows with a number that is none: 1\""), "1");
  end();
}
END_TEST

/* Anything but damage ends the call. */
START_TEST(locked_is_an_error) {
  begin();
  db_exec(db, "PRAGMA journal_mode = delete");
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  db_exec(other, "PRAGMA locking_mode = exclusive; BEGIN EXCLUSIVE");
  sqlite3_busy_timeout(db, 0);
  ck_assert_int_eq(sqlite3_exec(db, "SELECT tidemark_metrics()", NULL, NULL, NULL), SQLITE_BUSY);
  db_close(other);
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {times,
                                next_try,
                                next_try_of_a_place_that_was_left,
                                newer_format,
                                own_transaction_is_counted,
                                damaged_log,
                                text_in_the_log,
                                locked_is_an_error,
                                NULL};
  return unit_main("metrics", tests);
}
