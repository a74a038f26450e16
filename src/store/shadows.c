#include "store/shadows.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/stmt.h"

/* What has the name of that shadow table: "table", "virtual table", "view" or "index"; NULL when nothing has. Triggers
 * have names of their own. */
static const char *kind_of(sqlite3 *db, struct tide_names names, const char *suffix, struct tide_err *err) {
  static const char *const kinds[] = {NULL, "table", "virtual table", "view", "index"};
  return kinds[tide_stmt_int(db, 0, err,
                             "SELECT CASE type WHEN 'table' THEN iif(rootpage > 0, 1, 2) WHEN 'view' THEN 3 ELSE 4 END"
                             " FROM \"%w\".sqlite_schema WHERE name = '%q_%q' COLLATE NOCASE AND type <> 'trigger'",
                             names.schema, names.dataset, suffix)];
}

static bool is_table(const char *kind) {
  return kind != NULL && strcmp(kind, "table") == 0;
}

/* Whether a table that has the name of the config is one. */
static bool has_log(sqlite3 *db, struct tide_names names) {
  struct tide_err none = {0};
  return is_table(kind_of(db, names, "config", &none)) &&
         tide_stmt_int(db, 0, &none, "SELECT 1 FROM " TIDE_TABLE("config") " WHERE key = 'log_id'", names.schema,
                       names.dataset) != 0;
}

void tide_shadows_check_free(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  const char *const *suffixes = tide_names_suffixes(names);
  for (size_t i = 0; suffixes[i] != NULL && !tide_err_is_set(err); i++) {
    const char *kind = kind_of(db, names, suffixes[i], err);
    if (kind == NULL)
      continue;
    if (has_log(db, names))
      tide_err_set(err, SQLITE_ERROR,
                   "tables of an earlier log %s are there, %s_config is one: CREATE VIRTUAL TABLE \"%w\" USING"
                   " tidemark(adopt=1) takes them up as they are, and a DROP TABLE after that drops them",
                   names.dataset, names.dataset, names.dataset);
    else
      tide_err_set(err, SQLITE_ERROR,
                   "dataset %s needs the name %s_%s for a table of its own, and schema %s has a %s of that name",
                   names.dataset, names.dataset, suffixes[i], names.schema, kind);
  }
}

void tide_shadows_check_rename(sqlite3 *db, struct tide_names names, const char *new_name, struct tide_err *err) {
  const struct tide_names renamed = {.schema = names.schema, .dataset = new_name};
  const char *const *suffixes = tide_names_suffixes(names);
  for (size_t i = 0; suffixes[i] != NULL && !tide_err_is_set(err); i++) {
    const char *kind = kind_of(db, renamed, suffixes[i], err);
    if (kind != NULL)
      tide_err_set(err, SQLITE_ERROR,
                   "dataset %s cannot be renamed to %s: it needs the name %s_%s for a table of its own, and schema %s"
                   " has a %s of that name",
                   names.dataset, new_name, new_name, suffixes[i], names.schema, kind);
  }
}

void tide_shadows_check_whole(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  struct tide_buf missing = {0};
  bool any = false;
  const char *const *suffixes = tide_names_suffixes(names);
  for (size_t i = 0; suffixes[i] != NULL && !tide_err_is_set(err); i++) {
    if (is_table(kind_of(db, names, suffixes[i], err)))
      any = true;
    else
      tide_buf_printf(&missing, err, "%s%s_%s", missing.len > 0 ? ", " : "", names.dataset, suffixes[i]);
  }
  if (!any)
    tide_err_set(err, SQLITE_ERROR, "adopt=1: schema %s has no tables of a log %s, %s_config is not there either",
                 names.schema, names.dataset, names.dataset);
  else if (missing.len > 0)
    tide_err_set(err, SQLITE_ERROR,
                 "adopt=1: not all tables of log %s are in schema %s, missing: %.*s (the others are"
                 " ordinary tables, which DROP TABLE drops)",
                 names.dataset, names.schema, (int)missing.len, (const char *)missing.data);
  tide_buf_clear(&missing);
}

/* The names of the dataset's tables, each quoted and with a comma behind it, and a NUL. */
static void put_tables(struct tide_names names, struct tide_buf *list, struct tide_err *err) {
  const char *const *suffixes = tide_names_suffixes(names);
  for (size_t i = 0; names.dataset != NULL && suffixes[i] != NULL; i++)
    tide_buf_printf(list, err, "'%q_%q', ", names.dataset, suffixes[i]);
  tide_buf_put_u8(list, 0, err);
}

void tide_shadows_check_kinds(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  struct tide_buf list = {0};
  put_tables(names, &list, err);
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, err,
      "SELECT name, iif(type = 'view', 'view', 'virtual table') FROM \"%w\".sqlite_schema"
      " WHERE (type = 'view' OR type = 'table' AND rootpage = 0) AND name COLLATE NOCASE IN (%s'tidemark_registry',"
      " 'tidemark_sink', 'tidemark_sink_state', 'tidemark_export_log', 'tidemark_export_total', 'tidemark_batch',"
      " 'tidemark_dead', 'tidemark_sink_count', 'tidemark_sink_fork')",
      names.schema, (const char *)list.data);
  if (tide_stmt_row(stmt, err))
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "%s in schema %s is a %s, expected an ordinary table",
                 sqlite3_column_text(stmt, 0), names.schema, sqlite3_column_text(stmt, 1));
  sqlite3_finalize(stmt);
  tide_buf_clear(&list);
}

bool tide_shadows_have_triggers(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  struct tide_buf list = {0};
  put_tables(names, &list, err);
  const bool have = tide_stmt_int(db, 0, err,
                                  "SELECT 1 FROM \"%w\".sqlite_schema WHERE type = 'trigger'"
                                  " AND tbl_name COLLATE NOCASE IN (%sNULL)",
                                  names.schema, (const char *)list.data) != 0;
  tide_buf_clear(&list);
  return have;
}

bool tide_shadows_has_table(sqlite3 *db, struct tide_names names, const char *suffix, struct tide_err *err) {
  return is_table(kind_of(db, names, suffix, err));
}

bool tide_shadows_has_unique(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_int(db, 0, err,
                       "SELECT group_concat(name) = 'value,partition,since' FROM pragma_table_info('%q_unique', %Q)",
                       names.dataset, names.schema) != 0;
}
