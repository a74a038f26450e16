#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/sqlite.h"
#include "base/stmt.h"
#include "model/spec_parse.h"
#include "oom.h"
#include "store/tail.h"
#include "unit.h"

/* Batches of the tail that are packed. What is in one is known from the same rows stored plain, which test_tail.c looks
 * at, and is unpacked here by zstd itself. */

enum { PARTITION = 9, FIRST = 11, INGESTED = 1000, HASH = 8 };

struct bench {
  sqlite3 *db;
  struct tide_spec *spec;
  struct tide_tail_press press;
  struct tide_tail_run run;
  struct tide_tail_index index;
  struct tide_names names;
};

static void open_bench(struct bench *bench) {
  static const char *const columns[] = {"n INTEGER", "body TEXT"};
  struct tide_err err = {0};
  struct tide_options options;
  *bench = (struct bench){.run = {.partition = PARTITION}};
  bench->spec = tide_spec_parse(2, columns, &options, &err);
  bench->names = (struct tide_names){.schema = "main", .dataset = "d", .press = &bench->press};
  assert_ok(err);
  ck_assert_int_eq(sqlite3_open(":memory:", &bench->db), SQLITE_OK);
  ck_assert_int_eq(sqlite3_exec(bench->db,
                                "CREATE TABLE d_tail(last_since INTEGER PRIMARY KEY, partition INTEGER NOT NULL,"
                                " first_since INTEGER NOT NULL, rows INTEGER NOT NULL, data BLOB NOT NULL) STRICT",
                                NULL, NULL, NULL),
                   SQLITE_OK);
}

static void close_bench(struct bench *bench) {
  tide_tail_press_clear(&bench->press);
  tide_tail_index_clear(&bench->index);
  tide_buf_clear(&bench->run.bytes);
  tide_spec_unref(bench->spec);
  sqlite3_close(bench->db);
}

enum kind { LINES, NOISE, SAME };

static size_t make_body(enum kind kind, int64_t row, size_t size, unsigned char *body) {
  static uint32_t state = 1;
  if (kind == LINES)
    return (size_t)snprintf((char *)body, size, "GET /page/%lld?size=%lld HTTP/1.1 took %lld ms", (long long)row,
                            (long long)(row * 7919), (long long)(row % 13));
  for (size_t i = 0; i < size; i++) {
    state = state * 1664525 + 1013904223;
    body[i] = kind == SAME ? 'x' : (unsigned char)(state >> 24);
  }
  return size;
}

/* Adds rows to the run: (row, body of up to size bytes). */
static void append(struct bench *bench, enum kind kind, int64_t rows, size_t size) {
  struct tide_err err = {0};
  unsigned char *body = malloc(size);
  for (int64_t row = 0; row < rows; row++) {
    const size_t length = make_body(kind, row, size, body);
    const struct tide_val values[] = {tide_val_int(row), tide_val_text((const char *)body, length)};
    tide_tail_run_append(&bench->run, bench->spec, FIRST + row, INGESTED + row, values, &err);
  }
  free(body);
  assert_ok(err);
}

static void store(struct bench *bench, struct tide_err *err) {
  tide_tail_run_store(&bench->run, bench->db, bench->names, bench->spec, &bench->index, err);
}

/* The data of the one entry; the caller frees it. */
static unsigned char *fetch(struct bench *bench, size_t *ret_size) {
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(bench->db, "SELECT data FROM d_tail", -1, &stmt, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  *ret_size = (size_t)sqlite3_column_bytes(stmt, 0);
  unsigned char *data = malloc(*ret_size);
  memcpy(data, sqlite3_column_blob(stmt, 0), *ret_size);
  sqlite3_finalize(stmt);
  return data;
}

static void put(struct bench *bench, const unsigned char *data, size_t size) {
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(bench->db, "UPDATE d_tail SET data = ?1", -1, &stmt, NULL), SQLITE_OK);
  sqlite3_bind_blob(stmt, 1, data, (int)size, SQLITE_STATIC);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
  sqlite3_finalize(stmt);
}

