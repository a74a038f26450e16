#include "vtab_rows.h"

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/erase.h"
#include "glue.h"

enum { INSERT_VALUES = 32 }; /* a row of more columns than that takes memory of its own */

static struct tide_vtab_rows *vtab_of(sqlite3_vtab *vtab) {
  return (struct tide_vtab_rows *)vtab;
}

/* ---- connecting ---- */

void tide_vtab_fixed_clear(struct tide_vtab_fixed *fixed) {
  tide_buf_clear(&fixed->text);
  tide_buf_clear(&fixed->bytes);
}

void tide_vtab_rows_check_name(const char *noun, const char *name, struct tide_err *err) {
  if (sqlite3_strnicmp(name, "tidemark", 8) == 0)
    tide_err_set(err, SQLITE_ERROR, "%s name \"%s\": names that begin with tidemark are Tidemark's own", noun, name);
}

void tide_vtab_rows_init(struct tide_vtab_rows *vtab, sqlite3 *db, const char *name, struct tide_err *err) {
  vtab->name = tide_copy_string(name, err);
  vtab->utf16 = tide_catalog_is_utf16(db, err);
}

static char *declaration(const struct tide_spec *spec, struct tide_err *err) {
  struct tide_buf sql = {0};
  tide_buf_put_string(&sql, "CREATE TABLE x(", err);
  for (size_t i = 0; spec != NULL && i < spec->ncolumns; i++)
    tide_buf_printf(&sql, err, "\"%w\" %s, ", spec->columns[i].name, tide_spec_declared_type(spec->columns[i].type));
  tide_buf_printf(&sql, err, "%s INTEGER HIDDEN, %s TEXT HIDDEN, %s INTEGER HIDDEN)",
                  tide_spec_hidden_name(TIDE_HIDDEN_SINCE), tide_spec_hidden_name(TIDE_HIDDEN_PARTITION),
                  tide_spec_hidden_name(TIDE_HIDDEN_INGESTED_AT));
  tide_buf_put_u8(&sql, 0, err);
  if (tide_err_is_set(err))
    tide_buf_clear(&sql);
  return (char *)sql.data;
}

void tide_vtab_rows_declare_columns(struct tide_vtab_rows *vtab, sqlite3 *db, const struct tide_spec *spec,
                                    struct tide_err *err) {
  char *sql = tide_err_is_set(err) ? NULL : declaration(spec, err);
  if (sql != NULL && tide_glue_declare(db, sql, err) != SQLITE_OK)
    tide_err_prefix(err, "%s %s", vtab->noun, vtab->name);
  tide_free(sql);
  sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
  sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
}

void tide_vtab_rows_declare(struct tide_vtab_rows *vtab, sqlite3 *db, struct tide_dataset *ds, struct tide_err *err) {
  tide_vtab_rows_declare_columns(vtab, db, ds->spec, err);
  vtab->ds = tide_dataset_ref(ds);
  vtab->spec = tide_spec_ref(ds->spec);
}

void tide_vtab_rows_clear(struct tide_vtab_rows *vtab) {
  tide_dataset_release(vtab->ds);
  tide_spec_unref(vtab->spec);
  tide_free(vtab->name);
  sqlite3_free(vtab->base.zErrMsg); /* of an xDestroy or a savepoint that failed, which SQLite does not take over */
}

int tide_vtab_rows_connect_error(char **ret_message, const struct tide_err *err) {
  if (err->rc != SQLITE_OK && err->rc != SQLITE_NOMEM)
    *ret_message = sqlite3_mprintf("%s", err->msg);
  return err->rc;
}

/* ---- writing ---- */

static void refuse_hidden(const struct tide_vtab_rows *vtab, sqlite3_value **argv, struct tide_err *err) {
  for (int i = 0; i < TIDE_HIDDEN_COLUMNS; i++) {
    if (sqlite3_value_type(argv[2 + vtab->spec->ncolumns + (size_t)i]) != SQLITE_NULL)
      tide_err_set(err, SQLITE_CONSTRAINT_VTAB, "%s %s: %s is given by Tidemark, leave it out of the INSERT",
                   vtab->noun, vtab->name, tide_spec_hidden_name(i));
  }
  if (sqlite3_value_type(argv[1]) != SQLITE_NULL)
    tide_err_set(err, SQLITE_CONSTRAINT_VTAB, "%s %s: rowid is since, which Tidemark gives: leave it out of the INSERT",
                 vtab->noun, vtab->name);
}

/* "'text'", "5" or "NULL" for an error's sentence. */
static void put_shown(char *out, size_t size, const struct tide_val *value) {
  if (value->type == TIDE_VAL_TEXT)
    sqlite3_snprintf((int)size, out, "'%.*q'", value->n > 80 ? 80 : (int)value->n, value->n > 0 ? value->p : "");
  else if (value->type == TIDE_VAL_INT)
    sqlite3_snprintf((int)size, out, "%lld", (long long)value->i);
  else
    sqlite3_snprintf((int)size, out, "NULL");
}

