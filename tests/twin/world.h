/* One random world: a dataset, and beside it an ordinary STRICT table that is told the same things. Each connection to
 * the dataset's file has one to the twin's; both files have the same journal mode, so that snapshots and locks can be
 * compared as well.
 *
 * The twin's number is AUTOINCREMENT, which is what since has to be: one above all that was ever committed or is there
 * in this transaction. SQL for both sides is written once: @T is the table, @F an ordinary table whose trigger appends
 * to it, @B one to write to, @V a view of four rows out of five. */
#ifndef TIDE_TESTS_WORLD_H
#define TIDE_TESTS_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../unit/chance.h"
#include "tidemark.h"

enum { COLUMNS_MAX = 5, CONNECTIONS = 2, CURSORS = 2, HISTORY = 30, CHANGES_UNKNOWN = -1 };

struct column {
  const char *name;
  const char *type;   /* the dataset's word */
  const char *strict; /* the twin's */
  bool not_null;
  bool in_partition;
  bool unique; /* at most one is */
};

struct cursor;

struct pair {
  sqlite3 *log;
  sqlite3 *twin;
  sqlite3_stmt *insert; /* into the dataset, kept to be bound again */
  bool insert_ignores;  /* it is an INSERT OR IGNORE */
  struct cursor *cursors[CURSORS];
  int changes; /* what changes() must say, or CHANGES_UNKNOWN */
};

struct world {
  uint64_t seed;
  char dir[64];
  const char *schema;
  const char *journal;
  char *table;  /* quoted, with its schema */
  char *create; /* the dataset */
  char *create_twin;
  char *list; /* the columns, quoted */
  struct column columns[COLUMNS_MAX];
  size_t ncolumns;
  size_t npartition;
  size_t partition[2];
  bool utf16;
  size_t rows; /* when they were last compared */
  size_t npairs;
  struct pair pairs[CONNECTIONS];
  char *history[HISTORY];
  size_t nhistory;
};

/* ---- life ---- */

/* unique: some have unique=, where many rows are refused. */
void world_open(struct world *world, uint64_t seed, bool unique);
void world_reopen(struct world *world, struct pair *pair);
/* Connects the virtual table now, since it reads its tables when it does, which within a transaction holds a lock
 * that the twin has not. */
void world_connect(struct world *world, struct pair *pair);
void world_close(struct world *world);

/* One to stand at that place. */
struct column world_new_column(size_t at);
/* @V, anew once there are more columns. */
void world_create_view(struct world *world, struct pair *pair);

/* ---- saying and failing ---- */

/* Keeps a line for the report of a failure. */
void note(struct world *world, const struct pair *pair, const char *format, ...);
/* Prints seed, dataset and the last statements, and ends the process. */
_Noreturn void fail(struct world *world, const char *format, ...);

/* ---- statements ---- */

/* SQL of one side; the caller frees with sqlite3_free. */
char *expand(const struct world *world, bool twin, const char *sql);
/* Runs on one side; gives the extended code. */
int run_log(struct world *world, struct pair *pair, const char *sql);
int run_twin(struct world *world, struct pair *pair, const char *sql);
int64_t twin_int(struct world *world, struct pair *pair, const char *sql);
/* Runs on both, compares the codes and gives them. */
int run_both(struct world *world, struct pair *pair, const char *sql);
/* Fails unless the codes mean the same; or rolls both back when only the dataset's snapshot is too old to write. */
void compare_codes(struct world *world, struct pair *pair, int log, int twin, const char *sql);

/* All rows of a query as texts that keep types and bytes; sorted unless `ordered`. rc is SQLite's. */
struct rows {
  int rc;
  size_t n;
  char **row;
  int64_t *first; /* the first column, as an integer */
};
struct rows fetch(struct world *world, struct pair *pair, bool twin, const char *sql, bool ordered);
char *row_text(sqlite3_stmt *stmt);
void free_rows(struct rows *rows);
/* Runs a query on both and compares every row; gives how many there were. */
size_t compare_query(struct world *world, struct pair *pair, const char *sql, bool ordered);

#endif
