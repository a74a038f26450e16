/* What a dataset is and where its rows lie, as its shadow tables say:
 *
 *   _config(key TEXT PRIMARY KEY, value)      format       1; a higher one is refused
 *                                             log_id       32 hexadecimal digits
 *                                             sealed_since the highest since that ever left the tail
 *                                             next_chunk   the lowest chunk id never given
 *                                             seals        how often the tail was sealed: tells caches that it changed
 *                                                          in front
 *                                             segment_rows, zstd_level, autoflush
 *   _column(ordinal INTEGER PRIMARY KEY, name TEXT, type TEXT, not_null INTEGER, partition_at INTEGER)
 *   _partition(id INTEGER PRIMARY KEY, name TEXT UNIQUE, written, deleted, last_since)
 *                                             written: rows ever sealed; deleted: rows DELETE took, in the tail too;
 *                                             last_since: of its segments, 0 before the first; indexed by a UNIQUE
 *                                             constraint, whose index follows a RENAME
 *   _segment(partition, last_since, first_since, rows, deleted, revision, chunk, raw_bytes, stored_bytes, meta)
 *                                             chunk: id of the chunk of segment column 0, column n has chunk + n
 *   _chunk(id INTEGER PRIMARY KEY, data BLOB) immutable
 *   _deleted(since INTEGER PRIMARY KEY, partition)   rows that DELETE took and nothing has dropped yet
 *   _tail: tail.h */
#ifndef TIDE_STORE_CATALOG_H
#define TIDE_STORE_CATALOG_H

#include "base/buf.h"
#include "base/sqlite.h"
#include "model/spec.h"
#include "store/names.h"

enum { TIDE_CATALOG_FORMAT = 1 };

/* No count, size or chunk id in the tables is above this, so that two of them can be added: a higher one was not
 * written by Tidemark. */
#define TIDE_CATALOG_COUNT_MAX ((int64_t)1 << 62)

static inline bool tide_catalog_is_count(int64_t value) {
  return value >= 0 && value <= TIDE_CATALOG_COUNT_MAX;
}

/* Makes the shadow tables of a new dataset and fills config and columns. */
void tide_catalog_create(sqlite3 *db, struct tide_names names, const struct tide_spec *spec, const char *log_id,
                         struct tide_err *err);
void tide_catalog_drop(sqlite3 *db, struct tide_names names, struct tide_err *err);
void tide_catalog_rename(sqlite3 *db, struct tide_names names, const char *new_name, struct tide_err *err);

struct tide_config {
  char log_id[33];
  int64_t format;
  int64_t sealed_since;
  int64_t next_chunk;
  int64_t seals;
  int64_t segment_rows;
  int64_t zstd_level;
  int64_t autoflush;
};

/* Reads the config. SQLITE_CORRUPT_VTAB when a value is missing or out of range, SQLITE_ERROR for a newer format. */
void tide_catalog_config(sqlite3 *db, struct tide_names names, struct tide_config *ret_config, struct tide_err *err);

/* What a handle keeps of the other tables. */
enum { TIDE_CATALOG_PARTITIONS_COUNTED = 1000 };
struct tide_catalog_summary {
  int64_t deleted_max;   /* the highest since in _deleted, 0: none */
  int64_t segments_last; /* the highest since in any segment, 0: none */
  int64_t partitions;    /* counted up to TIDE_CATALOG_PARTITIONS_COUNTED */
};
void tide_catalog_summary(sqlite3 *db, struct tide_names names, struct tide_catalog_summary *ret_summary,
                          struct tide_err *err);

/* Notes that `written` more rows of a partition, up to last_since, left the tail; and of the config sealed_since,
 * next_chunk and seals as they are now. */
void tide_catalog_sealed(sqlite3 *db, struct tide_names names, int64_t partition, int64_t written, int64_t last_since,
                         const struct tide_config *config, struct tide_err *err);

/* Whether the connection's databases are UTF-16: SQLite then orders text by those units, and our order of bytes says
 * nothing of it. */
bool tide_catalog_is_utf16(sqlite3 *db, struct tide_err *err);

/* The spec as stored: columns and the options of the config. One reference; NULL on failure. */
struct tide_spec *tide_catalog_spec(sqlite3 *db, struct tide_names names, const struct tide_config *config,
                                    struct tide_err *err);

