/* The main thing of each feature, against an ordinary table with the same rows wherever there is one. */
#define _GNU_SOURCE
#include "smoke.h"

#include <sys/stat.h>

#include "unit.h"

enum { INTEGRITY_FROM = 3044000 };

/* "logs" in three partitions, part of it sealed, part of it in the tail, and the ordinary table "twin" of its rows. */
static sqlite3 *make_logs(void) {
  scratch_open();
  sqlite3 *db = db_open(scratch_path("db"), NULL);
  db_exec(db, "PRAGMA journal_mode = wal;"
              "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n INTEGER, v ANY, partition_by=source,"
              " segment_rows=16);"
              "CREATE TABLE twin(since INTEGER PRIMARY KEY, source TEXT, n INTEGER, v ANY) STRICT;"
              "CREATE TRIGGER also AFTER INSERT ON twin BEGIN"
              " INSERT INTO logs(source, n, v) VALUES (NEW.source, NEW.n, NEW.v); END");
  db_exec(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100)"
              " INSERT INTO twin(source, n, v) SELECT CASE i %% 3 WHEN 0 THEN 'web' WHEN 1 THEN 'd b' END, i * i %% 17,"
              " CASE i %% 5 WHEN 0 THEN i WHEN 1 THEN i / 4.0 WHEN 2 THEN 'text ' || i WHEN 3 THEN zeroblob(i %% 7) END"
              " FROM c; SELECT tidemark_flush('logs')");
  db_exec(db, "INSERT INTO twin(source, n, v) VALUES ('web', 1, 'one'), (NULL, 2, x'00ff'), ('d b', 3, NULL);"
              "INSERT INTO twin(source, n) VALUES ('web', -9223372036854775808)");
  return db;
}

/* The query, with %s for the table, gives the same of both. */
static void compare(sqlite3 *db, const char *query) {
  char sql[2][512];
  for (int i = 0; i < 2; i++)
    sqlite3_snprintf((int)sizeof sql[i], sql[i], query, i == 0 ? "logs" : "twin", i == 0 ? "logs" : "twin");
  ck_assert_str_eq(db_text(db, "%s", sql[0]), db_text(db, "%s", sql[1]));
}

static void check_same(sqlite3 *db) {
  compare(db, "SELECT since, source, n, hex(v), typeof(v) FROM %s ORDER BY since");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  assert_text(db, "ok", "PRAGMA integrity_check");
}

START_TEST(rows_come_in_by_every_kind_of_insert) {
  sqlite3 *db = make_logs();
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(db, "INSERT INTO twin(source, n) VALUES (?1, ?2)", -1, &stmt, NULL), SQLITE_OK);
  for (int i = 0; i < 20; i++) {
    sqlite3_bind_text(stmt, 1, "prepared", -1, SQLITE_STATIC);
    sqlite3_bind_int(stmt, 2, i);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
    ck_assert_int_eq(sqlite3_reset(stmt), SQLITE_OK);
  }
  sqlite3_finalize(stmt);
  db_exec(db, "BEGIN; INSERT INTO twin(n) VALUES (7); SAVEPOINT a; INSERT INTO twin(n) VALUES (8); ROLLBACK TO a;"
              "INSERT INTO twin(n) VALUES (9); RELEASE a; COMMIT; BEGIN; INSERT INTO twin(n) VALUES (10); ROLLBACK");
  db_exec(db, "DROP TRIGGER also; INSERT INTO logs(n) VALUES (11), (12);"
              "INSERT INTO twin(n) VALUES (11), (12)");
  ck_assert_int_eq(sqlite3_changes(db), 2);
  check_same(db);
  db_refuses(db, SQLITE_CONSTRAINT, "cannot store TEXT value in INTEGER column logs.n",
             "INSERT INTO logs(n) VALUES (1), ('no')");
  db_refuses(db, SQLITE_READONLY, "append-only", "UPDATE logs SET n = 0");
  check_same(db);
  db_close(db);
}
END_TEST

