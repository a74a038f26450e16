#include "store/sinks.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "base/stmt_pool.h"
#include "store/durable.h"
#include "store/sinks_sql.h"

/* Runs a statement of a pool; whether it has a row. */
static bool has_row(struct tide_stmt_pool *pool, sqlite3_stmt *stmt, struct tide_err *err) {
  const bool has = tide_stmt_row(stmt, err);
  tide_stmt_pool_give(pool, stmt);
  return has;
}

bool tide_sinks_exist_in_temp(sqlite3 *db, struct tide_stmt_pool *pool, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      pool, db, err, "SELECT 1 FROM temp.sqlite_schema WHERE type = 'table' AND name = 'tidemark_registry'");
  return has_row(pool, stmt, err);
}

bool tide_sinks_exist(sqlite3 *db, const char *schema, struct tide_stmt_pool *pool, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      pool, db, err, "SELECT 1 FROM \"%w\".sqlite_schema WHERE type = 'table' AND name = 'tidemark_registry'", schema);
  return has_row(pool, stmt, err);
}

bool tide_sinks_has_any(sqlite3 *db, const char *schema, struct tide_stmt_pool *pool, struct tide_err *err) {
  return has_row(pool, tide_stmt_pool_take(pool, db, err, "SELECT 1 FROM \"%w\".tidemark_registry LIMIT 1", schema),
                 err);
}

/* The first row's text; finalizes. */
static char *take_text(sqlite3_stmt *stmt, struct tide_err *err) {
  char *found = tide_stmt_row(stmt, err) ? tide_stmt_copy_text(stmt, 0, err) : NULL;
  sqlite3_finalize(stmt);
  return found;
}

char *tide_sinks_find_dataset(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  if (!tide_sinks_exist(db, names.schema, NULL, err))
    return NULL;
  return take_text(tide_stmt_prepare(db, err,
                                     "SELECT dataset FROM \"%w\".tidemark_registry WHERE dataset = %Q COLLATE NOCASE",
                                     names.schema, names.dataset),
                   err);
}

/* Texts are compared as they are, whatever type the column was given, and what is no text with its end at its NUL is
 * damage: either could lie behind every name. */
char *tide_sinks_next_dataset(sqlite3 *db, const char *schema, const char *after, struct tide_err *err) {
  char *found = NULL;
  size_t size = 0;
  sqlite3_stmt *stmt =
      tide_stmt_prepare(db, err,
                        "SELECT dataset FROM \"%w\".tidemark_registry WHERE %Q IS NULL OR +dataset > %Q"
                        " ORDER BY dataset LIMIT 1",
                        schema, after, after);
  if (tide_stmt_row(stmt, err)) {
    const bool typed = sqlite3_column_type(stmt, 0) == SQLITE_TEXT;
    const char *text = tide_stmt_text(stmt, 0, &size, err);
    if (!tide_err_is_set(err) && (!typed || strlen(text) != size))
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "tidemark_registry in schema %s is damaged: a dataset's name is no text",
                   schema);
    found = tide_err_is_set(err) ? NULL : tide_copy_text(text, size, err);
  }
  sqlite3_finalize(stmt);
  return found;
}

/* ---- making them ---- */

/* Cuts the schema's name out of "CREATE ... \"schema\".name ...", as SQLite stores it, and gives the object's name. The
 * caller frees both. */
static char *stored_text(const char *text, const char *schema, char **ret_name, struct tide_err *err) {
  char *prefix = tide_printf(err, "\"%w\".", schema);
  char *sql = tide_printf(err, text, schema);
  char *at = prefix != NULL && sql != NULL ? strstr(sql, prefix) : NULL;
  if (at != NULL) {
    memmove(at, at + strlen(prefix), strlen(at + strlen(prefix)) + 1);
    *ret_name = tide_copy_text(at, strcspn(at, "( \n"), err);
  }
  tide_free(prefix);
  return sql;
}

/* ret_name as above. */
static bool has_earlier_view(sqlite3 *db, const char *schema, const char *text, char **ret_name, struct tide_err *err) {
  char *sql = stored_text(text, schema, ret_name, err);
  const bool has = tide_stmt_int(db, 0, err, "SELECT count(*) FROM \"%w\".sqlite_schema WHERE name = %Q AND sql = %Q",
                                 schema, *ret_name, sql) > 0;
  tide_free(sql);
  return has;
}

/* The schema's views in an earlier text go: create_missing makes the present ones. */
static void drop_earlier_views(sqlite3 *db, const char *schema, struct tide_err *err) {
  for (size_t i = 0; tide_sinks_sql_earlier_views[i] != NULL && !tide_err_is_set(err); i++) {
    char *name = NULL;
    if (has_earlier_view(db, schema, tide_sinks_sql_earlier_views[i], &name, err))
      tide_stmt_exec(db, err, "DROP VIEW \"%w\".\"%w\"", schema, name);
    tide_free(name);
  }
}

/* Whether the schema has the object. In one that has no registry yet it must be the very same: somebody may have a
 * table of that name. */
static bool has_object(sqlite3 *db, const char *schema, const char *text, bool known, struct tide_err *err) {
  char *name = NULL;
  char *sql = stored_text(text, schema, &name, err);
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, err, "SELECT type, sql FROM \"%w\".sqlite_schema WHERE name = %Q COLLATE NOCASE", schema, name);
  const bool found = tide_stmt_row(stmt, err);
  const char *stored = found ? tide_stmt_text(stmt, 1, NULL, err) : NULL;
  if (found && !known && (stored == NULL || sql == NULL || strcmp(stored, sql) != 0))
    tide_err_set(err, SQLITE_ERROR, "schema %s has a %s %s, a name that Tidemark needs: rename or drop it", schema,
                 sqlite3_column_text(stmt, 0), name);
  sqlite3_finalize(stmt);
  tide_free(sql);
  tide_free(name);
  return found;
}

