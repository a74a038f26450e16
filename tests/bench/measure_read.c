#include <inttypes.h>
#include <string.h>

#include "die.h"
#include "measure.h"

#define ALL_COLUMNS "since, source, ts, level, component, status, bytes, duration, body, attrs"

/* The statement `repeats` times a round on each side in turn; a value is the seconds of one time. */
static void measure_query(struct world *world, const char *name, uint64_t rows, int repeats, const char *sql) {
  repeats = world_repeats(world, repeats);
  struct side *sides = world_sides(world);
  struct report report = {.name = name, .rows = rows};
  sqlite3_stmt *stmts[SIDES];
  struct answer answers[SIDES];
  for (int kind = 0; kind < SIDES; kind++) {
    stmts[kind] = side_prepare(&sides[kind], sql);
    answers[kind] = side_drain(stmts[kind]);
  }
  if (answers[0].rows != answers[1].rows || answers[0].sum != answers[1].sum)
    die("%s: tidemark gives %" PRIu64 " rows, sum %" PRIu64 "; the table %" PRIu64 ", %" PRIu64, name, answers[0].rows,
        answers[0].sum, answers[1].rows, answers[1].sum);
  for (int round = 0; round < world->rounds; round++)
    for (int i = 0; i < SIDES; i++) {
      const enum side_kind kind = world_turn(round, i);
      const struct spent start = clock_now();
      for (int repeat = 0; repeat < repeats; repeat++)
        side_drain(stmts[kind]);
      report_add(&report, kind, clock_since(start), repeats);
    }
  for (int kind = 0; kind < SIDES; kind++)
    sqlite3_finalize(stmts[kind]);
  report_print(&report);
}

void measure_scan(struct world *world) {
  measure_query(world, "scan", world->rows, 1, "SELECT " ALL_COLUMNS " FROM logs");
}

void measure_sum(struct world *world) {
  measure_query(world, "sum", world->rows, 1, "SELECT sum(bytes) FROM logs");
}

void measure_count(struct world *world) {
  measure_query(world, "count", world->rows, 1, "SELECT count(*) FROM logs");
}

/* In bursts, as outages are. */
void measure_filter(struct world *world) {
  measure_query(world, "filter", world->rows, 1, "SELECT since, ts, source, body FROM logs WHERE status = 503");
}

/* As few rows, but some in every few thousand. */
void measure_filter_scattered(struct world *world) {
  measure_query(world, "filter_scattered", world->rows, 1,
                "SELECT since, ts, source, body FROM logs WHERE status = 404");
}

/* The hundredth part of the time, two thirds on. */
void measure_time_range(struct world *world) {
  struct side *table = &world_sides(world)[SIDE_TABLE];
  const int64_t first = side_int(table, "SELECT min(ts) FROM logs");
  const int64_t span = side_int(table, "SELECT max(ts) FROM logs") - first;
  const int64_t from = first + span * 2 / 3;
  char *sql =
      need(sqlite3_mprintf("SELECT " ALL_COLUMNS " FROM logs WHERE ts >= %lld AND ts < %lld", from, from + span / 100));
  measure_query(world, "time_range", world->rows, 1, sql);
  sqlite3_free(sql);
}

/* The last 1,000 rows of a partition, newest first, and as a reader gets them that has read up to there. */
static const char *const last_thousand =
    "SELECT " ALL_COLUMNS " FROM logs WHERE source = 'web-02' ORDER BY since DESC LIMIT 1000";

static void measure_last(struct world *world, const char *newest_first, const char *in_order) {
  measure_query(world, newest_first, 1000, 20, last_thousand);
  struct side *table = &world_sides(world)[SIDE_TABLE];
  const int64_t after = side_int(table, "SELECT since FROM logs WHERE source = 'web-02' ORDER BY since DESC"
                                        " LIMIT 1 OFFSET 1000");
  char *sql = need(sqlite3_mprintf("SELECT " ALL_COLUMNS " FROM logs WHERE source = 'web-02' AND since > %lld"
                                   " ORDER BY since",
                                   after));
  measure_query(world, in_order, 1000, 20, sql);
  sqlite3_free(sql);
}

void measure_last_sealed(struct world *world) {
  measure_last(world, "last_sealed", "after_sealed");
}

/* 16,000 more rows and then some, in transactions of 1,000, so that each partition has its last 1,000 in the tail. */
void measure_last_tail(struct world *world) {
  struct side *sides = world_sides(world);
  for (int i = 0; i < 18; i++)
    world_append(world, 1000);
  if (side_int(&sides[SIDE_TIDEMARK], "SELECT tail_rows FROM tidemark_stat WHERE partition = 'source=web-02'") < 1000)
    die("last_tail: fewer than 1000 rows of web-02 are in the tail");
  measure_last(world, "last_tail", "after_tail");
  side_exec(&sides[SIDE_TIDEMARK], "SELECT tidemark_flush('logs')");
}

/* What a reader that polls asks for when there is nothing new: nobody has written anything, */
static void idle_alone(struct world *world, const char *sql) {
  measure_query(world, "idle_read", 0, 5000, sql);
}

/* or another connection has committed something else. */
static void idle_after_a_commit(struct world *world, const char *sql) {
  const int repeats = world_repeats(world, 500);
  struct report report = {.name = "idle_read_after"};
  struct side neighbours[SIDES];
  sqlite3_stmt *stmts[SIDES];
  for (int kind = 0; kind < SIDES; kind++) {
    stmts[kind] = side_prepare(&world_sides(world)[kind], sql);
    world_neighbour_open(world, (enum side_kind)kind, &neighbours[kind]);
  }
  for (int round = 0; round < world->rounds; round++)
    for (int i = 0; i < SIDES; i++) {
      const enum side_kind kind = world_turn(round, i);
      struct spent spent = {0};
      for (int repeat = 0; repeat < repeats; repeat++) {
        world_neighbour_commit(&neighbours[kind]);
        const struct spent start = clock_now();
        side_drain(stmts[kind]);
        spent_add(&spent, clock_since(start));
      }
      report_add(&report, kind, spent, repeats);
    }
  for (int kind = 0; kind < SIDES; kind++) {
    sqlite3_finalize(stmts[kind]);
    world_neighbour_close(&neighbours[kind]);
  }
  report_print(&report);
}

void measure_idle_read(struct world *world) {
  const int64_t last = side_int(&world_sides(world)[SIDE_TABLE], "SELECT max(since) FROM logs WHERE source = 'web-02'");
  char *sql = need(sqlite3_mprintf("SELECT " ALL_COLUMNS " FROM logs WHERE source = 'web-02' AND since > %lld", last));
  idle_alone(world, sql);
  idle_after_a_commit(world, sql);
  sqlite3_free(sql);
}
