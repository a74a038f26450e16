/* Every allocation of every operation fails in turn, once, and with all that follow it (in the short form a sample of
 * them). SQLITE_NOMEM comes back, or SQLite goes on without and the answer is right; what is there is as the operation
 * says; it works when repeated on the same connection; all memory is given back with the connection. */
#define _GNU_SOURCE
#include "../unit/oom.h"
#include "faults_main.h"

static void arm_once(sqlite3 *db, long n) {
  (void)db;
  oom_fail_at(n);
}

static void arm_for_ever(sqlite3 *db, long n) {
  (void)db;
  oom_fail_from(n);
}

static bool disarm(sqlite3 *db) {
  (void)db;
  const bool failed = oom_has_failed();
  oom_fail_at(0);
  return failed;
}

static bool is_no_memory(sqlite3 *db, int rc, const char *message) {
  (void)db, (void)message;
  return rc == SQLITE_NOMEM;
}

static void assert_nothing_left(void) {
  sqlite3_shutdown();
  trial_assert(oom_live() == 0, "%ld blocks are left", oom_live());
  sqlite3_initialize();
}

static const struct fault faults[] = {
    {"allocation", arm_once, disarm, is_no_memory, false, NULL, assert_nothing_left},
    {"all allocations from", arm_for_ever, disarm, is_no_memory, false, NULL, assert_nothing_left},
};

START_TEST(every_allocation) {
  if (!faults_has_turn(_i, 1))
    return;
  trial_begin(&operations[_i]);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    for (long n = 1; trial_run(&faults[i], n); n = faults_next(n)) {
    }
  }
  ck_assert_msg(trial.told > 1, "%s: %ld of %ld trials ended with an error", trial.sql, trial.told, trial.reached);
  trial_end();
}
END_TEST

static void make(void) {
  sqlite3_shutdown();
  ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
  oom_install();
  database_make("delete");
}

int main(int argc, char **argv) {
  return faults_main("allocations", make, every_allocation, NULL, argc, argv);
}
