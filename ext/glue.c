#include "glue.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "store/durable.h"
#include "store/partition_tables.h"
#include "store/sinks.h"

struct tide_val tide_glue_value(sqlite3_value *value) {
  switch (sqlite3_value_type(value)) {
  case SQLITE_INTEGER:
    return tide_val_int(sqlite3_value_int64(value));
  case SQLITE_FLOAT:
    return tide_val_real(sqlite3_value_double(value));
  case SQLITE_TEXT: {
    const char *text = (const char *)sqlite3_value_text(value);
    return tide_val_text(text, (size_t)sqlite3_value_bytes(value));
  }
  case SQLITE_BLOB: {
    const void *blob = sqlite3_value_blob(value);
    return tide_val_blob(blob, (size_t)sqlite3_value_bytes(value));
  }
  default:
    return tide_val_null();
  }
}

const char *tide_glue_text(sqlite3_value *value, struct tide_err *err) {
  const char *text = (const char *)sqlite3_value_text(value);
  if (text == NULL && sqlite3_value_type(value) != SQLITE_NULL)
    tide_err_nomem(err);
  return text;
}

/* ---- STRICT typing ---- */

/* INTEGER affinity: a real or a text that is a whole number within 64 bits becomes one. */
static struct tide_val to_integer(sqlite3_value *value) {
  if (sqlite3_value_numeric_type(value) == SQLITE_FLOAT) {
    const double real = sqlite3_value_double(value);
    if (real >= -9223372036854775808.0 && real < 9223372036854775808.0 && (double)(int64_t)real == real)
      return tide_val_int((int64_t)real);
  }
  return tide_glue_value(value);
}

bool tide_glue_integer(sqlite3_value *value, int64_t *ret_integer) {
  const struct tide_val integer = to_integer(value);
  if (integer.type != TIDE_VAL_INT)
    return false;
  *ret_integer = integer.i;
  return true;
}

static struct tide_val to_real(sqlite3_value *value) {
  const int type = sqlite3_value_numeric_type(value);
  if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
    return tide_val_real(sqlite3_value_double(value));
  return tide_glue_value(value);
}

static struct tide_val to_text(sqlite3_value *value) {
  const int type = sqlite3_value_type(value);
  if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
    const char *text = (const char *)sqlite3_value_text(value);
    return text != NULL ? tide_val_text(text, (size_t)sqlite3_value_bytes(value)) : tide_val_null();
  }
  return tide_glue_value(value);
}

static struct tide_val apply_affinity(sqlite3_value *value, uint8_t stored_type) {
  switch (stored_type) {
  case TIDE_VAL_INT:
    return to_integer(value);
  case TIDE_VAL_REAL:
    return to_real(value);
  case TIDE_VAL_TEXT:
    return to_text(value);
  default:
    return tide_glue_value(value);
  }
}

int tide_glue_coerce(sqlite3_value *value, const struct tide_column *column, const char *dataset,
                     struct tide_val *ret_value, struct tide_err *err) {
  const uint8_t wanted = tide_spec_stored_type(column->type);
  if (sqlite3_value_type(value) == SQLITE_NULL) {
    *ret_value = column->not_null ? column->dflt_value : tide_val_null();
    if (column->not_null && column->dflt_value.type == TIDE_VAL_NULL)
      tide_err_set(err, SQLITE_CONSTRAINT_NOTNULL, "NOT NULL constraint failed: %s.%s", dataset, column->name);
    return err->rc;
  }
  const struct tide_val val = apply_affinity(value, wanted);
  const bool has_bytes = val.type == TIDE_VAL_TEXT || val.type == TIDE_VAL_BLOB;
  if (val.type == TIDE_VAL_NULL || (has_bytes && val.p == NULL && val.n > 0))
    tide_err_nomem(err);
  else if (wanted != TIDE_VAL_NULL && val.type != wanted)
    tide_err_set(err, SQLITE_CONSTRAINT_DATATYPE, "cannot store %s value in %s column %s.%s",
                 tide_val_type_name(val.type), tide_spec_type_name(column->type), dataset, column->name);
  else if (column->type == TIDE_TYPE_BOOLEAN && val.i != 0 && val.i != 1)
    tide_err_set(err, SQLITE_CONSTRAINT_DATATYPE, "cannot store %lld in BOOLEAN column %s.%s: expected 0 or 1",
                 (long long)val.i, dataset, column->name);
  *ret_value = val;
  return err->rc;
}

