#include "store/catalog_column.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "base/stmt_pool.h"
#include "store/bind.h"

/* ---- writing ---- */

static sqlite3_stmt *insert_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_prepare(db, err, "INSERT INTO " TIDE_TABLE("column") " VALUES(?1, ?2, ?3, ?4, ?5, ?6)", names.schema,
                           names.dataset);
}

static void insert_column(sqlite3_stmt *stmt, size_t ordinal, const struct tide_column *column, struct tide_err *err) {
  if (tide_err_is_set(err))
    return;
  sqlite3_bind_int64(stmt, 1, (int64_t)ordinal);
  sqlite3_bind_text(stmt, 2, column->name, -1, SQLITE_STATIC);
  sqlite3_bind_text(stmt, 3, tide_spec_type_name(column->type), -1, SQLITE_STATIC);
  sqlite3_bind_int(stmt, 4, column->not_null);
  if (column->partition_at >= 0)
    sqlite3_bind_int(stmt, 5, column->partition_at);
  else
    sqlite3_bind_null(stmt, 5);
  tide_bind_value(stmt, 6, &column->dflt_value, err);
  tide_stmt_run(stmt, err);
}

void tide_catalog_columns_create(sqlite3 *db, struct tide_names names, const struct tide_spec *spec,
                                 struct tide_err *err) {
  sqlite3_stmt *stmt = insert_prepare(db, names, err);
  for (size_t i = 0; i < spec->ncolumns; i++)
    insert_column(stmt, i, &spec->columns[i], err);
  sqlite3_finalize(stmt);
}

void tide_catalog_column_add(sqlite3 *db, struct tide_names names, size_t ordinal, const struct tide_column *column,
                             struct tide_err *err) {
  sqlite3_stmt *stmt = insert_prepare(db, names, err);
  insert_column(stmt, ordinal, column, err);
  sqlite3_finalize(stmt);
  tide_stmt_exec(db, err, "UPDATE " TIDE_TABLE("config") " SET value = %d WHERE key = 'columns'", names.schema,
                 names.dataset, (int)ordinal + 1);
}

/* ---- reading ---- */

/* Of the column's own type, for it is given out as if it had been stored. */
static void read_default(sqlite3_stmt *stmt, int at, struct tide_column *column, struct tide_err *err) {
  struct tide_val value = tide_val_null();
  const int type = sqlite3_column_type(stmt, at);
  if (type == SQLITE_INTEGER) {
    value = tide_val_int(sqlite3_column_int64(stmt, at));
  } else if (type == SQLITE_FLOAT) {
    value = tide_val_real(sqlite3_column_double(stmt, at));
  } else if (type == SQLITE_TEXT) {
    size_t size = 0;
    const char *text = tide_stmt_text(stmt, at, &size, err);
    value = tide_val_text(text, size);
  } else if (type == SQLITE_BLOB) {
    const void *bytes = sqlite3_column_blob(stmt, at);
    value = tide_val_blob(bytes, (size_t)sqlite3_column_bytes(stmt, at));
    if (bytes == NULL && value.n > 0)
      tide_err_nomem(err);
  }
  const uint8_t stored = tide_spec_stored_type(column->type);
  if (value.n > TIDE_SPEC_DEFAULT_MAX ||
      (stored != TIDE_VAL_NULL && value.type != TIDE_VAL_NULL && value.type != stored))
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dflt_value is not of the column's type");
  if (!tide_err_is_set(err))
    tide_column_set_default(column, &value, err);
}

/* Names that SQLite would refuse to declare: a table that it does not connect is one that it does not drop. */
static bool name_is_free(const struct tide_spec *spec, const char *name) {
  for (int i = 0; i < TIDE_HIDDEN_COLUMNS; i++) {
    if (sqlite3_stricmp(name, tide_spec_hidden_name(i)) == 0)
      return false;
  }
  return tide_spec_find(spec, name, strlen(name)) < 0;
}

static void read_column(sqlite3_stmt *stmt, struct tide_spec *spec, size_t *cap, const char *dataset,
                        struct tide_err *err) {
  void *columns = spec->columns;
  if (tide_grow(&columns, cap, spec->ncolumns + 1, sizeof *spec->columns, err) != 0)
    return;
  spec->columns = columns;
  struct tide_column column = {.partition_at = -1};
  const char *name = tide_stmt_text(stmt, 0, NULL, err);
  const char *type = tide_stmt_text(stmt, 1, NULL, err);
  if (name == NULL || type == NULL || !tide_spec_type_of(type, strlen(type), &column.type)) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_column row %d is not a column", dataset, dataset,
                 (int)spec->ncolumns);
    return;
  }
  if (!name_is_free(spec, name)) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_column row %d has the name of another column, \"%w\"",
                 dataset, dataset, (int)spec->ncolumns, name);
    return;
  }
  column.not_null = sqlite3_column_int(stmt, 2) != 0;
  if (sqlite3_column_type(stmt, 3) != SQLITE_NULL) {
    column.partition_at = sqlite3_column_int(stmt, 3);
    spec->npartition++;
  }
  column.name = tide_copy_string(name, err);
  read_default(stmt, 4, &column, err);
  tide_err_prefix(err, "dataset %s: %s_column row %d", dataset, dataset, (int)spec->ncolumns);
  if (tide_err_is_set(err))
    tide_column_clear(&column);
  else
    spec->columns[spec->ncolumns++] = column;
}

