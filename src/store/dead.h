/* Rows that a receiver will not take, set aside:
 *   tidemark_dead(id, sink, dataset, partition, since, payload, reason, attempts, at) */
#ifndef TIDE_STORE_DEAD_H
#define TIDE_STORE_DEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"

/* Strings are owned: tide_dead_row_clear. */
struct tide_dead_row {
  int64_t id;
  char *sink;
  char *dataset;
  char *partition;
  int64_t since;
  char *payload; /* the row as it was encoded, without a line end */
  char *reason;
  int64_t at;       /* when it was set aside, ms since 1970; not for tide_dead_insert */
  int64_t attempts; /* how often it was sent again since it was set aside */
};
void tide_dead_row_clear(struct tide_dead_row *row);

/* Sets a row aside; id is given by SQLite. */
void tide_dead_insert(sqlite3 *db, const char *schema, const struct tide_dead_row *row, int64_t now_ms,
                      struct tide_err *err);

/* The first dead row of a sink and dataset with an id above one and up to another; false when there is none. */
bool tide_dead_next(sqlite3 *db, const char *schema, const char *sink, const char *dataset, int64_t above, int64_t upto,
                    struct tide_dead_row *ret_row, struct tide_err *err);
int64_t tide_dead_last(sqlite3 *db, const char *schema, struct tide_err *err); /* the highest id; 0: none */

/* Counts one more attempt. false when the row is gone. */
bool tide_dead_attempt(sqlite3 *db, const char *schema, int64_t id, struct tide_err *err);

/* Notes why it was refused once more; deletes it once it was taken. */
void tide_dead_refuse(sqlite3 *db, const char *schema, int64_t id, const char *reason, struct tide_err *err);
void tide_dead_delete(sqlite3 *db, const char *schema, int64_t id, struct tide_err *err);

#endif
