/* What a check (engine/check.h) asks of the shadow tables of a dataset and of its rows in the tables that all datasets
 * share. Every statement reads in an order in which it can be walked beside another, gives rows as they are, however
 * damaged, and is finalized by the caller. */
#ifndef TIDE_STORE_CHECKS_H
#define TIDE_STORE_CHECKS_H

#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"
#include "store/names.h"

/* The first of the dataset's tables, the shared ones among them, that the schema does not have; NULL when all are
 * there, and on error. The caller frees it (tide_free). */
char *tide_checks_missing_table(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* ---- rows ---- */

/* Segments of no partition: partition, last_since. */
sqlite3_stmt *tide_checks_segments_astray(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* The tail by partition, then last_since: last_since, first_since, partition, rows, bytes of data. */
sqlite3_stmt *tide_checks_tail(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Deleted rows by partition, then since: partition, since. */
sqlite3_stmt *tide_checks_deleted(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Which segment has which chunk ids, ascending: chunk, chunks, partition, last_since. All chunk ids, ascending. */
sqlite3_stmt *tide_checks_chunk_owners(sqlite3 *db, struct tide_names names, struct tide_err *err);
sqlite3_stmt *tide_checks_chunks(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* The size of one chunk, bound as ?1; no row when there is no such chunk. */
sqlite3_stmt *tide_checks_chunk_size(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* ---- the index of unique= ---- */

/* The entries of a partition (?1), ascending: since. Those of no partition: partition, since. How many in all. */
sqlite3_stmt *tide_checks_unique(sqlite3 *db, struct tide_names names, struct tide_err *err);
sqlite3_stmt *tide_checks_unique_astray(sqlite3 *db, struct tide_names names, struct tide_err *err);
int64_t tide_checks_unique_count(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* ---- sinks ---- */

/* All sinks that the shared tables know of the dataset, in order: sink, whether it is registered, its start, whether it
 * has a state, caught_up, from_first. */
sqlite3_stmt *tide_checks_sinks(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* The log of a sink (?1) by partition, then id: partition, id, generation (-1 for NULL), whether it is a rewind, since,
 * until. */
sqlite3_stmt *tide_checks_log(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* The last row that was trimmed off the log of a sink (?1) and partition (?2): generation, until. */
sqlite3_stmt *tide_checks_trimmed(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* What the log of a sink (?1) accounts for in a partition (?2), trimmed rows included, and its last until (NULL: it has
 * no row). */
sqlite3_stmt *tide_checks_account(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Open batches: batch, sink, partition, generation, since, until, and where the sink stands: generation and watermark,
 * NULL when it is not registered. */
sqlite3_stmt *tide_checks_batches(sqlite3 *db, struct tide_names names, struct tide_err *err);

#endif
