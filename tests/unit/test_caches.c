/* What a connection remembers between statements is never taken for what the file holds: the index of the tail, an idle
 * tick, how far a sink has caught up, a handle under a name that changed. */
#define _GNU_SOURCE
#include "export_db.h"

/* ---- the index of the tail ---- */

START_TEST(backup_restored_under_another_connection) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', 'one'), ('b', 'two')");
  sqlite3 *old = db_open(scratch_path("old"), "shim");
  sqlite3_backup *backup = sqlite3_backup_init(old, "main", db, "main");
  ck_assert_ptr_nonnull(backup);
  ck_assert_int_eq(sqlite3_backup_step(backup, -1), SQLITE_DONE);
  ck_assert_int_eq(sqlite3_backup_finish(backup), SQLITE_OK);
  db_exec(db, "INSERT INTO logs VALUES ('a', 'three')");
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  ck_assert_int_eq(db_int(other, "SELECT count(*) FROM logs"), 3);

  backup = sqlite3_backup_init(db, "main", old, "main");
  ck_assert_ptr_nonnull(backup);
  ck_assert_int_eq(sqlite3_backup_step(backup, -1), SQLITE_DONE);
  ck_assert_int_eq(sqlite3_backup_finish(backup), SQLITE_OK);
  ck_assert_int_eq(db_int(other, "SELECT count(*) FROM logs"), 2);
  db_exec(db, "INSERT INTO logs VALUES ('b', 'four')");
  static const char all[] =
      "SELECT group_concat(since || source || body) FROM (SELECT *, since FROM logs ORDER BY since)";
  ck_assert_str_eq(db_text(other, all), "1aone,2btwo,3bfour");
  db_exec(other, "SELECT tidemark_flush('logs')");
  ck_assert_str_eq(db_text(db, all), "1aone,2btwo,3bfour");
  db_close(other);
  db_close(old);
  end();
}
END_TEST

/* ---- the partitions of the transaction before ---- */

static const char by_partition[] = "SELECT partition || ':' || group_concat(body) FROM (SELECT partition, body FROM "
                                   "logs ORDER BY since) GROUP BY partition";

START_TEST(partition_of_a_backup_that_was_restored) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', 1)");
  sqlite3 *old = db_open(scratch_path("old"), "shim");
  sqlite3_backup *backup = sqlite3_backup_init(old, "main", db, "main");
  ck_assert_int_eq(sqlite3_backup_step(backup, -1), SQLITE_DONE);
  ck_assert_int_eq(sqlite3_backup_finish(backup), SQLITE_OK);
  db_exec(db, "INSERT INTO logs VALUES ('b', 2)");
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  backup = sqlite3_backup_init(other, "main", old, "main");
  ck_assert_int_eq(sqlite3_backup_step(backup, -1), SQLITE_DONE);
  ck_assert_int_eq(sqlite3_backup_finish(backup), SQLITE_OK);
  db_exec(other, "INSERT INTO logs VALUES ('c', 3)"); /* has the number that b had */
  db_exec(db, "INSERT INTO logs VALUES ('b', 4), ('c', 5), ('a', 6)");
  assert_text(db, "source=a:1,6 source=b:4 source=c:3,5", by_partition);
  db_close(other);
  db_close(old);
  end();
}
END_TEST

START_TEST(partition_that_was_rolled_back) {
  static const char *const takes_back[] = {
      "BEGIN; INSERT INTO logs VALUES ('a', 1); ROLLBACK; INSERT INTO logs VALUES ('b', 2), ('a', 3)",
      "BEGIN; SAVEPOINT s; INSERT INTO logs VALUES ('a', 1); ROLLBACK TO s; INSERT INTO logs VALUES ('b', 2), ('a', 3);"
      "COMMIT",
      "BEGIN; SAVEPOINT s; INSERT INTO logs VALUES ('a', 1); SELECT * FROM logs; ROLLBACK TO s;"
      "INSERT INTO logs VALUES ('b', 2), ('a', 3); RELEASE s; COMMIT"};
  for (size_t i = 0; i < sizeof takes_back / sizeof *takes_back; i++) {
    begin();
    db_exec(db, takes_back[i]);
    db_exec(db, "INSERT INTO logs VALUES ('b', 4), ('a', 5)");
    assert_text(db, "source=a:3,5 source=b:2,4", by_partition);
    end();
  }
}
END_TEST

