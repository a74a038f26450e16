/* Tables of one partition beside their dataset: what they see, and what both do when one of them goes. */
#define _GNU_SOURCE /* nftw */
#include <string.h>

#include "sql_db.h"
#include "unit.h"

/* ---- beside the dataset ---- */

static const char logs[] = "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n INTEGER, partition_by=source,"
                           " segment_rows=16);"
                           "CREATE VIRTUAL TABLE web USING tidemark_partition(logs, source='web')";

static sqlite3 *open_logs(void) {
  scratch_open();
  sqlite3 *db = db_open(scratch_path("a.db"), NULL);
  db_exec(db, "%s", logs);
  return db;
}

/* Random transactions through the dataset and two partition tables, held against an ordinary table. */
START_TEST(all_tables_see_the_same_rows_at_once) {
  static const char *const partitions[] = {"web", "db"};
  sqlite3 *db = open_logs();
  db_exec(db, "CREATE VIRTUAL TABLE db USING tidemark_partition(logs, source='db'); CREATE TABLE twin(source, n)");
  unsigned seed = 1;
  for (int i = 0; i < 300; i++) {
    seed = seed * 1103515245 + 12345;
    const unsigned what = seed >> 16 & 15;
    const char *source = partitions[seed >> 20 & 1];
    if (what == 0 && sqlite3_get_autocommit(db)) {
      db_exec(db, "BEGIN");
    } else if (what == 1 && !sqlite3_get_autocommit(db)) {
      db_exec(db, "%s", seed >> 21 & 1 ? "COMMIT" : "ROLLBACK");
    } else if (what == 2) {
      db_exec(db, "DELETE FROM %s WHERE n %% 7 = %d; DELETE FROM twin WHERE source = '%s' AND n %% 7 = %d", source,
              i % 7, source, i % 7);
    } else if (what == 3) {
      db_exec(db, "SAVEPOINT s; INSERT INTO %s(n) VALUES(-1); ROLLBACK TO s; RELEASE s", source);
    } else if (what < 9) {
      db_exec(db, "INSERT INTO %s(n) VALUES(%d), (%d); INSERT INTO twin VALUES('%s', %d), ('%s', %d)", source, i, i + 1,
              source, i, source, i + 1);
    } else {
      db_exec(db, "INSERT INTO logs VALUES('%s', %d); INSERT INTO twin VALUES('%s', %d)", source, i, source, i);
    }
    for (int at = 0; at < 2; at++)
      ck_assert_str_eq(db_text(db, "SELECT n FROM %s ORDER BY n", partitions[at]),
                       db_text(db, "SELECT n FROM twin WHERE source = '%s' ORDER BY n", partitions[at]));
  }
  if (!sqlite3_get_autocommit(db))
    db_exec(db, "COMMIT");
  assert_text(db, "1", "SELECT (SELECT count(*) FROM logs) = (SELECT count(*) FROM twin) FROM twin LIMIT 1");
  ck_assert_int_gt(db_int(db, "SELECT count(*) FROM tidemark_segment"), 0);
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  db_close(db);
}
END_TEST

/* 100 partitions are more than a dataset's scan brings in order by itself. */
START_TEST(order_by_since_needs_no_sort) {
  sqlite3 *db = open_logs();
  db_exec(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100)"
              " INSERT INTO logs SELECT i, i FROM c");
  db_close(db);
  db = db_open(scratch_path("a.db"), NULL);
  assert_int(db, 100, "SELECT count(*) FROM logs"); /* now it knows how many partitions there are */
  ck_assert_ptr_nonnull(strstr(db_text(db, "EXPLAIN QUERY PLAN SELECT * FROM logs ORDER BY since"), "TEMP B-TREE"));
  ck_assert_ptr_null(strstr(db_text(db, "EXPLAIN QUERY PLAN SELECT * FROM web ORDER BY since"), "TEMP B-TREE"));
  db_close(db);
}
END_TEST

/* The dataset must hear of the end of a transaction that a dropped table has written in: else it would go on with the
 * numbers it knew. */
