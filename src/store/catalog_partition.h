/* The shadow table _partition (store/catalog.h draws it). */
#ifndef TIDE_STORE_CATALOG_PARTITION_H
#define TIDE_STORE_CATALOG_PARTITION_H

#include "base/buf.h"
#include "base/sqlite.h"
#include "model/spec.h"
#include "store/names.h"

/* The id of a partition by its text; 0 when there is none. */
int64_t tide_catalog_partition_find(sqlite3 *db, struct tide_names names, const char *text, size_t size,
                                    struct tide_err *err);
/* The same, made when there is none. */
int64_t tide_catalog_partition_add(sqlite3 *db, struct tide_names names, const char *text, size_t size,
                                   struct tide_err *err);

/* What the shadow table says of a partition. */
struct tide_partition_row {
  int64_t id;
  const char *text; /* a view, until the statement moves */
  size_t text_size;
  int64_t written;
  int64_t deleted;
  int64_t pruned;
  int64_t pruned_upto;
  int64_t last_since;
};

/* Partitions whose last_since is above one, in the order of that (bind nothing); one partition by its id (bind it as
 * ?1); all by their ids. Read the rows with tide_catalog_partition_row: false at the end and on error,
 * SQLITE_CORRUPT_VTAB among them for counts that cannot be: then the statement is on that row, and can go on. */
sqlite3_stmt *tide_catalog_partitions_above(sqlite3 *db, struct tide_names names, int64_t since, struct tide_err *err);
/* The ids of those that have segments with rows above one since and up to another, or whose segment there contradicts
 * itself. Finds them at a look at one segment of each that has any above, not by opening what it finds. Read the
 * row that it is on with tide_catalog_partition_id: 0 on error, SQLITE_CORRUPT_VTAB for what is no id. */
sqlite3_stmt *tide_catalog_partitions_between(sqlite3 *db, struct tide_names names, int64_t above, int64_t upto,
                                              struct tide_err *err);
sqlite3_stmt *tide_catalog_partition_by_id(sqlite3 *db, struct tide_names names, struct tide_err *err);
sqlite3_stmt *tide_catalog_partitions_all(sqlite3 *db, struct tide_names names, struct tide_err *err);
int64_t tide_catalog_partition_id(sqlite3_stmt *stmt, struct tide_names names, struct tide_err *err);
bool tide_catalog_partition_row(sqlite3_stmt *stmt, struct tide_names names, struct tide_partition_row *ret_row,
                                struct tide_err *err);

/* The row of a partition by its text, which it is then a view of. false when there is none, and on error. */
bool tide_catalog_partition_look(sqlite3 *db, struct tide_names names, const char *text, size_t size,
                                 struct tide_partition_row *ret_row, struct tide_err *err);

/* The values of a partition whose text our table holds: tide_partition_decode, but that a text which is none is damage,
 * SQLITE_CORRUPT_VTAB with the dataset's name. Returns 0 or the code. */
int tide_catalog_partition_values(struct tide_names names, const struct tide_spec *spec, const char *text, size_t size,
                                  struct tide_val *ret_values, struct tide_buf *ret_bytes, struct tide_err *err);

/* Appends the text of a partition, by a statement of tide_catalog_partition_by_id, and gives its pruned_upto;
 * SQLITE_CORRUPT_VTAB when there is no such id. */
int64_t tide_catalog_partition_text(sqlite3_stmt *stmt, struct tide_names names, int64_t id, struct tide_buf *out,
                                    struct tide_err *err);

/* The lowest id above one, 0 when there is none; appends its text. Says nothing of its counts, so that a damaged
 * partition does not hide those behind it. */
int64_t tide_catalog_partition_next(sqlite3 *db, struct tide_names names, int64_t above, struct tide_buf *out,
                                    struct tide_err *err);

/* Changes a partition's counts: each is added but pruned_upto and last_since, which are raised to what is given.
 * SQLITE_CORRUPT_VTAB when there is no such partition, or a count would pass the highest there can be. */
struct tide_partition_change {
  int64_t written;
  int64_t deleted;
  int64_t pruned;
  int64_t pruned_upto;
  int64_t last_since;
};
void tide_catalog_partition_change(sqlite3 *db, struct tide_names names, int64_t partition,
                                   const struct tide_partition_change *change, struct tide_err *err);

#endif
