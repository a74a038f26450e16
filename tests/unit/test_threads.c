/* A host with threads: each with a connection of its own (with SQLite's mutexes and without), and all on one connection.
 * Writers, a ticker and upkeep, and in the end each committed row is there once and left once. Nothing of the product may
 * be shared between connections: by hand under -Db_sanitize=thread. */
#define _GNU_SOURCE
#include <pthread.h>

#include "export_db.h"

enum { WRITERS = 2, SHORT_ROUNDS = 25, LONG_ROUNDS = 1000 };

struct worker {
  pthread_t thread;
  sqlite3 *with;
  char name;
  int rounds;
  int done; /* of what it was to do, rounds that did */
  char error[600];
};

/* Tries until the file is not busy; false with the worker's first error. */
static bool run(struct worker *worker, const char *sql) {
  int rc = SQLITE_BUSY;
  for (int i = 0; i < 1000 && (rc & 0xff) == SQLITE_BUSY; i++)
    rc = sqlite3_exec(worker->with, sql, NULL, NULL, NULL);
  if (rc != SQLITE_OK && worker->error[0] == '\0')
    snprintf(worker->error, sizeof worker->error, "%d %s: %s", rc, sql, sqlite3_errmsg(worker->with));
  return rc == SQLITE_OK;
}

static void *write_rows(void *data) {
  struct worker *worker = data;
  char sql[300];
  for (int i = 0; i < worker->rounds; i++) {
    snprintf(sql, sizeof sql, "INSERT INTO logs VALUES ('web', '%c%d'), ('%c', '%c%d'), ('db', '%c%d-')", worker->name,
             i, worker->name, worker->name, -i - 1, worker->name, i);
    worker->done += run(worker, sql);
  }
  return NULL;
}

/* On a connection that others use as well a tick may find a statement open, and says so. */
static void *tick_all(void *data) {
  struct worker *worker = data;
  for (int i = 0; i < worker->rounds; i++) {
    const int rc = sqlite3_exec(worker->with, "SELECT tidemark_export('s', 'now')", NULL, NULL, NULL);
    worker->done += rc == SQLITE_OK;
    if (rc != SQLITE_OK && rc != SQLITE_MISUSE && (rc & 0xff) != SQLITE_BUSY && worker->error[0] == '\0')
      snprintf(worker->error, sizeof worker->error, "%d", rc);
  }
  return NULL;
}

static void *keep_up(void *data) {
  static const char *const calls[] = {"SELECT tidemark_flush('logs')", "SELECT count(*), max(body) FROM logs",
                                      "SELECT tidemark_compact('logs')", "SELECT * FROM tidemark_lag"};
  struct worker *worker = data;
  for (int i = 0; i < worker->rounds; i++) {
    const int rc = sqlite3_exec(worker->with, calls[i % 4], NULL, NULL, NULL);
    worker->done += rc == SQLITE_OK;
    if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY && (rc & 0xff) != SQLITE_LOCKED && worker->error[0] == '\0')
      snprintf(worker->error, sizeof worker->error, "%d %s", rc, calls[i % 4]);
  }
  return NULL;
}

static sqlite3 *open_for(int flags) {
  sqlite3 *opened = NULL;
  ck_assert_int_eq(sqlite3_open_v2(scratch_path("db"), &opened, SQLITE_OPEN_READWRITE | flags, "shim"), SQLITE_OK);
  sqlite3_busy_timeout(opened, 20000);
  ck_assert_int_eq(sqlite3_tidemark_init(opened, NULL, NULL), SQLITE_OK);
  return opened;
}

/* shared: all on one connection. */
static void work(int flags, bool shared) {
  void *(*const jobs[])(void *) = {write_rows, write_rows, tick_all, keep_up};
  enum { JOBS = sizeof jobs / sizeof *jobs };
  struct worker workers[JOBS] = {{0}};
  begin();
  sqlite3 *common = shared ? open_for(flags) : NULL;
  for (int i = 0; i < JOBS; i++) {
    workers[i].with = shared ? common : open_for(flags);
    workers[i].name = (char)('a' + i);
    workers[i].rounds = getenv("TIDE_TEST_LONG") != NULL ? LONG_ROUNDS : SHORT_ROUNDS;
  }
  for (int i = 0; i < JOBS; i++)
    ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, jobs[i], &workers[i]), 0);
  for (int i = 0; i < JOBS; i++)
    ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
  int rows = 0;
  for (int i = 0; i < JOBS; i++) {
    ck_assert_msg(workers[i].error[0] == '\0', "worker %d: %s", i, workers[i].error);
    ck_assert_msg(workers[i].done > 0, "worker %d did nothing", i);
    rows += i < WRITERS ? 3 * workers[i].done : 0;
    ck_assert(i >= WRITERS || workers[i].done == workers[i].rounds);
    if (!shared)
      db_close(workers[i].with);
  }
  if (shared)
    db_close(common);
  assert_int(db, rows, "SELECT count(DISTINCT body) FROM logs");
  assert_int(db, rows, "SELECT max(since) FROM logs");
  db_exec(db, "SELECT tidemark_export('s', 'now')");
  check_archive();
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  end();
}

START_TEST(a_connection_each) {
  work(SQLITE_OPEN_FULLMUTEX, false);
}
END_TEST

START_TEST(a_connection_each_without_mutexes) {
  work(SQLITE_OPEN_NOMUTEX, false);
}
END_TEST

START_TEST(one_connection_for_all) {
  work(SQLITE_OPEN_FULLMUTEX, true);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_connection_each, a_connection_each_without_mutexes, one_connection_for_all, NULL};
  return unit_main("threads", tests);
}
