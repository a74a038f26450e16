#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "measure.h"
#include "sink/encoder.h"
#include "sink/json.h"
#include "sink/text.h"
#include "unit.h"

/* source is the partition column; batches do not hold it. */
enum { ID, SOURCE, VALUE, BODY, ATTRS, DATA, OK, ANYTHING, COLUMNS };

static struct tide_column columns[COLUMNS] = {
    {.name = "id", .type = TIDE_TYPE_TIMESTAMP_MS, .not_null = true, .partition_at = -1},
    {.name = "source", .type = TIDE_TYPE_TEXT, .partition_at = 0},
    {.name = "value", .type = TIDE_TYPE_REAL, .partition_at = -1},
    {.name = "body", .type = TIDE_TYPE_TEXT, .partition_at = -1},
    {.name = "attrs", .type = TIDE_TYPE_JSON, .partition_at = -1},
    {.name = "data", .type = TIDE_TYPE_BLOB, .partition_at = -1},
    {.name = "ok", .type = TIDE_TYPE_BOOLEAN, .partition_at = -1},
    {.name = "any \"x\"", .type = TIDE_TYPE_ANY, .partition_at = -1}};
static size_t partition[] = {SOURCE};
static const struct tide_spec spec = {
    .refs = 1, .ncolumns = COLUMNS, .columns = columns, .npartition = 1, .partition = partition};

static struct tide_val text(const char *string) {
  return tide_val_text(string, strlen(string));
}

static struct tide_encoder_config config_of(const int *list, size_t count) {
  static struct tide_val partition_value;
  partition_value = text("web");
  return (struct tide_encoder_config){.spec = &spec,
                                      .columns = list,
                                      .ncolumns = count,
                                      .partition = "source=web",
                                      .partition_values = &partition_value,
                                      .zstd_level = 3};
}

static struct tide_encoder *create(const struct tide_format *format, const int *list, size_t count) {
  struct tide_err err = {0};
  struct tide_encoder_config config = config_of(list, count);
  struct tide_encoder *encoder = format->create(&config, &err);
  assert_ok(err);
  return encoder;
}

static void append(struct tide_batch *batch, int64_t since, int column, struct tide_val val) {
  struct tide_err err = {0};
  struct tide_val values[COLUMNS] = {0};
  values[column] = val;
  tide_batch_append(batch, since, 1000 + since, values, &err);
  assert_ok(err);
}

static void init(struct tide_batch *batch) {
  struct tide_err err = {0};
  *batch = (struct tide_batch){0};
  tide_batch_init(batch, COLUMNS, &err);
  assert_ok(err);
}

/* The line of one value in its column, without the {"name": before and the } and line break behind; counts altered
 * rows. */
static const char *encoded(int column, struct tide_val val, uint64_t *ret_altered) {
  static char line[4096];
  struct tide_err err = {0};
  struct tide_batch batch;
  struct tide_buf out = {0};
  init(&batch);
  append(&batch, 1, column, val);
  struct tide_encoder *encoder = create(&tide_format_ndjson, (const int[]){column}, 1);
  encoder->methods->rows(encoder, &batch, 0, 1, NULL, &out, &err);
  assert_ok(err);
  *ret_altered = encoder->altered;
  ck_assert_uint_eq(encoder->encoded, out.len);
  size_t before = strcspn((char *)out.data, ":") + 1;
  ck_assert_uint_lt(out.len, sizeof line);
  ck_assert_int_eq(memcmp(out.data + out.len - 2, "}\n", 2), 0);
  memcpy(line, out.data + before, out.len - before - 2);
  line[out.len - before - 2] = '\0';
  tide_encoder_destroy(encoder);
  tide_buf_clear(&out);
  tide_batch_clear(&batch);
  return line;
}

static void expect(int column, struct tide_val val, const char *expected, uint64_t altered) {
  uint64_t found = 0;
  ck_assert_str_eq(encoded(column, val, &found), expected);
  ck_assert_uint_eq(found, altered);
}

