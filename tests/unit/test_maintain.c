/* tidemark_maintain through SQL: what one call does, what bounds it, what stops it and what does not. */
#define _GNU_SOURCE
#include "export_db.h"

/* Nobody holds anything. */
static void start(void) {
  begin();
  db_exec(db, "DELETE FROM tidemark_sink");
}

static const char *maintain(const char *what) {
  return db_text(db, "SELECT tidemark_maintain('logs') ->> '$.datasets[0].%s'", what);
}

static void set(const char *option, const char *value) {
  db_exec(db, "SELECT tidemark_set('logs', '%s', %s)", option, value);
}

START_TEST(one_call_seals_prunes_compacts_and_trims) {
  start();
  for (int i = 0; i < 4; i++) {
    append_many(10, 10 + i);
    db_exec(db, "SELECT tidemark_flush('logs')");
  }
  append_many(10, 20);
  set("retention_rows", "25");
  assert_text(db, "10|25|2|3|0|0",
              "WITH d(j) AS MATERIALIZED (SELECT tidemark_maintain('logs') -> '$.datasets[0]')"
              " SELECT j ->> '$.sealed.rows', j ->> '$.pruned.rows', j ->> '$.pruned.segments',"
              "  j ->> '$.compacted.segments_in', j ->> '$.trimmed', j ->> 'more' FROM d");
  assert_text(db, "25|25|0|ok",
              "SELECT count(*), (SELECT rows FROM tidemark_dataset), (SELECT tail_rows FROM"
              " tidemark_dataset), tidemark_check('logs') FROM logs");
  end();
}
END_TEST

START_TEST(with_nothing_to_do_it_writes_nothing) {
  start();
  append_many(30, 10);
  set("retention_rows", "10");
  maintain("more");
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  const int64_t version = db_int(other, "PRAGMA data_version");
  const long changes = shim.changes;
  ck_assert_str_eq(maintain("sealed.partitions"), "0");
  ck_assert_int_eq(shim.changes, changes);
  ck_assert_int_eq(db_int(other, "PRAGMA data_version"), version);
  db_close(other);
  end();
}
END_TEST

/* Log rows of 30 days go, but for the last of each sink and partition; what they counted is kept. */
START_TEST(log_is_trimmed_by_age) {
  start();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('plain', 'logs')");
  for (int i = 0; i < 5; i++) {
    append_many(4, 10);
    db_exec(db,
            "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
            " SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'plain' AND rows > 0");
    shim.now_ms += INT64_C(10) * 24 * 3600 * 1000;
  }
  /* committed 50, 40, 30, 20 and 10 days ago */
  ck_assert_str_eq(maintain("trimmed"), "2");
  assert_text(db, "3", "SELECT count(*) FROM tidemark_export_log WHERE sink = 'plain'");
  assert_text(db, "2|8|8", "SELECT batches, rows, until FROM tidemark_export_total WHERE sink = 'plain'");
  shim.now_ms += INT64_C(1000) * 24 * 3600 * 1000;
  ck_assert_str_eq(maintain("trimmed"), "2");
  assert_text(db, "16|20", "SELECT since, until FROM tidemark_export_log WHERE sink = 'plain'");
  assert_text(db, "20|0|ok", "SELECT since, rows, tidemark_check('logs') FROM tidemark_lag WHERE sink = 'plain'");
  end();
}
END_TEST

START_TEST(a_call_seals_a_bounded_number_of_partitions) {
  start();
  db_exec(db, "SELECT tidemark_set('logs', 'autoflush', 0)");
  db_exec(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10003)"
              " INSERT INTO logs SELECT 'p' || i, 'x' FROM n");
  assert_text(db, "10000|1|3",
              "WITH d(j) AS MATERIALIZED (SELECT tidemark_maintain('logs') -> '$.datasets[0]')"
              " SELECT j ->> '$.sealed.partitions', j ->> 'more', j ->> '$.now.tail_rows' FROM d");
  ck_assert_str_eq(maintain("more"), "0");
  assert_text(db, "10003|0", "SELECT rows, tail_rows FROM tidemark_dataset");
  end();
}
END_TEST

/* 64 MiB of the tail, or one partition when that has more. */
START_TEST(a_call_seals_a_bounded_number_of_bytes) {
  start();
  db_exec(db, "SELECT tidemark_set('logs', 'autoflush', 0)");
  append_many(9, 8 << 20);
  db_exec(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9)"
              " INSERT INTO logs SELECT 'p' || i, printf('%%.*c', 8 << 20, 'x') FROM n");
  ck_assert_str_eq(maintain("sealed.partitions"), "1");
  ck_assert_str_eq(maintain("sealed.partitions"), "7");
  ck_assert_str_eq(maintain("more"), "0");
  assert_text(db, "18|0", "SELECT rows, tail_rows FROM tidemark_dataset");
  end();
}
END_TEST

START_TEST(without_a_name_it_is_all_datasets_of_all_schemas) {
  start();
  db_exec(db,
          "ATTACH %Q AS aux; CREATE VIRTUAL TABLE aux.more USING tidemark(x); CREATE VIRTUAL TABLE zlogs USING"
          " tidemark(x); INSERT INTO aux.more VALUES (1); INSERT INTO zlogs VALUES (1)",
          scratch_path("aux"));
  append_many(2, 10);
  assert_text(
      db, "logs|1 zlogs|1 more|1",
      "SELECT value ->> 'dataset', value ->> '$.sealed.segments' FROM json_each(tidemark_maintain(), '$.datasets')");
  assert_text(db, "0", "SELECT json_array_length(tidemark_maintain('aux.more'), '$.datasets') - 1");
  db_exec(db, "DETACH aux");
  end();
}
END_TEST

