/* What the tests of segments share: rows of all types, chunks in memory, and a reader that compares. */
#ifndef TIDE_TESTS_SEGMENT_ROWS_H
#define TIDE_TESTS_SEGMENT_ROWS_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "random.h"
#include "segment/segment.h"
#include "unit.h"

enum { ANY, INTEGER, REAL, TEXT, BLOB, PART, EMPTY, COLUMNS };

static struct tide_column columns[COLUMNS + 2] = {
    {.name = (char *)"any", .type = TIDE_TYPE_ANY, .partition_at = -1},
    {.name = (char *)"i", .type = TIDE_TYPE_INTEGER, .partition_at = -1},
    {.name = (char *)"r", .type = TIDE_TYPE_REAL, .partition_at = -1},
    {.name = (char *)"t", .type = TIDE_TYPE_TEXT, .partition_at = -1},
    {.name = (char *)"b", .type = TIDE_TYPE_BLOB, .partition_at = -1},
    {.name = (char *)"part", .type = TIDE_TYPE_TEXT, .not_null = true, .partition_at = 0},
    {.name = (char *)"empty", .type = TIDE_TYPE_ANY, .partition_at = -1},
    {.name = (char *)"later", .type = TIDE_TYPE_ANY, .partition_at = -1},
    {.name = (char *)"last", .type = TIDE_TYPE_INTEGER, .partition_at = -1}};
static const struct tide_spec spec = {.refs = 1, .ncolumns = COLUMNS, .columns = columns};

static inline struct tide_val random_value(uint8_t type) {
  static const char *const texts[] = {"", "info", "a\0b", "\xff\xfe is not UTF-8",
                                      "GET /index.html HTTP/1.1 and then some more"};
  static const size_t sizes[] = {0, 4, 3, 15, 42};
  uint64_t pick = next_random() % 5;
  switch (type) {
  case TIDE_VAL_INT:
    return tide_val_int(pick == 0 ? INT64_MIN : pick == 1 ? INT64_MAX : (int64_t)(next_random() >> 40));
  case TIDE_VAL_REAL:
    return tide_val_real(pick == 0 ? -0.0 : pick == 1 ? (double)INFINITY : (double)(next_random() >> 40) / 3);
  case TIDE_VAL_TEXT:
    return tide_val_text(texts[pick], sizes[pick]);
  case TIDE_VAL_BLOB:
    return tide_val_blob(texts[pick], sizes[pick]);
  default:
    return tide_val_null();
  }
}

/* Texts of a log line: column t as templates. */
static inline struct tide_val log_line(void) {
  static char text[100];
  const int size = snprintf(text, sizeof text, "GET /page/%u HTTP/1.1 took %03u ms", (unsigned)(next_random() % 5000),
                            (unsigned)(next_random() % 1000));
  return tide_val_text(text, (size_t)size);
}

/* Rows of all types, NULLs among them, with gaps in since; column t as random_value has it, or of log lines. */
static inline struct tide_batch batch_of(size_t rows, bool log_lines) {
  struct tide_err err = {0};
  struct tide_batch batch;
  random_seed = rows;
  tide_batch_init(&batch, COLUMNS, &err);
  int64_t since = 1000;
  for (size_t row = 0; row < rows; row++) {
    struct tide_val values[COLUMNS] = {
        [ANY] = random_value((uint8_t)(next_random() % TIDE_VAL_TYPES)), [PART] = tide_val_text("web", 3)};
    for (uint8_t type = TIDE_VAL_INT; type <= TIDE_VAL_BLOB; type++)
      values[type] = random_value(next_random() % 9 == 0 ? TIDE_VAL_NULL : type); /* INTEGER is 1, REAL 2, and so on */
    if (log_lines)
      values[TEXT] = log_line();
    tide_batch_append(&batch, since, 1767225600000 + since / 10, values, &err);
    since += 1 + (int64_t)(next_random() % 4);
  }
  assert_ok(err);
  return batch;
}

static inline struct tide_batch random_batch(size_t rows) {
  return batch_of(rows, false);
}

/* Chunks in memory; counts what is asked of them. */
struct store {
  const struct tide_segment_out *out;
  size_t short_of; /* bytes missing at the end of each chunk */
  size_t reads;
  uint64_t bytes;
  uint64_t columns; /* which were read, a bit each */
};

