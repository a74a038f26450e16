#include "sink/delta_schema.h"

#include <string.h>

#include "base/sqlite.h"
#include "sink/encoder.h"
#include "sink/json.h"

enum { TYPE_SHOWN = 60 }; /* of a type that is an object, in a message */

static const char *type_name(const struct tide_spec *spec, int column) {
  if (column < 0)
    return column == TIDE_ENCODER_SINCE ? "long" : column == TIDE_ENCODER_PARTITION ? "string" : "timestamp";
  switch (spec->columns[column].type) {
  case TIDE_TYPE_INTEGER:
  case TIDE_TYPE_TIMESTAMP_NS:
    return "long";
  case TIDE_TYPE_REAL:
    return "double";
  case TIDE_TYPE_BOOLEAN:
    return "boolean";
  case TIDE_TYPE_BLOB:
    return "binary";
  case TIDE_TYPE_TIMESTAMP_S:
  case TIDE_TYPE_TIMESTAMP_MS:
  case TIDE_TYPE_TIMESTAMP_US:
    return "timestamp";
  default:
    return "string";
  }
}

/* A field's name, with a NUL behind it. */
static const char *name_of(struct tide_json_slice field, struct tide_buf *into, struct tide_err *err) {
  tide_buf_reset(into);
  tide_json_put_unescaped(into, tide_json_member(field, "name"), err);
  tide_buf_put_u8(into, 0, err);
  return tide_err_is_set(err) ? "" : (const char *)into->data;
}

/* Whether a field has invariants, a generated value or the like, which whoever writes must look after. */
static bool has_rules(struct tide_json_slice field) {
  static const char prefix[] = "delta.";
  struct tide_json_walk walk = tide_json_walk_into(tide_json_member(field, "metadata"));
  struct tide_json_slice name, value;
  while (tide_json_walk_next(&walk, &name, &value)) {
    if (name.size >= strlen(prefix) && memcmp(name.at, prefix, strlen(prefix)) == 0)
      return true;
  }
  return false;
}

/* A field that is there already, and goes by the name of a column of ours. */
static void check_field(struct tide_json_slice field, const char *name, const char *wanted_name, const char *wanted,
                        struct tide_err *err) {
  struct tide_buf type = {0};
  const struct tide_json_slice is = tide_json_member(field, "type");
  tide_json_put_unescaped(&type, is, err);
  if (strcmp(name, wanted_name) != 0)
    tide_err_set(err, SQLITE_CONSTRAINT, "the Delta table has a column %s, which would clash with %s", name,
                 wanted_name);
  else if (type.len != strlen(wanted) || memcmp(type.data, wanted, type.len) != 0)
    tide_err_set(err, SQLITE_CONSTRAINT, "column %s is %.*s in the Delta table, and this sink writes %s", name,
                 (int)(is.size < TYPE_SHOWN ? is.size : TYPE_SHOWN), is.at, wanted);
  else if (tide_json_slice_is(tide_json_member(field, "nullable"), "false"))
    tide_err_set(err, SQLITE_CONSTRAINT, "column %s is NOT NULL in the Delta table, which Tidemark does not look after",
                 name);
  else if (has_rules(field))
    tide_err_set(err, SQLITE_CONSTRAINT, "column %s has rules in the Delta table that Tidemark does not know", name);
  tide_buf_clear(&type);
}

/* A field that no column of ours goes by: files will not have it. */
static void check_missing(struct tide_json_slice field, const char *name, struct tide_err *err) {
  if (tide_json_slice_is(tide_json_member(field, "nullable"), "false"))
    tide_err_set(err, SQLITE_CONSTRAINT, "column %s is NOT NULL in the Delta table, and this sink does not write it",
                 name);
}

static void copy_fields(struct tide_json_slice have, const struct tide_delta_columns *columns, bool *found,
                        size_t *nfields, struct tide_buf *out, struct tide_err *err) {
  struct tide_buf name = {0};
  struct tide_json_walk walk = tide_json_walk_into(tide_json_member(have, "fields"));
  struct tide_json_slice none, field;
  while (tide_json_walk_next(&walk, &none, &field) && !tide_err_is_set(err)) {
    const char *is = name_of(field, &name, err);
    bool ours = false;
    for (size_t i = 0; i < columns->count && !ours; i++) {
      const char *wanted = tide_encoder_column_name(columns->spec, columns->list[i]);
      ours = sqlite3_stricmp(is, wanted) == 0;
      if (!ours)
        continue;
      found[i] = true;
      check_field(field, is, wanted, type_name(columns->spec, columns->list[i]), err);
    }
    if (!ours)
      check_missing(field, is, err);
    if ((*nfields)++ > 0)
      tide_buf_put_u8(out, ',', err);
    tide_buf_put(out, field.at, field.size, err);
  }
  tide_buf_clear(&name);
}

void tide_delta_schema_widen(struct tide_json_slice have, const struct tide_delta_columns *columns,
                             struct tide_buf *out, bool *ret_wider, struct tide_err *err) {
  bool found[TIDE_SPEC_COLUMNS_MAX + TIDE_HIDDEN_COLUMNS] = {0};
  size_t nfields = 0;
  bool altered = false; /* a column's name that is no UTF-8 has the same U+FFFD in the files */
  *ret_wider = false;
  tide_buf_put_string(out, "{\"type\":\"struct\",\"fields\":[", err);
  copy_fields(have, columns, found, &nfields, out, err);
  for (size_t i = 0; i < columns->count && !tide_err_is_set(err); i++) {
    if (found[i])
      continue;
    *ret_wider = true;
    const char *name = tide_encoder_column_name(columns->spec, columns->list[i]);
    tide_buf_put_string(out, nfields++ > 0 ? ",{\"name\":" : "{\"name\":", err);
    tide_json_put_string(out, name, strlen(name), &altered, err);
    tide_buf_put_string(out, ",\"type\":\"", err);
    tide_buf_put_string(out, type_name(columns->spec, columns->list[i]), err);
    tide_buf_put_string(out, "\",\"nullable\":true,\"metadata\":{}}", err);
  }
  tide_buf_put_string(out, "]}", err);
}
