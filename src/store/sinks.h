/* The tables that all datasets of a schema share: who reads what, how far, and what is in flight. Ordinary tables
 * with the columns of the reference (sql/REFERENCE.md); triggers keep the rules whoever writes (against mistakes, not
 * against an owner who drops triggers):
 *
 *   export log   ids are SQLite's; rows never change; a row's since is the until before it, or the sink's start; until
 *                is above since and not beyond the newest row; a row that crosses an open batch is refused, one that
 *                equals it ends it; a rewind goes down, not below what retention left, and has a reason; its
 *                generation and its rows (the live ones that it gives back) are filled in; a gap may also be written
 *                for a sink that was deleted, where the log knows it
 *                rows go from the oldest on and the last of a partition stays while the dataset does; what went is
 *                counted in tidemark_export_total, so that sums over both stay what they were
 *   batches      begin at the watermark, one at the most for a sink and partition; what is frozen does not change, and
 *                the start of a sink does not move away from under one
 *   sinks        a bad row is refused by the virtual table tidemark_guard, which compiles and checks it
 *
 * Beside those: tidemark_registry(dataset), the datasets of this schema (a row there is what makes the log's last
 * rows stay); tidemark_sink_state(sink, dataset, folder, prefix, caught_up, epoch, from_first), which keeps a row for
 * every sink that was ever registered: what registering fixed (the decoded folder, the dataset's name as it was); a
 * number such that every partition's rows up to it are in the sink's log, so that an idle tick need not look at
 * partitions; and whether it began with the first row ever and missed none since without a gap, so that its log and
 * what it has still to do together come to no less than what was written less what was deleted. */
#ifndef TIDE_STORE_SINKS_H
#define TIDE_STORE_SINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"
#include "store/names.h"

/* Makes them when the schema has none, or those that it lost, and enters the dataset as a new one: what they still have
 * of an earlier one of that name goes. SQLITE_ERROR when something else has one of their names. */
void tide_sinks_create(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* The same for a dataset whose tables were there already: what they have of it stays, and follows it to the letters of
 * its present name. */
void tide_sinks_adopt(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Whether the schema is of an early Tidemark, which had fewer of them. */
bool tide_sinks_lack_any(sqlite3 *db, const char *schema, struct tide_err *err);

/* Makes those that an early Tidemark did not have yet, or had otherwise (views), in a transaction of its own, when
 * there is any. */
void tide_sinks_complete(sqlite3 *db, const char *schema, struct tide_err *err);

/* The highest since that they know to have left: 0 for none. */
int64_t tide_sinks_last_since(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* For a statement of another schema's table that is about to write here: takes the schema's write lock for its
 * transaction, and has SQLite take back what it writes here too when it fails midway. Nothing where there are no such
 * tables. */
void tide_sinks_enlist(sqlite3 *db, const char *schema, struct tide_err *err);

/* Takes out the dataset with its sinks, batches and log rows; makes what was lost of them first, for their triggers
 * name each other. */
void tide_sinks_drop(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Has everything follow a dataset to its new name. */
void tide_sinks_rename(sqlite3 *db, struct tide_names names, const char *new_name, struct tide_err *err);

/* Whether the schema has the tables at all. Statements are of a pool of that schema; NULL: none. */
bool tide_sinks_exist(sqlite3 *db, const char *schema, struct tide_stmt_pool *pool, struct tide_err *err);
bool tide_sinks_exist_in_temp(sqlite3 *db, struct tide_stmt_pool *pool,
                              struct tide_err *err); /* of any schema's pool */
/* Whether it has any dataset; the tables exist. */
bool tide_sinks_has_any(sqlite3 *db, const char *schema, struct tide_stmt_pool *pool, struct tide_err *err);

/* The name of a dataset as it is entered there, found in any letters: what the shared tables know it by. The caller
 * frees it (tide_free); NULL when there is none, also when the schema has no tables. */
char *tide_sinks_find_dataset(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* The dataset of a schema that follows a name in their order (NULL: the first). The caller frees it; NULL when there
 * is none. SQLITE_CORRUPT_VTAB for a name that is none. */
char *tide_sinks_next_dataset(sqlite3 *db, const char *schema, const char *after, struct tide_err *err);

/* Refuses (SQLITE_CONSTRAINT) to delete a row of a partition that an open batch covers. */
sqlite3_stmt *tide_sinks_guard_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);
void tide_sinks_guard(sqlite3_stmt *stmt, struct tide_names names, int64_t since, int64_t partition,
                      struct tide_err *err);

#endif
