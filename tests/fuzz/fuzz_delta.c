/* A Delta table that anybody may have written to: commits, the kept copy, and whatever else lies in its log. A batch is
 * committed to it, or refused with a sentence; one that was committed is known when it comes again, and a table that
 * others keep reads the same from our copy of it.
 *
 *   up to 12 objects, each u8 kind, u16 size and its bytes. Kinds, modulo 4: 0 and 1 the next commit; 2 the kept copy,
 *   which is compressed here; 3 the kept copy as it is */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codec/zframe.h"
#include "fuzz.h"
#include "sink/delta.h"
#include "sink/delta_kept.h"
#include "sink/delta_log.h"

enum { COLUMNS = 3, OBJECTS_MAX = 12, MEMORY = 64 << 20 };
#define FOLDER "logs/_delta_log"
#define LOG_ID "0123456789abcdef0123456789abcdef"

static struct tide_column columns[COLUMNS] = {
    {.name = (char *)"source", .type = TIDE_TYPE_TEXT, .partition_at = 0},
    {.name = (char *)"ts", .type = TIDE_TYPE_TIMESTAMP_MS, .partition_at = -1},
    {.name = (char *)"body", .type = TIDE_TYPE_TEXT, .partition_at = -1}};
static size_t partition[] = {0};
static const struct tide_spec spec = {
    .refs = 1, .ncolumns = COLUMNS, .columns = columns, .npartition = 1, .partition = partition};
static const int all_columns[COLUMNS] = {0, 1, 2};

static void put(struct tide_target *target, const char *name, const void *bytes, size_t size) {
  struct tide_err err = {0};
  const struct tide_object object = {.name = name, .log_id = LOG_ID, .token = 1};
  target->methods->replace(target, &object, bytes, size, &err);
  fuzz_check_error(&err, 0, 0);
}

static void put_compressed(struct tide_target *target, const char *name, const void *bytes, size_t size) {
  struct tide_err err = {0};
  struct tide_buf out = {0};
  struct tide_zstream *stream = tide_zstream_create(1, &err);
  tide_zstream_write(stream, bytes, size, &out, &err);
  tide_zstream_finish(stream, &out, &err);
  fuzz_check_error(&err, 0, 0);
  put(target, name, out.data, out.len);
  tide_zstream_destroy(stream);
  tide_buf_clear(&out);
}

static void put_objects(struct fuzz_input *input, struct tide_target *target) {
  struct tide_err err = {0};
  int64_t version = 0;
  for (size_t i = 0; i < OBJECTS_MAX && input->left > 0; i++) {
    const uint8_t kind = fuzz_u8(input) % 4;
    const size_t wanted = fuzz_number(input, UINT16_MAX), size = wanted < input->left ? wanted : input->left;
    char *name = kind < 2 ? tide_delta_log_name(FOLDER, version++, ".json", &err) : tide_delta_kept_name(FOLDER, &err);
    if (kind == 2)
      put_compressed(target, name, input->at, size);
    else
      put(target, name, input->at, size);
    tide_free(name);
    input->at += size;
    input->left -= size;
  }
}

static int commit(struct tide_target *target, int n, struct tide_err *err) {
  static const struct tide_val value = {.type = TIDE_VAL_TEXT, .p = "web", .n = 3};
  bool altered = false;
  char *name = tide_printf(err, "logs/source=web/%020d-%020d." LOG_ID ".parquet", 10 * (n - 1), 10 * n);
  const struct tide_delta_add add = {.object = {.name = name, .log_id = LOG_ID, .token = n},
                                     .size = 1000,
                                     .rows = 10,
                                     .columns = {&spec, all_columns, COLUMNS},
                                     .partition_values = &value,
                                     .sink = "archive",
                                     .partition = "source=web",
                                     .until = INT64_C(10) * n,
                                     .now_ms = INT64_C(1767225600000)};
  struct tide_delta *delta = tide_delta_create(target, err);
  tide_delta_commit(delta, &add, &altered, err);
  tide_delta_destroy(delta);
  tide_free(name);
  return err->rc;
}

/* Of a table that can be read, its version; -1 of one that is not there, -2 of any other. */
static int64_t version_of(struct tide_target *target) {
  struct tide_err err = {0};
  struct tide_delta_table table;
  tide_delta_table_init(&table);
  tide_delta_kept_read(target, FOLDER, &table, &err);
  fuzz_check_error(&err, 0, 0);
  const int64_t version = tide_delta_log_read(target, FOLDER, &table, &err) == 0 ? table.version : -2;
  fuzz_check_error(&err, SQLITE_CORRUPT, SQLITE_CONSTRAINT);
  tide_delta_table_clear(&table);
  return version;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct tide_err err = {0};
  fuzz_begin(MEMORY);
  struct tide_target *target = tide_target_memory_create(&err);
  put_objects(&input, target);
  version_of(target);
  if (commit(target, 1, &err) == 0) {
    const int64_t version = version_of(target);
    FUZZ_CHECK(version >= 0 && commit(target, 1, &err) == 0 && version_of(target) == version);
    FUZZ_CHECK(commit(target, 2, &err) == 0 && version_of(target) >= version);
  }
  fuzz_check_error(&err, SQLITE_CORRUPT, SQLITE_CONSTRAINT);
  tide_target_destroy(target);
  fuzz_end();
  return 0;
}
