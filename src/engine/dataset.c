#include "engine/dataset.h"

#include <assert.h>
#include <string.h>

#include "base/host.h"
#include "base/mem.h"
#include "base/stmt.h"
#include "store/shadows.h"
#include "store/sinks.h"
#include "store/unique.h"

/* ---- connection ---- */

struct tide_conn *tide_conn_create(sqlite3 *db, struct tide_err *err) {
  struct tide_conn *conn = tide_alloc_zero(1, sizeof *conn, err);
  if (conn != NULL) {
    conn->db = db;
    conn->refs = 1;
  }
  return conn;
}

struct tide_conn *tide_conn_ref(struct tide_conn *conn) {
  conn->refs++;
  return conn;
}

void tide_conn_unref(struct tide_conn *conn) {
  if (conn == NULL || --conn->refs > 0)
    return;
  tide_tail_press_clear(&conn->press);
  tide_free(conn);
}

struct tide_stmt_pool *tide_conn_pool(struct tide_conn *conn, const char *schema) {
  return sqlite3_stricmp(schema, "main") == 0 ? &conn->pool : NULL;
}

void tide_conn_hold(struct tide_conn *conn) {
  tide_stmt_pool_hold_lasting(&conn->pool);
}

void tide_conn_release(struct tide_conn *conn) {
  tide_stmt_pool_release_lasting(&conn->pool);
  if (conn->datasets == NULL)
    tide_stmt_pool_clear(&conn->pool);
}

static void list(struct tide_dataset *ds) {
  ds->next = ds->conn->datasets;
  ds->conn->datasets = ds;
  ds->listed = true;
}

static void unlist(struct tide_dataset *ds) {
  struct tide_dataset **at = &ds->conn->datasets;
  while (*at != NULL && *at != ds)
    at = &(*at)->next;
  if (*at != NULL)
    *at = ds->next;
  ds->listed = false;
  if (ds->conn->datasets == NULL)
    tide_stmt_pool_clear(&ds->conn->pool);
}

/* ---- handles ---- */

static void destroy(struct tide_dataset *ds) {
  if (ds->listed)
    unlist(ds);
  tide_txn_drop(ds);
  if (ds->pool != NULL) {
    assert(ds->pool->holds == 0);
    tide_stmt_pool_clear(ds->pool);
  }
  tide_free(ds->pool);
  tide_tail_index_clear(&ds->tail);
  tide_known_forget(&ds->known);
  tide_spec_unref(ds->spec);
  tide_free(ds->schema);
  tide_free(ds->name);
  tide_conn_unref(ds->conn);
  tide_free(ds);
}

static struct tide_dataset *create_handle(struct tide_conn *conn, const char *schema, const char *name,
                                          struct tide_err *err) {
  struct tide_dataset *ds = tide_alloc_zero(1, sizeof *ds, err);
  if (ds == NULL)
    return NULL;
  ds->refs = 1;
  ds->conn = tide_conn_ref(conn);
  ds->schema = tide_copy_string(schema, err);
  ds->name = tide_copy_string(name, err);
  ds->pool = tide_alloc_zero(1, sizeof *ds->pool, err);
  tide_options_init(&ds->config.options);
  if (tide_err_is_set(err)) {
    destroy(ds);
    return NULL;
  }
  list(ds);
  return ds;
}

static struct tide_dataset *find_handle(struct tide_conn *conn, const char *schema, const char *name) {
  struct tide_dataset *ds = conn->datasets;
  while (ds != NULL && (sqlite3_stricmp(ds->schema, schema) != 0 || sqlite3_stricmp(ds->name, name) != 0))
    ds = ds->next;
  return ds;
}

struct tide_dataset *tide_dataset_ref(struct tide_dataset *ds) {
  ds->refs++;
  return ds;
}

void tide_dataset_release(struct tide_dataset *ds) {
  if (ds != NULL && --ds->refs == 0)
    destroy(ds);
}