/* Reads an entry into a batch of its own; gives the code. */
static int read_into(struct bench *bench, const struct tide_tail_entry *entry, struct tide_batch *batch,
                     struct tide_err *err) {
  sqlite3_stmt *stmt = tide_tail_prepare(bench->db, bench->names, err);
  tide_batch_init(batch, bench->spec->ncolumns, err);
  const struct tide_tail_part whole = tide_tail_whole(entry);
  tide_tail_read(stmt, bench->names, bench->spec, &whole, batch, err);
  sqlite3_finalize(stmt);
  return err->rc;
}

static void check_lines(const struct tide_batch *batch, int64_t rows) {
  unsigned char body[100];
  ck_assert_int_eq((int64_t)batch->rows, rows);
  for (int64_t row = 0; row < rows; row++) {
    const size_t length = make_body(LINES, row, sizeof body, body);
    const struct tide_val text = tide_vec_get(&batch->columns[1], (size_t)row);
    ck_assert_int_eq(batch->since[row], FIRST + row);
    ck_assert_int_eq(batch->ingested_at[row], INGESTED + row);
    ck_assert_int_eq(tide_vec_get(&batch->columns[0], (size_t)row).i, row);
    ck_assert_uint_eq(text.n, length);
    ck_assert_mem_eq(text.p, body, length);
  }
}

/* The rows' bytes as a plain entry has them, behind its version and the counts of rows and columns. */
static unsigned char *plain_rows(int64_t rows, size_t *ret_size) {
  struct bench plain;
  struct tide_err err = {0};
  open_bench(&plain);
  plain.names.press = NULL;
  append(&plain, LINES, rows, 100);
  store(&plain, &err);
  assert_ok(err);
  unsigned char *data = fetch(&plain, ret_size);
  ck_assert_int_eq(data[0], 1);
  const size_t front = rows < 128 ? 3 : 4;
  *ret_size -= front + HASH;
  memmove(data, data + front, *ret_size);
  close_bench(&plain);
  return data;
}

START_TEST(bytes_are_those_of_the_header) {
  enum { ROWS = 200, FRONT = 1 + 2 + 1 + 2 };
  struct bench bench;
  struct tide_err err = {0};
  size_t size, plain_size;
  unsigned char *plain = plain_rows(ROWS, &plain_size);
  unsigned char *back = malloc(plain_size);
  open_bench(&bench);
  append(&bench, LINES, ROWS, 100);
  store(&bench, &err);
  assert_ok(err);
  ck_assert_int_eq(bench.run.rows, 0);
  unsigned char *data = fetch(&bench, &size);
  const unsigned char front[FRONT] = {
      2, 0xc8, 1, 2, (unsigned char)(plain_size | 0x80), (unsigned char)(plain_size >> 7)};
  ck_assert_mem_eq(data, front, FRONT);
  ck_assert_uint_eq(data[FRONT] | data[FRONT + 1] << 8, size - FRONT - 4 - HASH);
  ck_assert_uint_eq(data[FRONT + 2] | data[FRONT + 3], 0);
  ck_assert_uint_eq(ZSTD_decompress(back, plain_size, data + FRONT + 4, size - FRONT - 4 - HASH), plain_size);
  ck_assert_mem_eq(back, plain, plain_size);
  ck_assert_uint_lt(size, plain_size / 4 * 3);
  free(data);
  free(back);
  free(plain);
  close_bench(&bench);
}
END_TEST

START_TEST(rows_come_back) {
  struct bench bench;
  struct tide_batch batch = {0};
  struct tide_err err = {0};
  open_bench(&bench);
  append(&bench, LINES, 300, 100);
  store(&bench, &err);
  ck_assert_int_eq(read_into(&bench, &bench.index.entries[0], &batch, &err), SQLITE_OK);
  check_lines(&batch, 300);
  tide_batch_clear(&batch);
  close_bench(&bench);
}
END_TEST

