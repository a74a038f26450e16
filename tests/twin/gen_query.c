#include "gen.h"

char *gen_columns(struct world *world) {
  sqlite3_str *out = sqlite3_str_new(NULL);
  sqlite3_str_appendall(out, one_in(4) ? "since, \"partition\"" : "since");
  for (size_t n = pick(world->ncolumns + 1); n > 0; n--)
    sqlite3_str_appendf(out, ", \"%w\"", world->columns[pick(world->ncolumns)].name);
  return sqlite3_str_finish(out);
}

char *gen_limit(void) {
  if (one_in(2))
    return copy("");
  return sqlite3_mprintf(" LIMIT %d OFFSET %d", (int)pick(40) - 1, (int)pick(20));
}

static char *gen_join(struct world *world) {
  enum { FROM_3_39 = 2 };
  static const char *const joins[] = {"JOIN",       "JOIN",       "LEFT JOIN", "LEFT JOIN",
                                      "CROSS JOIN", "RIGHT JOIN", "FULL JOIN"};
  const size_t njoins = sizeof joins / sizeof *joins - (sqlite3_libversion_number() < 3039000 ? FROM_3_39 : 0);
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
    const char *left = one_in(3) ? "since" : world->columns[pick(world->ncolumns)].name;
    const char *right = world->columns[pick(world->ncolumns)].name;
    condition = sqlite3_mprintf("a.\"%w\" %s b.\"%w\"", left, one_in(3) ? "IS" : "=", right);
  } else {
    condition = copy(PICK(on));
  }
  return sqlite3_mprintf("SELECT a.since, b.since FROM @T a %s @T b ON %z AND (%z) WHERE %z", joins[pick(njoins)],
                         condition, other, where);
}

char *gen_query(struct world *world, bool *ret_ordered) {
  if (one_in(2))
    return gen_select(world, ret_ordered);
  char *where = gen_where(world, "");
  const char *column = world->columns[pick(world->ncolumns)].name;
  *ret_ordered = false;
  switch (pick(13)) {
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
  case 9:
    return sqlite3_mprintf("SELECT %s(since) FROM @T WHERE %z", one_in(2) ? "max" : "min", where);
  default:
    *ret_ordered = true;
    return sqlite3_mprintf("SELECT %z FROM @T WHERE %z ORDER BY %s%s%z", gen_columns(world), where,
                           one_in(4) ? "rowid" : "since", one_in(3) ? " DESC" : "", gen_limit());
  }
}