START_TEST(reads_are_those_of_an_ordinary_table) {
  static const char *const queries[] = {
      "SELECT since, n FROM %s WHERE since > 40 ORDER BY since LIMIT 7 OFFSET 3",
      "SELECT since FROM %s ORDER BY since DESC LIMIT 5",
      "SELECT since FROM %s WHERE since IN (3, 101, 55, 3, 999, '7', 8.0, 8.5, NULL) ORDER BY since DESC",
      "SELECT since FROM %s WHERE source = 'web' AND since > '50' ORDER BY since",
      "SELECT since FROM %s WHERE since > 50.5 AND since < 60 OR since BETWEEN 3 AND 5 ORDER BY 1",
      "SELECT count(*), sum(n) FROM %s WHERE source IS NULL AND since > 10",
      "SELECT source, count(*), min(since), max(since), total(n) FROM %s GROUP BY source ORDER BY source",
      "SELECT DISTINCT n FROM %s WHERE source IN ('web', 'd b') ORDER BY n",
      "SELECT since, typeof(v) FROM %s WHERE v > 10 ORDER BY since LIMIT 9",
      "SELECT since FROM %s WHERE v IN (20, 'text 7', 10.25) ORDER BY since",
      "SELECT since FROM %s WHERE n = 4 AND source = 'd b' ORDER BY since",
      "SELECT a.since, b.since FROM %s a JOIN %s b ON b.since = a.n AND b.n > 3 ORDER BY 1, 2 LIMIT 20",
      "SELECT count(*) FROM %s WHERE since > NULL",
      "SELECT rowid, since FROM %s WHERE rowid = 42",
      "SELECT since, row_number() OVER (ORDER BY since) FROM %s WHERE since >= 98 ORDER BY since",
      "SELECT since FROM %s WHERE EXISTS (SELECT 1 FROM %s x WHERE x.since = 5) ORDER BY since LIMIT 2"};
  sqlite3 *db = make_logs();
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
    compare(db, queries[i]);
  assert_text(db, "source=d%20b|1 source=web|3", "SELECT partition, min(since) FROM logs WHERE source > '' GROUP BY 1");
  assert_text(db, "1", "SELECT count(*) FROM logs(101)");
  db_close(db);
}
END_TEST

START_TEST(upkeep_takes_what_it_should) {
  sqlite3 *db = make_logs();
  db_exec(db, "DELETE FROM logs WHERE since %% 4 = 0; DELETE FROM twin WHERE since %% 4 = 0");
  check_same(db);
  assert_int(db, 0, "SELECT tidemark_compact('logs') ->> '$.now.tail_rows' < 0");
  check_same(db);
  assert_int(db, 20, "SELECT tidemark_set('logs', 'retention_rows', 20) ->> 'retention_rows'");
  assert_int(db, db_int(db, "SELECT count(*) - 60 FROM twin"), "SELECT tidemark_prune('logs') ->> 'rows'");
  db_exec(db, "DELETE FROM twin WHERE since NOT IN (SELECT since FROM (SELECT since, row_number() OVER"
              " (PARTITION BY source ORDER BY since DESC) AS newest FROM twin) WHERE newest <= 20)");
  check_same(db);
  db_exec(db, "SELECT tidemark_maintain('logs'); SELECT tidemark_maintain(); VACUUM");
  check_same(db);
  assert_text(db, "60|104", "SELECT rows, last_since FROM tidemark_dataset");
  db_close(db);
}
END_TEST

START_TEST(damage_is_told_where_the_host_asks) {
  sqlite3 *db = make_logs();
  db_exec(db, "UPDATE logs_chunk SET data = zeroblob(length(data)) WHERE id = (SELECT min(id) FROM logs_chunk)");
  ck_assert_ptr_nonnull(strstr(db_text(db, "SELECT tidemark_check('logs')"), "logs"));
  if (sqlite3_libversion_number() >= INTEGRITY_FROM)
    ck_assert_ptr_nonnull(strstr(db_text(db, "PRAGMA integrity_check"), "logs"));
  else
    assert_text(db, "ok", "PRAGMA integrity_check");
  db_exec(db, "DROP TABLE logs");
  db_close(db);
}
END_TEST

START_TEST(a_dataset_is_renamed_and_dropped) {
  sqlite3 *db = make_logs();
  const int64_t rows = db_int(db, "SELECT count(*) FROM twin");
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs');"
              "DROP TRIGGER also; ALTER TABLE logs RENAME TO \"the log\"; INSERT INTO \"the log\"(n) VALUES (1)");
  assert_int(db, rows + 1, "SELECT count(*) FROM \"the log\"");
  assert_text(db, "the log", "SELECT dataset FROM tidemark_sink");
  db_exec(db, "BEGIN; DROP TABLE \"the log\"; ROLLBACK");
  assert_text(db, "ok", "SELECT tidemark_check('the log')");
  db_exec(db, "DROP TABLE \"the log\"");
  assert_text(db, "",
              "SELECT name FROM sqlite_schema WHERE name LIKE 'the log%%' UNION ALL SELECT sink FROM tidemark_sink");
  assert_text(db, "ok", "PRAGMA integrity_check");
  db_close(db);
}
END_TEST

