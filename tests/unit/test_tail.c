#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/sqlite.h"
#include "base/stmt.h"
#include "model/spec_parse.h"
#include "store/tail.h"
#include "unit.h"

static const struct tide_names names = {.schema = "main", .dataset = "d"};

static sqlite3 *open_db(void) {
  sqlite3 *db = NULL;
  ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
  ck_assert_int_eq(sqlite3_exec(db,
                                "CREATE TABLE d_tail(last_since INTEGER PRIMARY KEY, partition INTEGER NOT NULL, "
                                "first_since INTEGER NOT NULL,"
                                " rows INTEGER NOT NULL, data BLOB NOT NULL) STRICT",
                                NULL, NULL, NULL),
                   SQLITE_OK);
  return db;
}

/* p is the partition column, which a run does not hold. */
static struct tide_spec *make_spec(void) {
  static const char *const columns[] = {"a TEXT", "p TEXT", "b", "partition_by=p"};
  struct tide_err err = {0};
  struct tide_options options;
  struct tide_spec *spec = tide_spec_parse(4, columns, &options, &err);
  assert_ok(err);
  return spec;
}

static void append(struct tide_tail_run *run, const struct tide_spec *spec, int64_t since, int64_t ingested,
                   struct tide_val a, struct tide_val b) {
  struct tide_err err = {0};
  const struct tide_val values[] = {a, tide_val_text("part", 4), b};
  ck_assert_int_eq(tide_tail_run_append(run, spec, since, ingested, values, &err), 0);
}

/* Two rows: ('hi', -1) with since 5 at 3 ms, (NULL, 1.0) with since 7 at 2 ms. */
static void append_two(struct tide_tail_run *run, const struct tide_spec *spec) {
  append(run, spec, 5, 3, tide_val_text("hi", 2), tide_val_int(-1));
  append(run, spec, 7, 2, tide_val_null(), tide_val_real(1.0));
}
static const unsigned char two_rows[] = {1, 2, 2,                         /* version, rows, columns */
                                         0, 6, 3,    2,   'h', 'i', 1, 1, /* since + 0, 3 ms, TEXT of 2, INT -1 */
                                         2, 1, 0,    2,   0,   0,   0, 0,
                                         0, 0, 0xf0, 0x3f}; /* since + 2, -1 ms, NULL, REAL 1.0 */
static const struct tide_tail_entry two_entry = {.last_since = 7, .first_since = 5, .partition = 9, .rows = 2};

/* Reads the one entry; gives the code. */
static int read_entry(sqlite3 *db, const struct tide_spec *spec, const struct tide_tail_entry *entry,
                      struct tide_batch *batch, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_tail_prepare(db, names, err);
  const struct tide_tail_part whole = tide_tail_whole(entry);
  tide_tail_read(stmt, names, spec, &whole, batch, err);
  sqlite3_finalize(stmt);
  return err->rc;
}

static void put_data(sqlite3 *db, const struct tide_tail_entry *entry, const void *data, size_t size) {
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO d_tail VALUES(?1, 9, ?2, ?3, ?4)", -1, &stmt, NULL),
                   SQLITE_OK);
  sqlite3_bind_int64(stmt, 1, entry->last_since);
  sqlite3_bind_int64(stmt, 2, entry->first_since);
  sqlite3_bind_int64(stmt, 3, entry->rows);
  sqlite3_bind_blob(stmt, 4, data, (int)size, SQLITE_STATIC);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
  sqlite3_finalize(stmt);
}

/* Stores bytes with a hash that fits, as somebody would who means harm. */
static void put_hashed(sqlite3 *db, const struct tide_tail_entry *entry, const unsigned char *bytes, size_t size) {
  struct tide_err err = {0};
  struct tide_buf data = {0};
  tide_buf_put(&data, bytes, size, &err);
  tide_buf_put_u64(&data, XXH3_64bits_withSeed(bytes, size, (uint64_t)entry->last_since), &err);
  put_data(db, entry, data.data, data.len);
  tide_buf_clear(&data);
}