/* What who stored it knows, another handle reads: the stored bytes, and those of the rows. */
START_TEST(an_index_knows_both_sizes) {
  struct bench bench;
  struct tide_tail_index other = {0};
  struct tide_err err = {0};
  size_t raw_size;
  free(plain_rows(300, &raw_size));
  open_bench(&bench);
  append(&bench, LINES, 300, 100);
  store(&bench, &err);
  append(&bench, NOISE, 1, 100); /* below all sizes at which one may be packed */
  bench.run.first_since = bench.run.last_since = FIRST + 1000;
  store(&bench, &err);
  tide_tail_index_extend(&other, bench.db, bench.names, &err);
  assert_ok(err);
  ck_assert_uint_eq(other.count, 2);
  for (size_t i = 0; i < 2; i++) {
    ck_assert_int_eq(other.entries[i].bytes, bench.index.entries[i].bytes);
    ck_assert_int_eq(other.entries[i].raw_bytes, bench.index.entries[i].raw_bytes);
  }
  ck_assert_int_eq(other.entries[0].raw_bytes, (int64_t)raw_size);
  ck_assert_int_eq(other.entries[1].raw_bytes, other.entries[1].bytes);
  ck_assert_int_eq(other.raw_bytes, (int64_t)raw_size + other.entries[1].bytes);
  ck_assert_int_eq(other.entries[1].partition_raw_bytes, other.raw_bytes);
  struct tide_tail_gone gone;
  tide_tail_index_delete_upto(&other, bench.db, bench.names, PARTITION, FIRST + 299, &gone, &err);
  ck_assert_int_eq(other.raw_bytes, other.entries[1].bytes);
  ck_assert_int_eq(other.entries[1].partition_raw_bytes, other.raw_bytes);
  tide_tail_index_clear(&other);
  close_bench(&bench);
}
END_TEST

/* Stores rows and gives the entry's version. */
static int version_of(struct bench *bench, enum kind kind, int64_t rows, size_t size) {
  struct tide_err err = {0};
  size_t stored;
  sqlite3_exec(bench->db, "DELETE FROM d_tail", NULL, NULL, NULL);
  tide_tail_index_reset(&bench->index);
  append(bench, kind, rows, size);
  store(bench, &err);
  assert_ok(err);
  unsigned char *data = fetch(bench, &stored);
  const int version = data[0];
  ck_assert_int_eq((int64_t)stored, bench->index.entries[0].bytes);
  free(data);
  return version;
}

START_TEST(few_and_very_many_bytes_stay_plain) {
  struct bench bench;
  open_bench(&bench);
  ck_assert_int_eq(version_of(&bench, SAME, 1, 2000), 1);
  ck_assert_int_eq(version_of(&bench, SAME, 1, 2048), 2);
  ck_assert_int_eq(version_of(&bench, SAME, 2, 2 << 20), 1);
  ck_assert_int_eq(version_of(&bench, SAME, 2, (2 << 20) - 10), 2);
  close_bench(&bench);
}
END_TEST

START_TEST(a_packed_entry_is_never_too_small_to_be_looked_at) {
  struct bench bench;
  struct tide_batch batch = {0};
  struct tide_err err = {0};
  open_bench(&bench);
  ck_assert_int_eq(version_of(&bench, SAME, 40, 100), 2);
  ck_assert_int_eq(bench.index.entries[0].bytes, 512);
  ck_assert_int_eq(read_into(&bench, &bench.index.entries[0], &batch, &err), SQLITE_OK);
  ck_assert_uint_eq(batch.rows, 40);
  tide_batch_clear(&batch);
  close_bench(&bench);
}
END_TEST

/* After failures packing rests for 1, 3, 7 ... 63 batches, so that what could be packed shows when it is tried. */
START_TEST(what_does_not_get_smaller_is_tried_ever_less) {
  struct bench bench;
  open_bench(&bench);
  for (int pause = 1; pause < 64; pause = 2 * pause + 1) {
    ck_assert_int_eq(version_of(&bench, NOISE, 40, 100), 1);
    for (int i = 0; i < pause; i++)
      ck_assert_int_eq(version_of(&bench, SAME, 40, 100), 1);
  }
  ck_assert_int_eq(version_of(&bench, SAME, 40, 100), 2);
  ck_assert_int_eq(version_of(&bench, SAME, 40, 100), 2);
  ck_assert_int_eq(version_of(&bench, NOISE, 40, 100), 1);
  ck_assert_int_eq(version_of(&bench, SAME, 40, 100), 1);
  ck_assert_int_eq(version_of(&bench, SAME, 40, 100), 2);
  close_bench(&bench);
}
END_TEST

/* ---- damage ---- */

