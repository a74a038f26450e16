/* Statements that are kept for use again, because compiling one costs more than running it. They live no longer than
 * what holds the pool: one call, one cursor or one transaction. Where nobody holds it, a statement is compiled for each
 * use. All zero is an empty pool.
 *
 * What every small transaction, tick or poll runs is worth more: one that lasts (tide_stmt_pool_last, or taken while
 * the pool is held so) stays, at rest, until the pool is cleared, which its owner does no later than in xDisconnect:
 * SQLite calls that before it looks for open statements.
 *
 * A host may finalize what it finds open, to close the connection or, between transactions, for reasons of its own. So
 * the last release, and the next use of one that lasted, look whether the statement is still there, and not another at
 * its address; and an error may roll back, and with that release, from within a statement's step, so those that are in
 * use are then left to whoever uses them. */
#ifndef TIDE_BASE_STMT_POOL_H
#define TIDE_BASE_STMT_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/sqlite.h"

struct tide_pooled_stmt {
  sqlite3 *db;
  const char *format;
  sqlite3_stmt *stmt;
  bool taken;
  char *sql; /* it is known by that and its address */
  bool lasts;
  bool lasted; /* beyond a release, and was not used since */
};

struct tide_stmt_pool {
  bool fleeting; /* none lasts: by a trigger one could hold a virtual table, whose xDisconnect would then wait for it */
  int holds;
  int lasting; /* of them, those for what lasts */
  struct tide_pooled_stmt *items;
  size_t count;
  size_t cap;
};

void tide_stmt_pool_hold(struct tide_stmt_pool *pool);
void tide_stmt_pool_release(struct tide_stmt_pool *pool); /* as often as it was held */

/* The same, and what is taken in between lasts. */
void tide_stmt_pool_hold_lasting(struct tide_stmt_pool *pool);
void tide_stmt_pool_release_lasting(struct tide_stmt_pool *pool);

/* A statement as tide_stmt_prepare makes it, at rest and without bindings. It is known again by the address of the
 * format: a literal, whose other arguments are the same at every call with this pool. pool NULL: always a new one. The
 * caller gives it back. NULL when err is set, also by an earlier call. */
sqlite3_stmt *tide_stmt_pool_take(struct tide_stmt_pool *pool, sqlite3 *db, struct tide_err *err, const char *format,
                                  ...);
void tide_stmt_pool_give(struct tide_stmt_pool *pool, sqlite3_stmt *stmt); /* NULL is fine */

/* Makes a statement that was taken from a pool that is held last. NULLs are fine. */
void tide_stmt_pool_last(struct tide_stmt_pool *pool, sqlite3_stmt *stmt);
/* Finalizes all that are not taken. */
void tide_stmt_pool_clear(struct tide_stmt_pool *pool);

#endif
