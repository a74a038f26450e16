/* Appends, reads, ticks, copies and upkeep by several processes at once, in both journal modes, and killed at random
 * changes of a file:  processes [seed [rounds]]
 * Then the archive's files and the copy in SQL hold each committed row once, and no other. Choices come from the
 * seed; the order in which processes get their turn is the machine's. TIDE_TEST_LONG=1 runs for minutes. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../unit/archive.h"
#include "../unit/shim_vfs.h"
#include "../unit/unit.h"
#include "chance.h"
#include "processes.h"
#include "sink/target.h"

enum { ROUNDS_LONG = 40, MOMENTS = 250 };

static const struct role {
  role_step *step;
  int number;
  int steps;
} roles[] = {{step_write, 0, 70}, {step_write, 1, 70}, {step_write, 2, 70}, {step_read, 0, 25},
             {step_tick, 0, 40},  {step_tick, 1, 40},  {step_copy, 0, 50},  {step_upkeep, 0, 70}};

enum { ROLES = sizeof roles / sizeof *roles };

struct shared *shared;
char archive_folder[256];

static unsigned seed = 1;
static int rounds = 1;

static struct worker {
  pid_t process; /* 0: its work is done */
  int life;
} workers[ROLES];

static int *steps_done; /* of each role, in shared memory too */

/* ---- one life ---- */

static long moments_left; /* until this process dies; 0: it does not */

static void pass_moment(void) {
  if (moments_left > 0 && --moments_left == 0)
    kill(getpid(), SIGKILL);
}

static void on_change(enum shim_call call, const char *path, int64_t offset, int size) {
  (void)call, (void)path, (void)offset, (void)size;
  pass_moment();
}

static void on_target_step(const char *step) {
  (void)step;
  pass_moment();
}

static sqlite3 *open_database(void) {
  sqlite3 *db = db_open(scratch_path("db"), "shim");
  sqlite3_busy_timeout(db, one_in(4) ? 0 : 20);
  insist(db, "PRAGMA synchronous = normal");
  return db;
}

static void live(int role, int life) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  chance_seed(((uint64_t)seed * ROLES + (uint64_t)role) * 1000 + (uint64_t)life);
  shim.before = on_change;
  tide_target_dir_step = on_target_step;
  moments_left = one_in(8) ? 0 : 1 + (long)pick(MOMENTS);
  sqlite3 *db = open_database();
  while (steps_done[role] < roles[role].steps) {
    roles[role].step(db, roles[role].number);
    steps_done[role]++;
    if (one_in(20)) {
      db_close(db);
      db = open_database();
    }
  }
  moments_left = 0;
  db_close(db);
  _exit(0);
}

/* ---- all of them ---- */

static void start(int role) {
  fflush(NULL);
  const pid_t process = fork();
  ck_assert_int_ge(process, 0);
  if (process == 0)
    live(role, workers[role].life);
  workers[role].process = process;
  workers[role].life++;
}

static void stop_all(void) {
  for (int role = 0; role < ROLES; role++) {
    if (workers[role].process != 0)
      kill(workers[role].process, SIGKILL);
  }
}

static int role_of(pid_t process) {
  for (int role = 0; role < ROLES; role++) {
    if (workers[role].process == process)
      return role;
  }
  return -1;
}

/* Until every role is done. Returns how many were killed. */
static int run_all(void) {
  int kills = 0;
  int status = 0;
  pid_t process;
  for (int role = 0; role < ROLES; role++)
    start(role);
  while ((process = wait(&status)) > 0) {
    const int role = role_of(process);
    if (role < 0)
      continue;
    workers[role].process = 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
      kills++;
      start(role);
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      stop_all();
      fprintf(stderr, "seed %u: role %d ended with status %d in its life %d\n", seed, role, status, workers[role].life);
      ck_abort_msg("a process failed");
    }
  }
  return kills;
}

/* ---- before and after ---- */

