/* The values of the column of unique=: _unique(value, partition, since). Two are the same when SQLite says so, as in an
 * ordinary table's UNIQUE: 1 and 1.0 are, text is compared by its bytes. Every statement changes one row, or those of
 * a plain range, and so opens no savepoint. */
#ifndef TIDE_STORE_UNIQUE_H
#define TIDE_STORE_UNIQUE_H

#include "base/err.h"
#include "base/sqlite.h"
#include "model/val.h"
#include "store/names.h"

/* Enters a row's value, which is not NULL. false, without an error, when another row has it. SQLITE_CORRUPT_VTAB when
 * the row itself has one already. */
sqlite3_stmt *tide_unique_add_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);
bool tide_unique_add(sqlite3_stmt *stmt, struct tide_names names, const struct tide_val *value, int64_t partition,
                     int64_t since, struct tide_err *err);

/* Takes a row's value out; nothing when it has none. */
sqlite3_stmt *tide_unique_remove_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);
void tide_unique_remove(sqlite3_stmt *stmt, int64_t partition, int64_t since, struct tide_err *err);

/* Whether a row's entry is there with this value. */
sqlite3_stmt *tide_unique_has_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);
bool tide_unique_has(sqlite3_stmt *stmt, const struct tide_val *value, int64_t partition, int64_t since,
                     struct tide_err *err);

/* Takes out those of a partition's rows up to a since. */
void tide_unique_forget(sqlite3 *db, struct tide_names names, int64_t partition, int64_t upto, struct tide_err *err);

/* The highest since that has an entry; 0: none. Looks at every entry. */
int64_t tide_unique_last_since(sqlite3 *db, struct tide_names names, struct tide_err *err);

#endif
