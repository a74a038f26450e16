/* Each call to the kernel that a target makes which is a folder fails in turn, or writes less than it was given. What
 * fails is told, with the file's name and the reason; the batch stays, and the next tick delivers it: in the end every
 * file is there with the bytes that it has without faults, and no other one (trial.h). The short form takes a sample. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>

#include "faults_main.h"
#include "outside_calls.h"
#include "sink/target.h"

struct way {
  const char *name;
  struct outside_plan plan;
  int ways_missing; /* of naming a file */
};

enum {
  INTERRUPTED = 1 << OUTSIDE_OPEN | 1 << OUTSIDE_WRITE | 1 << OUTSIDE_SYNC | 1 << OUTSIDE_CLOSE | 1 << OUTSIDE_READ
};

static const struct way ways[] = {
    {"an error", {.kinds = OUTSIDE_ALL, .error = EIO}, 0},
    {"errors", {.kinds = OUTSIDE_ALL, .for_ever = true, .error = EIO}, 0},
    {"a full disk", {.kinds = OUTSIDE_ROOM, .error = ENOSPC}, 0},
    {"a disk that stays full", {.kinds = OUTSIDE_ROOM, .for_ever = true, .error = ENOSPC}, 0},
    {"a quota", {.kinds = OUTSIDE_ROOM, .error = EDQUOT}, 0},
    {"a folder that is not ours", {.kinds = OUTSIDE_ALL, .for_ever = true, .error = EACCES}, 0},
    {"a short write", {.kinds = 1 << OUTSIDE_WRITE, .is_short = true}, 0},
    {"short writes", {.kinds = 1 << OUTSIDE_WRITE, .for_ever = true, .is_short = true}, 0},
    {"a signal", {.kinds = INTERRUPTED, .error = EINTR}, 0},
    {"an error where files are named by links", {.kinds = OUTSIDE_ALL, .error = EIO}, 1},
    {"an error where they are named by a look before", {.kinds = OUTSIDE_ALL, .error = EIO}, 2},
};
enum { WAYS = sizeof ways / sizeof *ways };

static const struct way *way;
static long failed_before[OUTSIDE_CALLS];
static int descriptors;

static int count_descriptors(void) {
  int count = 0;
  DIR *list = opendir("/proc/self/fd");
  while (readdir(list) != NULL)
    count++;
  closedir(list);
  return count;
}

static bool has_failed(enum outside_call call) {
  return outside_failed[call] > failed_before[call];
}

static void arm(sqlite3 *db, long n) {
  (void)db;
  descriptors = count_descriptors();
  memcpy(failed_before, outside_failed, sizeof failed_before);
  tide_target_dir_ways_missing = way->ways_missing;
  outside_plan = way->plan;
  outside_plan.until = n;
}

/* Whether a message names what failed: a path of the sinks' folders, and the reason. */
static bool is_plain(const char *message) {
  return strstr(message, scratch_path("out")) != NULL &&
         (strstr(message, strerror(way->plan.error)) != NULL ||
          (way->ways_missing > 0 && strstr(message, strerror(ENOSYS)) != NULL));
}

/* What the batches' rows say of a tick that came back without an error. */
static long check_batches(sqlite3 *db) {
  static const char *const schemas[] = {"main", "aux"};
  long told = 0;
  for (int i = 0; i < 2; i++) {
    sqlite3_stmt *stmt = NULL;
    char *sql =
        sqlite3_mprintf("SELECT error FROM %s.tidemark_batch WHERE error IS NOT NULL AND sink <> 'hook'", schemas[i]);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    for (; sqlite3_step(stmt) == SQLITE_ROW; told++) {
      const char *error = (const char *)sqlite3_column_text(stmt, 0);
      trial_assert(is_plain(error), "the batch says: %s", error);
    }
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
  }
  return told;
}

/* A write or a sync that failed is never passed over. */
static bool disarm(sqlite3 *db) {
  const bool is_error =
      sqlite3_errcode(db) != SQLITE_OK && sqlite3_errcode(db) != SQLITE_ROW && sqlite3_errcode(db) != SQLITE_DONE;
  bool reached = false;
  outside_plan = (struct outside_plan){0};
  tide_target_dir_ways_missing = 0;
  for (int i = 0; i < OUTSIDE_CALLS; i++)
    reached = reached || has_failed((enum outside_call)i);
  if (!reached || is_error || way->plan.is_short || way->plan.error == EINTR)
    return reached;
  const long told = check_batches(db);
  trial_assert(told > 0 || (!has_failed(OUTSIDE_WRITE) && !has_failed(OUTSIDE_SYNC)), "nobody is told");
  return true;
}

static bool is_told(sqlite3 *db, int rc, const char *message) {
  (void)db;
  trial_assert(is_plain(message), "%d: %s", rc, message);
  return true;
}

static void assert_all_closed(void) {
  /* the database's files are closed by now: main, aux and what belongs to them */
  trial_assert(count_descriptors() < descriptors, "%d descriptors of %d are left", count_descriptors(), descriptors);
}

/* All of them in the long form; otherwise the further on, the fewer. */
static long next_call(long n) {
  return effort_is_long() ? n + 1 : n * 3 * EFFORT_DIVISOR + 1;
}

static bool is_in_sample(int operation, int i) {
  return effort_is_long() || (operation + 7 * i) % (2 * WAYS) == 0;
}

/* Whether it asks a target, as the long form sees to. */
static bool reaches_outside(const struct operation *operation) {
  return strstr(operation->sql, "tidemark_export(") != NULL || strstr(operation->sql, "tidemark_verify(") != NULL;
}

START_TEST(every_call) {
  const struct operation *operation = &operations[_i];
  if (!reaches_outside(operation) && !effort_is_long())
    return;
  trial_begin(operation);
  const long opened = outside_seen[OUTSIDE_OPEN];
  for (int i = 0; i < WAYS; i++) {
    if (!is_in_sample(_i, i))
      continue;
    way = &ways[i];
    const struct fault fault = {
        .name = way->name, .arm = arm, .disarm = disarm, .is_told = is_told, .closed = assert_all_closed};
    for (long n = 1; trial_run(&fault, n); n = next_call(n)) {
    }
  }
  ck_assert_msg(reaches_outside(operation) || outside_seen[OUTSIDE_OPEN] == opened, "%s", operation->sql);
  trial_end();
}
END_TEST

/* A file that is there and cannot be looked at is told as that, and not as something that is in its way. */
START_TEST(what_cannot_be_looked_at_is_no_other_thing) {
  static const struct way cannot_look = {"no look", {.kinds = 1 << OUTSIDE_STAT, .error = EIO}, 0};
  static const struct operation again = {.sql = "SELECT tidemark_export('a')",
                                         .failed = OPERATION_STEPS,
                                         .before =
                                             "SELECT tidemark_export('a'); INSERT INTO logs VALUES('s0', 200, NULL)"};
  const struct fault fault = {
      .name = cannot_look.name, .arm = arm, .disarm = disarm, .is_told = is_told, .closed = assert_all_closed};
  way = &cannot_look;
  trial_begin(&again);
  for (long n = 1; trial_run(&fault, n); n++) {
  }
  ck_assert_int_gt(trial.n, 2);
  trial_end();
}
END_TEST

static void make(void) {
  database_make("wal");
}

int main(int argc, char **argv) {
  const TTest *const others[] = {what_cannot_be_looked_at_is_no_other_thing, NULL};
  return faults_main("outside", make, every_call, others, argc, argv);
}
