/* Appends, reads, ticks, copies, upkeep and changes of names and columns by several processes at once, in both journal
 * modes, which are killed and stopped at random:  processes [seed [rounds [wal | delete]]]
 * Then each sink's files hold each committed row once, and as often again as rewinds declared, and no other. Choices
 * come from the seed; the order in which processes get their turn is the machine's. TIDE_TEST_LONG=1 runs for ten
 * minutes in each mode. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

#include "../unit/unit.h"
#include "chance.h"
#include "processes.h"

enum { ROUNDS_LONG = 300, MANY_ROUNDS = 30 };

static const struct role roles[] = {{.step = step_write, .number = 0, .steps = 14, .writes = true, .pace = 15},
                                    {.step = step_write, .number = 1, .steps = 14, .writes = true, .pace = 15},
                                    {.step = step_write, .number = 2, .steps = 14, .writes = true, .pace = 15},
                                    {.step = step_produce, .steps = 10, .writes = true, .pace = 15},
                                    {.step = step_produce, .steps = 10, .writes = true, .pace = 15},
                                    {.step = step_read, .steps = 5, .pace = 15},
                                    {.step = step_tick, .pace = 6},
                                    {.step = step_tick, .pace = 6},
                                    {.step = step_tick, .pace = 6},
                                    {.step = step_copy, .pace = 40},
                                    {.step = step_upkeep, .steps = 15, .pace = 10},
                                    {.step = step_meddle, .steps = 12, .pace = 15}};

struct shared *shared;

static unsigned seed = 1;
static int rounds = 1;
static const char *only; /* journal mode; NULL: both */

/* What so many rounds met, told at the end of a long run. */
static struct {
  struct fates fates;
  int64_t rows;
  int64_t ids;
  struct shared met;
} sum;

static void add_up(const struct fates *fates) {
  sum.fates.killed += fates->killed;
  sum.fates.killed_themselves += fates->killed_themselves;
  sum.fates.stopped += fates->stopped;
  for (int writer = 0; writer < WRITERS; writer++)
    sum.rows += shared->writers[writer].committed;
  sum.ids += shared->produced;
  sum.met.busy += shared->busy;
  sum.met.left_before += shared->left_before;
  sum.met.taken_over += shared->taken_over;
  sum.met.known += shared->known;
  sum.met.rewinds += shared->rewinds;
  sum.met.renames += shared->renames;
}

static void tell(const char *journal) {
  printf(
      "%s: %d rounds: %lld rows and %lld unique ids (%ld sent again), %ld batches under way, %ld rewinds, %ld renames;"
      " %d killed themselves, %d were killed, %d stopped, %ld batches lost to another, %ld calls met a lock\n",
      journal, rounds, (long long)sum.rows, (long long)sum.ids, sum.met.known, sum.met.left_before, sum.met.rewinds,
      sum.met.renames, sum.fates.killed_themselves, sum.fates.killed, sum.fates.stopped, sum.met.taken_over,
      sum.met.busy);
  fflush(stdout);
}

/* How much depends on the machine, above all in a short run. */
static void check_what_befell(void) {
  const int many = rounds >= MANY_ROUNDS ? rounds : 0;
  ck_assert_int_gt(sum.fates.killed + sum.fates.killed_themselves, 3);
  ck_assert_int_gt(sum.met.left_before, 3);
  ck_assert_int_gt(sum.met.known, 3);
  ck_assert_int_ge(sum.met.busy, many);
  ck_assert_int_ge(sum.fates.killed, many);
  ck_assert_int_ge(sum.fates.killed_themselves, many);
  ck_assert_int_ge(sum.fates.stopped, many);
  ck_assert_int_ge(sum.met.rewinds, many);
  ck_assert_int_ge(sum.met.renames, many);
  ck_assert_int_ge(sum.met.taken_over, many > 0);
}

static void run_in(const char *journal) {
  if (only != NULL && strcmp(only, journal) != 0)
    return;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert(shared != MAP_FAILED);
  for (const unsigned end = seed + (unsigned)rounds; seed < end; seed++) {
    memset(shared, 0, sizeof *shared);
    shared->clock_ms = 1767225600000; /* 2026-01-01 */
    show_time();
    make_database(journal);
    const struct fates fates = live_all(roles, sizeof roles / sizeof *roles, seed);
    show_time();
    chance_seed(seed);
    finish_and_check();
    add_up(&fates);
  }
  tell(journal);
  check_what_befell();
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
  if (argc > 3)
    only = argv[3];
  return unit_main("processes", tests);
}