static void transfer(sqlite3 *db) {
  db_exec(db,
          "BEGIN IMMEDIATE; INSERT INTO copy SELECT l.since, l.source, l.n, l.v FROM tidemark_lag w CROSS JOIN logs l"
          " ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until"
          " WHERE w.sink = 'copy' AND w.rows > 0;"
          "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
          " SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'copy' AND rows > 0;"
          "COMMIT");
}

START_TEST(a_sink_in_sql_has_each_row_once) {
  sqlite3 *db = make_logs();
  db_exec(db, "CREATE TABLE copy(since INTEGER PRIMARY KEY, source, n, v);"
              "INSERT INTO tidemark_sink(sink, dataset) VALUES ('copy', 'logs')");
  assert_int(db, 104, "SELECT sum(rows) FROM tidemark_lag WHERE sink = 'copy'");
  assert_int(db, 3, "SELECT max(rows) FROM tidemark_lag WHERE sink = 'copy' AND max_rows = 3");
  transfer(db);
  db_exec(db, "INSERT INTO twin(n) VALUES (1), (2)");
  transfer(db);
  transfer(db);
  assert_text(db, "", "SELECT * FROM twin EXCEPT SELECT * FROM copy");
  assert_text(db, "", "SELECT * FROM copy EXCEPT SELECT * FROM twin");
  db_refuses(db, SQLITE_CONSTRAINT, "since",
             "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until)"
             " VALUES ('copy', 'logs', 'source=web', 1, 2)");
  assert_int(db, 106, "SELECT sum(rows) FROM tidemark_export_log");
  db_close(db);
}
END_TEST

START_TEST(claims_are_acked_once) {
  sqlite3 *db = make_logs();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, filter) VALUES ('mine', 'logs', 'n > 3')");
  assert_int(db, 3, "SELECT tidemark_claim('mine', 'logs')");
  assert_int(db, 3, "SELECT tidemark_claim('mine', 'logs')");
  db_refuses(db, 0, "open batch", "DELETE FROM logs WHERE since = 3");
  const int64_t batch = db_int(db, "SELECT batch FROM tidemark_batch WHERE partition = 'source=web'");
  assert_int(db, db_int(db, "SELECT sum(n > 3) FROM twin WHERE source = 'web'"),
             "SELECT tidemark_ack(%lld, 'there', 12) ->> 'rows'", (long long)batch);
  assert_text(db, "there|12", "SELECT object, bytes FROM tidemark_export_log");
  assert_int(db, 2, "SELECT count(*) FROM tidemark_batch");
  db_exec(db, "DELETE FROM tidemark_batch; SELECT tidemark_rewind('mine', 'logs', 'source=web', 0, 'again')");
  assert_int(db, 3, "SELECT tidemark_claim('mine', 'logs')");
  db_exec(db, "BEGIN");
  db_refuses(db, SQLITE_MISUSE, "commit first", "SELECT tidemark_claim('mine', 'logs')");
  db_exec(db, "COMMIT");
  db_close(db);
}
END_TEST

