/* The machine stops between any two system calls of a script that has all of Tidemark's ways to write: the process is
 * killed, or power is lost, and with it in every way what no sync had made safe. Whatever is left must be a database
 * that passes its checks and holds the rows of a prefix of the transactions, none missing that was durable or had left;
 * and when sinks go on from there, each committed row has left once. So must it be when a process is killed, another
 * goes on where that was, and power is lost then. The system calls are recorded by a child (recorder.c), and replayed
 * as often as there are ways to lose them (disk.c, power.c).
 *
 *   test_power [mode]                    some of them; TIDE_TEST_LONG=1: at every call, in every way, in all modes
 *   test_power wal-full 1234 mixed 2 0   one: that mode, after so many calls, that way, that seed, and after how many
 *                                        calls the first process was killed */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "effort.h"
#include "power.h"
#include "unit.h"

enum { SEEDS = 3, SHORT_MODES = 3 / EFFORT_DIVISOR };

/* One of how many is looked at. */
struct share {
  int first;   /* ways to lose what is under way in a first crash */
  int seconds; /* moments at which a second process goes on */
  int second;  /* ways in its crash */
};
static struct share share_of(void) {
  const struct share in_short = {300 * EFFORT_DIVISOR, 150 * EFFORT_DIVISOR, 4000}, in_long = {1, 8, 60};
  return effort_is_long() ? in_long : in_short;
}

static long images[DISK_HOWS], tried[DISK_HOWS], images_second, seconds;

static bool is_at_sync(void) {
  const struct disk_record *coming = disk_coming();
  return coming != NULL && (coming->call == DISK_SYNC || coming->call == DISK_SYNC_FOLDER);
}

static bool is_chosen(int what, int seed, int one_of) {
  const int choice[] = {disk_at(), what, seed};
  return XXH3_64bits(choice, sizeof choice) % (uint64_t)one_of == 0;
}

static void say(const char *what, int count) {
  printf("%s %d; images so far:", what, count);
  for (int how = 0; how < DISK_HOWS; how++)
    printf(" %ld %s (of %ld),", images[how], disk_how_names[how], tried[how]);
  printf(" %ld of them after a second process\n", images_second);
  fflush(stdout);
}

static void look(enum disk_how how, int seed, bool second) {
  const int is_new = power_check(how, (uint64_t)seed);
  images[how] += is_new;
  images_second += second ? is_new : 0;
  if (++tried[how] % 2000 == 0)
    say("call", disk_at());
}

/* The ways to lose what is under way now: one of so many by chance just before a sync, when most is at stake, and an
 * eighth of that elsewhere; each way at least once. */
static void lose_here(int one_of, bool second) {
  const int hows = disk_is_pending() ? DISK_HOWS : 1; /* they would be the same */
  if (one_of > 1 && !is_at_sync())
    one_of *= 8;
  for (int how = 0; how < hows; how++)
    for (int seed = 0; seed < (how >= DISK_LAST_TORN ? SEEDS : 1); seed++)
      if (is_chosen(how, seed, one_of) || (is_at_sync() && tried[how] == 0))
        look(how, seed, second);
}

/* Where another process may find what was never on the disk: between a write or the end of a journal and its sync. A
 * claim by hand is where it matters most, and all of those are looked at. */
static bool is_second_due(const struct script_mode *mode) {
  const enum disk_call commits = strcmp(mode->journal, "delete") == 0 ? DISK_UNLINK : DISK_WRITE;
  const bool claims = disk_last()->call == commits && strcmp(power_step(), "@hand") == 0;
  return is_at_sync() && (disk_last()->call == DISK_WRITE || disk_last()->call == DISK_UNLINK) &&
         is_chosen(-1, 0, claims ? 1 : share_of().seconds);
}

/* In any case when the first file has its name outside, and nothing that was not synced is in the database. */
static void lose_twice(const struct disk_log *log, int at) {
  bool named = false;
  power_open_at(power_record_second(log, at), at);
  do {
    lose_here(share_of().second, true);
    if (disk_last()->call == DISK_SYNC_FOLDER && disk_last()->file != 0 && !named) {
      look(DISK_ALL_LOST, 0, true);
      named = true;
    }
  } while (power_next());
  disk_close();
  ck_assert(named);
  seconds++;
}

static struct disk_log *copy_of(const struct disk_log *log) {
  struct disk_log *copy = malloc(sizeof *copy);
  return memcpy(copy, log, sizeof *log);
}

static void lose(const struct script_mode *mode) {
  static int chosen[DISK_RECORDS_MAX];
  int count = 0;
  struct disk_log *log = copy_of(power_record(mode));
  power_open(log);
  do {
    lose_here(share_of().first, false);
    if (is_second_due(mode))
      chosen[count++] = disk_at();
  } while (power_next());
  disk_close();
  say(mode->name, log->count - log->first);
  for (int i = 0; i < count; i++)
    lose_twice(log, chosen[i]);
  say("second processes", count);
  free(log);
}

static const char *const *words; /* of the command line */

START_TEST(every_way) {
  for (int i = 0; i < (effort_is_long() || words[0] != NULL ? power_mode_count : SHORT_MODES); i++)
    if (words[0] == NULL || strcmp(words[0], power_modes[i].name) == 0)
      lose(&power_modes[i]);
  ck_assert_int_gt(seconds, 0);
  ck_assert_int_gt(images_second, 0);
  for (int how = 0; how < DISK_HOWS && words[0] == NULL; how++)
    ck_assert_int_gt(tried[how], 0);
}
END_TEST

static enum disk_how how_of(const char *name) {
  int how = 0;
  while (strcmp(disk_how_names[how], name) != 0)
    ck_assert_int_lt(++how, DISK_HOWS);
  return how;
}

START_TEST(the_one) {
  const int at = atoi(words[1]), second_at = atoi(words[4]);
  int mode = 0;
  while (strcmp(power_modes[mode].name, words[0]) != 0)
    ck_assert_int_lt(++mode, power_mode_count);
  struct disk_log *log = copy_of(power_record(&power_modes[mode]));
  power_open_at(second_at > 0 ? power_record_second(log, second_at) : log, at);
  power_check(how_of(words[2]), (uint64_t)atoi(words[3]));
  disk_close();
  free(log);
}
END_TEST

int main(int argc, char **argv) {
  const TTest *const all[] = {every_way, NULL};
  const TTest *const single[] = {the_one, NULL};
  setenv("CK_FORK", "no", 0); /* so that a failure says where it was */
  words = (const char *const *)argv + 1;
  return unit_main("crash power", argc > 5 ? single : all);
}
