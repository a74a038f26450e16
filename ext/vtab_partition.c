#include "vtab_partition.h"

#include <string.h>

#include "base/mem.h"
#include "glue.h"
#include "model/partition.h"
#include "model/partition_table.h"
#include "store/partition_tables.h"
#include "store/sinks.h"
#include "vtab_rows.h"

static const char noun[] = "partition table";

struct partition_vtab {
  struct tide_vtab_rows rows;
  struct tide_conn *conn;
  struct tide_partition_table words;
  char *schema; /* the dataset's */
  bool foreign; /* which is not the table's own */
  struct tide_vtab_fixed fixed;
};

static struct partition_vtab *vtab_of(sqlite3_vtab *vtab) {
  return (struct partition_vtab *)vtab;
}

/* ---- the dataset ---- */

/* Its name as it was made; NULL when there is none. */
static char *find_name(const struct partition_vtab *vtab, struct tide_err *err) {
  sqlite3 *db = vtab->conn->db;
  if (sqlite3_txn_state(db, vtab->schema) < 0) /* a schema that is not attached */
    return NULL;
  return tide_sinks_find_dataset(db, (struct tide_names){.schema = vtab->schema, .dataset = vtab->words.dataset}, err);
}

/* The values that the words give the partition columns, typed as these are; a view of held. */
static void type_values(const struct partition_vtab *vtab, const struct tide_dataset *ds,
                        sqlite3_stmt *held[TIDE_SPEC_PARTITION_MAX], struct tide_val values[TIDE_SPEC_PARTITION_MAX],
                        struct tide_err *err) {
  const struct tide_partition_value *words[TIDE_SPEC_PARTITION_MAX];
  if (tide_partition_table_match(&vtab->words, ds->spec, words, err) != 0)
    return;
  for (size_t i = 0; i < ds->spec->npartition && !tide_err_is_set(err); i++) {
    const struct tide_literal literal = {words[i]->constant, strlen(words[i]->constant)};
    held[i] = tide_catalog_literal(vtab->conn->db, &literal, err);
    if (held[i] != NULL)
      tide_glue_coerce(sqlite3_column_value(held[i], 0), &ds->spec->columns[ds->spec->partition[i]], ds->name,
                       &values[i], err);
  }
}

static void fix(const struct partition_vtab *vtab, const struct tide_dataset *ds, struct tide_vtab_fixed *fixed,
                struct tide_err *err) {
  sqlite3_stmt *held[TIDE_SPEC_PARTITION_MAX] = {NULL};
  struct tide_val values[TIDE_SPEC_PARTITION_MAX] = {{0}};
  type_values(vtab, ds, held, values, err);
  if (!tide_err_is_set(err))
    tide_partition_encode(ds->spec, values, &fixed->text, err);
  if (!tide_err_is_set(err))
    tide_partition_decode(ds->spec, (const char *)fixed->text.data, fixed->text.len, fixed->values, &fixed->bytes, err);
  for (size_t i = 0; i < TIDE_SPEC_PARTITION_MAX; i++)
    sqlite3_finalize(held[i]);
}

/* The dataset that there is now, and the table's partition in it; NULL with nothing left behind on failure. */
static struct tide_dataset *look(const struct partition_vtab *vtab, struct tide_vtab_fixed *ret_fixed,
                                 struct tide_err *err) {
  struct tide_vtab_fixed fixed = {.text = {0}};
  char *name = find_name(vtab, err);
  if (name == NULL)
    tide_err_set(err, SQLITE_ERROR, "its dataset %s is gone", vtab->words.dataset);
  struct tide_dataset *ds = name != NULL ? tide_dataset_acquire(vtab->conn, vtab->schema, name, err) : NULL;
  tide_free(name);
  if (ds != NULL)
    fix(vtab, ds, &fixed, err);
  if (!tide_err_is_set(err)) {
    *ret_fixed = fixed;
    return ds;
  }
  tide_vtab_fixed_clear(&fixed);
  tide_dataset_release(ds);
  tide_err_prefix(err, "%s %s", noun, vtab->rows.name);
  return NULL;
}

static void take_up(struct partition_vtab *vtab, struct tide_err *err) {
  struct tide_vtab_rows *rows = &vtab->rows;
  struct tide_vtab_fixed fixed;
  struct tide_dataset *ds = look(vtab, &fixed, err);
  if (ds == NULL)
    return;
  if (rows->spec == NULL || !tide_spec_equal(rows->spec, ds->spec)) {
    /* SQLite compiles a statement that says so again, with the table connected anew if it has seen why */
    tide_err_set(err, SQLITE_SCHEMA,
                 "%s %s: dataset %s has other columns than when this connection first saw the table: run the statement "
                 "again, or drop and create the table",
                 noun, rows->name, ds->name);
    tide_vtab_fixed_clear(&fixed);
    tide_dataset_release(ds);
    return;
  }
  tide_vtab_fixed_clear(&vtab->fixed);
  vtab->fixed = fixed;
  tide_dataset_release(rows->ds);
  rows->ds = ds;
  tide_spec_unref(rows->spec);
  rows->spec = tide_spec_ref(ds->spec);
}

