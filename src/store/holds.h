/* What keeps the rows of a partition from retention, and whom a prune overtakes: the sinks of a dataset, those that
 * were ever registered, with where they stand in that partition. */
#ifndef TIDE_STORE_HOLDS_H
#define TIDE_STORE_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"
#include "store/names.h"

/* One sink. Strings are owned by the list. */
struct tide_hold {
  char *sink;
  bool registered;     /* is in tidemark_sink; one that was deleted may come again, and goes on where its log ends */
  bool holds;          /* retention waits for it: registered, hold = 1, not disabled */
  int64_t watermark;   /* its last until, else its start */
  int64_t hold_rows;   /* caps of what it holds; -1: none */
  int64_t hold_age_ms; /* -1: none */
  int64_t batch;       /* its open batch of the partition; 0: none, and the rest means nothing */
  int64_t batch_since;
  int64_t batch_until;
  char *batch_owner;   /* NULL: nobody's */
  int64_t lease_until; /* ms since 1970; 0: none */
};

/* All zero is an empty list. */
struct tide_holds {
  struct tide_hold *items;
  size_t count;
  size_t cap;
};

/* The statement for all partitions of a dataset. */
sqlite3_stmt *tide_holds_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Reads the sinks in the order of their names, in place of what the list held, and resets the statement, so that the
 * log may be written while the list is walked. Left out: a sink that is not registered and has no log row of the
 * partition. On failure the list is empty. */
void tide_holds_read(sqlite3_stmt *stmt, const char *partition, size_t size, struct tide_holds *holds,
                     struct tide_err *err);
void tide_holds_clear(struct tide_holds *holds); /* frees; all zero again */

#endif
