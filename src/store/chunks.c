#include "store/chunks.h"

#include "base/stmt.h"

static void store_chunks(sqlite3 *db, struct tide_names names, const struct tide_segment_out *segment, int64_t chunk,
                         struct tide_err *err) {
  sqlite3_stmt *stmt =
      tide_stmt_prepare(db, err, "INSERT INTO " TIDE_TABLE("chunk") " VALUES(?1, ?2)", names.schema, names.dataset);
  for (size_t i = 0; i < segment->nchunks && !tide_err_is_set(err); i++) {
    if (segment->chunks[i].len == 0)
      continue;
    sqlite3_bind_int64(stmt, 1, chunk + (int64_t)i);
    if (sqlite3_bind_blob64(stmt, 2, segment->chunks[i].data, segment->chunks[i].len, SQLITE_STATIC) != SQLITE_OK)
      tide_err_set(err, SQLITE_TOOBIG, "dataset %s: one column of a segment is bigger than SQLite's limit",
                   names.dataset);
    tide_stmt_run(stmt, err);
  }
  sqlite3_finalize(stmt);
}

void tide_chunks_store(sqlite3 *db, struct tide_names names, int64_t partition, const struct tide_batch *batch,
                       const struct tide_segment_out *segment, int64_t chunk, struct tide_err *err) {
  store_chunks(db, names, segment, chunk, err);
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, err,
      "INSERT INTO " TIDE_TABLE(
          "segment") "(partition, last_since, first_since, rows, chunk, raw_bytes, stored_bytes, meta)"
                     " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
      names.schema, names.dataset);
  if (stmt != NULL) {
    sqlite3_bind_int64(stmt, 1, partition);
    sqlite3_bind_int64(stmt, 2, batch->since[batch->rows - 1]);
    sqlite3_bind_int64(stmt, 3, batch->since[0]);
    sqlite3_bind_int64(stmt, 4, (int64_t)batch->rows);
    sqlite3_bind_int64(stmt, 5, chunk);
    sqlite3_bind_int64(stmt, 6, (int64_t)segment->raw_bytes);
    sqlite3_bind_int64(stmt, 7, (int64_t)segment->stored_bytes);
    sqlite3_bind_blob64(stmt, 8, segment->meta.data, segment->meta.len, SQLITE_STATIC);
    tide_stmt_run(stmt, err);
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