/* Into the table; what the index of a handle would keep of it is of no interest here. */
static void store(struct tide_tail_run *run, sqlite3 *db, const struct tide_spec *spec, struct tide_err *err) {
  struct tide_tail_index stored = {0};
  tide_tail_run_store(run, db, names, spec, &stored, err);
  tide_tail_index_clear(&stored);
}

/* In the two steps of who reads each entry before. */
static void delete_partition(struct tide_tail_index *index, sqlite3 *db, int64_t partition, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_tail_index_delete_prepare(db, names, err);
  for (const struct tide_tail_entry *entry = tide_tail_index_find(index, partition); entry != NULL;
       entry = tide_tail_index_before(index, entry)) {
    tide_stmt_bind_ints(stmt, &entry->last_since, 1);
    tide_stmt_run(stmt, err);
  }
  sqlite3_finalize(stmt);
  tide_tail_index_forget_partition(index, db, names, partition, err);
}

START_TEST(bytes_are_those_of_the_header) {
  struct tide_err err = {0};
  struct tide_tail_run run = {.partition = 9};
  struct tide_spec *spec = make_spec();
  sqlite3 *db = open_db();
  sqlite3_stmt *stmt = NULL;
  append_two(&run, spec);
  store(&run, db, spec, &err);
  assert_ok(err);
  ck_assert_int_eq(run.rows, 0);
  sqlite3_prepare_v2(db, "SELECT last_since, partition, first_since, rows, data FROM d_tail", -1, &stmt, NULL);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  ck_assert_int_eq(sqlite3_column_int64(stmt, 0), 7);
  ck_assert_int_eq(sqlite3_column_int64(stmt, 1), 9);
  ck_assert_int_eq(sqlite3_column_int64(stmt, 2), 5);
  ck_assert_int_eq(sqlite3_column_int64(stmt, 3), 2);
  ck_assert_int_eq(sqlite3_column_bytes(stmt, 4), sizeof two_rows + 8);
  ck_assert_mem_eq(sqlite3_column_blob(stmt, 4), two_rows, sizeof two_rows);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
  sqlite3_finalize(stmt);
  store(&run, db, spec, &err); /* nothing in it */
  assert_ok(err);
  tide_buf_clear(&run.bytes);
  tide_spec_unref(spec);
  sqlite3_close(db);
}
END_TEST

/* ---- what goes in comes out ---- */

static const int64_t sinces[] = {1, 2, 3, 1000, INT64_C(1) << 40, (INT64_C(1) << 62) - 1, INT64_C(1) << 62};
static const int64_t clock_ms[] = {1767225600000, 1767225600000, -5, INT64_MAX, INT64_MIN, 0, 7};
enum { ROWS = sizeof sinces / sizeof *sinces };

static struct tide_val text_of(size_t row) {
  static char long_text[70000];
  static const char *const texts[] = {"a", "", "a\0b", "\xc3\xa9"};
  memset(long_text, 'x', sizeof long_text);
  if (row == 4)
    return tide_val_text(long_text, sizeof long_text);
  return row < 4 ? tide_val_text(texts[row], row == 2 ? 3 : strlen(texts[row])) : tide_val_null();
}

static struct tide_val any_of(size_t row) {
  const struct tide_val values[ROWS] = {tide_val_int(INT64_MIN), tide_val_int(INT64_MAX),    tide_val_real(-0.0),
                                        tide_val_real(INFINITY), tide_val_blob("\0\xff", 2), tide_val_blob("", 0),
                                        tide_val_text("1", 1)};
  return values[row];
}

static void check_value(const struct tide_vec *vec, size_t row, struct tide_val want) {
  const struct tide_val have = tide_vec_get(vec, row);
  ck_assert_uint_eq(have.type, want.type);
  ck_assert(have.type != TIDE_VAL_INT || have.i == want.i);
  ck_assert(have.type != TIDE_VAL_REAL || memcmp(&have.r, &want.r, sizeof have.r) == 0);
  ck_assert_uint_eq(have.n, want.n);
  ck_assert(have.n == 0 || memcmp(have.p, want.p, have.n) == 0);
}

