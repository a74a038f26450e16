#define _GNU_SOURCE
#include "power.h"

#include "outside.h"
#include "sql_db.h"

const struct script_mode power_modes[] = {
    {"wal-full", "wal", "full", 0},     {"wal-normal", "wal", "normal", 0},     {"delete", "delete", "full", 0},
    {"wal-spill", "wal", "normal", 12}, {"delete-spill", "delete", "full", 12}, {"truncate", "truncate", "full", 0},
    {"persist", "persist", "full", 0},
};
const int power_mode_count = sizeof power_modes / sizeof *power_modes;

enum { SEEN_SIZE = 1 << 18, SECOND_FOUND = 1000, SECOND_WENT_ON = 2000 };

/* The states that the database may be in: after steps low to high, or after step `gone` and what goes on there. */
struct bounds {
  int low, high;
  int gone; /* -1: not so */
  bool gone_only;
};

/* An image that was looked at, and what state it was in. */
struct seen {
  uint64_t hash;
  int step;
  bool gone;
};

static struct {
  char folder[128];
  const struct script_mode *mode;
  int done;                      /* steps that have ended */
  int done_by[DISK_RECORDS_MAX]; /* when a record came */
  int left;                      /* steps that had ended when something left that is outside the database */
  int second_at;                 /* from which record on a second process works; 0: none does */
  int found;                     /* the step whose state it found; -1: it has not looked yet */
  bool went_on, went_on_left;    /* it has appended; and then something left */
  bool is_outside[DISK_FILES_MAX];
  struct seen seen[SEEN_SIZE];
  char what[300]; /* is being looked at; "": nothing */
} power;

/* ---- what was done ---- */

void power_open(const struct disk_log *log) {
  disk_open(log);
  power.done = power.left = 0;
  power.found = -1;
  power.went_on = power.went_on_left = false;
  memset(power.is_outside, 0, sizeof power.is_outside);
}

static void follow_mark(int value) {
  if (value >= SECOND_WENT_ON)
    power.went_on = true;
  else if (value >= SECOND_FOUND)
    power.found = value - SECOND_FOUND;
  else
    power.done = value;
}

bool power_next(void) {
  if (!disk_next())
    return false;
  const struct disk_record *last = disk_last();
  if (last->call == DISK_MARK)
    follow_mark((int)last->offset);
  else if (last->call == DISK_CREATE)
    power.is_outside[last->file] = last->folder != 0;
  else if (last->call == DISK_WRITE && power.is_outside[last->file]) {
    power.left = power.found >= 0 ? power.found : power.done;
    power.went_on_left = power.went_on;
  }
  power.done_by[disk_at() - 1] = power.done;
  return true;
}

void power_open_at(const struct disk_log *log, int at) {
  power_open(log);
  while (disk_at() < at && power_next())
    ;
}

const char *power_step(void) {
  return script_step(power.done);
}

/* ---- runs ---- */

/* Before the scratch folder goes, which then stays. */
static void say_where(void) {
  if (power.what[0] == '\0')
    return;
  printf("failed: %s\nin %s\n", power.what, scratch);
  scratch_owner = 0;
}

/* The twins are the same for all modes. */
static void open_scratch(void) {
  if (scratch[0] != '\0')
    return;
  scratch_open();
  atexit(say_where);
  script_learn(scratch);
}

static void run_script(void) {
  script_run(power.folder, power.mode);
}

/* What was recorded is all that was done. */
static void check_record(const struct disk_log *log) {
  power_open(log);
  while (power_next())
    ;
  ck_assert_int_eq(power.done, script_steps());
  disk_lose(DISK_KILLED, 0);
  disk_image_compare(power.folder, "");
  disk_close();
}

const struct disk_log *power_record(const struct script_mode *mode) {
  memset(&power, 0, sizeof power);
  power.mode = mode;
  open_scratch();
  snprintf(power.folder, sizeof power.folder, "%s/%s", scratch, mode->name);
  ck_assert_int_eq(mkdir(power.folder, 0755), 0);
  script_make(power.folder, mode);
  const struct disk_log *log = recorder_run(power.folder, run_script);
  check_record(log);
  return log;
}

/* ---- what may be there ---- */

/* The steps that must be there at least. A transaction that has left the machine is there in any case. In rollback mode
 * at FULL the journal of the last one may come back, for its removal was not synced (it is at EXTRA). */
static int lowest_step(enum disk_how how) {
  const int unlinked = disk_pending_unlink("db-journal");
  int step = power.done;
  if (how == DISK_KILLED)
    return power.found >= 0 ? power.found : step;
  if (strcmp(power.mode->synchronous, "normal") == 0)
    step = 0;
  else if (unlinked > 0 && power.done_by[unlinked] < step)
    step = power.done_by[unlinked];
  return step > power.left ? step : power.left;
}

