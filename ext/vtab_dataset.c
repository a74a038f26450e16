#include "vtab_dataset.h"

#include <string.h>

#include "base/mem.h"
#include "best_index.h"
#include "engine/erase.h"
#include "engine/plan.h"
#include "engine/scan.h"
#include "glue.h"
#include "integrity.h"
#include "model/spec_parse.h"
#include "store/sinks.h"

struct dataset_vtab {
  sqlite3_vtab base;
  struct tide_dataset *ds;
  struct tide_spec *spec; /* as declared to SQLite by this instance */
  bool utf16;
};

struct dataset_cursor {
  sqlite3_vtab_cursor base;
  struct tide_scan *scan;
  bool at_end;
};

static struct dataset_vtab *vtab_of(sqlite3_vtab *vtab) {
  return (struct dataset_vtab *)vtab;
}

static struct dataset_cursor *cursor_of(sqlite3_vtab_cursor *cursor) {
  return (struct dataset_cursor *)cursor;
}

/* A RENAME or DROP that was rolled back can leave an instance with a handle that is gone: it goes on with the
 * present one. */
static struct tide_dataset *dataset_of(struct dataset_vtab *vtab, struct tide_err *err) {
  struct tide_dataset *current = tide_dataset_current(vtab->ds, err);
  if (current != NULL)
    vtab->ds = current;
  return current;
}

/* ---- connecting ---- */

static char *declaration(const struct tide_spec *spec, struct tide_err *err) {
  struct tide_buf sql = {0};
  tide_buf_put_string(&sql, "CREATE TABLE x(", err);
  for (size_t i = 0; i < spec->ncolumns; i++)
    tide_buf_printf(&sql, err, "\"%w\" %s, ", spec->columns[i].name, tide_spec_declared_type(spec->columns[i].type));
  tide_buf_printf(&sql, err, "%s INTEGER HIDDEN, %s TEXT HIDDEN, %s INTEGER HIDDEN)",
                  tide_spec_hidden_name(TIDE_HIDDEN_SINCE), tide_spec_hidden_name(TIDE_HIDDEN_PARTITION),
                  tide_spec_hidden_name(TIDE_HIDDEN_INGESTED_AT));
  tide_buf_put_u8(&sql, 0, err);
  if (tide_err_is_set(err))
    tide_buf_clear(&sql);
  return (char *)sql.data;
}

/* A virtual table of the dataset; takes the handle over, also on failure. */
static int make_vtab(struct tide_dataset *ds, sqlite3_vtab **ret_vtab, struct tide_err *err) {
  sqlite3 *db = ds->conn->db;
  const bool utf16 = tide_catalog_is_utf16(db, err);
  char *sql = declaration(ds->spec, err);
  if (sql != NULL && sqlite3_declare_vtab(db, sql) != SQLITE_OK)
    tide_err_set(err, SQLITE_ERROR, "dataset %s: %s", ds->name, sqlite3_errmsg(db));
  tide_free(sql);
  struct dataset_vtab *vtab = tide_err_is_set(err) ? NULL : tide_alloc_zero(1, sizeof *vtab, err);
  if (vtab == NULL) {
    tide_dataset_release(ds);
    return err->rc;
  }
  sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
  sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  vtab->ds = ds;
  vtab->spec = tide_spec_ref(ds->spec);
  vtab->utf16 = utf16;
  *ret_vtab = &vtab->base;
  return SQLITE_OK;
}

static int give_error(char **ret_message, const struct tide_err *err) {
  if (err->rc != SQLITE_OK && err->rc != SQLITE_NOMEM)
    *ret_message = sqlite3_mprintf("%s", err->msg);
  return err->rc;
}

static int dataset_create(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
                          char **ret_message) {
  struct tide_err err = {0};
  struct tide_conn *conn = aux;
  const char *schema = argv[1];
  const char *name = argv[2];
  const int64_t rowid = sqlite3_last_insert_rowid(db);
  if (sqlite3_strnicmp(name, "tidemark", 8) == 0)
    tide_err_set(&err, SQLITE_ERROR, "dataset name \"%s\": names that begin with tidemark are Tidemark's own", name);
  struct tide_options options;
  struct tide_spec *spec = tide_err_is_set(&err) ? NULL : tide_spec_parse(argc - 3, argv + 3, &options, &err);
  struct tide_dataset *ds = spec != NULL ? tide_dataset_create(conn, schema, name, spec, &options, &err) : NULL;
  if (ds != NULL) {
    tide_sinks_create(db, tide_dataset_names(ds), &err);
    if (tide_err_is_set(&err))
      tide_dataset_release(ds);
    else
      make_vtab(ds, ret_vtab, &err);
  }
  tide_spec_unref(spec);
  sqlite3_set_last_insert_rowid(db, rowid);
  return give_error(ret_message, &err);
}

