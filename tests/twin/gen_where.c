#include "gen.h"

#include <string.h>

static const char *const operators[] = {"=", "==", "<>", "<", "<=", ">", ">=", "IS", "IS NOT"};
static const char *const casts[] = {"INTEGER", "REAL", "TEXT", "NUMERIC", "BLOB"};

/* A number as somebody might compare since with. */
char *gen_since_value(void) {
  static const char *const odd[] = {"NULL",
                                    "'abc'",
                                    "''",
                                    "x'31'",
                                    "x'00'",
                                    "9.3e18",
                                    "-9.3e18",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "-0.5",
                                    "0.5",
                                    "1e308",
                                    "1e300",
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

static char *since_term(struct world *world, const char *alias) {
  static const char *const names[] = {"since", "since", "since", "+since", "rowid", "_rowid_"};
  const char *column = world->columns[pick(world->ncolumns)].name;
  const char *name = names[pick(strcmp(alias, GEN_VIEW) == 0 ? 4 : 6)]; /* a view has no rowid */
  char *left = *name == '+' ? sqlite3_mprintf("+%ssince", alias) : sqlite3_mprintf("%s%s", alias, name);
  char *a = gen_since_value();
  char *b = gen_since_value();
  char *c = gen_since_value();
  char *term;
  switch (pick(13)) {
  case 8:
    term = sqlite3_mprintf("%s %s %s\"%w\"", left, PICK(operators), alias, column);
    break;
  case 9:
    term = sqlite3_mprintf("%s %sIN (SELECT \"%w\" FROM @T)", left, one_in(2) ? "NOT " : "", column);
    break;
  case 10:
    term = sqlite3_mprintf("%s NOT BETWEEN %s AND %s", left, a, b);
    break;
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
  if (one_in(6))
    return sqlite3_mprintf("%s\"partition\" %sIN (SELECT %s FROM @T WHERE since < %d)", alias, one_in(4) ? "NOT " : "",
                           one_in(4) ? "\"k\"" : "\"partition\"", (int)pick(60));
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
  static const char *const types[] = {"null", "integer", "real", "text", "blob"};
  static const char *const collations[] = {"", "", "", " COLLATE NOCASE", " COLLATE RTRIM", " COLLATE BINARY"};
  const struct column *column = &world->columns[pick(world->ncolumns)];
  const struct column *other = &world->columns[pick(world->ncolumns)];
  char *a = gen_operand(world, column);
  char *b = gen_operand(world, column);
  char *left = sqlite3_mprintf("%s\"%w\"", alias, column->name);
  char *term;
  switch (pick(12)) {
  case 6:
    term = sqlite3_mprintf("typeof(%s) %s '%s'", left, PICK(operators), PICK(types));
    break;
  case 7:
    term = sqlite3_mprintf("%s %sIN (SELECT \"%w\" FROM @T WHERE since < %d)", left, one_in(4) ? "NOT " : "",
                           other->name, (int)pick(60));
    break;
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

/* Values in rows. */
static char *row_term(struct world *world, const char *alias) {
  const struct column *column = &world->columns[pick(world->ncolumns)];
  char *left = sqlite3_mprintf("(%ssince, %s\"%w\")", alias, alias, column->name);
  char *a = sqlite3_mprintf("(%z, %z)", gen_since_value(), gen_operand(world, column));
  char *b = sqlite3_mprintf("(%z, %z)", gen_since_value(), gen_operand(world, column));
  char *term;
  switch (pick(5)) {
  case 0:
    term = sqlite3_mprintf("%s BETWEEN %s AND %s", left, a, b);
    break;
  case 1:
    /* without a CAST, whose affinity SQLite forgets in an IN that it tells a virtual table of as two equalities */
    term = sqlite3_mprintf("%s %sIN (VALUES (%z, %z), (%z, %z))", left, one_in(4) ? "NOT " : "", gen_since_value(),
                           gen_value(world, column, false), gen_since_value(), gen_any(world));
    break;
  case 2:
    term = sqlite3_mprintf("%s %sIN (SELECT since + %d, \"%w\" FROM @T)", left, one_in(4) ? "NOT " : "", (int)pick(2),
                           column->name);
    break;
  case 3:
    term = sqlite3_mprintf("(%s\"partition\", %ssince) %s (SELECT \"partition\", since FROM @T WHERE since = %d)",
                           alias, alias, PICK(operators), (int)pick(90));
    break;
  default:
    term = sqlite3_mprintf("%s %s %s", left, PICK(operators), a);
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
  if (one_in(15))
    return row_term(world, alias);
  switch (pick(4)) {
  case 0:
    return column_term(world, alias, top);
  case 1:
    return world->npartition > 0 || one_in(4) ? partition_term(alias, top) : column_term(world, alias, top);
  default:
    return since_term(world, alias);
  }
}

char *gen_where(struct world *world, const char *alias) {
  char *where = one_in(12) ? copy("1") : term(world, alias, 2, true);
  for (size_t more = pick(3); more > 0; more--)
    where = sqlite3_mprintf("%z AND %z", where, term(world, alias, 1, true));
  return where;
}
