/* A tick and the connection it runs on: transactions, durability, what it costs, interrupts, and others that tick at
 * the same time. */
#define _GNU_SOURCE
#include <sys/wait.h>

#include "export_db.h"
#include "sink/target.h"

static sqlite3 *second; /* another connection to the same file */
static const char *seen;

/* ---- transactions ---- */

START_TEST(nothing_may_be_open) {
  static const char words[] = "a statement or transaction is still open: commit first";
  begin();
  append_many(1, 1);
  db_exec(db, "CREATE TABLE t(x); INSERT INTO t VALUES ('s'); BEGIN");
  db_refuses(db, SQLITE_MISUSE, words, "SELECT tidemark_export('s')");
  db_refuses(db, SQLITE_MISUSE, words, "SELECT tidemark_claim('s', 'logs')");
  db_refuses(db, SQLITE_MISUSE, words, "SELECT tidemark_ack(1)");
  db_exec(db, "ROLLBACK");
  db_refuses(db, SQLITE_MISUSE, words, "INSERT INTO t SELECT tidemark_export('s')");
  db_refuses(db, SQLITE_MISUSE, words, "SELECT tidemark_export(x) FROM t");
  db_exec(db, "SAVEPOINT a");
  db_refuses(db, SQLITE_MISUSE, words, "SELECT tidemark_export('s')");
  db_exec(db, "ROLLBACK");
  sqlite3_stmt *stmt = NULL;
  sqlite3_prepare_v2(db, "SELECT x FROM t", -1, &stmt, NULL);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  db_refuses(db, SQLITE_MISUSE, words, "SELECT tidemark_export('s')");
  sqlite3_finalize(stmt);
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
  ck_assert_str_eq(tick("batches"), "1");
  end();
}
END_TEST

/* Another authorizer, unlike none, has statements that are kept compiled anew. */
static int allow(void *data, int action, const char *table, const char *column, const char *schema,
                 const char *trigger) {
  (void)data, (void)action, (void)table, (void)column, (void)schema, (void)trigger;
  return SQLITE_OK;
}

static int ignore_until(void *data, int action, const char *table, const char *column, const char *schema,
                        const char *trigger) {
  (void)data, (void)schema, (void)trigger;
  const bool is_until =
      action == SQLITE_READ && strcmp(table, "tidemark_export_log") == 0 && strcmp(column, "until") == 0;
  return is_until ? SQLITE_IGNORE : SQLITE_OK;
}

START_TEST(watermark_that_the_host_hides_ships_nothing) {
  begin();
  append_many(1, 1);
  ck_assert_str_eq(tick("rows"), "1");
  append_many(1, 1);
  sqlite3_set_authorizer(db, ignore_until, NULL);
  const char *said = db_text(db, "SELECT tidemark_export('s')");
  ck_assert_msg(strstr(said, "until or generation of the last row is no number") != NULL, "%s", said);
  sqlite3_set_authorizer(db, allow, NULL);
  ck_assert_int_eq(files_below(folder, false), 1);
  ck_assert_str_eq(tick("rows"), "1");
  check_archive();
  end();
}
END_TEST

START_TEST(synchronous_is_put_back) {
  begin();
  for (int level = 0; level <= 3; level++) {
    db_exec(db, "PRAGMA synchronous = %d", level);
    append_many(1, 1);
    ck_assert_str_eq(tick("batches"), "1");
    assert_int(db, level, "PRAGMA synchronous");
  }
  db_exec(db, "PRAGMA synchronous = 1");
  append_many(1, 1);
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  db_exec(other, "BEGIN IMMEDIATE");
  sqlite3_busy_timeout(db, 0);
  db_refuses(db, SQLITE_BUSY, "locked", "SELECT tidemark_export('s')");
  assert_int(db, 1, "PRAGMA synchronous");
  db_exec(other, "ROLLBACK");
  db_close(other);
  ck_assert_str_eq(tick("batches"), "1");
  end();
}
END_TEST

