/* Reads that are left open while the world goes on. Each knows the rows that the twin had when it began: every one
 * must come once, as it was, but for those deleted since; after a rollback, rows may also have gone, come back or
 * got other values. */
#ifndef TIDE_TESTS_CURSORS_H
#define TIDE_TESTS_CURSORS_H

#include "world.h"

bool cursors_any(const struct pair *pair);
void cursor_open(struct world *world, struct pair *pair);
/* Steps one of the open cursors a few rows on. */
void cursor_step(struct world *world, struct pair *pair);
void cursors_close(struct pair *pair);

/* To be told which rows were deleted, and after a rollback. */
void cursors_deleted(struct pair *pair, const struct rows *rows);
void cursors_rolled_back(struct world *world, struct pair *pair);

#endif