static void check_damaged(struct bench *bench, const char *what, size_t at) {
  struct tide_err err = {0};
  struct tide_batch batch = {0};
  read_into(bench, &bench->index.entries[0], &batch, &err);
  ck_assert_msg(err.rc == SQLITE_CORRUPT_VTAB, "%s %zu: code %d", what, at, err.rc);
  ck_assert_str_eq(err.msg, "dataset d: d_tail row 70 is damaged");
  tide_batch_clear(&batch);
}

START_TEST(each_changed_byte_is_noticed) {
  struct bench bench;
  struct tide_err err = {0};
  size_t size;
  open_bench(&bench);
  append(&bench, LINES, 60, 100);
  store(&bench, &err);
  unsigned char *data = fetch(&bench, &size);
  ck_assert_int_eq(data[0], 2);
  for (size_t at = 0; at < size; at++) {
    data[at] ^= (unsigned char)(1u << at % 8);
    put(&bench, data, size);
    check_damaged(&bench, "byte", at);
    data[at] ^= (unsigned char)(1u << at % 8);
  }
  for (size_t cut = 0; cut < size; cut++) {
    put(&bench, data, cut);
    check_damaged(&bench, "cut to", cut);
  }
  free(data);
  close_bench(&bench);
}
END_TEST

/* An entry of 60 rows, put together by somebody who means harm: with a hash that fits. */
static void put_hostile(struct bench *bench, uint64_t raw_size, uint32_t frame_size, const void *frame, size_t size) {
  struct tide_buf data = {0};
  struct tide_err err = {0};
  const unsigned char front[] = {2, 60, 2};
  tide_buf_put(&data, front, sizeof front, &err);
  tide_buf_put_varint(&data, raw_size, &err);
  tide_buf_put_u32(&data, frame_size, &err);
  tide_buf_put(&data, frame, size, &err);
  tide_buf_put_u64(&data, XXH3_64bits_withSeed(data.data, data.len, 70), &err);
  put(bench, data.data, data.len);
  tide_buf_clear(&data);
}

START_TEST(hostile_bytes_are_damage) {
  struct bench bench;
  struct tide_err err = {0};
  struct tide_batch batch = {0};
  size_t raw;
  unsigned char *rows = plain_rows(60, &raw);
  unsigned char frame[4096];
  open_bench(&bench);
  append(&bench, LINES, 60, 100);
  store(&bench, &err);
  const size_t size = ZSTD_compress(frame, sizeof frame, rows, raw, 3);
  put_hostile(&bench, raw, (uint32_t)size, frame, size); /* as it should be: what follows differs in one thing */
  ck_assert_int_eq(read_into(&bench, &bench.index.entries[0], &batch, &err), SQLITE_OK);
  check_lines(&batch, 60);
  tide_batch_clear(&batch);
  put_hostile(&bench, 0, (uint32_t)size, frame, size);
  check_damaged(&bench, "no rows' bytes", 0);
  put_hostile(&bench, raw - 1, (uint32_t)size, frame, size);
  check_damaged(&bench, "a frame of more", 0);
  put_hostile(&bench, raw + 1, (uint32_t)size, frame, size);
  check_damaged(&bench, "a frame of less", 0);
  put_hostile(&bench, (4 << 20) + 1, (uint32_t)size, frame, size);
  check_damaged(&bench, "more than may be packed", 0);
  put_hostile(&bench, UINT64_MAX, (uint32_t)size, frame, size);
  check_damaged(&bench, "2^64 - 1 bytes", 0);
  put_hostile(&bench, 59, (uint32_t)size, frame, size);
  check_damaged(&bench, "less than a byte a row", 0);
  put_hostile(&bench, raw, (uint32_t)size + 1, frame, size);
  check_damaged(&bench, "a frame past the end", 0);
  put_hostile(&bench, raw, UINT32_MAX, frame, size);
  check_damaged(&bench, "a frame of 2^32 - 1 bytes", 0);
  put_hostile(&bench, raw, (uint32_t)size - 1, frame, size);
  check_damaged(&bench, "a frame cut short", 0);
  put_hostile(&bench, raw, 0, frame, size);
  check_damaged(&bench, "no frame", 0);
  rows[raw - 1] = 0xff;
  put_hostile(&bench, raw, (uint32_t)ZSTD_compress(frame, sizeof frame, rows, raw, 3), frame, sizeof frame);
  ck_assert_int_eq(read_into(&bench, &bench.index.entries[0], &batch, &err), SQLITE_OK); /* text, whatever it says */
  tide_batch_clear(&batch);
  rows[0] = 1;
  put_hostile(&bench, raw, (uint32_t)ZSTD_compress(frame, sizeof frame, rows, raw, 3), frame, sizeof frame);
  check_damaged(&bench, "rows that are none", 0);
  free(rows);
  close_bench(&bench);
}
END_TEST

