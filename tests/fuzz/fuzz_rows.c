/* Rows of any values become a segment, which gives them back, all and some of them.
 *
 *   u8   zstd level less 1
 *   u8   how often the list of values is gone through: up to 8 times, or, from 240 on, as often as fills a frame
 *   values (values.h), of two columns in turn: rows are a list of them, repeated */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "segment/segment.h"
#include "values.h"

enum { COLUMNS = 2, ROWS_MAX = 4400, VALUES_MAX = 512, LEVELS = 3, MEMORY = 120 << 20 };

static struct tide_column columns[COLUMNS] = {{.name = (char *)"a", .partition_at = -1},
                                              {.name = (char *)"b", .partition_at = -1}};
static const struct tide_spec spec = {.refs = 1, .ncolumns = COLUMNS, .columns = columns};

struct list {
  struct tide_val values[VALUES_MAX];
  char scratch[VALUES_MAX][FUZZ_SCRATCH];
  size_t count;
};

static const struct tide_val *value_at(const struct list *list, size_t row, size_t column) {
  return &list->values[(row * COLUMNS + column) % list->count];
}

/* Since goes up by 1 or 2, so that rows are numbered unevenly. */
static void write_rows(const struct list *list, size_t rows, int level, struct tide_segment_out *out) {
  struct tide_err err = {0};
  struct tide_batch batch;
  tide_batch_init(&batch, COLUMNS, &err);
  for (size_t row = 0; row < rows; row++) {
    const struct tide_val values[COLUMNS] = {*value_at(list, row, 0), *value_at(list, row, 1)};
    tide_batch_append(&batch, (int64_t)(row + row / 3), (int64_t)(row * row), values, &err);
  }
  struct tide_frame_encoder *encoder = tide_frame_encoder_create(level, &err);
  tide_segment_write(&spec, &batch, encoder, out, &err);
  fuzz_check_error(&err, 0, 0);
  tide_frame_encoder_destroy(encoder);
  tide_batch_clear(&batch);
}

static int read_chunk(void *context, size_t column, uint64_t offset, size_t size, void *into, struct tide_err *err) {
  const struct tide_segment_out *out = context;
  FUZZ_CHECK(err->rc == 0 && column < out->nchunks);
  FUZZ_CHECK(offset <= out->chunks[column].len && size <= out->chunks[column].len - offset);
  memcpy(into, out->chunks[column].data + offset, size);
  return 0;
}

static void check_zone(const struct tide_zone *zone, const struct tide_val *val) {
  FUZZ_CHECK(zone->types >> val->type & 1);
  if (!zone->bounded || val->type == TIDE_VAL_NULL)
    return;
  FUZZ_CHECK(tide_val_compare(&zone->min, val) <= 0 && tide_val_compare(&zone->max, val) >= 0);
}

static void check_column(struct tide_segment *segment, const struct list *list, size_t frame, size_t column,
                         const uint8_t *wanted, struct tide_batch *batch) {
  struct tide_err err = {0};
  struct tide_zone zone, all;
  const size_t first = frame * TIDE_SEGMENT_FRAME_ROWS;
  tide_segment_zone(segment, column, &all);
  tide_segment_frame_zone(segment, frame, column, &zone, &err);
  tide_segment_read_column(segment, frame, column, wanted, batch, &err);
  fuzz_check_error(&err, 0, 0);
  for (size_t row = 0; row < batch->rows; row++) {
    if (wanted != NULL && !wanted[row])
      continue;
    const struct tide_val val = tide_vec_get(&batch->columns[column], row);
    FUZZ_CHECK(fuzz_same(&val, value_at(list, first + row, column)));
    check_zone(&zone, &val);
    check_zone(&all, &val);
  }
}

static void check_frame(struct tide_segment *segment, const struct list *list, size_t frame, struct tide_batch *batch) {
  struct tide_err err = {0};
  uint8_t wanted[TIDE_SEGMENT_FRAME_ROWS];
  tide_batch_reset(batch);
  tide_segment_read_since(segment, frame, batch, &err);
  tide_segment_read_ingested(segment, frame, batch, &err);
  fuzz_check_error(&err, 0, 0);
  for (size_t i = 0; i < batch->rows; i++) {
    const size_t row = frame * TIDE_SEGMENT_FRAME_ROWS + i;
    FUZZ_CHECK(batch->since[i] == (int64_t)(row + row / 3) && batch->ingested_at[i] == (int64_t)(row * row));
    wanted[i] = value_at(list, row, 0)->i % 5 == 1 || row % 7 == 2;
  }
  for (size_t column = 0; column < COLUMNS; column++) {
    check_column(segment, list, frame, column, NULL, batch);
    check_column(segment, list, frame, column, wanted, batch);
  }
}

static void check_rows(const struct list *list, size_t rows, int level) {
  struct tide_err err = {0};
  struct tide_segment_out out = {0};
  struct tide_batch batch;
  write_rows(list, rows, level, &out);
  struct tide_segment *segment =
      tide_segment_open(&spec, out.meta.data, out.meta.len, (struct tide_chunk_source){read_chunk, &out}, NULL, &err);
  tide_batch_init(&batch, COLUMNS, &err);
  fuzz_check_error(&err, 0, 0);
  FUZZ_CHECK(tide_segment_rows(segment) == rows);
  for (size_t frame = 0; frame < tide_segment_frames(segment); frame++)
    check_frame(segment, list, frame, &batch);
  tide_batch_clear(&batch);
  tide_segment_close(segment);
  tide_segment_out_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  static struct list list;
  const int level = 1 + fuzz_u8(&input) % LEVELS;
  const uint8_t often = fuzz_u8(&input);
  const size_t rounds = often < 240 ? 1 + often % 8 : ROWS_MAX;
  list.count = 0;
  while (input.left > 0 && list.count < VALUES_MAX) {
    list.values[list.count] = fuzz_value(&input, list.scratch[list.count]);
    list.count++;
  }
  if (list.count == 0)
    return 0;
  const size_t rows = (list.count * rounds + COLUMNS - 1) / COLUMNS;
  fuzz_begin(MEMORY);
  check_rows(&list, rows < ROWS_MAX ? rows : ROWS_MAX, level);
  fuzz_end();
  return 0;
}