bool tide_glue_is_of_type(sqlite3_value *value, const struct tide_column *column, struct tide_val *ret_value) {
  const uint8_t wanted = tide_spec_stored_type(column->type);
  switch (sqlite3_value_type(value)) {
  case SQLITE_INTEGER:
    *ret_value = tide_val_int(sqlite3_value_int64(value));
    return wanted == TIDE_VAL_INT && column->type != TIDE_TYPE_BOOLEAN;
  case SQLITE_FLOAT:
    *ret_value = tide_val_real(sqlite3_value_double(value));
    return wanted == TIDE_VAL_REAL;
  case SQLITE_TEXT:
    if (wanted != TIDE_VAL_TEXT)
      return false;
    *ret_value = tide_val_text(sqlite3_value_blob(value), (size_t)sqlite3_value_bytes(value));
    return ret_value->p != NULL || ret_value->n == 0;
  case SQLITE_NULL:
    *ret_value = tide_val_null();
    return !column->not_null;
  default:
    return false;
  }
}

/* ---- results ---- */

struct tide_val tide_glue_option(const struct tide_dataset *ds, const struct tide_option_facts *facts) {
  struct tide_options options = ds->config.options;
  const int64_t value = *tide_options_at(&options, facts);
  if (facts->kind != TIDE_OPTION_NUMBER && value < 0)
    return tide_val_null();
  if (facts->kind == TIDE_OPTION_TIME || facts->kind == TIDE_OPTION_FIXED)
    return tide_val_text(ds->spec->columns[value].name, strlen(ds->spec->columns[value].name));
  if (facts->kind == TIDE_OPTION_DURATION)
    return value % 1000 == 0 ? tide_val_int(value / 1000) : tide_val_real((double)value / 1000);
  return tide_val_int(value);
}

void tide_glue_result(sqlite3_context *context, const struct tide_val *value) {
  switch (value->type) {
  case TIDE_VAL_INT:
    sqlite3_result_int64(context, value->i);
    break;
  case TIDE_VAL_REAL:
    sqlite3_result_double(context, value->r);
    break;
  case TIDE_VAL_TEXT: /* of no bytes, p may be NULL, which SQLite would take for an SQL NULL */
    sqlite3_result_text64(context, value->n > 0 ? value->p : "", value->n, SQLITE_TRANSIENT, SQLITE_UTF8);
    break;
  case TIDE_VAL_BLOB:
    sqlite3_result_blob64(context, value->n > 0 ? value->p : "", value->n, SQLITE_TRANSIENT);
    break;
  default:
    sqlite3_result_null(context);
  }
}

void tide_glue_result_text(sqlite3_context *context, const char *text, size_t n) {
  if (memchr(text, '\0', n) == NULL) /* given its length, SQLite would not take the NUL along */
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
  else
    sqlite3_result_text64(context, text, n, SQLITE_TRANSIENT, SQLITE_UTF8);
}

int tide_glue_vtab_error(sqlite3_vtab *vtab, const struct tide_err *err) {
  if (err->rc != SQLITE_OK && err->rc != SQLITE_NOMEM) {
    sqlite3_free(vtab->zErrMsg);
    vtab->zErrMsg = sqlite3_mprintf("%s", err->msg);
  }
  return err->rc;
}

static bool obeys_conflict_clause(int rc) {
  return (rc & 0xff) != SQLITE_CONSTRAINT || rc == SQLITE_CONSTRAINT_NOTNULL || rc == SQLITE_CONSTRAINT_UNIQUE;
}

int tide_glue_insert_error(sqlite3 *db, sqlite3_vtab *vtab, const struct tide_err *err) {
  if (!tide_err_is_set(err))
    return SQLITE_OK;
  const int conflict = sqlite3_vtab_on_conflict(db);
  struct tide_err given = *err;
  if (conflict != SQLITE_ABORT && conflict != SQLITE_REPLACE && !obeys_conflict_clause(err->rc))
    given.rc = SQLITE_MISMATCH;
  if (conflict == SQLITE_REPLACE && err->rc == SQLITE_CONSTRAINT_UNIQUE) {
    tide_err_clear(&given);
    tide_err_set(&given, err->rc, "%s: a row of a log is not replaced, which OR REPLACE asks for", err->msg);
  }
  return tide_glue_vtab_error(vtab, &given);
}

int tide_glue_declare(sqlite3 *db, const char *sql, struct tide_err *err) {
  int rc = tide_err_is_set(err) ? err->rc : sqlite3_declare_vtab(db, sql);
  if (rc == SQLITE_ERROR && strcmp(sqlite3_errmsg(db), "interrupted") == 0)
    rc = SQLITE_INTERRUPT;
  if (rc != SQLITE_OK)
    tide_stmt_error(db, rc, err);
  return rc;
}

