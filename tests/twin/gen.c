#include "gen.h"

#include <string.h>

/* ---- values ---- */

static char *copy(const char *text) {
  return sqlite3_mprintf("%s", text);
}

static char *gen_integer(void) {
  static const char *const others[] = {"0",   "-1",    "9223372036854775807", "-9223372036854775808", "'12'",  "3.0",
                                       "1e3", "' 7 '", "9007199254740993",    "4294967296",           "' -0 '"};
  if (one_in(4))
    return copy(PICK(others));
  return sqlite3_mprintf("%lld", (long long)(one_in(3) ? (int64_t)pick(1u << 30) * 7919 : (int64_t)pick(10)));
}

static char *gen_real(void) {
  static const char *const others[] = {"0.5",    "-1.25e10",         "1e308",  "'2.5'", "9e999",
                                       "-9e999", "9007199254740993", "1e-300", "3"};
  if (one_in(2))
    return copy(PICK(others));
  return sqlite3_mprintf("%d.%d", (int)pick(100), (int)pick(4) * 25);
}

static char *gen_text(const struct world *world) {
  static const char *const words[] = {"'a'",   "'A'",  "'b'",   "'abc'", "'ab%'",      "''",      "'10'",
                                      "'010'", "' 7'", "'1e3'", "'é'",   "'漢字'",     "'it''s'", "'a'||char(0)||'b'",
                                      "42",    "1.5",  "'zzz'", "'5'",   "'{\"a\":1}'"};
  if (one_in(12))
    return sqlite3_mprintf("printf('%%.*c', %d, '%c')", (int)pick(one_in(8) ? 9000 : 400), 'a' + (int)pick(3));
  if (!world->utf16 && one_in(20))
    return copy("CAST(x'61c328' AS TEXT)");
  return copy(PICK(words));
}

static char *gen_blob(void) {
  static const char *const blobs[] = {"x''", "x'00'", "x'616263'", "x'ff'", "x'3130'", "zeroblob(300)"};
  return copy(PICK(blobs));
}

static char *gen_any(const struct world *world) {
  switch (pick(5)) {
  case 0:
    return gen_integer();
  case 1:
    return gen_real();
  case 2:
    return gen_text(world);
  case 3:
    return gen_blob();
  default:
    return copy("NULL");
  }
}

/* Few values, so that partitions are few. */
static char *gen_part(const struct column *column) {
  static const char *const texts[] = {"'web'", "'a/b'", "'..'", "''", "'é'", "'__HIVE_DEFAULT_PARTITION__'", "7"};
  static const char *const integers[] = {"1", "2", "-3", "'4'", "9223372036854775807"};
  if (!column->not_null && one_in(8))
    return copy("NULL");
  return copy(strcmp(column->strict, "TEXT") == 0 ? PICK(texts) : PICK(integers));
}

static char *gen_bad(const struct column *column) {
  if (column->not_null && one_in(2))
    return copy("NULL");
  if (column->in_partition && one_in(2))
    return copy("printf('%.*c', 300, 'p')");
  if (strcmp(column->type, "BOOLEAN") == 0)
    return copy("2");
  if (strcmp(column->strict, "BLOB") == 0)
    return copy(one_in(2) ? "'text'" : "5");
  return strcmp(column->strict, "TEXT") == 0 ? copy("x'00'") : copy(one_in(2) ? "'abc'" : "x'31'");
}

char *gen_value(struct world *world, const struct column *column, bool bad) {
  if (bad)
    return gen_bad(column);
  if (column->in_partition)
    return gen_part(column);
  if (!column->not_null && one_in(6))
    return copy("NULL");
  if (strcmp(column->type, "BOOLEAN") == 0)
    return copy(one_in(2) ? "0" : "1");
  if (strcmp(column->strict, "INTEGER") == 0)
    return gen_integer();
  if (strcmp(column->strict, "REAL") == 0)
    return gen_real();
  if (strcmp(column->strict, "TEXT") == 0)
    return gen_text(world);
  if (strcmp(column->strict, "BLOB") == 0)
    return gen_blob();
  return column->not_null ? gen_text(world) : gen_any(world);
}

