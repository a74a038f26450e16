/* Hosts finalize every statement they find, at any moment, close with statements open, and close twice over: nothing of
 * ours is in the way, is freed twice or is lost, and what comes after is right. */
#define _GNU_SOURCE
#include "export_db.h"

static void finalize_all(sqlite3 *of) {
  for (sqlite3_stmt *stmt; (stmt = sqlite3_next_stmt(of, NULL)) != NULL;)
    sqlite3_finalize(stmt);
}

/* What a host does with a dataset, each twice, for the second time is the one that finds kept statements. */
static const char *const operations[] = {
    "INSERT INTO logs VALUES ('web', 'one'), ('db', 'two')",
    "INSERT INTO keyed VALUES (NULL); INSERT OR IGNORE INTO keyed VALUES ('a'), ('b'), ('a')",
    "INSERT INTO web(body) VALUES ('three')",
    "SELECT since, body FROM logs WHERE since > 1 ORDER BY since",
    "SELECT count(*) FROM keyed WHERE id = 'a'",
    "SELECT * FROM tidemark_lag",
    "SELECT * FROM tidemark_stat",
    "SELECT * FROM tidemark_segment",
    "SELECT * FROM tidemark_dataset",
    "SELECT tidemark_export('s')",
    "SELECT tidemark_export()",
    "SELECT tidemark_claim('own', 'logs')",
    "DELETE FROM tidemark_batch",
    "SELECT tidemark_flush('logs')",
    "SELECT tidemark_prune('logs')",
    "DELETE FROM logs WHERE since % 5 = 1",
    "SELECT tidemark_compact('logs')",
    "SELECT tidemark_maintain()",
    "SELECT tidemark_check('logs')",
    "SELECT tidemark_peek('s')",
    "SELECT tidemark_verify('s')",
    "SELECT tidemark_set('logs', 'zstd_level', 4)",
    "SELECT tidemark_rewind('s', 'logs', 'source=web', 0, 'again')",
    "BEGIN; INSERT INTO logs VALUES ('web', 'x'); SAVEPOINT a; INSERT INTO logs VALUES ('new', 'y'); ROLLBACK TO a; "
    "COMMIT",
    "BEGIN; INSERT INTO logs VALUES ('gone', 'z'); ROLLBACK",
    "ALTER TABLE keyed RENAME TO other; ALTER TABLE other RENAME TO keyed",
    "CREATE VIRTUAL TABLE temporary USING tidemark(x); DROP TABLE temporary"};

enum { OPERATIONS = sizeof operations / sizeof *operations };

static void begin_all(void) {
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('own', 'logs');"
              "CREATE VIRTUAL TABLE keyed USING tidemark(id TEXT, unique=id);"
              "CREATE VIRTUAL TABLE web USING tidemark_partition(logs, source='web')");
}

static void run(sqlite3 *with, const char *sql) {
  db_exec(with, "%s", sql);
}

START_TEST(statements_are_finalized_after_every_operation) {
  begin_all();
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < OPERATIONS; i++) {
      run(db, operations[i]);
      finalize_all(db);
    }
  }
  db_exec(db, "SELECT tidemark_export('s', 'now')");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  assert_text(db, "ok", "SELECT tidemark_check('keyed')");
  finalize_all(db);
  end();
}
END_TEST

/* The statements of a transaction go while it is open: what it wrote is committed, or rolled back, whole. */
START_TEST(statements_are_finalized_within_a_transaction) {
  static const char *const ends[] = {"COMMIT", "ROLLBACK"};
  for (int i = 0; i < 2; i++) {
    begin_all();
    db_exec(db, "INSERT INTO logs VALUES ('web', 'before')");
    db_exec(db, "BEGIN; INSERT INTO logs VALUES ('web', 'one')");
    sqlite3_stmt *select = NULL;
    ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT * FROM logs", -1, &select, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(select), SQLITE_ROW);
    sqlite3_finalize(select);
    db_exec(db,
            "SAVEPOINT a; INSERT INTO logs VALUES ('db', 'two'); RELEASE a; INSERT INTO web(body) VALUES ('three')");
    db_exec(db, "%s", ends[i]);
    finalize_all(db);
    assert_int(db, i == 0 ? 4 : 1, "SELECT count(*) FROM logs");
    assert_text(db, "ok", "SELECT tidemark_check('logs')");
    end();
  }
}
END_TEST

