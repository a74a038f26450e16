/* What a dataset is and where its rows lie, as its shadow tables say:
 *
 *   _config(key TEXT PRIMARY KEY, value)      format       2; 1 as long as a dataset of that format has no
 *                                             segment of version 2, had no batch in its tail that may be packed, and
 *                                             no Parquet batch was claimed; a higher one is refused
 *                                             log_id       32 hexadecimal digits
 *                                             sealed_since the highest since that ever left the tail
 *                                             next_chunk   the lowest chunk id never given
 *                                             seals        how often the tail was sealed: tells caches that it changed
 *                                                          in front
 *                                             columns      how many _column has: tells caches of one that was added
 *                                             and the options by their names (model/options.h)
 *   _column(ordinal INTEGER PRIMARY KEY, name TEXT, type TEXT, not_null INTEGER, partition_at INTEGER, dflt_value)
 *                                             dflt_value: what rows read whose segment or tail entry was written with
 *                                             fewer columns
 *   _partition(id INTEGER PRIMARY KEY, name TEXT UNIQUE, written, deleted, pruned, pruned_upto, last_since)
 *                                             written: rows that ever left the tail; deleted: rows DELETE took, in the
 *                                             tail too; pruned: rows retention took that were not deleted before, in
 *                                             the tail too; pruned_upto: every row with a since up to it is gone,
 *                                             whether or not segments and tail still have its bytes; last_since: the
 *                                             highest that ever left the tail, 0 before the first; indexed by a UNIQUE
 *                                             constraint, whose index follows a RENAME
 *   _segment(partition, last_since, first_since, rows, deleted, pruned, revision, level, chunk, chunks, raw_bytes,
 *            stored_bytes, newest_at, meta)
 *                                             rows: as written, of which deleted and pruned are gone; level: zstd's;
 *                                             chunk: id of the chunk of segment column 0, column n has chunk + n, and
 *                                             `chunks` ids are its own, stored or not; newest_at: the highest
 *                                             ingested_at
 *   _chunk(id INTEGER PRIMARY KEY, data BLOB) immutable
 *   _deleted(since INTEGER PRIMARY KEY, partition)   rows that DELETE took and whose bytes are still there; indexed by
 *                                             UNIQUE(partition, since)
 *   _unique(value ANY PRIMARY KEY, partition, since, UNIQUE(partition, since))
 *                                             of a dataset with the option unique, for each row that is there: its
 *                                             value in that column, unless NULL
 *   _tail: tail.h */
#ifndef TIDE_STORE_CATALOG_H
#define TIDE_STORE_CATALOG_H

#include "base/buf.h"
#include "base/sqlite.h"
#include "model/options.h"
#include "model/spec.h"
#include "store/names.h"

enum { TIDE_CATALOG_FORMAT = 2 };

/* No count, size, chunk id or since in the tables is above this, so that two of them can be added: a higher one was not
 * written by Tidemark, which refuses to go beyond. */
#define TIDE_CATALOG_COUNT_MAX ((int64_t)1 << 62)

static inline bool tide_catalog_is_count(int64_t value) {
  return value >= 0 && value <= TIDE_CATALOG_COUNT_MAX;
}

/* Makes the shadow tables of a new dataset and fills config and columns. */
void tide_catalog_create(sqlite3 *db, struct tide_names names, const struct tide_spec *spec,
                         const struct tide_options *options, const char *log_id, struct tide_err *err);
void tide_catalog_drop(sqlite3 *db, struct tide_names names, struct tide_err *err);
void tide_catalog_rename(sqlite3 *db, struct tide_names names, const char *new_name, struct tide_err *err);

struct tide_config {
  char log_id[33];
  int64_t format;
  int64_t sealed_since;
  int64_t next_chunk;
  int64_t seals;
  int64_t columns;
  struct tide_options options;
};

/* Reads the config. SQLITE_CORRUPT_VTAB when a value is missing or out of range, SQLITE_ERROR for a newer format. */
void tide_catalog_config(sqlite3 *db, struct tide_names names, struct tide_config *ret_config, struct tide_err *err);

/* What a handle keeps of the other tables. */
enum { TIDE_CATALOG_PARTITIONS_COUNTED = 100 };
struct tide_catalog_summary {
  int64_t deleted_max;   /* the highest since in _deleted, 0: none */
  int64_t segments_last; /* the highest since in any segment, 0: none */
  int64_t partitions;    /* counted up to TIDE_CATALOG_PARTITIONS_COUNTED */
};
void tide_catalog_summary(sqlite3 *db, struct tide_names names, struct tide_catalog_summary *ret_summary,
                          struct tide_err *err);

/* Sums over all partitions and segments. SQLITE_CORRUPT_VTAB for those that cannot be. */
struct tide_catalog_totals {
  int64_t rows; /* that left the tail and are still there, less those of the tail that are gone */
  int64_t segments;
  int64_t raw_bytes;    /* of segments */
  int64_t stored_bytes; /* of segments */
};
void tide_catalog_totals(sqlite3 *db, struct tide_names names, struct tide_catalog_totals *ret_totals,
                         struct tide_err *err);

/* Marks a dataset of an older format as one of TIDE_CATALOG_FORMAT, which older versions of Tidemark refuse. */
void tide_catalog_raise_format(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Stores sealed_since, next_chunk and seals as they are in the config; none of them ever falls. SQLITE_FULL for one that
 * could not be read back. */
void tide_catalog_store_counters(sqlite3 *db, struct tide_names names, const struct tide_config *config,
                                 struct tide_err *err);

/* Stores one option as it is in the config. */
void tide_catalog_store_option(sqlite3 *db, struct tide_names names, struct tide_config *config,
                               const struct tide_option_facts *facts, struct tide_err *err);

/* Whether the connection's databases are UTF-16: SQLite then orders text by those units, and our order of bytes says
 * nothing of it. */
bool tide_catalog_is_utf16(sqlite3 *db, struct tide_err *err);

/* Has SQLite connect the dataset's virtual table, which it then keeps for the connection; where it cannot, nothing. */
void tide_catalog_connect(sqlite3 *db, struct tide_names names);

/* Makes changes() say n again after our own statements: SQLite has no other way than to change n rows. */
void tide_catalog_restore_changes(sqlite3 *db, struct tide_names names, int64_t n, struct tide_err *err);

/* Makes the dataset's virtual table part of the open transaction, so that it hears of savepoints and rollbacks. */
void tide_catalog_join_transaction(sqlite3 *db, struct tide_names names, struct tide_err *err);

#endif
