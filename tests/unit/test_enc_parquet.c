#define _GNU_SOURCE /* for memmem */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "measure.h"
#include "oom.h"
#include "random.h"
#include "sink/encoder.h"
#include "sink/parquet_file.h"
#include "unit.h"

/* source is the partition column; batches do not hold it. */
enum { ID, SOURCE, VALUE, BODY, ATTRS, DATA, OK, ANYTHING, AT_S, COLUMNS };

static struct tide_column columns[COLUMNS] = {
    {.name = "id", .type = TIDE_TYPE_TIMESTAMP_MS, .not_null = true, .partition_at = -1},
    {.name = "source", .type = TIDE_TYPE_TEXT, .partition_at = 0},
    {.name = "value", .type = TIDE_TYPE_REAL, .partition_at = -1},
    {.name = "body", .type = TIDE_TYPE_TEXT, .partition_at = -1},
    {.name = "attrs", .type = TIDE_TYPE_JSON, .partition_at = -1},
    {.name = "data", .type = TIDE_TYPE_BLOB, .partition_at = -1},
    {.name = "ok", .type = TIDE_TYPE_BOOLEAN, .partition_at = -1},
    {.name = "anything", .type = TIDE_TYPE_ANY, .partition_at = -1},
    {.name = "at_s", .type = TIDE_TYPE_TIMESTAMP_S, .not_null = true, .partition_at = -1}};
static size_t partition[] = {SOURCE};
static const struct tide_spec spec = {
    .refs = 1, .ncolumns = COLUMNS, .columns = columns, .npartition = 1, .partition = partition};

static const int all[] = {TIDE_ENCODER_SINCE,
                          TIDE_ENCODER_PARTITION,
                          TIDE_ENCODER_INGESTED_AT,
                          ID,
                          SOURCE,
                          VALUE,
                          BODY,
                          ATTRS,
                          DATA,
                          OK,
                          ANYTHING,
                          AT_S};
enum { ALL = sizeof all / sizeof *all };

static size_t below(size_t bound) {
  return (size_t)(next_random() % bound);
}

static struct tide_val text(const char *string) {
  return tide_val_text(string, strlen(string));
}

static bool in_table; /* whether the object is one of a table */

static struct tide_encoder *create(const int *list, size_t count, struct tide_err *err) {
  const struct tide_val partition_value = text("web");
  const struct tide_encoder_config config = {.spec = &spec,
                                             .columns = list,
                                             .ncolumns = count,
                                             .partition = "source=web",
                                             .partition_values = &partition_value,
                                             .zstd_level = 1,
                                             .dataset = "logs",
                                             .log_id = "0123456789abcdef0123456789abcdef",
                                             .since = 3,
                                             .until = INT64_MAX,
                                             .schema_version = COLUMNS,
                                             .table = in_table};
  return tide_format_parquet.create(&config, err);
}

static void init(struct tide_batch *batch) {
  struct tide_err err = {0};
  *batch = (struct tide_batch){0};
  tide_batch_init(batch, COLUMNS, &err);
  assert_ok(err);
}

/* ---- an object in memory ---- */

struct object {
  struct tide_buf bytes;
  char hash[TIDE_ENCODER_HASH_SIZE];
  uint64_t altered;
  uint64_t encoded;
  size_t read_at; /* for hash_object */
};

static void finish(struct tide_encoder *encoder, struct object *object, struct tide_err *err) {
  encoder->methods->finish(encoder, &object->bytes, object->hash, err);
  object->altered = encoder->altered;
  object->encoded = encoder->encoded;
  tide_encoder_destroy(encoder);
}

/* All rows of the batch, in calls of at most `step` rows; 0: of random numbers of rows. */
static struct object encode(const struct tide_batch *batch, const int *list, size_t count, const uint8_t *keep,
                            size_t step) {
  struct tide_err err = {0};
  struct object object = {0};
  struct tide_encoder *encoder = create(list, count, &err);
  for (size_t at = 0; at < batch->rows && !tide_err_is_set(&err);) {
    size_t rows = step > 0 ? step : 1 + (size_t)below(3000);
    rows = rows < batch->rows - at ? rows : batch->rows - at;
    encoder->methods->rows(encoder, batch, at, rows, keep, &object.bytes, &err);
    at += rows;
  }
  finish(encoder, &object, &err);
  assert_ok(err);
  return object;
}

