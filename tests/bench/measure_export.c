#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "die.h"
#include "measure.h"
#include "tree.h"

char *sink_make(struct world *world, struct side *side, const char *name, const char *format, const char *start) {
  char *folder = need(sqlite3_mprintf("%s/%s", world->folder, name));
  /* one that was there before would go on where it ended */
  char *sink = side_text(side, "SELECT %Q || '.' || count(DISTINCT sink) FROM tidemark_export_log", name);
  tree_remove(folder);
  if (mkdir(folder, 0777) != 0)
    die("cannot make %s", folder);
  side_exec(side, "DELETE FROM tidemark_sink");
  side_exec(
      side,
      "INSERT INTO tidemark_sink(sink, dataset, target, format, start) VALUES (%Q, 'logs', 'file://' || %Q, %Q, %Q)",
      sink, folder, format, start);
  sqlite3_free(folder);
  return sink;
}

/* A tick that has to deliver so many rows; gives what it took. */
static struct spent tick(struct side *side, const char *sink, uint64_t rows) {
  const struct spent start = clock_now();
  char *said = side_text(side, "SELECT tidemark_export(%Q)", sink);
  const struct spent spent = clock_since(start);
  char *counted = need(sqlite3_mprintf("\"rows\":%llu,", (unsigned long long)rows));
  if (strstr(said, counted) == NULL)
    die("%s: expected %llu rows, the tick says %s", sink, (unsigned long long)rows, said);
  sqlite3_free(counted);
  sqlite3_free(said);
  return spent;
}

/* Of everything; the last round's files stay in the folder NAME for run.py, which reads them. */
static void measure_export(struct world *world, const char *name, const char *format) {
  struct side *side = &world_sides(world)[SIDE_TIDEMARK];
  const uint64_t rows = world->rows + world->extra;
  struct report report = {.name = name, .rows = rows};
  struct report size = {.unit = "bytes a row"};
  char *size_name = need(sqlite3_mprintf("%s_bytes", name));
  size.name = size_name;
  char *folder = need(sqlite3_mprintf("%s/%s", world->folder, name));
  for (int round = 0; round < world->rounds; round++) {
    char *sink = sink_make(world, side, name, format, "earliest");
    report_add(&report, SIDE_TIDEMARK, tick(side, sink, rows), 1);
    report_add_value(&size, SIDE_TIDEMARK, (double)tree_bytes(folder, format) / (double)rows);
    sqlite3_free(sink);
  }
  side_exec(side, "DELETE FROM tidemark_sink");
  sqlite3_free(folder);
  report_print(&report);
  report_print(&size);
  sqlite3_free(size_name);
}

void measure_export_parquet(struct world *world) {
  measure_export(world, "export_parquet", "parquet");
}

void measure_export_ndjson(struct world *world) {
  measure_export(world, "export_ndjson", "ndjson");
}

enum { TICK_ROWS = 1000, SMALL_ROWS = 100000 };

/* A log of few rows, its first ones those of the world. */
static void make_small(const struct world *world, struct side *small) {
  struct generator generator;
  struct block block = {0};
  generator_init(&generator, world->generator.sample_path, world->generator.seed);
  generator_restart(&generator);
  side_create(small, SIDE_TIDEMARK, world->folder, "small");
  side_exec(small, "BEGIN");
  for (size_t done = 0; done < SMALL_ROWS && done < world->rows; done += block.count) {
    generator_fill(&generator, &block, BLOCK_ROWS < world->rows - done ? BLOCK_ROWS : world->rows - done);
    side_insert(small, &block, 0, block.count);
  }
  side_exec(small, "COMMIT");
  side_exec(small, "SELECT tidemark_flush('logs')");
  side_checkpoint(small);
  block_clear(&block);
  generator_clear(&generator);
}

/* The rows that the world appended last. */
static void append_same(const struct world *world, struct side *small) {
  side_exec(small, "BEGIN");
  side_insert(small, &world->block, 0, world->block.count);
  side_exec(small, "COMMIT");
}

/* Ticks that find nothing: nobody has written anything, or another connection has committed something else. */
static void measure_idle_ticks(struct world *world, struct side *side) {
  const int ticks = world_repeats(world, 200);
  struct report alone = {.name = "idle_tick"};
  struct report after = {.name = "idle_tick_after"};
  struct side neighbour;
  sqlite3_stmt *stmt = side_prepare(side, "SELECT tidemark_export()");
  world_neighbour_open(world, SIDE_TIDEMARK, &neighbour);
  for (int round = 0; round < world->rounds; round++) {
    side_drain(stmt);
    const struct spent start = clock_now();
    for (int i = 0; i < ticks; i++)
      side_drain(stmt);
    report_add(&alone, SIDE_TIDEMARK, clock_since(start), ticks);
    struct spent spent = {0};
    for (int i = 0; i < ticks; i++) {
      world_neighbour_commit(&neighbour);
      const struct spent each = clock_now();
      side_drain(stmt);
      spent_add(&spent, clock_since(each));
    }
    report_add(&after, SIDE_TIDEMARK, spent, ticks);
  }
  sqlite3_finalize(stmt);
  world_neighbour_close(&neighbour);
  report_print(&alone);
  report_print(&after);
}

/* What 1,000 new rows cost to bring to a file, in ticks of their own, and in turns with that what they cost a log of
 * few rows, for the machine is never the same twice; then ticks that find nothing. */
void measure_tick(struct world *world) {
  struct side small, *sides = world_sides(world);
  struct report report = {.name = "tick", .rows = TICK_ROWS};
  struct report few = {.name = "tick_small", .rows = TICK_ROWS};
  make_small(world, &small);
  char *sink = sink_make(world, &sides[SIDE_TIDEMARK], "tick", "ndjson", "latest");
  char *small_sink = sink_make(world, &small, "tick_small", "ndjson", "latest");
  tick(&sides[SIDE_TIDEMARK], sink, 0);
  tick(&small, small_sink, 0);
  for (int turn = 0; turn < 3 * world->rounds; turn++) {
    world_append(world, TICK_ROWS);
    append_same(world, &small);
    for (int i = 0; i < 2; i++) {
      const bool large = (turn + i) % 2 == 0;
      const struct spent spent =
          large ? tick(&sides[SIDE_TIDEMARK], sink, TICK_ROWS) : tick(&small, small_sink, TICK_ROWS);
      report_add(large ? &report : &few, SIDE_TIDEMARK, spent, 1);
    }
  }
  side_close(&small);
  sqlite3_free(small_sink);
  report_print(&report);
  report_print(&few);
  measure_idle_ticks(world, &sides[SIDE_TIDEMARK]);
  side_exec(&sides[SIDE_TIDEMARK], "DELETE FROM tidemark_sink");
  sqlite3_free(sink);
}