START_TEST(a_table_dropped_in_its_transaction_leaves_its_rows) {
  static const char *const ends[] = {"COMMIT", "ROLLBACK"};
  static const char *const seen[] = {"web|1|1 web|2|2 db|3|3", "web|1|1 db|2|2 web|3|3"};
  for (int i = 0; i < 2; i++) {
    sqlite3 *db = open_logs();
    sqlite3 *other = db_open(scratch_path("a.db"), NULL);
    db_exec(db, "INSERT INTO web(n) VALUES(1); BEGIN; INSERT INTO web(n) VALUES(2); DROP TABLE web; %s", ends[i]);
    db_exec(other, "INSERT INTO logs VALUES('db', %d)", i == 0 ? 3 : 2);
    if (i == 0)
      db_refuses(db, SQLITE_ERROR, "no such table: web", "SELECT * FROM web");
    else
      db_exec(db, "INSERT INTO web(n) VALUES(3)");
    assert_text(db, seen[i], "SELECT source, since, n FROM logs ORDER BY since");
    db_exec(db, "INSERT INTO logs VALUES('x', 4)");
    assert_int(other, 4, "SELECT count(DISTINCT since) FROM logs");
    assert_text(other, "ok", "SELECT tidemark_check('logs')");
    db_close(other);
    db_close(db);
  }
}
END_TEST

START_TEST(a_dataset_under_a_cursor_is_not_dropped) {
  sqlite3 *db = open_logs();
  db_exec(db, "INSERT INTO web(n) VALUES(1), (2)");
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT n FROM web", -1, &stmt, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  db_refuses(db, SQLITE_LOCKED, "locked", "DROP TABLE logs");
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  ck_assert_int_eq(sqlite3_column_int(stmt, 0), 2);
  sqlite3_finalize(stmt);
  db_exec(db, "DROP TABLE logs");
  db_close(db);
}
END_TEST

/* ---- without a dataset ---- */

static void refuse_all(sqlite3 *db, int code, const char *words) {
  db_refuses(db, code, words, "SELECT * FROM web");
  db_refuses(db, code, words, "SELECT count(*) FROM web WHERE since > 1");
  db_refuses(db, code, words, "INSERT INTO web(source) VALUES('web')");
  db_refuses(db, code, words, "DELETE FROM web");
}

