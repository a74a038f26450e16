/* The machine stops between any two system calls of a script that has all of Tidemark's ways to write: the process is
 * killed, or power is lost, and with it in every way what no sync had made safe. Whatever is left must be a database
 * that passes its checks and holds the rows of a prefix of the transactions, none missing that was durable or had left;
 * and when sinks go on from there, each committed row has left once. The system calls are recorded once, by a child
 * (recorder.c), and replayed as often as there are ways to lose them (disk.c).
 *
 *   test_power                         some of them; TIDE_TEST_LONG=1: at every call, in every way
 *   test_power wal-full 1234 mixed 2   one: that mode, after so many calls, that way, that seed */
#define _GNU_SOURCE
#include <xxhash.h>

#include "disk.h"
#include "effort.h"
#include "outside.h"
#include "script.h"
#include "sql_db.h"
#include "unit.h"

enum { SEEN_SIZE = 1 << 18, SEEDS = 3 };

/* An image that was looked at, and the last step that is in it. */
struct seen {
  uint64_t hash;
  int step;
};

static struct {
  char folder[128];
  const struct script_mode *mode;
  int done;                      /* steps that have ended */
  int done_by[DISK_RECORDS_MAX]; /* when a record came */
  int left;                      /* steps that had ended when something left that is outside the database */
  bool is_outside[DISK_FILES_MAX];
  struct seen seen[SEEN_SIZE];
  long images[DISK_HOWS];
  char what[200]; /* is being looked at; "": nothing */
} power;

/* ---- one image ---- */

static void check_datasets(sqlite3 *db) {
  assert_text(db, "ok", "PRAGMA integrity_check");
  assert_text(db, "",
              "SELECT dataset, tidemark_check(dataset) FROM tidemark_registry WHERE tidemark_check(dataset) <> 'ok'");
}

static bool is_state(int step, const char *state) {
  return strcmp(script_expected(step), state) == 0;
}

/* Beside the folder, to be looked at. */
static void write_text(const char *name, const char *text) {
  FILE *file = fopen(scratch_path(name), "w");
  fputs(text, file);
  fclose(file);
}

/* The last step, from high down to low, after which it was so. */
static int find_step(const char *state, int low, int high) {
  int step = high;
  while (step >= low && !is_state(step, state))
    step--;
  if (step < low) {
    write_text("is", state);
    write_text("low", script_expected(low));
    write_text("high", script_expected(high));
    ck_abort_msg("it is as after none of steps %d to %d: see is, low, high in %s", low, high, scratch);
  }
  return step;
}

static void go_on(sqlite3 *db, int step) {
  script_go_on(db);
  char *state = script_state(db);
  ck_assert_str_eq(state, script_expected_gone_on(step));
  free(state);
  outside_export(db, "lines");
  outside_export(db, "cells");
  outside_ship_by_hand(db, power.folder);
  outside_copy(db);
  outside_check(db, power.folder, script_twin(scratch, step));
  disk_image_compare(power.folder, "/source="); /* what has its name stays as it is */
}

static int check_image(int low, int high) {
  char path[200];
  disk_image_write(power.folder);
  snprintf(path, sizeof path, "%s/db", power.folder);
  sqlite3 *db = db_open(path, NULL);
  check_datasets(db);
  char *state = script_state(db);
  const int step = find_step(state, low, high);
  free(state);
  go_on(db, step);
  db_exec(db, "SELECT tidemark_maintain()");
  check_datasets(db);
  db_close(db);
  return step;
}

static struct seen *find_seen(uint64_t hash) {
  size_t at = hash % SEEN_SIZE;
  while (power.seen[at].hash != 0 && power.seen[at].hash != hash)
    at = (at + 1) % SEEN_SIZE;
  return &power.seen[at];
}

/* The steps that must be there at least. A transaction that has left the machine is there in any case. In rollback mode
 * at FULL the journal of the last one may come back, for its removal was not synced (it is at EXTRA). */
static int lowest_step(enum disk_how how) {
  const int unlinked = disk_pending_unlink("db-journal");
  if (how == DISK_KILLED)
    return power.done;
  if (strcmp(power.mode->synchronous, "normal") == 0)
    return power.left;
  return unlinked > 0 && power.done_by[unlinked] < power.done ? power.done_by[unlinked] : power.done;
}

/* An image that was there before need not be gone through again, but what must be in it may be more. */
static void check_left(enum disk_how how, uint64_t seed) {
  const int low = lowest_step(how);
  const int high = power.done < script_steps() ? power.done + 1 : power.done;
  const uint64_t hash = disk_lose(how, seed);
  struct seen *seen = find_seen(hash);
  snprintf(power.what, sizeof power.what, "%s %d '%s' %d, in step %d: %s", power.mode->name, disk_at(),
           disk_how_names[how], (int)seed, power.done, script_step(power.done));
  if (seen->hash != 0) {
    find_step(script_expected(seen->step), low, high);
  } else {
    seen->step = check_image(low, high);
    seen->hash = hash;
    power.images[how]++;
  }
  power.what[0] = '\0';
}

