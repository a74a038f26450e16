/* Another connection is in the way of each call: it says SQLITE_BUSY, has done nothing, and works when it is called
 * again. */
#define _GNU_SOURCE
#include "busy_db.h"
#include "sink/target.h"

/* ---- a call ---- */

static int run(const char *sql) {
  return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static void assert_busy(const struct call *call, int rc) {
  ck_assert_msg((rc & 0xff) == SQLITE_BUSY, "%s: %d, %s", call->sql, rc, sqlite3_errmsg(db));
  if (call->kind != CALL_PLAIN)
    ck_assert_msg(sqlite3_extended_errcode(db) != SQLITE_BUSY_SNAPSHOT, "%s: %s", call->sql, sqlite3_errmsg(db));
}

/* The call does its work, once: its effect is there, and nothing of it is left to do. */
static void assert_works(const struct call *call) {
  db_exec(db, "%s", call->sql);
  ck_assert_msg(strcmp(db_text(other, "%s", call->effect), call->after) == 0, "%s: %s, not %s", call->sql,
                db_text(other, "%s", call->effect), call->after);
}

static void assert_undone(const struct call *call) {
  ck_assert_msg(strcmp(db_text(db, "%s", call->effect), call->before) == 0, "%s: %s, not %s", call->sql,
                db_text(db, "%s", call->effect), call->before);
}

#define for_each_call(call) for (const struct call *call = calls; call < calls + sizeof calls / sizeof *calls; call++)

/* ---- locks of another connection ---- */

static const struct {
  const char *journal;
  const char *lock;
  bool reads; /* it leaves reading alone */
} locks[] = {{"wal", "BEGIN IMMEDIATE", true},
             {"delete", "BEGIN IMMEDIATE", true},
             {"delete", "BEGIN EXCLUSIVE", false},
             {"delete", "BEGIN; SELECT count(*) FROM two", true}};

static void try_under_lock(const struct call *call, size_t lock) {
  busy_open(locks[lock].journal);
  assert_undone(call);
  const int64_t version = db_int(other, "PRAGMA data_version");
  db_exec(other, "%s", locks[lock].lock);
  for (int again = 0; again < 2; again++) {
    assert_busy(call, run(call->sql));
    ck_assert_int_eq(sqlite3_get_autocommit(db), 1);
    ck_assert_int_eq(sqlite3_txn_state(db, NULL), SQLITE_TXN_NONE);
    if (locks[lock].reads)
      assert_undone(call);
  }
  db_exec(other, "ROLLBACK");
  assert_int(other, version, "PRAGMA data_version"); /* nobody has committed anything */
  assert_works(call);
  busy_close();
}

START_TEST(a_lock_of_another_connection) {
  for (size_t lock = 0; lock < sizeof locks / sizeof *locks; lock++) {
    for_each_call(call) try_under_lock(call, lock);
  }
}
END_TEST

/* ---- a state that is not the newest ---- */

static void append_elsewhere(void) {
  db_exec(other, "INSERT INTO jobs VALUES ('from elsewhere'); DELETE FROM jobs WHERE body = 'from elsewhere'");
}

static const char stale[] = "reads an older state than the newest write: end it and try again";

START_TEST(a_transaction_that_read_an_older_state) {
  for_each_call(call) {
    if (call->kind == CALL_OUTSIDE)
      continue;
    busy_open("wal");
    db_exec(db, "BEGIN");
    assert_undone(call);
    append_elsewhere();
    const int64_t version = db_int(other, "PRAGMA data_version");
    for (int again = 0; again < 2; again++) {
      assert_busy(call, run(call->sql));
      if (call->kind == CALL_FUNCTION)
        ck_assert_msg(strstr(sqlite3_errmsg(db), stale) != NULL, "%s: %s", call->sql, sqlite3_errmsg(db));
      ck_assert_int_eq(sqlite3_get_autocommit(db), 0); /* the transaction reads on */
      assert_undone(call);
    }
    db_exec(db, "COMMIT");
    assert_int(other, version, "PRAGMA data_version");
    assert_works(call);
    busy_close();
  }
}
END_TEST

/* The host asked for extended codes: it gets none that would tell it that waiting helps. */
START_TEST(extended_codes_are_no_other) {
  for_each_call(call) {
    if (call->kind != CALL_FUNCTION)
      continue;
    busy_open("wal");
    sqlite3_extended_result_codes(db, 1);
    db_exec(db, "BEGIN");
    assert_undone(call);
    append_elsewhere();
    ck_assert_int_eq(run(call->sql), SQLITE_BUSY);
    db_exec(db, "ROLLBACK");
    assert_works(call);
    busy_close();
  }
}
END_TEST

/* The statement's own read transaction is what is old: a table in its FROM was read before the other's commit. */
START_TEST(a_statement_that_read_an_older_state) {
  for_each_call(call) {
    if (call->kind != CALL_FUNCTION)
      continue;
    sqlite3_stmt *stmt = NULL;
    char sql[512];
    busy_open("wal");
    snprintf(sql, sizeof sql, "SELECT n, iif(n = 2, (%s), 0) FROM two ORDER BY n", call->sql);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    append_elsewhere();
    const int64_t version = db_int(other, "PRAGMA data_version");
    assert_busy(call, sqlite3_step(stmt));
    ck_assert_msg(strstr(sqlite3_errmsg(db), stale) != NULL, "%s: %s", call->sql, sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    ck_assert_int_eq(sqlite3_get_autocommit(db), 1);
    assert_int(other, version, "PRAGMA data_version");
    assert_undone(call);
    assert_works(call);
    busy_close();
  }
}
END_TEST

/* ---- COMMIT ---- */

static const char append_many[] = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2500)"
                                  " INSERT INTO logs SELECT 'many', 'many ' || n FROM c";

/* 2,500 rows are above segment_rows: the first COMMIT seals them in xSync, and the next ones find them sealed. */
START_TEST(a_commit_tried_again_appends_once) {
  for (int more = 0; more < 2; more++) {
    busy_open("delete");
    db_exec(other, "BEGIN; SELECT count(*) FROM two");
    db_exec(db, "BEGIN; %s; INSERT INTO jobs VALUES ('a'), ('b'); DELETE FROM logs WHERE since = 5", append_many);
    for (int i = 0; i < 3; i++) {
      ck_assert_int_eq(run("COMMIT"), SQLITE_BUSY);
      ck_assert_int_eq(sqlite3_get_autocommit(db), 0);
      ck_assert_int_eq(sqlite3_changes(db), i > 0 && more ? 2 : 1);
      assert_int(db, 2500, "SELECT count(*) FROM logs WHERE source = 'many'");
      if (more)
        db_exec(db, "INSERT INTO logs VALUES ('more', %d), ('more', %d)", i, i);
    }
    db_exec(other, "COMMIT");
    db_exec(db, "COMMIT");
    assert_int(other, 2500, "SELECT count(*) FROM logs WHERE source = 'many'");
    assert_text(other, "many 1|many 2500",
                "SELECT (SELECT body FROM logs WHERE since = 41), (SELECT body FROM logs"
                " WHERE since = 2540)");
    assert_int(other, 2539 + 6 * more, "SELECT count(*) FROM logs");
    assert_int(other, 2540 + 6 * more, "SELECT max(since) FROM logs");
    assert_int(other, 7, "SELECT count(*) FROM jobs");
    busy_close();
  }
}
END_TEST

START_TEST(a_commit_given_up_appends_nothing) {
  busy_open("delete");
  db_exec(other, "BEGIN; SELECT count(*) FROM two");
  db_exec(db, "BEGIN; %s; DELETE FROM logs WHERE since = 5", append_many);
  ck_assert_int_eq(run("COMMIT"), SQLITE_BUSY);
  db_exec(db, "ROLLBACK");
  assert_text(db, "40|40", "SELECT count(*), max(since) FROM logs");
  db_exec(other, "COMMIT");
  db_exec(db, "INSERT INTO logs VALUES ('web', 'next')");
  assert_text(other, "41|41", "SELECT count(*), max(since) FROM logs");
  busy_close();
}
END_TEST

/* SQLite rolls a statement that is its own transaction back when it cannot commit. */
START_TEST(a_statement_that_cannot_commit_appends_nothing) {
  busy_open("delete");
  db_exec(other, "BEGIN; SELECT count(*) FROM two");
  ck_assert_int_eq(run(append_many), SQLITE_BUSY);
  assert_text(db, "40|40", "SELECT count(*), max(since) FROM logs");
  db_exec(other, "COMMIT");
  db_exec(db, "%s", append_many);
  assert_text(other, "2540|2540", "SELECT count(*), max(since) FROM logs");
  busy_close();
}
END_TEST

/* ---- waiting ---- */

struct waiting {
  int calls;
  int let_go_at; /* 0: never */
};

static int wait_for_other(void *data, int tries) {
  struct waiting *waiting = data;
  waiting->calls++;
  if (tries + 1 == waiting->let_go_at)
    db_exec(other, "ROLLBACK");
  return tries < 4;
}

/* Each call waits as the connection was told to, and works when the lock is let go in time. */
START_TEST(calls_wait_as_the_host_says) {
  for_each_call(call) {
    struct waiting waiting = {0, 0};
    busy_open("wal");
    db_exec(other, "BEGIN IMMEDIATE");
    sqlite3_busy_handler(db, wait_for_other, &waiting);
    assert_busy(call, run(call->sql));
    ck_assert_msg(waiting.calls == 5, "%s: waited %d times", call->sql, waiting.calls);
    assert_undone(call);
    waiting = (struct waiting){0, 3};
    assert_works(call);
    ck_assert_msg(waiting.calls == 3, "%s: waited %d times", call->sql, waiting.calls);
    sqlite3_busy_handler(db, NULL, NULL);
    busy_close();
  }
}
END_TEST

/* A commit of our own waits for a reader, in rollback-journal mode. */
START_TEST(a_commit_of_ours_waits_for_readers) {
  for_each_call(call) {
    struct waiting waiting = {0, 3};
    busy_open("delete");
    db_exec(other, "BEGIN; SELECT count(*) FROM two");
    sqlite3_busy_handler(db, wait_for_other, &waiting);
    assert_works(call);
    ck_assert_msg(waiting.calls == 3, "%s: waited %d times", call->sql, waiting.calls);
    sqlite3_busy_handler(db, NULL, NULL);
    busy_close();
  }
}
END_TEST

/* ---- within a tick ---- */

static void get_in_the_way(const char *step) {
  (void)step;
  if (sqlite3_get_autocommit(other))
    db_exec(other, "BEGIN IMMEDIATE");
}

/* The file is there when the acks find the lock taken: the batch stays, and the next tick ends it without another
 * file. */
START_TEST(a_tick_that_cannot_ack_ships_once) {
  static const char *const journals[] = {"wal", "delete"};
  for (int i = 0; i < 2; i++) {
    busy_open(journals[i]);
    tide_target_dir_step = get_in_the_way;
    ck_assert_int_eq(run("SELECT tidemark_export('s')"), SQLITE_BUSY);
    tide_target_dir_step = NULL;
    archive_read(db, scratch_path("archive"));
    assert_int(db, 1, "SELECT count(*) FROM temp.file");
    assert_text(db, "0|40|0",
                "SELECT attempts, rows, (SELECT count(*) FROM tidemark_export_log WHERE sink = 's')"
                " FROM tidemark_batch WHERE sink = 's'");
    db_exec(other, "ROLLBACK");
    assert_text(db, "1|40|0",
                "SELECT j ->> 'batches', j ->> 'rows', j ->> 'failed' FROM"
                " (SELECT tidemark_export('s') AS j)");
    archive_read(db, scratch_path("archive"));
    assert_int(db, 1, "SELECT count(*) FROM temp.file");
    busy_close();
  }
}
END_TEST

/* ---- reading ---- */

/* A connection that has not read anything yet, too, is told that it must wait, and not that nothing is there. */
START_TEST(a_read_that_must_wait_says_so) {
  static const char *const queries[] = {"SELECT count(*) FROM logs",
                                        "SELECT tidemark_check('logs')",
                                        "SELECT tidemark_prune('logs', 'dry-run')",
                                        "SELECT count(*) FROM tidemark_stat",
                                        "SELECT count(*) FROM tidemark_lag",
                                        "SELECT tidemark_export('s')",
                                        "SELECT tidemark_export()",
                                        "SELECT tidemark_maintain()",
                                        "SELECT tidemark_set('logs', 'retention_rows', 5)",
                                        "SELECT tidemark_ack(1)",
                                        "SELECT tidemark_claim('mine', 'jobs')"};
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
    busy_open("delete");
    sqlite3 *fresh = db_open(scratch_path("db"), "shim");
    sqlite3_busy_timeout(fresh, 0);
    db_exec(other, "BEGIN EXCLUSIVE");
    db_refuses(db, SQLITE_BUSY, "locked", "%s", queries[i]);
    db_refuses(fresh, SQLITE_BUSY, "locked", "%s", queries[i]);
    db_exec(other, "ROLLBACK");
    db_exec(fresh, "%s", queries[i]);
    db_close(fresh);
    busy_close();
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_lock_of_another_connection,
                                a_transaction_that_read_an_older_state,
                                extended_codes_are_no_other,
                                a_statement_that_read_an_older_state,
                                a_commit_tried_again_appends_once,
                                a_commit_given_up_appends_nothing,
                                a_statement_that_cannot_commit_appends_nothing,
                                calls_wait_as_the_host_says,
                                a_commit_of_ours_waits_for_readers,
                                a_tick_that_cannot_ack_ships_once,
                                a_read_that_must_wait_says_so,
                                NULL};
  return unit_main("busy", tests);
}
