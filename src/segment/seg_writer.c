#include "segment/segment.h"

#include <assert.h>

#include "base/mem.h"
#include "codec/chunk.h"
#include "segment/format.h"
#include "segment/zonemap.h"

/* What has been encoded of a segment column. */
struct column {
  struct tide_buf frames;
  struct tide_format_directory directory;
  struct tide_template_set templates;
};

struct tide_segment_writer {
  const struct tide_spec *spec;
  struct tide_frame_encoder *encoder;
  struct tide_batch pending;  /* rows of a frame that is not full yet */
  struct column *columns;     /* by segment column */
  struct tide_zonemap *zones; /* by dataset column */
  size_t rows;
  int64_t first_since;
  int64_t last_since;
  int64_t newest_at;
  uint64_t raw_bytes;
};

struct tide_segment_writer *tide_segment_writer_create(const struct tide_spec *spec, struct tide_frame_encoder *encoder,
                                                       struct tide_err *err) {
  struct tide_segment_writer *writer = tide_err_is_set(err) ? NULL : tide_alloc_zero(1, sizeof *writer, err);
  if (writer == NULL)
    return NULL;
  writer->spec = spec;
  writer->encoder = encoder;
  tide_batch_init(&writer->pending, spec->ncolumns, err);
  writer->columns = tide_alloc_zero(TIDE_SEGMENT_COLUMN_FIRST + spec->ncolumns, sizeof *writer->columns, err);
  writer->zones = tide_alloc_zero(spec->ncolumns, sizeof *writer->zones, err);
  if (!tide_err_is_set(err))
    return writer;
  tide_segment_writer_destroy(writer);
  return NULL;
}

static size_t columns_of(const struct tide_segment_writer *writer) {
  return TIDE_SEGMENT_COLUMN_FIRST + writer->spec->ncolumns;
}

void tide_segment_writer_destroy(struct tide_segment_writer *writer) {
  if (writer == NULL)
    return;
  for (size_t i = 0; writer->columns != NULL && i < columns_of(writer); i++) {
    tide_buf_clear(&writer->columns[i].frames);
    tide_format_directory_clear(&writer->columns[i].directory);
    tide_template_set_clear(&writer->columns[i].templates);
  }
  tide_batch_clear(&writer->pending);
  tide_free(writer->columns);
  tide_free(writer->zones);
  tide_free(writer);
}

void tide_segment_writer_reset(struct tide_segment_writer *writer) {
  tide_batch_reset(&writer->pending);
  for (size_t i = 0; i < columns_of(writer); i++) {
    tide_buf_reset(&writer->columns[i].frames);
    tide_format_directory_reset(&writer->columns[i].directory);
    tide_template_set_reset(&writer->columns[i].templates);
  }
  for (size_t i = 0; i < writer->spec->ncolumns; i++)
    writer->zones[i].zone = (struct tide_zone){0};
  writer->rows = 0;
  writer->raw_bytes = 0;
}

size_t tide_segment_writer_rows(const struct tide_segment_writer *writer) {
  return writer->rows;
}

uint64_t tide_segment_writer_raw_bytes(const struct tide_segment_writer *writer) {
  return writer->raw_bytes;
}

size_t tide_segment_writer_memory(const struct tide_segment_writer *writer) {
  size_t bytes = tide_batch_memory(&writer->pending);
  for (size_t i = 0; i < columns_of(writer); i++)
    bytes += writer->columns[i].frames.cap + tide_template_set_memory(&writer->columns[i].templates);
  return bytes;
}

/* ---- frames ---- */

static bool is_stored(const struct tide_segment_writer *writer, size_t column) {
  return column < TIDE_SEGMENT_COLUMN_FIRST ||
         writer->spec->columns[column - TIDE_SEGMENT_COLUMN_FIRST].partition_at < 0;
}

/* Appends the frame of a dataset column, and gives its zone. */
static void write_values(struct tide_segment_writer *writer, size_t column, const struct tide_batch *batch,
                         size_t first, size_t rows, struct tide_zonemap *ret_zone, struct tide_err *err) {
  struct column *at = &writer->columns[TIDE_SEGMENT_COLUMN_FIRST + column];
  const struct tide_vec *vec = &batch->columns[column];
  tide_zonemap_collect(ret_zone, vec, first, rows);
  tide_zonemap_widen(&writer->zones[column], &ret_zone->zone);
  tide_frame_encode(writer->encoder, &at->templates, vec, first, rows, &at->frames, err);
}