char *gen_row(struct world *world, bool bad) {
  sqlite3_str *out = sqlite3_str_new(NULL);
  const size_t bad_at = bad ? pick(world->ncolumns) : COLUMNS_MAX;
  for (size_t i = 0; i < world->ncolumns; i++) {
    char *value = gen_value(world, &world->columns[i], i == bad_at);
    sqlite3_str_appendf(out, "%s%s", i > 0 ? ", " : "", value);
    sqlite3_free(value);
  }
  return sqlite3_str_finish(out);
}

/* ---- sources of rows ---- */

static char *gen_values(struct world *world, bool bad) {
  sqlite3_str *out = sqlite3_str_new(NULL);
  const size_t rows = one_in(2) ? 1 : 1 + pick(5);
  const size_t bad_at = bad ? pick(rows) : rows;
  sqlite3_str_appendall(out, "VALUES");
  for (size_t i = 0; i < rows; i++)
    sqlite3_str_appendf(out, "%s(%z)", i > 0 ? ", " : "", gen_row(world, i == bad_at));
  return sqlite3_str_finish(out);
}

/* Many rows, out of a counter; the row refused stands anywhere among them. */
static char *gen_series(struct world *world, bool bad) {
  sqlite3_str *out = sqlite3_str_new(NULL);
  const size_t rows = 5 + pick(one_in(4) ? 120 : 30);
  const size_t bad_row = bad ? 1 + pick(rows) : 0;
  const size_t bad_column = pick(world->ncolumns);
  sqlite3_str_appendf(out, "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT %d) SELECT ",
                      (int)rows);
  for (size_t i = 0; i < world->ncolumns; i++) {
    const struct column *column = &world->columns[i];
    char *one = gen_value(world, column, false);
    char *two = gen_value(world, column, false);
    char *three = gen_value(world, column, false);
    sqlite3_str_appendf(out, "%sCASE WHEN ", i > 0 ? ", " : "");
    if (bad && i == bad_column)
      sqlite3_str_appendf(out, "i = %d THEN %z WHEN ", (int)bad_row, gen_value(world, column, true));
    sqlite3_str_appendf(out, "i %% %d = 0 THEN %z WHEN i %% %d < 2 THEN %z", 2 + (int)pick(5), one, 2 + (int)pick(9),
                        two);
    const bool counts = !column->in_partition && strcmp(column->type, "BOOLEAN") != 0;
    if (counts && strcmp(column->strict, "INTEGER") == 0)
      sqlite3_str_appendf(out, " WHEN i %% 3 > 0 THEN i * %d", 1 + (int)pick(1000));
    else if (counts && strcmp(column->strict, "TEXT") == 0)
      sqlite3_str_appendf(out, " WHEN i %% 3 > 0 THEN 'w' || i %% %d", 1 + (int)pick(20));
    sqlite3_str_appendf(out, " ELSE %z END", three);
  }
  sqlite3_str_appendall(out, " FROM n");
  return sqlite3_str_finish(out);
}

/* Out of the table itself: what is refused then is a NULL, or text where a number is wanted. */
static char *gen_self(struct world *world, bool bad) {
  char *where = gen_where(world, "");
  const size_t limit = pick(30);
  const size_t at = pick(world->ncolumns);
  sqlite3_str *out = sqlite3_str_new(NULL);
  sqlite3_str_appendall(out, "SELECT ");
  for (size_t i = 0; i < world->ncolumns; i++) {
    const char *name = world->columns[i].name;
    if (bad && i == at)
      sqlite3_str_appendf(out, "%sCASE WHEN since %% 7 = 3 THEN %z ELSE \"%w\" END", i > 0 ? ", " : "",
                          gen_value(world, &world->columns[i], true), name);
    else
      sqlite3_str_appendf(out, "%s\"%w\"", i > 0 ? ", " : "", name);
  }
  sqlite3_str_appendf(out, " FROM @T WHERE %z ORDER BY since%s LIMIT %d", where, one_in(3) ? " DESC" : "", (int)limit);
  return sqlite3_str_finish(out);
}