START_TEST(a_table_whose_dataset_is_gone_says_so_and_can_be_dropped) {
  sqlite3 *db = open_logs();
  sqlite3 *other = db_open(scratch_path("a.db"), NULL);
  assert_int(other, 0, "SELECT count(*) FROM web");
  db_exec(db, "CREATE VIRTUAL TABLE flat USING tidemark(a); CREATE VIRTUAL TABLE whole USING tidemark_partition(flat);"
              "CREATE VIEW v AS SELECT source FROM web");
  db_exec(db, "DROP TABLE logs; DROP TABLE flat");
  sqlite3 *fresh = db_open(scratch_path("a.db"), NULL);
  sqlite3 *const all[] = {db, other, fresh};
  for (int i = 0; i < 3; i++) {
    refuse_all(all[i], SQLITE_ERROR, "partition table web: its dataset logs is gone");
    db_refuses(all[i], SQLITE_ERROR, "partition table whole: its dataset flat is gone", "SELECT * FROM whole");
    assert_text(all[i], "ok", "PRAGMA integrity_check");
    db_refuses(all[i], SQLITE_ERROR, "its dataset logs is gone", "PRAGMA trusted_schema = OFF; SELECT * FROM v");
  }
  db_exec(fresh, "DROP VIEW v; ALTER TABLE web RENAME TO web2; DROP TABLE web2; DROP TABLE whole");
  assert_int(db, 0, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'web%%' OR name = 'whole'");
  for (int i = 0; i < 3; i++)
    db_close(all[i]);
}
END_TEST

START_TEST(a_new_dataset_of_the_name_is_taken_up) {
  sqlite3 *db = open_logs();
  sqlite3 *other = db_open(scratch_path("a.db"), NULL);
  db_exec(other, "INSERT INTO web(n) VALUES(1)");
  db_exec(db, "DROP TABLE logs");
  sqlite3 *fresh = db_open(scratch_path("a.db"), NULL);
  db_refuses(fresh, SQLITE_ERROR, "is gone", "SELECT * FROM web");
  /* with other columns; by the connection that never knew the old ones */
  db_exec(fresh, "CREATE VIRTUAL TABLE logs USING tidemark(level TEXT, source TEXT, partition_by=source)");
  sqlite3 *const all[] = {fresh, db, other};
  for (int i = 0; i < 3; i++)
    db_exec(all[i], "INSERT INTO web(level) VALUES('%d')", i);
  for (int i = 0; i < 3; i++)
    assert_text(all[i], "0|web|1 1|web|2 2|web|3", "SELECT level, source, since FROM web ORDER BY since");
  /* within a transaction that is rolled back, the old one is there again */
  db_exec(db, "BEGIN; DROP TABLE logs; CREATE VIRTUAL TABLE logs USING tidemark(x TEXT, source, n, partition_by=x)");
  refuse_all(db, SQLITE_ERROR, "\"source\" is no partition column of dataset logs, which is partitioned by x");
  db_exec(db, "ROLLBACK; INSERT INTO web(level) VALUES('3')");
  assert_text(db, "0 1 2 3", "SELECT level FROM web ORDER BY since");
  for (int i = 0; i < 3; i++)
    db_close(all[i]);
}
END_TEST

/* The first statement after that may read: what it was planned with is a schema without the dataset. */
START_TEST(a_new_dataset_of_the_name_is_read_at_once) {
  sqlite3 *db = open_logs();
  sqlite3 *other = db_open(scratch_path("a.db"), NULL);
  db_exec(db, "DROP TABLE logs");
  refuse_all(other, SQLITE_ERROR, "partition table web: its dataset logs is gone");
  db_exec(db, "CREATE TABLE bystander(x)");
  db_refuses(other, SQLITE_ERROR, "partition table web: its dataset logs is gone", "SELECT * FROM web");
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, x, partition_by=source);"
              "INSERT INTO web(x) VALUES(5), (6), (7)");
  assert_text(other, "web|5 web|6 web|7", "SELECT * FROM web ORDER BY since");
  db_exec(db, "DROP TABLE logs");
  db_refuses(other, SQLITE_ERROR, "its dataset logs is gone", "SELECT * FROM web");
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, y, partition_by=source);"
              "INSERT INTO web(y) VALUES(8), (9)");
  db_exec(other, "DELETE FROM web WHERE since = 1 AND y = 8");
  assert_text(db, "web|9", "SELECT * FROM web");
  db_close(other);
  db_close(db);
}
END_TEST

START_TEST(a_temp_table_has_columns_that_others_add) {
  sqlite3 *db = open_logs();
  sqlite3 *other = db_open(scratch_path("a.db"), NULL);
  db_exec(other, "CREATE VIRTUAL TABLE temp.mine USING tidemark_partition(main.logs, source='mine');"
                 "INSERT INTO mine DEFAULT VALUES");
  db_exec(db, "SELECT tidemark_add_column('logs', 'first DEFAULT 1')");
  db_exec(other, "INSERT INTO mine(source) VALUES('mine')");
  db_exec(db, "SELECT tidemark_add_column('logs', 'second DEFAULT 2')");
  assert_text(other, "1|2 -|2", "SELECT first, second FROM mine");
  db_exec(db, "SELECT tidemark_add_column('logs', 'third')");
  db_exec(other, "INSERT INTO mine(third) VALUES(3)");
  db_exec(db, "SELECT tidemark_add_column('logs', 'fourth')");
  db_exec(other, "DELETE FROM mine WHERE third IS NULL");
  assert_text(other, "-|-|3|-", "SELECT first, second, third, fourth FROM mine");
  db_close(other);
  db_close(db);
}
END_TEST