static inline int read_store(void *context, size_t column, uint64_t offset, size_t size, void *into,
                             struct tide_err *err) {
  struct store *store = context;
  ck_assert_uint_lt(column, store->out->nchunks);
  const struct tide_buf *chunk = &store->out->chunks[column];
  size_t len = chunk->len > store->short_of ? chunk->len - store->short_of : 0;
  store->reads++;
  store->bytes += size;
  store->columns |= UINT64_C(1) << column;
  if (offset > len || size > len - offset) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "chunk of %lld bytes is too short", (long long)len);
    return err->rc;
  }
  memcpy(into, chunk->data + offset, size);
  return 0;
}

static inline int write_segment(const struct tide_spec *of, const struct tide_batch *batch, int level,
                                struct tide_segment_out *out, struct tide_err *err) {
  struct tide_frame_encoder *encoder = tide_frame_encoder_create(level, err);
  if (encoder != NULL)
    tide_segment_write(of, batch, encoder, out, err);
  tide_frame_encoder_destroy(encoder);
  return err->rc;
}

static inline struct tide_segment_out written(const struct tide_batch *batch) {
  struct tide_err err = {0};
  struct tide_segment_out out = {0};
  ck_assert_int_eq(write_segment(&spec, batch, 3, &out, &err), 0);
  assert_ok(err);
  return out;
}

static inline struct tide_segment *opened(struct store *store, struct tide_err *err) {
  const struct tide_buf *meta = &store->out->meta;
  return tide_segment_open(&spec, meta->data, meta->len, (struct tide_chunk_source){read_store, store}, NULL, err);
}

static inline bool same_value(struct tide_val a, struct tide_val b) {
  if (a.type != b.type || a.n != b.n)
    return false;
  if (a.type == TIDE_VAL_REAL)
    return memcmp(&a.r, &b.r, sizeof a.r) == 0;
  return a.i == b.i && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Reads a frame and compares it with the rows it was made of: 0 and all equal, or the error's code. */
static inline int read_and_compare(struct tide_segment *segment, size_t frame, const struct tide_batch *whole,
                                   struct tide_batch *batch, struct tide_err *err) {
  tide_batch_reset(batch);
  tide_segment_read_since(segment, frame, batch, err);
  tide_segment_read_ingested(segment, frame, batch, err);
  for (size_t column = 0; column < COLUMNS; column++)
    if (column != PART)
      tide_segment_read_column(segment, frame, column, NULL, batch, err);
  if (tide_err_is_set(err))
    return err->rc;
  size_t first = frame * TIDE_SEGMENT_FRAME_ROWS;
  ck_assert_uint_eq(batch->rows, tide_segment_frame_rows(segment, frame));
  ck_assert_mem_eq(batch->since, whole->since + first, batch->rows * sizeof *batch->since);
  ck_assert_mem_eq(batch->ingested_at, whole->ingested_at + first, batch->rows * sizeof *batch->ingested_at);
  for (size_t column = 0; column < COLUMNS; column++)
    for (size_t row = 0; row < batch->rows && column != PART; row++)
      ck_assert(
          same_value(tide_vec_get(&batch->columns[column], row), tide_vec_get(&whole->columns[column], first + row)));
  return 0;
}

/* Opens, reads all and compares: 0, or the error's code. */
static inline int read_all(const struct tide_segment_out *out, const struct tide_batch *whole, size_t short_of,
                           struct tide_err *err) {
  struct store store = {.out = out, .short_of = short_of};
  struct tide_batch batch = {0};
  struct tide_segment *segment = opened(&store, err);
  if (segment != NULL && tide_batch_init(&batch, COLUMNS, err) == 0) {
    ck_assert_uint_eq(tide_segment_rows(segment), whole->rows);
    ck_assert_int_eq(tide_segment_first_since(segment), whole->since[0]);
    ck_assert_int_eq(tide_segment_last_since(segment), whole->since[whole->rows - 1]);
    for (size_t frame = 0; frame < tide_segment_frames(segment) && !tide_err_is_set(err); frame++)
      read_and_compare(segment, frame, whole, &batch, err);
  }
  tide_batch_clear(&batch);
  tide_segment_close(segment);
  return err->rc;
}

/* Makes the checksum of a changed meta right. */
static inline void fix_meta_checksum(struct tide_buf *meta) {
  uint64_t sum = XXH3_64bits_withSeed(meta->data + 13, meta->len - 13, meta->data[4]);
  for (size_t i = 0; i < 8; i++)
    meta->data[5 + i] = (unsigned char)(sum >> 8 * i);
}

#endif