struct tide_dataset *tide_dataset_create(struct tide_conn *conn, const char *schema, const char *name,
                                         struct tide_spec *spec, const struct tide_options *options,
                                         struct tide_err *err) {
  char log_id[TIDE_HOST_ID_SIZE];
  struct tide_dataset *old = find_handle(conn, schema, name);
  if (old != NULL)
    unlist(old);
  struct tide_dataset *ds = create_handle(conn, schema, name, err);
  if (ds == NULL)
    return NULL;
  tide_host_random_id(log_id);
  ds->config.options = *options;
  tide_shadows_check_free(conn->db, tide_dataset_names(ds), err);
  tide_catalog_create(conn->db, tide_dataset_names(ds), spec, options, log_id, err);
  tide_catalog_config(conn->db, tide_dataset_names(ds), &ds->config, err);
  if (tide_err_is_set(err)) {
    tide_dataset_release(ds);
    return NULL;
  }
  ds->spec = tide_spec_ref(spec);
  ds->loaded = true;
  return ds;
}

/* The options that mean something else. */
static void check_options(const char *dataset, const struct tide_options *options, const struct tide_spec *spec,
                          struct tide_err *err) {
  const int64_t by = options->retention_by;
  if (by != TIDE_OPTIONS_BY_INGEST &&
      (by >= (int64_t)spec->ncolumns || !tide_spec_is_timestamp(spec->columns[by].type)))
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: retention_by in %s_config names no TIMESTAMP column", dataset,
                 dataset);
  if (options->unique >= (int64_t)spec->ncolumns)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: unique in %s_config names no column", dataset, dataset);
}

/* Takes a reference over; one that says the same as the handle's is not kept. */
static void take_spec(struct tide_dataset *ds, struct tide_spec *spec) {
  if (ds->spec != NULL && tide_spec_equal(ds->spec, spec)) {
    tide_spec_unref(spec);
    return;
  }
  tide_spec_unref(ds->spec);
  ds->spec = spec;
}

/* Once its config says which it has. */
static void look_at_tables(struct tide_dataset *ds, const struct tide_config *config, struct tide_err *err) {
  struct tide_names names = tide_dataset_names(ds);
  names.unique = config->options.unique != TIDE_OPTIONS_NOT_UNIQUE;
  if (names.unique)
    tide_shadows_check_kinds(ds->conn->db, names, err);
  ds->pool->fleeting = tide_shadows_have_triggers(ds->conn->db, names, err);
}

/* Reads config and spec; a handle of another log of that name is left to those who hold it, and a new one takes its
 * place. */
static struct tide_dataset *load(struct tide_dataset *ds, struct tide_err *err) {
  struct tide_config config;
  struct tide_names names = tide_dataset_names(ds);
  if (!ds->loaded)
    tide_shadows_check_kinds(ds->conn->db, names, err);
  tide_catalog_config(ds->conn->db, names, &config, err);
  if (!tide_err_is_set(err) && !ds->loaded)
    look_at_tables(ds, &config, err);
  if (!tide_err_is_set(err) && ds->loaded && strcmp(config.log_id, ds->config.log_id) != 0) {
    unlist(ds);
    struct tide_dataset *fresh = create_handle(ds->conn, ds->schema, ds->name, err);
    tide_dataset_release(ds);
    return fresh != NULL ? load(fresh, err) : NULL; /* its tables are others, so it looks at them from the start */
  }
  struct tide_spec *spec = tide_catalog_spec(ds->conn->db, tide_dataset_names(ds), err);
  if (spec != NULL)
    check_options(ds->name, &config.options, spec, err);
  if (tide_err_is_set(err)) {
    tide_spec_unref(spec);
    tide_dataset_release(ds);
    return NULL;
  }
  take_spec(ds, spec);
  if (!ds->loaded)
    ds->config = config;
  ds->loaded = true;
  return ds;
}

struct tide_dataset *tide_dataset_acquire(struct tide_conn *conn, const char *schema, const char *name,
                                          struct tide_err *err) {
  struct tide_dataset *ds = find_handle(conn, schema, name);
  ds = ds != NULL ? tide_dataset_ref(ds) : create_handle(conn, schema, name, err);
  return ds != NULL ? load(ds, err) : NULL;
}

struct tide_dataset *tide_dataset_find(struct tide_conn *conn, const char *schema, const char *name) {
  struct tide_dataset *ds = find_handle(conn, schema, name);
  return ds != NULL ? tide_dataset_ref(ds) : NULL;
}