/* A claim that is only in the page cache could be lost after its file has appeared. */
static int syncs_of_wal, renamed_unsynced;
static bool wal_is_dirty;

static void watch_wal(enum shim_call call, const char *path, int64_t offset, int size) {
  (void)offset, (void)size;
  if (strcmp(path + strlen(path) - 4, "-wal") != 0)
    return;
  if (call == SHIM_SYNC)
    syncs_of_wal++;
  wal_is_dirty = call == SHIM_WRITE || (wal_is_dirty && call != SHIM_SYNC);
}

static void watch_step(const char *step) {
  (void)step;
  renamed_unsynced += wal_is_dirty;
}

START_TEST(claim_is_synced_before_a_byte_leaves) {
  begin();
  append_many(1, 1);
  shim.before = watch_wal;
  tide_target_dir_step = watch_step;
  append_many(1, 1);
  ck_assert(wal_is_dirty); /* synchronous is NORMAL */
  ck_assert_str_eq(tick("batches"), "1");
  ck_assert_int_eq(renamed_unsynced, 0);
  ck_assert_int_gt(syncs_of_wal, 0);
  shim.before = NULL;
  tide_target_dir_step = NULL;
  end();
}
END_TEST

/* ---- what a tick costs ---- */

static int compiled_acks, compiled_claims;

static int watch_compiling(void *context, int action, const char *table, const char *b, const char *c, const char *d) {
  (void)context, (void)b, (void)c, (void)d;
  compiled_acks += action == SQLITE_INSERT && strcmp(table, "tidemark_export_log") == 0;
  compiled_claims += action == SQLITE_INSERT && strcmp(table, "tidemark_batch") == 0;
  return SQLITE_OK;
}

static int open_statements(void) {
  int count = 0;
  for (sqlite3_stmt *stmt = sqlite3_next_stmt(db, NULL); stmt != NULL; stmt = sqlite3_next_stmt(db, stmt))
    count++;
  return count;
}

START_TEST(batches_of_a_tick_share_their_statements) {
  begin();
  append_many(1, 1);
  ck_assert_str_eq(tick("batches"), "1"); /* with what lasts */
  db_exec(db, "INSERT INTO logs VALUES ('a', '1'), ('b', '2'), ('c', '3'), ('d', '4')");
  const int before = open_statements();
  sqlite3_set_authorizer(db, watch_compiling, NULL);
  ck_assert_str_eq(tick("batches"), "4");
  ck_assert_int_eq(compiled_acks, 1);
  ck_assert_int_eq(compiled_claims, 1);
  ck_assert_int_eq(open_statements(), before); /* and none of them stays */
  sqlite3_set_authorizer(db, NULL, NULL);
  check_archive();
  end();
}
END_TEST

START_TEST(idle_tick_writes_nothing) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', '1'), ('b', '2'); UPDATE tidemark_sink SET filter = 'body > 1'");
  ck_assert_str_eq(tick("batches"), "2");
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  const int64_t version = db_int(other, "PRAGMA data_version");
  const int total = sqlite3_total_changes(db);
  const long changes = shim.changes;
  for (int i = 0; i < 100; i++) {
    ck_assert_str_eq(tick("batches"), "0");
    assert_int(db, 0, "SELECT tidemark_export('s', 'now', 'max_batches=3') ->> 'batches'");
  }
  second = db_open(scratch_path("db"), "shim"); /* one that remembers no call before */
  assert_int(second, 0, "SELECT tidemark_export() ->> 'batches'");
  db_close(second);
  ck_assert_int_eq(shim.changes, changes);
  ck_assert_int_eq(sqlite3_total_changes(db), total);
  assert_int(other, version, "PRAGMA data_version");
  db_close(other);
  end();
}
END_TEST

/* A sink that has everything need not look at its partitions: also after a tick that ended an older batch, or found
 * rows deleted. */
static int64_t caught_up(void) {
  return db_int(db, "SELECT caught_up FROM tidemark_sink_state");
}