static void create_missing(sqlite3 *db, const char *schema, struct tide_err *err) {
  const char *const *const lists[] = {tide_sinks_sql_tables, tide_sinks_sql_triggers};
  const bool known = tide_sinks_exist(db, schema, NULL, err);
  drop_earlier_views(db, schema, err);
  for (size_t list = 0; list < sizeof lists / sizeof *lists; list++) {
    for (size_t i = 0; lists[list][i] != NULL && !tide_err_is_set(err); i++) {
      if (!has_object(db, schema, lists[list][i], known, err))
        tide_stmt_exec(db, err, lists[list][i], schema);
    }
  }
}

/* SQLite rolls a failed statement back in every file, but opens its savepoint only in those that the statement names.
 * An INSERT that may have to abort among several rows opens one of its own, behind that of the statement it runs in,
 * and with it those before it that the file has not got: it closes its own only. */
void tide_sinks_enlist(sqlite3 *db, const char *schema, struct tide_err *err) {
  struct tide_err none = {0};
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, &none, "INSERT INTO \"%w\".tidemark_registry SELECT dataset FROM \"%w\".tidemark_registry WHERE false",
      schema, schema);
  /* asked afterwards: who has read does not wait for the lock. A schema that was detached has nothing to enlist. */
  const bool attached = sqlite3_db_readonly(db, schema) >= 0;
  if (tide_err_is_set(&none) &&
      (none.rc != SQLITE_CORRUPT_VTAB || (attached && tide_sinks_exist(db, schema, NULL, err))))
    tide_err_set(err, none.rc, "%s", none.msg);
  tide_stmt_run(stmt, err);
  sqlite3_finalize(stmt);
}

/* The tables with a column `dataset`, the registry first: its row gone is what lets the others change. */
static const char *const dataset_tables[] = {"registry",     "sink", "sink_state", "batch",     "export_log",
                                             "export_total", "dead", "sink_count", "sink_fork", NULL};

static void delete_rows(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  for (size_t i = 0; dataset_tables[i] != NULL; i++)
    tide_stmt_exec(db, err, "DELETE FROM \"%w\".tidemark_%s WHERE dataset = %Q COLLATE NOCASE", names.schema,
                   dataset_tables[i], names.dataset);
}

static void enter(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  tide_stmt_exec(db, err, "INSERT OR REPLACE INTO \"%w\".tidemark_registry VALUES(%Q)", names.schema, names.dataset);
}

void tide_sinks_create(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  create_missing(db, names.schema, err);
  delete_rows(db, names, err);
  enter(db, names, err);
}

void tide_sinks_adopt(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  create_missing(db, names.schema, err);
  char *earlier = tide_err_is_set(err) ? NULL : tide_sinks_find_dataset(db, names, err);
  if (earlier != NULL && strcmp(earlier, names.dataset) != 0)
    tide_sinks_rename(db, (struct tide_names){.schema = names.schema, .dataset = earlier}, names.dataset, err);
  tide_free(earlier);
  enter(db, names, err);
}

bool tide_sinks_lack_any(sqlite3 *db, const char *schema, struct tide_err *err) {
  return tide_stmt_int(db, 0, err,
                       "SELECT count(*) FROM \"%w\".sqlite_schema WHERE name IN"
                       " ('tidemark_dead', 'tidemark_sink_count', 'tidemark_sink_fork')",
                       schema) < 3;
}

static bool has_earlier_views(sqlite3 *db, const char *schema, struct tide_err *err) {
  bool has = false;
  for (size_t i = 0; tide_sinks_sql_earlier_views[i] != NULL && !has; i++) {
    char *name = NULL;
    has = has_earlier_view(db, schema, tide_sinks_sql_earlier_views[i], &name, err);
    tide_free(name);
  }
  return has;
}

void tide_sinks_complete(sqlite3 *db, const char *schema, struct tide_err *err) {
  struct tide_durable txn;
  if (!tide_sinks_lack_any(db, schema, err) && !has_earlier_views(db, schema, err))
    return;
  if (tide_err_is_set(err))
    return;
  tide_durable_begin_plain(db, schema, &txn, err);
  if (!tide_err_is_set(err))
    create_missing(db, schema, err);
  tide_durable_end(&txn, err);
}

int64_t tide_sinks_last_since(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_int(db, 0, err,
                       "SELECT max(until) FROM (SELECT until FROM \"%w\".tidemark_export_log WHERE dataset = %Q"
                       " UNION ALL SELECT until FROM \"%w\".tidemark_batch WHERE dataset = %Q)",
                       names.schema, names.dataset, names.schema, names.dataset);
}

/* ---- following their datasets ---- */

void tide_sinks_drop(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  if (!tide_sinks_exist(db, names.schema, NULL, err))
    return;
  create_missing(db, names.schema, err);
  delete_rows(db, names, err);
}

void tide_sinks_rename(sqlite3 *db, struct tide_names names, const char *new_name, struct tide_err *err) {
  if (!tide_sinks_exist(db, names.schema, NULL, err))
    return;
  create_missing(db, names.schema, err);
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
