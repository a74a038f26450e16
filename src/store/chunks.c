#include "store/chunks.h"

#include "base/stmt.h"
#include "base/stmt_pool.h"

static void store_chunks(sqlite3 *db, struct tide_names names, const struct tide_segment_out *segment, int64_t chunk,
                         struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(names.pool, db, err, "INSERT INTO " TIDE_TABLE("chunk") " VALUES(?1, ?2)",
                                           names.schema, names.dataset);
  for (size_t i = 0; i < segment->nchunks && !tide_err_is_set(err); i++) {
    if (segment->chunks[i].len == 0)
      continue;
    sqlite3_bind_int64(stmt, 1, chunk + (int64_t)i);
    if (sqlite3_bind_blob64(stmt, 2, segment->chunks[i].data, segment->chunks[i].len, SQLITE_STATIC) != SQLITE_OK)
      tide_stmt_error(db, SQLITE_TOOBIG, err);
    tide_stmt_run(stmt, err);
  }
  tide_stmt_pool_give(names.pool, stmt);
}

void tide_chunks_store(sqlite3 *db, struct tide_names names, const struct tide_chunks_place *place,
                       const struct tide_segment_out *segment, struct tide_err *err) {
  store_chunks(db, names, segment, place->chunk, err);
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err,
      "INSERT INTO " TIDE_TABLE("segment") "(partition, last_since, first_since, rows, revision, level,"
                                           " chunk, chunks, raw_bytes, stored_bytes, newest_at, meta)"
                                           " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
      names.schema, names.dataset);
  if (stmt != NULL) {
    const int64_t numbers[] = {place->partition,
                               segment->last_since,
                               segment->first_since,
                               (int64_t)segment->rows,
                               place->revision,
                               place->level,
                               place->chunk,
                               (int64_t)segment->nchunks,
                               (int64_t)segment->raw_bytes,
                               (int64_t)segment->stored_bytes,
                               segment->newest_at};
    const int nnumbers = (int)(sizeof numbers / sizeof *numbers);
    for (int i = 0; i < nnumbers; i++)
      sqlite3_bind_int64(stmt, i + 1, numbers[i]);
    sqlite3_bind_blob64(stmt, nnumbers + 1, segment->meta.data, segment->meta.len, SQLITE_STATIC);
    tide_stmt_run(stmt, err);
  }
  tide_stmt_pool_give(names.pool, stmt);
}

/* length() of a blob that lies in overflow pages reads none of them. */
void tide_chunks_sizes(sqlite3 *db, struct tide_names names, int64_t *sizes, size_t n, struct tide_err *err) {
  const int64_t columns = (int64_t)n;
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, err,
      "SELECT c.id - s.chunk, sum(length(c.data)) FROM " TIDE_TABLE("segment") " s CROSS JOIN " TIDE_TABLE(
          "chunk") " c"
                   " ON c.id >= s.chunk AND c.id < s.chunk + min(s.chunks, ?1 + 1) GROUP BY 1",
      names.schema, names.dataset, names.schema, names.dataset);
  tide_stmt_bind_ints(stmt, &columns, 1);
  while (stmt != NULL && tide_stmt_row(stmt, err)) {
    const int64_t column = sqlite3_column_int64(stmt, 0);
    if (!tide_stmt_are_ints(stmt, 0, 2) || column < 0 || column >= columns)
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "%s_segment has a row with more than the %lld chunks it can have",
                   names.dataset, (long long)columns);
    else
      sizes[column] = sqlite3_column_int64(stmt, 1);
  }
  sqlite3_finalize(stmt);
}

/* ---- reading ---- */

static int move_to(struct tide_chunk_reader *reader, int64_t id, struct tide_err *err) {
  if (reader->blob != NULL && reader->blob_id == id)
    return SQLITE_OK;
  int rc = SQLITE_ERROR;
  if (reader->blob != NULL) {
    rc = sqlite3_blob_reopen(reader->blob, id);
  } else {
    char *table = sqlite3_mprintf("%s_chunk", reader->names.dataset);
    if (table == NULL) {
      tide_err_nomem(err);
      return err->rc;
    }
    rc = sqlite3_blob_open(reader->db, reader->names.schema, table, "data", id, 0, &reader->blob);
    sqlite3_free(table);
  }
  reader->blob_id = rc == SQLITE_OK ? id : 0;
  if (rc == SQLITE_OK)
    return rc;
  /* SQLITE_ERROR: no such row, or its data is no blob; anything else is SQLite's own trouble. */
  if ((rc & 0xff) == SQLITE_ERROR)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "%s_chunk has no chunk %lld", reader->names.dataset, (long long)id);
  else
    tide_stmt_error(reader->db, rc, err);
  tide_chunk_reader_close(reader);
  return err->rc;
}

static int read_chunk(void *context, size_t column, uint64_t offset, size_t size, void *into, struct tide_err *err) {
  struct tide_chunk_reader *reader = context;
  const int64_t id = reader->first_chunk + (int64_t)column;
  if (move_to(reader, id, err) != SQLITE_OK)
    return err->rc;
  const uint64_t have = (uint64_t)sqlite3_blob_bytes(reader->blob);
  if (offset > have || size > have - offset) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "%s_chunk %lld has %llu bytes, too few", reader->names.dataset,
                 (long long)id, (unsigned long long)have);
    return err->rc;
  }
  const int rc = sqlite3_blob_read(reader->blob, into, (int)size, (int)offset);
  if (rc != SQLITE_OK)
    tide_stmt_error(reader->db, rc, err);
  return rc;
}

struct tide_chunk_source tide_chunk_reader_source(struct tide_chunk_reader *reader) {
  return (struct tide_chunk_source){.read = read_chunk, .context = reader};
}

void tide_chunk_reader_close(struct tide_chunk_reader *reader) {
  sqlite3_blob_close(reader->blob);
  reader->blob = NULL;
  reader->blob_id = 0;
}