START_TEST(partition_of_a_log_that_was_dropped) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', 1), ('b', 2)");
  db_exec(db, "DELETE FROM tidemark_sink; DROP TABLE logs;"
              "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source)");
  db_exec(db, "INSERT INTO logs VALUES ('b', 3)");
  db_exec(db, "INSERT INTO logs VALUES ('a', 4), ('b', 5)");
  assert_text(db, "source=a:4 source=b:3,5", by_partition);
  end();
}
END_TEST

START_TEST(partition_that_another_connection_made) {
  begin();
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  for (int i = 0; i < 4; i++) {
    db_exec(i % 2 == 0 ? db : other, "INSERT INTO logs VALUES ('p%d', %d), ('p%d', %d)", i, i, i - 1, i);
    db_exec(i % 2 == 0 ? other : db, "INSERT INTO logs VALUES ('p%d', 'x')", i);
  }
  assert_text(db, "source=p-1:0 source=p0:0,x,1 source=p1:1,x,2 source=p2:2,x,3 source=p3:3,x", by_partition);
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  db_close(other);
  end();
}
END_TEST

/* The 3,000 partitions of one row must not be found anew for each: the plain-SQL sink reads within a transaction that
 * has written elsewhere. Too slow, and the test times out. */
START_TEST(plain_sink_over_many_partitions) {
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('daily', 'logs'); CREATE TABLE daily(n)");
  db_exec(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 3000)"
              " INSERT INTO logs SELECT 'p' || i, 'x' FROM c");
  db_exec(db,
          "BEGIN IMMEDIATE; INSERT INTO daily SELECT count(*) FROM tidemark_lag w CROSS JOIN logs l"
          " ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until"
          " WHERE w.sink = 'daily' AND w.rows > 0;"
          "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
          " SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'daily' AND rows > 0;"
          "COMMIT");
  ck_assert_int_eq(db_int(db, "SELECT n FROM daily"), 3000);
  ck_assert_int_eq(db_int(db, "SELECT sum(rows) FROM tidemark_export_log WHERE sink = 'daily'"), 3000);
  end();
}
END_TEST

/* More partitions in one transaction than the tail holds batches of few partitions. */
START_TEST(one_transaction_over_many_partitions) {
  begin();
  db_exec(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000)"
              " INSERT INTO logs SELECT 'p' || (i %% 6000), i FROM c");
  ck_assert_int_eq(db_int(db, "SELECT count(*) FROM logs"), 20000);
  ck_assert_int_eq(db_int(db, "SELECT sum(body) FROM logs"), 20000 * 20001 / 2);
  ck_assert_int_eq(db_int(db, "SELECT count(*) FROM tidemark_stat"), 6000);
  ck_assert_int_eq(db_int(db, "SELECT count(*) FROM logs_segment"), 0); /* none is worth one */
  end();
}
END_TEST

/* ---- an idle tick ---- */

START_TEST(idle_before_there_was_anything) {
  scratch_open();
  shim_register();
  mkdir(scratch_path("archive"), 0755);
  db = db_open(scratch_path("db"), "shim");
  ck_assert_int_eq(db_int(db, "SELECT json_extract(tidemark_export(), '$.batches')"), 0);
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(x)");
  ck_assert_int_eq(db_int(db, "SELECT json_extract(tidemark_export(), '$.batches')"), 0);
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('s', 'logs', 'file://%s', 'ndjson')",
          scratch_path("archive"));
  db_exec(db, "INSERT INTO logs VALUES (1)");
  ck_assert_int_eq(db_int(db, "SELECT json_extract(tidemark_export(), '$.batches')"), 1);
  /* a sink that comes in temp is no part of main's file */
  ck_assert_int_eq(db_int(db, "SELECT json_extract(tidemark_export(), '$.batches')"), 0);
  mkdir(scratch_path("temporary"), 0755);
  db_exec(db, "CREATE VIRTUAL TABLE temp.more USING tidemark(x); INSERT INTO temp.more VALUES (2)");
  db_exec(db,
          "INSERT INTO temp.tidemark_sink(sink, dataset, target, format) VALUES ('t', 'more', 'file://%s', 'ndjson')",
          scratch_path("temporary"));
  ck_assert_int_eq(db_int(db, "SELECT json_extract(tidemark_export(), '$.batches')"), 1);
  db_close(db);
}
END_TEST

