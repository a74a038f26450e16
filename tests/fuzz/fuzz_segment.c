/* Segments: meta and chunks as they may lie in the file of somebody who knows the checksums. What opens is read frame by
 * frame, all values and some of them; what comes out is looked at, byte by byte. Where only some were asked for, they
 * are those of before.
 *
 *   u8   bit 0: the checksums are made right; bit 1: values are asked for by every third row, too
 *   then meta and the chunks in their order, each u16 size and the bytes */
#include <stdlib.h>
#include <string.h>

#include "checksums.h"
#include "fuzz.h"
#include "segment/segment.h"
#include "values.h"

enum { COLUMNS = 14, CHUNKS = TIDE_SEGMENT_COLUMN_FIRST + COLUMNS, MEMORY = 120 << 20, FRAMES_MAX = 16 };

static struct tide_column columns[COLUMNS] = {
    {.name = (char *)"a"}, {.name = (char *)"b"},
    {.name = (char *)"c"}, {.name = (char *)"d"},
    {.name = (char *)"e"}, {.name = (char *)"f"},
    {.name = (char *)"g"}, {.name = (char *)"h"},
    {.name = (char *)"i"}, {.name = (char *)"j"},
    {.name = (char *)"k"}, {.name = (char *)"l"},
    {.name = (char *)"m"}, {.name = (char *)"n", .dflt_value = {.type = TIDE_VAL_TEXT, .p = "x", .n = 1}}};
static const struct tide_spec spec = {.refs = 1, .ncolumns = COLUMNS, .columns = columns};

static int read_chunk(void *context, size_t column, uint64_t offset, size_t size, void *into, struct tide_err *err) {
  const struct fuzz_run *chunk = (const struct fuzz_run *)context + column;
  FUZZ_CHECK(column < CHUNKS);
  if (offset > chunk->size || size > chunk->size - offset)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "the chunk is too short");
  else
    memcpy(into, chunk->bytes + offset, size);
  return err->rc;
}

/* For a bomb there is no memory. The batch keeps what every column took, so it may be another column's, and one by
 * itself need not be above all that there is. */
static void check_refusal(const struct tide_err *err, const struct fuzz_run *chunks) {
  bool bomb = false;
  for (size_t i = TIDE_SEGMENT_COLUMN_FIRST; i < CHUNKS && err->rc == SQLITE_NOMEM && !bomb; i++)
    bomb = fuzz_is_bomb(chunks[i].bytes, chunks[i].size, MEMORY / 4 / COLUMNS);
  if (!bomb)
    fuzz_check_error(err, SQLITE_CORRUPT_VTAB, 0);
}

static void read_column(struct tide_segment *segment, size_t frame, size_t column, struct tide_batch *batch,
                        const struct fuzz_run *chunks, bool thirds) {
  static uint64_t sums[TIDE_SEGMENT_FRAME_ROWS];
  uint8_t wanted[TIDE_SEGMENT_FRAME_ROWS];
  struct tide_err err = {0}, again = {0};
  const size_t rows = tide_segment_frame_rows(segment, frame);
  struct tide_zone zone;
  tide_segment_frame_zone(segment, frame, column, &zone, &err);
  tide_segment_read_column(segment, frame, column, NULL, batch, &err);
  check_refusal(&err, chunks);
  for (size_t row = 0; row < rows && err.rc == 0; row++) {
    const struct tide_val val = tide_vec_get(&batch->columns[column], row);
    sums[row] = fuzz_sum(&val);
  }
  if (!thirds)
    return;
  for (size_t row = 0; row < rows; row++)
    wanted[row] = row % 3 == 1;
  tide_segment_read_column(segment, frame, column, wanted, batch, &again);
  check_refusal(&again, chunks);
  FUZZ_CHECK(err.rc != 0 || again.rc == 0);
  for (size_t row = 1; row < rows && err.rc == 0; row += 3) {
    const struct tide_val val = tide_vec_get(&batch->columns[column], row);
    FUZZ_CHECK(sums[row] == fuzz_sum(&val));
  }
}

static void read_frame(struct tide_segment *segment, size_t frame, struct tide_batch *batch,
                       const struct fuzz_run *chunks, bool thirds) {
  struct tide_err err = {0};
  tide_batch_reset(batch);
  if (tide_segment_read_since(segment, frame, batch, &err) == 0) {
    for (size_t row = 1; row < batch->rows; row++)
      FUZZ_CHECK(batch->since[row - 1] < batch->since[row]);
    size_t found;
    FUZZ_CHECK(tide_segment_seek(segment, batch->since[0] - 1, &found, &err) != 0 || found <= frame);
  }
  fuzz_check_error(&err, SQLITE_CORRUPT_VTAB, 0);
  tide_err_clear(&err);
  tide_segment_read_ingested(segment, frame, batch, &err);
  fuzz_check_error(&err, SQLITE_CORRUPT_VTAB, 0);
  for (size_t column = 0; column < COLUMNS; column++)
    read_column(segment, frame, column, batch, chunks, thirds);
}

static void read_segment(struct fuzz_run meta, struct fuzz_run *chunks, bool thirds) {
  struct tide_err err = {0};
  struct tide_batch batch = {0};
  struct tide_segment *segment =
      tide_segment_open(&spec, meta.bytes, meta.size, (struct tide_chunk_source){read_chunk, chunks}, NULL, &err);
  fuzz_check_error(&err, SQLITE_CORRUPT_VTAB, SQLITE_ERROR); /* the latter: of a newer format */
  if (segment != NULL) {
    tide_batch_init(&batch, COLUMNS, &err);
    FUZZ_CHECK(err.rc == 0 && tide_segment_first_since(segment) <= tide_segment_last_since(segment));
    for (size_t frame = 0; frame < tide_segment_frames(segment) && frame < FRAMES_MAX; frame++)
      read_frame(segment, frame, &batch, chunks, thirds);
  }
  tide_batch_clear(&batch);
  tide_segment_close(segment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct fuzz_run runs[1 + CHUNKS];
  const uint8_t flags = fuzz_u8(&input);
  for (size_t i = 0; i < 1 + CHUNKS; i++) {
    const size_t length = fuzz_number(&input, UINT16_MAX);
    runs[i].bytes = fuzz_bytes(&input, length, &runs[i].size);
  }
  if (flags & 1)
    fuzz_fix_segment(runs[0], runs + 1, CHUNKS);
  fuzz_begin(MEMORY);
  read_segment(runs[0], runs + 1, flags & 2);
  fuzz_end();
  for (size_t i = 0; i < 1 + CHUNKS; i++)
    free(runs[i].bytes);
  return 0;
}
