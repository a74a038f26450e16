#include "store/catalog_segment.h"

#include "base/stmt.h"
#include "base/stmt_pool.h"
#include "store/catalog.h"
#include "store/catalog_partition.h"

#define SEGMENT_COLUMNS                                                                                                \
  "partition, last_since, first_since, rows, deleted, pruned, revision, level, chunk, chunks, raw_bytes,"              \
  " stored_bytes, newest_at, meta"

sqlite3_stmt *tide_catalog_segments_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(names.pool, db, err,
                             "SELECT " SEGMENT_COLUMNS " FROM " TIDE_TABLE(
                                 "segment") " WHERE partition = ?1 AND last_since > ?2 ORDER BY last_since",
                             names.schema, names.dataset);
}

/* Segments do not overlap: the lowest that ends at a since or behind it is the last with rows up to it. */
sqlite3_stmt *tide_catalog_segments_down_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(
      names.pool, db, err,
      "SELECT " SEGMENT_COLUMNS " FROM " TIDE_TABLE(
          "segment") " WHERE partition = ?1 AND last_since > ?2 AND last_since <= coalesce((SELECT min(last_since)"
                     " FROM " TIDE_TABLE("segment") " WHERE partition = ?1 AND last_since >= ?3), 9223372036854775807)"
                                                    " ORDER BY last_since DESC",
      names.schema, names.dataset, names.schema, names.dataset);
}

void tide_catalog_segments_seek_upto(sqlite3_stmt *stmt, int64_t upto) {
  sqlite3_bind_int64(stmt, 3, upto);
}

void tide_catalog_segments_seek(sqlite3_stmt *stmt, int64_t partition, int64_t since) {
  sqlite3_reset(stmt);
  sqlite3_bind_int64(stmt, 1, partition);
  sqlite3_bind_int64(stmt, 2, since);
}

static bool segment_is_plausible(const struct tide_segment_row *row) {
  return row->first_since >= 1 && row->first_since <= row->last_since && tide_catalog_is_count(row->last_since) &&
         row->rows >= 1 && row->rows <= TIDE_OPTIONS_SEGMENT_ROWS_MAX &&
         row->rows - 1 <= row->last_since - row->first_since && row->deleted >= 0 && row->deleted <= row->rows &&
         row->pruned >= 0 && row->pruned <= row->rows - row->deleted && tide_catalog_is_count(row->revision) &&
         row->chunk >= 1 && tide_catalog_is_count(row->chunk) && row->chunks >= 1 &&
         row->chunks <= TIDE_SPEC_COLUMNS_MAX + 2 && tide_catalog_is_count(row->raw_bytes) &&
         tide_catalog_is_count(row->stored_bytes);
}

bool tide_catalog_segments_next(sqlite3_stmt *stmt, struct tide_names names, struct tide_segment_row *ret_row,
                                struct tide_err *err) {
  if (!tide_stmt_row(stmt, err))
    return false;
  const bool typed = tide_stmt_are_ints(stmt, 0, 13) && sqlite3_column_type(stmt, 13) == SQLITE_BLOB;
  struct tide_segment_row row = {.partition = sqlite3_column_int64(stmt, 0),
                                 .last_since = sqlite3_column_int64(stmt, 1),
                                 .first_since = sqlite3_column_int64(stmt, 2),
                                 .rows = sqlite3_column_int64(stmt, 3),
                                 .deleted = sqlite3_column_int64(stmt, 4),
                                 .pruned = sqlite3_column_int64(stmt, 5),
                                 .revision = sqlite3_column_int64(stmt, 6),
                                 .level = sqlite3_column_int64(stmt, 7),
                                 .chunk = sqlite3_column_int64(stmt, 8),
                                 .chunks = sqlite3_column_int64(stmt, 9),
                                 .raw_bytes = sqlite3_column_int64(stmt, 10),
                                 .stored_bytes = sqlite3_column_int64(stmt, 11),
                                 .newest_at = sqlite3_column_int64(stmt, 12),
                                 .meta = sqlite3_column_blob(stmt, 13)};
  row.meta_size = (size_t)sqlite3_column_bytes(stmt, 13);
  if (!typed || !segment_is_plausible(&row)) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB,
                 "dataset %s: %s_segment row (partition %lld, last_since %lld) contradicts itself", names.dataset,
                 names.dataset, (long long)row.partition, (long long)row.last_since);
    return false;
  }
  *ret_row = row;
  return true;
}

