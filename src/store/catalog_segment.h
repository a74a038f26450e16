/* The shadow table _segment (store/catalog.h draws it). */
#ifndef TIDE_STORE_CATALOG_SEGMENT_H
#define TIDE_STORE_CATALOG_SEGMENT_H

#include "base/sqlite.h"
#include "model/options.h"
#include "model/spec.h"
#include "store/names.h"

struct tide_segment_row {
  int64_t partition;
  int64_t last_since;
  int64_t first_since;
  int64_t rows;
  int64_t deleted;
  int64_t pruned;
  int64_t revision;
  int64_t level;
  int64_t chunk;
  int64_t chunks;
  int64_t raw_bytes;
  int64_t stored_bytes;
  int64_t newest_at; /* ms since 1970 */
  const void *meta;  /* a view, until the statement moves */
  size_t meta_size;
};

/* How many of its rows are still there. */
static inline int64_t tide_segment_row_live(const struct tide_segment_row *row) {
  return row->rows - row->deleted - row->pruned;
}

/* A statement that gives a partition's segments above a since, in order: bind with tide_catalog_segments_seek, then
 * step with tide_catalog_segments_next, which is false at the end and on error. A row
 * that contradicts itself is SQLITE_CORRUPT_VTAB: what comes out has 0 <= deleted + pruned <= rows, 1 <= rows <=
 * last_since - first_since + 1, and can be counted with. */
sqlite3_stmt *tide_catalog_segments_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);
void tide_catalog_segments_seek(sqlite3_stmt *stmt, int64_t partition, int64_t since);
bool tide_catalog_segments_next(sqlite3_stmt *stmt, struct tide_names names, struct tide_segment_row *ret_row,
                                struct tide_err *err);

/* The same from the highest downwards, of those that may have rows up to a since too: seek both. Of the first one all
 * rows may lie above it. */
sqlite3_stmt *tide_catalog_segments_down_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);
void tide_catalog_segments_seek_upto(sqlite3_stmt *stmt, int64_t upto);

/* Takes away the segment, with its chunks. */
void tide_catalog_segment_drop(sqlite3 *db, struct tide_names names, const struct tide_segment_row *row,
                               struct tide_err *err);

/* Counts n more rows of a segment as pruned. SQLITE_CORRUPT_VTAB when there is no such segment, or it then had more
 * gone than it has. */
void tide_catalog_segment_count_pruned(sqlite3 *db, struct tide_names names, const struct tide_segment_row *row,
                                       int64_t n, struct tide_err *err);

/* All segments of a partition (NULL: of all) as rows of: partition's text, first_since, last_since, rows, deleted,
 * revision, raw_bytes, stored_bytes, pruned, level, newest_at. */
sqlite3_stmt *tide_catalog_all_segments(sqlite3 *db, struct tide_names names, const char *partition,
                                        struct tide_err *err);

/* What a partition's segments are together. SQLITE_CORRUPT_VTAB for sums that cannot be. */
struct tide_segment_totals {
  int64_t segments;
  int64_t raw_bytes;
  int64_t stored_bytes;
};
void tide_catalog_segment_totals(sqlite3 *db, struct tide_names names, int64_t partition,
                                 struct tide_segment_totals *ret_totals, struct tide_err *err);

/* Counts n more deleted rows in a segment (last_since 0: none, the rows lie in the tail) and in its partition.
 * SQLITE_CORRUPT_VTAB when one of them is missing or has no room for it. */
void tide_catalog_count_deleted(sqlite3 *db, struct tide_names names, int64_t partition, int64_t segment_last,
                                int64_t n, struct tide_err *err);

#endif
