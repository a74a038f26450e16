/* What the export log says of the objects of one sink and dataset. It is read in pages by id: no statement, and so no
 * snapshot, outlives a call. */
#ifndef TIDE_STORE_LOG_OBJECTS_H
#define TIDE_STORE_LOG_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"

/* Whose log. */
struct tide_log_of {
  sqlite3 *db;
  const char *schema;
  const char *sink;
  const char *dataset;
};

/* How much of it there is, in one look. */
struct tide_log_extent {
  int64_t first_id;        /* the first batch of it; 0: there is none */
  int64_t last_id;         /* the last row of the whole log */
  int64_t trimmed_batches; /* that housekeeping took out of the log */
  int64_t trimmed_bytes;
};
void tide_log_extent_read(const struct tide_log_of *of, struct tide_log_extent *ret_extent, struct tide_err *err);

/* The generations that the log has, or had before it was trimmed, each once, ascending from 0. SQLITE_CORRUPT_VTAB for
 * one that cannot be. All zero is an empty list. */
struct tide_generations {
  int64_t *numbers;
  size_t count;
  size_t cap;
};
void tide_generations_read(const struct tide_log_of *of, struct tide_generations *ret_generations,
                           struct tide_err *err);
void tide_generations_clear(struct tide_generations *generations);

struct tide_log_object {
  int64_t id;
  int64_t bytes;
  char *object;
  char *hash; /* NULL: not known */
};

/* Some of the objects that batches wrote, ascending by id. All zero is an empty one. */
#ifdef TIDE_TEST_HOOKS
enum { TIDE_LOG_PAGE_ROWS = 4 };
#else
enum { TIDE_LOG_PAGE_ROWS = 256 };
#endif
struct tide_log_page {
  struct tide_log_object rows[TIDE_LOG_PAGE_ROWS];
  size_t count;
};
/* Those with an id above one and up to another, in the place of what the page held. false when there are none, or err
 * is set. */
bool tide_log_page_read(const struct tide_log_of *of, int64_t above, int64_t upto, struct tide_log_page *page,
                        struct tide_err *err);
void tide_log_page_clear(struct tide_log_page *page);

/* What is known of one object, in one look. */
struct tide_log_sight {
  int64_t batch;         /* that is open and will write it; 0: none */
  bool logged;           /* by a row with an id above `above` */
  int64_t trimmed_until; /* up to where the log of its partition and generation was trimmed; 0: it was not */
};
void tide_log_look(const struct tide_log_of *of, const char *object, const char *partition, size_t partition_size,
                   int64_t generation, int64_t above, struct tide_log_sight *ret_sight, struct tide_err *err);

#endif
