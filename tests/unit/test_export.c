/* tidemark_export: which rows go into which batch, what a file holds, and what a target that fails leaves. */
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>

#include "export_db.h"

static void write_file(const char *path, const char *content) {
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs(content, file);
  fclose(file);
}

static const char *batches(void) {
  return db_text(db, "SELECT since || '-' || until || ':' || rows FROM tidemark_export_log ORDER BY partition, id");
}

/* ---- which rows ---- */

START_TEST(only_active_sinks_tick) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('web', 'one')");
  static const char *const states[] = {"paused", "disabled", "blocked", "diverged"};
  for (int i = 0; i < 4; i++) {
    db_exec(db, "UPDATE tidemark_sink SET state = '%s'", states[i]);
    ck_assert_str_eq(tick("batches"), "0");
    assert_int(db, 0, "SELECT tidemark_export() ->> 'batches'");
  }
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
  db_exec(db, "UPDATE tidemark_sink SET state = 'active'");
  ck_assert_str_eq(tick("batches"), "1");
  end();
}
END_TEST

static int steps_left;

static int count_down(void *context) {
  (void)context;
  return steps_left-- <= 0;
}

/* What ends a call is asked while a filter runs, too: what the host counts grows with what the filter does. */
START_TEST(filter_ends_with_its_call) {
  static char dear[20000] = "length(body) >= 0";
  for (size_t i = 0, at = strlen(dear); i < 300; i++)
    at += (size_t)snprintf(dear + at, sizeof dear - at, " AND length(body) >= 0");
  begin();
  db_exec(db, "UPDATE tidemark_sink SET filter = 'length(body) >= 0'");
  append_many(2000, 1);
  steps_left = INT_MAX;
  sqlite3_progress_handler(db, 1, count_down, NULL);
  ck_assert_str_eq(tick("rows"), "2000");
  const int cheap = INT_MAX - steps_left;
  db_exec(db, "UPDATE tidemark_sink SET filter = '%s'", dear);
  append_many(2000, 1);
  steps_left = 2 * cheap;
  ck_assert_int_eq(sqlite3_exec(db, "SELECT tidemark_export('s')", NULL, NULL, NULL), SQLITE_INTERRUPT);
  sqlite3_progress_handler(db, 0, NULL, NULL);
  ck_assert_str_eq(tick("rows"), "2000");
  end();
}
END_TEST

START_TEST(state_of_an_open_batch_holds_it_too) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('web', 'one')");
  rmdir(folder);
  ck_assert_str_eq(tick("failed"), "1");
  mkdir(folder, 0755);
  db_exec(db, "UPDATE tidemark_sink SET state = 'paused'");
  assert_int(db, 0, "SELECT tidemark_export('s', 'now') ->> 'batches'");
  db_exec(db, "UPDATE tidemark_sink SET state = 'active'");
  assert_int(db, 1, "SELECT tidemark_export('s', 'now') ->> 'batches'");
  end();
}
END_TEST

START_TEST(max_rows_bounds_a_batch) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET max_rows = 4");
  append_many(6, 1);
  db_exec(db, "DELETE FROM logs WHERE since IN (2, 3); SELECT tidemark_flush('logs')");
  append_many(4, 1);
  ck_assert_str_eq(tick("batches"), "2");
  ck_assert_str_eq(batches(), "0-6:4 6-10:4");
  check_archive();
  end();
}
END_TEST

/* Six rows; `trace` sees every statement that the ticks run, and is given the other connection, which comes back. */
static sqlite3 *begin_traced(int (*trace)(unsigned, void *, void *, void *)) {
  begin();
  db_exec(db, "PRAGMA journal_mode = wal");
  append_many(6, 1);
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  sqlite3_trace_v2(db, SQLITE_TRACE_STMT, trace, other);
  return other;
}

/* Another connection deletes row 3 when the tick has chosen its rows and is about to claim them. */
static int delete_before_the_claim(unsigned type, void *other, void *stmt, void *text) {
  (void)type;
  (void)stmt;
  static bool done;
  if (!done && strcmp(text, "-- BEGIN IMMEDIATE") == 0) { /* as SQLite writes what a statement runs in a statement */
    done = true;
    db_exec(other, "DELETE FROM logs WHERE since = 3");
  }
  return 0;
}

