/* What a batch's config freezes: its sink's row, in the row's own words, and what else the object says of itself. */
#ifndef TIDE_STORE_FROZEN_H
#define TIDE_STORE_FROZEN_H

#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"
#include "base/stmt_pool.h"

/* Strings are owned: tide_frozen_clear. */
struct tide_frozen {
  char *target;
  char *format;
  char *columns; /* JSON list, never NULL once frozen */
  char *filter;
  char *options;
  char *dataset;          /* its name outside; NULL in what an early Tidemark froze, as is the next */
  char *log_id;           /* of the names outside: the dataset's, or the sink's own after a fork */
  int64_t schema_version; /* how many columns the dataset had; 0: not known */
  int64_t layout;         /* the version of the format's layout; 0: the first, or the only one */
};

/* The config as JSON; the caller frees. */
char *tide_frozen_write(sqlite3 *db, struct tide_stmt_pool *pool, const struct tide_frozen *frozen,
                        struct tide_err *err);
int tide_frozen_read(sqlite3 *db, const char *config, struct tide_frozen *ret_frozen, struct tide_err *err);
void tide_frozen_clear(struct tide_frozen *frozen);

/* A sink's options (NULL: none) with one of them set to a number. The caller frees. */
char *tide_frozen_options(sqlite3 *db, const char *options, const char *name, int64_t value, struct tide_err *err);

#endif