static void check_rows(const struct tide_batch *batch) {
  ck_assert_uint_eq(batch->rows, ROWS);
  for (size_t row = 0; row < ROWS; row++) {
    ck_assert_int_eq(batch->since[row], sinces[row]);
    ck_assert_int_eq(batch->ingested_at[row], clock_ms[row]);
    check_value(&batch->columns[0], row, text_of(row));
    check_value(&batch->columns[1], row, tide_val_null());
    check_value(&batch->columns[2], row, any_of(row));
  }
}

START_TEST(rows_come_back_from_memory_and_from_the_table) {
  struct tide_err err = {0};
  struct tide_tail_run run = {.partition = 9};
  struct tide_batch batch = {0};
  struct tide_spec *spec = make_spec();
  sqlite3 *db = open_db();
  tide_batch_init(&batch, spec->ncolumns, &err);
  for (size_t row = 0; row < ROWS; row++)
    append(&run, spec, sinces[row], clock_ms[row], text_of(row), any_of(row));
  tide_tail_run_decode(&run, spec, &batch, &err);
  assert_ok(err);
  check_rows(&batch);
  tide_batch_reset(&batch);
  store(&run, db, spec, &err);
  struct tide_tail_index index = {0};
  tide_tail_index_extend(&index, db, names, &err);
  assert_ok(err);
  ck_assert_uint_eq(index.count, 1);
  ck_assert_int_eq(read_entry(db, spec, &index.entries[0], &batch, &err), SQLITE_OK);
  check_rows(&batch);
  tide_tail_index_clear(&index);
  tide_batch_clear(&batch);
  tide_buf_clear(&run.bytes);
  tide_spec_unref(spec);
  sqlite3_close(db);
}
END_TEST

START_TEST(a_part_has_the_rows_between_its_bounds) {
  static const struct {
    int64_t above, upto;
    size_t rows;
    int64_t first;
  } parts[] = {{0, 9, 2, 5}, {4, 7, 2, 5}, {5, 7, 1, 7}, {4, 6, 1, 5},
               {4, 5, 1, 5}, {5, 6, 0, 0}, {7, 9, 0, 0}, {0, 4, 0, 0}};
  struct tide_err err = {0};
  struct tide_batch batch = {0};
  struct tide_spec *spec = make_spec();
  sqlite3 *db = open_db();
  put_hashed(db, &two_entry, two_rows, sizeof two_rows);
  tide_batch_init(&batch, spec->ncolumns, &err);
  sqlite3_stmt *stmt = tide_tail_prepare(db, names, &err);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    const struct tide_tail_part part = {&two_entry, parts[i].above, parts[i].upto};
    tide_batch_reset(&batch);
    ck_assert(tide_tail_read(stmt, names, spec, &part, &batch, &err));
    ck_assert_uint_eq(batch.rows, parts[i].rows);
    if (parts[i].rows > 0)
      ck_assert_int_eq(batch.since[0], parts[i].first);
  }
  assert_ok(err);
  sqlite3_finalize(stmt);
  tide_batch_clear(&batch);
  tide_spec_unref(spec);
  sqlite3_close(db);
}
END_TEST

START_TEST(columns_that_came_later_read_null) {
  static const char *const more[] = {"a TEXT", "p TEXT", "b", "c INTEGER", "partition_by=p"};
  struct tide_err err = {0};
  struct tide_batch batch = {0};
  struct tide_options options;
  struct tide_spec *spec = tide_spec_parse(5, more, &options, &err);
  sqlite3 *db = open_db();
  assert_ok(err);
  tide_batch_init(&batch, spec->ncolumns, &err);
  put_hashed(db, &two_entry, two_rows, sizeof two_rows);
  ck_assert_int_eq(read_entry(db, spec, &two_entry, &batch, &err), SQLITE_OK);
  ck_assert_uint_eq(batch.rows, 2);
  check_value(&batch.columns[0], 0, tide_val_text("hi", 2));
  check_value(&batch.columns[2], 0, tide_val_int(-1));
  check_value(&batch.columns[3], 0, tide_val_null());
  check_value(&batch.columns[3], 1, tide_val_null());
  tide_batch_clear(&batch);
  tide_spec_unref(spec);
  sqlite3_close(db);
}
END_TEST

