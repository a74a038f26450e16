#include "segment/segment.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "codec/chunk.h"
#include "codec/wanted.h"
#include "segment/format.h"

/* Above so many bytes the end of a frame is asked for first, so that memory is not taken for what a damaged meta only
 * claims. */
enum { PROBE_SIZE = 1 << 20 };

struct tide_segment {
  const struct tide_spec *spec;
  struct tide_chunk_source source;
  unsigned char *bytes; /* meta; the zones' texts are views into it */
  struct tide_format_meta meta;
  struct tide_format_directory *directories; /* by segment column; nframes 0: not read yet */
  struct tide_template_book *books;          /* by dataset column; count 0: not read yet, or none */
  struct tide_frame_decoder *decoder;
  struct tide_frame_decoder *own_decoder; /* NULL: it is somebody else's */
  struct tide_buf stored;                 /* a header or frame as it was read */
};

struct tide_segment *tide_segment_open(const struct tide_spec *spec, const void *meta, size_t size,
                                       struct tide_chunk_source source, struct tide_frame_decoder *decoder,
                                       struct tide_err *err) {
  struct tide_segment *segment = tide_err_is_set(err) ? NULL : tide_alloc_zero(1, sizeof *segment, err);
  if (segment == NULL)
    return NULL;
  segment->spec = spec;
  segment->source = source;
  segment->bytes = tide_alloc(size, err);
  if (segment->bytes == NULL)
    goto done;
  if (size > 0)
    memcpy(segment->bytes, meta, size);
  if (tide_format_read_meta(segment->bytes, size, spec->ncolumns, &segment->meta, err) != 0)
    goto done;
  segment->directories =
      tide_alloc_zero(TIDE_SEGMENT_COLUMN_FIRST + segment->meta.ncolumns, sizeof *segment->directories, err);
  segment->books = tide_alloc_zero(segment->meta.ncolumns, sizeof *segment->books, err);
  segment->own_decoder = decoder == NULL ? tide_frame_decoder_create(err) : NULL;
  segment->decoder = decoder != NULL ? decoder : segment->own_decoder;
done:
  if (tide_err_is_set(err)) {
    tide_segment_close(segment);
    return NULL;
  }
  return segment;
}

void tide_segment_close(struct tide_segment *segment) {
  if (segment == NULL)
    return;
  for (size_t i = 0; segment->directories != NULL && i < TIDE_SEGMENT_COLUMN_FIRST + segment->meta.ncolumns; i++)
    tide_format_directory_clear(&segment->directories[i]);
  tide_free(segment->directories);
  for (size_t i = 0; segment->books != NULL && i < segment->meta.ncolumns; i++)
    tide_template_book_clear(&segment->books[i]);
  tide_free(segment->books);
  tide_frame_decoder_destroy(segment->own_decoder);
  tide_buf_clear(&segment->stored);
  tide_format_meta_clear(&segment->meta);
  tide_free(segment->bytes);
  tide_free(segment);
}

size_t tide_segment_rows(const struct tide_segment *segment) {
  return segment->meta.rows;
}

size_t tide_segment_frames(const struct tide_segment *segment) {
  return tide_format_frames(segment->meta.rows);
}

int64_t tide_segment_first_since(const struct tide_segment *segment) {
  return segment->meta.first_since;
}

int64_t tide_segment_last_since(const struct tide_segment *segment) {
  return segment->meta.last_since;
}

size_t tide_segment_columns(const struct tide_segment *segment) {
  return TIDE_SEGMENT_COLUMN_FIRST + segment->meta.ncolumns;
}

uint64_t tide_segment_chunk_size(const struct tide_segment *segment, size_t column) {
  return column < tide_segment_columns(segment) ? segment->meta.entries[column].chunk_size : 0;
}

size_t tide_segment_frame_rows(const struct tide_segment *segment, size_t frame) {
  return tide_format_frame_rows(segment->meta.rows, frame);
}

void tide_segment_zone(const struct tide_segment *segment, size_t column, struct tide_zone *ret_zone) {
  *ret_zone = (struct tide_zone){.types = 0xff};
  if (column >= segment->meta.ncolumns) {
    const struct tide_val *value = &segment->spec->columns[column].dflt_value;
    *ret_zone = (struct tide_zone){
        .types = (uint8_t)(1u << value->type), .bounded = value->type != TIDE_VAL_NULL, .min = *value, .max = *value};
  } else if (segment->meta.zones[column].types != 0) {
    *ret_zone = segment->meta.zones[column];
  }
}

/* ---- bytes of chunks ---- */

static int read_stored(struct tide_segment *segment, size_t column, uint64_t offset, uint64_t size,
                       struct tide_err *err) {
  const struct tide_chunk_source *source = &segment->source;
  unsigned char last;
  tide_buf_reset(&segment->stored);
  if (size > PROBE_SIZE && source->read(source->context, column, offset + size - 1, 1, &last, err) != 0)
    return err->rc;
  if (tide_buf_reserve(&segment->stored, (size_t)size, err) != 0 ||
      source->read(source->context, column, offset, (size_t)size, segment->stored.data, err) != 0)
    return err->rc;
  segment->stored.len = (size_t)size;
  return 0;
}

