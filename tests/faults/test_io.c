/* Each call to the file system that an operation makes through SQLite fails in turn: with an error of its kind, a full
 * disk or a lock that is taken; once, or from there on; for a connection that knows nothing of the database, one that
 * knows it, and one that has to look again. Either the error comes back and the database is as before, or done piece by
 * piece, or the answer is the one that is given without faults; see trial.h. The short form takes a sample. */
#define _GNU_SOURCE
#include "faults_main.h"

/* ---- what the connection is like ---- */

enum knowledge { COLD, WARM, STALE, KNOWLEDGES };

struct setting {
  const char *journal;
  bool is_small; /* so few pages of cache that they are written in the middle */
};

static const struct setting settings[] = {{"wal", false}, {"delete", true}, {"wal", true}, {"delete", false}};
enum { SETTINGS = sizeof settings / sizeof *settings };

static const struct setting *setting;
static enum knowledge knowledge;

/* A commit that changes nothing but the files' versions. */
static void commit_by_another(void) {
  for (int i = 0; i < 2; i++) {
    sqlite3 *plain = NULL;
    ck_assert_int_eq(sqlite3_open(scratch_path(database_files[i]), &plain), SQLITE_OK);
    db_exec(plain, "UPDATE tidemark_registry SET dataset = dataset");
    db_close(plain);
  }
}

static void learn(sqlite3 *db) {
  sqlite3_busy_timeout(db, 0);
  sqlite3_extended_result_codes(db, (int)(trial.n % 2));
  if (setting->is_small)
    db_exec(db, "PRAGMA main.cache_size = 5; PRAGMA aux.cache_size = 5");
  if (knowledge == COLD)
    db_exec(db, "PRAGMA writable_schema = reset"); /* it forgets the schema */
  else
    db_exec(db, "SELECT count(*) FROM logs; SELECT count(*) FROM keys; SELECT count(*) FROM jobs; SELECT count(*) FROM"
                " tidemark_lag");
  if (knowledge == STALE)
    commit_by_another();
}

/* ---- how it fails ---- */

struct way {
  const char *name;
  unsigned kinds; /* of calls; 0: the file must not grow by n pages */
  int rc;         /* 0: the one of each kind */
  bool for_ever;
};

static const struct way ways[] = {
    {"an error", SHIM_ALL & ~SHIM_UNLOCKS, 0, false},
    {"errors", SHIM_ALL & ~SHIM_UNLOCKS, 0, true},
    {"a full disk", SHIM_WRITES, SQLITE_FULL, false},
    {"a disk that stays full", SHIM_WRITES, SQLITE_FULL, true},
    {"a lock that is taken", SHIM_LOCKS, SQLITE_BUSY, false},
    {"locks that stay taken", SHIM_LOCKS, SQLITE_BUSY, true},
    {"a limit of pages", 0, SQLITE_FULL, true},
    {"an unlock", SHIM_UNLOCKS, 0, false},
};
enum { ERRORS = 1, LOCK_IS_TAKEN = 4, WAYS = sizeof ways / sizeof *ways };

static const struct way *way;
static sqlite3_int64 memory;

static void limit_pages(sqlite3 *db, long more) {
  db_exec(db, "PRAGMA max_page_count = %d", (int)(db_int(db, "PRAGMA page_count") + more));
}

static void arm(sqlite3 *db, long n) {
  learn(db);
  if (way->kinds == 0)
    limit_pages(db, n - 1);
  shim_fault_plan(way->kinds, n, way->for_ever, way->rc);
}

static bool disarm(sqlite3 *db) {
  bool reached = shim_fault.failed > 0;
  shim_fault_plan(0, 0, false, 0);
  if (way->kinds == 0) {
    reached =
        sqlite3_errcode(db) == SQLITE_FULL || db_int(db, "PRAGMA page_count") == db_int(db, "PRAGMA max_page_count");
    db_exec(db, "PRAGMA max_page_count = 1000000");
  }
  return reached;
}

/* A WAL whose locks stay taken is SQLITE_PROTOCOL in the end; in a RENAME SQLite itself says SQLITE_ERROR, with the words
 * for what happened. */
static bool is_told(sqlite3 *db, int rc, const char *message) {
  (void)db;
  if (way->rc != 0)
    return (rc & 0xff) == way->rc || (way->rc == SQLITE_BUSY && rc == SQLITE_PROTOCOL);
  return (rc & 0xff) == SQLITE_IOERR || (rc & 0xff) == SQLITE_CANTOPEN ||
         (rc == SQLITE_ERROR && strncmp(trial.sql, "ALTER", 5) == 0 && strstr(message, "disk I/O error") != NULL);
}

/* Not only the file is as before: the connection sees that too. */
static void look_after_error(sqlite3 *db) {
  if (trial.operation->failed != OPERATION_WHOLE || trial.fault->may_be_done)
    return;
  char *state = observed_state(db);
  trial_assert_same(trial.before.state, state, "what the connection sees after the error");
  free(state);
}

/* The connection's memory of what there is is right: a row that is appended now has a number that nobody had, is found
 * and leaves once. */