/* SQLite forgets the schema of temp, and a table there amid its creation, when it finds another schema changed. */
START_TEST(a_table_in_temp_is_made_while_others_change_main) {
  sqlite3 *db = open_logs();
  sqlite3 *other = db_open(scratch_path("a.db"), NULL);
  assert_int(other, db_int(db, "SELECT count(*) FROM logs"), "SELECT count(*) FROM logs");
  db_exec(db, "CREATE TABLE t1(x)");
  db_exec(other, "CREATE VIRTUAL TABLE temp.scratch USING tidemark(x); INSERT INTO scratch VALUES(1)");
  db_exec(db, "CREATE TABLE t2(x)");
  db_refuses(other, SQLITE_ERROR,
             "partition table mine: another connection has changed schema main: read from its dataset logs once",
             "CREATE VIRTUAL TABLE temp.mine USING tidemark_partition(main.logs, source='mine')");
  db_exec(other, "SELECT count(*) FROM logs;"
                 "CREATE VIRTUAL TABLE temp.mine USING tidemark_partition(main.logs, source='mine')");
  assert_int(other, 1, "SELECT x FROM scratch");
  assert_int(other, 0, "SELECT count(*) FROM mine");
  db_close(other);
  db_close(db);
}
END_TEST

START_TEST(a_value_that_the_new_column_refuses_is_named) {
  sqlite3 *db = open_logs();
  db_exec(db, "DROP TABLE logs; CREATE VIRTUAL TABLE logs USING tidemark(source INTEGER, partition_by=source)");
  refuse_all(db, 0, "partition table web: cannot store TEXT value in INTEGER column logs.source");
  db_exec(db, "DROP TABLE web");
  db_close(db);
}
END_TEST

/* ---- names ---- */

START_TEST(a_rename_names_the_partition_tables) {
  sqlite3 *db = open_logs();
  db_exec(db, "ATTACH '%s' AS aux", scratch_path("b.db"));
  db_exec(db, "CREATE VIRTUAL TABLE aux.logs USING tidemark(source TEXT, partition_by=source);"
              "CREATE VIRTUAL TABLE aux.elsewhere USING tidemark_partition(aux.logs, source='web');"
              "CREATE VIRTUAL TABLE temp.here USING tidemark_partition(\"MAIN\".Logs, source=NULL);"
              "CREATE TABLE about(x DEFAULT 'tidemark_partition(logs)')");
  db_refuses(db, SQLITE_ERROR, "dataset logs has partition tables, drop them before a RENAME: web, temp.here",
             "ALTER TABLE main.logs RENAME TO events");
  for (int i = 1; i <= 6; i++)
    db_exec(db, "CREATE VIRTUAL TABLE p%d USING tidemark_partition(logs, source=%d)", i, i);
  db_refuses(db, SQLITE_ERROR, "before a RENAME: p1, p2, p3, p4, p5 and 3 more", "ALTER TABLE logs RENAME TO events");
  db_refuses(db, SQLITE_ERROR, "before a RENAME: elsewhere", "ALTER TABLE aux.logs RENAME TO events");
  db_exec(db, "INSERT INTO p1(n) VALUES(1); DROP TABLE aux.elsewhere; ALTER TABLE aux.logs RENAME TO events");
  assert_text(db, "1|1", "SELECT * FROM logs");
  assert_text(db, "ok", "SELECT tidemark_check('main.logs')");
  db_close(db);
}
END_TEST

START_TEST(functions_and_sinks_are_told_whose_it_is) {
  static const char *const calls[] = {
      "tidemark_flush('web')",           "tidemark_check('main.web')",
      "tidemark_prune('WEB')",           "tidemark_compact('web')",
      "tidemark_maintain('web')",        "tidemark_set('web', 'segment_rows', 99)",
      "tidemark_add_column('web', 'x')", "tidemark_rewind('s', 'web', 'source=web', 0, 'why')"};
  sqlite3 *db = open_logs();
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    db_refuses(db, SQLITE_ERROR, " is a partition table of dataset logs: give the dataset's name", "SELECT %s",
               calls[i]);
  db_refuses(db, SQLITE_CONSTRAINT, "sink s: web is a partition table of dataset logs",
             "INSERT INTO tidemark_sink(sink, dataset) VALUES('s', 'web')");
  db_close(db);
}
END_TEST