/* Recovery may have lost the newest rows. A number that left the machine is never given again: what the sinks have seen
 * counts, and what the index of unique= has. */
static void raise_since(struct tide_dataset *ds, struct tide_err *err) {
  sqlite3 *db = ds->conn->db;
  const struct tide_names names = tide_dataset_names(ds);
  const int64_t known = tide_sinks_last_since(db, names, err);
  const int64_t entered = names.unique ? tide_unique_last_since(db, names, err) : 0;
  const int64_t last = known > entered ? known : entered;
  tide_dataset_refresh(ds, err);
  if (tide_err_is_set(err) || last <= tide_dataset_last_since(ds))
    return;
  ds->config.sealed_since = last;
  tide_catalog_store_counters(db, names, &ds->config, err);
  tide_dataset_touched(ds);
}

struct tide_dataset *tide_dataset_adopt(struct tide_conn *conn, const char *schema, const char *name,
                                        struct tide_err *err) {
  const struct tide_names names = {.schema = schema, .dataset = name};
  tide_shadows_check_whole(conn->db, names, err);
  struct tide_dataset *ds = tide_err_is_set(err) ? NULL : tide_dataset_acquire(conn, schema, name, err);
  if (ds == NULL)
    return NULL;
  tide_shadows_check_whole(conn->db, tide_dataset_names(ds), err); /* its config says which there should be */
  tide_sinks_adopt(conn->db, names, err);
  raise_since(ds, err);
  if (!tide_err_is_set(err))
    return ds;
  tide_dataset_release(ds);
  return NULL;
}

struct tide_dataset *tide_dataset_current(struct tide_dataset *ds, struct tide_err *err) {
  if (!ds->gone)
    return ds;
  struct tide_dataset *current = tide_dataset_acquire(ds->conn, ds->schema, ds->name, err);
  if (current != NULL)
    tide_dataset_release(ds);
  return current;
}

/* What is in hand was flushed; SQLite may still end the transaction through an instance that holds the handle. */
static void leave(struct tide_dataset *ds) {
  if (ds->listed)
    unlist(ds);
  tide_txn_drop(ds);
  tide_stmt_pool_clear(ds->pool);
  ds->gone = true;
}

void tide_dataset_drop(struct tide_dataset *ds, struct tide_err *err) {
  tide_txn_flush(ds, err); /* a DROP that fails leaves the rows */
  tide_catalog_drop(ds->conn->db, tide_dataset_names(ds), err);
  if (!tide_err_is_set(err))
    leave(ds);
}

void tide_dataset_drop_damaged(struct tide_conn *conn, const char *schema, const char *name, struct tide_err *err) {
  struct tide_dataset *ds = find_handle(conn, schema, name); /* of before the damage */
  struct tide_names names = {.schema = schema, .dataset = name};
  names.unique = tide_shadows_has_unique(conn->db, names, err);
  tide_catalog_drop(conn->db, names, err);
  if (ds != NULL && !tide_err_is_set(err))
    leave(ds);
}

void tide_dataset_rename(struct tide_dataset *ds, const char *new_name, struct tide_err *err) {
  tide_shadows_check_rename(ds->conn->db, tide_dataset_names(ds), new_name, err);
  tide_txn_flush(ds, err);
  tide_catalog_rename(ds->conn->db, tide_dataset_names(ds), new_name, err);
  if (!tide_err_is_set(err))
    leave(ds);
}

/* ---- cache ---- */

static bool data_version(const struct tide_dataset *ds, uint32_t *ret_version) {
  return sqlite3_file_control(ds->conn->db, ds->schema, SQLITE_FCNTL_DATA_VERSION, ret_version) == SQLITE_OK;
}

/* A column was added, by whomever, or the one that was is rolled back. */
static void reload_spec(struct tide_dataset *ds, struct tide_err *err) {
  struct tide_spec *spec = tide_catalog_spec(ds->conn->db, tide_dataset_names(ds), err);
  if (spec != NULL)
    take_spec(ds, spec);
}