/* Appends the frame of one column to what the writer has of it. */
static void write_frame(struct tide_segment_writer *writer, size_t column, const struct tide_batch *batch, size_t first,
                        size_t rows, struct tide_err *err) {
  struct column *at = &writer->columns[column];
  const size_t start = at->frames.len;
  struct tide_zonemap map;
  const struct tide_zone *zone = NULL;
  if (column == TIDE_SEGMENT_COLUMN_SINCE) {
    tide_frame_encode_ints(writer->encoder, batch->since + first, rows, &at->frames, err);
  } else if (column == TIDE_SEGMENT_COLUMN_INGESTED) {
    tide_frame_encode_ints(writer->encoder, batch->ingested_at + first, rows, &at->frames, err);
  } else {
    write_values(writer, column - TIDE_SEGMENT_COLUMN_FIRST, batch, first, rows, &map, err);
    zone = &map.zone;
  }
  tide_format_directory_add(&at->directory, at->frames.data + start, at->frames.len - start, batch->since[first], zone,
                            err);
}

static void write_frames(struct tide_segment_writer *writer, const struct tide_batch *batch, size_t first, size_t rows,
                         struct tide_err *err) {
  for (size_t i = 0; i < columns_of(writer) && !tide_err_is_set(err); i++) {
    if (is_stored(writer, i))
      write_frame(writer, i, batch, first, rows, err);
  }
}

/* Takes rows into the frame at hand; encodes it when it is full. Gives how many it took. */
static size_t fill_pending(struct tide_segment_writer *writer, const struct tide_batch *batch, size_t first,
                           size_t rows, struct tide_err *err) {
  struct tide_batch *pending = &writer->pending;
  const size_t room = TIDE_SEGMENT_FRAME_ROWS - pending->rows;
  const size_t taken = rows < room ? rows : room;
  if (tide_batch_append_rows(pending, batch, first, taken, err) == 0 && pending->rows == TIDE_SEGMENT_FRAME_ROWS) {
    write_frames(writer, pending, 0, pending->rows, err);
    tide_batch_reset(pending);
  }
  return taken;
}

/* ---- rows ---- */

static void assert_ascending(const struct tide_segment_writer *writer, const int64_t *since, size_t rows) {
  assert(writer->rows == 0 || since[0] > writer->last_since);
  for (size_t i = 1; i < rows; i++)
    assert(since[i] > since[i - 1]);
  (void)writer;
  (void)since;
}

/* What the segment's row in the catalog has to say of them. */
static void count_rows(struct tide_segment_writer *writer, const struct tide_batch *batch, size_t first, size_t rows) {
  if (writer->rows == 0) {
    writer->first_since = batch->since[first];
    writer->newest_at = batch->ingested_at[first];
  }
  for (size_t i = first; i < first + rows; i++) {
    if (batch->ingested_at[i] > writer->newest_at)
      writer->newest_at = batch->ingested_at[i];
  }
  writer->last_since = batch->since[first + rows - 1];
  writer->rows += rows;
  writer->raw_bytes += tide_batch_raw_bytes(batch, first, rows);
}

int tide_segment_writer_add(struct tide_segment_writer *writer, const struct tide_batch *batch, size_t first,
                            size_t rows, struct tide_err *err) {
  if (rows == 0 || tide_err_is_set(err))
    return err->rc;
  assert(batch->ncolumns == writer->spec->ncolumns && rows <= TIDE_OPTIONS_SEGMENT_ROWS_MAX - writer->rows);
  assert_ascending(writer, batch->since + first, rows);
  count_rows(writer, batch, first, rows);
  for (const size_t end = first + rows; first < end && !tide_err_is_set(err);) {
    if (writer->pending.rows > 0 || end - first < TIDE_SEGMENT_FRAME_ROWS) {
      first += fill_pending(writer, batch, first, end - first, err);
    } else {
      write_frames(writer, batch, first, TIDE_SEGMENT_FRAME_ROWS, err);
      first += TIDE_SEGMENT_FRAME_ROWS;
    }
  }
  return err->rc;
}