/* ---- damage ---- */

static void check_corrupt(sqlite3 *db, const struct tide_spec *spec, const struct tide_tail_entry *entry,
                          const char *what, size_t at) {
  struct tide_err err = {0};
  struct tide_batch batch = {0};
  tide_batch_init(&batch, spec->ncolumns, &err);
  read_entry(db, spec, entry, &batch, &err);
  ck_assert_msg(err.rc == SQLITE_CORRUPT_VTAB, "%s %zu: code %d", what, at, err.rc);
  ck_assert_str_eq(err.msg, "dataset d: d_tail row 7 is damaged");
  tide_batch_clear(&batch);
}

START_TEST(each_changed_bit_is_noticed) {
  struct tide_spec *spec = make_spec();
  sqlite3 *db = open_db();
  unsigned char data[sizeof two_rows + 8];
  memcpy(data, two_rows, sizeof two_rows);
  const uint64_t hash = XXH3_64bits_withSeed(two_rows, sizeof two_rows, 7);
  for (size_t i = 0; i < 8; i++)
    data[sizeof two_rows + i] = (unsigned char)(hash >> 8 * i);
  for (size_t bit = 0; bit < 8 * sizeof data; bit++) {
    data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    put_data(db, &two_entry, data, sizeof data);
    check_corrupt(db, spec, &two_entry, "bit", bit);
    data[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
  for (size_t size = 0; size < sizeof data; size++) {
    put_data(db, &two_entry, data, size);
    check_corrupt(db, spec, &two_entry, "cut to", size);
  }
  tide_spec_unref(spec);
  sqlite3_close(db);
}
END_TEST

START_TEST(data_of_another_row_is_noticed) {
  struct tide_err err = {0};
  struct tide_batch batch = {0};
  struct tide_spec *spec = make_spec();
  sqlite3 *db = open_db();
  struct tide_tail_entry moved = two_entry;
  tide_batch_init(&batch, spec->ncolumns, &err);
  put_hashed(db, &two_entry, two_rows, sizeof two_rows);
  ck_assert_int_eq(sqlite3_exec(db, "UPDATE d_tail SET last_since = 8, first_since = 6", NULL, NULL, NULL), SQLITE_OK);
  moved.last_since = 8;
  moved.first_since = 6;
  ck_assert_int_eq(read_entry(db, spec, &moved, &batch, &err), SQLITE_CORRUPT_VTAB);
  tide_batch_clear(&batch);
  tide_spec_unref(spec);
  sqlite3_close(db);
}
END_TEST

START_TEST(an_entry_that_is_gone_is_no_damage) {
  struct tide_err err = {0};
  struct tide_batch batch = {0};
  struct tide_spec *spec = make_spec();
  sqlite3 *db = open_db();
  tide_batch_init(&batch, spec->ncolumns, &err);
  sqlite3_stmt *stmt = tide_tail_prepare(db, names, &err);
  const struct tide_tail_part two_whole = tide_tail_whole(&two_entry);
  ck_assert(!tide_tail_read(stmt, names, spec, &two_whole, &batch, &err));
  assert_ok(err);
  sqlite3_finalize(stmt);
  tide_batch_clear(&batch);
  tide_spec_unref(spec);
  sqlite3_close(db);
}
END_TEST

/* ---- bytes with the right hash that no run of ours has ---- */

START_TEST(hostile_bytes_are_damage) {
  static const struct {
    const char *what;
    size_t size;
    unsigned char bytes[40];
  } hostile[] = {
      {"nothing", 0, {0}},
      {"version 2", 23, {2, 2, 2, 0, 6, 3, 2, 'h', 'i', 1, 1, 2, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
      {"no rows", 3, {1, 0, 2}},
      {"fewer rows than the table says", 11, {1, 1, 2, 0, 6, 3, 2, 'h', 'i', 1, 1}},
      {"2^63 rows", 12, {1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 2}},
      {"an overlong count", 13, {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2}},
      {"three columns", 27, {1, 2, 3, 0, 6, 3, 2, 'h', 'i',  1,    1, 0, 2, 1,
                             0, 2, 0, 0, 0, 0, 0, 0,   0xf0, 0x3f, 0, 0, 0}},
      {"2^35 columns", 8, {1, 2, 0x80, 0x80, 0x80, 0x80, 0x80, 1}},
      {"rows cut short", 12, {1, 2, 2, 0, 6, 3, 2, 'h', 'i', 1, 1, 2}},
      {"the first step is not 0", 13, {1, 2, 2, 1, 6, 0, 0, 1, 1, 0, 0, 0, 0}},
      {"a step of 0", 11, {1, 2, 2, 0, 6, 0, 0, 0, 1, 0, 0}},
      {"a step past the last since", 11, {1, 2, 2, 0, 6, 0, 0, 3, 1, 0, 0}},
      {"a step of 2^64 - 1", 20, {1,    2,    2,    0,    6,    0,    0, 0xff, 0xff, 0xff,
                                  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1,    0,    0}},
      {"a last since not reached", 11, {1, 2, 2, 0, 6, 0, 0, 1, 1, 0, 0}},
      {"bytes behind the rows", 12, {1, 2, 2, 0, 6, 0, 0, 2, 1, 0, 0, 0}},
      {"type 5", 11, {1, 2, 2, 0, 6, 5, 0, 2, 1, 0, 0}},
      {"a text longer than all", 12, {1, 2, 2, 0, 6, 3, 100, 0, 2, 1, 0, 0}},
      {"a text of 2^32", 16, {1, 2, 2, 0, 6, 3, 0x80, 0x80, 0x80, 0x80, 0x10, 0, 2, 1, 0, 0}},
      {"a text of 2^64 - 1", 21, {1,    2,    2,    0,    6, 4, 0xff, 0xff, 0xff, 0xff, 0xff,
                                  0xff, 0xff, 0xff, 0xff, 1, 0, 2,    1,    0,    0}},
      {"half a real", 14, {1, 2, 2, 0, 6, 0, 0, 2, 1, 0, 2, 0, 0, 0}},
  };
  struct tide_spec *spec = make_spec();
  sqlite3 *db = open_db();
  for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
    put_hashed(db, &two_entry, hostile[i].bytes, hostile[i].size);
    check_corrupt(db, spec, &two_entry, hostile[i].what, i);
  }
  tide_spec_unref(spec);
  sqlite3_close(db);
}
END_TEST

START_TEST(hostile_columns_of_the_table_are_damage) {
  static const struct tide_tail_entry entries[] = {
      {.last_since = 7, .first_since = 8, .rows = 2},         {.last_since = 7, .first_since = 0, .rows = 2},
      {.last_since = 7, .first_since = INT64_MIN, .rows = 2}, {.last_since = 7, .first_since = 5, .rows = 3},
      {.last_since = 7, .first_since = 5, .rows = -1},        {.last_since = 7, .first_since = 6, .rows = 2}};
  struct tide_spec *spec = make_spec();
  sqlite3 *db = open_db();
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    put_hashed(db, &entries[i], two_rows, sizeof two_rows);
    check_corrupt(db, spec, &entries[i], "entry", i);
  }
  tide_spec_unref(spec);
  sqlite3_close(db);
}
END_TEST

/* ---- the index ---- */

START_TEST(index_adds_up_each_partition) {
  struct tide_err err = {0};
  struct tide_tail_index index = {0};
  for (int64_t i = 1; i <= 6; i++) {
    const struct tide_tail_entry entry = {
        .last_since = 10 * i, .first_since = 10 * i - 5, .partition = i % 2, .rows = i, .bytes = 100 * i};
    ck_assert_int_eq(tide_tail_index_add(&index, entry, &err), 0);
  }
  ck_assert_int_eq(tide_tail_index_last(&index), 60);
  ck_assert_int_eq(index.bytes, 2100);
  ck_assert_int_eq(tide_tail_index_find(&index, 0)->partition_rows, 2 + 4 + 6);
  ck_assert_int_eq(tide_tail_index_find(&index, 1)->partition_rows, 1 + 3 + 5);
  ck_assert_int_eq(tide_tail_index_find(&index, 1)->partition_bytes, 900);
  ck_assert_ptr_null(tide_tail_index_find(&index, 2));
  sqlite3 *db = open_db();
  delete_partition(&index, db, 0, &err);
  assert_ok(err);
  ck_assert_uint_eq(index.count, 3);
  ck_assert_int_eq(index.bytes, 900);
  ck_assert_int_eq(tide_tail_index_last(&index), 50);
  ck_assert_ptr_null(tide_tail_index_find(&index, 0));
  ck_assert_int_eq(tide_tail_index_find(&index, 1)->partition_rows, 1 + 3 + 5);
  for (int64_t i = 100; i < 1100; i++) {
    const struct tide_tail_entry entry = {.last_since = i, .first_since = i, .partition = i, .rows = 1, .bytes = 1};
    ck_assert_int_eq(tide_tail_index_add(&index, entry, &err), 0);
  }
  for (int64_t i = 100; i < 1100; i++)
    ck_assert_int_eq(tide_tail_index_find(&index, i)->last_since, i);
  tide_tail_index_reset(&index);
  ck_assert_ptr_null(tide_tail_index_find(&index, 100));
  tide_tail_index_clear(&index);
  sqlite3_close(db);
}
END_TEST

static void enter(struct tide_tail_index *index, int64_t last_since, int64_t partition) {
  struct tide_err err = {0};
  const struct tide_tail_entry entry = {
      .last_since = last_since, .first_since = last_since - 1, .partition = partition, .rows = 2, .bytes = 10};
  ck_assert_int_eq(tide_tail_index_add(index, entry, &err), 0);
}

/* The last sinces of a partition's entries, newest first. */
static void check_chain(const struct tide_tail_index *index, int64_t partition, const int64_t *expected, size_t count) {
  const struct tide_tail_entry *entry = tide_tail_index_find(index, partition);
  for (size_t i = 0; i < count; i++, entry = tide_tail_index_before(index, entry)) {
    ck_assert_ptr_nonnull(entry);
    ck_assert_int_eq(entry->last_since, expected[i]);
    ck_assert_int_eq(entry->partition_rows, 2 * (int64_t)(count - i));
    ck_assert_int_eq(entry->partition_bytes, 10 * (int64_t)(count - i));
    ck_assert_uint_eq(entry->partition_batches, count - i);
  }
  ck_assert_ptr_null(entry);
}

START_TEST(index_chains_what_a_partition_has) {
  struct tide_err err = {0};
  struct tide_tail_index index = {0};
  struct tide_tail_gone gone;
  sqlite3 *db = open_db();
  for (int64_t i = 1; i <= 8; i++)
    enter(&index, 10 * i, i % 2);
  check_chain(&index, 1, (int64_t[]){70, 50, 30, 10}, 4);
  tide_tail_index_delete_upto(&index, db, names, 1, 35, &gone, &err);
  ck_assert_int_eq(gone.rows, 4);
  ck_assert_int_eq(gone.last_since, 30);
  check_chain(&index, 1, (int64_t[]){70, 50}, 2);
  check_chain(&index, 0, (int64_t[]){80, 60, 40, 20}, 4);
  ck_assert_uint_eq(index.count, 6);
  ck_assert_uint_eq(index.partitions, 2);
  ck_assert_int_eq(index.rows, 12);
  tide_tail_index_delete_upto(&index, db, names, 1, 49, &gone, &err);
  ck_assert_int_eq(gone.rows, 0);
  delete_partition(&index, db, 0, &err); /* the newest entry of all among them */
  ck_assert_int_eq(tide_tail_index_last(&index), 70);
  ck_assert_uint_eq(index.partitions, 1);
  ck_assert_ptr_null(tide_tail_index_find(&index, 0));
  enter(&index, 90, 0);
  check_chain(&index, 0, (int64_t[]){90}, 1);
  check_chain(&index, 1, (int64_t[]){70, 50}, 2);
  assert_ok(err);
  tide_tail_index_clear(&index);
  sqlite3_close(db);
}
END_TEST

/* The places of entries that went are used again: never more than twice as many as there are. */
START_TEST(index_does_not_grow_by_what_went) {
  struct tide_err err = {0};
  struct tide_tail_index index = {0};
  sqlite3 *db = open_db();
  enter(&index, 2, 1);
  for (int64_t i = 2; i < 3000; i++) {
    enter(&index, 10 * i, i);
    if (i >= 12)
      delete_partition(&index, db, i - 10, &err);
  }
  assert_ok(err);
  ck_assert_uint_eq(index.count, 11);
  ck_assert_uint_le(index.places, 64);
  check_chain(&index, 1, (int64_t[]){2}, 1);
  check_chain(&index, 2999, (int64_t[]){29990}, 1);
  ck_assert_uint_eq(tide_tail_index_above(&index, 29990), index.places);
  ck_assert_int_eq(index.entries[tide_tail_index_above(&index, 29989)].last_since, 29990);
  tide_tail_index_clear(&index);
  sqlite3_close(db);
}
END_TEST

START_TEST(index_extends_by_what_is_new) {
  struct tide_err err = {0};
  struct tide_tail_index index = {0};
  struct tide_tail_run run = {.partition = 9};
  struct tide_spec *spec = make_spec();
  sqlite3 *db = open_db();
  append_two(&run, spec);
  store(&run, db, spec, &err);
  tide_tail_index_extend(&index, db, names, &err);
  ck_assert_uint_eq(index.count, 1);
  append(&run, spec, 8, 0, tide_val_null(), tide_val_null());
  store(&run, db, spec, &err);
  tide_tail_index_extend(&index, db, names, &err);
  assert_ok(err);
  ck_assert_uint_eq(index.count, 2);
  ck_assert_int_eq(index.entries[1].first_since, 8);
  ck_assert_int_eq(index.entries[1].partition_rows, 3);
  ck_assert(tide_tail_index_holds(&index, db, names, &err));
  ck_assert_int_eq(sqlite3_exec(db, "UPDATE d_tail SET data = zeroblob(40)", NULL, NULL, NULL), SQLITE_OK);
  ck_assert(!tide_tail_index_holds(&index, db, names, &err));
  delete_partition(&index, db, 9, &err);
  ck_assert_uint_eq(index.count, 0);
  ck_assert(tide_tail_index_holds(&index, db, names, &err));
  tide_tail_index_extend(&index, db, names, &err);
  assert_ok(err);
  ck_assert_uint_eq(index.count, 0);
  tide_tail_index_clear(&index);
  tide_buf_clear(&run.bytes);
  tide_spec_unref(spec);
  sqlite3_close(db);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {bytes_are_those_of_the_header,
                                rows_come_back_from_memory_and_from_the_table,
                                a_part_has_the_rows_between_its_bounds,
                                columns_that_came_later_read_null,
                                each_changed_bit_is_noticed,
                                data_of_another_row_is_noticed,
                                an_entry_that_is_gone_is_no_damage,
                                hostile_bytes_are_damage,
                                hostile_columns_of_the_table_are_damage,
                                index_adds_up_each_partition,
                                index_chains_what_a_partition_has,
                                index_does_not_grow_by_what_went,
                                index_extends_by_what_is_new,
                                NULL};
  return unit_main("tail", tests);
}