/* sqlite3_close says BUSY with a host's own statement open, and nothing is lost by having asked. */
static void check_close(const char *sql, bool in_transaction) {
  begin_all();
  db_exec(db, "INSERT INTO logs VALUES ('web', 'one'), ('db', 'two'), ('web', 'three'); SELECT tidemark_flush('logs');"
              "INSERT INTO logs VALUES ('web', 'four')");
  if (in_transaction)
    db_exec(db, "BEGIN; INSERT INTO logs VALUES ('web', 'five')");
  sqlite3_stmt *stmt = NULL;
  ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  ck_assert_int_eq(sqlite3_close(db), SQLITE_BUSY);
  const int rc = sqlite3_step(stmt); /* goes on all the same */
  ck_assert_msg(rc == SQLITE_ROW || rc == SQLITE_DONE, "%s: %d %s", sql, rc, sqlite3_errmsg(db));
  ck_assert_int_eq(sqlite3_close_v2(db), SQLITE_OK); /* a zombie, until its last statement goes */
  while (sqlite3_step(stmt) == SQLITE_ROW)
    ;
  sqlite3_finalize(stmt);
  db = db_open(scratch_path("db"), "shim");
  assert_int(db, 4, "SELECT count(*) FROM logs");
  db_exec(db, "SELECT tidemark_export('s')");
  check_archive();
  end();
}

START_TEST(a_close_with_statements_open) {
  static const char *const reads[] = {"SELECT since, body FROM logs ORDER BY since",
                                      "SELECT body FROM logs",
                                      "SELECT since FROM logs ORDER BY since DESC",
                                      "SELECT body FROM web",
                                      "SELECT a.since FROM logs a JOIN logs b ON a.since < b.since",
                                      "SELECT * FROM tidemark_lag",
                                      "SELECT * FROM tidemark_stat",
                                      "SELECT * FROM tidemark_segment",
                                      "SELECT * FROM tidemark_dataset",
                                      "SELECT value FROM json_each('[1,2,3]'), logs"};
  for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
    check_close(reads[i], false);
    check_close(reads[i], true);
  }
}
END_TEST

/* A host that finalizes what it finds and then closes, after each operation by itself. */
START_TEST(finalize_and_close_after_every_operation) {
  begin_all();
  for (int i = 0; i < OPERATIONS; i++) {
    for (int twice = 0; twice < 2; twice++)
      run(db, operations[i]);
    if (i % 2 == 0)
      finalize_all(db);
    db_close(db); /* without an own statement open, it closes whether the host finalized ours or not */
    db = db_open(scratch_path("db"), "shim");
  }
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  end();
}
END_TEST

/* With a transaction open: its rows are gone, and nothing else. */
START_TEST(a_close_within_a_transaction) {
  for (int finalize = 0; finalize < 2; finalize++) {
    begin_all();
    db_exec(db, "INSERT INTO logs VALUES ('web', 'one'); BEGIN; INSERT INTO logs VALUES ('web', 'two');"
                "SAVEPOINT a; INSERT INTO web(body) VALUES ('three'); SELECT tidemark_flush('logs')");
    if (finalize)
      finalize_all(db);
    db_close(db);
    db = db_open(scratch_path("db"), "shim");
    assert_text(db, "1|one", "SELECT since, body FROM logs");
    db_exec(db, "INSERT INTO logs VALUES ('web', 'two')");
    assert_text(db, "ok", "SELECT tidemark_check('logs')");
    end();
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {statements_are_finalized_after_every_operation,
                                statements_are_finalized_within_a_transaction,
                                a_close_with_statements_open,
                                finalize_and_close_after_every_operation,
                                a_close_within_a_transaction,
                                NULL};
  return unit_main("host closes", tests);
}