/* SQLite makes the table connect anew when its own schema changes, but not when the schema of a TEMP table's dataset
 * does, or another file is attached under that name: so look again, but not amid the dataset's transaction. */
static bool may_be_stale(const struct partition_vtab *vtab) {
  const struct tide_dataset *ds = vtab->rows.ds;
  return ds == NULL || ds->gone || ds->spec != vtab->rows.spec || (vtab->foreign && !ds->txn.open);
}

static struct tide_dataset *partition_find(struct tide_vtab_rows *rows, bool write, struct tide_err *err) {
  struct partition_vtab *vtab = vtab_of(&rows->base);
  /* The statement has its own schema only. First of all, for who has read does not wait for a lock; and by an ordinary
   * table, for in xBegin SQLite's list of virtual tables in the transaction has room for this one alone. */
  if (write && vtab->foreign &&
      (!rows->enlisted || sqlite3_txn_state(vtab->conn->db, vtab->schema) != SQLITE_TXN_WRITE)) {
    tide_sinks_enlist(vtab->conn->db, vtab->schema, err);
    rows->enlisted = !tide_err_is_set(err);
  }
  if (may_be_stale(vtab) && !tide_err_is_set(err))
    take_up(vtab, err);
  return tide_err_is_set(err) ? NULL : rows->ds;
}

/* ---- connecting ---- */

static void destroy(struct partition_vtab *vtab) {
  if (vtab == NULL)
    return;
  tide_vtab_rows_clear(&vtab->rows);
  tide_vtab_fixed_clear(&vtab->fixed);
  tide_partition_table_clear(&vtab->words);
  tide_free(vtab->schema);
  tide_conn_unref(vtab->conn);
  tide_free(vtab);
}

static bool is_temp(const char *schema) {
  return sqlite3_stricmp(schema, "temp") == 0;
}

static struct partition_vtab *make(struct tide_conn *conn, int argc, const char *const *argv, struct tide_err *err) {
  struct partition_vtab *vtab = tide_alloc_zero(1, sizeof *vtab, err);
  if (vtab == NULL)
    return NULL;
  vtab->conn = tide_conn_ref(conn);
  vtab->rows.find = partition_find;
  vtab->rows.noun = noun;
  tide_vtab_rows_init(&vtab->rows, conn->db, argv[2], err);
  if (!tide_err_is_set(err) && tide_partition_table_parse(argc - 3, argv + 3, &vtab->words, err) != 0)
    tide_err_prefix(err, "%s %s", noun, argv[2]);
  /* in a file that is attached under another name, what was its own schema when it was made still is */
  const bool elsewhere = is_temp(argv[1]) && vtab->words.schema != NULL;
  vtab->schema = tide_copy_string(elsewhere ? vtab->words.schema : argv[1], err);
  vtab->foreign = elsewhere && !is_temp(vtab->words.schema);
  return vtab;
}

/* What is refused of a new table only. */
static void check_new(const struct partition_vtab *vtab, const char *schema, struct tide_err *err) {
  const struct tide_partition_table *words = &vtab->words;
  tide_vtab_rows_check_name(noun, vtab->rows.name, err);
  if (!tide_err_is_set(err) && words->schema != NULL && !is_temp(schema) && sqlite3_stricmp(words->schema, schema) != 0)
    tide_err_set(err, SQLITE_ERROR,
                 "%s %s: its dataset must be in its own schema %s, not %s: only a TEMP table may name another", noun,
                 vtab->rows.name, schema, words->schema);
  if (!tide_err_is_set(err) && vtab->foreign && sqlite3_txn_state(vtab->conn->db, vtab->schema) >= 0 &&
      !tide_partition_tables_schema_is_known(vtab->conn->db, vtab->schema, err))
    tide_err_set(
        err, SQLITE_ERROR,
        "%s %s: another connection has changed schema %s: read from its dataset %s once, then create the table", noun,
        vtab->rows.name, vtab->schema, words->dataset);
  char *name = tide_err_is_set(err) ? NULL : find_name(vtab, err);
  if (name == NULL)
    tide_err_set(err, SQLITE_ERROR, "%s %s: no such dataset in schema %s: %s%s", noun, vtab->rows.name, vtab->schema,
                 words->dataset,
                 is_temp(schema) && words->schema == NULL ? "; write one of another schema as schema.dataset" : "");
  tide_free(name);
}

/* Of a table without its dataset, whose columns nobody knows but those of the words. One column at least must be seen,
 * for SQLite takes a SELECT * of none as one without a table. */
