/* The numbers of rows that DELETE took and nothing has dropped yet: _deleted(since, partition). */
#ifndef TIDE_STORE_DELETED_H
#define TIDE_STORE_DELETED_H

#include "base/sqlite.h"
#include "model/batch.h"
#include "store/names.h"

/* Notes a row as deleted, by a statement of tide_deleted_add_prepare. false, without an error, when it was noted
 * before. */
sqlite3_stmt *tide_deleted_add_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);
bool tide_deleted_add(sqlite3_stmt *stmt, int64_t since, int64_t partition, struct tide_err *err);

/* A statement for tide_deleted_mark. */
sqlite3_stmt *tide_deleted_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Sets live[row] to 0 for the deleted ones of a batch of a partition (its since is decoded) and leaves the others.
 * Gives how many it set. */
size_t tide_deleted_mark(sqlite3_stmt *stmt, int64_t partition, const struct tide_batch *batch, uint8_t *live,
                         struct tide_err *err);

/* Whether a partition has deleted rows with first <= since <= last; the statement is for all of them. */
sqlite3_stmt *tide_deleted_has_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);
bool tide_deleted_has(sqlite3_stmt *stmt, int64_t partition, int64_t first, int64_t last, struct tide_err *err);

/* Forgets the deleted rows of a partition with since in (above, upto]: they were dropped. */
void tide_deleted_forget(sqlite3 *db, struct tide_names names, int64_t partition, int64_t above, int64_t upto,
                         struct tide_err *err);

#endif
