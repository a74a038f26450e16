/* CSV: RFC 4180 in UTF-8, without a byte order mark: a line of the columns' names, then a line a row, each ended by
 * \r\n. A field is quoted only when it holds a comma, a quote, \r or \n, or is the empty text.
 *
 *   NULL                 nothing between two commas; the empty text is ""
 *   INTEGER, TIMESTAMP   the integer, exact
 *   TIMESTAMP, iso       as text (iso_time.h); the integer when its year is not 0000 to 9999: counted
 *   BOOLEAN              false, true
 *   REAL                 with a point, and reads back as the same double; Infinity, -Infinity: counted
 *   TEXT, JSON           as it is; each maximal subpart of ill-formed UTF-8 becomes U+FFFD: counted
 *   BLOB                 base64; the empty one is ""
 *   ANY                  as the type of its value, which a reader does not see: the text '5' and the integer are alike
 *
 * RFC 4180 says nothing of control characters other than \r and \n, NUL among them: they stay as they are. A row of
 * one column that is NULL is an empty line, which many readers pass over: counted. "Counted" rows are in encoder->altered. ingested_at is a TIMESTAMP. */
#include <math.h>
#include <string.h>

#include "sink/lines.h"
#include "sink/text.h"

/* ---- texts ---- */

/* Whether one of eight bytes is that one. */
static bool has_byte(uint64_t word, unsigned char byte) {
  const uint64_t ones = UINT64_C(0x0101010101010101);
  const uint64_t differing = word ^ ones * byte;
  return ((differing - ones) & ~differing & ones * 0x80) != 0;
}

static bool needs_quotes(const unsigned char *text, size_t size) {
  size_t i = 0;
  for (; size - i >= 8; i += 8) {
    uint64_t word;
    memcpy(&word, text + i, sizeof word);
    if (has_byte(word, ',') || has_byte(word, '"') || has_byte(word, '\r') || has_byte(word, '\n'))
      return true;
  }
  for (; i < size; i++) {
    if (text[i] == ',' || text[i] == '"' || text[i] == '\r' || text[i] == '\n')
      return true;
  }
  return size == 0;
}

static void put_text(struct tide_buf *out, const void *text, size_t size, bool *altered, struct tide_err *err) {
  const unsigned char *at = text;
  const unsigned char *end = at + size;
  if (!needs_quotes(text, size)) {
    tide_text_put_utf8(out, text, size, altered, err);
    return;
  }
  tide_buf_put_u8(out, '"', err);
  while (at < end) {
    const unsigned char *quote = memchr(at, '"', (size_t)(end - at));
    const unsigned char *stop = quote != NULL ? quote + 1 : end;
    tide_text_put_utf8(out, at, (size_t)(stop - at), altered, err);
    if (quote != NULL)
      tide_buf_put_u8(out, '"', err);
    at = stop;
  }
  tide_buf_put_u8(out, '"', err);
}

/* ---- values ---- */

static void put_int(struct tide_buf *out, enum tide_type type, bool iso, int64_t value, bool *altered,
                    struct tide_err *err) {
  if (type == TIDE_TYPE_BOOLEAN && (value == 0 || value == 1))
    tide_buf_put_string(out, value == 1 ? "true" : "false", err);
  else if (!iso || !tide_spec_is_timestamp(type) || !tide_lines_put_time(out, type, value, altered, err))
    tide_text_put_int(out, value, err);
}

static void put_real(struct tide_buf *out, double value, bool *altered, struct tide_err *err) {
  if (isnan(value)) /* only damage can give one; SQLite itself reads NaN as NULL */
    return;
  if (isinf(value))
    *altered = true;
  tide_text_put_real(out, value, err);
}

static void put_value(struct tide_buf *out, enum tide_type type, bool iso, const struct tide_val *val, bool *altered,
                      struct tide_err *err) {
  switch (val->type) {
  case TIDE_VAL_INT:
    put_int(out, type, iso, val->i, altered, err);
    break;
  case TIDE_VAL_REAL:
    put_real(out, val->r, altered, err);
    break;
  case TIDE_VAL_TEXT:
    put_text(out, val->p, val->n, altered, err);
    break;
  case TIDE_VAL_BLOB:
    if (val->n == 0)
      tide_buf_put_string(out, "\"\"", err);
    tide_text_put_base64(out, val->p, val->n, err);
    break;
  default: /* NULL is nothing */
    break;
  }
}

/* ---- lines ---- */

static void put_before(struct tide_buf *out, const char *name, bool first, bool *altered, struct tide_err *err) {
  (void)name, (void)altered; /* names stand in the first line alone */
  if (!first)
    tide_buf_put_u8(out, ',', err);
}

static void put_title(struct tide_buf *out, const char *name, bool first, bool *altered, struct tide_err *err) {
  if (!first)
    tide_buf_put_u8(out, ',', err);
  put_text(out, name, strlen(name), altered, err);
}

static const struct tide_line_style style = {
    .put_before = put_before, .put_value = put_value, .end = "\r\n", .put_title = put_title};

static struct tide_encoder *create_plain(const struct tide_encoder_config *config, struct tide_err *err) {
  return tide_lines_create(&style, config, false, err);
}

static struct tide_encoder *create_compressed(const struct tide_encoder_config *config, struct tide_err *err) {
  return tide_lines_create(&style, config, true, err);
}

const struct tide_format tide_format_csv = {
    .name = "csv",
    .extension = "csv",
    .media_type = "text/csv",
    .takes_iso = true,
    .create = create_plain,
    .hash_object = tide_lines_hash_plain,
};
const struct tide_format tide_format_csv_zst = {
    .name = "csv.zst",
    .extension = "csv.zst",
    .media_type = "text/csv",
    .content_encoding = "zstd",
    .compressed = true,
    .takes_iso = true,
    .create = create_compressed,
    .hash_object = tide_lines_hash_compressed,
};
