#include "engine/add_column.h"

#include <string.h>

#include "engine/work.h"

/* A statement that writes keeps what it knows of its table while it runs, which a new schema would take from it. */
static void check_no_writer(const struct tide_dataset *ds, struct tide_err *err) {
  sqlite3_stmt *stmt = NULL;
  while ((stmt = sqlite3_next_stmt(ds->conn->db, stmt)) != NULL && !tide_err_is_set(err)) {
    if (sqlite3_stmt_busy(stmt) && !sqlite3_stmt_readonly(stmt))
      tide_err_set(err, SQLITE_LOCKED,
                   "tidemark_add_column: a statement of this connection is writing: call it in a SELECT of its own");
  }
}

static void check_column(const struct tide_dataset *ds, const struct tide_column *column, struct tide_err *err) {
  const int limit = sqlite3_limit(ds->conn->db, SQLITE_LIMIT_COLUMN, -1) - TIDE_HIDDEN_COLUMNS;
  const int max = limit < TIDE_SPEC_COLUMNS_MAX ? limit : TIDE_SPEC_COLUMNS_MAX;
  if (column->not_null && column->dflt_value.type == TIDE_VAL_NULL)
    tide_err_set(err, SQLITE_ERROR,
                 "dataset %s: column \"%w\" is NOT NULL: rows that are there need a DEFAULT that is not NULL", ds->name,
                 column->name);
  else if (column->dflt_value.n > TIDE_SPEC_DEFAULT_MAX)
    tide_err_set(err, SQLITE_ERROR, "dataset %s: the DEFAULT of column \"%w\" has %llu bytes: at most %d are kept",
                 ds->name, column->name, (unsigned long long)column->dflt_value.n, TIDE_SPEC_DEFAULT_MAX);
  else if ((int64_t)ds->spec->ncolumns >= max)
    tide_err_set(err, SQLITE_ERROR, "dataset %s has %d columns and can have no more", ds->name,
                 (int)ds->spec->ncolumns);
}

/* Whether the dataset, as the file has it, has the column already; another one of its name is an error. */
static bool has_column(const struct tide_dataset *ds, const struct tide_column *column, struct tide_err *err) {
  const int found = tide_spec_find(ds->spec, column->name, strlen(column->name));
  if (tide_err_is_set(err) || found < 0)
    return false;
  if (tide_column_equal(&ds->spec->columns[found], column))
    return true;
  tide_err_set(err, SQLITE_ERROR, "dataset %s has a column \"%w\" already, which is not the same", ds->name,
               ds->spec->columns[found].name);
  return false;
}

static bool is_there(struct tide_dataset *ds, const struct tide_column *column, struct tide_err *err) {
  sqlite3_stmt *snapshot = tide_read_begin(ds->conn->db, ds->schema, err);
  if (!tide_err_is_set(err))
    tide_dataset_refresh(ds, err);
  const bool there = has_column(ds, column, err);
  sqlite3_finalize(snapshot);
  return there;
}

static void add(struct tide_dataset *ds, const struct tide_column *column, bool nested, struct tide_err *err) {
  sqlite3 *db = ds->conn->db;
  tide_catalog_column_add(db, tide_dataset_names(ds), ds->spec->ncolumns, column, err);
  if (nested && !tide_err_is_set(err))
    tide_catalog_undeclare(db, err);
  tide_catalog_redeclare(db, ds->schema, err);
  tide_dataset_forget(ds);
  tide_dataset_refresh(ds, err);
}

static void declare_anew(struct tide_dataset *ds, const struct tide_column *column, struct tide_err *err) {
  tide_catalog_undeclare(ds->conn->db, err);
  tide_err_prefix(err, "dataset %s has the column \"%w\" now, but this connection does not see it: open a new one",
                  ds->name, column->name);
}

int tide_add_column(struct tide_dataset *ds, const struct tide_column *column, bool *ret_added, struct tide_err *err) {
  struct tide_work work;
  *ret_added = false;
  if (is_there(ds, column, err) || tide_err_is_set(err))
    return err->rc;
  check_no_writer(ds, err);
  const bool nested = !sqlite3_get_autocommit(ds->conn->db);
  if (!nested && !tide_err_is_set(err))
    tide_catalog_undeclare(ds->conn->db, err); /* whoever may not do so is told before there is a column */
  tide_work_begin(ds, "tidemark_add_column", &work, err);
  const bool there = has_column(ds, column, err); /* another connection may have been quicker */
  if (!there && !tide_err_is_set(err))
    check_column(ds, column, err);
  if (!there && !tide_err_is_set(err))
    add(ds, column, nested, err);
  tide_work_end(&work, err);
  if (!there && !nested && !tide_err_is_set(err))
    declare_anew(ds, column, err);
  *ret_added = !there && !tide_err_is_set(err);
  return err->rc;
}
