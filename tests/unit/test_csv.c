#include <math.h>
#include <string.h>

#include "base/sqlite.h"
#include "measure.h"
#include "sink/encoder.h"
#include "unit.h"

/* source is the partition column; batches do not hold it. */
enum { ID, SOURCE, VALUE, BODY, ATTRS, DATA, OK, AT, COLUMNS };

static struct tide_column columns[COLUMNS] = {{.name = "id", .type = TIDE_TYPE_ANY, .partition_at = -1},
                                              {.name = "source", .type = TIDE_TYPE_TEXT, .partition_at = 0},
                                              {.name = "value", .type = TIDE_TYPE_REAL, .partition_at = -1},
                                              {.name = "body, \"x\"", .type = TIDE_TYPE_TEXT, .partition_at = -1},
                                              {.name = "attrs", .type = TIDE_TYPE_JSON, .partition_at = -1},
                                              {.name = "data", .type = TIDE_TYPE_BLOB, .partition_at = -1},
                                              {.name = "ok", .type = TIDE_TYPE_BOOLEAN, .partition_at = -1},
                                              {.name = "at", .type = TIDE_TYPE_TIMESTAMP_MS, .partition_at = -1}};
static size_t partition[] = {SOURCE};
static const struct tide_spec spec = {
    .refs = 1, .ncolumns = COLUMNS, .columns = columns, .npartition = 1, .partition = partition};

static struct tide_val text(const char *string) {
  return tide_val_text(string, strlen(string));
}

static struct tide_encoder *create(const struct tide_format *format, const int *list, size_t count, bool iso) {
  static struct tide_val partition_value;
  struct tide_err err = {0};
  partition_value = text("a,b");
  const struct tide_encoder_config config = {.spec = &spec,
                                             .columns = list,
                                             .ncolumns = count,
                                             .partition = "source=a%2Cb",
                                             .partition_values = &partition_value,
                                             .zstd_level = 3,
                                             .iso = iso};
  struct tide_encoder *encoder = format->create(&config, &err);
  assert_ok(err);
  return encoder;
}

static void init(struct tide_batch *batch) {
  struct tide_err err = {0};
  *batch = (struct tide_batch){0};
  tide_batch_init(batch, COLUMNS, &err);
  assert_ok(err);
}

static void append(struct tide_batch *batch, int64_t since, int column, struct tide_val val) {
  struct tide_err err = {0};
  struct tide_val values[COLUMNS] = {0};
  values[column] = val;
  tide_batch_append(batch, since, 1000 + since, values, &err);
  assert_ok(err);
}

/* The field of one value between two others, with the rows that counted. */
static void expect_as(int column, struct tide_val val, bool iso, const char *expected, size_t size, uint64_t altered) {
  const int list[] = {TIDE_ENCODER_SINCE, column, TIDE_ENCODER_SINCE};
  struct tide_err err = {0};
  struct tide_batch batch;
  struct tide_buf out = {0};
  init(&batch);
  append(&batch, 7, column, val);
  struct tide_encoder *encoder = create(&tide_format_csv, list, 3, iso);
  encoder->methods->rows(encoder, &batch, 0, 1, NULL, &out, &err);
  assert_ok(err);
  const unsigned char *row = memchr(out.data, '\n', out.len);
  ck_assert_ptr_nonnull(row);
  row++;
  const size_t len = out.len - (size_t)(row - out.data);
  ck_assert_uint_eq(len, size + 6);
  ck_assert_int_eq(memcmp(row, "7,", 2), 0);
  ck_assert_int_eq(memcmp(row + 2, expected, size), 0);
  ck_assert_int_eq(memcmp(row + 2 + size, ",7\r\n", 4), 0);
  ck_assert_uint_eq(encoder->altered, altered);
  tide_encoder_destroy(encoder);
  tide_buf_clear(&out);
  tide_batch_clear(&batch);
}

static void expect(int column, struct tide_val val, const char *expected, uint64_t altered) {
  expect_as(column, val, false, expected, strlen(expected), altered);
}

