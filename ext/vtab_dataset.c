#include "vtab_dataset.h"

#include "base/mem.h"
#include "glue.h"
#include "integrity.h"
#include "model/spec_parse.h"
#include "store/partition_tables.h"
#include "store/sinks.h"
#include "vtab_rows.h"

static const char noun[] = "dataset";

static struct tide_vtab_rows *vtab_of(sqlite3_vtab *vtab) {
  return (struct tide_vtab_rows *)vtab;
}

/* A RENAME or DROP that was rolled back can leave an instance with a handle that is gone: it goes on with the
 * present one. */
static struct tide_dataset *dataset_find(struct tide_vtab_rows *vtab, bool write, struct tide_err *err) {
  (void)write;
  struct tide_dataset *current = tide_dataset_current(vtab->ds, err);
  if (current != NULL)
    vtab->ds = current;
  return current;
}

/* ---- connecting ---- */

/* A virtual table of the dataset. */
static void make_vtab(struct tide_dataset *ds, const char *name, sqlite3_vtab **ret_vtab, struct tide_err *err) {
  struct tide_vtab_rows *vtab = tide_alloc_zero(1, sizeof *vtab, err);
  if (vtab == NULL)
    return;
  vtab->find = dataset_find;
  vtab->noun = noun;
  tide_vtab_rows_init(vtab, ds->conn->db, name, err);
  tide_vtab_rows_declare(vtab, ds->conn->db, ds, err);
  if (tide_err_is_set(err)) {
    tide_vtab_rows_clear(vtab);
    tide_free(vtab);
  } else {
    *ret_vtab = &vtab->base;
  }
}

static int dataset_disconnect(sqlite3_vtab *base) {
  tide_vtab_rows_clear(vtab_of(base));
  tide_free(base);
  return SQLITE_OK;
}

/* A new dataset as a virtual table. Its partition tables come last of all: a statement behind that one, still in xCreate,
 * would have SQLite forget the table that is being made. */
static void make_new(struct tide_dataset *ds, const char *name, sqlite3_vtab **ret_vtab, struct tide_err *err) {
  sqlite3_vtab *vtab = NULL;
  tide_sinks_create(ds->conn->db, tide_dataset_names(ds), err);
  if (!tide_err_is_set(err))
    make_vtab(ds, name, &vtab, err);
  tide_partition_tables_reconnect(ds->conn->db, tide_dataset_names(ds), err);
  if (!tide_err_is_set(err))
    *ret_vtab = vtab;
  else if (vtab != NULL)
    dataset_disconnect(vtab);
}

static int dataset_create(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
                          char **ret_message) {
  struct tide_err err = {0};
  struct tide_conn *conn = aux;
  const char *schema = argv[1];
  const char *name = argv[2];
  const int64_t rowid = sqlite3_last_insert_rowid(db);
  tide_vtab_rows_check_name(noun, name, &err);
  struct tide_options options;
  struct tide_spec *spec = tide_err_is_set(&err) ? NULL : tide_spec_parse(argc - 3, argv + 3, &options, &err);
  struct tide_dataset *ds = spec != NULL ? tide_dataset_create(conn, schema, name, spec, &options, &err) : NULL;
  if (ds != NULL)
    make_new(ds, name, ret_vtab, &err);
  tide_dataset_release(ds);
  tide_spec_unref(spec);
  sqlite3_set_last_insert_rowid(db, rowid);
  return tide_vtab_rows_connect_error(ret_message, &err);
}

static int dataset_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
                           char **ret_message) {
  (void)db;
  (void)argc;
  struct tide_err err = {0};
  struct tide_dataset *ds = tide_dataset_acquire(aux, argv[1], argv[2], &err);
  if (ds != NULL)
    make_vtab(ds, argv[2], ret_vtab, &err);
  tide_dataset_release(ds);
  return tide_vtab_rows_connect_error(ret_message, &err);
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
  tide_vtab_rows_check_name(noun, new_name, &err);
  if (!tide_err_is_set(&err))
    tide_partition_tables_refuse(ds->conn->db, tide_dataset_names(ds), "a RENAME", &err);
  if (!tide_err_is_set(&err))
    tide_sinks_rename(ds->conn->db, tide_dataset_names(ds), new_name, &err);
  if (!tide_err_is_set(&err))
    tide_dataset_rename(ds, new_name, &err);
  return tide_glue_vtab_error(base, &err);
}

static int dataset_shadow_name(const char *suffix) {
  return tide_names_is_shadow(suffix);
}

/* ---- integrity_check ---- */

static int dataset_integrity(sqlite3_vtab *base, const char *schema, const char *table, int flags, char **ret_message) {
  (void)schema;
  (void)table;
  struct tide_err err = {0};
  struct tide_dataset *ds = dataset_find(vtab_of(base), false, &err);
  return ds != NULL ? tide_integrity_check(ds, flags, ret_message) : err.rc;
}

/* ---- module ---- */

#define METHODS                                                                                                        \
  .xCreate = dataset_create, .xConnect = dataset_connect, .xDisconnect = dataset_disconnect,                           \
  .xDestroy = dataset_destroy, .xRename = dataset_rename, .xShadowName = dataset_shadow_name, TIDE_VTAB_ROWS_METHODS

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
