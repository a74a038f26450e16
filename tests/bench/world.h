/* What the measurements share: the rows, the folder, and the two sides with all rows in them, made when the first
 * measurement asks for them. */
#ifndef TIDE_BENCH_WORLD_H
#define TIDE_BENCH_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "generate.h"
#include "report.h"
#include "side.h"

enum { BLOCK_ROWS = 10000 };

struct world {
  struct generator generator;
  struct block block;
  const char *folder;
  uint64_t rows;
  int rounds;
  bool keep;                /* the sides are those that are in the folder */
  struct side sides[SIDES]; /* "logs": all rows, sealed; db NULL while they are not made */
  int argc;                 /* of this program */
  char **argv;
  uint64_t extra; /* rows that came on top of them since */
};

/* The side that goes first takes turns. */
static inline enum side_kind world_turn(int round, int at) {
  return (enum side_kind)((round + at) % SIDES);
}

/* How often to do what takes microseconds; less often with so few rows that it is a test. */
static inline int world_repeats(const struct world *world, int repeats) {
  return world->rows >= 100000 ? repeats : 1 + repeats / 100;
}

/* The next n rows, at most BLOCK_ROWS. */
const struct block *world_next(struct world *world, uint64_t n);
/* Ends the program unless both sides hold the same rows, and as many. */
void world_compare(struct side sides[SIDES], uint64_t rows);
/* All rows on both sides, flushed and checkpointed. */
struct side *world_sides(struct world *world);
/* A copy of a side in a file `name`, with a connection of its own. */
void world_copy(struct world *world, struct side *side, struct side *copy, const char *name);
/* The next n rows on top of both sides, in one transaction. */
void world_append(struct world *world, uint64_t n);
/* Another connection to a side's file, and what it does now and then: a commit that has nothing to do with the rows. */
void world_neighbour_open(struct world *world, enum side_kind kind, struct side *neighbour);
void world_neighbour_commit(struct side *neighbour);
void world_neighbour_close(struct side *neighbour);
void world_close(struct world *world);

#endif
