#include <string.h>

#include "die.h"
#include "measure.h"

/* A copy of a side, and its own connection. */
static void copy_side(struct world *world, struct side *side, struct side *copy) {
  side_create(copy, side->kind, world->folder, "pruned");
  const char *path = sqlite3_db_filename(copy->db, "main");
  sqlite3_backup *backup = sqlite3_backup_init(copy->db, "main", side->db, "main");
  if (backup == NULL || sqlite3_backup_step(backup, -1) != SQLITE_DONE || sqlite3_backup_finish(backup) != SQLITE_OK)
    die("cannot copy %s to %s: %s", side->path, path, sqlite3_errmsg(copy->db));
  side_close(copy);
  side_open(copy, side->kind, world->folder, "pruned");
  side_checkpoint(copy);
}

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
      copy_side(world, &sides[kind], &copy);
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
