#include "vtab_dataset.h"

#include "base/mem.h"
#include "glue.h"
#include "integrity.h"
#include "model/spec_parse.h"
#include "store/partition_tables.h"
#include "store/sinks.h"
#include "vtab_rows.h"

static const char noun[] = "dataset";

/* A dataset so damaged that it has no handle connects all the same, for SQLite cannot drop a table that does not: rows
 * has no ds, and each use looks again and says what is wrong. */
struct dataset_vtab {
  struct tide_vtab_rows rows;
  struct tide_conn *conn;
  char *schema;
  struct tide_spec *declared; /* of a damaged one: the columns that SQLite was told, NULL when nobody knows any */
};

static struct dataset_vtab *vtab_of(sqlite3_vtab *vtab) {
  return (struct dataset_vtab *)vtab;
}

/* Takes the handle of a dataset that was damaged when it connected, should somebody have mended it since. */
static void mend(struct dataset_vtab *vtab, struct tide_err *err) {
  struct tide_vtab_rows *rows = &vtab->rows;
  struct tide_dataset *ds = tide_dataset_acquire(vtab->conn, vtab->schema, rows->name, err);
  if (ds != NULL && vtab->declared != NULL && tide_spec_equal(ds->spec, vtab->declared)) {
    rows->ds = ds;
    rows->spec = tide_spec_ref(vtab->declared);
    return;
  }
  tide_dataset_release(ds);
  tide_err_set(err, SQLITE_CORRUPT_VTAB,
               "dataset %s was damaged, and has other columns than this connection knows: open the database anew",
               rows->name);
}

/* A RENAME or DROP that was rolled back can leave an instance with a handle that is gone: it goes on with the
 * present one. */
static struct tide_dataset *dataset_find(struct tide_vtab_rows *rows, bool write, struct tide_err *err) {
  (void)write;
  if (rows->ds == NULL) {
    mend(vtab_of(&rows->base), err);
    return rows->ds;
  }
  struct tide_dataset *current = tide_dataset_current(rows->ds, err);
  if (current != NULL)
    rows->ds = current;
  return current;
}

/* ---- connecting ---- */

static void destroy(struct dataset_vtab *vtab) {
  if (vtab == NULL)
    return;
  tide_vtab_rows_clear(&vtab->rows);
  tide_spec_unref(vtab->declared);
  tide_free(vtab->schema);
  tide_conn_unref(vtab->conn);
  tide_free(vtab);
}

static struct dataset_vtab *make(struct tide_conn *conn, const char *schema, const char *name, struct tide_err *err) {
  struct dataset_vtab *vtab = tide_alloc_zero(1, sizeof *vtab, err);
  if (vtab == NULL)
    return NULL;
  vtab->conn = tide_conn_ref(conn);
  vtab->schema = tide_copy_string(schema, err);
  vtab->rows.find = dataset_find;
  vtab->rows.noun = noun;
  tide_vtab_rows_init(&vtab->rows, conn->db, name, err);
  return vtab;
}

static void hand_over(struct dataset_vtab *vtab, sqlite3_vtab **ret_vtab, const struct tide_err *err) {
  if (tide_err_is_set(err))
    destroy(vtab);
  else
    *ret_vtab = &vtab->rows.base;
}

/* A virtual table of the dataset. */
static void make_vtab(struct tide_dataset *ds, const char *name, sqlite3_vtab **ret_vtab, struct tide_err *err) {
  struct dataset_vtab *vtab = make(ds->conn, ds->schema, name, err);
  if (vtab != NULL)
    tide_vtab_rows_declare(&vtab->rows, ds->conn->db, ds, err);
  hand_over(vtab, ret_vtab, err);
}

/* One of a damaged dataset, with the columns that it was created with. */
static void make_damaged(struct tide_conn *conn, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
                         struct tide_err *err) {
  struct tide_err unknown = {0};
  struct tide_options options;
  struct dataset_vtab *vtab = make(conn, argv[1], argv[2], err);
  if (vtab != NULL) {
    vtab->declared = tide_spec_parse(argc - 3, argv + 3, &options, &unknown);
    tide_vtab_rows_declare_columns(&vtab->rows, conn->db, vtab->declared, err);
  }
  hand_over(vtab, ret_vtab, err);
}