/* ---- how far a sink has caught up ---- */

START_TEST(waiting_partition_is_not_passed) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET min_rows = 10");
  db_exec(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20)"
              " INSERT INTO logs SELECT 'p', i FROM c");
  db_exec(db, "INSERT INTO logs VALUES ('q', 1), ('q', 2), ('q', 3)");
  ck_assert_int_eq(db_int(db, "SELECT json_extract(tidemark_export('s', 'max_batches=1'), '$.batches')"), 1);
  ck_assert_int_eq(db_int(db, "SELECT rows FROM tidemark_lag WHERE sink = 's' AND rows > 0"), 3);
  ck_assert_int_eq(db_int(db, "SELECT json_extract(tidemark_export('s', 'now'), '$.rows')"), 3);
  end();
}
END_TEST

START_TEST(new_epoch_at_whatever_lowers_it) {
  static const char *const lowers[] = {
      "INSERT INTO tidemark_export_log(sink, dataset, partition, kind, since, until, reason)"
      " VALUES ('s', 'logs', 'source=p', 'rewind', 2, 0, 'again')",
      "DELETE FROM tidemark_sink; INSERT INTO tidemark_sink(sink, dataset, target, format)"
      " SELECT sink, dataset, 'file://' || folder, 'ndjson' FROM tidemark_sink_state",
      "UPDATE tidemark_sink SET start = 1"};
  for (size_t i = 0; i < sizeof lowers / sizeof *lowers; i++) {
    begin();
    db_exec(db, "INSERT INTO logs VALUES ('p', 1), ('p', 2)");
    ck_assert_int_eq(db_int(db, "SELECT json_extract(tidemark_export('s'), '$.rows')"), 2);
    ck_assert_int_eq(db_int(db, "SELECT caught_up FROM tidemark_sink_state"), 2);
    const int64_t before = db_int(db, "SELECT epoch FROM tidemark_sink_state");
    db_exec(db, "%s", lowers[i]);
    ck_assert_int_eq(db_int(db, "SELECT caught_up FROM tidemark_sink_state"), 0);
    ck_assert_int_ne(db_int(db, "SELECT epoch FROM tidemark_sink_state"), before);
    end();
    scratch_close();
  }
}
END_TEST

/* ---- names ---- */

static const char rows_of[] = "SELECT group_concat(since || body) FROM (SELECT *, since FROM %s ORDER BY since)";

START_TEST(rename_rolled_back_to_a_savepoint) {
  begin();
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', 'x'); SAVEPOINT s; ALTER TABLE logs RENAME TO logs2;"
              "INSERT INTO logs2 VALUES ('a', 'y'); ROLLBACK TO s; INSERT INTO logs VALUES ('a', 'z'); COMMIT");
  ck_assert_str_eq(db_text(db, rows_of, "logs"), "1x,2z");
  end();
}
END_TEST

START_TEST(delete_on_both_sides_of_a_rename) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', 'x'), ('a', 'y'), ('a', 'z')");
  db_exec(db, "BEGIN; DELETE FROM logs WHERE since = 1; ALTER TABLE logs RENAME TO logs2;"
              "DELETE FROM logs2 WHERE since = 2; INSERT INTO logs2 VALUES ('a', 'w'); COMMIT");
  ck_assert_str_eq(db_text(db, rows_of, "logs2"), "3z,4w");
  ck_assert_int_eq(db_int(db, "SELECT deleted FROM tidemark_stat"), 2);
  end();
}
END_TEST