void tide_glue_function_error(sqlite3_context *context, const struct tide_err *err) {
  if (err->rc == SQLITE_NOMEM) {
    sqlite3_result_error_nomem(context);
    return;
  }
  sqlite3_result_error(context, err->msg, -1);
  sqlite3_result_error_code(context, err->rc);
}

/* ---- datasets by name ---- */

/* The schema that has a dataset and the dataset's name as it was made: handles and the shared tables go by those. */
struct location {
  char *schema;
  char *name;
};

static void location_clear(struct location *location) {
  tide_free(location->schema);
  tide_free(location->name);
}

/* A name in two schemas must be written with its schema. */
static void look_in_schema(struct tide_conn *conn, const char *schema, const char *name, struct location *location,
                           struct tide_err *err) {
  char *found = tide_sinks_find_dataset(conn->db, (struct tide_names){.schema = schema, .dataset = name}, err);
  if (found == NULL)
    return;
  if (location->schema != NULL) {
    tide_err_set(err, SQLITE_ERROR, "dataset %s is in schema %s and in schema %s: write one as 'schema.%s'", name,
                 location->schema, schema, name);
    tide_free(found);
    return;
  }
  location->schema = tide_copy_string(schema, err);
  location->name = found;
}

void tide_glue_refuse_partition_table(struct tide_conn *conn, const char *schema, const char *name,
                                      struct tide_err *err) {
  char *dataset = tide_partition_tables_dataset(conn->db, schema, name, err);
  if (dataset != NULL)
    tide_err_set(err, SQLITE_ERROR, "%s is a partition table of dataset %s: give the dataset's name", name, dataset);
  tide_free(dataset);
}

static void refuse_in_schema(struct tide_conn *conn, const char *schema, const char *name, struct location *location,
                             struct tide_err *err) {
  (void)location;
  tide_glue_refuse_partition_table(conn, schema, name, err);
}

size_t tide_glue_schema_size(sqlite3 *db, const char *text) {
  char schema[256];
  for (const char *dot = strchr(text, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
    const size_t size = (size_t)(dot - text);
    if (size >= sizeof schema)
      break;
    memcpy(schema, text, size);
    schema[size] = '\0';
    if (sqlite3_txn_state(db, schema) >= 0)
      return size;
  }
  return 0;
}

typedef void look_in(struct tide_conn *conn, const char *schema, const char *name, struct location *location,
                     struct tide_err *err);

/* 'schema.name' when the part before a dot is a schema; otherwise the dots belong to the name, which is looked
 * for in all schemas. */
static void look_everywhere(struct tide_conn *conn, const char *text, look_in *look, struct location *location,
                            struct tide_err *err) {
  const size_t size = tide_glue_schema_size(conn->db, text);
  char *given = size > 0 ? tide_copy_text(text, size, err) : NULL;
  if (given != NULL) {
    look(conn, given, text + size + 1, location, err);
  } else {
    sqlite3_stmt *stmt = tide_schemas_prepare(conn->db, err);
    while (tide_stmt_row(stmt, err)) {
      const char *schema = tide_stmt_text(stmt, TIDE_SCHEMAS_NAME, NULL, err);
      if (schema != NULL)
        look(conn, schema, text, location, err);
    }
    sqlite3_finalize(stmt);
  }
  tide_free(given);
}

struct tide_dataset *tide_glue_dataset(struct tide_conn *conn, sqlite3_value *argument, struct tide_err *err) {
  const char *text = sqlite3_value_type(argument) == SQLITE_TEXT ? tide_glue_text(argument, err) : NULL;
  if (text == NULL) {
    tide_err_set(err, SQLITE_ERROR, "expected the name of a dataset as text, such as 'logs' or 'main.logs'");
    return NULL;
  }
  struct location location = {0};
  look_everywhere(conn, text, look_in_schema, &location, err);
  if (location.name == NULL && !tide_err_is_set(err))
    look_everywhere(conn, text, refuse_in_schema, &location, err);
  if (location.name == NULL)
    tide_err_set(err, SQLITE_ERROR, "no such dataset: %s (see tidemark_dataset)", text);
  struct tide_dataset *ds =
      tide_err_is_set(err) ? NULL : tide_dataset_acquire(conn, location.schema, location.name, err);
  location_clear(&location);
  return ds;
}
