/* Whether whoever called the statement that called us wants it to end: sqlite3_interrupt, or a progress handler that
 * says so. For long waits of our own, in which SQLite runs nothing. */
#ifndef TIDE_STORE_INTERRUPT_H
#define TIDE_STORE_INTERRUPT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/sqlite.h"

/* The statement that asks: one for a call, finalized by the caller. An interrupted connection compiles nothing, so it
 * is made before. */
sqlite3_stmt *tide_interrupt_prepare(sqlite3 *db, struct tide_err *err);

/* true with SQLITE_INTERRUPT in err when it is to end. stmt: that statement, as the context of a callback. It leaves
 * nothing open. */
bool tide_interrupt_is_pending(void *stmt, struct tide_err *err);

#endif