static int dataset_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
                           char **ret_message) {
  (void)db;
  (void)argc;
  struct tide_err err = {0};
  struct tide_dataset *ds = tide_dataset_acquire(aux, argv[1], argv[2], &err);
  if (ds != NULL)
    make_vtab(ds, ret_vtab, &err);
  return give_error(ret_message, &err);
}

static int dataset_disconnect(sqlite3_vtab *base) {
  struct dataset_vtab *vtab = vtab_of(base);
  tide_dataset_release(vtab->ds);
  tide_spec_unref(vtab->spec);
  tide_free(vtab);
  return SQLITE_OK;
}

static int dataset_destroy(sqlite3_vtab *base) {
  struct tide_err err = {0};
  struct tide_dataset *ds = vtab_of(base)->ds;
  tide_sinks_drop(ds->conn->db, tide_dataset_names(ds), &err);
  if (!tide_err_is_set(&err)) /* last, for it takes the handle out of those found: a failed DROP must keep it */
    tide_dataset_drop(ds, &err);
  if (tide_err_is_set(&err))
    return tide_glue_vtab_error(base, &err);
  return dataset_disconnect(base);
}

static int dataset_rename(sqlite3_vtab *base, const char *new_name) {
  struct tide_err err = {0};
  struct tide_dataset *ds = vtab_of(base)->ds;
  if (sqlite3_strnicmp(new_name, "tidemark", 8) == 0)
    tide_err_set(&err, SQLITE_ERROR, "dataset name \"%s\": names that begin with tidemark are Tidemark's own",
                 new_name);
  if (!tide_err_is_set(&err))
    tide_sinks_rename(ds->conn->db, tide_dataset_names(ds), new_name, &err);
  if (!tide_err_is_set(&err))
    tide_dataset_rename(ds, new_name, &err);
  return tide_glue_vtab_error(base, &err);
}

static int dataset_shadow_name(const char *suffix) {
  return tide_names_is_shadow(suffix);
}

/* ---- planning ---- */

static int dataset_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
  struct tide_err err = {0};
  const struct dataset_vtab *vtab = vtab_of(base);
  tide_best_index(vtab->ds, vtab->spec, vtab->utf16, info, &err);
  return tide_glue_vtab_error(base, &err);
}

/* ---- reading ---- */

static int dataset_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor) {
  struct tide_err err = {0};
  struct dataset_cursor *cursor = tide_alloc_zero(1, sizeof *cursor, &err);
  if (cursor != NULL)
    *ret_cursor = &cursor->base;
  return tide_glue_vtab_error(base, &err);
}

static int dataset_close(sqlite3_vtab_cursor *base) {
  struct dataset_cursor *cursor = cursor_of(base);
  tide_scan_close(cursor->scan);
  tide_free(cursor);
  return SQLITE_OK;
}

static int dataset_next(sqlite3_vtab_cursor *base) {
  struct tide_err err = {0};
  struct dataset_cursor *cursor = cursor_of(base);
  cursor->at_end = cursor->scan == NULL || !tide_scan_next(cursor->scan, &err);
  return tide_glue_vtab_error(base->pVtab, &err);
}

static struct tide_val filter_value(const char *idx, int i, sqlite3_value *value) {
  /* since compares as an INTEGER column does: text that looks like a number is one. Which argument is whose is in
   * idx; to convert one of another column as well would only make it a number where SQLite compares text, so those
   * stay as they are. */
  const char *at = idx + (*idx == 'O');
  for (int term = 0; term < i && *at != '\0'; term++)
    at += strcspn(at, "eghlmino") + 1;
  if (*at == 'S')
    sqlite3_value_numeric_type(value);
  return tide_glue_value(value);
}

