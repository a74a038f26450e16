#include "segment/segment.h"

#include <assert.h>

#include "base/mem.h"
#include "codec/chunk.h"
#include "segment/format.h"
#include "segment/zonemap.h"

struct writer {
  const struct tide_spec *spec;
  const struct tide_batch *batch;
  struct tide_frame_encoder *encoder;
  struct tide_buf frames; /* of the column at hand */
  struct tide_format_directory directory;
  struct tide_format_meta meta;
  unsigned char (
      *raised)[TIDE_ZONEMAP_BYTES_MAX]; /* for each dataset column, where its zone's max lies when it was raised */
};

static void assert_ascending(const int64_t *since, size_t rows) {
  for (size_t i = 1; i < rows; i++)
    assert(since[i] > since[i - 1]);
  (void)since;
}

static int writer_init(struct writer *writer, struct tide_err *err) {
  const struct tide_batch *batch = writer->batch;
  size_t nframes = tide_format_frames(batch->rows);
  if (tide_err_is_set(err) || tide_format_meta_init(&writer->meta, batch->ncolumns, err) != 0 ||
      tide_format_directory_init(&writer->directory, nframes, true, err) != 0)
    return err->rc;
  writer->meta.rows = batch->rows;
  writer->meta.first_since = batch->since[0];
  writer->meta.last_since = batch->since[batch->rows - 1];
  for (size_t i = 0; i < nframes; i++)
    writer->directory.first_since[i] = batch->since[i * TIDE_SEGMENT_FRAME_ROWS];
  writer->raised = tide_alloc_zero(batch->ncolumns, sizeof *writer->raised, err);
  return err->rc;
}

static void writer_clear(struct writer *writer) {
  tide_free(writer->raised);
  tide_format_directory_clear(&writer->directory);
  tide_format_meta_clear(&writer->meta);
  tide_buf_clear(&writer->frames);
}

static const int64_t *numbers_of(const struct tide_batch *batch, size_t column) {
  if (column == TIDE_SEGMENT_COLUMN_SINCE)
    return batch->since;
  return column == TIDE_SEGMENT_COLUMN_INGESTED ? batch->ingested_at : NULL;
}

/* Encodes the frames of a segment column and fills the directory. */
static void write_frames(struct writer *writer, size_t column, struct tide_err *err) {
  const int64_t *numbers = numbers_of(writer->batch, column);
  struct tide_format_directory *directory = &writer->directory;
  tide_buf_reset(&writer->frames);
  for (size_t i = 0; i < directory->nframes && !tide_err_is_set(err); i++) {
    size_t first = i * TIDE_SEGMENT_FRAME_ROWS, rows = tide_format_frame_rows(writer->batch->rows, i);
    size_t at = writer->frames.len;
    if (numbers != NULL)
      tide_frame_encode_ints(writer->encoder, numbers + first, rows, &writer->frames, err);
    else
      tide_frame_encode(writer->encoder, &writer->batch->columns[column - TIDE_SEGMENT_COLUMN_FIRST], first, rows,
                        &writer->frames, err);
    if (tide_err_is_set(err))
      return;
    directory->hashes[i] = tide_format_hash(writer->frames.data + at, writer->frames.len - at);
    directory->offsets[i + 1] = writer->frames.len;
  }
}

static void write_chunk(struct writer *writer, size_t column, struct tide_buf *chunk, struct tide_err *err) {
  write_frames(writer, column, err);
  if (tide_err_is_set(err))
    return;
  struct tide_format_directory view = writer->directory;
  if (column != TIDE_SEGMENT_COLUMN_SINCE)
    view.first_since = NULL;
  tide_format_put_header(&view, chunk, &writer->meta.entries[column], err);
  tide_buf_put(chunk, writer->frames.data, writer->frames.len, err);
}

/* Whether the dataset column has anything to store; collects its zone. */
static bool collect_zone(struct writer *writer, size_t column) {
  if (writer->spec->columns[column].partition_at >= 0)
    return false;
  struct tide_zone *zone = &writer->meta.zones[column];
  tide_zonemap_collect(&writer->batch->columns[column], writer->batch->rows, writer->raised[column], zone);
  return zone->types != 1u << TIDE_VAL_NULL;
}

static void write_chunks(struct writer *writer, struct tide_segment_out *out, struct tide_err *err) {
  out->nchunks = TIDE_SEGMENT_COLUMN_FIRST + writer->batch->ncolumns;
  out->chunks = tide_alloc_zero(out->nchunks, sizeof *out->chunks, err);
  if (out->chunks == NULL) {
    out->nchunks = 0;
    return;
  }
  for (size_t i = 0; i < out->nchunks && !tide_err_is_set(err); i++)
    if (i < TIDE_SEGMENT_COLUMN_FIRST || collect_zone(writer, i - TIDE_SEGMENT_COLUMN_FIRST))
      write_chunk(writer, i, &out->chunks[i], err);
}

static uint64_t stored_bytes(const struct tide_segment_out *out) {
  uint64_t bytes = out->meta.len;
  for (size_t i = 0; i < out->nchunks; i++)
    bytes += out->chunks[i].len;
  return bytes;
}

int tide_segment_write(const struct tide_spec *spec, const struct tide_batch *batch, struct tide_frame_encoder *encoder,
                       struct tide_segment_out *ret_out, struct tide_err *err) {
  assert(batch->rows > 0 && batch->rows <= TIDE_OPTIONS_SEGMENT_ROWS_MAX && batch->ncolumns == spec->ncolumns);
  assert_ascending(batch->since, batch->rows);
  struct writer writer = {.spec = spec, .batch = batch, .encoder = encoder};
  *ret_out = (struct tide_segment_out){.raw_bytes = batch->raw_bytes};
  if (writer_init(&writer, err) == 0)
    write_chunks(&writer, ret_out, err);
  if (!tide_err_is_set(err))
    tide_format_put_meta(&writer.meta, &ret_out->meta, err);
  if (tide_err_is_set(err))
    tide_segment_out_clear(ret_out);
  else
    ret_out->stored_bytes = stored_bytes(ret_out);
  writer_clear(&writer);
  return err->rc;
}

void tide_segment_out_clear(struct tide_segment_out *out) {
  for (size_t i = 0; i < out->nchunks; i++)
    tide_buf_clear(&out->chunks[i]);
  tide_free(out->chunks);
  tide_buf_clear(&out->meta);
  *out = (struct tide_segment_out){0};
}
