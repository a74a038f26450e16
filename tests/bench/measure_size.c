#include <string.h>

#include "measure.h"

static void report_sizes(struct world *world, struct side *sides, const char *name) {
  struct report report = {.name = name, .unit = "bytes a row"};
  for (int kind = 0; kind < SIDES; kind++)
    report_add_value(&report, (enum side_kind)kind,
                     (double)side_table_bytes(&sides[kind]) / (double)(world->rows + world->extra));
  report_print(&report);
}

void measure_size_flushed(struct world *world) {
  report_sizes(world, world_sides(world), "size_flushed");
}

void measure_size_compacted(struct world *world) {
  struct side *sides = world_sides(world);
  struct report report = {.name = "compact", .rows = world->rows + world->extra};
  const struct spent start = clock_now();
  side_exec(&sides[SIDE_TIDEMARK], "SELECT tidemark_flush('logs')");
  for (char *last = NULL, *now;; last = now) { /* until a call changes nothing */
    now = side_text(&sides[SIDE_TIDEMARK], "SELECT group_concat(last_since || '.' || revision) FROM tidemark_segment");
    const bool same = last != NULL && strcmp(last, now) == 0;
    sqlite3_free(last);
    if (same) {
      sqlite3_free(now);
      break;
    }
    side_exec(&sides[SIDE_TIDEMARK], "SELECT tidemark_compact('logs')");
  }
  report_add(&report, SIDE_TIDEMARK, clock_since(start), 1);
  report_print(&report);
  report_sizes(world, sides, "size_compacted");
  world_compare(sides, world->rows + world->extra);
}
