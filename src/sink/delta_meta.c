#include "sink/delta_meta.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/encoder.h"
#include "sink/iso_time.h"
#include "sink/json.h"
#include "sink/text.h"

enum { READER = 1, WRITER = 2, READER_FEATURES = 3, WRITER_FEATURES = 7, MICROS = 1000000, MILLIS_MICROS = 1000 };

const char tide_delta_protocol[] = "{\"minReaderVersion\":1,\"minWriterVersion\":2}";

static const char marker[] = "tidemark.table";

/* ---- protocol ---- */

/* Whether a list of features has none but those that writers of version 2 have. */
static bool features_are_known(struct tide_json_slice features) {
  struct tide_json_walk walk = tide_json_walk_into(features);
  struct tide_json_slice none, feature;
  while (tide_json_walk_next(&walk, &none, &feature)) {
    if (!tide_json_slice_is(feature, "\"appendOnly\"") && !tide_json_slice_is(feature, "\"invariants\""))
      return false;
  }
  return true;
}

void tide_delta_protocol_check(struct tide_json_slice protocol, struct tide_err *err) {
  int64_t reader = 0;
  int64_t writer = 0;
  const struct tide_json_slice features = tide_json_member(protocol, "writerFeatures");
  const bool read = tide_json_integer(tide_json_member(protocol, "minReaderVersion"), &reader);
  const bool written = tide_json_integer(tide_json_member(protocol, "minWriterVersion"), &writer);
  const bool reader_known =
      read && (reader <= READER ||
               (reader == READER_FEATURES && features_are_known(tide_json_member(protocol, "readerFeatures"))));
  const bool writer_known =
      written && (writer <= WRITER || (writer == WRITER_FEATURES && features.size > 0 && features_are_known(features)));
  if (!reader_known || !writer_known)
    tide_err_set(err, SQLITE_CONSTRAINT,
                 "the Delta table needs readers of version %lld and writers of version %lld %.*s: Tidemark writes to "
                 "tables of versions %d and %d",
                 (long long)reader, (long long)writer, (int)(features.size < 100 ? features.size : 100),
                 features.size > 0 ? features.at : "", READER, WRITER);
}

void tide_delta_meta_check(struct tide_json_slice meta, struct tide_err *err) {
  const struct tide_json_slice provider = tide_json_member(tide_json_member(meta, "format"), "provider");
  if (tide_json_member(tide_json_member(meta, "configuration"), marker).size == 0)
    tide_err_set(err, SQLITE_CONSTRAINT,
                 "there is a Delta table already that Tidemark did not make: give the sink another folder");
  else if (!tide_json_slice_is(provider, "\"parquet\""))
    tide_err_set(err, SQLITE_CONSTRAINT, "the files of the Delta table are not Parquet, but %.*s", (int)provider.size,
                 provider.at);
}

/* ---- metaData ---- */

/* A JSON text as a string in another one. */
static void put_quoted(struct tide_buf *out, const struct tide_buf *text, struct tide_err *err) {
  bool altered = false; /* it is JSON of our own making */
  if (!tide_err_is_set(err))
    tide_json_put_string(out, text->data, text->len, &altered, err);
}

static bool is_exported(const struct tide_delta_columns *columns, size_t column) {
  for (size_t i = 0; i < columns->count; i++) {
    if (columns->list[i] == (int)column)
      return true;
  }
  return false;
}

static void put_partition_columns(const struct tide_delta_columns *columns, struct tide_buf *out,
                                  struct tide_err *err) {
  const struct tide_spec *spec = columns->spec;
  size_t exported = 0;
  size_t put = 0;
  bool altered = false;
  for (size_t i = 0; i < spec->npartition; i++)
    exported += is_exported(columns, spec->partition[i]);
  tide_buf_put_u8(out, '[', err);
  for (size_t i = 0; i < spec->npartition && exported < columns->count; i++) {
    const char *name = spec->columns[spec->partition[i]].name;
    if (!is_exported(columns, spec->partition[i]))
      continue;
    if (put++ > 0)
      tide_buf_put_u8(out, ',', err);
    tide_json_put_string(out, name, strlen(name), &altered, err);
  }
  tide_buf_put_u8(out, ']', err);
}

void tide_delta_meta_put_new(const struct tide_delta_columns *columns, const char *id, int64_t now_ms,
                             struct tide_buf *out, struct tide_err *err) {
  struct tide_buf schema = {0};
  bool wider = false;
  tide_delta_schema_widen((struct tide_json_slice){0}, columns, &schema, &wider, err);
  tide_buf_printf(out, err, "{\"id\":\"%.8s-%.4s-%.4s-%.4s-%.12s\",", id, id + 8, id + 12, id + 16, id + 20);
  tide_buf_put_string(out, "\"format\":{\"provider\":\"parquet\",\"options\":{}},\"schemaString\":", err);
  put_quoted(out, &schema, err);
  tide_buf_put_string(out, ",\"partitionColumns\":", err);
  put_partition_columns(columns, out, err);
  tide_buf_printf(out, err, ",\"configuration\":{\"%s\":\"1\"},\"createdTime\":%lld}", marker, (long long)now_ms);
  tide_buf_clear(&schema);
}

