/* Queries of more than one part, or with more than a WHERE. Where an aggregate depends on the order of its rows, they are
 * put in order first; where SQLite may show any of some equal values, their types are part of what is asked for. */
#include "gen.h"

static const char *any_column(const struct world *world) {
  return world->columns[pick(world->ncolumns)].name;
}

static char *gen_aggregate(struct world *world) {
  const char *column = any_column(world);
  return sqlite3_mprintf(
      "SELECT count(*), min(c), max(c), total(c), avg(c), count(DISTINCT c), group_concat(c, '|'), max(since, 3), "
      "count(*) FILTER (WHERE since %% 2) FROM (SELECT since, \"%w\" AS c FROM @T WHERE %z ORDER BY since%s)%s",
      column, gen_where(world, ""), one_in(2) ? " DESC" : "", one_in(3) ? " GROUP BY since % 3" : "");
}

static char *gen_group(struct world *world) {
  static const char *const having[] = {"count(*) > 1", "max(since) % 2 = 0", "min(since) < '20'", "sum(since) > 50.5",
                                       "count(DISTINCT since) = 1"};
  static const char *const collations[] = {"", "", " COLLATE NOCASE", " COLLATE RTRIM"};
  return sqlite3_mprintf(
      "SELECT count(*), min(since), max(since), sum(since) FROM @T WHERE %z GROUP BY \"%w\"%s%s HAVING %s",
      gen_where(world, ""), any_column(world), PICK(collations), one_in(2) ? ", \"partition\"" : "", PICK(having));
}

