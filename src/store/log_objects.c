#include "store/log_objects.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"

void tide_log_extent_read(const struct tide_log_of *of, struct tide_log_extent *ret_extent, struct tide_err *err) {
  struct tide_log_extent extent = {0};
  sqlite3_stmt *stmt = tide_stmt_prepare(
      of->db, err,
      "SELECT min(id) FILTER (WHERE kind = 'batch'), (SELECT max(id) FROM \"%w\".tidemark_export_log),"
      " max(generation),"
      " (SELECT sum(batches) FROM \"%w\".tidemark_export_total WHERE sink = %Q AND dataset = %Q),"
      " (SELECT sum(bytes) FROM \"%w\".tidemark_export_total WHERE sink = %Q AND dataset = %Q)"
      " FROM \"%w\".tidemark_export_log WHERE sink = %Q AND dataset = %Q",
      of->schema, of->schema, of->sink, of->dataset, of->schema, of->sink, of->dataset, of->schema, of->sink,
      of->dataset);
  if (tide_stmt_row(stmt, err)) {
    extent.first_id = sqlite3_column_int64(stmt, 0);
    extent.last_id = sqlite3_column_int64(stmt, 1);
    extent.generation = sqlite3_column_int64(stmt, 2);
    extent.trimmed_batches = sqlite3_column_int64(stmt, 3);
    extent.trimmed_bytes = sqlite3_column_int64(stmt, 4);
  }
  sqlite3_finalize(stmt);
  *ret_extent = extent;
}

int64_t tide_log_next_generation(const struct tide_log_of *of, int64_t above, struct tide_err *err) {
  return tide_stmt_int(of->db, -1, err,
                       "SELECT min(generation) FROM \"%w\".tidemark_export_log"
                       " WHERE generation > %lld AND sink = %Q AND dataset = %Q",
                       of->schema, (long long)above, of->sink, of->dataset);
}

/* ---- pages ---- */

void tide_log_page_clear(struct tide_log_page *page) {
  for (size_t i = 0; i < page->count; i++) {
    tide_free(page->rows[i].object);
    tide_free(page->rows[i].hash);
  }
  *page = (struct tide_log_page){0};
}

bool tide_log_page_read(const struct tide_log_of *of, int64_t above, int64_t upto, struct tide_log_page *page,
                        struct tide_err *err) {
  tide_log_page_clear(page);
  sqlite3_stmt *stmt =
      tide_stmt_prepare(of->db, err,
                        "SELECT id, bytes, object, hash FROM \"%w\".tidemark_export_log"
                        " WHERE id > %lld AND id <= %lld AND +sink = %Q AND +dataset = %Q"
                        " AND kind = 'batch' AND object IS NOT NULL ORDER BY id LIMIT %d",
                        of->schema, (long long)above, (long long)upto, of->sink, of->dataset, (int)TIDE_LOG_PAGE_ROWS);
  while (tide_stmt_row(stmt, err)) {
    struct tide_log_object *row = &page->rows[page->count++];
    row->id = sqlite3_column_int64(stmt, 0);
    row->bytes = sqlite3_column_int64(stmt, 1);
    row->object = tide_stmt_copy_text(stmt, 2, err);
    row->hash = tide_stmt_copy_text(stmt, 3, err);
  }
  sqlite3_finalize(stmt);
  if (tide_err_is_set(err))
    tide_log_page_clear(page);
  return page->count > 0;
}

/* ---- one object ---- */

void tide_log_look(const struct tide_log_of *of, const char *object, const char *partition, size_t partition_size,
                   int64_t generation, int64_t above, struct tide_log_sight *ret_sight, struct tide_err *err) {
  struct tide_log_sight sight = {0};
  sqlite3_stmt *stmt = tide_stmt_prepare(
      of->db, err,
      "SELECT (SELECT batch FROM \"%w\".tidemark_batch WHERE sink = ?1 AND dataset = ?2 AND object = ?3),"
      " EXISTS(SELECT 1 FROM \"%w\".tidemark_export_log WHERE id > ?6 AND +sink = ?1 AND +dataset = ?2 AND object = "
      "?3),"
      " (SELECT until FROM \"%w\".tidemark_export_total WHERE sink = ?1 AND dataset = ?2 AND partition = ?4"
      "  AND generation = ?5)",
      of->schema, of->schema, of->schema);
  if (stmt != NULL) {
    sqlite3_bind_text(stmt, 1, of->sink, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, of->dataset, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 3, object, -1, SQLITE_STATIC);
    sqlite3_bind_text64(stmt, 4, partition, partition_size, SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_int64(stmt, 5, generation);
    sqlite3_bind_int64(stmt, 6, above);
  }
  if (tide_stmt_row(stmt, err)) {
    sight.batch = sqlite3_column_int64(stmt, 0);
    sight.logged = sqlite3_column_int(stmt, 1) != 0;
    sight.trimmed_until = sqlite3_column_int64(stmt, 2);
  }
  sqlite3_finalize(stmt);
  *ret_sight = sight;
}