char *gen_source(struct world *world, bool bad) {
  switch (pick(6)) {
  case 0:
    return gen_series(world, bad);
  case 1:
    return gen_self(world, bad);
  default:
    return gen_values(world, bad);
  }
}

/* ---- conditions ---- */

static const char *const operators[] = {"=", "==", "<>", "<", "<=", ">", ">=", "IS", "IS NOT"};
static const char *const casts[] = {"INTEGER", "REAL", "TEXT", "NUMERIC", "BLOB"};

/* A number as somebody might compare since with. */
static char *gen_since_value(void) {
  static const char *const odd[] = {"NULL",
                                    "'abc'",
                                    "''",
                                    "x'31'",
                                    "9.3e18",
                                    "-9.3e18",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "-0.5",
                                    "0.5",
                                    "1e308",
                                    "'9e999'",
                                    "9e999",
                                    "-1",
                                    "0",
                                    "9223372036854775807.0",
                                    "'9223372036854775808'",
                                    "' '"};
  static const char *const shapes[] = {"%d",
                                       "%d",
                                       "%d",
                                       "'%d'",
                                       "' %d '",
                                       "'%d.0'",
                                       "%d.0",
                                       "%d.5",
                                       "'%d.5'",
                                       "CAST(%d AS TEXT)",
                                       "CAST(%d AS BLOB)",
                                       "CAST('%d' AS NUMERIC)",
                                       "(SELECT %d)",
                                       "%d + 0",
                                       "'%dabc'",
                                       "'%de0'"};
  if (one_in(5))
    return copy(PICK(odd));
  return sqlite3_mprintf(PICK(shapes), (int)pick(one_in(3) ? 20 : 500));
}

static char *since_term(const char *alias) {
  static const char *const names[] = {"since", "since", "since", "rowid", "_rowid_", "+since"};
  const char *name = PICK(names);
  char *left = *name == '+' ? sqlite3_mprintf("+%ssince", alias) : sqlite3_mprintf("%s%s", alias, name);
  char *a = gen_since_value();
  char *b = gen_since_value();
  char *c = gen_since_value();
  char *term;
  switch (pick(9)) {
  case 0:
    term = sqlite3_mprintf("%s BETWEEN %s AND %s", left, a, b);
    break;
  case 1:
    term = sqlite3_mprintf("%s %sIN (%s, %s, %s)", left, one_in(4) ? "NOT " : "", a, b, c);
    break;
  case 2:
    term = sqlite3_mprintf("%s %s %s", a, PICK(operators), left);
    break;
  case 3:
    term = sqlite3_mprintf("%s IN (SELECT since FROM @T WHERE since %% 3 = 1)", left);
    break;
  case 4:
    term = sqlite3_mprintf("%s %s", left, one_in(2) ? "IS NULL" : "IS NOT NULL");
    break;
  case 5:
    term = sqlite3_mprintf("%s %s (SELECT %s(since) FROM @T)%s", left, PICK(operators), one_in(2) ? "max" : "min",
                           one_in(2) ? " - 5" : "");
    break;
  default:
    term = sqlite3_mprintf("%s %s %s", left, PICK(operators), a);
  }
  sqlite3_free(left);
  sqlite3_free(a);
  sqlite3_free(b);
  sqlite3_free(c);
  return term;
}

