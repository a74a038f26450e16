#include "sink/lines.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "codec/zframe.h"
#include "sink/hash.h"
#include "sink/iso_time.h"

_Static_assert((int)TIDE_ENCODER_HASH_SIZE == (int)TIDE_HASH_DIGITS_SIZE, "the hash as text");

enum { PIECE = 65536 }; /* encoded bytes between two calls of the hash and the compressor */

/* A value that differs from row to row, and the bytes before it. */
struct field {
  size_t literal_end; /* in literals; they start where the field before ended */
  int source;         /* index of a column of the batch, TIDE_ENCODER_SINCE or TIDE_ENCODER_INGESTED_AT */
  enum tide_type type;
};

struct lines {
  struct tide_encoder base;
  const struct tide_line_style *style;
  bool iso;
  struct tide_hash hash;
  struct tide_buf title;    /* empty once it is written, or when the style has none */
  struct tide_buf literals; /* names, punctuation and the values that are the same in the whole object */
  struct field *fields;
  size_t nfields;
  bool constant_altered;       /* such a value was altered: every row counts */
  struct tide_zstream *stream; /* NULL: not compressed */
  struct tide_buf plain;       /* rows on their way to the compressor */
};

/* ---- values ---- */

bool tide_lines_put_time(struct tide_buf *out, enum tide_type type, int64_t value, bool *altered,
                         struct tide_err *err) {
  char text[TIDE_ISO_TIME_SIZE];
  const size_t size = tide_iso_time(value, type, text);
  if (size == 0)
    *altered = true;
  tide_buf_put(out, text, size, err);
  return size > 0;
}

static struct tide_val value_of(const struct field *field, const struct tide_batch *batch, size_t row) {
  return field->source == TIDE_ENCODER_SINCE         ? tide_val_int(batch->since[row])
         : field->source == TIDE_ENCODER_INGESTED_AT ? tide_val_int(batch->ingested_at[row])
                                                     : tide_vec_get(&batch->columns[field->source], row);
}

/* ---- rows ---- */

static void put_row(struct lines *lines, const struct tide_batch *batch, size_t row, struct tide_buf *out,
                    struct tide_err *err) {
  bool altered = lines->constant_altered;
  size_t literal = 0;
  const size_t from = out->len;
  for (size_t i = 0; i < lines->nfields; i++) {
    const struct field *field = &lines->fields[i];
    const struct tide_val val = value_of(field, batch, row);
    tide_buf_put(out, lines->literals.data + literal, field->literal_end - literal, err);
    literal = field->literal_end;
    lines->style->put_value(out, field->type, lines->iso, &val, &altered, err);
  }
  tide_buf_put(out, lines->literals.data + literal, lines->literals.len - literal, err);
  if (altered || out->len - from == strlen(lines->style->end)) /* readers pass over a line of nothing */
    lines->base.altered++;
}

/* Counts, hashes and compresses the encoded bytes from `from` on. Gives the place in the buffer of encoded bytes where
 * the next ones start. */
static size_t drain(struct lines *lines, struct tide_buf *encoded, size_t from, struct tide_buf *out,
                    struct tide_err *err) {
  size_t size = encoded->len - from;
  if (size == 0 || tide_err_is_set(err))
    return from;
  tide_hash_update(&lines->hash, encoded->data + from, size);
  lines->base.encoded += size;
  if (lines->stream == NULL)
    return encoded->len;
  tide_zstream_write(lines->stream, encoded->data + from, size, out, err);
  tide_buf_reset(encoded);
  return 0;
}

static int lines_rows(struct tide_encoder *encoder, const struct tide_batch *batch, size_t first, size_t count,
                      const uint8_t *keep, struct tide_buf *out, struct tide_err *err) {
  struct lines *lines = (struct lines *)encoder;
  struct tide_buf *encoded = lines->stream != NULL ? &lines->plain : out;
  size_t from = encoded->len;
  assert(first <= batch->rows && count <= batch->rows - first);
  for (size_t row = first; row < first + count && !tide_err_is_set(err); row++) {
    if (keep != NULL && keep[row] == 0)
      continue;
    tide_buf_put(encoded, lines->title.data, lines->title.len, err);
    tide_buf_reset(&lines->title);
    put_row(lines, batch, row, encoded, err);
    if (encoded->len - from >= PIECE)
      from = drain(lines, encoded, from, out, err);
  }
  drain(lines, encoded, from, out, err);
  return err->rc;
}

/* Only what a value becomes says how long it is; it is neither hashed nor compressed. */
static size_t lines_measure(struct tide_encoder *encoder, const struct tide_batch *batch, size_t first, size_t count,
                            const uint8_t *keep, uint64_t most, struct tide_err *err) {
  struct lines *lines = (struct lines *)encoder;
  const size_t end = first + count;
  for (size_t row = first; row < end && !tide_err_is_set(err); row++) {
    if (keep != NULL && keep[row] == 0)
      continue;
    put_row(lines, batch, row, &lines->plain, err);
    encoder->encoded += lines->title.len + lines->plain.len;
    tide_buf_reset(&lines->title);
    tide_buf_reset(&lines->plain);
    if (encoder->encoded > most)
      return row;
  }
  return end;
}

