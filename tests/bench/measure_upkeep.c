#include <string.h>

#include "die.h"
#include "measure.h"

/* The older half of each partition, on both sides: Tidemark by its limit on rows. */
static void prune_half(struct world *world, struct side *side) {
  const uint64_t kept = (world->rows + world->extra) / PARTITIONS / 2;
  if (side->kind == SIDE_TIDEMARK)
    side_exec(side, "SELECT tidemark_prune('logs')");
  else
    side_exec(side, "DELETE FROM logs WHERE since <= %lld",
              (long long)(world->rows + world->extra - kept * PARTITIONS));
}

void measure_prune(struct world *world) {
  struct side *sides = world_sides(world);
  struct report prune = {.name = "prune", .rows = world->rows / 2};
  struct report vacuum = {.name = "vacuum"};
  for (int round = 0; round < world->rounds; round++)
    for (int i = 0; i < SIDES; i++) {
      const enum side_kind kind = world_turn(round, i);
      struct side copy;
      world_copy(world, &sides[kind], &copy, "pruned");
      const uint64_t kept = (world->rows + world->extra) / PARTITIONS / 2;
      if (kind == SIDE_TIDEMARK)
        side_exec(&copy, "SELECT tidemark_set('logs', 'retention_rows', %lld)", (long long)kept);
      struct spent start = clock_now();
      prune_half(world, &copy);
      report_add(&prune, kind, clock_since(start), 1);
      if (side_int(&copy, "SELECT count(*) FROM logs") != (int64_t)kept * PARTITIONS)
        die("prune: %s does not have the rows that are to stay", side_names[kind]);
      side_checkpoint(&copy);
      start = clock_now();
      side_exec(&copy, "VACUUM");
      report_add(&vacuum, kind, clock_since(start), 1);
      side_close(&copy);
    }
  report_print(&prune);
  report_print(&vacuum);
}
