/* Names of tables in the file. A dataset d of a schema s has the shadow tables "s"."d_tail" and so on; SQL here
 * writes them as TIDE_TABLE("tail") with the two names as "%w" arguments, so that quoting happens in one place. */
#ifndef TIDE_STORE_NAMES_H
#define TIDE_STORE_NAMES_H

#include <stdbool.h>

#define TIDE_TABLE(suffix) "\"%w\".\"%w_" suffix "\""

struct tide_stmt_pool;
struct tide_tail_press;

/* Which dataset: views of names that the dataset's handle owns. Statements that functions taking it give out are given
 * back to its pool (tide_stmt_pool_give). */
struct tide_names {
  const char *schema; /* as this connection calls it; never stored */
  const char *dataset;
  struct tide_stmt_pool *pool;   /* statements on its tables, kept for use again; NULL: they are not */
  struct tide_tail_press *press; /* packs and unpacks batches of its tail; NULL: nobody here reads or writes them */
  bool unique; /* it has the table _unique, by the option of that name; that of another dataset's name is the user's */
};

/* The suffixes of a dataset's shadow tables, NULL-ended. */
const char *const *tide_names_suffixes(struct tide_names names);

/* For xShadowName: whether the part behind "<dataset>_" is one of ours. */
bool tide_names_is_shadow(const char *suffix);

#endif