START_TEST(files_hold_each_row_once) {
  sqlite3 *db = make_logs();
  char folder[128];
  snprintf(folder, sizeof folder, "%s", scratch_path("archive"));
  ck_assert_int_eq(mkdir(folder, 0755), 0);
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format, columns, max_rows)"
          " VALUES ('a', 'logs', 'file://%s', 'ndjson', '[\"since\", \"n\"]', 30)",
          folder);
  assert_int(db, 104, "SELECT tidemark_export('a') ->> 'rows'");
  db_exec(db, "INSERT INTO twin(n) VALUES (5)");
  assert_int(db, 1, "SELECT tidemark_export() ->> 'rows'");
  assert_int(db, 0, "SELECT tidemark_export('a', 'now') ->> 'batches'");
  db_exec(db, "CREATE TABLE line(json TEXT)");
  sqlite3_stmt *objects = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT object FROM tidemark_export_log", -1, &objects, NULL), SQLITE_OK);
  while (sqlite3_step(objects) == SQLITE_ROW) {
    char path[512];
    char line[256];
    snprintf(path, sizeof path, "%s/%s", folder, (const char *)sqlite3_column_text(objects, 0));
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s", path);
    while (fgets(line, sizeof line, file) != NULL)
      db_exec(db, "INSERT INTO line VALUES (%Q)", line);
    fclose(file);
  }
  sqlite3_finalize(objects);
  assert_int(db, 105, "SELECT count(*) FROM line");
  assert_text(db, "", "SELECT since, n FROM twin EXCEPT SELECT json ->> 'since', json ->> 'n' FROM line");
  db_close(db);
}
END_TEST

START_TEST(status_tables_say_how_things_are) {
  sqlite3 *db = make_logs();
  assert_text(db, "logs|104|3|104", "SELECT dataset, last_since, partitions, rows FROM tidemark_dataset");
  assert_text(db, db_text(db, "SELECT source, count(*), max(since) FROM twin GROUP BY 1 ORDER BY 1"),
              "SELECT source, s.rows, s.last_since FROM tidemark_stat s JOIN (SELECT DISTINCT source, partition FROM"
              " logs) USING (partition) ORDER BY 1");
  assert_int(db, 100, "SELECT sum(rows) FROM tidemark_segment WHERE dataset = 'logs'");
  db_refuses(db, 0, "", "DELETE FROM tidemark_stat");
  db_close(db);
}
END_TEST

/* The ways of a host that trusts neither its statements nor its schema. */
START_TEST(a_strict_host_is_served) {
  sqlite3 *db = make_logs();
  db_exec(db, "CREATE VIEW seal AS SELECT tidemark_flush('logs')");
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
  db_refuses(db, 0, "may not be modified", "DELETE FROM logs_tail");
  db_refuses(db, 0, "unsafe use of tidemark_flush", "SELECT * FROM seal");
  db_exec(db, "INSERT INTO twin(n) VALUES (1), (2); SELECT tidemark_flush('logs'); DELETE FROM logs WHERE since = 9;"
              "DELETE FROM twin WHERE since = 9; SELECT tidemark_maintain('logs')");
  check_same(db);
  db_exec(db, "CREATE VIRTUAL TABLE other USING tidemark(x); INSERT INTO other VALUES (1);"
              "ALTER TABLE other RENAME TO another; DROP TABLE another");
  db_close(db);
}
END_TEST

/* Constants of DDL are converted as values are: '30' is a day. */
START_TEST(a_partition_is_a_table_of_its_own) {
  scratch_open();
  sqlite3 *db = db_open(scratch_path("db"), NULL);
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(day INTEGER, n, partition_by=day);"
              "CREATE VIRTUAL TABLE d30 USING tidemark_partition(logs, day='30');"
              "CREATE VIRTUAL TABLE temp.d31 USING tidemark_partition(main.logs, day=31);"
              "INSERT INTO d30(n) VALUES (1); INSERT INTO d31(n) VALUES (2);"
              "SELECT tidemark_add_column('logs', 'x INTEGER DEFAULT ''3''')");
  assert_text(db, "30|1|3", "SELECT * FROM d30");
  db_refuses(db, 0, "cannot store TEXT value in INTEGER column logs.y",
             "SELECT tidemark_add_column('logs', 'y INTEGER DEFAULT ''many''')");
  db_refuses(db, SQLITE_ERROR, "before a RENAME: d30, temp.d31", "ALTER TABLE logs RENAME TO events");
  db_exec(db, "BEGIN; INSERT INTO d30(n) VALUES (3); DROP TABLE d30; COMMIT; INSERT INTO d31(n) VALUES (4)");
  assert_text(db, "1|30|1 2|31|2 3|30|3 4|31|4", "SELECT since, day, n FROM logs ORDER BY since");
  db_exec(db, "DROP TABLE logs");
  db_refuses(db, SQLITE_ERROR, "its dataset logs is gone", "SELECT * FROM d31");
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(more, day TEXT, partition_by=day);"
              "INSERT INTO d31(more) VALUES ('5')");
  assert_text(db, "5|31|text", "SELECT more, day, typeof(day) FROM d31");
  db_close(db);
}
END_TEST

