#include "sink/filter_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "sink/filter_row.h"

/* SQLite's functions whose result follows from their arguments: no clock, no random, nothing of the connection, no
 * loading. In order, for bsearch. */
/* clang-format off */
static const char *const allowed[] = {
    "->", "->>", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "char",
    "coalesce", "concat", "concat_ws", "cos", "cosh", "degrees", "exp", "floor", "format", "glob", "hex", "if",
    "ifnull", "iif", "instr", "json", "json_array", "json_array_length", "json_error_position", "json_extract",
    "json_insert", "json_object", "json_patch", "json_pretty", "json_quote", "json_remove", "json_replace", "json_set",
    "json_type", "json_valid", "jsonb", "jsonb_array", "jsonb_extract", "jsonb_insert", "jsonb_object", "jsonb_patch",
    "jsonb_remove", "jsonb_replace", "jsonb_set", "length", "like", "likelihood", "likely", "ln", "log", "log10",
    "log2", "lower", "ltrim", "max", "min", "mod", "nullif", "octet_length", "pi", "pow", "power", "printf", "quote",
    "radians", "replace", "round", "rtrim", "sign", "sin", "sinh", "sqrt", "substr", "substring", "tan", "tanh", "trim",
    "trunc", "typeof", "unhex", "unicode", "unlikely", "upper"};
/* clang-format on */

static int compare_name(const void *name, const void *entry) {
  return sqlite3_stricmp(name, *(const char *const *)entry);
}

static bool is_replaced(const struct tide_filter_rules *rules, const char *name) {
  for (size_t at = 0; at < rules->replaced.len;) {
    const char *replaced = (const char *)rules->replaced.data + at;
    if (sqlite3_stricmp(name, replaced) == 0)
      return true;
    at += strlen(replaced) + 1;
  }
  return false;
}

static int refuse(struct tide_filter_rules *rules, const char *format, const char *name) {
  tide_err_set(&rules->refused, SQLITE_ERROR, format, name);
  return SQLITE_DENY;
}

static int authorize_function(struct tide_filter_rules *rules, const char *name) {
  if (bsearch(name, allowed, sizeof allowed / sizeof *allowed, sizeof *allowed, compare_name) == NULL)
    return refuse(rules,
                  "uses function %s(), which is not allowed: expected one of SQLite's own functions whose result "
                  "follows from its arguments alone",
                  name);
  if (is_replaced(rules, name))
    return refuse(rules, "uses function %s(), which this process has replaced by one of its own", name);
  return SQLITE_OK;
}

static bool is_hidden_name(const char *column) {
  for (int i = 0; i < TIDE_HIDDEN_COLUMNS; i++) {
    if (sqlite3_stricmp(column, tide_spec_hidden_name(i)) == 0)
      return true;
  }
  return false;
}

static int authorize_read(struct tide_filter_rules *rules, const char *table, const char *column) {
  if (sqlite3_stricmp(table, TIDE_FILTER_ROW) != 0)
    return refuse(rules, "reads table \"%s\": expected only columns of the dataset", table);
  int index = tide_spec_find(rules->spec, column, strlen(column));
  if (index >= 0)
    rules->reads[index] = true;
  else if (column[0] != '\0' && !is_hidden_name(column))
    return refuse(rules, "reads %s: expected columns of the dataset, or since, partition, ingested_at", column);
  return SQLITE_OK;
}

/* SQLITE_READ: table and column; an empty column stands for a table of which no column is read. SQLITE_FUNCTION: b is
 * the name. */
static int authorize(void *context, int action, const char *a, const char *b, const char *schema, const char *trigger) {
  struct tide_filter_rules *rules = context;
  (void)schema, (void)trigger;
  switch (action) {
  case SQLITE_SELECT:
    return ++rules->selects == 1 ? SQLITE_OK
                                 : refuse(rules, "holds a subquery: expected one expression over %s", "one row");
  case SQLITE_READ:
    return authorize_read(rules, a != NULL ? a : "", b != NULL ? b : "");
  case SQLITE_FUNCTION:
    return authorize_function(rules, b != NULL ? b : "");
  default:
    return refuse(rules, "reaches beyond the row: expected one expression over its %s", "columns");
  }
}

static void find_replaced(sqlite3 *db, struct tide_filter_rules *rules, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_prepare(db, err, "PRAGMA function_list"); /* name, builtin, ... */
  while (tide_stmt_row(stmt, err)) {
    const char *name = tide_stmt_text(stmt, 0, NULL, err);
    if (sqlite3_column_int(stmt, 1) == 0 && name != NULL)
      tide_buf_put(&rules->replaced, name, strlen(name) + 1, err);
  }
  sqlite3_finalize(stmt);
}

void tide_filter_rules_impose(sqlite3 *db, struct tide_filter_rules *rules, const struct tide_spec *spec,
                              struct tide_err *err) {
  rules->spec = spec;
  rules->reads = tide_alloc_zero(spec->ncolumns, sizeof *rules->reads, err);
  if (rules->reads == NULL)
    return;
  find_replaced(db, rules, err);
  int rc = sqlite3_set_authorizer(db, authorize, rules);
  if (rc != SQLITE_OK)
    tide_stmt_error(db, rc, err);
}

void tide_filter_rules_clear(struct tide_filter_rules *rules) {
  tide_free(rules->reads);
  tide_buf_clear(&rules->replaced);
  *rules = (struct tide_filter_rules){0};
}
