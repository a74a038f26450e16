/* Random SQL about a world: rows, conditions, queries. Every text is the caller's, to be freed with sqlite3_free. */
#ifndef TIDE_TESTS_GEN_H
#define TIDE_TESTS_GEN_H

#include "world.h"

static inline char *copy(const char *text) {
  return sqlite3_mprintf("%s", text);
}

/* ---- gen_value.c ---- */

/* A literal that the column takes; or, when `bad`, often one that it refuses. */
char *gen_value(struct world *world, const struct column *column, bool bad);
/* Any literal at all. */
char *gen_any(const struct world *world);
/* One row's values, comma-separated. */
char *gen_row(struct world *world, bool bad);
/* What stands after INSERT INTO t(columns): VALUES, or a SELECT, with a row that is refused somewhere when `bad`. */
char *gen_source(struct world *world, bool bad);

/* ---- gen_where.c ---- */

#define GEN_VIEW "v." /* the alias of a view, which has no rowid */

/* A condition on @T, named by the alias ("" : none). */
char *gen_where(struct world *world, const char *alias);
/* Something to compare since with: numbers, and what is not quite one. */
char *gen_since_value(void);

/* ---- gen_select.c ---- */

/* A whole query of a shape that gen_query leaves to it; says whether its rows come in one order only. */
char *gen_select(struct world *world, bool *ret_ordered);

/* ---- gen_query.c ---- */

/* A whole query; says whether its rows come in one order only. */
char *gen_query(struct world *world, bool *ret_ordered);
/* Some of a query's columns; LIMIT and OFFSET, or nothing. */
char *gen_columns(struct world *world);
char *gen_limit(void);

#endif