/* A statement that is stepped while its rows are moved, and a second connection that sees the schema change. */
START_TEST(connections_see_each_other) {
  sqlite3 *db = make_logs();
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  sqlite3_stmt *stmt = NULL;
  int64_t rows = 0;
  ck_assert_int_eq(sqlite3_prepare_v2(other, "SELECT since FROM logs ORDER BY since", -1, &stmt, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  db_exec(db, "INSERT INTO twin(n) VALUES (1); SELECT tidemark_flush('logs'); SELECT tidemark_set('logs',"
              " 'retention_rows', 1); SELECT tidemark_prune('logs')");
  do
    rows++;
  while (sqlite3_step(stmt) == SQLITE_ROW);
  ck_assert_int_eq(sqlite3_finalize(stmt), SQLITE_OK);
  ck_assert_int_eq(rows, 104);
  assert_int(other, 3, "SELECT count(*) FROM logs");
  db_exec(other, "INSERT INTO logs(n) VALUES (2)");
  assert_int(db, 106, "SELECT max(since) FROM logs");
  db_close(other);
  db_close(db);
}
END_TEST

START_TEST(a_partition_is_a_table) {
  sqlite3 *db = make_logs();
  db_exec(db, "CREATE VIRTUAL TABLE web USING tidemark_partition(logs, source='web'); DROP TRIGGER also;"
              "INSERT INTO web(n, v) VALUES (5, 'new'); INSERT INTO twin(source, n, v) VALUES ('web', 5, 'new');"
              "DELETE FROM web WHERE since = 3; DELETE FROM twin WHERE since = 3");
  assert_text(db,
              db_text(db, "SELECT since, n, typeof(v) FROM twin WHERE source = 'web' AND since > 90 ORDER BY since"),
              "SELECT since, n, typeof(v) FROM web WHERE since > 90 ORDER BY since");
  check_same(db);
  db_exec(db, "DROP TABLE web");
  db_close(db);
}
END_TEST

START_TEST(a_column_is_added) {
  sqlite3 *db = make_logs();
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  assert_int(other, 104, "SELECT count(*) FROM logs");
  db_exec(db, "SELECT tidemark_add_column('logs', 'level TEXT DEFAULT ''info''');"
              "ALTER TABLE twin ADD COLUMN level TEXT DEFAULT 'info'; DROP TRIGGER also;"
              "INSERT INTO logs(n, level) VALUES (1, 'warn'); INSERT INTO twin(n, level) VALUES (1, 'warn')");
  compare(db, "SELECT since, n, level FROM %s ORDER BY since");
  compare(other, "SELECT since, n, level FROM %s WHERE level <> 'info' ORDER BY since");
  db_close(other);
  check_same(db);
  db_close(db);
}
END_TEST

START_TEST(copies_are_whole) {
  sqlite3 *db = make_logs();
  char copy[256];
  snprintf(copy, sizeof copy, "%s", scratch_path("copy"));
  db_exec(db, "VACUUM INTO %Q; ATTACH %Q AS aux", copy, copy);
  assert_int(db, 0, "SELECT count(*) FROM (SELECT since, * FROM main.logs EXCEPT SELECT since, * FROM aux.logs)");
  db_exec(db, "INSERT INTO aux.logs(n) VALUES (1); SELECT tidemark_flush('aux.logs'); PRAGMA aux.integrity_check");
  assert_text(db, "104|105", "SELECT (SELECT max(since) FROM main.logs), (SELECT max(since) FROM aux.logs)");
  db_exec(db, "DETACH aux");
  db_close(db);
}
END_TEST

int smoke_features(void) {
  const TTest *const tests[] = {rows_come_in_by_every_kind_of_insert,
                                reads_are_those_of_an_ordinary_table,
                                upkeep_takes_what_it_should,
                                damage_is_told_where_the_host_asks,
                                a_dataset_is_renamed_and_dropped,
                                a_sink_in_sql_has_each_row_once,
                                claims_are_acked_once,
                                files_hold_each_row_once,
                                status_tables_say_how_things_are,
                                a_strict_host_is_served,
                                a_partition_is_a_table_of_its_own,
                                connections_see_each_other,
                                a_partition_is_a_table,
                                a_column_is_added,
                                copies_are_whole,
                                NULL};
  return unit_main("host features", tests);
}