/* Of what a second process found it is not known whether it ever was on the disk. */
static struct bounds bounds_of(enum disk_how how) {
  struct bounds bounds = {.low = lowest_step(how), .high = power.done, .gone = -1};
  if (power.found >= 0) {
    const bool durable =
        how == DISK_KILLED || (strcmp(power.mode->synchronous, "full") == 0 && disk_pending_unlink("db-journal") == 0);
    bounds.high = bounds.gone = power.found;
    bounds.gone_only = durable ? power.went_on : power.went_on_left;
  } else if (power.done < script_steps()) {
    bounds.high++;
  }
  return bounds;
}

/* Beside the folder, to be looked at. */
static void write_text(const char *name, const char *text) {
  FILE *file = fopen(scratch_path(name), "w");
  fputs(text, file);
  fclose(file);
}

/* Which state it is; the last one of those that look the same. */
static struct seen find_state(const char *state, const struct bounds *bounds) {
  if (bounds->gone >= 0 && strcmp(script_expected_gone_on(bounds->gone), state) == 0)
    return (struct seen){.step = bounds->gone, .gone = true};
  for (int step = bounds->high; step >= bounds->low && !bounds->gone_only; step--)
    if (strcmp(script_expected(step), state) == 0)
      return (struct seen){.step = step};
  write_text("is", state);
  write_text("low", script_expected(bounds->low));
  write_text("high", script_expected(bounds->high));
  ck_abort_msg("it is as after none of steps %d to %d%s: see is, low, high in %s", bounds->low, bounds->high,
               bounds->gone_only ? ", and gone on" : "", scratch);
}

/* ---- an image ---- */

static sqlite3 *open_database(void) {
  char path[200];
  snprintf(path, sizeof path, "%s/db", power.folder);
  return db_open(path, NULL);
}

static void check_datasets(sqlite3 *db) {
  assert_text(db, "ok", "PRAGMA integrity_check");
  assert_text(db, "",
              "SELECT dataset, tidemark_check(dataset) FROM tidemark_registry WHERE tidemark_check(dataset) <> 'ok'");
}

static void use_sinks(sqlite3 *db) {
  outside_ship_by_hand(db, power.folder);
  outside_export(db, "lines");
  outside_export(db, "cells");
  outside_export(db, "lake");
  outside_copy(db);
}

static void go_on(sqlite3 *db, int step) {
  script_go_on(db);
  char *state = script_state(db);
  ck_assert_str_eq(state, script_expected_gone_on(step));
  free(state);
  script_end(db);
  use_sinks(db);
  outside_check(db, power.folder, script_twin(scratch, step));
  disk_image_compare(power.folder, "/source="); /* what has its name stays as it is */
}

static struct seen check_image(const struct bounds *bounds) {
  disk_image_write(power.folder);
  sqlite3 *db = open_database();
  check_datasets(db);
  char *state = script_state(db);
  const struct seen seen = find_state(state, bounds);
  free(state);
  go_on(db, seen.step);
  db_exec(db, "SELECT tidemark_maintain()");
  check_datasets(db);
  db_close(db);
  return seen;
}

static struct seen *find_seen(uint64_t hash) {
  size_t at = hash % SEEN_SIZE;
  while (power.seen[at].hash != 0 && power.seen[at].hash != hash)
    at = (at + 1) % SEEN_SIZE;
  return &power.seen[at];
}

/* An image that was there before need not be gone through again, but what must be in it may be more. */
int power_check(enum disk_how how, uint64_t seed) {
  const struct bounds bounds = bounds_of(how);
  const uint64_t hash = disk_lose(how, seed);
  struct seen *seen = find_seen(hash);
  const bool is_new = seen->hash == 0;
  snprintf(power.what, sizeof power.what, "%s %d '%s' %d %d, in step %d: %s", power.mode->name, disk_at(),
           disk_how_names[how], (int)seed, power.second_at, power.done, script_step(power.done));
  if (is_new) {
    *seen = check_image(&bounds);
    seen->hash = hash;
  } else {
    find_state(seen->gone ? script_expected_gone_on(seen->step) : script_expected(seen->step), &bounds);
  }
  power.what[0] = '\0';
  return is_new;
}

/* ---- a second process ---- */

static struct bounds second_bounds;

static void run_second(void) {
  sqlite3 *db = open_database();
  db_exec(db, "PRAGMA synchronous = %s", power.mode->synchronous);
  char *state = script_state(db);
  recorder_mark(SECOND_FOUND + find_state(state, &second_bounds).step);
  free(state);
  use_sinks(db);
  script_go_on(db);
  recorder_mark(SECOND_WENT_ON);
  use_sinks(db);
  db_close(db);
}

const struct disk_log *power_record_second(const struct disk_log *log, int at) {
  power_open_at(log, at);
  second_bounds = bounds_of(DISK_KILLED);
  disk_lose(DISK_KILLED, 0);
  disk_image_write(power.folder);
  const struct disk_log *both = recorder_go_on(log, at, disk_image_path, run_second);
  disk_close();
  power.second_at = at;
  return both;
}
