/* Every operation is interrupted at every step of SQLite's, those of the statements within it too, at every read and
 * write of a file, and before and after every statement of its own (in the short form at a sample of them): by
 * sqlite3_interrupt, or by a progress handler that says so from then on, as a time-out does. It says SQLITE_INTERRUPT,
 * or ends rightly; nothing is left open; what is there is as the operation says, and it works when repeated on the same
 * connection. What it does after the time-out is bounded. */
#define _GNU_SOURCE
#include "faults_main.h"

enum {
  STEPS_AFTER = 400,  /* of SQLite's, to clean up */
  TOUCHES_AFTER = 400 /* of files: a rollback writes back what it had changed */
};

static struct {
  sqlite3 *db;
  long until; /* chances to the one that is taken; 0: none will */
  bool reached;
  bool counts; /* another schema is there */
  bool stays;  /* a progress handler that goes on saying so */
  long steps_after;
  long touches_after;
} interrupt;

static void arm(sqlite3 *db, long n) {
  interrupt.db = db;
  interrupt.until = n;
  interrupt.reached = interrupt.stays = interrupt.counts = false;
  interrupt.steps_after = interrupt.touches_after = 0;
}

/* Whether this chance is the one. */
static bool is_due(void) {
  if (interrupt.until == 0 || --interrupt.until > 0)
    return false;
  interrupt.reached = true;
  return true;
}

static void interrupt_if_due(void) {
  if (is_due())
    sqlite3_interrupt(interrupt.db);
}

static bool disarm(sqlite3 *db) {
  sqlite3_progress_handler(db, 0, NULL, NULL);
  sqlite3_trace_v2(db, 0, NULL, NULL);
  shim.touched = NULL;
  trial_assert(interrupt.steps_after <= STEPS_AFTER, "%ld steps after the time-out", interrupt.steps_after);
  trial_assert(interrupt.touches_after <= TOUCHES_AFTER, "%ld reads and writes after the time-out",
               interrupt.touches_after);
  return interrupt.reached;
}

/* ---- at a step ---- */

static int at_step(void *data) {
  (void)data;
  interrupt.steps_after += interrupt.reached && interrupt.stays;
  if (is_due() && !interrupt.stays)
    sqlite3_interrupt(interrupt.db);
  return interrupt.stays && interrupt.reached;
}

static void arm_steps(sqlite3 *db, long n) {
  arm(db, n);
  sqlite3_progress_handler(db, 1, at_step, NULL);
}

static void count_touch(void) {
  interrupt.touches_after += interrupt.reached;
}

static void arm_time_out(sqlite3 *db, long n) {
  arm_steps(db, n);
  interrupt.stays = true;
  shim.touched = count_touch;
}

/* ---- at a file ---- */

static void arm_files(sqlite3 *db, long n) {
  arm(db, n);
  shim.touched = interrupt_if_due;
}

/* ---- at a statement ---- */

static int at_statement(unsigned type, void *data, void *stmt, void *text) {
  (void)type, (void)data, (void)stmt, (void)text;
  if (is_due())
    sqlite3_interrupt(interrupt.db);
  return 0;
}

static void arm_statements(sqlite3 *db, long n) {
  arm(db, n);
  sqlite3_trace_v2(db, SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE, at_statement, NULL);
}

/* Another process changes the schema when a transaction of the operation's own begins; chances count from there. */
static int at_begin(unsigned type, void *data, void *stmt, void *text) {
  (void)data, (void)stmt;
  if (!interrupt.counts && type == SQLITE_TRACE_STMT && strncmp(text, "-- BEGIN", 8) == 0) {
    sqlite3 *other = NULL;
    sqlite3_open(scratch_path(database_files[0]), &other);
    interrupt.counts = sqlite3_exec(other, "PRAGMA schema_version = 1000000", NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_close(other);
  }
  return 0;
}

static int at_step_from_begin(void *data) {
  return interrupt.counts ? at_step(data) : 0;
}

static void at_file_from_begin(void) {
  if (interrupt.counts)
    interrupt_if_due();
}

static void arm_other_schema(sqlite3 *db, long n) {
  arm(db, n);
  sqlite3_trace_v2(db, SQLITE_TRACE_STMT, at_begin, NULL);
  sqlite3_progress_handler(db, 1, at_step_from_begin, NULL);
  shim.touched = at_file_from_begin;
}

/* ---- the test ---- */

static bool is_interrupt(sqlite3 *db, int rc, const char *message) {
  (void)db;
  const bool is_alter = strstr(trial.sql, "ALTER TABLE") != NULL; /* whose own error SQLite gives instead */
  return rc == SQLITE_INTERRUPT || (is_alter && rc == SQLITE_ERROR && strstr(message, "interrupted") != NULL);
}

static const struct fault faults[] = {
    {"interrupt at step", arm_steps, disarm, is_interrupt, true, NULL, NULL},
    {"time-out from step", arm_time_out, disarm, is_interrupt, true, NULL, NULL},
    {"interrupt at read or write", arm_files, disarm, is_interrupt, true, NULL, NULL},
    {"interrupt at a statement's begin or end", arm_statements, disarm, is_interrupt, true, NULL, NULL},
    {"interrupt at step, read or write behind another schema", arm_other_schema, disarm, is_interrupt, true, NULL,
     NULL},
};

START_TEST(every_interrupt) {
  if (!faults_has_turn(_i, 5) || strcmp(operations[_i].sql, "VACUUM") == 0)
    return; /* interrupted for ever, SQLite leaves the file it vacuums into attached */
  trial_begin(&operations[_i]);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    for (long n = 1; (i == 0 || faults_takes(_i, (long)i, 4)) && trial_run(&faults[i], n); n = faults_next(n)) {
    }
  }
  ck_assert_msg(trial.told > 0, "%s: %ld of %ld trials ended with an error", trial.sql, trial.told, trial.reached);
  trial_end();
}
END_TEST

static void make(void) {
  database_make("delete");
}

int main(int argc, char **argv) {
  return faults_main("interrupts", make, every_interrupt, NULL, argc, argv);
}