START_TEST(a_dataset_that_cannot_be_read_does_not_keep_the_others_waiting) {
  start();
  db_exec(db, "CREATE VIRTUAL TABLE another USING tidemark(x); INSERT INTO another VALUES (1)");
  append_many(2, 10);
  db_exec(db, "DELETE FROM another_config WHERE key = 'seals'");
  assert_text(db, "another|dataset another: another_config has no valid seals|- logs|-|1",
              "SELECT value ->> 'dataset', value ->> 'error', value ->> '$.sealed.segments'"
              " FROM json_each(tidemark_maintain(), '$.datasets')");
  db_refuses(db, SQLITE_CORRUPT, "another_config has no valid seals", "SELECT tidemark_maintain('another')");
  end();
}
END_TEST

START_TEST(it_follows_the_transaction_that_is_open) {
  start();
  append_many(30, 10);
  set("retention_rows", "5");
  db_exec(db, "BEGIN");
  append_many(10, 10);
  ck_assert_str_eq(maintain("pruned.rows"), "35");
  assert_text(db, "5|5", "SELECT rows, count(*) FROM tidemark_dataset, logs");
  db_exec(db, "ROLLBACK");
  assert_text(db, "30|0|30|ok", "SELECT rows, pruned, tail_rows, tidemark_check('logs') FROM tidemark_dataset");
  db_exec(db, "INSERT INTO logs VALUES ('web', 'next')");
  assert_text(db, "31", "SELECT max(since) FROM logs");
  end();
}
END_TEST

START_TEST(one_damaged_partition_does_not_stop_the_others) {
  start();
  db_exec(db, "INSERT INTO logs VALUES ('bad', 'a'), ('good', 'b')");
  db_exec(db, "UPDATE logs_tail SET data = x'00' WHERE partition = (SELECT id FROM logs_partition WHERE name ="
              " 'source=bad')");
  assert_text(
      db, "1|source=bad|1|1",
      "WITH d(j) AS MATERIALIZED (SELECT tidemark_maintain('logs') -> '$.datasets[0].sealed')"
      " SELECT j ->> 'failed', j ->> '$.failures[0].partition', instr(j ->> '$.failures[0].error', 'damaged') > 0,"
      "  j ->> 'partitions' FROM d");
  assert_text(db, "b", "SELECT body FROM logs WHERE source = 'good'");
  assert_text(db, "1", "SELECT count(*) FROM logs_tail");
  end();
}
END_TEST

START_TEST(a_cursor_of_the_connection_locks_it_out) {
  start();
  append_many(3, 10);
  db_refuses(db, SQLITE_LOCKED, "tidemark_maintain: a statement of this connection is reading dataset logs",
             "SELECT tidemark_maintain('logs') FROM logs");
  db_refuses(db, SQLITE_ERROR, "no such dataset: nothing", "SELECT tidemark_maintain('nothing')");
  assert_text(db, "3", "SELECT tail_rows FROM tidemark_dataset");
  end();
}
END_TEST

START_TEST(a_file_that_is_read_only_does_not_keep_others_waiting) {
  sqlite3 *all = NULL;
  start();
  append_many(3, 10);
  for (int i = 0; i < 2; i++) {
    sqlite3 *one = db_open(scratch_path(i == 0 ? "fixed" : "free"), "shim");
    db_exec(one, "CREATE VIRTUAL TABLE logs USING tidemark(x); INSERT INTO logs VALUES (1)");
    db_close(one);
  }
  ck_assert_int_eq(sqlite3_open_v2(scratch_path("db"), &all, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, "shim"),
                   SQLITE_OK);
  ck_assert_int_eq(sqlite3_tidemark_init(all, NULL, NULL), SQLITE_OK);
  db_exec(all, "ATTACH 'file:%s?mode=ro' AS fixed; ATTACH '%s' AS free", scratch_path("fixed"), scratch_path("free"));
  assert_text(all, "- schema fixed cannot be written: its file was opened read-only -",
              "SELECT value ->> 'error' FROM json_each(tidemark_maintain() -> 'datasets')");
  assert_text(all, "0|1|0",
              "SELECT (SELECT tail_rows FROM main.tidemark_dataset), (SELECT tail_rows FROM fixed.tidemark_dataset),"
              " (SELECT tail_rows FROM free.tidemark_dataset)");
  db_refuses(all, SQLITE_READONLY, "schema fixed cannot be written", "SELECT tidemark_maintain('fixed.logs')");
  db_close(all);
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {one_call_seals_prunes_compacts_and_trims,
                                with_nothing_to_do_it_writes_nothing,
                                log_is_trimmed_by_age,
                                a_call_seals_a_bounded_number_of_partitions,
                                a_call_seals_a_bounded_number_of_bytes,
                                without_a_name_it_is_all_datasets_of_all_schemas,
                                a_dataset_that_cannot_be_read_does_not_keep_the_others_waiting,
                                it_follows_the_transaction_that_is_open,
                                one_damaged_partition_does_not_stop_the_others,
                                a_cursor_of_the_connection_locks_it_out,
                                a_file_that_is_read_only_does_not_keep_others_waiting,
                                NULL};
  return unit_main("maintain", tests);
}
