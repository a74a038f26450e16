#include "world.h"

#include <string.h>

#include "die.h"

const struct block *world_next(struct world *world, uint64_t n) {
  generator_fill(&world->generator, &world->block, n < BLOCK_ROWS ? n : BLOCK_ROWS);
  return &world->block;
}

/* Sums that any change of a value, or of a row's place among its partition's, would show in; far from overflow at a
 * thousand million rows, and of whole numbers, for both sides need not add in one order. */
static char *checksum(struct side *side) {
  return side_text(
      side,
      "SELECT format('%%d rows, %%d, %%d, %%d, %%d, %%d, %%d, %%d, %%d, %%d', count(*), sum(since),"
      " sum(since %% 1009 * unicode(source)), sum(ts %% 1000003 * (since %% 7)), sum(length(level) * (since %% 11)),"
      " sum(status * (since %% 13)), sum(bytes * (since %% 17)), sum(CAST(round(duration * 1000) AS INTEGER)),"
      " sum(length(body) * unicode(substr(body, -9)) * (since %% 19)),"
      " sum(length(attrs) * unicode(substr(attrs, since %% length(attrs) + 1)))) FROM logs");
}

void world_compare(struct side sides[SIDES], uint64_t rows) {
  char *sums[SIDES];
  for (int side = 0; side < SIDES; side++)
    sums[side] = checksum(&sides[side]);
  if (strcmp(sums[SIDE_TIDEMARK], sums[SIDE_TABLE]) != 0)
    die("the sides differ: tidemark has %s; the table has %s", sums[SIDE_TIDEMARK], sums[SIDE_TABLE]);
  if (strtoull(sums[SIDE_TABLE], NULL, 10) != rows)
    die("there are %llu rows, not %llu", strtoull(sums[SIDE_TABLE], NULL, 10), (unsigned long long)rows);
  for (int side = 0; side < SIDES; side++)
    sqlite3_free(sums[side]);
}

static void load(struct world *world) {
  for (int side = 0; side < SIDES; side++) {
    side_create(&world->sides[side], (enum side_kind)side, world->folder, "logs");
    side_exec(&world->sides[side], "BEGIN");
  }
  generator_restart(&world->generator);
  for (uint64_t done = 0; done < world->rows; done += world->block.count) {
    const struct block *block = world_next(world, world->rows - done);
    for (int side = 0; side < SIDES; side++)
      side_insert(&world->sides[side], block, 0, block->count);
  }
  for (int side = 0; side < SIDES; side++)
    side_exec(&world->sides[side], "COMMIT");
}

/* What an earlier run left: all rows, and those that it added. */
static void reopen(struct world *world) {
  uint64_t found[SIDES];
  for (int side = 0; side < SIDES; side++) {
    side_open(&world->sides[side], (enum side_kind)side, world->folder, "logs");
    found[side] = (uint64_t)side_int(&world->sides[side], "SELECT count(*) FROM logs");
  }
  if (found[0] < world->rows || found[0] != found[1])
    die("the tables in %s have %llu and %llu rows, not the same number of at least %llu", world->folder,
        (unsigned long long)found[0], (unsigned long long)found[1], (unsigned long long)world->rows);
  world->extra = found[0] - world->rows;
}

struct side *world_sides(struct world *world) {
  if (world->sides[0].db == NULL && world->keep) {
    reopen(world);
  } else if (world->sides[0].db == NULL) {
    load(world);
    side_exec(&world->sides[SIDE_TIDEMARK], "SELECT tidemark_flush('logs')");
    for (int side = 0; side < SIDES; side++)
      side_checkpoint(&world->sides[side]);
    world_compare(world->sides, world->rows);
  }
  return world->sides;
}

void world_copy(struct world *world, struct side *side, struct side *copy, const char *name) {
  side_create(copy, side->kind, world->folder, name);
  sqlite3_backup *backup = sqlite3_backup_init(copy->db, "main", side->db, "main");
  if (backup == NULL || sqlite3_backup_step(backup, -1) != SQLITE_DONE || sqlite3_backup_finish(backup) != SQLITE_OK)
    die("cannot copy %s to %s: %s", side->path, copy->path, sqlite3_errmsg(copy->db));
  side_close(copy);
  side_open(copy, side->kind, world->folder, name);
  side_checkpoint(copy);
}

void world_append(struct world *world, uint64_t n) {
  const uint64_t held = world->rows + world->extra;
  if (world->generator.rows > held)
    generator_restart(&world->generator);
  while (world->generator.rows < held) /* other measurements began again */
    world_next(world, held - world->generator.rows);
  const struct block *block = world_next(world, n);
  for (int kind = 0; kind < SIDES; kind++) {
    side_exec(&world->sides[kind], "BEGIN");
    side_insert(&world->sides[kind], block, 0, block->count);
    side_exec(&world->sides[kind], "COMMIT");
  }
  world->extra += block->count;
}

void world_neighbour_open(struct world *world, enum side_kind kind, struct side *neighbour) {
  side_open(neighbour, kind, world->folder, "logs");
  side_exec(neighbour, "CREATE TABLE IF NOT EXISTS aside(x)");
}

void world_neighbour_commit(struct side *neighbour) {
  side_exec(neighbour, "INSERT INTO aside VALUES (1)");
}

void world_neighbour_close(struct side *neighbour) {
  side_exec(neighbour, "DROP TABLE aside");
  side_close(neighbour);
}

void world_close(struct world *world) {
  for (int side = 0; side < SIDES; side++)
    if (world->sides[side].db != NULL)
      side_close(&world->sides[side]);
  block_clear(&world->block);
  generator_clear(&world->generator);
}