static long read_object(void *context, void *into, size_t size, struct tide_err *err) {
  struct object *object = context;
  size_t left = object->bytes.len - object->read_at;
  (void)err;
  size = size < left ? size : left;
  size = size < 1000 ? size : 1000; /* a piece is not a page */
  if (size > 0)
    memcpy(into, object->bytes.data + object->read_at, size);
  object->read_at += size;
  return (long)size;
}

static int rehash(struct object *object, char ret_hash[TIDE_ENCODER_HASH_SIZE], struct tide_err *err) {
  object->read_at = 0;
  return tide_format_parquet.hash_object(read_object, object, ret_hash, err);
}

/* ---- rows ---- */

static void append(struct tide_batch *batch, int column, struct tide_val val) {
  struct tide_err err = {0};
  struct tide_val values[COLUMNS] = {[ID] = tide_val_int(0), [AT_S] = tide_val_int(0)};
  values[column] = val;
  tide_batch_append(batch, (int64_t)batch->rows + 1, 1000, values, &err);
  assert_ok(err);
}

/* Random rows of every type; some texts repeat, some are long. */
static void fill(struct tide_batch *batch, size_t rows) {
  static char letters[30000];
  memset(letters, 'x', sizeof letters);
  for (size_t i = 0; i < rows; i++) {
    struct tide_err err = {0};
    struct tide_val values[COLUMNS] = {0};
    char body[40];
    sqlite3_snprintf(sizeof body, body, "message %d", (int)below(5000));
    values[ID] = tide_val_int((int64_t)(1700000000000 + i * 10 + below(10)));
    values[AT_S] = tide_val_int((int64_t)below(1000));
    if (below(10) > 0)
      values[VALUE] = tide_val_real((double)below(1000) / 8);
    values[BODY] = below(500) == 0 ? tide_val_text(letters, below(sizeof letters))
                   : below(9) == 0 ? tide_val_null()
                                   : text(body);
    values[ATTRS] = below(2) == 0 ? text("{\"a\": 1}") : tide_val_null();
    values[DATA] = tide_val_blob("\0\1\2\3", below(5));
    values[OK] = below(3) == 0 ? tide_val_null() : tide_val_int((int64_t)below(2));
    values[ANYTHING] = below(2) == 0 ? tide_val_int((int64_t)i) : text("any");
    tide_batch_append(batch, (int64_t)i * 2 + 1, 1000, values, &err);
    assert_ok(err);
  }
}

static void expect_equal(const struct object *a, const struct object *b) {
  ck_assert_uint_eq(a->bytes.len, b->bytes.len);
  ck_assert_mem_eq(a->bytes.data, b->bytes.data, a->bytes.len);
  ck_assert_str_eq(a->hash, b->hash);
  ck_assert_uint_eq(a->encoded, b->encoded);
  ck_assert_uint_eq(a->altered, b->altered);
}

START_TEST(bytes_do_not_depend_on_how_rows_are_cut) {
  struct tide_batch batch;
  init(&batch);
  fill(&batch, 45000);
  struct object whole = encode(&batch, all, ALL, NULL, batch.rows);
  struct object one = encode(&batch, all, ALL, NULL, 1);
  struct object many = encode(&batch, all, ALL, NULL, 0);
  expect_equal(&whole, &one);
  expect_equal(&whole, &many);
  tide_buf_clear(&whole.bytes);
  tide_buf_clear(&one.bytes);
  tide_buf_clear(&many.bytes);
  tide_batch_clear(&batch);
}
END_TEST