START_TEST(sink_that_has_everything_knows) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', '1'), ('b', '2')");
  ck_assert_str_eq(tick("batches"), "2");
  ck_assert_int_eq(caught_up(), 2);
  db_exec(db, "INSERT INTO logs VALUES ('a', '3')");
  ck_assert_int_eq(rename(folder, scratch_path("away")), 0);
  ck_assert_str_eq(tick("failed"), "1");
  ck_assert_int_eq(caught_up(), 2);
  ck_assert_int_eq(rename(scratch_path("away"), folder), 0);
  shim.now_ms += 1000;
  ck_assert_str_eq(tick("batches"), "1");
  ck_assert_int_eq(caught_up(), 3);
  db_exec(db, "INSERT INTO logs VALUES ('a', '4'), ('b', '5'); DELETE FROM logs WHERE since = 5");
  ck_assert_str_eq(tick("batches"), "1");
  ck_assert_int_eq(caught_up(), 5);
  end();
}
END_TEST

static void rewind_in_between(const char *step) {
  if (second == NULL || strcmp(step, "written") != 0 ||
      strstr(db_text(second, "SELECT group_concat(partition) FROM tidemark_batch"), "b") == NULL)
    return;
  sqlite3 *other = second;
  second = NULL;
  db_exec(other, "INSERT INTO tidemark_export_log(sink, dataset, partition, kind, since, until, reason)"
                 " VALUES ('s', 'logs', 'source=a', 'rewind', 2, 1, 'while the other partition is on its way')");
  db_close(other);
}

START_TEST(rewind_during_a_tick_is_not_overlooked) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', '1'), ('a', '2'), ('b', '3')");
  second = db_open(scratch_path("db"), "shim");
  tide_target_dir_step = rewind_in_between;
  ck_assert_str_eq(tick("batches"), "2");
  tide_target_dir_step = NULL;
  assert_int(db, 1, "SELECT sum(rows) FROM tidemark_lag WHERE rows > 0");
  ck_assert_str_eq(tick("rows"), "1");
  end();
}
END_TEST

/* Pages read by a tick of 100 new rows on a connection that has read nothing. */
static long reads_of_a_tick(int history) {
  db_exec(db,
          "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d)"
          " INSERT INTO logs SELECT 'p' || (n %% 20), hex(randomblob(20)) FROM c",
          history);
  db_exec(db, "SELECT tidemark_flush('logs')");
  ck_assert_str_eq(tick("more"), "0");
  append_many(100, 50);
  db_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)");
  db_close(db);
  db = db_open(scratch_path("db"), "shim");
  db_exec(db, "SELECT count(*) FROM sqlite_schema");
  shim.reads = 0;
  ck_assert_str_eq(tick("rows"), "100");
  return shim.reads;
}

START_TEST(tick_reads_what_is_new) {
  begin();
  const long few = reads_of_a_tick(2000);
  const long many = reads_of_a_tick(200000);
  ck_assert_msg(many <= few + 12, "%ld reads with a short history, %ld with a long one", few, many);
  end();
}
END_TEST

/* A file that was detached may have been written, and one attached under the same name may be another. */
START_TEST(attached_file_is_looked_at_anew) {
  begin();
  second = db_open(scratch_path("aux"), NULL);
  db_exec(second, "CREATE VIRTUAL TABLE d USING tidemark(x)");
  db_exec(second, "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('s', 'd', 'file://%s', 'ndjson')",
          folder);
  for (int i = 0; i < 3; i++) {
    db_exec(db, "ATTACH '%s' AS aux", scratch_path("aux"));
    db_exec(db, "SELECT tidemark_export(); SELECT tidemark_export(); SELECT tidemark_export(); DETACH aux");
    db_exec(second, "INSERT INTO d VALUES (1)");
    db_exec(db, "ATTACH '%s' AS aux", scratch_path("aux"));
    assert_int(db, 1, "SELECT tidemark_export() ->> 'rows'");
    db_exec(db, "DETACH aux");
  }
  db_close(second);
  end();
}
END_TEST

/* ---- interrupts ---- */

