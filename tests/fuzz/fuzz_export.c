/* Rows in each format that is exported: what is read back from an object has the hash of its rows, NDJSON is JSON to
 * SQLite, line by line, and CSV has as many fields as it should. Then bytes of the object are changed: it is refused,
 * or has a hash.
 *
 *   u8   format; u8 bit 0: timestamps as text; u8 number of changes, up to 7, each u16 place and u8 what is added to it
 *   values (values.h), of which three in turn are a row */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "sink/encoder.h"
#include "sink/json.h"
#include "values.h"

enum { COLUMNS = 4, EXPORTED = 6, ROWS_MAX = 300, CHANGES_MAX = 7, MEMORY = 64 << 20 };

static struct tide_column columns[COLUMNS] = {
    {.name = (char *)"part", .type = TIDE_TYPE_TEXT, .partition_at = 0},
    {.name = (char *)"any \"quoted\", \n", .type = TIDE_TYPE_ANY, .partition_at = -1},
    {.name = (char *)"attrs", .type = TIDE_TYPE_JSON, .partition_at = -1},
    {.name = (char *)"ts", .type = TIDE_TYPE_TIMESTAMP_MS, .partition_at = -1}};
static size_t partition[] = {0};
static const struct tide_spec spec = {
    .refs = 1, .ncolumns = COLUMNS, .columns = columns, .npartition = 1, .partition = partition};
static const int exported[EXPORTED] = {TIDE_ENCODER_SINCE, TIDE_ENCODER_PARTITION, 0, 1, 2, 3};
static const struct tide_format *const formats[] = {&tide_format_ndjson, &tide_format_csv, &tide_format_ndjson_zst,
                                                    &tide_format_csv_zst, &tide_format_parquet};
enum { FORMATS = sizeof formats / sizeof *formats };

/* A value as the column has it; others are NULL. */
static struct tide_val typed(struct tide_val val, size_t column) {
  if (column == 2)
    return val.type == TIDE_VAL_TEXT ? val : tide_val_null();
  return column == 3 && val.type != TIDE_VAL_INT ? tide_val_null() : val;
}

static void fill(struct fuzz_input *input, struct tide_batch *batch) {
  struct tide_err err = {0};
  char scratch[COLUMNS][FUZZ_SCRATCH];
  tide_batch_init(batch, COLUMNS, &err);
  while (input->left > 0 && batch->rows < ROWS_MAX) {
    struct tide_val values[COLUMNS] = {tide_val_null()};
    for (size_t column = 1; column < COLUMNS; column++)
      values[column] = typed(fuzz_value(input, scratch[column]), column);
    tide_batch_append(batch, (int64_t)batch->rows + 1, 0, values, &err);
  }
  fuzz_check_error(&err, 0, 0);
}

static void encode(const struct tide_format *format, bool iso, const struct tide_batch *batch, struct tide_buf *out,
                   char ret_hash[TIDE_ENCODER_HASH_SIZE]) {
  struct tide_err err = {0};
  const struct tide_val part = tide_val_text("a,\"b", 4);
  const struct tide_encoder_config config = {.spec = &spec,
                                             .columns = exported,
                                             .ncolumns = EXPORTED,
                                             .partition = "part=a%2C%22b",
                                             .partition_values = &part,
                                             .zstd_level = 1,
                                             .iso = iso,
                                             .dataset = "d",
                                             .log_id = "0123456789abcdef0123456789abcdef",
                                             .until = (int64_t)batch->rows};
  struct tide_encoder *encoder = format->create(&config, &err);
  encoder->methods->rows(encoder, batch, 0, batch->rows, NULL, out, &err);
  encoder->methods->finish(encoder, out, ret_hash, &err);
  fuzz_check_error(&err, 0, 0);
  tide_encoder_destroy(encoder);
}

/* ---- reading it back ---- */

static bool hash_of(const struct tide_format *format, const struct tide_buf *object,
                    char ret_hash[TIDE_ENCODER_HASH_SIZE]) {
  struct tide_err err = {0};
  struct fuzz_input input = {object->data != NULL ? object->data : (const uint8_t *)"", object->len};
  format->hash_object(fuzz_read, &input, ret_hash, &err);
  fuzz_check_error(&err, SQLITE_CORRUPT, 0);
  return err.rc == 0;
}

/* Lines that end with a line end, each JSON that our own reader takes for strict. */
static void check_ndjson(const struct tide_buf *object, size_t rows) {
  struct tide_err err = {0};
  struct tide_buf strict = {0};
  const unsigned char *at = object->data, *end = at + object->len;
  size_t lines = 0;
  for (; at < end; lines++) {
    const unsigned char *stop = memchr(at, '\n', (size_t)(end - at));
    FUZZ_CHECK(stop != NULL);
    tide_buf_reset(&strict);
    FUZZ_CHECK(tide_json_put_strict(&strict, at, (size_t)(stop - at), &err));
    FUZZ_CHECK(strict.len == (size_t)(stop - at));
    at = stop + 1;
  }
  FUZZ_CHECK(lines == rows);
  tide_buf_clear(&strict);
}

/* As RFC 4180 has it: the number of fields of all records, and their number. */
static void check_csv(const struct tide_buf *object, size_t rows) {
  const unsigned char *at = object->data, *end = at + object->len;
  size_t records = 0, fields = 0;
  while (at < end) {
    if (*at == '"') {
      for (at++; at < end && (*at != '"' || (at + 1 < end && at[1] == '"')); at++)
        at += *at == '"';
      FUZZ_CHECK(at++ < end);
    }
    while (at < end && *at != ',' && *at != '\r')
      FUZZ_CHECK(*at != '"' && *at++ != '\n');
    fields++;
    FUZZ_CHECK(at < end);
    if (*at++ == '\r') {
      FUZZ_CHECK(at < end && *at++ == '\n');
      records++;
    }
  }
  FUZZ_CHECK(records == rows + 1 && fields == (rows + 1) * EXPORTED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  char hash[TIDE_ENCODER_HASH_SIZE], again[TIDE_ENCODER_HASH_SIZE];
  const size_t which = fuzz_u8(&input) % FORMATS;
  const bool iso = fuzz_u8(&input) & 1;
  const size_t changes = fuzz_u8(&input) % (CHANGES_MAX + 1);
  struct fuzz_input change = input;
  const size_t skip = changes * 3 < input.left ? changes * 3 : input.left;
  input.at += skip;
  input.left -= skip;
  fuzz_begin(MEMORY);
  struct tide_batch batch;
  struct tide_buf object = {0};
  fill(&input, &batch);
  encode(formats[which], iso, &batch, &object, hash);
  FUZZ_CHECK(hash_of(formats[which], &object, again) && strcmp(hash, again) == 0);
  if (which == 0 && batch.rows > 0)
    check_ndjson(&object, batch.rows);
  if (which == 1)
    check_csv(&object, batch.rows);
  for (size_t i = 0; i < changes && object.len > 0; i++) {
    const size_t place = fuzz_number(&change, object.len - 1 < UINT16_MAX ? object.len - 1 : UINT16_MAX);
    object.data[place] = (unsigned char)(object.data[place] + fuzz_u8(&change));
  }
  hash_of(formats[which], &object, again);
  tide_buf_clear(&object);
  tide_batch_clear(&batch);
  fuzz_end();
  return 0;
}