START_TEST(a_header_and_rows_in_column_order) {
  static const int list[] = {TIDE_ENCODER_SINCE, BODY, SOURCE, TIDE_ENCODER_PARTITION, TIDE_ENCODER_INGESTED_AT};
  static const char expected[] = "since,\"body, \"\"x\"\"\",source,partition,ingested_at\r\n"
                                 "7,a,\"a,b\",source=a%2Cb,1007\r\n"
                                 "9,,\"a,b\",source=a%2Cb,1009\r\n";
  struct tide_err err = {0};
  struct tide_batch batch;
  struct tide_buf out = {0};
  init(&batch);
  append(&batch, 7, BODY, text("a"));
  append(&batch, 8, BODY, text("left out"));
  append(&batch, 9, VALUE, tide_val_real(1));
  struct tide_encoder *encoder = create(&tide_format_csv, list, sizeof list / sizeof *list, false);
  encoder->methods->rows(encoder, &batch, 0, 2, (const uint8_t[]){1, 0, 1}, &out, &err);
  encoder->methods->rows(encoder, &batch, 2, 1, NULL, &out, &err);
  assert_ok(err);
  ck_assert_uint_eq(out.len, strlen(expected));
  ck_assert_int_eq(memcmp(out.data, expected, out.len), 0);
  ck_assert_uint_eq(encoder->encoded, out.len);
  ck_assert_uint_eq(encoder->altered, 0);
  tide_encoder_destroy(encoder);
  tide_buf_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(no_rows_are_no_bytes) {
  struct tide_err err = {0};
  struct tide_batch batch;
  struct tide_buf out = {0};
  char hash[TIDE_ENCODER_HASH_SIZE];
  init(&batch);
  append(&batch, 1, BODY, text("left out"));
  struct tide_encoder *encoder = create(&tide_format_csv, (const int[]){BODY}, 1, false);
  encoder->methods->rows(encoder, &batch, 0, 1, (const uint8_t[]){0}, &out, &err);
  encoder->methods->finish(encoder, &out, hash, &err);
  assert_ok(err);
  ck_assert_uint_eq(out.len, 0);
  ck_assert_uint_eq(encoder->encoded, 0);
  tide_encoder_destroy(encoder);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(null_and_the_empty_text_differ) {
  expect(BODY, tide_val_null(), "", 0);
  expect(BODY, text(""), "\"\"", 0);
  expect(DATA, tide_val_blob("", 0), "\"\"", 0);
  expect(VALUE, tide_val_null(), "", 0);
  expect(OK, tide_val_null(), "", 0);
}
END_TEST

/* Readers pass over an empty line. */
START_TEST(null_alone_in_its_line_counts) {
  const int list[] = {BODY};
  struct tide_err err = {0};
  struct tide_batch batch;
  struct tide_buf out = {0};
  init(&batch);
  append(&batch, 1, BODY, tide_val_null());
  append(&batch, 2, BODY, text(""));
  struct tide_encoder *encoder = create(&tide_format_csv, list, 1, false);
  encoder->methods->rows(encoder, &batch, 0, 2, NULL, &out, &err);
  tide_buf_put_u8(&out, 0, &err);
  assert_ok(err);
  ck_assert_str_eq((const char *)out.data, "\"body, \"\"x\"\"\"\r\n\r\n\"\"\r\n");
  ck_assert_uint_eq(encoder->altered, 1);
  tide_encoder_destroy(encoder);
  tide_buf_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(quotes_stand_only_where_they_must) {
  expect(BODY, text("plain text; with = 'signs'"), "plain text; with = 'signs'", 0);
  expect(BODY, text(" a "), " a ", 0);
  expect(BODY, text("a,b"), "\"a,b\"", 0);
  expect(BODY, text("say \"hi\""), "\"say \"\"hi\"\"\"", 0);
  expect(BODY, text("\""), "\"\"\"\"", 0);
  expect(BODY, text("a\nb"), "\"a\nb\"", 0);
  expect(BODY, text("a\rb"), "\"a\rb\"", 0);
  expect(BODY, text("a\r\n"), "\"a\r\n\"", 0);
  expect(BODY, text("h\xc3\xa9"), "h\xc3\xa9", 0);
  expect_as(BODY, tide_val_text("a\0\x01", 3), false, "a\0\x01", 3, 0);
}
END_TEST

START_TEST(numbers_and_booleans) {
  expect(ID, tide_val_int(INT64_MIN), "-9223372036854775808", 0);
  expect(ID, tide_val_real(1), "1.0", 0);
  expect(VALUE, tide_val_real(0.1 + 0.2), "0.30000000000000004", 0);
  expect(VALUE, tide_val_real(-0.0), "-0.0", 0);
  expect(VALUE, tide_val_real(1e300), "1.0e+300", 0);
  expect(OK, tide_val_int(0), "false", 0);
  expect(OK, tide_val_int(1), "true", 0);
  expect(ID, tide_val_int(1), "1", 0);
}
END_TEST

START_TEST(infinity_is_a_counted_word) {
  expect(VALUE, tide_val_real(INFINITY), "Infinity", 1);
  expect(VALUE, tide_val_real(-INFINITY), "-Infinity", 1);
}
END_TEST

#define FFFD "\xef\xbf\xbd"

/* Expected: Python's bytes.decode('utf-8', 'replace'). */
START_TEST(ill_formed_utf8_is_replaced_and_counted) {
  expect(BODY, text("a\x80z"), "a" FFFD "z", 1);
  expect(BODY, text("\xf0\x9f\x98"), FFFD, 1);
  expect(BODY, text("\xe0\x80\xafx"), FFFD FFFD FFFD "x", 1);
  expect(BODY, text("\xff\",\xed\xa0\x80\""), "\"" FFFD "\"\"," FFFD FFFD FFFD "\"\"\"", 1);
  expect(BODY, text("\xe2\x82\"\xac"), "\"" FFFD "\"\"" FFFD "\"", 1);
}
END_TEST

START_TEST(json_is_its_text_and_blobs_are_base64) {
  expect(ATTRS, text("{\"a\": 1}"), "\"{\"\"a\"\": 1}\"", 0);
  expect(ATTRS, text("[1]"), "[1]", 0);
  expect(ATTRS, text("{a:1}"), "{a:1}", 0);
  expect(DATA, tide_val_blob("fo", 2), "Zm8=", 0);
  expect(ID, tide_val_blob("\x00\xff\x10", 3), "AP8Q", 0);
}
END_TEST

START_TEST(timestamps_are_integers_or_iso) {
  expect(AT, tide_val_int(1767225600123), "1767225600123", 0);
  expect_as(AT, tide_val_int(1767225600123), true, "2026-01-01T00:00:00.123Z", 24, 0);
  expect_as(AT, tide_val_int(INT64_MAX), true, "9223372036854775807", 19, 1);
  expect_as(AT, tide_val_null(), true, "", 0, 0);
  expect_as(ID, tide_val_int(1767225600123), true, "1767225600123", 13, 0);
}
END_TEST

START_TEST(ingested_at_is_a_timestamp_too) {
  static const char expected[] = "ingested_at\r\n1970-01-01T00:00:01.007Z\r\n";
  struct tide_err err = {0};
  struct tide_batch batch;
  struct tide_buf out = {0};
  init(&batch);
  append(&batch, 7, BODY, text("a"));
  struct tide_encoder *encoder = create(&tide_format_csv, (const int[]){TIDE_ENCODER_INGESTED_AT}, 1, true);
  encoder->methods->rows(encoder, &batch, 0, 1, NULL, &out, &err);
  assert_ok(err);
  ck_assert_uint_eq(out.len, strlen(expected));
  ck_assert_int_eq(memcmp(out.data, expected, out.len), 0);
  tide_encoder_destroy(encoder);
  tide_buf_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

/* Encodes a batch in calls of `step` rows. */
static void encode(const struct tide_format *format, const struct tide_batch *batch, size_t step, struct tide_buf *out,
                   char hash[TIDE_ENCODER_HASH_SIZE]) {
  struct tide_err err = {0};
  struct tide_encoder *encoder = create(format, (const int[]){TIDE_ENCODER_SINCE, BODY}, 2, false);
  for (size_t first = 0; first < batch->rows; first += step) {
    size_t count = batch->rows - first < step ? batch->rows - first : step;
    encoder->methods->rows(encoder, batch, first, count, NULL, out, &err);
  }
  encoder->methods->finish(encoder, out, hash, &err);
  assert_ok(err);
  tide_encoder_destroy(encoder);
}

struct source {
  const struct tide_buf *bytes;
  size_t at;
};

static long read_source(void *context, void *into, size_t size, struct tide_err *err) {
  struct source *source = context;
  size_t left = source->bytes->len - source->at;
  (void)err;
  size = size < left ? size : left;
  memcpy(into, source->bytes->data + source->at, size);
  source->at += size;
  return (long)size;
}

START_TEST(cuts_do_not_change_bytes_and_the_stored_hash_is_the_same) {
  const struct tide_format *const formats[] = {&tide_format_csv, &tide_format_csv_zst};
  struct tide_err err = {0};
  struct tide_batch batch;
  char first_hash[TIDE_ENCODER_HASH_SIZE];
  init(&batch);
  for (int64_t i = 0; i < 3000; i++)
    append(&batch, i + 1, BODY, text(i % 2 == 0 ? "a longer text, with a comma and some words behind it" : "\n"));
  for (size_t f = 0; f < 2; f++) {
    struct tide_buf whole = {0}, cut = {0};
    char hash[TIDE_ENCODER_HASH_SIZE], cut_hash[TIDE_ENCODER_HASH_SIZE], stored[TIDE_ENCODER_HASH_SIZE];
    encode(formats[f], &batch, batch.rows, &whole, hash);
    encode(formats[f], &batch, 7, &cut, cut_hash);
    ck_assert_uint_eq(cut.len, whole.len);
    ck_assert_int_eq(memcmp(cut.data, whole.data, cut.len), 0);
    ck_assert_str_eq(cut_hash, hash);
    struct source source = {&whole, 0};
    formats[f]->hash_object(read_source, &source, stored, &err);
    assert_ok(err);
    ck_assert_str_eq(stored, hash);
    if (f == 0)
      strcpy(first_hash, hash);
    ck_assert_str_eq(hash, first_hash);
    tide_buf_clear(&whole);
    tide_buf_clear(&cut);
  }
  tide_batch_clear(&batch);
}
END_TEST

static struct tide_encoder *create_titled(void) {
  return create(&tide_format_csv, (const int[]){TIDE_ENCODER_SINCE, BODY}, 2, false);
}

START_TEST(measuring_counts_what_writing_does) {
  struct tide_batch batch;
  static uint8_t keep[300];
  init(&batch);
  for (int64_t i = 0; i < 300; i++)
    append(&batch, i + 1, BODY, text(i % 3 == 0 ? "a, b" : ""));
  for (size_t row = 0; row < batch.rows; row++)
    keep[row] = row % 5 != 1;
  expect_measured_as_written(create_titled, &batch, keep);
  tide_batch_clear(&batch);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_header_and_rows_in_column_order,
                                no_rows_are_no_bytes,
                                measuring_counts_what_writing_does,
                                null_and_the_empty_text_differ,
                                null_alone_in_its_line_counts,
                                quotes_stand_only_where_they_must,
                                numbers_and_booleans,
                                infinity_is_a_counted_word,
                                ill_formed_utf8_is_replaced_and_counted,
                                json_is_its_text_and_blobs_are_base64,
                                timestamps_are_integers_or_iso,
                                ingested_at_is_a_timestamp_too,
                                cuts_do_not_change_bytes_and_the_stored_hash_is_the_same,
                                NULL};
  return unit_main("csv", tests);
}
