/* NDJSON: strict JSON (RFC 8259) in UTF-8, one object a row in column order, no white space, each line ended by one \n.
 *
 *   NULL                 null
 *   INTEGER, TIMESTAMP   the integer, exact
 *   BOOLEAN              false, true
 *   REAL                 a number with a point that reads back as the same double; "Infinity", "-Infinity": counted
 *   TEXT                 a string; each maximal subpart of ill-formed UTF-8 becomes U+FFFD: counted
 *   JSON                 nested without white space when it is strict (json.h); otherwise a string: counted
 *   BLOB                 base64, as a string
 *   ANY                  as the type of its value
 *
 * "Counted" rows are in encoder->altered. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "codec/zframe.h"
#include "sink/encoder.h"
#include "sink/hash.h"
#include "sink/json.h"
#include "sink/text.h"

_Static_assert((int)TIDE_ENCODER_HASH_SIZE == (int)TIDE_HASH_DIGITS_SIZE, "the hash as text");

enum { PIECE = 65536 }; /* encoded bytes between two calls of the hash and the compressor */

/* A value that differs from row to row, and the bytes before it. */
struct field {
  size_t literal_end; /* in literals; they start where the field before ended */
  int source;         /* index of a column of the batch, TIDE_ENCODER_SINCE or TIDE_ENCODER_INGESTED_AT */
  enum tide_type type;
};

struct ndjson {
  struct tide_encoder base;
  struct tide_hash hash;
  struct tide_buf literals; /* names, punctuation and the values that are the same in the whole object */
  struct field *fields;
  size_t nfields;
  bool constant_altered;       /* such a value was altered: every row counts */
  struct tide_zstream *stream; /* NULL: not compressed */
  struct tide_buf plain;       /* rows on their way to the compressor */
};

/* ---- values ---- */

static void put_bytes(struct tide_buf *out, const void *bytes, size_t size, struct tide_err *err) {
  if (tide_buf_reserve(out, size, err) != 0)
    return;
  memcpy(out->data + out->len, bytes, size);
  out->len += size;
}

static void put_int(struct tide_buf *out, int64_t value, struct tide_err *err) {
  if (tide_buf_reserve(out, TIDE_TEXT_INT_SIZE, err) == 0)
    out->len += tide_text_int(value, (char *)out->data + out->len);
}

static void put_value(struct tide_buf *out, enum tide_type type, const struct tide_val *val, bool *altered,
                      struct tide_err *err) {
  switch (val->type) {
  case TIDE_VAL_INT:
    if (type == TIDE_TYPE_BOOLEAN && (val->i == 0 || val->i == 1))
      put_bytes(out, val->i == 1 ? "true" : "false", val->i == 1 ? 4 : 5, err);
    else
      put_int(out, val->i, err);
    break;
  case TIDE_VAL_REAL:
    tide_json_put_real(out, val->r, altered, err);
    break;
  case TIDE_VAL_TEXT:
    if (type == TIDE_TYPE_JSON) {
      if (tide_json_put_strict(out, val->p, val->n, err))
        break;
      *altered = true;
    }
    tide_json_put_string(out, val->p, val->n, altered, err);
    break;
  case TIDE_VAL_BLOB:
    put_bytes(out, "\"", 1, err);
    tide_text_put_base64(out, val->p, val->n, err);
    put_bytes(out, "\"", 1, err);
    break;
  default:
    put_bytes(out, "null", 4, err);
  }
}

/* ---- rows ---- */

static void put_field(const struct field *field, const struct tide_batch *batch, size_t row, struct tide_buf *out,
                      bool *altered, struct tide_err *err) {
  if (field->source == TIDE_ENCODER_SINCE) {
    put_int(out, batch->since[row], err);
  } else if (field->source == TIDE_ENCODER_INGESTED_AT) {
    put_int(out, batch->ingested_at[row], err);
  } else {
    struct tide_val val = tide_vec_get(&batch->columns[field->source], row);
    put_value(out, field->type, &val, altered, err);
  }
}

static void put_row(struct ndjson *ndjson, const struct tide_batch *batch, size_t row, struct tide_buf *out,
                    struct tide_err *err) {
  bool altered = ndjson->constant_altered;
  size_t literal = 0;
  for (size_t i = 0; i < ndjson->nfields; i++) {
    const struct field *field = &ndjson->fields[i];
    put_bytes(out, ndjson->literals.data + literal, field->literal_end - literal, err);
    literal = field->literal_end;
    put_field(field, batch, row, out, &altered, err);
  }
  put_bytes(out, ndjson->literals.data + literal, ndjson->literals.len - literal, err);
  if (altered)
    ndjson->base.altered++;
}

/* Counts, hashes and compresses the encoded bytes from `from` on. Gives the place in the buffer of encoded bytes where
 * the next ones start. */
static size_t drain(struct ndjson *ndjson, struct tide_buf *encoded, size_t from, struct tide_buf *out,
                    struct tide_err *err) {
  size_t size = encoded->len - from;
  if (size == 0 || tide_err_is_set(err))
    return from;
  tide_hash_update(&ndjson->hash, encoded->data + from, size);
  ndjson->base.encoded += size;
  if (ndjson->stream == NULL)
    return encoded->len;
  tide_zstream_write(ndjson->stream, encoded->data + from, size, out, err);
  tide_buf_reset(encoded);
  return 0;
}

