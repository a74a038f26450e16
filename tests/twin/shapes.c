#include "shapes.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* glob: SQLite's, against the whole query; NULL for a place. */
static struct shape {
  const char *name;
  const char *glob;
  bool may_be_empty;
  int from_version; /* of SQLite; 0: all that there are */
  size_t seen;
} shapes[] = {
    {.name = "AND", .glob = "* AND *"},
    {.name = "OR", .glob = "* OR *"},
    {.name = "NOT", .glob = "*NOT (*"},
    {.name = "IN list", .glob = "*\" IN (*, *"},
    {.name = "IN subquery", .glob = "* IN (SELECT *"},
    {.name = "NOT IN subquery", .glob = "* NOT IN (SELECT *"},
    {.name = "column IN the values of a column", .glob = "*WHERE \"*\" IN (SELECT \"*"},
    {.name = "partition IN subquery", .glob = "*\"partition\" IN (SELECT *"},
    {.name = "BETWEEN", .glob = "* BETWEEN *"},
    {.name = "LIKE", .glob = "* LIKE *"},
    {.name = "GLOB", .glob = "* GLOB *"},
    {.name = "IS", .glob = "* IS *"},
    {.name = "IS NOT", .glob = "* IS NOT *"},
    {.name = "COLLATE NOCASE in WHERE", .glob = "* COLLATE NOCASE [<=>I]*"},
    {.name = "COLLATE NOCASE in GROUP BY", .glob = "* GROUP BY * COLLATE NOCASE*"},
    {.name = "LEFT JOIN", .glob = "* LEFT JOIN *"},
    {.name = "RIGHT JOIN", .glob = "* RIGHT JOIN *", .from_version = 3039000},
    {.name = "FULL JOIN", .glob = "* FULL JOIN *", .from_version = 3039000},
    {.name = "self join", .glob = "*FROM @T a JOIN @T b*"},
    {.name = "JOIN USING", .glob = "* USING (since)*"},
    {.name = "since in a join", .glob = "*a.since = b.since*"},
    {.name = "since against a column in a join", .glob = "* ON a.\"since\" = b.\"*"},
    {.name = "since against values in a join", .glob = "*(VALUES * ON t.since *"},
    {.name = "correlated subquery", .glob = "*SELECT count(*) FROM @T i WHERE i.since < o.since*"},
    {.name = "EXISTS", .glob = "*AND EXISTS (*"},
    {.name = "NOT EXISTS", .glob = "* NOT EXISTS (*"},
    {.name = "HAVING", .glob = "* GROUP BY * HAVING *"},
    {.name = "window with a frame", .glob = "* OVER (PARTITION BY * ROWS BETWEEN *"},
    {.name = "window backwards", .glob = "* OVER (ORDER BY since DESC)*"},
    {.name = "min, max, total, group_concat", .glob = "*min(c), max(c), total(c)*group_concat(c*"},
    {.name = "max(since) alone", .glob = "SELECT max(since) FROM*"},
    {.name = "min(since) alone", .glob = "SELECT min(since) FROM*"},
    {.name = "FILTER", .glob = "* FILTER (WHERE *"},
    {.name = "DISTINCT", .glob = "SELECT DISTINCT *"},
    {.name = "count(DISTINCT)", .glob = "*count(DISTINCT *"},
    {.name = "ORDER BY since", .glob = "* ORDER BY since"},
    {.name = "ORDER BY since DESC", .glob = "* ORDER BY since DESC*"},
    {.name = "ORDER BY rowid", .glob = "* ORDER BY rowid*"},
    {.name = "ORDER BY of mixed terms", .glob = "* ORDER BY typeof(*) DESC, since*"},
    {.name = "ORDER BY since and more", .glob = "* ORDER BY since*, +*"},
    {.name = "NULLS LAST", .glob = "* NULLS LAST*"},
    {.name = "LIMIT and OFFSET", .glob = "* LIMIT [1-9]* OFFSET [1-9]*"},
    {.name = "OFFSET without a limit", .glob = "* LIMIT -1 OFFSET [1-9]*"},
    {.name = "LIMIT 0", .glob = "* LIMIT 0 *", .may_be_empty = true},
    {.name = "row values", .glob = "*(since, \"*\") [<>=]* (*, *)*"},
    {.name = "row values IN VALUES", .glob = "*(since, \"*\") IN (VALUES (*"},
    {.name = "row values IN subquery", .glob = "*(since, \"*\") IN (SELECT *"},
    {.name = "UNION", .glob = "* UNION SELECT *"},
    {.name = "UNION ALL", .glob = "* UNION ALL SELECT since, typeof*"},
    {.name = "INTERSECT", .glob = "* INTERSECT *"},
    {.name = "EXCEPT", .glob = "* EXCEPT *"},
    {.name = "recursive CTE", .glob = "WITH RECURSIVE *"},
    {.name = "materialized CTE", .glob = "WITH * AS MATERIALIZED *"},
    {.name = "view", .glob = "*FROM @V v WHERE *"},
    {.name = "view in a join", .glob = "*FROM @V v * JOIN @T o*"},
    {.name = "typeof", .glob = "*typeof(\"*\") = '*"},
    {.name = "typeof(since)", .glob = "*typeof(o.since)*"},
    {.name = "since against a column", .glob = "*since [<>=]* \"*"},
    {.name = "since IN the values of a column", .glob = "*since IN (SELECT \"*"},
    {.name = "since against '1'", .glob = "*since [<=>]* '[0-9]*'*"},
    {.name = "since against '1.0'", .glob = "*since [<=>]* '[0-9]*.0'*"},
    {.name = "since against ' 1 '", .glob = "*since [<=>]* ' [0-9]* '*"},
    {.name = "since against 1.5", .glob = "*since [<=>]* [0-9]*.5*"},
    {.name = "since against NULL", .glob = "*since [<=>]* NULL*", .may_be_empty = true},
    {.name = "since against 'abc'", .glob = "*since [<=>]* 'abc'*", .may_be_empty = true},
    {.name = "since against x'00'", .glob = "*since [<=>]* x'00'*", .may_be_empty = true},
    {.name = "since against 9.3e18", .glob = "*since [<=>]* 9.3e18*", .may_be_empty = true},
    {.name = "since against -1", .glob = "*since [<=>]* -1*", .may_be_empty = true},
    {.name = "since against 1e300", .glob = "*since [<=>]* 1e300*", .may_be_empty = true},
    {.name = "rows in memory"},
    {.name = "rows in the tail"},
    {.name = "rows in segments"},
    {.name = "rows in compacted segments"},
    {.name = "deleted rows in segments"},
    {.name = "a column that was added"},
    {.name = "many partitions"},
    {.name = "a partition of NULL"},
    {.name = "a partition of ''"},
    {.name = "an ANY column of all types"},
    {.name = "INTEGER"},
    {.name = "REAL"},
    {.name = "TEXT"},
    {.name = "BLOB"},
    {.name = "BOOLEAN"},
    {.name = "TIMESTAMP_MS"},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

void shapes_note(const char *sql, size_t rows) {
  for (size_t i = 0; i < SHAPES; i++) {
    if (shapes[i].glob != NULL && (rows > 0 || shapes[i].may_be_empty) && sqlite3_strglob(shapes[i].glob, sql) == 0)
      shapes[i].seen++;
  }
}

void shapes_note_place(const char *place) {
  for (size_t i = 0; i < SHAPES; i++) {
    if (shapes[i].glob == NULL && strcmp(shapes[i].name, place) == 0)
      shapes[i].seen++;
  }
}

bool shapes_complete(void) {
  bool complete = true;
  for (size_t i = 0; i < SHAPES; i++) {
    if (shapes[i].seen > 0 || sqlite3_libversion_number() < shapes[i].from_version)
      continue;
    fprintf(stderr, "no query had this shape: %s\n", shapes[i].name);
    complete = false;
  }
  return complete;
}