static int lines_finish(struct tide_encoder *encoder, struct tide_buf *out, char ret_hash[TIDE_ENCODER_HASH_SIZE],
                        struct tide_err *err) {
  struct lines *lines = (struct lines *)encoder;
  if (lines->stream != NULL && tide_zstream_finish(lines->stream, out, err) != 0)
    return err->rc;
  tide_hash_digits(&lines->hash, ret_hash);
  return 0;
}

static void lines_destroy(struct tide_encoder *encoder) {
  struct lines *lines = (struct lines *)encoder;
  tide_zstream_destroy(lines->stream);
  tide_buf_clear(&lines->plain);
  tide_buf_clear(&lines->literals);
  tide_buf_clear(&lines->title);
  tide_free(lines->fields);
  tide_free(lines);
}

/* ---- create ---- */

static void put_constant(struct lines *lines, enum tide_type type, const struct tide_val *val, struct tide_err *err) {
  lines->style->put_value(&lines->literals, type, lines->iso, val, &lines->constant_altered, err);
}

/* A column becomes bytes of literals when its value is the object's own, and a field otherwise. */
static void add_column(struct lines *lines, const struct tide_encoder_config *config, size_t i, struct tide_err *err) {
  const int source = config->columns[i];
  const char *name = tide_encoder_column_name(config->spec, source);
  const struct tide_column *column = source >= 0 ? &config->spec->columns[source] : NULL;
  if (lines->style->put_title != NULL)
    lines->style->put_title(&lines->title, name, i == 0, &lines->constant_altered, err);
  lines->style->put_before(&lines->literals, name, i == 0, &lines->constant_altered, err);
  const enum tide_type type = column != NULL                       ? column->type
                              : source == TIDE_ENCODER_INGESTED_AT ? TIDE_TYPE_TIMESTAMP_MS
                              : source == TIDE_ENCODER_PARTITION   ? TIDE_TYPE_TEXT
                                                                   : TIDE_TYPE_INTEGER;
  const struct tide_val partition = tide_val_text(config->partition, strlen(config->partition));
  if (source == TIDE_ENCODER_PARTITION)
    put_constant(lines, type, &partition, err);
  else if (column != NULL && column->partition_at >= 0)
    put_constant(lines, type, &config->partition_values[column->partition_at], err);
  else
    lines->fields[lines->nfields++] = (struct field){lines->literals.len, source, type};
}

struct tide_encoder *tide_lines_create(const struct tide_line_style *style, const struct tide_encoder_config *config,
                                       bool compressed, struct tide_err *err) {
  static const struct tide_encoder_methods methods = {
      .rows = lines_rows, .measure = lines_measure, .finish = lines_finish, .destroy = lines_destroy};
  struct lines *lines = tide_alloc_zero(1, sizeof *lines, err);
  if (lines == NULL)
    return NULL;
  lines->base.methods = &methods;
  lines->style = style;
  lines->iso = config->iso;
  tide_hash_init(&lines->hash);
  lines->fields = tide_alloc_zero(config->ncolumns, sizeof *lines->fields, err);
  for (size_t i = 0; i < config->ncolumns && !tide_err_is_set(err); i++)
    add_column(lines, config, i, err);
  if (style->put_title != NULL)
    tide_buf_put_string(&lines->title, style->end, err);
  tide_buf_put_string(&lines->literals, style->end, err);
  if (compressed && !tide_err_is_set(err))
    lines->stream = tide_zstream_create(config->zstd_level, err);
  if (tide_err_is_set(err)) {
    lines_destroy(&lines->base);
    return NULL;
  }
  return &lines->base;
}

/* ---- the hash of an object that is there already ---- */

int tide_lines_hash_plain(long (*read)(void *context, void *into, size_t size, struct tide_err *err), void *context,
                          char ret_hash[TIDE_ENCODER_HASH_SIZE], struct tide_err *err) {
  struct tide_hash hash;
  unsigned char *piece = tide_alloc(PIECE, err);
  if (piece == NULL)
    return err->rc;
  tide_hash_init(&hash);
  long size;
  while ((size = read(context, piece, PIECE, err)) > 0)
    tide_hash_update(&hash, piece, (size_t)size);
  tide_free(piece);
  if (tide_err_is_set(err))
    return err->rc;
  tide_hash_digits(&hash, ret_hash);
  return 0;
}

static long read_decompressed(void *context, void *into, size_t size, struct tide_err *err) {
  return tide_zreader_read(context, into, size, err);
}

int tide_lines_hash_compressed(long (*read)(void *context, void *into, size_t size, struct tide_err *err),
                               void *context, char ret_hash[TIDE_ENCODER_HASH_SIZE], struct tide_err *err) {
  struct tide_zreader *reader = tide_zreader_create(read, context, err);
  if (reader == NULL)
    return err->rc;
  int rc = tide_lines_hash_plain(read_decompressed, reader, ret_hash, err);
  tide_zreader_destroy(reader);
  return rc;
}