static void declare_alone(struct partition_vtab *vtab, struct tide_err *err) {
  sqlite3 *db = vtab->conn->db;
  struct tide_buf sql = {0};
  tide_buf_put_string(&sql, "CREATE TABLE x(", err);
  for (size_t i = 0; i < vtab->words.nvalues; i++)
    tide_buf_printf(&sql, err, "\"%w\", ", vtab->words.values[i].column);
  tide_buf_printf(&sql, err, "%s%s, %s HIDDEN, %s HIDDEN)", tide_spec_hidden_name(TIDE_HIDDEN_SINCE),
                  vtab->words.nvalues > 0 ? " HIDDEN" : "", tide_spec_hidden_name(TIDE_HIDDEN_PARTITION),
                  tide_spec_hidden_name(TIDE_HIDDEN_INGESTED_AT));
  tide_buf_put_u8(&sql, 0, err);
  if (!tide_err_is_set(err) && tide_glue_declare(db, (const char *)sql.data, err) != SQLITE_OK)
    tide_err_prefix(err, "%s %s", noun, vtab->rows.name);
  sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  tide_buf_clear(&sql);
}

/* Whether that is how things stand and no accident: then the table connects all the same, so that it can be dropped,
 * and says so whenever it is used. */
static bool is_lasting(const struct tide_err *err) {
  const int code = err->rc & 0xff;
  return code == SQLITE_ERROR || code == SQLITE_CORRUPT || code == SQLITE_CONSTRAINT;
}

static int connect(struct tide_conn *conn, int argc, const char *const *argv, bool create, sqlite3_vtab **ret_vtab,
                   char **ret_message) {
  struct tide_err err = {0};
  struct tide_err absent = {0};
  struct partition_vtab *vtab = make(conn, argc, argv, &err);
  if (create && !tide_err_is_set(&err))
    check_new(vtab, argv[1], &err);
  struct tide_dataset *ds = tide_err_is_set(&err) ? NULL : look(vtab, &vtab->fixed, &absent);
  if (tide_err_is_set(&absent) && (create || !is_lasting(&absent)))
    tide_err_set(&err, absent.rc, "%s", absent.msg);
  if (ds != NULL) {
    tide_vtab_rows_declare(&vtab->rows, conn->db, ds, &err);
    vtab->rows.fixed = &vtab->fixed;
    tide_dataset_release(ds);
  } else if (!tide_err_is_set(&err)) {
    declare_alone(vtab, &err);
  }
  if (tide_err_is_set(&err))
    destroy(vtab);
  else
    *ret_vtab = &vtab->rows.base;
  return tide_vtab_rows_connect_error(ret_message, &err);
}

static int partition_create(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
                            char **ret_message) {
  (void)db;
  return connect(aux, argc, argv, true, ret_vtab, ret_message);
}

static int partition_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret_vtab,
                             char **ret_message) {
  (void)db;
  return connect(aux, argc, argv, false, ret_vtab, ret_message);
}

static int partition_disconnect(sqlite3_vtab *base) {
  destroy(vtab_of(base));
  return SQLITE_OK;
}

/* SQLite tells a dropped table nothing of how the transaction ends, which the dataset must hear if this one has
 * written: then the dataset's own table hears it. */
static int partition_destroy(sqlite3_vtab *base) {
  struct tide_err err = {0};
  struct tide_dataset *ds = vtab_of(base)->rows.ds;
  if (ds != NULL && !ds->gone && ds->txn.open) {
    tide_txn_flush(ds, &err);
    if (!tide_err_is_set(&err))
      tide_catalog_join_transaction(ds->conn->db, tide_dataset_names(ds), &err);
  }
  return tide_err_is_set(&err) ? tide_glue_vtab_error(base, &err) : partition_disconnect(base);
}

static int partition_rename(sqlite3_vtab *base, const char *new_name) {
  struct tide_err err = {0};
  tide_vtab_rows_check_name(noun, new_name, &err);
  return tide_glue_vtab_error(base, &err);
}

/* ---- module: no xShadowName, for there are no shadow tables, and no xIntegrity, for the dataset's sees all ---- */

static const sqlite3_module module = {.iVersion = 2,
                                      .xCreate = partition_create,
                                      .xConnect = partition_connect,
                                      .xDisconnect = partition_disconnect,
                                      .xDestroy = partition_destroy,
                                      .xRename = partition_rename,
                                      TIDE_VTAB_ROWS_METHODS};

static void unref_conn(void *conn) {
  tide_conn_unref(conn);
}

int tide_vtab_partition_register(struct tide_conn *conn) {
  return sqlite3_create_module_v2(conn->db, TIDE_PARTITION_TABLE_MODULE, &module, tide_conn_ref(conn), unref_conn);
}