static struct {
  int until;    /* calls to the one that interrupts */
  bool by_flag; /* sqlite3_interrupt, as from another thread; else the handler's own answer */
} interrupting;

static int interrupt(void *unused) {
  (void)unused;
  if (--interrupting.until != 0)
    return 0;
  if (interrupting.by_flag)
    sqlite3_interrupt(db);
  return !interrupting.by_flag;
}

/* Runs SQL that is interrupted at the at-th moment. Whether there was such a moment. */
static bool run_interrupted(const char *sql, int at, bool by_flag, int *ret_rc) {
  interrupting.until = at;
  interrupting.by_flag = by_flag;
  sqlite3_progress_handler(db, 5, interrupt, NULL);
  *ret_rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
  sqlite3_progress_handler(db, 0, NULL, NULL);
  ck_assert_msg(*ret_rc == SQLITE_OK || *ret_rc == SQLITE_INTERRUPT, "%d: %s", *ret_rc, sqlite3_errmsg(db));
  return interrupting.until <= 0;
}

static void interrupt_everywhere(bool by_flag) {
  int interrupted = 0;
  begin();
  db_exec(db, "UPDATE tidemark_sink SET max_rows = 2, filter = 'body <> ''x'''");
  for (int at = 1;; at += 1 + at / 40) {
    db_exec(db, "INSERT INTO logs VALUES ('web', 'one'), ('web', 'two'), ('web', 'three')");
    int rc;
    const bool reached = run_interrupted("SELECT tidemark_export('s')", at, by_flag, &rc);
    ck_assert_msg(sqlite3_get_autocommit(db), "a transaction is open after moment %d", at);
    ck_assert_int_eq(sqlite3_txn_state(db, NULL), SQLITE_TXN_NONE);
    assert_int(db, 1, "PRAGMA synchronous");
    assert_int(db, 0, "SELECT tidemark_export('s', 'now') ->> 'failed'");
    assert_int(db, 0, "SELECT sum(rows) FROM tidemark_lag");
    interrupted += rc == SQLITE_INTERRUPT;
    if (!reached)
      break;
  }
  ck_assert_int_gt(interrupted, 20);
  check_archive();
  end();
}

START_TEST(tick_that_is_interrupted_leaves_nothing_open) {
  interrupt_everywhere(false);
}
END_TEST

START_TEST(tick_that_is_interrupted_from_outside_leaves_nothing_open) {
  interrupt_everywhere(true);
}
END_TEST

/* Inside a transaction the flush follows it. What the interrupt hit may have rolled that back, or have left it with
 * nothing but a rollback. */
static void interrupt_flush(bool by_flag, bool nested) {
  bool reached = true;
  begin();
  for (int at = 1; reached; at += 1 + at / 20) {
    int rc;
    append_many(2, 3);
    const int64_t rows = db_int(db, "SELECT count(*) FROM logs");
    if (nested)
      db_exec(db, "BEGIN; INSERT INTO logs VALUES ('web', 'in the transaction')");
    reached = run_interrupted("SELECT tidemark_flush('logs')", at, by_flag, &rc);
    ck_assert(nested || sqlite3_get_autocommit(db));
    const bool stays =
        nested && !sqlite3_get_autocommit(db) && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
    if (!sqlite3_get_autocommit(db)) {
      ck_assert_ptr_nonnull(strstr(sqlite3_errmsg(db), "failed midway: roll the transaction back"));
      db_exec(db, "ROLLBACK");
    }
    assert_int(db, rows + stays, "SELECT count(*) FROM logs");
    assert_int(db, rows + stays, "SELECT sum(rows) FROM tidemark_stat");
    assert_text(db, "ok", "PRAGMA integrity_check");
    db_exec(db, "SELECT tidemark_flush('logs')");
    assert_int(db, 0, "SELECT sum(tail_rows) FROM tidemark_stat");
  }
  end();
}

START_TEST(flush_that_is_interrupted_leaves_nothing_half_done) {
  for (int i = 0; i < 4; i++)
    interrupt_flush(i & 1, i & 2);
}
END_TEST