/* ALTER TABLE of another table gives the dataset a second instance in the middle of the transaction. */
START_TEST(drop_after_an_instance_was_swapped) {
  begin();
  db_exec(db, "CREATE TABLE other(x)");
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', 'x'); ALTER TABLE other RENAME TO other2;"
              "INSERT INTO logs VALUES ('a', 'y'); SAVEPOINT s; ROLLBACK TO s; DROP TABLE logs;"
              "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT); INSERT INTO logs VALUES ('b', 'new');"
              "INSERT INTO other2 VALUES (1); COMMIT");
  ck_assert_str_eq(db_text(db, rows_of, "logs"), "1new");
  ck_assert_int_eq(db_int(db, "SELECT count(*) FROM other2"), 1);
  end();
}
END_TEST

/* ---- DELETE ---- */

static int count_steps(void *steps) {
  ++*(int64_t *)steps;
  return 0;
}

/* What SQLite does for a DELETE of 1,000 rows of 4,000, whose partitions take turns, in hundreds of its operations. */
static int64_t steps_of_delete(int partitions) {
  int64_t steps = 0;
  begin();
  db_exec(db,
          "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 3999)"
          " INSERT INTO logs SELECT 'p' || (i %% %d), i FROM c; SELECT tidemark_flush('logs')",
          partitions);
  sqlite3_progress_handler(db, 100, count_steps, &steps);
  db_exec(db, "DELETE FROM logs WHERE body %% 4 < 2 AND since <= 2000");
  sqlite3_progress_handler(db, 0, NULL, NULL);
  ck_assert_int_eq(db_int(db, "SELECT count(*) FROM logs WHERE body %% 4 >= 2 OR since > 2000"), 3000);
  ck_assert_int_eq(db_int(db, "SELECT count(*) FROM logs"), 3000);
  ck_assert_int_eq(db_int(db, "SELECT sum(deleted) FROM tidemark_segment"), 1000);
  ck_assert_str_eq(db_text(db, "SELECT tidemark_check('logs')"), "ok");
  end();
  return steps;
}

/* A row's segment is not looked for anew because the row before it lay in another one. */
START_TEST(delete_where_partitions_take_turns) {
  const int64_t one = steps_of_delete(1);
  ck_assert_int_gt(one, 0);
  ck_assert_int_lt(steps_of_delete(10), 3 * one);
  ck_assert_int_lt(steps_of_delete(100), 10 * one);
}
END_TEST

/* The counts go where the rows were, also of those that had to be looked for again. */
START_TEST(delete_over_more_segments_than_are_remembered) {
  begin();
  db_exec(db, "CREATE VIRTUAL TABLE d USING tidemark(n, segment_rows=16);"
              "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 16 * 1100 - 1)"
              " INSERT INTO d SELECT i FROM c; SELECT tidemark_flush('d')");
  db_exec(db, "BEGIN; DELETE FROM d WHERE n %% 16 = 3; DELETE FROM d WHERE n %% 16 = 5; COMMIT");
  assert_text(db, "15400|1100|2|2", "SELECT sum(rows - deleted), count(*), min(deleted), max(deleted) FROM d_segment");
  assert_text(db, "ok", "SELECT tidemark_check('d')");
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {backup_restored_under_another_connection,
                                partition_of_a_backup_that_was_restored,
                                partition_that_was_rolled_back,
                                partition_of_a_log_that_was_dropped,
                                partition_that_another_connection_made,
                                plain_sink_over_many_partitions,
                                one_transaction_over_many_partitions,
                                idle_before_there_was_anything,
                                waiting_partition_is_not_passed,
                                new_epoch_at_whatever_lowers_it,
                                rename_rolled_back_to_a_savepoint,
                                delete_on_both_sides_of_a_rename,
                                drop_after_an_instance_was_swapped,
                                delete_where_partitions_take_turns,
                                delete_over_more_segments_than_are_remembered,
                                NULL};
  return unit_main("caches", tests);
}