static int ndjson_rows(struct tide_encoder *encoder, const struct tide_batch *batch, size_t first, size_t count,
                       const uint8_t *keep, struct tide_buf *out, struct tide_err *err) {
  struct ndjson *ndjson = (struct ndjson *)encoder;
  struct tide_buf *encoded = ndjson->stream != NULL ? &ndjson->plain : out;
  size_t from = encoded->len;
  assert(first <= batch->rows && count <= batch->rows - first);
  for (size_t row = first; row < first + count && !tide_err_is_set(err); row++) {
    if (keep != NULL && keep[row] == 0)
      continue;
    put_row(ndjson, batch, row, encoded, err);
    if (encoded->len - from >= PIECE)
      from = drain(ndjson, encoded, from, out, err);
  }
  drain(ndjson, encoded, from, out, err);
  return err->rc;
}

static int ndjson_finish(struct tide_encoder *encoder, struct tide_buf *out, char ret_hash[TIDE_ENCODER_HASH_SIZE],
                         struct tide_err *err) {
  struct ndjson *ndjson = (struct ndjson *)encoder;
  if (ndjson->stream != NULL && tide_zstream_finish(ndjson->stream, out, err) != 0)
    return err->rc;
  tide_hash_digits(&ndjson->hash, ret_hash);
  return 0;
}

static void ndjson_destroy(struct tide_encoder *encoder) {
  struct ndjson *ndjson = (struct ndjson *)encoder;
  tide_zstream_destroy(ndjson->stream);
  tide_buf_clear(&ndjson->plain);
  tide_buf_clear(&ndjson->literals);
  tide_free(ndjson->fields);
  tide_free(ndjson);
}

/* ---- create ---- */

/* A column becomes bytes of literals when its value is the object's own, and a field otherwise. */
static void add_column(struct ndjson *ndjson, const struct tide_encoder_config *config, int source,
                       struct tide_err *err) {
  const char *name = tide_encoder_column_name(config->spec, source);
  bool *altered = &ndjson->constant_altered;
  tide_json_put_string(&ndjson->literals, name, strlen(name), altered, err);
  tide_buf_put_u8(&ndjson->literals, ':', err);
  if (source == TIDE_ENCODER_PARTITION) {
    tide_json_put_string(&ndjson->literals, config->partition, strlen(config->partition), altered, err);
    return;
  }
  const struct tide_column *column = source >= 0 ? &config->spec->columns[source] : NULL;
  enum tide_type type = column != NULL ? column->type : TIDE_TYPE_INTEGER;
  if (column != NULL && column->partition_at >= 0)
    put_value(&ndjson->literals, type, &config->partition_values[column->partition_at], altered, err);
  else
    ndjson->fields[ndjson->nfields++] = (struct field){ndjson->literals.len, source, type};
}

static struct tide_encoder *create(const struct tide_encoder_config *config, bool compressed, struct tide_err *err) {
  static const struct tide_encoder_methods methods = {
      .rows = ndjson_rows, .finish = ndjson_finish, .destroy = ndjson_destroy};
  struct ndjson *ndjson = tide_alloc_zero(1, sizeof *ndjson, err);
  if (ndjson == NULL)
    return NULL;
  ndjson->base.methods = &methods;
  tide_hash_init(&ndjson->hash);
  ndjson->fields = tide_alloc_zero(config->ncolumns, sizeof *ndjson->fields, err);
  for (size_t i = 0; i < config->ncolumns && !tide_err_is_set(err); i++) {
    tide_buf_put_u8(&ndjson->literals, i == 0 ? '{' : ',', err);
    add_column(ndjson, config, config->columns[i], err);
  }
  tide_buf_put_string(&ndjson->literals, "}\n", err);
  if (compressed && !tide_err_is_set(err))
    ndjson->stream = tide_zstream_create(config->zstd_level, err);
  if (tide_err_is_set(err)) {
    ndjson_destroy(&ndjson->base);
    return NULL;
  }
  return &ndjson->base;
}

static struct tide_encoder *create_plain(const struct tide_encoder_config *config, struct tide_err *err) {
  return create(config, false, err);
}

static struct tide_encoder *create_compressed(const struct tide_encoder_config *config, struct tide_err *err) {
  return create(config, true, err);
}

/* ---- the hash of an object that is there already ---- */

typedef long (*read_function)(void *context, void *into, size_t size, struct tide_err *err);

static int hash_plain(read_function read, void *context, char ret_hash[TIDE_ENCODER_HASH_SIZE], struct tide_err *err) {
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

static int hash_compressed(read_function read, void *context, char ret_hash[TIDE_ENCODER_HASH_SIZE],
                           struct tide_err *err) {
  struct tide_zreader *reader = tide_zreader_create(read, context, err);
  if (reader == NULL)
    return err->rc;
  int rc = hash_plain(read_decompressed, reader, ret_hash, err);
  tide_zreader_destroy(reader);
  return rc;
}

const struct tide_format tide_format_ndjson = {
    .name = "ndjson",
    .extension = "ndjson",
    .media_type = "application/x-ndjson",
    .create = create_plain,
    .hash_object = hash_plain,
};
const struct tide_format tide_format_ndjson_zst = {
    .name = "ndjson.zst",
    .extension = "ndjson.zst",
    .media_type = "application/x-ndjson",
    .content_encoding = "zstd",
    .compressed = true,
    .create = create_compressed,
    .hash_object = hash_compressed,
};
