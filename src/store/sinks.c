#include "store/sinks.h"

#include "base/mem.h"
#include "base/stmt.h"
#include "base/stmt_pool.h"
#include "store/sinks_sql.h"

static void create_all(sqlite3 *db, const char *schema, struct tide_err *err) {
  for (size_t i = 0; tide_sinks_sql_tables[i] != NULL; i++)
    tide_stmt_exec(db, err, tide_sinks_sql_tables[i], schema);
  for (size_t i = 0; tide_sinks_sql_triggers[i] != NULL; i++)
    tide_stmt_exec(db, err, tide_sinks_sql_triggers[i], schema);
}

bool tide_sinks_exist(sqlite3 *db, const char *schema, struct tide_err *err) {
  return tide_stmt_int(db, 0, err,
                       "SELECT 1 FROM \"%w\".sqlite_schema WHERE type = 'table' AND name = 'tidemark_registry'",
                       schema) != 0;
}

bool tide_sinks_has_any(sqlite3 *db, const char *schema, struct tide_err *err) {
  return tide_stmt_int(db, 0, err, "SELECT 1 FROM \"%w\".tidemark_registry LIMIT 1", schema) != 0;
}

/* The first row's text; finalizes. */
static char *take_text(sqlite3_stmt *stmt, struct tide_err *err) {
  char *found = tide_stmt_row(stmt, err) ? tide_stmt_copy_text(stmt, 0, err) : NULL;
  sqlite3_finalize(stmt);
  return found;
}

char *tide_sinks_find_dataset(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  if (!tide_sinks_exist(db, names.schema, err))
    return NULL;
  return take_text(tide_stmt_prepare(db, err,
                                     "SELECT dataset FROM \"%w\".tidemark_registry WHERE dataset = %Q COLLATE NOCASE",
                                     names.schema, names.dataset),
                   err);
}

char *tide_sinks_next_dataset(sqlite3 *db, const char *schema, const char *after, struct tide_err *err) {
  return take_text(tide_stmt_prepare(db, err,
                                     "SELECT dataset FROM \"%w\".tidemark_registry WHERE %Q IS NULL OR dataset > %Q"
                                     " ORDER BY dataset LIMIT 1",
                                     schema, after, after),
                   err);
}

void tide_sinks_create(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  if (!tide_sinks_exist(db, names.schema, err))
    create_all(db, names.schema, err);
  tide_stmt_exec(db, err, "INSERT OR REPLACE INTO \"%w\".tidemark_registry VALUES(%Q)", names.schema, names.dataset);
}

void tide_sinks_lock(sqlite3 *db, const char *schema, struct tide_err *err) {
  struct tide_err none = {0};
  sqlite3_stmt *stmt = tide_stmt_prepare(db, &none, "DELETE FROM \"%w\".tidemark_registry WHERE false", schema);
  if (tide_err_is_set(&none) && none.rc != SQLITE_ERROR) /* that is: no such table */
    tide_err_set(err, none.rc, "%s", none.msg);
  tide_stmt_run(stmt, err);
  sqlite3_finalize(stmt);
}

/* The tables with a column `dataset`, the registry first: its row gone is what lets the others change. */
static const char *const dataset_tables[] = {"registry",   "sink",         "sink_state", "batch",
                                             "export_log", "export_total", NULL};

void tide_sinks_drop(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  if (!tide_sinks_exist(db, names.schema, err))
    return;
  for (size_t i = 0; dataset_tables[i] != NULL; i++)
    tide_stmt_exec(db, err, "DELETE FROM \"%w\".tidemark_%s WHERE dataset = %Q", names.schema, dataset_tables[i],
                   names.dataset);
}

void tide_sinks_rename(sqlite3 *db, struct tide_names names, const char *new_name, struct tide_err *err) {
  if (!tide_sinks_exist(db, names.schema, err))
    return;
  for (size_t i = 0; dataset_tables[i] != NULL; i++)
    tide_stmt_exec(db, err, "UPDATE \"%w\".tidemark_%s SET dataset = %Q WHERE dataset = %Q", names.schema,
                   dataset_tables[i], new_name, names.dataset);
}

sqlite3_stmt *tide_sinks_guard_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(
      names.pool, db, err,
      "SELECT batch, sink FROM \"%w\".tidemark_batch WHERE dataset = %Q AND since < ?1 AND until >= ?1"
      " AND partition = (SELECT name FROM " TIDE_TABLE("partition") " WHERE id = ?2) LIMIT 1",
      names.schema, names.dataset, names.schema, names.dataset);
}

void tide_sinks_guard(sqlite3_stmt *stmt, struct tide_names names, int64_t since, int64_t partition,
                      struct tide_err *err) {
  if (tide_err_is_set(err))
    return;
  sqlite3_bind_int64(stmt, 1, since);
  sqlite3_bind_int64(stmt, 2, partition);
  if (!tide_stmt_row(stmt, err))
    return;
  tide_err_set(
      err, SQLITE_CONSTRAINT_VTAB,
      "dataset %s: row %lld is in open batch %lld of sink %s: it can be deleted when that is acked or given up",
      names.dataset, (long long)since, (long long)sqlite3_column_int64(stmt, 0), sqlite3_column_text(stmt, 1));
  sqlite3_reset(stmt);
}