START_TEST(rows_deleted_before_the_claim_are_not_counted) {
  sqlite3 *other = begin_traced(delete_before_the_claim);
  ck_assert_str_eq(tick("rows"), "5");
  sqlite3_trace_v2(db, 0, NULL, NULL);
  ck_assert_str_eq(batches(), "0-6:5");
  check_archive();
  db_close(other);
  end();
}
END_TEST

/* Another connection changes the schema when the tick is about to begin its claim, and the tick is interrupted in it. */
static int interrupt_after_a_change(unsigned type, void *other, void *stmt, void *text) {
  (void)type;
  (void)stmt;
  static bool changed;
  if (changed && strncmp(text, "-- SELECT", 9) == 0)
    sqlite3_interrupt(db); /* what only reads is not rolled back by that itself */
  if (!changed && strcmp(text, "-- BEGIN IMMEDIATE") == 0) {
    changed = true;
    db_exec(other, "CREATE TABLE elsewhere(x)");
  }
  return 0;
}

START_TEST(interrupted_claim_leaves_no_transaction) {
  sqlite3 *other = begin_traced(interrupt_after_a_change);
  ck_assert_int_eq(sqlite3_exec(db, "SELECT tidemark_export()", NULL, NULL, NULL), SQLITE_INTERRUPT);
  sqlite3_trace_v2(db, 0, NULL, NULL);
  ck_assert_int_eq(sqlite3_get_autocommit(db), 1);
  ck_assert_int_eq(sqlite3_txn_state(db, NULL), SQLITE_TXN_NONE);
  assert_int(other, 1, "SELECT count(*) FROM sqlite_schema WHERE name = 'elsewhere'");
  ck_assert_str_eq(tick("rows"), "6");
  db_close(other);
  end();
}
END_TEST

/* A line is {"body":"xxx"} and its end: 12 bytes and the text. */
START_TEST(max_bytes_bounds_a_batch_to_the_byte) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET columns = '[\"body\"]', max_bytes = 120");
  append_many(7, 28);
  ck_assert_str_eq(tick("batches"), "3");
  ck_assert_str_eq(batches(), "0-3:3 3-6:3 6-7:1");
  db_exec(db, "UPDATE tidemark_sink SET max_bytes = 119");
  append_many(3, 28);
  ck_assert_str_eq(tick("batches"), "2");
  assert_text(db, "120|120|40|80|40",
              "SELECT group_concat(bytes, '|') FROM (SELECT bytes FROM tidemark_export_log ORDER BY id)");
  end();
}
END_TEST

START_TEST(row_above_max_bytes_is_a_batch_of_its_own) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET columns = '[\"body\"]', max_bytes = 100");
  append_many(1, 500);
  append_many(2, 10);
  append_many(1, 89);
  append_many(1, 500);
  append_many(1, 10);
  db_exec(db, "SELECT tidemark_flush('logs')");
  ck_assert_str_eq(tick("more"), "0");
  ck_assert_str_eq(batches(), "0-1:1 1-3:2 3-4:1 4-5:1 5-6:1");
  end();
}
END_TEST

START_TEST(max_bytes_counts_rows_before_compression_and_after_the_filter) {
  begin();
  db_exec(
      db,
      "UPDATE tidemark_sink SET columns = '[\"body\"]', format = 'ndjson.zst', max_bytes = 120, filter = 'since %% 2'");
  append_many(10, 28);
  ck_assert_str_eq(tick("batches"), "2");
  ck_assert_str_eq(batches(), "0-6:3 6-10:2");
  assert_text(db, "3 2", "SELECT skipped FROM tidemark_export_log ORDER BY id");
  end();
}
END_TEST

/* What a row takes beside its stored bytes counts, in names of columns and in what comes from the partition. */
START_TEST(max_bytes_counts_names_and_partition_values) {
  begin();
  db_exec(db, "CREATE VIRTUAL TABLE d USING tidemark(p TEXT, \"%.*c\" TEXT, partition_by=p)", 150, 'n');
  db_exec(db, "INSERT INTO d VALUES (NULL, ''), (NULL, ''), (NULL, '')");
  db_exec(db, "INSERT INTO d SELECT replace(printf('%%.*c', 80, 'x'), 'x', char(1)), '' FROM (VALUES (1), (2), (3))");
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format, max_bytes) VALUES ('d', 'd', 'file://%s', "
          "'ndjson', 1000)",
          folder);
  db_exec(db, "SELECT tidemark_export('d')");
  assert_text(db, "3|501 1|645 1|645 1|645",
              "SELECT rows, bytes FROM tidemark_export_log WHERE sink = 'd' ORDER BY partition <> "
              "'p=__HIVE_DEFAULT_PARTITION__', id");
  end();
}
END_TEST