START_TEST(rows_are_lines_in_column_order) {
  static const int list[] = {TIDE_ENCODER_SINCE,       BODY, SOURCE, TIDE_ENCODER_PARTITION, ANYTHING,
                             TIDE_ENCODER_INGESTED_AT, OK,   DATA};
  static const char expected[] =
      "{\"since\":7,\"body\":\"a\",\"source\":\"web\",\"partition\":\"source=web\",\"any \\\"x\\\"\":null,"
      "\"ingested_at\":1007,\"ok\":null,\"data\":null}\n"
      "{\"since\":9,\"body\":null,\"source\":\"web\",\"partition\":\"source=web\",\"any \\\"x\\\"\":2.5,"
      "\"ingested_at\":1009,\"ok\":null,\"data\":null}\n";
  struct tide_err err = {0};
  struct tide_batch batch;
  struct tide_buf out = {0};
  init(&batch);
  append(&batch, 7, BODY, text("a"));
  append(&batch, 8, BODY, text("left out"));
  append(&batch, 9, ANYTHING, tide_val_real(2.5));
  struct tide_encoder *encoder = create(&tide_format_ndjson, list, sizeof list / sizeof *list);
  encoder->methods->rows(encoder, &batch, 0, 3, (const uint8_t[]){1, 0, 1}, &out, &err);
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

START_TEST(integers_are_exact) {
  expect(ID, tide_val_int(INT64_MIN), "-9223372036854775808", 0);
  expect(ID, tide_val_int(INT64_MAX), "9223372036854775807", 0);
  expect(ANYTHING, tide_val_int(0), "0", 0);
  expect(ANYTHING, tide_val_int(-10), "-10", 0);
  expect(ID, tide_val_int(1767225600000), "1767225600000", 0);
}
END_TEST

START_TEST(iso_timestamps_are_strings) {
  static const int list[] = {ID, TIDE_ENCODER_SINCE, TIDE_ENCODER_INGESTED_AT, ANYTHING};
  static const char expected[] = "{\"id\":\"2026-01-01T00:00:00.000Z\",\"since\":1,\"ingested_at\":"
                                 "\"1970-01-01T00:00:01.001Z\",\"any \\\"x\\\"\":null}\n"
                                 "{\"id\":253402300800000,\"since\":2,\"ingested_at\":"
                                 "\"1970-01-01T00:00:01.002Z\",\"any \\\"x\\\"\":null}\n"
                                 "{\"id\":null,\"since\":3,\"ingested_at\":"
                                 "\"1970-01-01T00:00:01.003Z\",\"any \\\"x\\\"\":5}\n";
  struct tide_err err = {0};
  struct tide_batch batch;
  struct tide_buf out = {0};
  init(&batch);
  append(&batch, 1, ID, tide_val_int(1767225600000));
  append(&batch, 2, ID, tide_val_int(253402300800000)); /* the year 10000 */
  append(&batch, 3, ANYTHING, tide_val_int(5));
  struct tide_encoder_config config = config_of(list, sizeof list / sizeof *list);
  config.iso = true;
  struct tide_encoder *encoder = tide_format_ndjson.create(&config, &err);
  encoder->methods->rows(encoder, &batch, 0, 3, NULL, &out, &err);
  assert_ok(err);
  ck_assert_uint_eq(out.len, strlen(expected));
  ck_assert_int_eq(memcmp(out.data, expected, out.len), 0);
  ck_assert_uint_eq(encoder->altered, 1);
  tide_encoder_destroy(encoder);
  tide_buf_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(booleans_are_words) {
  expect(OK, tide_val_int(1), "true", 0);
  expect(OK, tide_val_int(0), "false", 0);
  expect(OK, tide_val_null(), "null", 0);
  expect(ANYTHING, tide_val_int(1), "1", 0);
}
END_TEST

/* As SQLite renders them (sqlite3 shell: SELECT 0.1, 1e15 ...), with more digits where its 15 do not read back. */
START_TEST(reals_read_back_and_stay_reals) {
  static const struct {
    double value;
    const char *expected;
  } cases[] = {{0.1, "0.1"},
               {-2.5, "-2.5"},
               {1.0, "1.0"},
               {0.0, "0.0"},
               {-0.0, "-0.0"},
               {100.0, "100.0"},
               {0.05, "0.05"},
               {0.0001, "0.0001"},
               {-0.00012345, "-0.00012345"},
               {0.00001, "1.0e-05"},
               {48.8583701, "48.8583701"},
               {123456.789, "123456.789"},
               {1e14, "100000000000000.0"},
               {999999999999.999, "999999999999.999"},
               {1e15, "1.0e+15"},
               {1e300, "1.0e+300"},
               {1e22, "1.0e+22"},
               {1.0 / 3, "0.3333333333333333"},
               {0.1 + 0.2, "0.30000000000000004"},
               {9007199254740993.0, "9007199254740992.0"},
               {1.7976931348623157e308, "1.7976931348623157e+308"},
               {5e-324, "4.94065645841247e-324"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect(VALUE, tide_val_real(cases[i].value), cases[i].expected, 0);
}
END_TEST

/* Against printf and strtod: the first of 15, 16 and 17 digits that reads back. */
START_TEST(reals_agree_with_printf) {
  uint64_t state = 42;
  for (int i = 0; i < 200000; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    int64_t whole = (int64_t)(state >> 20) % (INT64_C(1) << (state % 44));
    double value = i % 3 == 0   ? (double)whole / 1000
                   : i % 3 == 1 ? (double)whole / 1e8
                                : ldexp((double)(state >> 11), (int)(state % 64) - 60);
    char printed[64], found[TIDE_TEXT_REAL_SIZE + 1];
    int digits = 15;
    do
      snprintf(printed, sizeof printed, "%.*g", digits, value);
    while (strtod(printed, NULL) != value && digits++ < 17);
    if (strpbrk(printed, ".e") == NULL)
      strcat(printed, ".0");
    if (strchr(printed, 'e') != NULL && strchr(printed, '.') == NULL)
      continue;
    if (value == 0)
      continue;
    found[tide_text_real(value, found)] = '\0';
    ck_assert_str_eq(found, printed);
  }
}
END_TEST

START_TEST(infinity_is_a_counted_string) {
  expect(VALUE, tide_val_real(INFINITY), "\"Infinity\"", 1);
  expect(ANYTHING, tide_val_real(-INFINITY), "\"-Infinity\"", 1);
}
END_TEST

START_TEST(text_is_escaped) {
  expect(BODY, text(""), "\"\"", 0);
  expect(BODY, text("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"", 0);
  expect(BODY, text("\b\f\n\r\t\x01\x1f\x7f"), "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"", 0);
  expect(BODY, tide_val_text("a\0b", 3), "\"a\\u0000b\"", 0);
  expect(BODY, text("h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\x8a"), "\"h\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\x8a\"", 0);
  expect(BODY, text("0123456789abcdef\"0123456789"), "\"0123456789abcdef\\\"0123456789\"", 0);
}
END_TEST

#define FFFD "\xef\xbf\xbd"

/* Expected: Python's bytes.decode('utf-8', 'replace'). */
START_TEST(ill_formed_utf8_is_replaced_and_counted) {
  expect(BODY, text("a\x80z"), "\"a" FFFD "z\"", 1);
  expect(BODY, text("\xf0\x9f\x98"), "\"" FFFD "\"", 1);
  expect(BODY, text("\xf0\x9f\x98z"), "\"" FFFD "z\"", 1);
  expect(BODY, text("\xed\xa0\x80"), "\"" FFFD FFFD FFFD "\"", 1);
  expect(BODY, text("\xc0\xaf"), "\"" FFFD FFFD "\"", 1);
  expect(BODY, text("\xe2\x82"), "\"" FFFD "\"", 1);
  expect(BODY, text("\xf4\x90\x80\x80"), "\"" FFFD FFFD FFFD FFFD "\"", 1);
  expect(BODY, text("\xff\xfe"), "\"" FFFD FFFD "\"", 1);
  expect(BODY, text("\xe0\x80\xafx"), "\"" FFFD FFFD FFFD "x\"", 1);
}
END_TEST

/* RFC 4648, section 10, and Python's base64. */
START_TEST(blobs_are_base64) {
  static const char *const cases[][2] = {{"", "\"\""},        {"f", "\"Zg==\""},          {"fo", "\"Zm8=\""},
                                         {"foo", "\"Zm9v\""}, {"foobar", "\"Zm9vYmFy\""}, {"Man!", "\"TWFuIQ==\""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect(DATA, tide_val_blob(cases[i][0], strlen(cases[i][0])), cases[i][1], 0);
  expect(ANYTHING, tide_val_blob("\x00\xff\x10", 3), "\"AP8Q\"", 0);
}
END_TEST

START_TEST(strict_json_is_nested_on_one_line) {
  expect(ATTRS, text("{\"a\":[1,2.5e-3,true,false,null,\"x\"],\"b\":{}}"),
         "{\"a\":[1,2.5e-3,true,false,null,\"x\"],\"b\":{}}", 0);
  expect(ATTRS, text(" {\n \"a b\" :\t[ 1 ,\r\n 2 ] , \"c\" : { \"d\" : \" \" } }\n"),
         "{\"a b\":[1,2],\"c\":{\"d\":\" \"}}", 0);
  expect(ATTRS, text("[]"), "[]", 0);
  expect(ATTRS, text("[ ]"), "[]", 0);
  expect(ATTRS, text("{ }"), "{}", 0);
  expect(ATTRS, text("-0"), "-0", 0);
  expect(ATTRS, text("12345678901234567890"), "12345678901234567890", 0);
  expect(ATTRS, text("\"\\u00e9\\ud83c\\udf0a\\/\""), "\"\\u00e9\\ud83c\\udf0a\\/\"", 0);
  expect(ATTRS, text("\"h\xc3\xa9\""), "\"h\xc3\xa9\"", 0);
  expect(ATTRS, text("[[],{\"a\":[{}]}]"), "[[],{\"a\":[{}]}]", 0);
  expect(ATTRS, tide_val_null(), "null", 0);
}
END_TEST

START_TEST(other_json_is_a_counted_string) {
  static const char *const cases[] = {"",
                                      " ",
                                      "{",
                                      "}",
                                      "[1,]",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "'a'",
                                      "01",
                                      "1.",
                                      ".5",
                                      "+1",
                                      "1e",
                                      "-",
                                      "NaN",
                                      "Infinity",
                                      "tru",
                                      "nullx",
                                      "[1 2]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "[1]]",
                                      "\"a",
                                      "\"\\x\"",
                                      "\"\\u12g4\"",
                                      "\"\\ud800\"",
                                      "\"\\udc00\"",
                                      "1 2",
                                      "[1],",
                                      "{1:2}",
                                      "\"\\",
                                      "\"\\u12",
                                      "\"\\ud800\\u0041\"",
                                      "/**/1",
                                      "0x10",
                                      "[1,,2]",
                                      "[}",
                                      "{]",
                                      "{\"a\":1]",
                                      "\"\\ud800\\"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t altered = 0;
    const char *line = encoded(ATTRS, text(cases[i]), &altered);
    ck_assert_msg(altered == 1 && line[0] == '"', "%s passes for strict JSON", cases[i]);
  }
  expect(ATTRS, text("{a:\n1}"), "\"{a:\\n1}\"", 1);
  expect(ATTRS, text("\"a\nb\""), "\"\\\"a\\nb\\\"\"", 1);
  expect(ATTRS, text("\"\x80\""), "\"\\\"" FFFD "\\\"\"", 1);
  expect(ATTRS, tide_val_text("1\0", 2), "\"1\\u0000\"", 1);
  expect(ATTRS,
         text("\xef\xbb\xbf"
              "1"),
         "\"\xef\xbb\xbf"
         "1\"",
         1);
}
END_TEST

START_TEST(json_depth_is_bounded) {
  for (size_t depth = TIDE_JSON_DEPTH_MAX; depth <= TIDE_JSON_DEPTH_MAX + 1; depth++) {
    char nested[2 * (TIDE_JSON_DEPTH_MAX + 1) + 1];
    memset(nested, '[', depth);
    memset(nested + depth, ']', depth);
    nested[2 * depth] = '\0';
    uint64_t altered = 0;
    encoded(ATTRS, text(nested), &altered);
    ck_assert_uint_eq(altered, depth > TIDE_JSON_DEPTH_MAX);
  }
}
END_TEST

/* Every line is JSON for SQLite too, and gives the values back. */
START_TEST(sqlite_reads_the_lines) {
  static const int list[] = {TIDE_ENCODER_SINCE, SOURCE, VALUE, BODY, ATTRS, ANYTHING};
  struct tide_err err = {0};
  struct tide_batch batch;
  struct tide_buf out = {0};
  sqlite3 *db = NULL;
  sqlite3_stmt *stmt = NULL;
  init(&batch);
  struct tide_val values[COLUMNS] = {0};
  values[VALUE] = tide_val_real(0.1 + 0.2);
  values[BODY] = text("line\none \"q\" \\ \xf0\x9f\x8c\x8a \x01");
  values[ATTRS] = text("{\n\"deep\": [1, {\"x\": \"y\"}]}");
  values[ANYTHING] = tide_val_int(INT64_MAX);
  tide_batch_append(&batch, 3, 4, values, &err);
  struct tide_encoder *encoder = create(&tide_format_ndjson, list, sizeof list / sizeof *list);
  encoder->methods->rows(encoder, &batch, 0, 1, NULL, &out, &err);
  assert_ok(err);
  ck_assert_ptr_eq(memchr(out.data, '\n', out.len), out.data + out.len - 1);
  ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
  sqlite3_prepare_v2(
      db,
      "SELECT json_valid(?1), ?1 ->> 'since', ?1 ->> 'source', (?1 ->> 'value') = 0.1 + 0.2, ?1 ->> 'body', "
      "?1 ->> '$.attrs.deep[1].x', ?1 ->> '$.\"any \\\"x\\\"\"' FROM (SELECT 1)",
      -1, &stmt, NULL);
  sqlite3_bind_text(stmt, 1, (char *)out.data, (int)out.len, SQLITE_STATIC);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  ck_assert_int_eq(sqlite3_column_int(stmt, 0), 1);
  ck_assert_int_eq(sqlite3_column_int(stmt, 1), 3);
  ck_assert_str_eq((char *)sqlite3_column_text(stmt, 2), "web");
  ck_assert_str_eq((char *)sqlite3_column_text(stmt, 4), "line\none \"q\" \\ \xf0\x9f\x8c\x8a \x01");
  ck_assert_str_eq((char *)sqlite3_column_text(stmt, 5), "y");
  sqlite3_finalize(stmt);
  sqlite3_close(db);
  ck_assert_ptr_nonnull(strstr((char *)out.data, "\"value\":0.30000000000000004,"));
  ck_assert_ptr_nonnull(strstr((char *)out.data, "\"any \\\"x\\\"\":9223372036854775807}\n"));
  tide_encoder_destroy(encoder);
  tide_buf_clear(&out);
  tide_batch_clear(&batch);
}
END_TEST

/* ---- whole objects ---- */

static const int object_columns[] = {TIDE_ENCODER_SINCE, BODY, ATTRS};

static void fill(struct tide_batch *batch, size_t rows) {
  struct tide_err err = {0};
  char body[600];
  init(batch);
  for (size_t i = 0; i < rows; i++) {
    struct tide_val values[COLUMNS] = {0};
    memset(body, 'a' + (int)(i % 26), sizeof body);
    memcpy(body + i % 500, "\xc3\xa9\n", 3);
    values[BODY] = tide_val_text(body, i % 7 == 0 ? 3 : sizeof body);
    values[ATTRS] = text(i % 2 == 0 ? "{\"n\": 1}" : "{n: 1}");
    tide_batch_append(batch, (int64_t)i + 1, 5, values, &err);
  }
  assert_ok(err);
}

/* Encodes a batch in calls of `step` rows. */
static void encode(const struct tide_format *format, const struct tide_batch *batch, size_t step, struct tide_buf *out,
                   char hash[TIDE_ENCODER_HASH_SIZE], uint64_t *ret_encoded) {
  struct tide_err err = {0};
  struct tide_encoder *encoder = create(format, object_columns, 3);
  for (size_t first = 0; first < batch->rows; first += step) {
    size_t count = batch->rows - first < step ? batch->rows - first : step;
    encoder->methods->rows(encoder, batch, first, count, NULL, out, &err);
  }
  encoder->methods->finish(encoder, out, hash, &err);
  assert_ok(err);
  ck_assert_uint_eq(encoder->altered, batch->rows / 2);
  *ret_encoded = encoder->encoded;
  tide_encoder_destroy(encoder);
}

START_TEST(cuts_do_not_change_the_bytes) {
  const struct tide_format *const formats[] = {&tide_format_ndjson, &tide_format_ndjson_zst};
  struct tide_batch batch;
  fill(&batch, 1500);
  for (size_t f = 0; f < 2; f++) {
    struct tide_buf whole = {0};
    char hash[TIDE_ENCODER_HASH_SIZE];
    uint64_t encoded_bytes = 0;
    encode(formats[f], &batch, batch.rows, &whole, hash, &encoded_bytes);
    for (size_t step = 1; step < 1500; step += 498) {
      struct tide_buf cut = {0};
      char cut_hash[TIDE_ENCODER_HASH_SIZE];
      encode(formats[f], &batch, step, &cut, cut_hash, &encoded_bytes);
      ck_assert_uint_eq(cut.len, whole.len);
      ck_assert_int_eq(memcmp(cut.data, whole.data, cut.len), 0);
      ck_assert_str_eq(cut_hash, hash);
      tide_buf_clear(&cut);
    }
    tide_buf_clear(&whole);
  }
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(hash_is_xxh3_of_the_encoded_bytes) {
  struct tide_batch batch;
  struct tide_buf plain = {0}, compressed = {0};
  char hash[TIDE_ENCODER_HASH_SIZE], hash_zst[TIDE_ENCODER_HASH_SIZE], expected[TIDE_ENCODER_HASH_SIZE];
  uint64_t size = 0, size_zst = 0;
  fill(&batch, 700);
  encode(&tide_format_ndjson, &batch, 100, &plain, hash, &size);
  encode(&tide_format_ndjson_zst, &batch, 100, &compressed, hash_zst, &size_zst);
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(plain.data, plain.len));
  for (size_t i = 0; i < sizeof canonical.digest; i++)
    sprintf(expected + 2 * i, "%02x", canonical.digest[i]);
  ck_assert_str_eq(hash, expected);
  ck_assert_str_eq(hash_zst, expected);
  ck_assert_uint_eq(size, plain.len);
  ck_assert_uint_eq(size_zst, plain.len);
  ck_assert_uint_lt(compressed.len, plain.len);
  tide_buf_clear(&plain);
  tide_buf_clear(&compressed);
  batch.rows = 0;
  encode(&tide_format_ndjson, &batch, 1, &plain, hash, &size);
  ck_assert_str_eq(hash, "99aa06d3014798d86001c324468d497f"); /* XXH3_128bits of nothing */
  tide_batch_clear(&batch);
}
END_TEST

struct source {
  const struct tide_buf *bytes;
  size_t at;
  size_t step;
};

static long read_source(void *context, void *into, size_t size, struct tide_err *err) {
  struct source *source = context;
  size_t left = source->bytes->len - source->at;
  (void)err;
  size = size < source->step ? size : source->step;
  size = size < left ? size : left;
  memcpy(into, source->bytes->data + source->at, size);
  source->at += size;
  return (long)size;
}

START_TEST(hash_of_a_stored_object_is_the_same) {
  const struct tide_format *const formats[] = {&tide_format_ndjson, &tide_format_ndjson_zst};
  struct tide_err err = {0};
  struct tide_batch batch;
  fill(&batch, 700);
  for (size_t f = 0; f < 2; f++) {
    struct tide_buf object = {0};
    char hash[TIDE_ENCODER_HASH_SIZE], found[TIDE_ENCODER_HASH_SIZE];
    uint64_t size = 0;
    encode(formats[f], &batch, 100, &object, hash, &size);
    struct source source = {&object, 0, 997};
    formats[f]->hash_object(read_source, &source, found, &err);
    assert_ok(err);
    ck_assert_str_eq(found, hash);
    tide_buf_clear(&object);
  }
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(damaged_compressed_object_has_no_hash) {
  struct tide_err err = {0};
  struct tide_batch batch;
  struct tide_buf object = {0};
  char hash[TIDE_ENCODER_HASH_SIZE];
  uint64_t size = 0;
  fill(&batch, 700);
  encode(&tide_format_ndjson_zst, &batch, 100, &object, hash, &size);
  object.len -= 5;
  struct source source = {&object, 0, 4096};
  ck_assert_int_eq(tide_format_ndjson_zst.hash_object(read_source, &source, hash, &err) & 0xff, SQLITE_CORRUPT);
  tide_buf_clear(&object);
  tide_batch_clear(&batch);
}
END_TEST

/* The zstd program is the judge of the compressed object. */
START_TEST(zstd_program_reads_the_object) {
  struct tide_batch batch;
  struct tide_buf plain = {0}, compressed = {0};
  char hash[TIDE_ENCODER_HASH_SIZE], path[] = "/tmp/tide_ndjson_XXXXXX", command[100];
  uint64_t size = 0;
  fill(&batch, 700);
  encode(&tide_format_ndjson, &batch, 100, &plain, hash, &size);
  encode(&tide_format_ndjson_zst, &batch, 100, &compressed, hash, &size);
  int file = mkstemp(path);
  ck_assert_int_eq(write(file, compressed.data, compressed.len), (ssize_t)compressed.len);
  close(file);
  snprintf(command, sizeof command, "zstd -dcq %s", path);
  FILE *pipe = popen(command, "r");
  char *found = malloc(plain.len + 1);
  size_t got = fread(found, 1, plain.len + 1, pipe);
  int status = pclose(pipe);
  unlink(path);
  if (status == 127 << 8)
    fprintf(stderr, "the zstd program is not here\n");
  else
    ck_assert(status == 0 && got == plain.len && memcmp(found, plain.data, got) == 0);
  free(found);
  tide_buf_clear(&plain);
  tide_buf_clear(&compressed);
  tide_batch_clear(&batch);
}
END_TEST

/* Longer than a slice, with a character across its end. */
START_TEST(long_text_comes_out_whole) {
  struct tide_err err = {0};
  struct tide_buf out = {0};
  enum { SIZE = 200001 };
  char *body = malloc(SIZE);
  bool altered = false;
  for (size_t shift = 0; shift < 4; shift++) {
    memset(body, 'x', SIZE);
    for (size_t i = shift; i + 4 <= SIZE; i += 4)
      memcpy(body + i, "\xf0\x9f\x8c\x8a", 4);
    tide_buf_reset(&out);
    tide_json_put_string(&out, body, SIZE, &altered, &err);
    assert_ok(err);
    ck_assert(!altered);
    ck_assert_uint_eq(out.len, SIZE + 2);
    ck_assert(out.data[0] == '"' && out.data[SIZE + 1] == '"' && memcmp(out.data + 1, body, SIZE) == 0);
  }
  memset(body, 1, SIZE);
  tide_buf_reset(&out);
  tide_json_put_string(&out, body, SIZE, &altered, &err);
  ck_assert_uint_eq(out.len, SIZE * 6 + 2);
  free(body);
  tide_buf_clear(&out);
}
END_TEST

static struct tide_encoder *create_object(void) {
  return create(&tide_format_ndjson_zst, object_columns, 3);
}

START_TEST(measuring_counts_what_writing_does) {
  struct tide_batch batch;
  static uint8_t keep[600];
  fill(&batch, 600);
  for (size_t row = 0; row < batch.rows; row++)
    keep[row] = row % 5 != 1;
  expect_measured_as_written(create_object, &batch, keep);
  tide_batch_clear(&batch);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {rows_are_lines_in_column_order,
                                integers_are_exact,
                                iso_timestamps_are_strings,
                                booleans_are_words,
                                reals_read_back_and_stay_reals,
                                reals_agree_with_printf,
                                infinity_is_a_counted_string,
                                text_is_escaped,
                                ill_formed_utf8_is_replaced_and_counted,
                                blobs_are_base64,
                                strict_json_is_nested_on_one_line,
                                other_json_is_a_counted_string,
                                json_depth_is_bounded,
                                sqlite_reads_the_lines,
                                cuts_do_not_change_the_bytes,
                                measuring_counts_what_writing_does,
                                hash_is_xxh3_of_the_encoded_bytes,
                                hash_of_a_stored_object_is_the_same,
                                damaged_compressed_object_has_no_hash,
                                zstd_program_reads_the_object,
                                long_text_comes_out_whole,
                                NULL};
  return unit_main("ndjson", tests);
}