static int need_directory(struct tide_segment *segment, size_t column, struct tide_err *err) {
  struct tide_format_directory *directory = &segment->directories[column];
  const struct tide_format_entry *entry = &segment->meta.entries[column];
  if (directory->nframes > 0 || read_stored(segment, column, 0, entry->header_size, err) != 0)
    return err->rc;
  return tide_format_read_header(segment->stored.data, &segment->meta, column, directory, err);
}

/* The templates of a dataset column, whose directory is there; NULL when it has none or err is set. */
static const struct tide_template_book *need_book(struct tide_segment *segment, size_t column, struct tide_err *err) {
  struct tide_template_book *book = &segment->books[column];
  const struct tide_format_directory *directory = &segment->directories[TIDE_SEGMENT_COLUMN_FIRST + column];
  if (book->count > 0 || directory->templates_size == 0 ||
      read_stored(segment, TIDE_SEGMENT_COLUMN_FIRST + column, directory->templates_at, directory->templates_size,
                  err) != 0)
    return book->count > 0 ? book : NULL;
  if (tide_format_hash(segment->stored.data, segment->stored.len) != directory->templates_hash)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "the templates fail their checksum");
  else
    tide_frame_decode_templates(segment->decoder, segment->stored.data, segment->stored.len, book, err);
  if (!tide_err_is_set(err))
    return book;
  tide_template_book_clear(book);
  return NULL;
}

/* Puts the stored bytes of a frame into segment->stored. */
static int read_frame(struct tide_segment *segment, size_t column, size_t frame, struct tide_err *err) {
  if (need_directory(segment, column, err) != 0)
    return err->rc;
  const struct tide_format_directory *directory = &segment->directories[column];
  uint64_t offset = directory->offsets[frame];
  if (read_stored(segment, column, offset, directory->offsets[frame + 1] - offset, err) != 0)
    return err->rc;
  if (tide_format_hash(segment->stored.data, segment->stored.len) != directory->hashes[frame])
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "the frame fails its checksum");
  return err->rc;
}

static int name_place(const struct tide_segment *segment, size_t column, size_t frame, struct tide_err *err) {
  const char *name = column == TIDE_SEGMENT_COLUMN_SINCE ? tide_spec_hidden_name(TIDE_HIDDEN_SINCE)
                     : column == TIDE_SEGMENT_COLUMN_INGESTED
                         ? tide_spec_hidden_name(TIDE_HIDDEN_INGESTED_AT)
                         : segment->spec->columns[column - TIDE_SEGMENT_COLUMN_FIRST].name;
  tide_err_prefix(err, "column %s, frame %lld", name, (long long)frame);
  return err->rc;
}

/* ---- rows ---- */

static int read_ints(struct tide_segment *segment, size_t column, size_t frame, int64_t *ret_values,
                     struct tide_err *err) {
  if (read_frame(segment, column, frame, err) != 0)
    return err->rc;
  return tide_frame_decode_ints(segment->decoder, segment->stored.data, segment->stored.len,
                                tide_segment_frame_rows(segment, frame), ret_values, err);
}

/* A frame of since begins where the directory says, ascends, and ends below the next one or with the segment's last. */
static void check_since(const struct tide_segment *segment, size_t frame, const int64_t *since, struct tide_err *err) {
  const struct tide_format_directory *directory = &segment->directories[TIDE_SEGMENT_COLUMN_SINCE];
  size_t rows = tide_segment_frame_rows(segment, frame);
  bool ascending = true;
  for (size_t i = 1; i < rows; i++)
    ascending &= since[i] > since[i - 1];
  int64_t last = since[rows - 1];
  bool ends =
      frame + 1 < directory->nframes ? last < directory->first_since[frame + 1] : last == segment->meta.last_since;
  if (!ascending || !ends || since[0] != directory->first_since[frame])
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "the numbers do not ascend within the frame's bounds");
}

int tide_segment_read_since(struct tide_segment *segment, size_t frame, struct tide_batch *batch,
                            struct tide_err *err) {
  assert(frame < tide_segment_frames(segment));
  if (tide_err_is_set(err))
    return err->rc;
  size_t rows = tide_segment_frame_rows(segment, frame);
  if (tide_batch_reserve(batch, rows, err) == 0 &&
      read_ints(segment, TIDE_SEGMENT_COLUMN_SINCE, frame, batch->since, err) == 0)
    check_since(segment, frame, batch->since, err);
  if (tide_err_is_set(err))
    return name_place(segment, TIDE_SEGMENT_COLUMN_SINCE, frame, err);
  batch->rows = rows;
  return 0;
}

int tide_segment_read_ingested(struct tide_segment *segment, size_t frame, struct tide_batch *batch,
                               struct tide_err *err) {
  assert(frame < tide_segment_frames(segment));
  if (tide_err_is_set(err))
    return err->rc;
  if (tide_batch_reserve(batch, tide_segment_frame_rows(segment, frame), err) != 0 ||
      read_ints(segment, TIDE_SEGMENT_COLUMN_INGESTED, frame, batch->ingested_at, err) != 0)
    return name_place(segment, TIDE_SEGMENT_COLUMN_INGESTED, frame, err);
  return 0;
}

