/* One side of the comparison: a database in a file of its own that holds the rows in a table `logs`, which is a dataset
 * of Tidemark or what a user would make without it: CREATE TABLE logs(since INTEGER PRIMARY KEY, ...) and an index on
 * (source, since). Both have SQLite's default page and cache size, write-ahead logging, and the same synchronous
 * setting. All that goes wrong ends the program. */
#ifndef TIDE_BENCH_SIDE_H
#define TIDE_BENCH_SIDE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "generate.h"

enum side_kind { SIDE_TIDEMARK, SIDE_TABLE, SIDES };

extern const char *const side_names[SIDES];

struct side {
  enum side_kind kind;
  sqlite3 *db;
  char path[512];
  sqlite3_stmt *insert;
};

/* What a query gave: enough to tell whether both sides gave the same. */
struct answer {
  uint64_t rows;
  uint64_t sum; /* of each value's number, or length when it is text, over all columns */
};

/* The extension to load into each connection. */
void side_use_module(const char *path);

/* A new file `name` in the folder, in place of one that is there. */
void side_create(struct side *side, enum side_kind kind, const char *folder, const char *name);
/* One that is there. */
void side_open(struct side *side, enum side_kind kind, const char *folder, const char *name);
void side_close(struct side *side);

/* Formats of sqlite3_mprintf. */
void side_exec(struct side *side, const char *format, ...);
int64_t side_int(struct side *side, const char *format, ...);
/* The first value as text; freed by sqlite3_free. */
char *side_text(struct side *side, const char *format, ...);

/* Rows [from, to) of the block, by one prepared statement. */
void side_insert(struct side *side, const struct block *block, size_t from, size_t to);

sqlite3_stmt *side_prepare(struct side *side, const char *sql);
/* Steps to the end and reads every column of every row. */
struct answer side_drain(sqlite3_stmt *stmt);

/* The write-ahead log goes into the file. */
void side_checkpoint(struct side *side);
/* Bytes of the pages that hold the table and all that belongs to it. */
int64_t side_table_bytes(struct side *side);

#endif