static int dataset_filter(sqlite3_vtab_cursor *base, int idx_num, const char *idx, int argc, sqlite3_value **argv) {
  (void)idx_num;
  struct tide_err err = {0};
  struct dataset_cursor *cursor = cursor_of(base);
  struct dataset_vtab *vtab = vtab_of(base->pVtab);
  struct tide_scan_request request;
  tide_scan_close(cursor->scan);
  cursor->scan = NULL;
  cursor->at_end = true;
  struct tide_val *values = tide_alloc_zero((size_t)argc + 1, sizeof *values, &err);
  for (int i = 0; values != NULL && i < argc; i++)
    values[i] = filter_value(idx, i, argv[i]);
  struct tide_dataset *ds = dataset_of(vtab, &err);
  if (ds != NULL && values != NULL && tide_plan_request(idx, values, (size_t)argc, vtab->spec, &request, &err) == 0)
    cursor->scan = tide_scan_open(ds, &request, &err);
  tide_free(values);
  return tide_err_is_set(&err) ? tide_glue_vtab_error(base->pVtab, &err) : dataset_next(base);
}

static int dataset_eof(sqlite3_vtab_cursor *base) {
  return cursor_of(base)->at_end;
}

static int dataset_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_rowid) {
  *ret_rowid = tide_scan_since(cursor_of(base)->scan);
  return SQLITE_OK;
}

static int dataset_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  struct tide_err err = {0};
  struct tide_scan *scan = cursor_of(base)->scan;
  const int ncolumns = (int)vtab_of(base->pVtab)->spec->ncolumns;
  struct tide_val value = tide_val_null();
  int64_t ingested_at = 0;
  size_t size = 0;
  if (column < ncolumns) {
    tide_scan_value(scan, (size_t)column, &value, &err);
  } else if (column == ncolumns + TIDE_HIDDEN_SINCE) {
    value = tide_val_int(tide_scan_since(scan));
  } else if (column == ncolumns + TIDE_HIDDEN_PARTITION) {
    const char *text = tide_scan_partition(scan, &size);
    value = tide_val_text(text, size);
  } else {
    tide_scan_ingested_at(scan, &ingested_at, &err);
    value = tide_val_int(ingested_at);
  }
  if (tide_err_is_set(&err))
    return tide_glue_vtab_error(base->pVtab, &err);
  tide_glue_result(context, &value);
  return SQLITE_OK;
}

/* ---- writing ---- */

static void insert_row(struct dataset_vtab *vtab, sqlite3_value **argv, sqlite3_int64 *ret_rowid,
                       struct tide_err *err) {
  const struct tide_spec *spec = vtab->spec;
  int64_t since = 0;
  for (int i = 0; i < TIDE_HIDDEN_COLUMNS; i++) {
    if (sqlite3_value_type(argv[2 + spec->ncolumns + (size_t)i]) != SQLITE_NULL)
      tide_err_set(err, SQLITE_CONSTRAINT_VTAB, "dataset %s: %s is given by Tidemark, leave it out of the INSERT",
                   vtab->ds->name, tide_spec_hidden_name(i));
  }
  if (sqlite3_value_type(argv[1]) != SQLITE_NULL)
    tide_err_set(err, SQLITE_CONSTRAINT_VTAB,
                 "dataset %s: rowid is since, which Tidemark gives: leave it out of the INSERT", vtab->ds->name);
  struct tide_val *values = tide_alloc_zero(spec->ncolumns, sizeof *values, err);
  for (size_t i = 0; i < spec->ncolumns && !tide_err_is_set(err); i++)
    tide_glue_coerce(argv[2 + i], &spec->columns[i], vtab->ds->name, &values[i], err);
  if (!tide_err_is_set(err) && tide_txn_append(vtab->ds, values, &since, err) == 0)
    *ret_rowid = since;
  tide_free(values);
}

