#include "store/log_objects.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "store/catalog.h"

void tide_log_extent_read(const struct tide_log_of *of, struct tide_log_extent *ret_extent, struct tide_err *err) {
  struct tide_log_extent extent = {0};
  sqlite3_stmt *stmt = tide_stmt_prepare(
      of->db, err,
      "SELECT min(id) FILTER (WHERE kind = 'batch'), (SELECT max(id) FROM \"%w\".tidemark_export_log),"
      " (SELECT sum(batches) FROM \"%w\".tidemark_export_total WHERE sink = %Q AND dataset = %Q),"
      " (SELECT sum(bytes) FROM \"%w\".tidemark_export_total WHERE sink = %Q AND dataset = %Q)"
      " FROM \"%w\".tidemark_export_log WHERE sink = %Q AND dataset = %Q",
      of->schema, of->schema, of->sink, of->dataset, of->schema, of->sink, of->dataset, of->schema, of->sink,
      of->dataset);
  if (tide_stmt_row(stmt, err)) {
    extent.first_id = sqlite3_column_int64(stmt, 0);
    extent.last_id = sqlite3_column_int64(stmt, 1);
    extent.trimmed_batches = sqlite3_column_int64(stmt, 2);
    extent.trimmed_bytes = sqlite3_column_int64(stmt, 3);
  }
  sqlite3_finalize(stmt);
  *ret_extent = extent;
}

static void add_generation(const struct tide_log_of *of, sqlite3_stmt *stmt, struct tide_generations *generations,
                           struct tide_err *err) {
  void *numbers = generations->numbers;
  if (!tide_stmt_are_ints(stmt, 0, 1) || !tide_catalog_is_count(sqlite3_column_int64(stmt, 0)))
    tide_err_set(err, SQLITE_CORRUPT_VTAB,
                 "tidemark_export_log or tidemark_export_total, sink %s, dataset %s: a generation is no number that"
                 " there can be",
                 of->sink, of->dataset);
  else if (tide_grow(&numbers, &generations->cap, generations->count + 1, sizeof *generations->numbers, err) == 0) {
    generations->numbers = numbers;
    generations->numbers[generations->count++] = sqlite3_column_int64(stmt, 0);
  }
}

void tide_generations_read(const struct tide_log_of *of, struct tide_generations *ret_generations,
                           struct tide_err *err) {
  struct tide_generations generations = {0};
  sqlite3_stmt *stmt = tide_stmt_prepare(
      of->db, err,
      "SELECT 0 UNION SELECT generation FROM \"%w\".tidemark_export_log WHERE sink = %Q AND dataset = %Q"
      " UNION SELECT generation FROM \"%w\".tidemark_export_total WHERE sink = %Q AND dataset = %Q ORDER BY 1",
      of->schema, of->sink, of->dataset, of->schema, of->sink, of->dataset);
  while (tide_stmt_row(stmt, err))
    add_generation(of, stmt, &generations, err);
  sqlite3_finalize(stmt);
  *ret_generations = generations;
}

void tide_generations_clear(struct tide_generations *generations) {
  tide_free(generations->numbers);
  *generations = (struct tide_generations){0};
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
    if (!tide_stmt_are_ints(stmt, 0, 2)) {
      tide_err_set(err, SQLITE_CORRUPT_VTAB,
                   "tidemark_export_log, sink %s, dataset %s: id or bytes of a row behind row %lld is no number",
                   of->sink, of->dataset, (long long)above);
      break;
    }
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