static void go_on(sqlite3 *db) {
  char *state = observed_state(db);
  trial_assert_same(trial.after.state, state, "what the connection sees at the end");
  free(state);
  trial_assert(db_int(db, "PRAGMA main.synchronous") == 2 && db_int(db, "PRAGMA aux.synchronous") == 2,
               "synchronous is not what it was");
  if (db_int(db, "SELECT count(*) FROM main.sqlite_schema WHERE name = 'logs'") == 0)
    return;
  const int64_t rows = db_int(db, "SELECT count(*) FROM logs");
  const int64_t last =
      db_int(db, "SELECT max(n) FROM (SELECT max(since) AS n FROM logs UNION ALL SELECT max(until) FROM"
                 " tidemark_export_log WHERE dataset = 'logs')");
  shim.now_ms += 600000;
  db_exec(db, "INSERT INTO logs(source) VALUES('s1')");
  trial_assert(sqlite3_last_insert_rowid(db) > last, "since %lld after %lld", sqlite3_last_insert_rowid(db), last);
  trial_assert(db_int(db, "SELECT count(*) FROM logs WHERE since > %lld", last) == 1, "the new row is not there");
  trial_assert(db_int(db, "SELECT count(*) FROM logs") == rows + 1, "the new row is not counted");
  if (db_int(db, "SELECT count(*) FROM tidemark_sink WHERE sink = 'a'") == 0)
    return;
  const char *answer = db_text(db, "SELECT tidemark_export('a', 'now')");
  trial_assert(!trial_tells(answer), "%s", answer);
  trial_assert(db_int(db, "SELECT tidemark_export('a', 'now') ->> 'batches'") == 0 &&
                   db_int(db, "SELECT sum(rows) FROM tidemark_lag WHERE sink = 'a'") == 0,
               "the last tick left something to do");
}

static void assert_all_given_back(void) {
  trial_assert(memory == 0 || sqlite3_memory_used() <= memory, "%lld bytes of memory are left",
               sqlite3_memory_used() - memory);
  memory = sqlite3_memory_used();
  if (!effort_is_long() && trial.n > 1)
    return;
  sqlite3 *db = database_connect();
  trial_assert(strcmp(db_text(db, "PRAGMA main.integrity_check"), "ok") == 0, "SQLite's own check");
  trial_assert_sound(db);
  database_close(db);
}

/* ---- */

/* At every call, or so many times as far on each time. */
static void fail_each(long times) {
  static char name[200];
  static const char *const words[] = {"nothing", "all", "what was"};
  snprintf(name, sizeof name, "%s, journal %s, cache %s, knowing %s, at call", way->name, setting->journal,
           setting->is_small ? "small" : "as usual", words[knowledge]);
  const struct fault fault = {.name = name,
                              .arm = arm,
                              .disarm = disarm,
                              .is_told = is_told,
                              .may_be_done = way->kinds == SHIM_UNLOCKS,
                              .go_on = go_on,
                              .closed = assert_all_given_back};
  memory = 0;
  trial.look = look_after_error;
  for (long n = 1; trial_run(&fault, n); n = times == 1 ? n + 1 : n * times + 1) {
  }
}

/* Each way of each operation in one setting, in the long form; otherwise one way of every eighth operation. */
static bool is_in_sample(int operation, int i) {
  return effort_is_long() || (operation % 8 == 0 && operation / 8 * 3 % WAYS == i);
}

static void fail_in_each_way(int operation) {
  const char *made = settings[0].journal;
  for (int i = 0; i < WAYS; i++) {
    if (!is_in_sample(operation, i))
      continue;
    way = &ways[i];
    setting = &settings[(operation + i) % SETTINGS];
    knowledge = (enum knowledge)((operation / SETTINGS + i) % KNOWLEDGES);
    if (strcmp(made, setting->journal) != 0)
      database_make(made = setting->journal);
    trial_begin(&operations[operation]);
    fail_each(effort_is_long() ? 1 : 7 * EFFORT_DIVISOR);
    trial_end();
  }
}

START_TEST(every_call) {
  if (faults_has_turn(_i, 4))
    fail_in_each_way(_i);
}
END_TEST

/* Also in the short form: what flushes rows at COMMIT swallows nothing. */
START_TEST(every_call_of_an_append) {
  static const struct operation append = {
      .sql = "INSERT INTO logs VALUES('s0', 1, 'one'), ('s3', 2, printf('%.*c', 3000, 'q'))",
      .failed = OPERATION_WHOLE};
  database_make("delete");
  way = &ways[ERRORS];
  setting = &settings[1];
  knowledge = STALE;
  trial_begin(&append);
  fail_each(1);
  ck_assert_int_gt(trial.told, 20);
  trial_end();
}
END_TEST

/* In rollback mode COMMIT finds out that it must wait for readers: tried again it commits once, given up nothing. */
START_TEST(a_commit_that_must_wait) {
  static const struct operation appends = {
      .sql = "BEGIN; INSERT INTO logs VALUES('s0', 1, 'one'); SAVEPOINT s; INSERT INTO logs VALUES('s4', 2, 'two');"
             " DELETE FROM keys WHERE since < 5; RELEASE s; INSERT INTO keys VALUES('s0', 'new'); COMMIT",
      .failed = OPERATION_WHOLE};
  database_make("delete");
  for (int i = 0; i < KNOWLEDGES; i++) {
    way = &ways[LOCK_IS_TAKEN];
    setting = &settings[1];
    knowledge = (enum knowledge)i;
    trial_begin(&appends);
    fail_each(1);
    ck_assert_msg(trial.reached > trial.told && trial.told > 0, "%ld of %ld told", trial.told, trial.reached);
    trial_end();
  }
}
END_TEST

static void make(void) {
  database_make(settings[0].journal);
}

int main(int argc, char **argv) {
  const TTest *const others[] = {every_call_of_an_append, a_commit_that_must_wait, NULL};
  return faults_main("io", make, every_call, others, argc, argv);
}