/* "main" in a table's words is what its file was called when it was made. */
START_TEST(a_file_can_be_attached_under_any_name) {
  sqlite3 *db = open_logs();
  db_exec(db, "CREATE VIRTUAL TABLE db USING tidemark_partition(main.logs, source='db'); INSERT INTO db(n) VALUES(1);"
              "VACUUM");
  db_close(db);
  db = db_open(scratch_path("b.db"), NULL);
  db_exec(db, "%s; ATTACH '%s' AS other", logs, scratch_path("a.db"));
  db_exec(db,
          "INSERT INTO other.db(n) VALUES(2); INSERT INTO other.web(n) VALUES(3); INSERT INTO main.web(n) VALUES(4)");
  assert_text(db, "db|1 db|2", "SELECT * FROM other.db");
  assert_text(db, "db|1 db|2 web|3", "SELECT * FROM other.logs ORDER BY since");
  assert_text(db, "web|4", "SELECT * FROM main.logs");
  db_refuses(db, SQLITE_ERROR, "before a RENAME: db, web", "ALTER TABLE other.logs RENAME TO events");
  db_close(db);
}
END_TEST

START_TEST(a_file_that_is_read_only_is_read) {
  sqlite3 *db = open_logs();
  db_exec(db, "INSERT INTO web(n) VALUES(1)");
  db_close(db);
  ck_assert_int_eq(sqlite3_open_v2(scratch_path("a.db"), &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_tidemark_init(db, NULL, NULL), SQLITE_OK);
  assert_text(db, "web|1", "SELECT * FROM web");
  db_refuses(db, SQLITE_READONLY, "readonly", "INSERT INTO web(n) VALUES(2)");
  db_close(db);
}
END_TEST

START_TEST(triggers_may_write_where_the_schema_is_not_trusted) {
  sqlite3 *db = open_logs();
  db_exec(db, "PRAGMA trusted_schema = OFF; CREATE TABLE t(x);"
              "CREATE TRIGGER fill AFTER INSERT ON t BEGIN INSERT INTO web(n) VALUES(new.x); END;"
              "CREATE VIEW v AS SELECT n FROM web; INSERT INTO t VALUES(1), (2)");
  assert_text(db, "1 2", "SELECT * FROM v");
  db_close(db);
}
END_TEST

/* ---- TEMP tables of a dataset elsewhere ---- */

static sqlite3 *open_temp(sqlite3 **ret_other) {
  sqlite3 *db = open_logs();
  *ret_other = db_open(scratch_path("a.db"), NULL);
  sqlite3_busy_timeout(*ret_other, 0);
  db_exec(db, "CREATE TEMP TABLE t(x);"
              "CREATE VIRTUAL TABLE temp.mine USING tidemark_partition(main.logs, source='mine')");
  return db;
}

/* Its statement locks the TEMP schema only: the numbers must be read under the dataset's own lock. */
START_TEST(a_temp_table_writes_under_the_datasets_lock) {
  sqlite3 *other = NULL;
  sqlite3 *db = open_temp(&other);
  db_exec(db, "INSERT INTO mine(n) VALUES(1)");
  db_exec(other, "INSERT INTO logs VALUES('other', 2)");
  db_exec(db, "BEGIN; INSERT INTO mine(n) VALUES(3)");
  db_refuses(other, SQLITE_BUSY, "locked", "INSERT INTO logs VALUES('other', 4)");
  db_exec(db, "INSERT INTO mine(n) VALUES(5); SAVEPOINT s; INSERT INTO mine(n) VALUES(6); ROLLBACK TO s; COMMIT");
  db_exec(other, "INSERT INTO logs VALUES('other', 7)");
  db_exec(db, "BEGIN; DELETE FROM mine WHERE n = 5; INSERT INTO mine(n) VALUES(8); DROP TABLE mine; COMMIT");
  assert_text(other, "mine|1|1 other|2|2 mine|3|3 other|7|5 mine|8|6",
              "SELECT source, n, since FROM logs ORDER BY since");
  assert_text(other, "ok", "SELECT tidemark_check('logs')");
  db_close(other);
  db_close(db);
}
END_TEST

static int other_commits(void *other, int count) {
  return count == 0 && sqlite3_exec(other, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

/* Who has read cannot wait for a lock: it might be the other's that waits for it. */
START_TEST(a_temp_table_waits_for_the_datasets_lock) {
  static const char *const modes[] = {"DELETE", "WAL"};
  for (int i = 0; i < 2; i++) {
    sqlite3 *other = NULL;
    sqlite3 *db = open_temp(&other);
    db_exec(other, "PRAGMA journal_mode = %s; INSERT INTO logs VALUES('mine', 1)", modes[i]);
    assert_int(db, 1, "SELECT count(*) FROM mine");
    db_exec(other, "BEGIN; INSERT INTO logs VALUES('mine', 2)");
    sqlite3_busy_handler(db, other_commits, other);
    db_exec(db, "INSERT INTO mine(n) VALUES(3)");
    assert_text(other, "1|1 2|2 3|3", "SELECT n, since FROM logs ORDER BY since");
    db_close(other);
    db_close(db);
  }
}
END_TEST

/* What a statement has in the dataset's file when it fails goes with it, though the statement is of the TEMP schema:
 * sealed rows (16 are a segment), deletions and the values of unique=. */
START_TEST(a_temp_table_takes_back_what_a_failed_statement_wrote) {
  sqlite3 *other = NULL;
  sqlite3 *db = open_temp(&other);
  db_exec(db, "CREATE VIRTUAL TABLE marks USING tidemark(source TEXT, n INTEGER NOT NULL, partition_by=source,"
              " unique=n, segment_rows=16);"
              "CREATE VIRTUAL TABLE temp.mark USING tidemark_partition(main.marks, source='mine');"
              "BEGIN; INSERT INTO mark(n) VALUES(0), (1); INSERT INTO marks VALUES('other', 2)");
  for (int i = 0; i < 2; i++) {
    db_refuses(db, SQLITE_CONSTRAINT, "UNIQUE constraint failed: marks.n", "INSERT INTO mark(n) VALUES(3), (0)");
    db_refuses(db, SQLITE_CONSTRAINT, "NOT NULL constraint failed: mark.n",
               "INSERT INTO mark(n) WITH RECURSIVE r(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM r WHERE i < 50)"
               " SELECT nullif(i, 50) FROM r");
    assert_text(db, "0|1 1|2 2|3", "SELECT n, since FROM marks ORDER BY since");
    db_exec(db, "SAVEPOINT s");
  }
  db_exec(db, "INSERT INTO mark(n) VALUES(4), (5); ROLLBACK TO s; INSERT INTO mark(n) VALUES(5), (6); COMMIT;"
              "INSERT INTO tidemark_sink(sink, dataset) VALUES('s', 'marks'); SELECT tidemark_claim('s', 'marks')");
  db_exec(db, "INSERT INTO mark(n) VALUES(7); BEGIN");
  db_refuses(db, SQLITE_CONSTRAINT, "is in open batch", "DELETE FROM mark WHERE n <> 1 AND since <> 1 OR n = 0");
  assert_text(db, "0 1 2 5 6 7", "SELECT n FROM marks ORDER BY since");
  db_exec(db, "COMMIT");
  assert_text(other, "0 1 2 5 6 7", "SELECT n FROM marks ORDER BY since");
  assert_text(other, "ok", "SELECT tidemark_check('marks')");
  db_close(other);
  db_close(db);
}
END_TEST

/* SQLite keeps its list of virtual tables in the transaction in steps of five. */
START_TEST(many_temp_tables_share_a_transaction) {
  sqlite3 *other = NULL;
  sqlite3 *db = open_temp(&other);
  for (int i = 0; i < 6; i++)
    db_exec(db,
            "ATTACH ':memory:' AS s%d; CREATE VIRTUAL TABLE s%d.logs USING tidemark(x);"
            "CREATE VIRTUAL TABLE temp.p%d USING tidemark_partition(s%d.logs)",
            i, i, i, i);
  db_exec(db, "BEGIN");
  for (int i = 0; i < 6; i++)
    db_exec(db, "INSERT INTO p%d VALUES(%d); INSERT INTO mine(n) VALUES(%d)", i, i, i);
  db_exec(db, "COMMIT");
  for (int i = 0; i < 6; i++)
    assert_int(db, i, "SELECT x FROM s%d.logs", i);
  assert_text(db, "0 1 2 3 4 5", "SELECT n FROM logs ORDER BY since");
  db_close(other);
  db_close(db);
}
END_TEST

START_TEST(a_temp_table_sees_what_others_commit_and_make_anew) {
  sqlite3 *other = NULL;
  sqlite3 *db = open_temp(&other);
  db_exec(db, "INSERT INTO mine(n) VALUES(1)");
  db_exec(other, "INSERT INTO logs VALUES('mine', 2)");
  assert_text(db, "1 2", "SELECT n FROM mine ORDER BY since");
  db_exec(other, "DROP TABLE logs");
  db_refuses(db, SQLITE_ERROR, "partition table mine: its dataset logs is gone", "SELECT * FROM mine");
  db_exec(other, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n INTEGER, partition_by=source);"
                 "INSERT INTO logs VALUES('mine', 3)");
  assert_text(db, "3", "SELECT n FROM mine");
  db_close(other);
  db_close(db);
}
END_TEST

START_TEST(a_temp_table_follows_the_name_of_its_schema) {
  sqlite3 *db = open_logs();
  db_exec(db, "ATTACH '%s' AS aux", scratch_path("b.db"));
  db_exec(db, "CREATE VIRTUAL TABLE aux.logs USING tidemark(source TEXT, n INTEGER, partition_by=source);"
              "CREATE VIRTUAL TABLE temp.mine USING tidemark_partition(aux.logs, source='mine');"
              "INSERT INTO mine(n) VALUES(1); DETACH aux");
  db_refuses(db, SQLITE_ERROR, "partition table mine: its dataset logs is gone", "SELECT * FROM mine");
  db_refuses(db, SQLITE_ERROR, "is gone", "INSERT INTO mine(n) VALUES(2)");
  db_exec(db, "ATTACH '%s' AS aux", scratch_path("c.db"));
  db_exec(db, "CREATE VIRTUAL TABLE aux.logs USING tidemark(source TEXT, n INTEGER, partition_by=source);"
              "INSERT INTO mine(n) VALUES(3)");
  assert_text(db, "3|1", "SELECT n, since FROM mine");
  db_exec(db, "DETACH aux; ATTACH '%s' AS aux", scratch_path("b.db"));
  assert_text(db, "1|1", "SELECT n, since FROM mine");
  db_exec(db, "INSERT INTO mine(n) VALUES(4)");
  assert_text(db, "1|1 4|2", "SELECT n, since FROM aux.logs ORDER BY since");
  db_close(db);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {all_tables_see_the_same_rows_at_once,
                                order_by_since_needs_no_sort,
                                a_table_dropped_in_its_transaction_leaves_its_rows,
                                a_dataset_under_a_cursor_is_not_dropped,
                                a_table_whose_dataset_is_gone_says_so_and_can_be_dropped,
                                a_new_dataset_of_the_name_is_taken_up,
                                a_new_dataset_of_the_name_is_read_at_once,
                                a_temp_table_has_columns_that_others_add,
                                a_table_in_temp_is_made_while_others_change_main,
                                a_value_that_the_new_column_refuses_is_named,
                                a_rename_names_the_partition_tables,
                                functions_and_sinks_are_told_whose_it_is,
                                a_file_can_be_attached_under_any_name,
                                a_file_that_is_read_only_is_read,
                                triggers_may_write_where_the_schema_is_not_trusted,
                                a_temp_table_writes_under_the_datasets_lock,
                                a_temp_table_waits_for_the_datasets_lock,
                                a_temp_table_takes_back_what_a_failed_statement_wrote,
                                many_temp_tables_share_a_transaction,
                                a_temp_table_sees_what_others_commit_and_make_anew,
                                a_temp_table_follows_the_name_of_its_schema,
                                NULL};
  return unit_main("partition_tables", tests);
}