static char *gen_window(struct world *world, bool *ret_ordered) {
  static const char *const functions[] = {"row_number()",        "count(*)",           "sum(since)", "min(since)",
                                          "max(since)",          "lag(since)",         "ntile(3)",   "lead(since, 2)",
                                          "first_value(since)",  "last_value(since)",  "rank()",     "percent_rank()",
                                          "nth_value(since, 2)", "group_concat(since)"};
  static const char *const frames[] = {"", " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
                                       " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                                       " RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING EXCLUDE CURRENT ROW"};
  const char *column = any_column(world);
  char *part = one_in(2) ? copy("\"partition\"") : sqlite3_mprintf("typeof(\"%w\")", column);
  *ret_ordered = true;
  return sqlite3_mprintf("SELECT since, %s OVER (PARTITION BY %z ORDER BY since%s%s), %s OVER (ORDER BY since DESC), "
                         "lag(\"%w\") OVER (ORDER BY since) FROM @T WHERE %z ORDER BY since%z",
                         PICK(functions), part, one_in(2) ? " DESC" : "", PICK(frames), PICK(functions), column,
                         gen_where(world, ""), gen_limit());
}

static char *gen_compound(struct world *world, bool *ret_ordered) {
  static const char *const operators[] = {"UNION", "UNION ALL", "INTERSECT", "EXCEPT"};
  const char *column = any_column(world);
  *ret_ordered = one_in(2);
  return sqlite3_mprintf(
      "SELECT since, typeof(\"%w\"), \"%w\" FROM @T WHERE %z %s SELECT since, typeof(\"%w\"), \"%w\" "
      "FROM @T WHERE %z %s SELECT since, typeof(\"%w\"), \"%w\" FROM @T WHERE %z%s%z",
      column, column, gen_where(world, ""), PICK(operators), column, column, gen_where(world, ""), PICK(operators),
      column, column, gen_where(world, ""), *ret_ordered ? " ORDER BY 1 DESC, 2, 3" : "",
      *ret_ordered ? gen_limit() : copy(""));
}

static char *gen_cte(struct world *world) {
  const char *column = any_column(world);
  const char *kept = one_in(3) ? "MATERIALIZED " : one_in(2) ? "NOT MATERIALIZED " : "";
  switch (pick(3)) {
  case 0: /* from each row to the next one */
    return sqlite3_mprintf("WITH RECURSIVE walk(s) AS (SELECT min(since) FROM @T WHERE %z UNION ALL SELECT (SELECT "
                           "min(since) FROM @T WHERE since > s) FROM walk WHERE s IS NOT NULL LIMIT 40) "
                           "SELECT s, (SELECT \"%w\" FROM @T WHERE since = s) FROM walk",
                           gen_where(world, ""), column);
  case 1:
    return sqlite3_mprintf(
        "WITH some AS %s(SELECT since, \"%w\" AS c FROM @T WHERE %z) SELECT a.since, b.since, b.c FROM "
        "some a LEFT JOIN some b ON a.since = b.since + %d WHERE a.since %% 2",
        kept, column, gen_where(world, ""), (int)pick(3));
  default:
    return sqlite3_mprintf(
        "WITH least(s) AS %s(SELECT since FROM @T WHERE %z) SELECT since, \"%w\" FROM @T WHERE since %s"
        "IN (SELECT s FROM least) AND %z",
        kept, gen_where(world, ""), column, one_in(2) ? "NOT " : "", gen_where(world, ""));
  }
}

static char *gen_view(struct world *world, bool *ret_ordered) {
  const char *column = any_column(world);
  if (one_in(3))
    return sqlite3_mprintf(
        "SELECT v.since, o.since FROM @V v %s @T o ON v.since = o.since - %d AND o.\"%w\" IS v.\"%w\" "
        "WHERE %z",
        one_in(2) ? "LEFT JOIN" : "JOIN", (int)pick(2), column, column, gen_where(world, GEN_VIEW));
  if (one_in(3))
    return sqlite3_mprintf("SELECT v.\"partition\", count(*), max(v.since) FROM @V v WHERE %z GROUP BY 1",
                           gen_where(world, GEN_VIEW));
  *ret_ordered = true;
  return sqlite3_mprintf("SELECT v.since, v.\"%w\" FROM @V v WHERE %z ORDER BY v.since%s%z", column,
                         gen_where(world, GEN_VIEW), one_in(2) ? " DESC" : "", gen_limit());
}

static char *gen_correlated(struct world *world) {
  const char *column = any_column(world);
  char *where = gen_where(world, "o.");
  switch (pick(4)) {
  case 0:
    return sqlite3_mprintf("SELECT o.since, (SELECT count(*) FROM @T i WHERE i.since < o.since AND i.\"partition\" = "
                           "o.\"partition\") FROM @T o WHERE %z",
                           where);
  case 1:
    return sqlite3_mprintf("SELECT o.since, (SELECT max(i.since) FROM @T i WHERE i.\"%w\" IS o.\"%w\" AND i.since < "
                           "o.since) FROM @T o WHERE %z",
                           column, column, where);
  case 2:
    return sqlite3_mprintf(
        "SELECT o.since, typeof(o.since) FROM @T o WHERE %z AND NOT EXISTS (SELECT 1 FROM @T i WHERE "
        "i.\"%w\" = o.\"%w\" AND i.since > o.since AND %z)",
        where, column, column, gen_where(world, "i."));
  default:
    return sqlite3_mprintf("SELECT o.since FROM @T o WHERE %z AND o.since %sIN (SELECT i.since + %d FROM @T i WHERE "
                           "i.\"%w\" IS NOT o.\"%w\")",
                           where, one_in(2) ? "NOT " : "", (int)pick(3), column, any_column(world));
  }
}

/* since against values that come one after another out of a table: each is looked up by itself. */
static char *gen_values_join(struct world *world) {
  static const char *const operators[] = {"=", "=", "IS", ">", "<=", "<"};
  sqlite3_str *out = sqlite3_str_new(NULL);
  for (size_t n = 2 + pick(6); n > 0; n--)
    sqlite3_str_appendf(out, "(%z)%s", one_in(3) ? gen_any(world) : gen_since_value(), n > 1 ? ", " : "");
  return sqlite3_mprintf("SELECT x.column1, t.since FROM (VALUES %z) x %s @T t ON t.since %s x.column1 AND %z",
                         sqlite3_str_finish(out), one_in(2) ? "LEFT JOIN" : "CROSS JOIN", PICK(operators),
                         gen_where(world, "t."));
}

static char *gen_using(struct world *world) {
  const char *column = any_column(world);
  return sqlite3_mprintf("SELECT since, a.\"%w\", b.\"%w\" FROM @T a %sJOIN (SELECT since, \"%w\" FROM @T WHERE %z) b "
                         "USING (since) JOIN @T c USING (since) WHERE %z",
                         column, column, one_in(2) ? "LEFT " : "", column, gen_where(world, ""),
                         gen_where(world, "a."));
}

static char *gen_distinct(struct world *world, bool *ret_ordered) {
  const char *column = any_column(world);
  *ret_ordered = true;
  return sqlite3_mprintf("SELECT DISTINCT %s, typeof(\"%w\") FROM @T WHERE %z ORDER BY 1%s, 2%z",
                         one_in(2) ? "since" : "\"partition\"", column, gen_where(world, ""), one_in(2) ? " DESC" : "",
                         gen_limit());
}

static char *gen_order(struct world *world, bool *ret_ordered) {
  const char *column = any_column(world);
  char *order;
  switch (pick(6)) {
  case 0:
    order = sqlite3_mprintf("typeof(\"%w\") DESC, since", column);
    break;
  case 1:
    order = sqlite3_mprintf("+\"%w\" COLLATE NOCASE DESC, since DESC", column);
    break;
  case 2:
    order = sqlite3_mprintf("since%s, +\"%w\"", one_in(2) ? " DESC" : "", column);
    break;
  case 3:
    order = copy("\"partition\" DESC, since");
    break;
  case 4:
    order = sqlite3_mprintf("\"partition\", since DESC");
    break;
  default:
    order = sqlite3_mprintf("+\"%w\" NULLS LAST, since %% 2, since", column);
  }
  *ret_ordered = true;
  return sqlite3_mprintf("SELECT %z FROM @T WHERE %z ORDER BY %z%z", gen_columns(world), gen_where(world, ""), order,
                         gen_limit());
}

/* A column among the values of another, by whatever affinity the two have. */
static char *gen_in(struct world *world) {
  const char *column = any_column(world);
  return sqlite3_mprintf("SELECT since, \"%w\" FROM @T WHERE \"%w\" %sIN (SELECT \"%w\" FROM @T WHERE since < %d)%s",
                         column, column, one_in(3) ? "NOT " : "", any_column(world), 5 + (int)pick(300),
                         one_in(3) ? " AND since > 20" : "");
}

char *gen_select(struct world *world, bool *ret_ordered) {
  *ret_ordered = false;
  switch (pick(12)) {
  case 11:
    return gen_in(world);
  case 0:
    return gen_aggregate(world);
  case 1:
    return gen_group(world);
  case 2:
    return gen_window(world, ret_ordered);
  case 3:
    return gen_compound(world, ret_ordered);
  case 4:
    return gen_cte(world);
  case 5:
    return gen_view(world, ret_ordered);
  case 6:
    return gen_correlated(world);
  case 7:
    return gen_values_join(world);
  case 8:
    return gen_using(world);
  case 9:
    return gen_distinct(world, ret_ordered);
  default:
    return gen_order(world, ret_ordered);
  }
}