START_TEST(min_rows_waits_until_max_delay) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET min_rows = 3, max_delay = '10 s'");
  append_many(1, 1);
  shim.now_ms = T0 + 5000;
  append_many(1, 1);
  ck_assert_str_eq(tick("waiting"), "1");
  shim.now_ms = T0 + 9999;
  ck_assert_str_eq(tick("waiting"), "1");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
  shim.now_ms = T0 + 10000; /* of the oldest row */
  ck_assert_str_eq(tick("rows"), "2");
  append_many(3, 1);
  ck_assert_str_eq(tick("rows"), "3");
  end();
}
END_TEST

START_TEST(min_rows_alone_waits_for_ever_but_for_now) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET min_rows = 2");
  append_many(1, 1);
  shim.now_ms = T0 + INT64_C(1000) * 86400 * 365;
  ck_assert_str_eq(tick("waiting"), "1");
  assert_int(db, 1, "SELECT tidemark_export('s', 'now') ->> 'rows'");
  end();
}
END_TEST

START_TEST(max_batches_stops_and_says_so) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET max_rows = 1; INSERT INTO logs VALUES ('a', '1'), ('b', '2'), ('b', '3')");
  assert_text(db, "1|1",
              "SELECT e ->> 'batches', e ->> 'more' FROM (SELECT tidemark_export('s', 'max_batches=1') AS e)");
  assert_text(db, "2|0",
              "SELECT e ->> 'batches', e ->> 'more' FROM (SELECT tidemark_export('s', 'max_batches=2') AS e)");
  assert_text(db, "0|0",
              "SELECT e ->> 'batches', e ->> 'more' FROM (SELECT tidemark_export('s', 'max_batches=2') AS e)");
  check_archive();
  end();
}
END_TEST

/* ---- filter and columns ---- */

START_TEST(rows_that_fail_the_filter_are_passed_over_and_counted) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET filter = 'body <> ''no'''");
  db_exec(db, "INSERT INTO logs VALUES ('a', 'no'), ('b', 'no'), ('b', 'yes'), ('b', NULL)");
  assert_text(db, "2|1|3",
              "SELECT e ->> 'batches', e ->> 'rows', e ->> 'skipped' FROM (SELECT tidemark_export('s') AS e)");
  assert_text(
      db, "source=a|1|0|1|0|-|- source=b|4|1|2|28|logs/source=b|32",
      "SELECT partition, until, rows, skipped, bytes, substr(object, 1, 13), length(hash) FROM tidemark_export_log");
  archive_read(db, folder);
  assert_text(db, "{\"source\":\"b\",\"body\":\"yes\"}", "SELECT json FROM temp.line");
  ck_assert_int_ne(access(scratch_path("archive/logs/source=a"), F_OK), 0);
  assert_int(db, 0, "SELECT sum(rows) FROM tidemark_lag");
  end();
}
END_TEST

/* A row that makes the filter fail holds its batch up, until it is deleted; one that lies outside the range never
 * does. */
START_TEST(row_that_breaks_the_filter_can_be_deleted) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', '{broken'), ('a', '{\"x\":1}'), ('a', '{\"x\":2}')");
  db_exec(db, "UPDATE tidemark_sink SET filter = 'body ->> ''x'' > 0', max_rows = 2");
  ck_assert_str_eq(tick("failed"), "1");
  assert_int(db, 1, "SELECT error LIKE '%%fails on the row with since 1: malformed JSON%%' FROM tidemark_batch");
  db_refuses(db, SQLITE_CONSTRAINT, "is in open batch", "DELETE FROM logs WHERE since = 1");
  db_exec(db, "DELETE FROM tidemark_batch; DELETE FROM logs WHERE since = 1");
  ck_assert_str_eq(tick("rows"), "2");

  db_exec(db, "INSERT INTO logs VALUES ('a', '{\"x\":3}'), ('a', '{broken')");
  db_exec(db, "SELECT tidemark_flush('logs'); UPDATE tidemark_sink SET max_rows = 1");
  assert_text(db, "1|1|1",
              "SELECT e ->> 'batches', e ->> 'rows', e ->> 'failed' FROM (SELECT tidemark_export('s') AS e)");
  end();
}
END_TEST

