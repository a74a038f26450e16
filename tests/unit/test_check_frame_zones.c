/* tidemark_check holds the values of each frame against the frame's own zone, by which scans leave frames out. */
#define _GNU_SOURCE
#include <stdio.h>

#include "segment/format.h"
#include "sql_db.h"
#include "unit.h"

static sqlite3 *db;

enum { COLUMN_N, COLUMN_X, COLUMNS };

/* One segment of 9000 rows, which are frames of 4096, 4096 and 808: n is 1 to 9000; x is NULL in row 5000, else
 * TEXT. */
static void begin(void) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(n INTEGER, x ANY);"
              "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 9000)"
              " INSERT INTO logs SELECT i, iif(i = 5000, NULL, 'x' || (i / 100)) FROM c;"
              "SELECT tidemark_flush('logs')");
  ck_assert_int_eq(db_int(db, "SELECT count(*) FROM logs_segment"), 1);
}

static void end(void) {
  db_close(db);
}

static struct tide_buf blob(const char *sql) {
  struct tide_err err = {0};
  struct tide_buf buf = {0};
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  tide_buf_put(&buf, sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0), &err);
  sqlite3_finalize(stmt);
  assert_ok(err);
  return buf;
}

static void update(const char *sql, const struct tide_buf *value, int64_t more) {
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
  sqlite3_bind_blob64(stmt, 1, value->data, value->len, SQLITE_STATIC);
  sqlite3_bind_int64(stmt, 2, more);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
  sqlite3_finalize(stmt);
}

/* A chunk anew, with another zone in one frame; meta learns of it. */
static struct tide_buf edited(const struct tide_buf *chunk, struct tide_format_meta *meta, size_t column, size_t frame,
                              void (*edit)(struct tide_zone *zone)) {
  struct tide_err err = {0};
  struct tide_format_directory was, now = {0};
  struct tide_buf templates = {0}, out = {0};
  tide_format_read_header(chunk->data, meta, column, &was, &err);
  assert_ok(err);
  edit(&was.zones[frame]);
  for (size_t i = 0; i < was.nframes; i++)
    tide_format_directory_add(&now, chunk->data + was.offsets[i], was.offsets[i + 1] - was.offsets[i], 0, &was.zones[i],
                              &err);
  tide_buf_put(&templates, chunk->data + was.templates_at, was.templates_size, &err);
  tide_format_put_header(&now, false, &templates, &out, &meta->entries[column], &err);
  tide_buf_put(&out, chunk->data + was.templates_at, chunk->len - was.templates_at, &err);
  assert_ok(err);
  tide_buf_clear(&templates);
  tide_format_directory_clear(&was);
  tide_format_directory_clear(&now);
  return out;
}

static void edit_zone(size_t column, size_t frame, void (*edit)(struct tide_zone *zone)) {
  static const char *const selects[COLUMNS] = {"SELECT data FROM logs_chunk WHERE id = 3",
                                               "SELECT data FROM logs_chunk WHERE id = 4"};
  static const char *const updates[COLUMNS] = {"UPDATE logs_chunk SET data = ?1 WHERE id = 3 AND ?2 IS NOT NULL",
                                               "UPDATE logs_chunk SET data = ?1 WHERE id = 4 AND ?2 IS NOT NULL"};
  struct tide_err err = {0};
  struct tide_format_meta meta;
  struct tide_buf bytes = blob("SELECT meta FROM logs_segment"), chunk = blob(selects[column]), meta_now = {0};
  tide_format_read_meta(bytes.data, bytes.len, COLUMNS, &meta, &err);
  assert_ok(err);
  struct tide_buf chunk_now = edited(&chunk, &meta, TIDE_SEGMENT_COLUMN_FIRST + column, frame, edit);
  tide_format_put_meta(&meta, &meta_now, &err);
  assert_ok(err);
  update(updates[column], &chunk_now, 0);
  update("UPDATE logs_segment SET meta = ?1, stored_bytes = stored_bytes - length(meta) + length(?1) + ?2", &meta_now,
         (int64_t)chunk_now.len - (int64_t)chunk.len);
  tide_format_meta_clear(&meta);
  tide_buf_clear(&bytes);
  tide_buf_clear(&chunk);
  tide_buf_clear(&chunk_now);
  tide_buf_clear(&meta_now);
}

static void with_higher_min(struct tide_zone *zone) {
  zone->min = tide_val_int(zone->min.i + 1);
}

static void with_lower_max(struct tide_zone *zone) {
  zone->max = tide_val_int(zone->max.i - 1);
}

static void without_null(struct tide_zone *zone) {
  zone->types &= (uint8_t) ~(1u << TIDE_VAL_NULL);
}

static void with_lower_text(struct tide_zone *zone) {
  zone->max = zone->min;
}

static void as_it_was(struct tide_zone *zone) {
  (void)zone;
}

static void with_wide_bounds(struct tide_zone *zone) {
  zone->types |= 1u << TIDE_VAL_NULL;
  zone->min = tide_val_int(INT64_MIN);
  zone->max = tide_val_int(INT64_MAX);
}

static void without_types(struct tide_zone *zone) {
  *zone = (struct tide_zone){0};
}

/* A frame has rows, and these have types: a scan must not leave it out as one that has none. */
START_TEST(a_zone_of_no_types_is_damage) {
  begin();
  edit_zone(COLUMN_N, 1, without_types);
  ck_assert_str_eq(db_text(db, "SELECT tidemark_check('logs')"),
                   "logs_segment (partition '', last_since 9000): column n, frame 0: the chunk's header contradicts "
                   "itself");
  db_refuses(db, SQLITE_CORRUPT, "the chunk's header contradicts itself", "SELECT count(*) FROM logs WHERE n = 5000");
  end();
}
END_TEST

START_TEST(frame_zones) {
  static const struct {
    size_t column;
    size_t frame;
    void (*edit)(struct tide_zone *zone);
    const char *place; /* NULL: nothing is wrong */
  } edits[] = {{COLUMN_N, 0, with_higher_min, "column n, frame 0"}, {COLUMN_N, 1, with_higher_min, "column n, frame 1"},
               {COLUMN_N, 2, with_lower_max, "column n, frame 2"},  {COLUMN_N, 1, with_wide_bounds, NULL},
               {COLUMN_X, 1, without_null, "column x, frame 1"},    {COLUMN_X, 0, without_null, NULL},
               {COLUMN_X, 2, with_lower_text, "column x, frame 2"}, {COLUMN_X, 1, as_it_was, NULL}};
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    char expected[200] = "ok";
    begin();
    edit_zone(edits[i].column, edits[i].frame, edits[i].edit);
    if (edits[i].place != NULL)
      snprintf(expected, sizeof expected,
               "logs_segment (partition '', last_since 9000): %s: its zone leaves out a value that is there",
               edits[i].place);
    ck_assert_str_eq(db_text(db, "SELECT tidemark_check('logs')"), expected);
    end();
  }
}
END_TEST

int main(void) {
  const TTest *tests[] = {frame_zones, a_zone_of_no_types_is_damage, NULL};
  return unit_main("check_frame_zones", tests);
}