/* ---- all of them ---- */

static void follow(void) {
  const struct disk_record *last = disk_last();
  if (last->call == DISK_MARK)
    power.done = (int)last->offset;
  else if (last->call == DISK_CREATE)
    power.is_outside[last->file] = last->folder != 0;
  else if (last->call == DISK_WRITE && power.is_outside[last->file])
    power.left = power.done;
  power.done_by[disk_at() - 1] = power.done;
}

/* Whether a way to lose is among those that the short form takes: one of so many, and most of them just before a sync,
 * when most is at stake. */
static bool is_due(enum disk_how how, uint64_t seed, int one_of) {
  if (effort_is_long())
    return true;
  const struct disk_record *coming = disk_coming();
  const uint64_t choice[] = {(uint64_t)disk_at(), how, seed};
  const bool sync = coming != NULL && (coming->call == DISK_SYNC || coming->call == DISK_SYNC_FOLDER);
  return XXH3_64bits(choice, sizeof choice) % (uint64_t)(one_of * (sync ? 1 : 8)) == 0;
}

/* Before the scratch folder goes, which then stays. */
static void say_where(void) {
  if (power.what[0] == '\0')
    return;
  printf("failed: %s\nin %s\n", power.what, scratch);
  scratch_owner = 0;
  power.what[0] = '\0';
}

static void run_script(void) {
  script_run(power.folder, power.mode);
}

/* The twins are the same for all modes. */
static void open_scratch(void) {
  if (scratch[0] != '\0')
    return;
  scratch_open();
  atexit(say_where);
  script_learn(scratch);
}

static const struct disk_log *record(const struct script_mode *mode) {
  memset(&power, 0, sizeof power);
  power.mode = mode;
  open_scratch();
  snprintf(power.folder, sizeof power.folder, "%s/%s", scratch, mode->name);
  ck_assert_int_eq(mkdir(power.folder, 0755), 0);
  script_make(power.folder, mode);
  return recorder_run(power.folder, run_script);
}

/* What was recorded is all that was done. */
static void check_record(const struct disk_log *log) {
  disk_open(log);
  while (disk_next())
    ;
  disk_lose(DISK_KILLED, 0);
  disk_image_compare(power.folder, "");
  disk_close();
}

static void lose(const struct script_mode *mode, int one_of) {
  const struct disk_log *log = record(mode);
  check_record(log);
  disk_open(log);
  do {
    const int hows = disk_is_pending() ? DISK_HOWS : 1; /* they would be the same */
    for (int how = 0; how < hows; how++)
      for (uint64_t seed = 0; seed < (how >= DISK_LAST_TORN ? SEEDS : 1); seed++)
        if (is_due(how, seed, one_of))
          check_left(how, seed);
  } while (disk_next() && (follow(), true));
  disk_close();
  ck_assert_int_eq(power.done, script_steps());
  printf("%s: %d calls, images:", mode->name, log->count - log->first);
  for (int how = 0; how < DISK_HOWS; how++) {
    ck_assert_int_gt(power.images[how], 0);
    printf(" %ld %s", power.images[how], disk_how_names[how]);
  }
  printf("\n");
  fflush(stdout);
}

/* ---- the modes ---- */

static const struct script_mode modes[] = {
    {"wal-full", "wal", "full", 0},     {"wal-normal", "wal", "normal", 0},     {"delete", "delete", "full", 0},
    {"wal-spill", "wal", "normal", 12}, {"delete-spill", "delete", "full", 12}, {"truncate", "truncate", "full", 0},
    {"persist", "persist", "full", 0},
};
enum { MODES = sizeof modes / sizeof *modes, SHORT_MODES = 3 };

START_TEST(all_modes) {
  for (int i = 0; i < (effort_is_long() ? MODES : SHORT_MODES); i++)
    lose(&modes[i], 160);
}
END_TEST

static void lose_one(const char *mode, int at, const char *how, uint64_t seed) {
  for (int i = 0; i < MODES; i++) {
    if (strcmp(modes[i].name, mode) != 0)
      continue;
    disk_open(record(&modes[i]));
    while (disk_at() < at && disk_next())
      follow();
    for (int way = 0; way < DISK_HOWS; way++)
      if (strcmp(disk_how_names[way], how) == 0)
        check_left(way, seed);
  }
}

static const char *const *one; /* its words */

START_TEST(the_one) {
  lose_one(one[0], atoi(one[1]), one[2], (uint64_t)atoi(one[3]));
}
END_TEST

int main(int argc, char **argv) {
  const TTest *const all[] = {all_modes, NULL};
  const TTest *const single[] = {the_one, NULL};
  setenv("CK_FORK", "no", 0); /* so that say_where is */
  one = (const char *const *)argv + 1;
  return unit_main("crash power", argc > 4 ? single : all);
}