START_TEST(columns_are_written_in_the_order_named) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET columns = '[\"ingested_at\", \"body\", \"partition\", \"since\"]'");
  db_exec(db, "INSERT INTO logs VALUES ('a b', 'one')");
  shim.now_ms = T0 + 7;
  db_exec(db, "INSERT INTO logs VALUES ('a b', NULL)");
  ck_assert_str_eq(tick("rows"), "2");
  archive_read(db, folder);
  assert_text(db,
              "{\"ingested_at\":1767225600000,\"body\":\"one\",\"partition\":\"source=a%20b\",\"since\":1} "
              "{\"ingested_at\":1767225600007,\"body\":null,\"partition\":\"source=a%20b\",\"since\":2}",
              "SELECT json FROM temp.line");
  end();
}
END_TEST

/* ---- failures ---- */

START_TEST(missing_folder_leaves_the_batch_and_comes_back_later_and_later) {
  begin();
  append_many(1, 1);
  rmdir(folder);
  int64_t now = T0, delay = 0;
  for (int attempt = 1; attempt <= 12; attempt++) {
    const int64_t longest = attempt <= 9 ? INT64_C(500) << attempt : 300000;
    shim.now_ms = now;
    ck_assert_str_eq(tick("failed"), "1");
    assert_int(db, attempt, "SELECT attempts FROM tidemark_batch");
    assert_int(db, 1, "SELECT error LIKE '%%\"%s\" does not exist%%' AND owner IS NULL FROM tidemark_batch", folder);
    delay = db_int(db, "SELECT not_before FROM tidemark_batch") - now;
    ck_assert_int_le(delay, longest);
    ck_assert_int_ge(delay, attempt == 1 ? longest : longest - longest / 4);
    shim.now_ms = now + delay - 1; /* too early */
    assert_text(db, "0|1", "SELECT e ->> 'failed', e ->> 'waiting' FROM (SELECT tidemark_export('s') AS e)");
    now += delay;
  }
  mkdir(folder, 0755);
  shim.now_ms = now - 1;
  assert_int(db, 0, "SELECT tidemark_export('s') ->> 'batches'");
  assert_int(db, 1, "SELECT tidemark_export('s', 'now') ->> 'batches'");
  assert_text(db, "0-1:1", "SELECT since || '-' || until || ':' || rows FROM tidemark_export_log");
  end();
}
END_TEST

START_TEST(failed_batch_keeps_range_name_and_configuration) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('web', 'one'), ('web', 'two')");
  rmdir(folder);
  ck_assert_str_eq(tick("failed"), "1");
  const char *frozen = db_text(db, "SELECT since, until, rows, key, object, config FROM tidemark_batch");
  mkdir(folder, 0755);
  db_exec(db, "INSERT INTO logs VALUES ('web', 'three')");
  db_exec(db, "UPDATE tidemark_sink SET format = 'ndjson.zst', columns = '[\"since\"]', filter = '0', max_rows = 1");
  ck_assert_str_eq(db_text(db, "SELECT since, until, rows, key, object, config FROM tidemark_batch"), frozen);
  assert_text(db, "2|2|1",
              "SELECT e ->> 'batches', e ->> 'rows', e ->> 'skipped' FROM (SELECT tidemark_export('s', 'now') AS e)");
  archive_read(db, folder);
  assert_text(db, "{\"source\":\"web\",\"body\":\"one\"} {\"source\":\"web\",\"body\":\"two\"}",
              "SELECT json FROM temp.line");
  end();
}
END_TEST

START_TEST(one_partitions_failure_does_not_stop_the_others) {
  begin();
  mkdir(scratch_path("archive/logs"), 0755);
  write_file(scratch_path("archive/logs/source=b"), "in the way");
  db_exec(db, "INSERT INTO logs VALUES ('a', '1'), ('b', '2'), ('c', '3')");
  assert_text(db, "2|1|source=b",
              "SELECT e ->> 'batches', e ->> 'failed', e ->> '$.sinks[0].failures[0].partition' FROM (SELECT "
              "tidemark_export('s') AS e)");
  assert_int(db, 1,
             "SELECT error LIKE '%%source=b\" is a file: expected a folder%%move it away%%' FROM tidemark_batch");
  db_exec(db, "INSERT INTO logs VALUES ('a', '4'), ('b', '5')");
  assert_text(db, "1|0|1",
              "SELECT e ->> 'batches', e ->> 'failed', e ->> 'waiting' FROM (SELECT tidemark_export('s') AS e)");
  unlink(scratch_path("archive/logs/source=b"));
  shim.now_ms += 1000;
  ck_assert_str_eq(tick("batches"), "2"); /* the one that failed, and what came since */
  check_archive();
  end();
}
END_TEST