static int dataset_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *ret_rowid) {
  struct tide_err err = {0};
  struct dataset_vtab *vtab = vtab_of(base);
  struct tide_dataset *ds = dataset_of(vtab, &err);
  if (ds == NULL)
    return tide_glue_vtab_error(base, &err);
  if (ds->spec != vtab->spec && !tide_spec_equal(ds->spec, vtab->spec)) {
    tide_err_set(&err, SQLITE_SCHEMA, "dataset %s: its columns changed under the statement: run it again", ds->name);
    return tide_glue_vtab_error(base, &err);
  }
  tide_txn_begin(ds); /* nothing, unless the handle is another than at xBegin */
  if (argc > 1 && sqlite3_value_type(argv[0]) == SQLITE_NULL) {
    insert_row(vtab, argv, ret_rowid, &err);
    return tide_glue_insert_error(ds->conn->db, base, &err);
  }
  if (argc == 1)
    tide_erase_row(ds, sqlite3_value_int64(argv[0]), &err);
  else
    tide_err_set(&err, SQLITE_READONLY,
                 "dataset %s is append-only: UPDATE is refused, INSERT a new row or DELETE this one", ds->name);
  return tide_glue_vtab_error(base, &err);
}

/* ---- transactions ---- */

static int dataset_begin(sqlite3_vtab *base) {
  struct tide_err err = {0};
  struct tide_dataset *ds = dataset_of(vtab_of(base), &err);
  if (ds != NULL)
    tide_txn_begin(ds);
  return tide_glue_vtab_error(base, &err);
}

static int dataset_sync(sqlite3_vtab *base) {
  struct tide_err err = {0};
  tide_txn_sync(vtab_of(base)->ds, &err);
  return tide_glue_vtab_error(base, &err);
}

static int dataset_commit(sqlite3_vtab *base) {
  tide_txn_committed(vtab_of(base)->ds);
  return SQLITE_OK;
}

static int dataset_rollback(sqlite3_vtab *base) {
  tide_txn_rolled_back(vtab_of(base)->ds);
  return SQLITE_OK;
}

static int dataset_savepoint(sqlite3_vtab *base, int number) {
  (void)number;
  struct tide_err err = {0};
  tide_txn_flush(vtab_of(base)->ds, &err);
  return tide_glue_vtab_error(base, &err);
}

static int dataset_release(sqlite3_vtab *base, int number) {
  (void)number;
  struct tide_err err = {0};
  tide_txn_release(vtab_of(base)->ds, &err);
  return tide_glue_vtab_error(base, &err);
}

static int dataset_rollback_to(sqlite3_vtab *base, int number) {
  (void)number;
  tide_txn_rolled_back_to(vtab_of(base)->ds);
  return SQLITE_OK;
}

/* ---- integrity_check ---- */

static int dataset_integrity(sqlite3_vtab *base, const char *schema, const char *table, int flags, char **ret_message) {
  (void)schema;
  (void)table;
  struct tide_err err = {0};
  struct tide_dataset *ds = dataset_of(vtab_of(base), &err);
  return ds != NULL ? tide_integrity_check(ds, flags, ret_message) : err.rc;
}

/* ---- module ---- */

#define METHODS                                                                                                        \
  .xCreate = dataset_create, .xConnect = dataset_connect, .xBestIndex = dataset_best_index,                            \
  .xDisconnect = dataset_disconnect, .xDestroy = dataset_destroy, .xOpen = dataset_open, .xClose = dataset_close,      \
  .xFilter = dataset_filter, .xNext = dataset_next, .xEof = dataset_eof, .xColumn = dataset_column,                    \
  .xRowid = dataset_rowid, .xUpdate = dataset_update, .xBegin = dataset_begin, .xSync = dataset_sync,                  \
  .xCommit = dataset_commit, .xRollback = dataset_rollback, .xRename = dataset_rename,                                 \
  .xSavepoint = dataset_savepoint, .xRelease = dataset_release, .xRollbackTo = dataset_rollback_to,                    \
  .xShadowName = dataset_shadow_name

/* What a host reads of it goes by iVersion. */
static const struct tide_integrity_module module = TIDE_INTEGRITY_MODULE(dataset_integrity, .iVersion = 3, METHODS);
static const struct tide_integrity_module module_with_integrity =
    TIDE_INTEGRITY_MODULE(dataset_integrity, .iVersion = TIDE_INTEGRITY_MODULE_VERSION, METHODS);

static void unref_conn(void *conn) {
  tide_conn_unref(conn);
}

int tide_vtab_dataset_register(struct tide_conn *conn) {
  const bool knows = sqlite3_libversion_number() >= TIDE_INTEGRITY_HOST;
  return sqlite3_create_module_v2(conn->db, "tidemark", knows ? &module_with_integrity.base : &module.base,
                                  tide_conn_ref(conn), unref_conn);
}