static char *partition_term(const char *alias, bool top) {
  const char *some = "(SELECT \"partition\" FROM @T ORDER BY since LIMIT 1 OFFSET";
  static const char *const forms[] = {"LIKE 'k=%'", "LIKE '%w%'",   "GLOB 'k=*'",
                                      "= ''",       "IS ''",        "IS NOT NULL",
                                      "IS NULL",    "= 'k=1'",      "IN ('k=web', 'k=2', '', 5)",
                                      "= 5",        "> 5",          "= x'6b3d31'",
                                      "= NULL",     "= 'k=web/l=1'"};
  /* not in a join: SQLite forgets the collation there when it takes a.x = b.x AND b.x COLLATE NOCASE = 'K' to mean
   * a.x = 'K', with ordinary tables too */
  if (top && *alias == '\0' && one_in(10))
    return sqlite3_mprintf("%s\"partition\" COLLATE NOCASE = 'K=1'", alias);
  if (one_in(2))
    return sqlite3_mprintf("%s\"partition\" %s %s %d)", alias, PICK(operators), some, (int)pick(40));
  return sqlite3_mprintf("%s\"partition\" %s", alias, PICK(forms));
}

/* Any value, for a comparison: often one of the column's own kind, sometimes with an affinity. */
static char *gen_operand(struct world *world, const struct column *column) {
  char *value = one_in(2) ? gen_value(world, column, false) : gen_any(world);
  if (one_in(4))
    return sqlite3_mprintf("CAST(%z AS %s)", value, PICK(casts));
  return one_in(10) ? sqlite3_mprintf("+(%z)", value) : value;
}

/* `top`: not inside an OR, of which SQLite makes an IN and then forgets the collation, when it can use an index: on the
 * twin it cannot. */
static char *column_term(struct world *world, const char *alias, bool top) {
  static const char *const collations[] = {"", "", "", " COLLATE NOCASE", " COLLATE RTRIM", " COLLATE BINARY"};
  const struct column *column = &world->columns[pick(world->ncolumns)];
  const struct column *other = &world->columns[pick(world->ncolumns)];
  char *a = gen_operand(world, column);
  char *b = gen_operand(world, column);
  char *left = sqlite3_mprintf("%s\"%w\"", alias, column->name);
  char *term;
  switch (pick(9)) {
  case 0:
    term = sqlite3_mprintf("%s BETWEEN %s AND %s", left, a, b);
    break;
  case 1:
    term = sqlite3_mprintf("%s %sIN (%s, %s)", left, one_in(4) ? "NOT " : "", a, b);
    break;
  case 2:
    term = sqlite3_mprintf("%s %s", left, one_in(2) ? "IS NULL" : "IS NOT NULL");
    break;
  case 3:
    term = sqlite3_mprintf("%s %s", left, one_in(2) ? "LIKE 'a%'" : "GLOB '[a-w]*'");
    break;
  case 4:
    term = sqlite3_mprintf("%s %s %s\"%w\"", left, PICK(operators), alias, other->name);
    break;
  case 5:
    term = sqlite3_mprintf("%s %s %s", b, PICK(operators), left);
    break;
  default:
    term = sqlite3_mprintf("%s%s %s %s", left, top ? PICK(collations) : "", PICK(operators), a);
  }
  sqlite3_free(left);
  sqlite3_free(a);
  sqlite3_free(b);
  return term;
}

static char *term(struct world *world, const char *alias, size_t depth, bool top) {
  if (depth > 0 && one_in(4)) {
    char *left = term(world, alias, depth - 1, false);
    char *right = term(world, alias, depth - 1, false);
    return sqlite3_mprintf("(%z %s %z)", left, one_in(2) ? "OR" : "AND", right);
  }
  if (depth > 0 && one_in(15))
    return sqlite3_mprintf("NOT (%z)", term(world, alias, depth - 1, false));
  if (one_in(20))
    return sqlite3_mprintf("(%ssince, %s\"k\") > (%d, 1)", alias, alias, (int)pick(100));
  switch (pick(4)) {
  case 0:
    return column_term(world, alias, top);
  case 1:
    return world->npartition > 0 || one_in(4) ? partition_term(alias, top) : column_term(world, alias, top);
  default:
    return since_term(alias);
  }
}

char *gen_where(struct world *world, const char *alias) {
  char *where = one_in(12) ? copy("1") : term(world, alias, 2, true);
  for (size_t more = pick(3); more > 0; more--)
    where = sqlite3_mprintf("%z AND %z", where, term(world, alias, 1, true));
  return where;
}

