/* The rows of a dataset as a virtual table: the methods that a dataset and the tables of one of its partitions share,
 * which are all but those that create, connect, rename and destroy. Each casts, makes one engine call and maps the
 * error. Those that read are in vtab_cursor.c. */
#ifndef TIDE_EXT_VTAB_ROWS_H
#define TIDE_EXT_VTAB_ROWS_H

#include "base/buf.h"
#include "engine/dataset.h"

/* The partition that a table is of: its text, and the values of the partition columns in partition_by's order, which
 * point into bytes. */
struct tide_vtab_fixed {
  struct tide_buf text;
  struct tide_buf bytes;
  struct tide_val values[TIDE_SPEC_PARTITION_MAX];
};
void tide_vtab_fixed_clear(struct tide_vtab_fixed *fixed);

struct tide_vtab_rows;

/* Gives the handle to use now, which the table keeps in ds, with its columns as in spec; NULL on failure. write: in
 * xBegin and xUpdate, which hold the dataset's write lock from then on. */
typedef struct tide_dataset *tide_vtab_find(struct tide_vtab_rows *vtab, bool write, struct tide_err *err);

/* One instance of a table; a module's own struct begins with it. */
struct tide_vtab_rows {
  sqlite3_vtab base;
  tide_vtab_find *find;
  const char *noun;        /* "dataset": what errors call the table before its name */
  char *name;              /* the table's */
  struct tide_dataset *ds; /* NULL: none was found yet */
  struct tide_spec *spec;  /* as declared to SQLite by this instance; NULL: no dataset's, and find fails */
  bool utf16;
  bool enlisted; /* the statement that writes has the dataset's schema too, by tide_sinks_enlist; no statement of a
                    transaction that can be rolled back by itself begins without xSavepoint, which makes it false */
  const struct tide_vtab_fixed *fixed; /* NULL: all partitions */
};

/* Refuses a name for a new or renamed table that is for Tidemark's own ones. */
void tide_vtab_rows_check_name(const char *noun, const char *name, struct tide_err *err);

/* init, then declare (which takes references to the dataset and its spec) in xCreate and xConnect; clear at the end,
 * also of one that failed midway or that is all zero. */
void tide_vtab_rows_init(struct tide_vtab_rows *vtab, sqlite3 *db, const char *name, struct tide_err *err);
void tide_vtab_rows_declare(struct tide_vtab_rows *vtab, sqlite3 *db, struct tide_dataset *ds, struct tide_err *err);
void tide_vtab_rows_clear(struct tide_vtab_rows *vtab);

/* Instead of declare, for a table that has no dataset to use now: tells SQLite these columns (NULL: the hidden ones
 * alone). */
void tide_vtab_rows_declare_columns(struct tide_vtab_rows *vtab, sqlite3 *db, const struct tide_spec *spec,
                                    struct tide_err *err);

/* Hands an error of xCreate or xConnect to SQLite; gives its code. */
int tide_vtab_rows_connect_error(char **ret_message, const struct tide_err *err);

int tide_vtab_rows_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
int tide_vtab_rows_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor);
int tide_vtab_rows_close(sqlite3_vtab_cursor *base);
int tide_vtab_rows_filter(sqlite3_vtab_cursor *base, int idx_num, const char *idx, int argc, sqlite3_value **argv);
int tide_vtab_rows_next(sqlite3_vtab_cursor *base);
int tide_vtab_rows_eof(sqlite3_vtab_cursor *base);
int tide_vtab_rows_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);
int tide_vtab_rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_rowid);
int tide_vtab_rows_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *ret_rowid);
int tide_vtab_rows_begin(sqlite3_vtab *base);
int tide_vtab_rows_sync(sqlite3_vtab *base);
int tide_vtab_rows_commit(sqlite3_vtab *base);
int tide_vtab_rows_rollback(sqlite3_vtab *base);
int tide_vtab_rows_savepoint(sqlite3_vtab *base, int number);
int tide_vtab_rows_release(sqlite3_vtab *base, int number);
int tide_vtab_rows_rollback_to(sqlite3_vtab *base, int number);

/* Their places in a module's initializer. */
#define TIDE_VTAB_ROWS_METHODS                                                                                         \
  .xBestIndex = tide_vtab_rows_best_index, .xOpen = tide_vtab_rows_open, .xClose = tide_vtab_rows_close,               \
  .xFilter = tide_vtab_rows_filter, .xNext = tide_vtab_rows_next, .xEof = tide_vtab_rows_eof,                          \
  .xColumn = tide_vtab_rows_column, .xRowid = tide_vtab_rows_rowid, .xUpdate = tide_vtab_rows_update,                  \
  .xBegin = tide_vtab_rows_begin, .xSync = tide_vtab_rows_sync, .xCommit = tide_vtab_rows_commit,                      \
  .xRollback = tide_vtab_rows_rollback, .xSavepoint = tide_vtab_rows_savepoint, .xRelease = tide_vtab_rows_release,    \
  .xRollbackTo = tide_vtab_rows_rollback_to

#endif