static int dataset_disconnect(sqlite3_vtab *base) {
  destroy(vtab_of(base));
  return SQLITE_OK;
}

static struct tide_dataset *create_new(struct tide_conn *conn, int argc, const char *const *argv,
                                       struct tide_err *err) {
  struct tide_options options;
  struct tide_spec *spec = tide_spec_parse(argc - 3, argv + 3, &options, err);
  struct tide_dataset *ds = spec != NULL ? tide_dataset_create(conn, argv[1], argv[2], spec, &options, err) : NULL;
  tide_spec_unref(spec);
  if (ds == NULL)
    return NULL;
  tide_sinks_create(conn->db, tide_dataset_names(ds), err);
  if (!tide_err_is_set(err))
    return ds;
  tide_dataset_release(ds);
  return NULL;
}

/* A new dataset as a virtual table. Its partition tables come last of all: a statement behind that one, still in
 * xCreate, would have SQLite forget the table that is being made. */
static void make_new(struct tide_dataset *ds, const char *name, sqlite3_vtab **ret_vtab, struct tide_err *err) {
  sqlite3_vtab *vtab = NULL;
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
  const int64_t rowid = sqlite3_last_insert_rowid(db);
  struct tide_dataset *ds = NULL;
  tide_vtab_rows_check_name(noun, argv[2], &err);
  const bool adopt = tide_spec_parse_adopt(argc - 3, argv + 3, &err);
  if (!tide_err_is_set(&err))
    ds = adopt ? tide_dataset_adopt(conn, argv[1], argv[2], &err) : create_new(conn, argc, argv, &err);
  if (ds != NULL)
    make_new(ds, argv[2], ret_vtab, &err);
  tide_dataset_release(ds);
  sqlite3_set_last_insert_rowid(db, rowid);
  return tide_vtab_rows_connect_error(ret_message, &err);
}

static int dataset_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
                           char **ret_message) {
  (void)db;
  struct tide_err err = {0};
  struct tide_dataset *ds = tide_dataset_acquire(aux, argv[1], argv[2], &err);
  if (ds != NULL) {
    make_vtab(ds, argv[2], ret_vtab, &err);
  } else if ((err.rc & 0xff) == SQLITE_CORRUPT) {
    tide_err_clear(&err);
    make_damaged(aux, argc, argv, ret_vtab, &err);
  }
  tide_dataset_release(ds);
  return tide_vtab_rows_connect_error(ret_message, &err);
}

static int dataset_destroy(sqlite3_vtab *base) {
  struct tide_err err = {0};
  struct dataset_vtab *vtab = vtab_of(base);
  struct tide_dataset *ds = vtab->rows.ds;
  const struct tide_names names = {.schema = vtab->schema, .dataset = vtab->rows.name};
  tide_sinks_drop(vtab->conn->db, ds != NULL ? tide_dataset_names(ds) : names, &err);
  if (ds == NULL)
    tide_dataset_drop_damaged(vtab->conn, names.schema, names.dataset, &err);
  else if (!tide_err_is_set(&err)) /* last, for it takes the handle out of those found: a failed DROP must keep it */
    tide_dataset_drop(ds, &err);
  if (tide_err_is_set(&err))
    return tide_glue_vtab_error(base, &err);
  return dataset_disconnect(base);
}

static int dataset_rename(sqlite3_vtab *base, const char *new_name) {
  struct tide_err err = {0};
  struct tide_dataset *ds = dataset_find(&vtab_of(base)->rows, true, &err);
  if (ds == NULL)
    return tide_glue_vtab_error(base, &err);
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
  struct tide_dataset *ds = dataset_find(&vtab_of(base)->rows, false, &err);
  if (ds != NULL)
    return tide_integrity_check(ds, flags, ret_message);
  if ((err.rc & 0xff) != SQLITE_CORRUPT)
    return err.rc;
  *ret_message = sqlite3_mprintf("%s", err.msg);
  return *ret_message != NULL ? SQLITE_OK : SQLITE_NOMEM;
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
