/* Statements of our own on the host's connection. Each failure becomes a tide_err with SQLite's code and words.
 * Statements live within one call, one cursor or one transaction (hosts finalize what they find open); those alone that
 * last in a pool (base/stmt_pool.h), which knows of that, live longer. */
#ifndef TIDE_BASE_STMT_H
#define TIDE_BASE_STMT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"

/* Prepares SQL given as an sqlite3_mprintf format; names go through "%w" inside double quotes. NULL when err is set,
 * also by an earlier call: SQLITE_CORRUPT_VTAB for a table that is missing or lacks a column. The caller finalizes. */
sqlite3_stmt *tide_stmt_prepare(sqlite3 *db, struct tide_err *err, const char *format, ...);
sqlite3_stmt *tide_stmt_vprepare(sqlite3 *db, struct tide_err *err, const char *format, va_list args);

/* The same, without a look at the schema when it runs: that gives SQLITE_SCHEMA, where others are compiled anew. */
sqlite3_stmt *tide_stmt_prepare_as_is(sqlite3 *db, struct tide_err *err, const char *format, ...);

/* Binds parameters 1 to count; nothing for a statement that is NULL. */
void tide_stmt_bind_ints(sqlite3_stmt *stmt, const int64_t *values, int count);
/* Binds parameters from `at` on to views, which must live until the statement is reset; NULL binds NULL. */
void tide_stmt_bind_texts(sqlite3_stmt *stmt, int at, const char *const *texts, int count, struct tide_err *err);

/* Steps once: true when there is a row. false at the end, which resets the statement, and on error, which sets err. */
bool tide_stmt_row(sqlite3_stmt *stmt, struct tide_err *err);

/* Runs a statement that gives no rows to its end and resets it. */
void tide_stmt_run(sqlite3_stmt *stmt, struct tide_err *err);

/* Prepares, runs and finalizes a statement without parameters; rows are passed over. */
void tide_stmt_exec(sqlite3 *db, struct tide_err *err, const char *format, ...);

/* The first column of the first row as an integer; fallback when there is no row or it is NULL. SQLITE_CORRUPT_VTAB
 * for a value that is neither. */
int64_t tide_stmt_int(sqlite3 *db, int64_t fallback, struct tide_err *err, const char *format, ...);

/* A column's text and its size (NULL: not asked for), as a view until the statement moves; NULL for NULL. NULL too when
 * there is no memory for it, which err then says: sqlite3_column_text alone does not tell the two apart. */
const char *tide_stmt_text(sqlite3_stmt *stmt, int column, size_t *ret_size, struct tide_err *err);
/* The same as a copy with a NUL behind it, which the caller frees. */
char *tide_stmt_copy_text(sqlite3_stmt *stmt, int column, struct tide_err *err);

/* Whether the row's columns from `at` on are all integers. Tables that are STRICT hold nothing else in such a column,
 * but in a file that comes from elsewhere: a text compares above every number, and a walk from number to number ends at
 * none. */
bool tide_stmt_are_ints(sqlite3_stmt *stmt, int at, int count);

/* Sets err from the connection's last error, unless one is set. A write from a state that is no longer the newest
 * (SQLITE_BUSY_SNAPSHOT, "database is locked") becomes SQLITE_BUSY with words that say what to do: waiting is no
 * use. */
void tide_stmt_error(sqlite3 *db, int rc, struct tide_err *err);

#endif