static void read_tables(struct tide_dataset *ds, struct tide_err *err) {
  struct tide_config config;
  struct tide_names names = tide_dataset_names(ds);
  tide_runs_forget(&ds->txn.runs);
  tide_known_forget(&ds->known);
  tide_catalog_config(ds->conn->db, names, &config, err);
  if (tide_err_is_set(err))
    return;
  if (strcmp(config.log_id, ds->config.log_id) != 0) {
    tide_err_set(err, SQLITE_SCHEMA, "dataset %s was dropped and made anew", ds->name);
    return;
  }
  /* the same number of seals is no proof: a backup may have been restored over the file */
  if (!ds->version_known || config.seals != ds->config.seals ||
      !tide_tail_index_holds(&ds->tail, ds->conn->db, names, err)) {
    tide_tail_index_reset(&ds->tail);
    ds->epoch++;
  }
  tide_tail_index_extend(&ds->tail, ds->conn->db, names, err);
  struct tide_catalog_summary summary = {0};
  tide_catalog_summary(ds->conn->db, names, &summary, err);
  ds->deleted_max = summary.deleted_max;
  ds->npartitions = summary.partitions;
  if (summary.segments_last > config.sealed_since)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: sealed_since in %s_config is %lld, below a segment's %lld",
                 ds->name, ds->name, (long long)config.sealed_since, (long long)summary.segments_last);
  if (config.columns != (int64_t)ds->spec->ncolumns)
    reload_spec(ds, err);
  check_options(ds->name, &config.options, ds->spec, err);
  ds->config = config;
}

/* After every commit of anybody, so that compiling its statements would be most of a poll that finds nothing. */
static void reload(struct tide_dataset *ds, struct tide_err *err) {
  tide_stmt_pool_hold_lasting(ds->pool);
  read_tables(ds, err);
  tide_stmt_pool_release_lasting(ds->pool);
}

bool tide_dataset_is_fresh(const struct tide_dataset *ds) {
  uint32_t version = 0;
  return ds->listed && ds->loaded && !ds->gone &&
         ((ds->in_txn && ds->txn.open) || (ds->version_known && data_version(ds, &version) && ds->version == version));
}

void tide_dataset_refresh(struct tide_dataset *ds, struct tide_err *err) {
  uint32_t version = 0;
  if (tide_err_is_set(err) || (ds->in_txn && ds->txn.open))
    return;
  const bool versioned = data_version(ds, &version);
  if (ds->version_known && versioned && ds->version == version)
    return;
  reload(ds, err);
  if (tide_err_is_set(err)) {
    tide_dataset_forget(ds);
    return;
  }
  /* the dataset's own uncommitted writes are made with its transaction open, so without one this is what the file
   * has */
  ds->in_txn = ds->txn.open && sqlite3_txn_state(ds->conn->db, ds->schema) == SQLITE_TXN_WRITE;
  ds->version_known = versioned && !ds->in_txn;
  ds->version = version;
}

void tide_dataset_touched(struct tide_dataset *ds) {
  tide_known_forget(&ds->known);
  ds->version_known = false;
  ds->in_txn = ds->txn.open;
}

void tide_dataset_forget(struct tide_dataset *ds) {
  tide_known_forget(&ds->known);
  ds->version_known = false;
  ds->in_txn = false;
  tide_tail_index_reset(&ds->tail);
  tide_runs_forget(&ds->txn.runs);
  ds->epoch++;
}

void tide_dataset_committed(struct tide_dataset *ds) {
  if (!ds->in_txn)
    return;
  ds->in_txn = false;
  ds->version_known = data_version(ds, &ds->version);
}

void tide_dataset_check_unread(const struct tide_dataset *ds, const char *what, struct tide_err *err) {
  if (ds->scans > 0)
    tide_err_set(err, SQLITE_LOCKED,
                 "%s: a statement of this connection is reading dataset %s: finish or reset it first", what, ds->name);
}

int64_t tide_dataset_last_since(const struct tide_dataset *ds) {
  const int64_t tail = tide_tail_index_last(&ds->tail);
  return tail > ds->config.sealed_since ? tail : ds->config.sealed_since;
}

int64_t tide_dataset_now_ms(const struct tide_dataset *ds) {
  return tide_host_now_ms(ds->conn->db, ds->schema);
}
