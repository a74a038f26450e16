/* A partition's text, read and written; and the names that become folders.
 *
 *   u8   0: the text of a partition, to the end; 1: values, u64 and two texts of u8 size, to be one; 2: a name, to the end;
 *        3: the name of an object, to the end */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "model/partition.h"
#include "sink/target.h"
#include "values.h"

enum { COLUMNS = 3, MEMORY = 4 << 20 };

static struct tide_column columns[COLUMNS] = {
    {.name = (char *)"day", .type = TIDE_TYPE_TIMESTAMP_MS, .partition_at = 0},
    {.name = (char *)"source", .type = TIDE_TYPE_TEXT, .partition_at = 1},
    {.name = (char *)"a b/=%", .type = TIDE_TYPE_TEXT, .partition_at = 2}};
static size_t partition[] = {0, 1, 2};
static const struct tide_spec spec = {
    .refs = 1, .ncolumns = COLUMNS, .columns = columns, .npartition = COLUMNS, .partition = partition};

/* What is a partition is the text that its values give, and can be the name of folders. */
static void decode(const char *text, size_t size) {
  struct tide_err err = {0};
  struct tide_val values[COLUMNS];
  struct tide_buf bytes = {0}, again = {0};
  tide_partition_decode(&spec, text, size, values, &bytes, &err);
  fuzz_check_error(&err, SQLITE_ERROR, 0);
  if (err.rc == 0) {
    tide_partition_encode(&spec, values, &again, &err);
    FUZZ_CHECK(err.rc == 0 && again.len == size && memcmp(again.data, text, size) == 0);
    FUZZ_CHECK(tide_target_name_check(text, &err));
  }
  tide_buf_clear(&bytes);
  tide_buf_clear(&again);
}

static struct tide_val text_or_null(struct fuzz_input *input, char **ret_text) {
  size_t size;
  const uint8_t wanted = fuzz_u8(input);
  *ret_text = fuzz_string(input, wanted, &size);
  return wanted == UINT8_MAX ? tide_val_null() : tide_val_text(*ret_text, size);
}

static void encode(struct fuzz_input *input) {
  struct tide_err err = {0};
  struct tide_buf text = {0}, bytes = {0};
  char *texts[2];
  struct tide_val values[COLUMNS] = {tide_val_int((int64_t)fuzz_u64(input))}, again[COLUMNS];
  values[1] = text_or_null(input, &texts[0]);
  values[2] = text_or_null(input, &texts[1]);
  tide_partition_encode(&spec, values, &text, &err);
  fuzz_check_error(&err, SQLITE_CONSTRAINT, 0);
  if (err.rc == 0) {
    tide_partition_decode(&spec, (const char *)text.data, text.len, again, &bytes, &err);
    fuzz_check_error(&err, 0, 0);
    for (size_t i = 0; i < COLUMNS; i++)
      FUZZ_CHECK(fuzz_same(&values[i], &again[i]));
  }
  tide_buf_clear(&text);
  tide_buf_clear(&bytes);
  free(texts[0]);
  free(texts[1]);
}

static void encode_name(const char *name, size_t size) {
  struct tide_err err = {0};
  struct tide_buf out = {0};
  tide_partition_encode_name(name, size, &out, &err);
  tide_buf_put_u8(&out, 0, &err);
  fuzz_check_error(&err, 0, 0);
  FUZZ_CHECK(size == 0 || tide_target_name_check((const char *)out.data, &err) || out.len > 255);
  FUZZ_CHECK(strchr((const char *)out.data, '/') == NULL);
  tide_buf_clear(&out);
}

/* What a target takes for a name leads to nowhere but below its folder. */
static void check_name(const char *name) {
  struct tide_err err = {0};
  const bool good = tide_target_name_check(name, &err);
  FUZZ_CHECK(good == (err.rc == 0));
  fuzz_check_error(&err, SQLITE_ERROR, 0);
  for (const char *part = name; good; part = strchr(part, '/') + 1) {
    const size_t size = strcspn(part, "/");
    FUZZ_CHECK(size > 0 && strncmp(part, "./", 2) != 0 && strncmp(part, "../", 3) != 0);
    FUZZ_CHECK(strcmp(part, ".") != 0 && strcmp(part, "..") != 0);
    if (part[size] == '\0')
      return;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  const uint8_t what = fuzz_u8(&input) % 4;
  struct fuzz_input copy = input;
  char *text = fuzz_string(&copy, copy.left, &size);
  fuzz_begin(MEMORY);
  if (what == 0)
    decode(text, size);
  else if (what == 1)
    encode(&input);
  else if (what == 2)
    encode_name(text, size);
  else
    check_name(text);
  fuzz_end();
  free(text);
  return 0;
}