/* Of rows of 40,000 bytes thirteen are half a mebibyte, which is as much as is looked at at once. */
START_TEST(nor_on_how_large_rows_are_cut) {
  static char letters[40000];
  static const int list[] = {BODY, TIDE_ENCODER_SINCE};
  struct tide_batch batch;
  init(&batch);
  for (int i = 0; i < 60; i++) {
    memset(letters, 'a' + i % 26, sizeof letters);
    append(&batch, BODY, tide_val_text(letters, sizeof letters - below(20000)));
  }
  struct object one = encode(&batch, list, 2, NULL, 1);
  for (size_t step = 7; step <= 60; step += 53) {
    struct object other = encode(&batch, list, 2, NULL, step);
    expect_equal(&one, &other);
    tide_buf_clear(&other.bytes);
  }
  tide_buf_clear(&one.bytes);
  tide_batch_clear(&batch);
}
END_TEST

/* ---- a partition's values ---- */

/* The object of a column that has this value in five rows, because it is the partition's or because each row has it. */
static struct object encode_constant(enum tide_type type, struct tide_val val, bool is_partition) {
  static size_t first[] = {0};
  static const int list[] = {0, 1};
  struct tide_column column[] = {{.name = "c", .type = type, .partition_at = is_partition ? 0 : -1},
                                 {.name = "n", .type = TIDE_TYPE_INTEGER, .partition_at = -1}};
  const struct tide_spec of_two = {
      .refs = 1, .ncolumns = 2, .columns = column, .npartition = is_partition, .partition = first};
  const struct tide_encoder_config config = {.spec = &of_two,
                                             .columns = list,
                                             .ncolumns = 2,
                                             .partition = "",
                                             .partition_values = &val,
                                             .zstd_level = 1,
                                             .dataset = "logs",
                                             .log_id = "0123456789abcdef0123456789abcdef",
                                             .until = 5};
  struct tide_err err = {0};
  struct tide_batch batch = {0};
  struct object object = {0};
  tide_batch_init(&batch, 2, &err);
  for (int64_t i = 1; i <= 5; i++)
    tide_batch_append(&batch, i, 1000, (const struct tide_val[]){val, tide_val_int(i)}, &err);
  struct tide_encoder *encoder = tide_format_parquet.create(&config, &err);
  assert_ok(err);
  encoder->methods->rows(encoder, &batch, 0, batch.rows, NULL, &object.bytes, &err);
  finish(encoder, &object, &err);
  assert_ok(err);
  tide_batch_clear(&batch);
  return object;
}