/* ---- queries ---- */

static char *gen_columns(struct world *world) {
  sqlite3_str *out = sqlite3_str_new(NULL);
  sqlite3_str_appendall(out, one_in(4) ? "since, \"partition\"" : "since");
  for (size_t n = pick(world->ncolumns + 1); n > 0; n--)
    sqlite3_str_appendf(out, ", \"%w\"", world->columns[pick(world->ncolumns)].name);
  return sqlite3_str_finish(out);
}

static char *gen_limit(void) {
  if (one_in(2))
    return copy("");
  return sqlite3_mprintf(" LIMIT %d OFFSET %d", (int)pick(40) - 1, (int)pick(20));
}

static char *gen_join(struct world *world) {
  static const char *const on[] = {"a.since = b.since",
                                   "a.since = b.since + 1",
                                   "b.since > a.since - 3 AND b.since < a.since",
                                   "a.\"partition\" = b.\"partition\" AND b.since % 9 = 1",
                                   "a.rowid = b.rowid - 1",
                                   "b.since = '5'"};
  char *where = gen_where(world, "a.");
  char *other = gen_where(world, "b.");
  char *condition;
  if (one_in(3)) {
    const char *left = world->columns[pick(world->ncolumns)].name;
    const char *right = world->columns[pick(world->ncolumns)].name;
    condition = sqlite3_mprintf("a.\"%w\" = b.\"%w\"", left, right);
  } else {
    condition = copy(PICK(on));
  }
  return sqlite3_mprintf("SELECT a.since, b.since FROM @T a %s @T b ON %z AND (%z) WHERE %z",
                         one_in(3) ? "LEFT JOIN" : "JOIN", condition, other, where);
}

char *gen_query(struct world *world, bool *ret_ordered) {
  char *where = gen_where(world, "");
  const char *column = world->columns[pick(world->ncolumns)].name;
  *ret_ordered = false;
  switch (pick(12)) {
  case 0:
    return sqlite3_mprintf("SELECT count(*), sum(since), min(since), max(since), count(\"%w\") FROM @T WHERE %z",
                           column, where);
  case 1:
    return sqlite3_mprintf("SELECT DISTINCT typeof(\"%w\"), \"%w\" FROM @T WHERE %z", column, column, where);
  case 2:
    return sqlite3_mprintf("SELECT \"partition\", count(*), min(since), max(since) FROM @T WHERE %z GROUP BY 1", where);
  case 3:
    return sqlite3_mprintf("SELECT count(*), max(since) FROM @T WHERE %z GROUP BY \"%w\"", where, column);
  case 4:
    return sqlite3_mprintf("SELECT count(*) FROM (SELECT 1 FROM @T WHERE %z%z)", where, gen_limit());
  case 5:
    sqlite3_free(where);
    return gen_join(world);
  case 6:
    return sqlite3_mprintf("SELECT since FROM @T o WHERE %z AND EXISTS (SELECT 1 FROM @T i WHERE i.since = o.since + 1 "
                           "AND i.\"%w\" IS o.\"%w\")",
                           where, column, column);
  case 7:
    *ret_ordered = true;
    /* +: SQLite leaves out an ORDER BY of a column that equals a constant, also when affinity lets two texts equal it */
    return sqlite3_mprintf("SELECT \"%w\", since FROM @T WHERE %z ORDER BY +\"%w\"%s, since%z", column, where, column,
                           one_in(2) ? " DESC" : "", gen_limit());
  case 8:
    return sqlite3_mprintf("SELECT %z FROM @T WHERE %z", gen_columns(world), where);
  default:
    *ret_ordered = true;
    return sqlite3_mprintf("SELECT %z FROM @T WHERE %z ORDER BY %s%s%z", gen_columns(world), where,
                           one_in(4) ? "rowid" : "since", one_in(3) ? " DESC" : "", gen_limit());
  }
}