/* ---- partitions ---- */

/* The id of a partition by its text; 0 when there is none. */
int64_t tide_catalog_partition_find(sqlite3 *db, struct tide_names names, const char *text, size_t size,
                                    struct tide_err *err);
/* The same, made when there is none. */
int64_t tide_catalog_partition_add(sqlite3 *db, struct tide_names names, const char *text, size_t size,
                                   struct tide_err *err);
/* Appends the text of a partition, by a statement of tide_catalog_partition_prepare; SQLITE_CORRUPT_VTAB when there
 * is no such id. */
sqlite3_stmt *tide_catalog_partition_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);
void tide_catalog_partition_text(sqlite3_stmt *stmt, struct tide_names names, int64_t id, struct tide_buf *out,
                                 struct tide_err *err);

/* Partitions that have segments above a since, in the order of that (bind nothing); one partition by its id (bind it
 * as ?1). Read the rows with tide_catalog_partition_row: false at the end and on error, SQLITE_CORRUPT_VTAB among them
 * for counts that cannot be. */
struct tide_partition_row {
  int64_t id;
  const char *text; /* a view, until the statement moves */
  size_t text_size;
  int64_t written;
  int64_t deleted;
  int64_t last_since; /* of its segments */
};
sqlite3_stmt *tide_catalog_partitions_above(sqlite3 *db, struct tide_names names, int64_t since, struct tide_err *err);
sqlite3_stmt *tide_catalog_partition_by_id(sqlite3 *db, struct tide_names names, struct tide_err *err);
bool tide_catalog_partition_row(sqlite3_stmt *stmt, struct tide_names names, struct tide_partition_row *ret_row,
                                struct tide_err *err);

/* ---- segments ---- */

struct tide_segment_row {
  int64_t partition;
  int64_t last_since;
  int64_t first_since;
  int64_t rows;
  int64_t deleted;
  int64_t chunk;
  int64_t raw_bytes;
  const void *meta; /* a view, until the statement moves */
  size_t meta_size;
};

/* A statement that gives a partition's segments above a since, in order: bind with tide_catalog_segments_seek, then
 * step with tide_catalog_segments_next, which is false at the end and on error. Finalize it as any statement. A row
 * that contradicts itself is SQLITE_CORRUPT_VTAB: what comes out has 0 <= deleted <= rows, 1 <= rows <= last_since -
 * first_since + 1, and can be counted with. */
sqlite3_stmt *tide_catalog_segments_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);
void tide_catalog_segments_seek(sqlite3_stmt *stmt, int64_t partition, int64_t since);
bool tide_catalog_segments_next(sqlite3_stmt *stmt, struct tide_names names, struct tide_segment_row *ret_row,
                                struct tide_err *err);

/* All segments of a partition (NULL: of all) as rows of: partition's text, first_since, last_since, rows, deleted,
 * revision, raw_bytes, stored_bytes. */
sqlite3_stmt *tide_catalog_all_segments(sqlite3 *db, struct tide_names names, const char *partition,
                                        struct tide_err *err);

/* What a partition's segments are together; first_since 0: there are none. SQLITE_CORRUPT_VTAB for sums that cannot
 * be. */
struct tide_segment_totals {
  int64_t segments;
  int64_t raw_bytes;
  int64_t stored_bytes;
  int64_t first_since;
};
void tide_catalog_segment_totals(sqlite3 *db, struct tide_names names, int64_t partition,
                                 struct tide_segment_totals *ret_totals, struct tide_err *err);

/* Makes changes() say n again after our own statements: SQLite has no other way than to change n rows. */
void tide_catalog_restore_changes(sqlite3 *db, struct tide_names names, int64_t n, struct tide_err *err);

/* Makes the dataset's virtual table part of the open transaction, so that it hears of savepoints and rollbacks. */
void tide_catalog_join_transaction(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Counts n more deleted rows in a segment (last_since 0: none, the rows lie in the tail) and in its partition. */
void tide_catalog_count_deleted(sqlite3 *db, struct tide_names names, int64_t partition, int64_t segment_last,
                                int64_t n, struct tide_err *err);

#endif