START_TEST(a_partitions_value_is_as_each_rows) {
  static const struct {
    enum tide_type type;
    struct tide_val val;
    uint64_t altered;
  } cases[] = {{TIDE_TYPE_REAL, {.type = TIDE_VAL_REAL, .r = -2.5}, 0},
               {TIDE_TYPE_INTEGER, {.type = TIDE_VAL_INT, .i = INT64_MIN}, 0},
               {TIDE_TYPE_TIMESTAMP_S, {.type = TIDE_VAL_INT, .i = 7}, 0},
               {TIDE_TYPE_TIMESTAMP_S, {.type = TIDE_VAL_INT, .i = INT64_MAX}, 5},
               {TIDE_TYPE_TEXT, {.type = TIDE_VAL_NULL}, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct object constant = encode_constant(cases[i].type, cases[i].val, true);
    struct object each = encode_constant(cases[i].type, cases[i].val, false);
    ck_assert_uint_eq(constant.altered, cases[i].altered);
    expect_equal(&constant, &each);
    tide_buf_clear(&constant.bytes);
    tide_buf_clear(&each.bytes);
  }
}
END_TEST

START_TEST(rows_left_out_leave_no_trace) {
  struct tide_batch batch, kept;
  static uint8_t keep[6000];
  init(&batch);
  init(&kept);
  fill(&batch, 6000);
  for (size_t row = 0; row < batch.rows; row++) {
    struct tide_err err = {0};
    struct tide_val values[COLUMNS];
    keep[row] = row % 3 == 1;
    for (size_t i = 0; i < COLUMNS; i++)
      values[i] = tide_vec_get(&batch.columns[i], row);
    if (keep[row])
      tide_batch_append(&kept, batch.since[row], batch.ingested_at[row], values, &err);
    assert_ok(err);
  }
  struct object some = encode(&batch, all, ALL, keep, 700);
  struct object only = encode(&kept, all, ALL, NULL, 5000);
  expect_equal(&some, &only);
  tide_buf_clear(&some.bytes);
  tide_buf_clear(&only.bytes);
  tide_batch_clear(&batch);
  tide_batch_clear(&kept);
}
END_TEST

/* A million-row export must not wait for its end to give bytes, nor hold all rows. */
START_TEST(row_groups_leave_while_rows_come) {
  static const int list[] = {TIDE_ENCODER_SINCE, ID};
  struct tide_err err = {0};
  struct tide_batch batch;
  struct object object = {0};
  init(&batch);
  for (int i = 0; i < 1024; i++)
    append(&batch, ID, tide_val_int(i * INT64_C(1000003) % 65537));
  struct tide_encoder *encoder = create(list, 2, &err);
  const size_t group_rows = tide_parquet_layout_find(TIDE_PARQUET_LAYOUT_NEWEST)->group_rows;
  for (size_t i = 0; i < group_rows / 1024; i++) {
    ck_assert_uint_eq(object.bytes.len, 0);
    encoder->methods->rows(encoder, &batch, 0, 1024, NULL, &object.bytes, &err);
  }
  assert_ok(err);
  ck_assert_uint_gt(object.bytes.len, 0);
  tide_buf_clear(&object.bytes);
  tide_encoder_destroy(encoder);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(large_values_end_row_groups_too) {
  static const int list[] = {DATA};
  struct tide_err err = {0};
  struct tide_batch batch;
  struct object object = {0};
  static unsigned char noise[100000];
  init(&batch);
  struct tide_encoder *encoder = create(list, 1, &err);
  const sqlite3_int64 before = sqlite3_memory_used();
  sqlite3_memory_highwater(1);
  for (int i = 0; i < 600; i++) {
    for (size_t at = 0; at < sizeof noise; at++)
      noise[at] = (unsigned char)below(256);
    append(&batch, DATA, tide_val_blob(noise, sizeof noise));
    encoder->methods->rows(encoder, &batch, 0, 1, NULL, &object.bytes, &err);
    assert_ok(err);
    tide_buf_reset(&object.bytes);
    tide_batch_reset(&batch);
  }
  ck_assert_int_lt(sqlite3_memory_highwater(0) - before, 44 << 20);
  tide_buf_clear(&object.bytes);
  tide_encoder_destroy(encoder);
  tide_batch_clear(&batch);
}
END_TEST

/* ---- what the format cannot hold ---- */

static uint64_t altered_by(int column, struct tide_val val) {
  struct tide_batch batch;
  init(&batch);
  append(&batch, column, val);
  struct object object = encode(&batch, &column, 1, NULL, 1);
  tide_buf_clear(&object.bytes);
  tide_batch_clear(&batch);
  return object.altered;
}

START_TEST(what_cannot_be_held_is_counted) {
  ck_assert_uint_eq(altered_by(BODY, text("h\xc3\xa9")), 0);
  ck_assert_uint_eq(altered_by(BODY, tide_val_text("a\0b", 3)), 0);
  ck_assert_uint_eq(altered_by(BODY, text("h\xc3")), 1);
  ck_assert_uint_eq(altered_by(ATTRS, text(" {\"a\" : [1]}")), 0);
  ck_assert_uint_eq(altered_by(ATTRS, text("{a:1}")), 1);
  ck_assert_uint_eq(altered_by(AT_S, tide_val_int(INT64_MAX / 1000)), 0);
  ck_assert_uint_eq(altered_by(AT_S, tide_val_int(INT64_MAX / 1000 + 1)), 1);
  ck_assert_uint_eq(altered_by(AT_S, tide_val_int(INT64_MIN)), 1);
  ck_assert_uint_eq(altered_by(ANYTHING, tide_val_real(INFINITY)), 1);
  ck_assert_uint_eq(altered_by(VALUE, tide_val_real(INFINITY)), 0);
  ck_assert_uint_eq(altered_by(ID, tide_val_int(INT64_MIN)), 0);
}
END_TEST

static struct tide_encoder *create_whole(void) {
  struct tide_err err = {0};
  return create(all, ALL, &err);
}

START_TEST(measuring_counts_what_writing_does) {
  struct tide_batch batch;
  static uint8_t keep[2500];
  init(&batch);
  fill(&batch, 2500);
  for (size_t row = 0; row < batch.rows; row++)
    keep[row] = row % 5 != 1;
  expect_measured_as_written(create_whole, &batch, keep);
  tide_batch_clear(&batch);
}
END_TEST

/* 8 + 8 a number, 4 + 10 the partition, 1 a boolean, 1 a NULL: 32. */
START_TEST(encoded_counts_plain_bytes) {
  static const int list[] = {TIDE_ENCODER_SINCE, TIDE_ENCODER_PARTITION, ID, OK, BODY};
  struct tide_batch batch;
  init(&batch);
  append(&batch, OK, tide_val_int(1));
  struct object object = encode(&batch, list, 5, NULL, 1);
  ck_assert_uint_eq(object.encoded, 32);
  tide_buf_clear(&object.bytes);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(null_in_a_required_column_is_damage) {
  static const int list[] = {ID};
  struct tide_err err = {0};
  struct tide_batch batch;
  struct tide_buf out = {0};
  init(&batch);
  append(&batch, ID, tide_val_null());
  struct tide_encoder *encoder = create(list, 1, &err);
  ck_assert_int_eq(encoder->methods->rows(encoder, &batch, 0, 1, NULL, &out, &err), SQLITE_CORRUPT_VTAB);
  ck_assert_str_eq(err.msg, "column id holds no value of its type in the row with since 1");
  tide_encoder_destroy(encoder);
  tide_batch_clear(&batch);
}
END_TEST

/* Readers refuse a whole file for a name that is no UTF-8. */
START_TEST(names_are_well_formed) {
  static const int list[] = {BODY};
  struct tide_batch batch;
  char *const name = columns[BODY].name;
  init(&batch);
  append(&batch, BODY, text("x"));
  columns[BODY].name = "b\xff";
  struct object object = encode(&batch, list, 1, NULL, 1);
  columns[BODY].name = name;
  ck_assert_ptr_nonnull(memmem(object.bytes.data, object.bytes.len,
                               "\x04"
                               "b\xef\xbf\xbd",
                               5));
  ck_assert_ptr_null(memmem(object.bytes.data, object.bytes.len, "b\xff", 2));
  tide_buf_clear(&object.bytes);
  tide_batch_clear(&batch);
}
END_TEST

/* ---- statistics for Delta Lake, by hand from PROTOCOL.md's shapes ---- */

static void expect_stats_of(const struct tide_batch *batch, const int *list, size_t count, const char *expected) {
  struct tide_err err = {0};
  struct object object = {0};
  struct tide_buf stats = {0};
  struct tide_encoder *encoder = create(list, count, &err);
  encoder->methods->rows(encoder, batch, 0, batch->rows, NULL, &object.bytes, &err);
  encoder->methods->finish(encoder, &object.bytes, object.hash, &err);
  encoder->methods->put_stats(encoder, &stats, &err);
  tide_buf_put_u8(&stats, 0, &err);
  assert_ok(err);
  ck_assert_str_eq((const char *)stats.data, expected);
  tide_encoder_destroy(encoder);
  tide_buf_clear(&stats);
  tide_buf_clear(&object.bytes);
}

/* Microseconds, which all timestamps of a table are, must not change what is said of them. */
static void expect_stats(const struct tide_batch *batch, const int *list, size_t count, const char *expected) {
  for (int table = 0; table < 2; table++) {
    in_table = table != 0;
    expect_stats_of(batch, list, count, expected);
  }
  in_table = false;
}

START_TEST(statistics_are_those_of_an_add_action) {
  static const int list[] = {TIDE_ENCODER_SINCE, ID, SOURCE, VALUE, BODY, OK, DATA, ANYTHING};
  struct tide_batch batch;
  init(&batch);
  append(&batch, VALUE, tide_val_real(2.5));
  append(&batch, VALUE, tide_val_real(-1));
  append(&batch, BODY, text("b\"\n"));
  append(&batch, BODY, text("a"));
  append(&batch, OK, tide_val_int(1));
  append(&batch, DATA, tide_val_blob("x", 1));
  append(&batch, ANYTHING, tide_val_int(1));
  append(&batch, ID, tide_val_int(1767225600001));
  expect_stats(&batch, list, 8,
               "{\"numRecords\":8,"
               "\"minValues\":{\"since\":1,\"id\":\"1970-01-01T00:00:00.000Z\",\"value\":-1.0,\"body\":\"a\","
               "\"anything\":\"1\"},"
               "\"maxValues\":{\"since\":8,\"id\":\"2026-01-01T00:00:00.001Z\",\"value\":2.5,\"body\":\"b\\\"\\n\","
               "\"anything\":\"1\"},"
               "\"nullCount\":{\"since\":0,\"id\":0,\"value\":6,\"body\":6,\"ok\":7,\"data\":7,\"anything\":7}}");
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(bounds_that_cannot_be_said_are_left_out) {
  static const int list[] = {ID, VALUE};
  struct tide_batch batch;
  init(&batch);
  append(&batch, VALUE, tide_val_real(-INFINITY));
  append(&batch, VALUE, tide_val_real(1));
  append(&batch, ID, tide_val_int(INT64_C(253402300800000))); /* the year 10000 */
  expect_stats(&batch, list, 2,
               "{\"numRecords\":3,\"minValues\":{\"id\":\"1970-01-01T00:00:00.000Z\"},\"maxValues\":{\"value\":1.0},"
               "\"nullCount\":{\"id\":0,\"value\":1}}");
  tide_batch_clear(&batch);
}
END_TEST

/* ---- the hash of a stored object ---- */

static struct object small_object(void) {
  static const int list[] = {TIDE_ENCODER_SINCE, BODY, SOURCE};
  struct tide_batch batch;
  init(&batch);
  for (int i = 0; i < 40; i++)
    append(&batch, BODY, i % 2 == 0 ? text("even") : tide_val_null());
  struct object object = encode(&batch, list, 3, NULL, 40);
  tide_batch_clear(&batch);
  return object;
}

START_TEST(a_stored_object_hashes_as_it_was_written) {
  char hash[TIDE_ENCODER_HASH_SIZE];
  struct tide_err err = {0};
  struct tide_batch batch;
  init(&batch);
  fill(&batch, 30000);
  struct object object = encode(&batch, all, ALL, NULL, 10000);
  ck_assert_int_eq(rehash(&object, hash, &err), 0);
  ck_assert_str_eq(hash, object.hash);
  tide_buf_clear(&object.bytes);
  batch.rows = 0;
  object = encode(&batch, all, ALL, NULL, 1);
  ck_assert_int_eq(rehash(&object, hash, &err), 0);
  ck_assert_str_eq(hash, object.hash);
  tide_buf_clear(&object.bytes);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(the_hash_is_of_values_and_schema) {
  static const int id[] = {ID};
  static const int at_s[] = {TIDE_ENCODER_INGESTED_AT};
  struct tide_batch batch;
  init(&batch);
  append(&batch, ID, tide_val_int(1000));
  struct object a = encode(&batch, id, 1, NULL, 1);
  struct object b = encode(&batch, at_s, 1, NULL, 1); /* the same number under another name */
  ck_assert_str_ne(a.hash, b.hash);
  batch.columns[ID].num[0]++;
  struct object c = encode(&batch, id, 1, NULL, 1);
  ck_assert_str_ne(a.hash, c.hash);
  tide_buf_clear(&a.bytes);
  tide_buf_clear(&b.bytes);
  tide_buf_clear(&c.bytes);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(a_cut_object_is_corrupt) {
  char hash[TIDE_ENCODER_HASH_SIZE];
  struct object object = small_object();
  for (size_t size = object.bytes.len; size-- > 0;) {
    struct tide_err err = {0};
    object.bytes.len = size;
    ck_assert_int_eq(rehash(&object, hash, &err), SQLITE_CORRUPT);
  }
  tide_buf_clear(&object.bytes);
}
END_TEST

/* Where the pages of a small object end: its first column index is a list of one boolean. */
static size_t pages_end(const struct object *object) {
  for (size_t at = 0; at + 3 < object->bytes.len; at++) {
    if (memcmp(object->bytes.data + at, "\x19\x11\x02", 3) == 0)
      return at;
  }
  ck_abort_msg("no column index");
}

START_TEST(damage_is_noticed_and_survived) {
  char hash[TIDE_ENCODER_HASH_SIZE];
  struct object object = small_object();
  const size_t pages = pages_end(&object);
  for (size_t at = 0; at < object.bytes.len; at++) {
    for (int bit = 0; bit < 8; bit++) {
      struct tide_err err = {0};
      object.bytes.data[at] ^= (unsigned char)(1 << bit);
      int rc = rehash(&object, hash, &err);
      ck_assert(rc == SQLITE_OK || rc == SQLITE_CORRUPT);
      ck_assert_msg(at >= pages || rc == SQLITE_CORRUPT || strcmp(hash, object.hash) != 0, "byte %zu, bit %d", at, bit);
      object.bytes.data[at] ^= (unsigned char)(1 << bit);
    }
  }
  tide_buf_clear(&object.bytes);
}
END_TEST

START_TEST(bytes_behind_the_end_are_corrupt) {
  char hash[TIDE_ENCODER_HASH_SIZE];
  struct tide_err err = {0};
  struct object object = small_object();
  tide_buf_put_u8(&object.bytes, 0, &err);
  ck_assert_int_eq(rehash(&object, hash, &err), SQLITE_CORRUPT);
  ck_assert_ptr_nonnull(strstr(err.msg, "there are bytes behind the file's end"));
  tide_buf_clear(&object.bytes);
}
END_TEST

/* ---- no memory ---- */

static void encode_and_hash(const struct tide_batch *batch, struct tide_err *err) {
  struct object object = {0};
  struct tide_buf stats = {0};
  char hash[TIDE_ENCODER_HASH_SIZE];
  struct tide_encoder *encoder = create(all, ALL, err);
  if (encoder != NULL) {
    if (encoder->methods->rows(encoder, batch, 0, batch->rows, NULL, &object.bytes, err) == 0)
      encoder->methods->finish(encoder, &object.bytes, object.hash, err);
    if (!tide_err_is_set(err))
      encoder->methods->put_stats(encoder, &stats, err);
    tide_encoder_destroy(encoder);
  }
  tide_buf_clear(&stats);
  if (!tide_err_is_set(err))
    rehash(&object, hash, err);
  tide_buf_clear(&object.bytes);
}

START_TEST(every_failed_allocation_is_no_memory) {
  struct tide_batch batch;
  oom_install();
  init(&batch);
  fill(&batch, 300);
  const long start = oom_live();
  long n = 1;
  for (;; n++) {
    struct tide_err err = {0};
    oom_fail_at(n);
    encode_and_hash(&batch, &err);
    ck_assert_int_eq(oom_live(), start);
    if (!oom_has_failed()) {
      assert_ok(err);
      break;
    }
    ck_assert_int_eq(err.rc, SQLITE_NOMEM);
  }
  oom_fail_at(0);
  ck_assert_int_gt(n, 100);
  tide_batch_clear(&batch);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {bytes_do_not_depend_on_how_rows_are_cut,
                                nor_on_how_large_rows_are_cut,
                                a_partitions_value_is_as_each_rows,
                                rows_left_out_leave_no_trace,
                                row_groups_leave_while_rows_come,
                                large_values_end_row_groups_too,
                                what_cannot_be_held_is_counted,
                                encoded_counts_plain_bytes,
                                measuring_counts_what_writing_does,
                                null_in_a_required_column_is_damage,
                                names_are_well_formed,
                                statistics_are_those_of_an_add_action,
                                bounds_that_cannot_be_said_are_left_out,
                                a_stored_object_hashes_as_it_was_written,
                                the_hash_is_of_values_and_schema,
                                a_cut_object_is_corrupt,
                                damage_is_noticed_and_survived,
                                bytes_behind_the_end_are_corrupt,
                                every_failed_allocation_is_no_memory,
                                NULL};
  return unit_main("enc_parquet", tests);
}
