/* Every allocation of every statement that users type fails in turn, once (in the short form a sample of them).
 * SQLITE_NOMEM comes back, what was committed is there and nothing else, the statement works when repeated, and all
 * memory is given back with the connection. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../unit/effort.h"
#include "../unit/oom.h"
#include "../unit/unit.h"
#include "tidemark.h"

static char folder[] = "/tmp/tidemark-oom-XXXXXX";

static void run(sqlite3 *db, const char *sql) {
  char *message = NULL;
  int rc = sqlite3_exec(db, sql, NULL, NULL, &message);
  ck_assert_msg(rc == SQLITE_OK, "%s: %s", sql, message);
}

static sqlite3 *open_db(void) {
  sqlite3 *db = NULL;
  ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
  ck_assert_int_eq(sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0), SQLITE_OK);
  ck_assert_int_eq(sqlite3_tidemark_init(db, NULL, NULL), SQLITE_OK);
  return db;
}

/* A dataset with rows in segments of two partitions, in the tail, some deleted, and two sinks, one with a log. */
static void fill(sqlite3 *db) {
  char sql[512];
  run(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, n INTEGER, x ANY, partition_by=source,"
          " segment_rows=16)");
  run(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 40)"
          " INSERT INTO logs SELECT 's' || (i % 2), i, 'text ' || i FROM c");
  run(db, "SELECT tidemark_flush('logs')");
  run(db, "INSERT INTO logs VALUES('s0', 100, 1.5), ('s2', 101, x'00ff'), ('s0', 102, printf('%.*c', 3000, 'y')), "
          "('s2', 103, printf('%.*c', 3000, 'z'))");
  run(db, "UPDATE logs_config SET value = 1 WHERE key = 'format'");
  run(db, "DELETE FROM logs WHERE since IN (3, 41)");
  run(db, "CREATE VIRTUAL TABLE keys USING tidemark(source TEXT, id, partition_by=source, unique=id, segment_rows=16)");
  run(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20)"
          " INSERT INTO keys SELECT 's' || (i % 2), 'k' || i FROM c");
  snprintf(
      sql, sizeof sql,
      "INSERT INTO tidemark_sink(sink, dataset, target, format, filter) VALUES('a', 'logs', 'file://%s', 'ndjson.zst',"
      " 'n <> 7'); INSERT INTO tidemark_sink(sink, dataset) VALUES('b', 'logs')",
      folder);
  run(db, sql);
  run(db, "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
          " VALUES('b', 'logs', 'source=s0', 0, 20, 10)");
}

static char *state_of(sqlite3 *db) {
  static const char sql[] =
      "SELECT (SELECT group_concat(since || source || n || quote(x)) FROM (SELECT * , since FROM logs ORDER BY since)) "
      "|| '|' ||"
      " (SELECT group_concat(partition || rows || written || deleted) FROM tidemark_stat) || '|' ||"
      " (SELECT group_concat(since || source || quote(id)) FROM (SELECT *, since FROM keys ORDER BY since)) || '|' ||"
      " (SELECT group_concat(quote(value) || partition || since) FROM keys_unique) || '|' ||"
      " (SELECT count(*) FROM tidemark_sink) || '|' || (SELECT count(*) || sum(rows) FROM tidemark_export_log)";
  sqlite3_stmt *stmt = NULL;
  ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
  ck_assert_msg(sqlite3_step(stmt) == SQLITE_ROW, "%s", sqlite3_errmsg(db));
  char *state = strdup(sqlite3_column_text(stmt, 0) != NULL ? (const char *)sqlite3_column_text(stmt, 0) : "");
  sqlite3_finalize(stmt);
  return state;
}

/* What the error left, and the repetition made of it, is sound; after a RENAME or DROP there is none. */
static void check_dataset(sqlite3 *db, long n, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  sqlite3_prepare_v2(db, "SELECT tidemark_check(dataset) FROM tidemark_registry WHERE dataset IN ('logs', 'keys')", -1,
                     &stmt, NULL);
  while (sqlite3_step(stmt) == SQLITE_ROW)
    ck_assert_msg(strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0, "allocation %ld of %s: %s", n, sql,
                  sqlite3_column_text(stmt, 0));
  sqlite3_finalize(stmt);
}

/* Empties the folder, so that every run of an export starts alike. */
static void clean_folder(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s/*", folder);
  ck_assert_int_eq(system(command), 0);
}

struct statement {
  const char *sql;
  int takes_whole; /* after an error the state is the one before */
};