/* One damaged batch does not keep a handle from the others. */
START_TEST(an_index_takes_what_begins_wrongly) {
  static const unsigned char fronts[][8] = {
      {3, 60, 2, 0x80, 0x10},          /* a version that is not known */
      {2, 60, 2, 0},                   /* no bytes */
      {2, 60, 2, 59},                  /* less than one a row */
      {2, 60, 2, 0x81, 0x80, 0x80, 2}, /* more than 4 MiB */
  };
  struct bench bench;
  struct tide_err err = {0};
  unsigned char data[600] = {0};
  open_bench(&bench);
  append(&bench, LINES, 60, 100);
  store(&bench, &err);
  for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++) {
    struct tide_tail_index other = {0};
    memcpy(data, fronts[i], sizeof fronts[i]);
    put(&bench, data, sizeof data);
    tide_tail_index_extend(&other, bench.db, bench.names, &err);
    assert_ok(err);
    ck_assert_int_eq(other.raw_bytes, sizeof data);
    check_damaged(&bench, "front", i);
    tide_tail_index_clear(&other);
  }
  close_bench(&bench);
}
END_TEST

START_TEST(an_index_refuses_more_rows_than_have_room) {
  struct bench bench;
  struct tide_tail_index other = {0};
  struct tide_err err = {0};
  open_bench(&bench);
  append(&bench, LINES, 60, 100);
  store(&bench, &err);
  sqlite3_exec(bench.db, "UPDATE d_tail SET rows = 4194305, last_since = 9000000", NULL, NULL, NULL);
  tide_tail_index_extend(&other, bench.db, bench.names, &err);
  ck_assert_int_eq(err.rc, SQLITE_CORRUPT_VTAB);
  ck_assert_str_eq(err.msg, "dataset d: d_tail row 9000000 contradicts itself");
  tide_tail_index_clear(&other);
  close_bench(&bench);
}
END_TEST

/* ---- memory ---- */

START_TEST(every_failed_allocation_is_said) {
  oom_install();
  struct bench bench;
  const long start = oom_live();
  for (int n = 1, failed = 1; failed; n++) {
    struct tide_err err = {0};
    struct tide_batch batch = {0};
    struct tide_tail_index other = {0};
    open_bench(&bench);
    append(&bench, LINES, 200, 100);
    oom_fail_at(n);
    store(&bench, &err);
    if (!tide_err_is_set(&err))
      tide_tail_index_extend(&other, bench.db, bench.names, &err);
    if (!tide_err_is_set(&err))
      read_into(&bench, &other.entries[0], &batch, &err);
    failed = oom_has_failed();
    oom_fail_at(0);
    ck_assert_msg(err.rc == (failed ? SQLITE_NOMEM : SQLITE_OK), "allocation %d: code %d, %s", n, err.rc, err.msg);
    tide_batch_clear(&batch);
    tide_tail_index_clear(&other);
    close_bench(&bench);
    ck_assert_int_eq(oom_live(), start);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {bytes_are_those_of_the_header,
                                rows_come_back,
                                an_index_knows_both_sizes,
                                few_and_very_many_bytes_stay_plain,
                                a_packed_entry_is_never_too_small_to_be_looked_at,
                                what_does_not_get_smaller_is_tried_ever_less,
                                each_changed_byte_is_noticed,
                                hostile_bytes_are_damage,
                                an_index_takes_what_begins_wrongly,
                                an_index_refuses_more_rows_than_have_room,
                                every_failed_allocation_is_said,
                                NULL};
  return unit_main("tail_packed", tests);
}