static void make(const char *journal) {
  scratch_open();
  snprintf(archive_folder, sizeof archive_folder, "%s", scratch_path("archive"));
  ck_assert_int_eq(mkdir(archive_folder, 0755), 0);
  sqlite3 *db = db_open(scratch_path("db"), "shim");
  assert_text(db, journal, "PRAGMA journal_mode = %s", journal);
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, writer INTEGER, n INTEGER, body TEXT,"
              " partition_by=source, segment_rows=64, retention_rows=50);"
              "CREATE TABLE copy(since INTEGER PRIMARY KEY, writer INTEGER, n INTEGER, UNIQUE(writer, n)) STRICT");
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format, columns, max_rows) VALUES"
          " ('archive', 'logs', 'file://%s', 'ndjson', '[\"since\", \"writer\", \"n\"]', 40), ('copy', 'logs', NULL,"
          " NULL, NULL, NULL)",
          archive_folder);
  db_close(db);
  memset(shared, 0, sizeof *shared);
  memset(workers, 0, sizeof workers);
  memset(steps_done, 0, ROLES * sizeof *steps_done);
}

/* The writers' own notes say what must be there: a COMMIT that was not answered may be either. */
static void check_writers(sqlite3 *db) {
  int64_t rows = 0;
  for (int writer = 0; writer < WRITERS; writer++) {
    const int64_t last = db_int(db, "SELECT coalesce(max(n), 0) FROM copy WHERE writer = %d", writer);
    ck_assert_int_eq(last, shared->writers[writer].committed);
    assert_int(db, last, "SELECT count(*) FROM copy WHERE writer = %d AND n > 0", writer);
    rows += last;
  }
  assert_int(db, rows, "SELECT count(*) FROM copy");
}

static void check_left(sqlite3 *db) {
  static const char lines[] = "SELECT json ->> 'since', json ->> 'writer', json ->> 'n' FROM temp.line";
  archive_read(db, archive_folder);
  assert_int(db, db_int(db, "SELECT count(*) FROM copy"), "SELECT count(*) FROM temp.line");
  assert_text(db, "", "SELECT since, writer, n FROM copy EXCEPT %s", lines);
  assert_text(db, "", "%s EXCEPT SELECT since, writer, n FROM copy", lines);
  assert_text(db, "", "SELECT since, writer, n FROM logs EXCEPT SELECT since, writer, n FROM copy");
  assert_text(db, "", "SELECT object FROM temp.file EXCEPT SELECT object FROM tidemark_export_log");
}

static void finish_and_check(void) {
  sqlite3 *db = db_open(scratch_path("db"), "shim");
  assert_text(db, "0|0|0",
              "SELECT j ->> 'failed', j ->> 'waiting', j ->> 'more' FROM"
              " (SELECT tidemark_export('archive', 'now') AS j)");
  chance_seed(seed);
  while (db_int(db, "SELECT sum(rows) FROM tidemark_lag WHERE sink = 'copy'") > 0)
    step_copy(db, 0);
  assert_int(db, 0, "SELECT sum(rows) FROM tidemark_lag");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
  assert_text(db, "ok", "PRAGMA integrity_check");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  check_writers(db);
  check_left(db);
  step_read(db, 0);
  db_close(db);
}

static void run_in(const char *journal) {
  shim_register();
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  steps_done = mmap(NULL, ROLES * sizeof *steps_done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert(shared != MAP_FAILED && steps_done != MAP_FAILED);
  for (const unsigned end = seed + (unsigned)rounds; seed < end; seed++) {
    make(journal);
    const int kills = run_all();
    ck_assert_int_gt(kills, 3);
    ck_assert_int_gt(shared->busy, 3);
    finish_and_check();
  }
}

START_TEST(in_wal_mode) {
  run_in("wal");
}
END_TEST

START_TEST(in_rollback_journal_mode) {
  run_in("delete");
}
END_TEST

int main(int argc, char **argv) {
  const TTest *const tests[] = {in_wal_mode, in_rollback_journal_mode, NULL};
  rounds = getenv("TIDE_TEST_LONG") != NULL ? ROUNDS_LONG : 1;
  if (argc > 1)
    seed = (unsigned)strtoul(argv[1], NULL, 10);
  if (argc > 2)
    rounds = atoi(argv[2]);
  return unit_main("processes", tests);
}