START_TEST(file_in_place_of_the_folder_is_named) {
  begin();
  append_many(1, 1);
  rmdir(folder);
  write_file(folder, "");
  ck_assert_str_eq(tick("failed"), "1");
  assert_int(db, 1, "SELECT error LIKE '%%\"%s\" is not a folder%%' FROM tidemark_batch", folder);
  unlink(folder);
  mkdir(folder, 0755);
  assert_int(db, 1, "SELECT tidemark_export('s', 'now') ->> 'batches'");
  end();
}
END_TEST

START_TEST(disk_that_is_full_midway_leaves_nothing_half_done) {
  struct rlimit old, low;
  begin();
  append_many(3000, 1000);
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &old);
  db_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)");
  low = old;
  low.rlim_cur = 2000000;
  setrlimit(RLIMIT_FSIZE, &low);
  ck_assert_str_eq(tick("failed"), "1");
  setrlimit(RLIMIT_FSIZE, &old);
  assert_int(db, 1,
             "SELECT error LIKE 'writing%%: File too large: the batch stays and the next tick tries again' FROM "
             "tidemark_batch");
  archive_read(db, folder);
  assert_int(db, 0, "SELECT count(*) FROM temp.file");
  assert_int(db, 1, "SELECT tidemark_export('s', 'now') ->> 'batches'");
  check_archive();
  end();
}
END_TEST

/* The object that is there may be ours, from a try whose ack was lost; then it is the same, and that is success. */
START_TEST(existing_object_is_never_replaced) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', '1')");
  rmdir(folder);
  ck_assert_str_eq(tick("failed"), "1");
  mkdir(folder, 0755);
  mkdir(scratch_path("archive/logs"), 0755);
  mkdir(scratch_path("archive/logs/source=a"), 0755);
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, db_text(db, "SELECT object FROM tidemark_batch"));
  static const char *const others[] = {"", "{\"source\":\"a\",\"body\":\"2\"}\n",
                                       "{\"source\":\"a\",\"body\":\"1\"}\nmore\n"};
  for (int i = 0; i < 3; i++) {
    write_file(path, others[i]);
    assert_int(db, 1, "SELECT tidemark_export('s', 'now') ->> 'failed'");
    assert_int(db, 1, "SELECT error LIKE 'object %%is already in %s and holds other rows%%' FROM tidemark_batch",
               folder);
    struct tide_buf bytes = {0};
    archive_read_file(path, &bytes);
    ck_assert_uint_eq(bytes.len, strlen(others[i]));
    tide_buf_clear(&bytes);
  }
  write_file(path, "{\"source\":\"a\",\"body\":\"1\"}\n");
  assert_int(db, 1, "SELECT tidemark_export('s', 'now') ->> 'batches'");
  check_archive();
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {only_active_sinks_tick,
                                filter_ends_with_its_call,
                                state_of_an_open_batch_holds_it_too,
                                max_rows_bounds_a_batch,
                                rows_deleted_before_the_claim_are_not_counted,
                                interrupted_claim_leaves_no_transaction,
                                max_bytes_bounds_a_batch_to_the_byte,
                                row_above_max_bytes_is_a_batch_of_its_own,
                                max_bytes_counts_rows_before_compression_and_after_the_filter,
                                max_bytes_counts_names_and_partition_values,
                                min_rows_waits_until_max_delay,
                                min_rows_alone_waits_for_ever_but_for_now,
                                max_batches_stops_and_says_so,
                                rows_that_fail_the_filter_are_passed_over_and_counted,
                                row_that_breaks_the_filter_can_be_deleted,
                                columns_are_written_in_the_order_named,
                                missing_folder_leaves_the_batch_and_comes_back_later_and_later,
                                failed_batch_keeps_range_name_and_configuration,
                                one_partitions_failure_does_not_stop_the_others,
                                file_in_place_of_the_folder_is_named,
                                disk_that_is_full_midway_leaves_nothing_half_done,
                                existing_object_is_never_replaced,
                                NULL};
  return unit_main("export", tests);
}
