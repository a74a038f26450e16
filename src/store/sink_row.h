/* Rows of tidemark_sink with what registering fixed for them, as C values. */
#ifndef TIDE_STORE_SINK_ROW_H
#define TIDE_STORE_SINK_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"
#include "base/stmt_pool.h"

struct tide_sink {
  char *sink;
  char *dataset;
  char *target; /* NULL: one drives it oneself; likewise format, columns, filter and options when not given */
  char *format;
  char *columns;
  char *filter;
  char *options;
  char *state;
  char *folder; /* the decoded path of a file target, else NULL */
  char *prefix; /* the dataset's name when the sink was registered */
  int64_t start;
  int64_t max_rows; /* 0: not given, as for the three below */
  int64_t max_bytes;
  int64_t min_rows;
  int64_t max_delay_ms; /* -1: not given */
  int64_t caught_up;    /* every partition's rows up to it are in the sink's log */
  int64_t epoch;        /* another random number whenever that was lowered */
  bool registered;      /* its dataset is in tidemark_registry */
};

/* The sinks of a schema of that name and dataset (NULL: any), in order. */
sqlite3_stmt *tide_sink_prepare(sqlite3 *db, const char *schema, const char *sink, const char *dataset,
                                struct tide_err *err);
/* The same from a pool of that schema (NULL: none), which it is given back to. */
sqlite3_stmt *tide_sink_take(sqlite3 *db, const char *schema, struct tide_stmt_pool *pool, const char *sink,
                             const char *dataset, struct tide_err *err);
/* The next one: false at the end and on error. ret_sink owns its strings: tide_sink_clear. */
bool tide_sink_next(sqlite3_stmt *stmt, struct tide_sink *ret_sink, struct tide_err *err);
void tide_sink_clear(struct tide_sink *sink);

/* All of them, read before anything is done with one. */
struct tide_sink_list {
  struct tide_sink *sinks;
  size_t count;
  size_t cap;
};
void tide_sink_list_read(sqlite3 *db, const char *schema, struct tide_stmt_pool *pool, const char *sink,
                         const char *dataset, struct tide_sink_list *ret_list, struct tide_err *err);
void tide_sink_list_clear(struct tide_sink_list *list);

/* A span of time in a column of a sink's row, in ms; -1 for NULL. `what` names it in the error. */
int64_t tide_sink_duration(sqlite3_stmt *stmt, int column, const char *what, struct tide_err *err);

/* The datasets of a schema (dataset NULL: all), one text column. */
sqlite3_stmt *tide_sink_datasets_prepare(sqlite3 *db, const char *schema, const char *dataset, struct tide_err *err);

/* Another sink of the dataset whose folder is that one, within it or around it, or one of a dataset that had this one's
 * name and has that folder still; NULL when there is none. The caller frees. */
char *tide_sink_folder_user(sqlite3 *db, const char *schema, const char *sink, const char *dataset, const char *folder,
                            struct tide_err *err);

/* Notes that the sink's log has every partition's rows up to a since; nothing when the sink was rewound, moved or
 * registered anew since its row was read. */
void tide_sink_set_caught_up(sqlite3 *db, const char *schema, const struct tide_sink *sink, int64_t since,
                             struct tide_err *err);

#endif
