/* NDJSON: strict JSON (RFC 8259) in UTF-8, one object a row in column order, no white space, each line ended by one \n.
 *
 *   NULL                 null
 *   INTEGER, TIMESTAMP   the integer, exact
 *   TIMESTAMP, iso       a string (iso_time.h); the integer when its year is not 0000 to 9999: counted
 *   BOOLEAN              false, true
 *   REAL                 a number with a point that reads back as the same double; "Infinity", "-Infinity": counted
 *   TEXT                 a string; each maximal subpart of ill-formed UTF-8 becomes U+FFFD: counted
 *   JSON                 nested without white space when it is strict (json.h); otherwise a string: counted
 *   BLOB                 base64, as a string
 *   ANY                  as the type of its value
 *
 * "Counted" rows are in encoder->altered. ingested_at is a TIMESTAMP. */
#include <string.h>

#include "sink/json.h"
#include "sink/lines.h"
#include "sink/text.h"

static void put_quoted_time(struct tide_buf *out, enum tide_type type, int64_t value, bool *altered,
                            struct tide_err *err) {
  const size_t before = out->len;
  tide_buf_put_u8(out, '"', err);
  if (tide_lines_put_time(out, type, value, altered, err)) {
    tide_buf_put_u8(out, '"', err);
    return;
  }
  out->len = before;
  tide_text_put_int(out, value, err);
}

static void put_int(struct tide_buf *out, enum tide_type type, bool iso, int64_t value, bool *altered,
                    struct tide_err *err) {
  if (type == TIDE_TYPE_BOOLEAN && (value == 0 || value == 1))
    tide_buf_put_string(out, value == 1 ? "true" : "false", err);
  else if (iso && tide_spec_is_timestamp(type))
    put_quoted_time(out, type, value, altered, err);
  else
    tide_text_put_int(out, value, err);
}

static void put_value(struct tide_buf *out, enum tide_type type, bool iso, const struct tide_val *val, bool *altered,
                      struct tide_err *err) {
  switch (val->type) {
  case TIDE_VAL_INT:
    put_int(out, type, iso, val->i, altered, err);
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
    tide_buf_put_u8(out, '"', err);
    tide_text_put_base64(out, val->p, val->n, err);
    tide_buf_put_u8(out, '"', err);
    break;
  default:
    tide_buf_put(out, "null", 4, err);
  }
}

static void put_before(struct tide_buf *out, const char *name, bool first, bool *altered, struct tide_err *err) {
  tide_buf_put_u8(out, first ? '{' : ',', err);
  tide_json_put_string(out, name, strlen(name), altered, err);
  tide_buf_put_u8(out, ':', err);
}

static const struct tide_line_style style = {.put_before = put_before, .put_value = put_value, .end = "}\n"};

static struct tide_encoder *create_plain(const struct tide_encoder_config *config, struct tide_err *err) {
  return tide_lines_create(&style, config, false, err);
}

static struct tide_encoder *create_compressed(const struct tide_encoder_config *config, struct tide_err *err) {
  return tide_lines_create(&style, config, true, err);
}

const struct tide_format tide_format_ndjson = {
    .name = "ndjson",
    .extension = "ndjson",
    .media_type = "application/x-ndjson",
    .takes_iso = true,
    .create = create_plain,
    .hash_object = tide_lines_hash_plain,
};
const struct tide_format tide_format_ndjson_zst = {
    .name = "ndjson.zst",
    .extension = "ndjson.zst",
    .media_type = "application/x-ndjson",
    .content_encoding = "zstd",
    .compressed = true,
    .takes_iso = true,
    .create = create_compressed,
    .hash_object = tide_lines_hash_compressed,
};
