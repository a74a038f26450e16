/* Random histories of a dataset and its sinks against a plain model:  history [seed [worlds [steps]]]
 * What left is what was committed, each row once in a generation; the log is contiguous and its sums are right; what
 * retention removed it might remove, and everybody was told. A seed repeats one world. TIDE_TEST_LONG=1 runs for
 * minutes. */
#include <stdio.h>
#include <stdlib.h>

#include "../unit/effort.h"
#include "checks.h"
#include "observe.h"
#include "steps.h"

enum { WORLDS = 8, WORLDS_LONG = 600, STEPS = 150, MANY_ROWS = 2500 };

static void pass_time(struct world *world) {
  static const int64_t spans[] = {1, 40, 1000, 1000, 5000, 61000, 400000, -3000};
  const int64_t months = INT64_C(100) * 24 * 3600 * 1000; /* log rows are old then */
  if (in_transaction(world) && one_in(2))
    return;
  machine_set_now(machine_now() + (one_in(40) ? months : PICK(spans)));
  note(world, "the clock is %lld", (long long)machine_now());
}

/* ---- dice ---- */

static void step_of_sinks(struct world *world) {
  const size_t dice = pick(10);
  if (dice < 2)
    step_register(world, (int)pick(SINKS));
  else if (dice < 3)
    step_unregister(world);
  else if (dice < 5)
    step_settings(world);
  else if (dice < 7)
    step_caps(world);
  else if (dice < 8)
    step_trim(world);
  else if (dice < 9)
    step_rewind(world);
  else
    step_give_up(world);
}

static void step_of_upkeep(struct world *world) {
  const size_t dice = pick(10);
  if (dice < 4)
    step_prune(world);
  else if (dice < 6)
    step_compact(world);
  else if (dice < 7)
    step_maintain(world);
  else if (dice < 8)
    step_prune_under_cursor(world);
  else if (one_in(6))
    step_add_column(world);
  else
    step_options(world);
}

static void step_of_rows(struct world *world) {
  const size_t dice = pick(10);
  if (dice < 6 && world->model.nrows < MANY_ROWS)
    step_append(world);
  else if (dice < 8)
    step_delete(world);
  else if (dice < 9)
    step_flush(world);
  else if (one_in(2))
    step_copy(world);
  else
    step_noise(world);
}

/* Only outside a transaction. */
static void step_of_processes(struct world *world) {
  const size_t dice = pick(42);
  if (dice < 12)
    step_tick(world);
  else if (dice < 17)
    step_tick_disturbed(world);
  else if (dice < 21)
    step_tick_failing(world);
  else if (dice < 25)
    step_claim(world);
  else if (dice < 31)
    step_ack(world);
  else if (dice < 35)
    step_kill(world);
  else if (dice < 36)
    step_reopen(world);
  else if (dice < 37)
    step_vacuum(world);
  else if (dice < 38)
    step_rename(world);
  else if (dice < 39)
    world->acting = 1 - world->acting;
  else
    step_snapshot(world);
}

static void step(struct world *world) {
  const size_t dice = pick(100);
  world->steps++;
  if (in_transaction(world) && one_in(12))
    step_beside(world);
  if (dice < 30)
    step_of_rows(world);
  else if (dice < 44)
    step_of_sinks(world);
  else if (dice < 58)
    step_of_upkeep(world);
  else if (dice < 68)
    pass_time(world);
  else if (dice < 76 || in_transaction(world))
    step_transaction(world);
  else
    step_of_processes(world);
  observe(world);
}

/* An INTERRUPT at some moment of a statement that can take one. */
static void step_interrupted(struct world *world) {
  static void (*const steps[])(struct world *) = {step_append, step_delete, step_flush, step_tick};
  static void (*const upkeep[])(struct world *) = {step_prune, step_compact, step_maintain};
  if (in_transaction(world)) {
    step_upkeep_interrupted(world);
    return;
  }
  world->interrupt_at = 1 + (int)pick(one_in(2) ? 30 : 400);
  if (one_in(2))
    PICK(upkeep)(world);
  else
    PICK(steps)(world);
  world->interrupt_at = 0;
  observe(world);
}

/* ---- a world's life ---- */

static void check_all(struct world *world) {
  check_rows(world);
  check_added(world);
  check_stat(world);
  check_segments(world);
  check_lag(world);
  check_log(world);
  check_sums(world);
  check_copied(world);
}

static void run_world(uint64_t seed, size_t steps) {
  struct world world;
  world_open(&world, seed);
  for (int sink = 0; sink < SINKS; sink++) {
    if (sink != 2)
      step_register(&world, sink);
  }
  for (size_t i = 0; i < steps; i++) {
    step(&world);
    if (one_in(15))
      step_interrupted(&world);
    if (one_in(4))
      check_all(&world);
    if (one_in(40)) {
      check_files(&world);
      check_damage(&world);
    }
  }
  step_end_transaction(&world, one_in(2));
  step_drain(&world);
  check_all(&world);
  check_files(&world);
  check_damage(&world);
  world_close(&world);
}

int main(int argc, char **argv) {
  const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  size_t worlds = argc > 1 ? 1 : (size_t)effort(WORLDS, WORLDS_LONG);
  if (argc > 2)
    worlds = strtoull(argv[2], NULL, 10);
  const size_t steps = argc > 3 ? strtoull(argv[3], NULL, 10) : STEPS;
  machine_open();
  for (size_t i = 0; i < worlds; i++)
    run_world(seed + i, steps);
  printf("seeds %llu to %llu: %zu worlds agree\n", (unsigned long long)seed, (unsigned long long)(seed + worlds - 1),
         worlds);
  return 0;
}
