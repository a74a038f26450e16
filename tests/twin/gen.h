/* Random SQL about a world: rows, conditions, queries. Every text is the caller's, to be freed with sqlite3_free. */
#ifndef TIDE_TESTS_GEN_H
#define TIDE_TESTS_GEN_H

#include "world.h"

/* A literal that the column takes; or, when `bad`, often one that it refuses. */
char *gen_value(struct world *world, const struct column *column, bool bad);
/* One row's values, comma-separated. */
char *gen_row(struct world *world, bool bad);
/* What stands after INSERT INTO t(columns): VALUES, or a SELECT, with a row that is refused somewhere when `bad`. */
char *gen_source(struct world *world, bool bad);

/* A condition on @T, named by the alias ("" : none). */
char *gen_where(struct world *world, const char *alias);

/* A whole query; says whether its rows come in one order only. */
char *gen_query(struct world *world, bool *ret_ordered);

#endif
