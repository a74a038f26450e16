#include "store/partition_tables.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/stmt.h"
#include "model/partition_table.h"

enum { LISTED_MAX = 5 };

/* Virtual tables have no pages. */
static sqlite3_stmt *prepare(sqlite3 *db, const char *schema, struct tide_err *err) {
  return tide_stmt_prepare(db, err,
                           "SELECT name, sql FROM \"%w\".sqlite_schema WHERE type = 'table'"
                           " AND (rootpage IS 0 OR rootpage IS NULL)"
                           " ORDER BY name",
                           schema);
}

/* The next one that is a partition table: its name, a view, and the words, which the caller clears. */
static bool next(sqlite3_stmt *stmt, const char **ret_name, struct tide_partition_table *ret_table,
                 struct tide_err *err) {
  while (tide_stmt_row(stmt, err)) {
    const char *name = tide_stmt_text(stmt, 0, NULL, err);
    const char *sql = tide_stmt_text(stmt, 1, NULL, err);
    if (name != NULL && sql != NULL && tide_partition_table_of_sql(sql, ret_table, err)) {
      *ret_name = name;
      return true;
    }
  }
  return false;
}

static bool is_temp(const char *schema) {
  return sqlite3_stricmp(schema, "temp") == 0;
}

/* Only a TEMP table's dataset is where its words say; elsewhere it is in the table's own schema, however that was
 * called when it was made. */
static bool is_of(const struct tide_partition_table *table, const char *schema, struct tide_names names) {
  const char *where = is_temp(schema) && table->schema != NULL ? table->schema : schema;
  return sqlite3_stricmp(where, names.schema) == 0 && sqlite3_stricmp(table->dataset, names.dataset) == 0;
}

struct list {
  struct tide_buf names; /* of the first few, with commas */
  int64_t count;
};

static void list_schema(sqlite3 *db, const char *schema, struct tide_names names, struct list *list,
                        struct tide_err *err) {
  struct tide_partition_table table = {0};
  const char *name = NULL;
  sqlite3_stmt *stmt = prepare(db, schema, err);
  while (next(stmt, &name, &table, err)) {
    if (is_of(&table, schema, names) && list->count++ < LISTED_MAX)
      tide_buf_printf(&list->names, err, "%s%s%s", list->count > 1 ? ", " : "", is_temp(schema) ? "temp." : "", name);
    tide_partition_table_clear(&table);
  }
  sqlite3_finalize(stmt);
}

static void list_all(sqlite3 *db, struct tide_names names, struct list *ret_list, struct tide_err *err) {
  *ret_list = (struct list){.count = 0};
  list_schema(db, names.schema, names, ret_list, err);
  if (!is_temp(names.schema))
    list_schema(db, "temp", names, ret_list, err);
}

void tide_partition_tables_refuse(sqlite3 *db, struct tide_names names, const char *what, struct tide_err *err) {
  struct list list;
  list_all(db, names, &list, err);
  if (list.count > LISTED_MAX)
    tide_buf_printf(&list.names, err, " and %lld more", (long long)list.count - LISTED_MAX);
  if (list.count > 0)
    tide_err_set(err, SQLITE_ERROR, "dataset %s has partition tables, drop them before %s: %.*s", names.dataset, what,
                 (int)list.names.len, list.names.data);
  tide_buf_clear(&list.names);
}

char *tide_partition_tables_dataset(sqlite3 *db, const char *schema, const char *table_name, struct tide_err *err) {
  struct tide_partition_table table = {0};
  char *dataset = NULL;
  const char *name = NULL;
  sqlite3_stmt *stmt = prepare(db, schema, err);
  while (dataset == NULL && next(stmt, &name, &table, err)) {
    if (sqlite3_stricmp(name, table_name) == 0) {
      dataset = table.dataset;
      table.dataset = NULL;
    }
    tide_partition_table_clear(&table);
  }
  sqlite3_finalize(stmt);
  return dataset;
}

/* SQLite reads the schema again when the file's version is not that of what it has read: the pragma, unlike a change of
 * the schema, raises the file's alone. */
void tide_partition_tables_reconnect(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  struct list list;
  list_all(db, names, &list, err);
  if (list.count > 0 && !tide_err_is_set(err)) {
    const int64_t version = tide_stmt_int(db, 0, err, "PRAGMA \"%w\".schema_version", names.schema);
    tide_stmt_exec(db, err, "PRAGMA \"%w\".schema_version = %d", names.schema, (int)(uint32_t)(version + 1));
  }
  tide_buf_clear(&list.names);
}

/* A statement's first opcode on a file has the version of the schema that it was compiled for; EXPLAIN tells it without
 * a look at the file, and PRAGMA schema_version what the file has, without a check. */
bool tide_partition_tables_schema_is_known(sqlite3 *db, const char *schema, struct tide_err *err) {
  enum { EXPLAIN_OPCODE = 1, EXPLAIN_P3 = 4 };
  int64_t known = -1;
  sqlite3_stmt *stmt = tide_stmt_prepare(db, err, "EXPLAIN SELECT 1 FROM \"%w\".sqlite_schema", schema);
  while (known < 0 && tide_stmt_row(stmt, err)) {
    const char *opcode = tide_stmt_text(stmt, EXPLAIN_OPCODE, NULL, err);
    if (opcode != NULL && strcmp(opcode, "Transaction") == 0)
      known = sqlite3_column_int64(stmt, EXPLAIN_P3);
  }
  sqlite3_finalize(stmt);
  return tide_stmt_int(db, 0, err, "PRAGMA \"%w\".schema_version", schema) == known;
}
