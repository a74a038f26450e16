#include "model/spec.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"

struct type_facts {
  const char *name;
  const char *declared;
  uint8_t stored;
};

static const struct type_facts type_facts[] = {
    [TIDE_TYPE_ANY] = {"ANY", "", TIDE_VAL_NULL},
    [TIDE_TYPE_INTEGER] = {"INTEGER", "INTEGER", TIDE_VAL_INT},
    [TIDE_TYPE_REAL] = {"REAL", "REAL", TIDE_VAL_REAL},
    [TIDE_TYPE_TEXT] = {"TEXT", "TEXT", TIDE_VAL_TEXT},
    [TIDE_TYPE_BLOB] = {"BLOB", "BLOB", TIDE_VAL_BLOB},
    [TIDE_TYPE_BOOLEAN] = {"BOOLEAN", "INTEGER", TIDE_VAL_INT},
    [TIDE_TYPE_JSON] = {"JSON", "TEXT", TIDE_VAL_TEXT},
    [TIDE_TYPE_TIMESTAMP_S] = {"TIMESTAMP_S", "INTEGER", TIDE_VAL_INT},
    [TIDE_TYPE_TIMESTAMP_MS] = {"TIMESTAMP_MS", "INTEGER", TIDE_VAL_INT},
    [TIDE_TYPE_TIMESTAMP_US] = {"TIMESTAMP_US", "INTEGER", TIDE_VAL_INT},
    [TIDE_TYPE_TIMESTAMP_NS] = {"TIMESTAMP_NS", "INTEGER", TIDE_VAL_INT},
};
enum { TYPES = sizeof type_facts / sizeof *type_facts };

int tide_column_set_default(struct tide_column *column, const struct tide_val *value, struct tide_err *err) {
  column->dflt_value = *value;
  if (value->type == TIDE_VAL_TEXT || value->type == TIDE_VAL_BLOB)
    column->dflt_value.p = tide_copy_text(value->p, value->n, err);
  return err->rc;
}

void tide_column_clear(struct tide_column *column) {
  tide_free(column->name);
  tide_free((void *)column->dflt_value.p);
  *column = (struct tide_column){.partition_at = -1};
}

bool tide_column_equal(const struct tide_column *a, const struct tide_column *b) {
  return strcmp(a->name, b->name) == 0 && a->type == b->type && a->not_null == b->not_null &&
         a->partition_at == b->partition_at && a->dflt_value.type == b->dflt_value.type &&
         tide_val_compare(&a->dflt_value, &b->dflt_value) == 0;
}

struct tide_spec *tide_spec_ref(struct tide_spec *spec) {
  spec->refs++;
  return spec;
}

void tide_spec_unref(struct tide_spec *spec) {
  if (spec == NULL || --spec->refs > 0)
    return;
  for (size_t i = 0; i < spec->ncolumns; i++)
    tide_column_clear(&spec->columns[i]);
  tide_free(spec->columns);
  tide_free(spec->partition);
  tide_free(spec);
}

static bool same_name(const char *known, const char *name, size_t size) {
  return strlen(known) == size && sqlite3_strnicmp(known, name, (int)size) == 0;
}

bool tide_spec_equal(const struct tide_spec *a, const struct tide_spec *b) {
  if (a->ncolumns != b->ncolumns || a->npartition != b->npartition)
    return false;
  for (size_t i = 0; i < a->ncolumns; i++) {
    if (!tide_column_equal(&a->columns[i], &b->columns[i]))
      return false;
  }
  return true;
}

int tide_spec_find(const struct tide_spec *spec, const char *name, size_t size) {
  for (size_t i = 0; i < spec->ncolumns; i++) {
    if (same_name(spec->columns[i].name, name, size))
      return (int)i;
  }
  return -1;
}

const char *tide_spec_type_name(enum tide_type type) {
  assert((size_t)type < TYPES);
  return type_facts[type].name;
}

bool tide_spec_type_of(const char *name, size_t size, enum tide_type *ret_type) {
  for (int type = 0; type < TYPES; type++) {
    if (same_name(type_facts[type].name, name, size)) {
      *ret_type = (enum tide_type)type;
      return true;
    }
  }
  return false;
}

const char *tide_spec_declared_type(enum tide_type type) {
  assert((size_t)type < TYPES);
  return type_facts[type].declared;
}

uint8_t tide_spec_stored_type(enum tide_type type) {
  assert((size_t)type < TYPES);
  return type_facts[type].stored;
}

bool tide_spec_is_timestamp(enum tide_type type) {
  return type >= TIDE_TYPE_TIMESTAMP_S && type <= TIDE_TYPE_TIMESTAMP_NS;
}

const char *tide_spec_hidden_name(int hidden) {
  static const char *const names[TIDE_HIDDEN_COLUMNS] = {
      [TIDE_HIDDEN_SINCE] = "since", [TIDE_HIDDEN_PARTITION] = "partition", [TIDE_HIDDEN_INGESTED_AT] = "ingested_at"};
  assert(hidden >= 0 && hidden < TIDE_HIDDEN_COLUMNS);
  return names[hidden];
}