/* The schema that a metaData object has as a string, compact: a view of `into`. */
static struct tide_json_slice schema_of(struct tide_json_slice meta, struct tide_buf *into, struct tide_err *err) {
  struct tide_buf text = {0};
  tide_json_put_unescaped(&text, tide_json_member(meta, "schemaString"), err);
  if (!tide_err_is_set(err) && (text.len == 0 || !tide_json_put_strict(into, text.data, text.len, err)))
    tide_err_set(err, SQLITE_CORRUPT, "the schema of the Delta table is not JSON");
  tide_buf_clear(&text);
  return (struct tide_json_slice){(const char *)into->data, into->len};
}

/* The same object with another schema. */
static void put_with_schema(struct tide_json_slice meta, const struct tide_buf *schema, struct tide_buf *out,
                            struct tide_err *err) {
  struct tide_json_walk walk = tide_json_walk_into(meta);
  struct tide_json_slice name, value;
  char before = '{';
  while (tide_json_walk_next(&walk, &name, &value)) {
    tide_buf_put_u8(out, (uint8_t)before, err);
    tide_buf_put(out, name.at - 1, name.size + 2, err);
    tide_buf_put_u8(out, ':', err);
    if (tide_json_slice_is(name, "schemaString"))
      put_quoted(out, schema, err);
    else
      tide_buf_put(out, value.at, value.size, err);
    before = ',';
  }
  tide_buf_put_u8(out, '}', err);
}

bool tide_delta_meta_put_wider(struct tide_json_slice meta, const struct tide_delta_columns *columns,
                               struct tide_buf *out, struct tide_err *err) {
  struct tide_buf have = {0};
  struct tide_buf schema = {0};
  bool wider = false;
  const struct tide_json_slice fields = schema_of(meta, &have, err);
  if (!tide_err_is_set(err))
    tide_delta_schema_widen(fields, columns, &schema, &wider, err);
  if (wider && !tide_err_is_set(err))
    put_with_schema(meta, &schema, out, err);
  tide_buf_clear(&have);
  tide_buf_clear(&schema);
  return wider && !tide_err_is_set(err);
}

/* ---- partition values ---- */

/* false: it has no text. */
static bool put_time(struct tide_buf *out, enum tide_type type, int64_t value, struct tide_err *err) {
  char text[TIDE_ISO_TIME_SIZE];
  const int scale = type == TIDE_TYPE_TIMESTAMP_S ? MICROS : type == TIDE_TYPE_TIMESTAMP_MS ? MILLIS_MICROS : 1;
  size_t size = 0;
  if (!__builtin_mul_overflow(value, scale, &value))
    size = tide_iso_time(value, TIDE_TYPE_TIMESTAMP_US, text);
  if (size == 0)
    return false;
  tide_buf_put_u8(out, '"', err);
  tide_buf_put(out, text, size, err);
  tide_buf_put_u8(out, '"', err);
  return true;
}

static void put_value(struct tide_buf *out, enum tide_type type, const struct tide_val *value, bool *altered,
                      struct tide_err *err) {
  const bool time = tide_spec_is_timestamp(type) && type != TIDE_TYPE_TIMESTAMP_NS;
  if (value->type == TIDE_VAL_TEXT && value->n > 0) {
    tide_json_put_string(out, value->p, value->n, altered, err);
  } else if (value->type == TIDE_VAL_INT && type == TIDE_TYPE_BOOLEAN) {
    tide_buf_put_string(out, value->i != 0 ? "\"true\"" : "\"false\"", err);
  } else if (value->type == TIDE_VAL_INT && !time) {
    tide_buf_put_u8(out, '"', err);
    tide_text_put_int(out, value->i, err);
    tide_buf_put_u8(out, '"', err);
  } else if (value->type != TIDE_VAL_INT || !put_time(out, type, value->i, err)) {
    *altered = *altered || value->type != TIDE_VAL_NULL;
    tide_buf_put_string(out, "null", err);
  }
}

void tide_delta_meta_put_values(struct tide_json_slice meta, const struct tide_spec *spec,
                                const struct tide_val *values, struct tide_buf *out, bool *ret_altered,
                                struct tide_err *err) {
  struct tide_buf name = {0};
  struct tide_json_walk walk = tide_json_walk_into(tide_json_member(meta, "partitionColumns"));
  struct tide_json_slice none, element;
  char before = '{';
  *ret_altered = false;
  for (; tide_json_walk_next(&walk, &none, &element) && !tide_err_is_set(err); before = ',') {
    tide_buf_reset(&name);
    tide_json_put_unescaped(&name, element, err);
    const int at = tide_err_is_set(err) ? -1 : tide_spec_find(spec, (const char *)name.data, name.len);
    const struct tide_column *column = at >= 0 ? &spec->columns[at] : NULL;
    if (column == NULL || column->partition_at < 0) {
      tide_err_set(err, SQLITE_CONSTRAINT, "the Delta table is partitioned by %.*s, which is not in partition_by",
                   (int)element.size, element.at);
      break;
    }
    tide_buf_put_u8(out, (uint8_t)before, err);
    tide_buf_put(out, element.at, element.size, err);
    tide_buf_put_u8(out, ':', err);
    put_value(out, column->type, &values[column->partition_at], ret_altered, err);
  }
  tide_buf_put_string(out, before == '{' ? "{}" : "}", err);
  tide_buf_clear(&name);
}