static void place_partition_columns(struct tide_spec *spec, const char *dataset, struct tide_err *err) {
  if (spec->npartition > TIDE_SPEC_PARTITION_MAX) {
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_column has more than %d partition columns", dataset, dataset,
                 TIDE_SPEC_PARTITION_MAX);
    return;
  }
  spec->partition = tide_alloc_zero(spec->npartition, sizeof *spec->partition, err);
  if (spec->partition == NULL)
    return;
  size_t placed = 0;
  for (size_t at = 0; at < spec->npartition; at++) {
    for (size_t i = 0; i < spec->ncolumns; i++) {
      if (spec->columns[i].partition_at == (int)at) {
        spec->partition[at] = i;
        placed++;
      }
    }
  }
  if (placed != spec->npartition)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_column names the partition columns twice or not at all",
                 dataset, dataset);
}

struct tide_spec *tide_catalog_spec(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  struct tide_spec *spec = tide_err_is_set(err) ? NULL : tide_alloc_zero(1, sizeof *spec, err);
  if (spec == NULL)
    return NULL;
  spec->refs = 1;
  size_t cap = 0;
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err,
      "SELECT name, type, not_null, partition_at, dflt_value FROM " TIDE_TABLE("column") " ORDER BY ordinal LIMIT %d",
      names.schema, names.dataset, TIDE_SPEC_COLUMNS_MAX);
  while (tide_stmt_row(stmt, err))
    read_column(stmt, spec, &cap, names.dataset, err);
  tide_stmt_pool_give(names.pool, stmt);
  if (!tide_err_is_set(err) && spec->ncolumns == 0)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_column is empty", names.dataset, names.dataset);
  if (!tide_err_is_set(err))
    place_partition_columns(spec, names.dataset, err);
  if (tide_err_is_set(err)) {
    tide_spec_unref(spec);
    return NULL;
  }
  return spec;
}

/* ---- a column more ---- */

sqlite3_stmt *tide_catalog_literal(sqlite3 *db, const struct tide_literal *literal, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_prepare(db, err, "SELECT %.*s", (int)literal->size, literal->at);
  if (tide_stmt_row(stmt, err))
    return stmt;
  sqlite3_finalize(stmt);
  return NULL;
}

/* SQLite itself adds no column to a virtual table; this connection declares one anew after writable_schema=RESET.
 * Without a space it obeys an interrupted connection too, though it says that it did not; and what a host's authorizer
 * ignores says nothing. It was done when writable_schema is off afterwards. */
void tide_catalog_undeclare(sqlite3 *db, struct tide_err *err) {
  struct tide_err said = {0};
  int writable = 0;
  int pending = 0;
  sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, -1, &writable);
  sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
  tide_stmt_exec(db, &said, "PRAGMA\"writable_schema\"=RESET;");
  sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, -1, &pending);
  sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, writable, NULL);
  if (!pending)
    return;
  tide_err_set(&said, SQLITE_AUTH, "the host's authorizer ignores it");
  tide_err_prefix(&said, "PRAGMA writable_schema=RESET");
  tide_err_set(err, said.rc, "%s", said.msg);
}

/* When memory fails while SQLite reads the changed schema, it forgets all of it, and no statement that is not at work
 * can be run any more: one that counts as a write, and is on its row, has the transaction rolled back. A host that denies
 * the pragma goes without. */
static sqlite3_stmt *guard_begin(sqlite3 *db, const char *schema, struct tide_err *err) {
  struct tide_err said = {0};
  sqlite3_stmt *guard =
      tide_err_is_set(err) ? NULL : tide_stmt_prepare(db, &said, "PRAGMA \"%w\".journal_mode", schema);
  tide_stmt_row(guard, &said);
  if (tide_err_is_set(&said) && said.rc != SQLITE_AUTH)
    tide_err_set(err, said.rc, "%s", said.msg);
  return guard;
}

void tide_catalog_redeclare(sqlite3 *db, const char *schema, struct tide_err *err) {
  sqlite3_stmt *guard = guard_begin(db, schema, err);
  tide_stmt_exec(db, err, "CREATE VIEW \"%w\".tidemark_redeclared AS SELECT 1", schema);
  tide_stmt_exec(db, err, "DROP VIEW \"%w\".tidemark_redeclared", schema);
  if (guard != NULL && tide_err_is_set(err))
    sqlite3_step(guard);
  sqlite3_finalize(guard);
}
