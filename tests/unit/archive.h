/* What lies in a sink's folder, put into two TEMP tables of a connection: file(object, bytes) and line(object,
 * json), the lines of those that have some (Parquet has none). Nothing may be under way; what else is in `_tidemark` is
 * not looked at. */
#ifndef TIDE_TESTS_ARCHIVE_H
#define TIDE_TESTS_ARCHIVE_H

#include <zstd.h>

#include "base/buf.h"
#include "sql_db.h"

static struct {
  sqlite3 *db;
  size_t root_size;
} archive;

static inline void archive_read_file(const char *path, struct tide_buf *ret_bytes) {
  struct tide_err err = {0};
  char piece[65536];
  size_t got;
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "%s", path);
  tide_buf_reset(ret_bytes);
  while ((got = fread(piece, 1, sizeof piece, file)) > 0)
    tide_buf_put(ret_bytes, piece, got, &err);
  fclose(file);
  ck_assert(!tide_err_is_set(&err));
}

static inline void archive_unpack(struct tide_buf *bytes) {
  struct tide_err err = {0};
  struct tide_buf plain = {0};
  char piece[65536];
  ZSTD_DStream *stream = ZSTD_createDStream();
  ZSTD_inBuffer in = {bytes->data, bytes->len, 0};
  size_t rc = 1;
  while (in.pos < in.size) {
    ZSTD_outBuffer out = {piece, sizeof piece, 0};
    rc = ZSTD_decompressStream(stream, &out, &in);
    ck_assert_msg(!ZSTD_isError(rc), "%s", ZSTD_getErrorName(rc));
    tide_buf_put(&plain, piece, out.pos, &err);
  }
  ck_assert_uint_eq(rc, 0); /* the frame is whole */
  ZSTD_freeDStream(stream);
  tide_buf_clear(bytes);
  *bytes = plain;
}

static inline void archive_add_lines(const char *object, const struct tide_buf *bytes) {
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(archive.db, "INSERT INTO temp.line VALUES(?1, ?2)", -1, &stmt, NULL), SQLITE_OK);
  sqlite3_bind_text(stmt, 1, object, -1, SQLITE_STATIC);
  const char *at = (const char *)bytes->data;
  const char *end = at + bytes->len;
  while (at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    ck_assert_msg(newline != NULL, "%s ends within a line", object);
    sqlite3_bind_text(stmt, 2, at, (int)(newline - at), SQLITE_STATIC);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_reset(stmt);
    at = newline + 1;
  }
  sqlite3_finalize(stmt);
}

/* All but Parquet, and what lies beside the commits of a Delta table. */
static inline bool archive_has_lines(const char *object) {
  return strstr(object, ".parquet") == NULL &&
         (strstr(object, "/_delta_log/") == NULL || strstr(object, ".json") != NULL);
}

static inline int archive_visit(const char *path, const struct stat *st, int type, struct FTW *where) {
  struct tide_buf bytes = {0};
  const char *object = path + archive.root_size;
  if (type != FTW_F)
    return 0;
  ck_assert_msg(path[where->base] != '.' && strncmp(object, "_tidemark/tmp/", 14) != 0, "%s was left behind", path);
  if (strncmp(object, "_tidemark/", 10) == 0)
    return 0;
  db_exec(archive.db, "INSERT INTO temp.file VALUES(%Q, %lld)", object, (long long)st->st_size);
  if (!archive_has_lines(object))
    return 0;
  archive_read_file(path, &bytes);
  if (strcmp(object + strlen(object) - 4, ".zst") == 0)
    archive_unpack(&bytes);
  archive_add_lines(object, &bytes);
  tide_buf_clear(&bytes);
  return 0;
}

static inline void archive_read(sqlite3 *db, const char *folder) {
  db_exec(db, "CREATE TEMP TABLE IF NOT EXISTS file(object TEXT PRIMARY KEY, bytes);"
              "CREATE TEMP TABLE IF NOT EXISTS line(object, json); DELETE FROM temp.file; DELETE FROM temp.line");
  archive.db = db;
  archive.root_size = strlen(folder) + 1;
  db_exec(db, "BEGIN");
  ck_assert_int_eq(nftw(folder, archive_visit, 16, FTW_PHYS), 0);
  db_exec(db, "COMMIT");
}

/* Whether an object is in both folders with the same bytes. */
static inline bool archive_same(const char *folder, const char *other, const char *object) {
  struct tide_buf bytes[2] = {{0}, {0}};
  const char *const folders[] = {folder, other};
  char path[512];
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", folders[i], object);
    archive_read_file(path, &bytes[i]);
  }
  const bool same = bytes[0].len == bytes[1].len && memcmp(bytes[0].data, bytes[1].data, bytes[0].len) == 0;
  tide_buf_clear(&bytes[0]);
  tide_buf_clear(&bytes[1]);
  return same;
}

#endif