static const struct statement statements[] = {
    {"CREATE VIRTUAL TABLE other USING tidemark(a INTEGER, b TEXT, partition_by=(a, b))", 1},
    {"INSERT INTO logs VALUES('s0', 1, 'one'), ('s3', 2, printf('%.*c', 3000, 'q'))", 1},
    {"BEGIN; INSERT INTO logs VALUES('s0', 1, 'one'); SAVEPOINT s; INSERT INTO logs VALUES('s4', 2, printf('%.*c', "
     "3000, 'q')); RELEASE s; "
     "COMMIT",
     1},
    {"INSERT INTO logs SELECT source, n, x FROM logs", 1},
    {"DELETE FROM logs WHERE n BETWEEN 5 AND 25 OR source = 's2'", 1},
    {"SELECT tidemark_flush('logs')", 1},
    {"SELECT tidemark_compact('logs')", 1},
    {"BEGIN; DELETE FROM logs WHERE source = 's1'; SELECT tidemark_compact('logs'); COMMIT", 1},
    {"SELECT tidemark_check('logs')", 1},
    {"SELECT * FROM logs WHERE since > 5 AND source = 's1' AND x > 'text 2' ORDER BY since DESC", 1},
    {"SELECT *, since, partition, ingested_at FROM logs ORDER BY since", 1},
    {"SELECT * FROM tidemark_lag; SELECT * FROM tidemark_stat; SELECT * FROM tidemark_segment; SELECT * FROM "
     "tidemark_dataset",
     1},
    {"INSERT INTO tidemark_sink(sink, dataset, filter, start) VALUES('c', 'logs', 'n > 3 AND x IS NOT NULL', 'latest')",
     1},
    {"SELECT tidemark_claim('b', 'logs')", 1},
    {"SELECT tidemark_export('a', 'now')", 0},
    {"SELECT tidemark_rewind('b', 'logs', 'source=s0', 0, 'test')", 0}, /* the answer may fail when all is done */
    {"SELECT tidemark_set('logs', 'retention_rows', 5)", 0},
    {"SELECT tidemark_add_column('logs', 'y TEXT DEFAULT ''then''')", 1},
    {"BEGIN; INSERT INTO logs VALUES('s0', 1, 'one'); SELECT tidemark_add_column('logs', 'y NOT NULL DEFAULT x''00''');"
     " INSERT INTO logs VALUES('s0', 1, 'one', 2); COMMIT",
     1},
    {"BEGIN; UPDATE tidemark_sink SET hold_rows = 9; SELECT tidemark_set('logs', 'retention_rows', 5); SELECT"
     " tidemark_prune('logs'); INSERT INTO logs VALUES('s1', 3, 'three'); SELECT tidemark_prune('logs'); COMMIT",
     1},
    {"UPDATE tidemark_sink SET hold = 0; SELECT tidemark_set('logs', 'retention_bytes', 400);"
     " SELECT tidemark_prune('logs')",
     0}, /* partition by partition */
    {"SELECT tidemark_set('logs', 'retention_age', 0); SELECT tidemark_prune('logs', 'dry-run')", 0},
    {"BEGIN; CREATE VIRTUAL TABLE part USING tidemark_partition(logs, source='s0'); INSERT INTO part(n) VALUES(7);"
     " SELECT * FROM part WHERE since > 5 ORDER BY since; ALTER TABLE part RENAME TO other; DELETE FROM other WHERE n "
     "= 2;"
     " DROP TABLE other; COMMIT",
     1},
    {"BEGIN; CREATE VIRTUAL TABLE temp.part USING tidemark_partition(main.logs, source='s0'); DROP TABLE logs;"
     " CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, n INTEGER, x ANY, partition_by=source);"
     " INSERT INTO part(n) VALUES(7); COMMIT",
     1},
    {"INSERT INTO keys VALUES('s0', 'new'), ('s3', 2.5), ('s3', NULL)", 1},
    {"INSERT OR IGNORE INTO keys VALUES('s0', 'k1'), ('s0', 'new'), ('s0', 'new'), ('s3', 'k20')", 1},
    {"BEGIN; DELETE FROM keys WHERE since < 5; INSERT OR IGNORE INTO keys SELECT 's4', id FROM keys;"
     " INSERT INTO keys VALUES('s0', 'k1'); SAVEPOINT s; DELETE FROM keys; ROLLBACK TO s; COMMIT",
     1},
    {"SELECT tidemark_set('keys', 'retention_rows', 3); SELECT tidemark_prune('keys')", 0},
    {"SELECT tidemark_check('keys')", 1},
    {"CREATE VIRTUAL TABLE other USING tidemark(id TEXT, unique=id)", 1},
    {"BEGIN; ALTER TABLE keys RENAME TO renamed; ALTER TABLE renamed RENAME TO keys; COMMIT", 1},
    {"DROP TABLE keys", 0},
    {"ALTER TABLE logs RENAME TO renamed", 1},
    {"DROP TABLE logs", 0},
};

/* All of them with TIDE_TEST_LONG=1; otherwise the further on, the fewer. */
static long next_allocation(long n) {
  return effort_is_long() ? n + 1 : n + 1 + n * EFFORT_DIVISOR / 3;
}

START_TEST(every_allocation) {
  const struct statement *statement = &statements[_i];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  oom_install();
  long n = 1;
  for (;; n = next_allocation(n)) {
    sqlite3 *db = open_db();
    fill(db);
    char *before = state_of(db);
    oom_fail_at(n);
    int rc = sqlite3_exec(db, statement->sql, NULL, NULL, NULL);
    const bool failed = oom_has_failed();
    oom_fail_at(0);
    ck_assert_msg(rc == SQLITE_OK || rc == SQLITE_NOMEM, "allocation %ld of %s: %d %s", n, statement->sql, rc,
                  sqlite3_errmsg(db));
    if (rc != SQLITE_OK) {
      if (!sqlite3_get_autocommit(db))
        run(db, "ROLLBACK");
      char *after = state_of(db);
      if (statement->takes_whole)
        ck_assert_msg(strcmp(before, after) == 0, "allocation %ld of %s:\n%s\n%s", n, statement->sql, before, after);
      free(after);
      run(db, statement->sql);
      check_dataset(db, n, statement->sql);
    }
    free(before);
    clean_folder();
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    sqlite3_shutdown();
    ck_assert_msg(oom_live() == 0, "allocation %ld of %s: %ld blocks are left", n, statement->sql, oom_live());
    sqlite3_initialize();
    if (!failed)
      break;
  }
  ck_assert_int_gt(n, 5);
  rmdir(folder);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("oom");
  TCase *tcase = tcase_create("oom");
  tcase_set_timeout(tcase, 600);
  tcase_add_loop_test(tcase, every_allocation, 0, (int)(sizeof statements / sizeof *statements));
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
