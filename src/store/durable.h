/* The transactions of what reaches outside. All of them need a connection with nothing open, for a claim inside
 * somebody's transaction would not be durable, and reading inside one would see what may never be committed. */
#ifndef TIDE_STORE_DURABLE_H
#define TIDE_STORE_DURABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"
#include "base/stmt_pool.h"

/* SQLITE_MISUSE with what to do when a statement or transaction of the connection is open on any schema. */
void tide_durable_check_idle(sqlite3 *db, const char *what, struct tide_err *err);

/* SQLITE_MISUSE when the host has switched triggers off: they keep the rules of the sinks' tables, and end a batch when
 * its row of the log is written, so that nothing may be written there without them. */
void tide_durable_check_rules(sqlite3 *db, const char *what, struct tide_err *err);

/* SQLITE_READONLY with the reason when nothing can be written to the schema: its file was opened read-only, or the
 * connection is set so. */
void tide_durable_check_writable(sqlite3 *db, const char *schema, struct tide_err *err);

/* BEGIN IMMEDIATE with synchronous at EXTRA, so that the commit, and every commit before it, is on the disk when it
 * returns. On failure nothing is left to end, which tide_durable_end may do all the same. */
struct tide_durable {
  sqlite3 *db;
  const char *schema;
  int synchronous; /* as it was; -1: unchanged */
  int64_t rowid;   /* last_insert_rowid() as it was: its end puts it back */
  bool began;
  sqlite3_stmt *rollback; /* compiled while that was possible */
  sqlite3_stmt *undo;     /* rolls back when ROLLBACK cannot */
};
void tide_durable_begin(sqlite3 *db, const char *schema, struct tide_durable *ret_durable, struct tide_err *err);
/* Commits, or rolls back when err is set (also by the commit), and puts synchronous back either way. */
void tide_durable_end(struct tide_durable *durable, struct tide_err *err);

/* The same without the change of synchronous. */
void tide_durable_begin_plain(sqlite3 *db, const char *schema, struct tide_durable *ret_durable, struct tide_err *err);

/* A unit of writes that also works inside a transaction and then follows it: BEGIN IMMEDIATE, or a savepoint. */
struct tide_unit {
  struct tide_durable txn;
  bool nested;
};
void tide_unit_begin(sqlite3 *db, const char *schema, const char *what, struct tide_unit *ret_unit,
                     struct tide_err *err);
void tide_unit_end(struct tide_unit *unit, struct tide_err *err);

/* The connection's schemas, a row each: their names are in this column. Compiled anew each time, for it lists those
 * that there were then. */
enum { TIDE_SCHEMAS_NAME = 1 };
sqlite3_stmt *tide_schemas_prepare(sqlite3 *db, struct tide_err *err);

/* One snapshot of a schema for several reads: a statement that stays on a row of tidemark_registry. Finalize it to
 * let go, which cannot fail (a COMMIT could: it does not run in an interrupted connection). NULL on failure. */
sqlite3_stmt *tide_read_begin(sqlite3 *db, const char *schema, struct tide_err *err);
/* The same from a pool of that schema (NULL: none), which it is given back to. */
sqlite3_stmt *tide_read_take(sqlite3 *db, const char *schema, struct tide_stmt_pool *pool, struct tide_err *err);

#endif