void tide_catalog_segment_drop(sqlite3 *db, struct tide_names names, const struct tide_segment_row *row,
                               struct tide_err *err) {
  sqlite3_stmt *chunks =
      tide_stmt_pool_take(names.pool, db, err, "DELETE FROM " TIDE_TABLE("chunk") " WHERE id >= ?1 AND id < ?2",
                          names.schema, names.dataset);
  tide_stmt_bind_ints(chunks, (const int64_t[]){row->chunk, row->chunk + row->chunks}, 2);
  tide_stmt_run(chunks, err);
  tide_stmt_pool_give(names.pool, chunks);
  sqlite3_stmt *segment = tide_stmt_pool_take(
      names.pool, db, err, "DELETE FROM " TIDE_TABLE("segment") " WHERE partition = ?1 AND last_since = ?2",
      names.schema, names.dataset);
  tide_stmt_bind_ints(segment, (const int64_t[]){row->partition, row->last_since}, 2);
  tide_stmt_run(segment, err);
  tide_stmt_pool_give(names.pool, segment);
}

/* Adds to what is gone of a segment; each is 0 or more. */
struct gone {
  int64_t deleted;
  int64_t pruned;
};

static void count_gone(sqlite3 *db, struct tide_names names, int64_t partition, int64_t last_since, struct gone gone,
                       struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err,
      "UPDATE " TIDE_TABLE(
          "segment") " SET deleted = deleted + ?1, pruned = pruned + ?2"
                     " WHERE partition = ?3 AND last_since = ?4 AND deleted <= rows - pruned - ?1 - ?2",
      names.schema, names.dataset);
  tide_stmt_bind_ints(stmt, (const int64_t[]){gone.deleted, gone.pruned, partition, last_since}, 4);
  tide_stmt_run(stmt, err);
  tide_stmt_pool_give(names.pool, stmt);
  if (!tide_err_is_set(err) && sqlite3_changes(db) == 0)
    tide_err_set(err, SQLITE_CORRUPT_VTAB,
                 "dataset %s: %s_segment row (partition %lld, last_since %lld) is missing, or counts more rows as gone"
                 " than it has",
                 names.dataset, names.dataset, (long long)partition, (long long)last_since);
}

void tide_catalog_segment_count_pruned(sqlite3 *db, struct tide_names names, const struct tide_segment_row *row,
                                       int64_t n, struct tide_err *err) {
  count_gone(db, names, row->partition, row->last_since, (struct gone){.pruned = n}, err);
}

sqlite3_stmt *tide_catalog_all_segments(sqlite3 *db, struct tide_names names, const char *partition,
                                        struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, err,
      "SELECT p.name, s.first_since, s.last_since, s.rows, s.deleted, s.revision, s.raw_bytes, s.stored_bytes,"
      " s.pruned, s.level, s.newest_at"
      " FROM " TIDE_TABLE("partition") " p JOIN " TIDE_TABLE(
          "segment") " s ON s.partition = p.id"
                     " WHERE ?1 IS NULL OR p.name = ?1 ORDER BY p.id, s.last_since",
      names.schema, names.dataset, names.schema, names.dataset);
  if (stmt != NULL)
    sqlite3_bind_text(stmt, 1, partition, -1, SQLITE_TRANSIENT);
  return stmt;
}

void tide_catalog_segment_totals(sqlite3 *db, struct tide_names names, int64_t partition,
                                 struct tide_segment_totals *ret_totals, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err,
      "SELECT count(*), total(raw_bytes), total(stored_bytes) FROM " TIDE_TABLE("segment") " WHERE partition = ?1",
      names.schema, names.dataset);
  tide_stmt_bind_ints(stmt, &partition, 1);
  struct tide_segment_totals totals = {0};
  if (tide_stmt_row(stmt, err))
    totals = (struct tide_segment_totals){.segments = sqlite3_column_int64(stmt, 0),
                                          .raw_bytes = sqlite3_column_int64(stmt, 1),
                                          .stored_bytes = sqlite3_column_int64(stmt, 2)};
  tide_stmt_pool_give(names.pool, stmt);
  if (!tide_catalog_is_count(totals.raw_bytes) || !tide_catalog_is_count(totals.stored_bytes))
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_segment rows of partition %lld contradict themselves",
                 names.dataset, names.dataset, (long long)partition);
  if (!tide_err_is_set(err))
    *ret_totals = totals;
}

void tide_catalog_count_deleted(sqlite3 *db, struct tide_names names, int64_t partition, int64_t segment_last,
                                int64_t n, struct tide_err *err) {
  tide_catalog_partition_change(db, names, partition, &(struct tide_partition_change){.deleted = n}, err);
  if (segment_last != 0)
    count_gone(db, names, partition, segment_last, (struct gone){.deleted = n}, err);
}