/* ---- several at once ---- */

static void tick_in_between(const char *step) {
  if (strcmp(step, "written") != 0 || second == NULL)
    return;
  sqlite3 *other = second;
  second = NULL;
  seen =
      db_text(other, "SELECT e ->> 'batches', e ->> 'failed', e ->> 'waiting' FROM (SELECT tidemark_export('s') AS e)");
  db_close(other);
}

START_TEST(batch_of_a_live_owner_is_left_alone) {
  begin();
  append_many(1, 1);
  second = db_open(scratch_path("db"), "shim");
  tide_target_dir_step = tick_in_between;
  ck_assert_str_eq(tick("batches"), "1");
  tide_target_dir_step = NULL;
  ck_assert_str_eq(seen, "0|0|1");
  check_archive();
  end();
}
END_TEST

static void tick_after_the_lease(const char *step) {
  if (strcmp(step, "written") == 0 && second != NULL)
    shim.now_ms += 60000;
  tick_in_between(step);
}

START_TEST(batch_whose_lease_is_out_is_taken_over_and_its_old_number_cannot_ack) {
  begin();
  append_many(1, 1);
  second = db_open(scratch_path("db"), "shim");
  tide_target_dir_step = tick_after_the_lease;
  assert_text(db, "0|1",
              "SELECT e ->> 'batches', e ->> '$.sinks[0].failures[0].error' LIKE 'the batch was taken over by another "
              "process%%'"
              " FROM (SELECT tidemark_export('s') AS e)");
  tide_target_dir_step = NULL;
  ck_assert_str_eq(seen, "1|0|0");
  assert_int(db, 1, "SELECT count(*) FROM tidemark_export_log");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
  check_archive();
  end();
}
END_TEST

START_TEST(processes_that_tick_together_ship_each_row_once) {
  enum { PROCESSES = 3, ROUNDS = 15 };
  pid_t children[PROCESSES];
  begin();
  db_exec(db, "UPDATE tidemark_sink SET max_rows = 3");
  db_close(db);
  for (int i = 0; i < PROCESSES; i++) {
    children[i] = fork();
    if (children[i] != 0)
      continue;
    db = db_open(scratch_path("db"), NULL);
    sqlite3_busy_timeout(db, 30000);
    for (int round = 0; round < ROUNDS; round++) {
      db_exec(db, "INSERT INTO logs VALUES ('a', '%d.%d'), ('b', '%d.%d')", i, round, i, round);
      db_exec(db, "SELECT tidemark_export('s')");
    }
    _exit(sqlite3_close(db));
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status = 1;
    waitpid(children[i], &status, 0);
    ck_assert_int_eq(status, 0);
  }
  db = db_open(scratch_path("db"), "shim");
  db_exec(db, "SELECT tidemark_export('s', 'now')");
  assert_int(db, PROCESSES * ROUNDS * 2, "SELECT count(*) FROM logs");
  assert_text(db, "", "SELECT coalesce(error, owner) FROM tidemark_batch");
  check_archive();
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {nothing_may_be_open,
                                watermark_that_the_host_hides_ships_nothing,
                                synchronous_is_put_back,
                                claim_is_synced_before_a_byte_leaves,
                                batches_of_a_tick_share_their_statements,
                                idle_tick_writes_nothing,
                                sink_that_has_everything_knows,
                                rewind_during_a_tick_is_not_overlooked,
                                tick_reads_what_is_new,
                                attached_file_is_looked_at_anew,
                                tick_that_is_interrupted_leaves_nothing_open,
                                tick_that_is_interrupted_from_outside_leaves_nothing_open,
                                flush_that_is_interrupted_leaves_nothing_half_done,
                                batch_of_a_live_owner_is_left_alone,
                                batch_whose_lease_is_out_is_taken_over_and_its_old_number_cannot_ack,
                                processes_that_tick_together_ship_each_row_once,
                                NULL};
  return unit_main("tick", tests);
}