/* ---- the segment ---- */

static void put_chunk(const struct tide_segment_writer *writer, size_t column, struct tide_buf *chunk,
                      struct tide_format_entry *ret_entry, struct tide_err *err) {
  const struct column *from = &writer->columns[column];
  struct tide_buf templates = {0};
  if (tide_frame_encode_templates(writer->encoder, &from->templates, &templates, err) == 0)
    tide_format_put_header(&from->directory, column == TIDE_SEGMENT_COLUMN_SINCE, &templates, chunk, ret_entry, err);
  tide_buf_put(chunk, templates.data, templates.len, err);
  tide_buf_put(chunk, from->frames.data, from->frames.len, err);
  tide_buf_clear(&templates);
}

static void put_chunks(const struct tide_segment_writer *writer, struct tide_format_meta *meta,
                       struct tide_segment_out *out, struct tide_err *err) {
  out->chunks = tide_alloc_zero(columns_of(writer), sizeof *out->chunks, err);
  if (out->chunks == NULL)
    return;
  out->nchunks = columns_of(writer);
  for (size_t i = 0; i < out->nchunks && !tide_err_is_set(err); i++) {
    if (i < TIDE_SEGMENT_COLUMN_FIRST || meta->zones[i - TIDE_SEGMENT_COLUMN_FIRST].types >> TIDE_VAL_INT != 0)
      put_chunk(writer, i, &out->chunks[i], &meta->entries[i], err);
  }
}

static void put_segment(const struct tide_segment_writer *writer, struct tide_segment_out *out, struct tide_err *err) {
  struct tide_format_meta meta;
  if (tide_format_meta_init(&meta, writer->spec->ncolumns, err) != 0)
    return;
  meta.rows = writer->rows;
  meta.first_since = writer->first_since;
  meta.last_since = writer->last_since;
  for (size_t i = 0; i < meta.ncolumns; i++)
    meta.zones[i] = writer->zones[i].zone;
  put_chunks(writer, &meta, out, err);
  tide_format_put_meta(&meta, &out->meta, err);
  tide_format_meta_clear(&meta);
}

static uint64_t stored_bytes(const struct tide_segment_out *out) {
  uint64_t bytes = out->meta.len;
  for (size_t i = 0; i < out->nchunks; i++)
    bytes += out->chunks[i].len;
  return bytes;
}

int tide_segment_writer_finish(struct tide_segment_writer *writer, struct tide_segment_out *ret_out,
                               struct tide_err *err) {
  assert(writer->rows > 0);
  *ret_out = (struct tide_segment_out){.rows = writer->rows,
                                       .first_since = writer->first_since,
                                       .last_since = writer->last_since,
                                       .newest_at = writer->newest_at,
                                       .raw_bytes = writer->raw_bytes};
  if (writer->pending.rows > 0)
    write_frames(writer, &writer->pending, 0, writer->pending.rows, err);
  if (!tide_err_is_set(err))
    put_segment(writer, ret_out, err);
  tide_segment_writer_reset(writer);
  if (tide_err_is_set(err))
    tide_segment_out_clear(ret_out);
  else
    ret_out->stored_bytes = stored_bytes(ret_out);
  return err->rc;
}

int tide_segment_write(const struct tide_spec *spec, const struct tide_batch *batch, struct tide_frame_encoder *encoder,
                       struct tide_segment_out *ret_out, struct tide_err *err) {
  struct tide_segment_writer *writer = tide_segment_writer_create(spec, encoder, err);
  if (writer != NULL && tide_segment_writer_add(writer, batch, 0, batch->rows, err) == 0)
    tide_segment_writer_finish(writer, ret_out, err);
  tide_segment_writer_destroy(writer);
  return err->rc;
}

void tide_segment_out_clear(struct tide_segment_out *out) {
  for (size_t i = 0; i < out->nchunks; i++)
    tide_buf_clear(&out->chunks[i]);
  tide_free(out->chunks);
  tide_buf_clear(&out->meta);
  *out = (struct tide_segment_out){0};
}
