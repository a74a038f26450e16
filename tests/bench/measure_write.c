#include <stdio.h>

#include "measure.h"

/* Inserts all rows in transactions of n rows; gives what was spent on everything but the making of the rows. */
static struct spent insert_all(struct world *world, struct side *side, uint64_t n, bool settle) {
  struct spent spent = {0};
  uint64_t open = 0;
  generator_restart(&world->generator);
  for (uint64_t done = 0; done < world->rows; done += world->block.count) {
    const struct block *block = world_next(world, world->rows - done);
    const struct spent start = clock_now();
    for (size_t from = 0, to; from < block->count; from = to) {
      if (open == 0)
        side_exec(side, "BEGIN");
      to = block->count - from > n - open ? from + (size_t)(n - open) : block->count;
      side_insert(side, block, from, to);
      open += to - from;
      if (open == n || done + to == world->rows) {
        side_exec(side, "COMMIT");
        open = 0;
      }
    }
    spent_add(&spent, clock_since(start));
  }
  const struct spent start = clock_now();
  if (settle && side->kind == SIDE_TIDEMARK)
    side_exec(side, "SELECT tidemark_flush('logs')");
  if (settle)
    side_checkpoint(side);
  spent_add(&spent, clock_since(start));
  return spent;
}

static void measure_inserts(struct world *world, const char *name, uint64_t n, bool settle) {
  struct report report = {.name = name, .rows = world->rows};
  for (int round = 0; round < world->rounds; round++) {
    struct side sides[SIDES];
    for (int i = 0; i < SIDES; i++) {
      const enum side_kind kind = world_turn(round, i);
      side_create(&sides[kind], kind, world->folder, name);
      report_add(&report, kind, insert_all(world, &sides[kind], n, settle), 1);
    }
    if (round == 0)
      world_compare(sides, world->rows);
    for (int kind = 0; kind < SIDES; kind++)
      side_close(&sides[kind]);
  }
  report_print(&report);
}

void measure_insert_big(struct world *world) {
  measure_inserts(world, "insert_big", world->rows, false);
}

void measure_insert_1000(struct world *world) {
  measure_inserts(world, "insert_1000", 1000, true);
}

/* One row a commit, in turns of both sides. */
static void measure_commits(struct world *world, const char *name, const char *synchronous, uint64_t each) {
  const int turns = 3 * world->rounds;
  struct report report = {.name = name, .rows = each};
  struct side sides[SIDES];
  for (int kind = 0; kind < SIDES; kind++) {
    side_create(&sides[kind], (enum side_kind)kind, world->folder, name);
    side_exec(&sides[kind], "PRAGMA synchronous=%s", synchronous);
  }
  generator_restart(&world->generator);
  for (int turn = 0; turn < turns; turn++) {
    const struct block *block = world_next(world, each);
    for (int i = 0; i < SIDES; i++) {
      const enum side_kind kind = world_turn(turn, i);
      const struct spent start = clock_now();
      side_insert(&sides[kind], block, 0, block->count);
      report_add(&report, kind, clock_since(start), 1);
    }
  }
  world_compare(sides, each * (uint64_t)turns);
  for (int kind = 0; kind < SIDES; kind++)
    side_close(&sides[kind]);
  report_print(&report);
}

void measure_commit_full(struct world *world) {
  measure_commits(world, "commit_full", "full", (uint64_t)world_repeats(world, 400));
}

void measure_commit_normal(struct world *world) {
  measure_commits(world, "commit_normal", "normal", (uint64_t)world_repeats(world, 2000));
}