/* The value of a column of a new row; a table of one partition fills in what is left out of the partition's. */
static void row_value(const struct tide_vtab_rows *vtab, size_t column, sqlite3_value *given,
                      struct tide_val *ret_value, struct tide_err *err) {
  const struct tide_column *facts = &vtab->spec->columns[column];
  const struct tide_val *fixed =
      vtab->fixed != NULL && facts->partition_at >= 0 ? &vtab->fixed->values[facts->partition_at] : NULL;
  if (fixed != NULL && sqlite3_value_type(given) == SQLITE_NULL) {
    *ret_value = *fixed;
    return;
  }
  if (fixed == NULL && !vtab->utf16 && tide_glue_is_of_type(given, facts, ret_value))
    return;
  if (tide_glue_coerce(given, facts, vtab->name, ret_value, err) != 0 || fixed == NULL ||
      tide_val_compare(ret_value, fixed) == 0)
    return;
  char is[200], was_given[200];
  put_shown(is, sizeof is, fixed);
  put_shown(was_given, sizeof was_given, ret_value);
  tide_err_set(err, SQLITE_CONSTRAINT_VTAB, "%s %s: column %s is %s in this table, %s was given", vtab->noun,
               vtab->name, facts->name, is, was_given);
}

static void insert_row(struct tide_vtab_rows *vtab, sqlite3_value **argv, sqlite3_int64 *ret_rowid,
                       struct tide_err *err) {
  const struct tide_spec *spec = vtab->spec;
  int64_t since = 0;
  refuse_hidden(vtab, argv, err);
  struct tide_val few[INSERT_VALUES];
  struct tide_val *values = spec->ncolumns > INSERT_VALUES ? tide_alloc_zero(spec->ncolumns, sizeof *values, err) : few;
  for (size_t i = 0; i < spec->ncolumns && !tide_err_is_set(err); i++)
    row_value(vtab, i, argv[2 + i], &values[i], err);
  if (!tide_err_is_set(err) && tide_txn_append(vtab->ds, values, &since, err) == 0)
    *ret_rowid = since;
  if (values != few)
    tide_free(values);
}

int tide_vtab_rows_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *ret_rowid) {
  struct tide_err err = {0};
  struct tide_vtab_rows *vtab = vtab_of(base);
  struct tide_dataset *ds = vtab->find(vtab, true, &err);
  if (ds != NULL && ds->spec != vtab->spec && !tide_spec_equal(ds->spec, vtab->spec))
    tide_err_set(&err, SQLITE_SCHEMA, "%s %s: its columns changed under the statement: run it again", vtab->noun,
                 vtab->name);
  if (tide_err_is_set(&err))
    return tide_glue_vtab_error(base, &err);
  tide_txn_begin(ds); /* nothing, unless the handle is another than at xBegin */
  if (argc > 1 && sqlite3_value_type(argv[0]) == SQLITE_NULL) {
    insert_row(vtab, argv, ret_rowid, &err);
    return tide_glue_insert_error(ds->conn->db, base, &err);
  }
  if (argc == 1)
    tide_erase_row(ds, sqlite3_value_int64(argv[0]), &err);
  else
    tide_err_set(&err, SQLITE_READONLY, "%s %s is append-only: UPDATE is refused, INSERT a new row or DELETE this one",
                 vtab->noun, vtab->name);
  return tide_glue_vtab_error(base, &err);
}

/* ---- transactions ---- */

int tide_vtab_rows_begin(sqlite3_vtab *base) {
  struct tide_err err = {0};
  struct tide_dataset *ds = vtab_of(base)->find(vtab_of(base), true, &err);
  if (ds != NULL)
    tide_txn_begin(ds);
  return tide_glue_vtab_error(base, &err);
}

/* SQLite calls those below only after xBegin, which has found a dataset, or after the xCreate that made it one. */

int tide_vtab_rows_sync(sqlite3_vtab *base) {
  struct tide_err err = {0};
  tide_txn_sync(vtab_of(base)->ds, &err);
  return tide_glue_vtab_error(base, &err);
}

int tide_vtab_rows_commit(sqlite3_vtab *base) {
  tide_txn_committed(vtab_of(base)->ds);
  return SQLITE_OK;
}

int tide_vtab_rows_rollback(sqlite3_vtab *base) {
  tide_txn_rolled_back(vtab_of(base)->ds);
  return SQLITE_OK;
}

int tide_vtab_rows_savepoint(sqlite3_vtab *base, int number) {
  (void)number;
  struct tide_err err = {0};
  vtab_of(base)->enlisted = false;
  tide_txn_flush(vtab_of(base)->ds, &err);
  return tide_glue_vtab_error(base, &err);
}

int tide_vtab_rows_release(sqlite3_vtab *base, int number) {
  (void)number;
  struct tide_err err = {0};
  tide_txn_release(vtab_of(base)->ds, &err);
  return tide_glue_vtab_error(base, &err);
}

int tide_vtab_rows_rollback_to(sqlite3_vtab *base, int number) {
  (void)number;
  tide_txn_rolled_back_to(vtab_of(base)->ds);
  return SQLITE_OK;
}