static int fill_null(struct tide_vec *vec, size_t rows, const uint8_t *wanted, struct tide_err *err) {
  if (tide_vec_reserve(vec, rows, err) != 0)
    return err->rc;
  const struct tide_span span = tide_wanted_span(wanted, rows);
  memset(vec->tag, TIDE_VAL_NULL, rows);
  memset(vec->num + span.first, 0, (span.end - span.first) * sizeof *vec->num);
  memset(vec->size + span.first, 0, (span.end - span.first) * sizeof *vec->size);
  return 0;
}

/* All rows of one value, whose bytes stay where they are. */
static int fill(struct tide_vec *vec, size_t rows, const struct tide_val *value, struct tide_err *err) {
  if (tide_vec_reserve(vec, rows, err) != 0)
    return err->rc;
  int64_t num = value->type == TIDE_VAL_INT ? value->i : 0;
  if (value->type == TIDE_VAL_REAL)
    memcpy(&num, &value->r, sizeof num);
  for (size_t i = 0; i < rows; i++) {
    vec->tag[i] = value->type;
    vec->num[i] = num;
    vec->size[i] = (uint32_t)value->n;
  }
  if (value->type >= TIDE_VAL_TEXT)
    vec->base = value->p;
  return 0;
}

static int read_values(struct tide_segment *segment, size_t frame, size_t column, const uint8_t *wanted,
                       struct tide_vec *vec, struct tide_err *err) {
  size_t rows = tide_segment_frame_rows(segment, frame), chunk = TIDE_SEGMENT_COLUMN_FIRST + column;
  const struct tide_format_meta *meta = &segment->meta;
  if (column >= meta->ncolumns)
    return fill(vec, rows, &segment->spec->columns[column].dflt_value, err);
  if (meta->zones[column].types == 1u << TIDE_VAL_NULL)
    return fill_null(vec, rows, wanted, err);
  if (meta->entries[chunk].chunk_size == 0) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "the segment does not store the column");
    return err->rc;
  }
  if (need_directory(segment, chunk, err) != 0)
    return err->rc;
  const struct tide_template_book *book = need_book(segment, column, err);
  if (tide_err_is_set(err) || read_frame(segment, chunk, frame, err) != 0)
    return err->rc;
  return tide_frame_decode(segment->decoder, book, segment->stored.data, segment->stored.len, rows, wanted, vec, err);
}

int tide_segment_read_column(struct tide_segment *segment, size_t frame, size_t column, const uint8_t *wanted,
                             struct tide_batch *batch, struct tide_err *err) {
  assert(frame < tide_segment_frames(segment) && column < segment->spec->ncolumns && column < batch->ncolumns);
  if (tide_err_is_set(err))
    return err->rc;
  if (read_values(segment, frame, column, wanted, &batch->columns[column], err) != 0)
    return name_place(segment, TIDE_SEGMENT_COLUMN_FIRST + column, frame, err);
  return 0;
}

int tide_segment_frame_zone(struct tide_segment *segment, size_t frame, size_t column, struct tide_zone *ret_zone,
                            struct tide_err *err) {
  assert(frame < tide_segment_frames(segment) && column < segment->spec->ncolumns);
  tide_segment_zone(segment, column, ret_zone);
  const size_t chunk = TIDE_SEGMENT_COLUMN_FIRST + column;
  if (tide_err_is_set(err) || tide_segment_chunk_size(segment, chunk) == 0)
    return err->rc;
  if (need_directory(segment, chunk, err) != 0)
    return name_place(segment, chunk, frame, err);
  if (segment->directories[chunk].zones != NULL)
    *ret_zone = segment->directories[chunk].zones[frame];
  return 0;
}

/* The last frame that begins at since + 1 or below: the rows of the ones before are all at or below since. */
static size_t frame_above(const struct tide_format_directory *directory, int64_t since) {
  size_t low = 0, high = directory->nframes;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (directory->first_since[middle] <= since + 1)
      low = middle;
    else
      high = middle;
  }
  return low;
}

int tide_segment_seek(struct tide_segment *segment, int64_t since, size_t *ret_frame, struct tide_err *err) {
  if (tide_err_is_set(err))
    return err->rc;
  size_t nframes = tide_segment_frames(segment);
  if (since >= segment->meta.last_since) {
    *ret_frame = nframes;
  } else if (since < segment->meta.first_since || nframes == 1) {
    *ret_frame = 0;
  } else {
    if (need_directory(segment, TIDE_SEGMENT_COLUMN_SINCE, err) != 0)
      return name_place(segment, TIDE_SEGMENT_COLUMN_SINCE, 0, err);
    *ret_frame = frame_above(&segment->directories[TIDE_SEGMENT_COLUMN_SINCE], since);
  }
  return 0;
}
