/* What the tail holds, without its rows: kept in memory by a dataset's handle, ascending in last_since. All zero is an
 * empty one. An entry that was deleted keeps its place, with no rows, until enough of them are gone; the entries of a
 * partition are chained, so that what concerns one partition costs as many as it has. */
#ifndef TIDE_STORE_TAIL_INDEX_H
#define TIDE_STORE_TAIL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"
#include "store/names.h"
#include "store/tail_press.h"

struct tide_tail_entry {
  int64_t last_since;
  int64_t first_since;
  int64_t partition;
  int64_t rows;           /* 0: it is gone */
  int64_t bytes;          /* as stored, */
  int64_t raw_bytes;      /* and when its rows are not packed, about */
  int64_t partition_rows; /* of its partition, in this entry and those before it: kept by tide_tail_index_add */
  int64_t partition_bytes;
  int64_t partition_raw_bytes;
  uint32_t partition_batches;
  uint32_t before; /* 1 + the place of its partition's entry before it; 0: it is the first */
};

struct tide_tail_index {
  struct tide_tail_entry *entries;
  size_t places; /* of entries, those that are gone among them */
  size_t end;    /* 1 + the place of the newest entry that is there; 0: none is */
  size_t cap;
  size_t count;      /* entries that are there */
  size_t partitions; /* that have any */
  int64_t rows;
  int64_t bytes;
  int64_t raw_bytes;
  uint32_t *slots; /* by hash of the partition: 1 + the place of its newest entry, there or gone; 0: free */
  size_t nslots;   /* a power of two, at least twice places */
  unsigned char
      hash[TIDE_TAIL_HASH_SIZE]; /* the end of the newest entry's data: tells it from another of its numbers */
};

/* Whether the table has the newest entry just as it was read. An index without entries holds. */
bool tide_tail_index_holds(const struct tide_tail_index *index, sqlite3 *db, struct tide_names names,
                           struct tide_err *err);

/* Adds the entries of the table that lie above the last one known. One that contradicts itself is
 * SQLITE_CORRUPT_VTAB. */
void tide_tail_index_extend(struct tide_tail_index *index, sqlite3 *db, struct tide_names names, struct tide_err *err);
int tide_tail_index_add(struct tide_tail_index *index, struct tide_tail_entry entry, struct tide_err *err);

/* The newest entry of a partition; NULL when the tail has none. */
const struct tide_tail_entry *tide_tail_index_find(const struct tide_tail_index *index, int64_t partition);
/* The one before it of the same partition; NULL when it is the first. */
static inline const struct tide_tail_entry *tide_tail_index_before(const struct tide_tail_index *index,
                                                                   const struct tide_tail_entry *entry) {
  return entry->before > 0 ? &index->entries[entry->before - 1] : NULL;
}

/* The first place whose last_since is above a since. */
size_t tide_tail_index_above(const struct tide_tail_index *index, int64_t since);

/* Deletes all of a partition's entries in two steps, for who reads each before: each one's row from the table, by this
 * statement (tide_stmt_bind_ints last_since as ?1), then all of them from the index. */
sqlite3_stmt *tide_tail_index_delete_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);
void tide_tail_index_forget_partition(struct tide_tail_index *index, sqlite3 *db, struct tide_names names,
                                      int64_t partition, struct tide_err *err);

/* Deletes a partition's entries that lie whole at or below a since, from the table and from the index. What they were
 * is added up in ret_gone (rows, last_since; zero: there were none). */
struct tide_tail_gone {
  int64_t rows;
  int64_t last_since;
};
void tide_tail_index_delete_upto(struct tide_tail_index *index, sqlite3 *db, struct tide_names names, int64_t partition,
                                 int64_t upto, struct tide_tail_gone *ret_gone, struct tide_err *err);

/* The highest since; 0: no entries. */
static inline int64_t tide_tail_index_last(const struct tide_tail_index *index) {
  return index->end > 0 ? index->entries[index->end - 1].last_since : 0;
}
void tide_tail_index_reset(struct tide_tail_index *index);
void tide_tail_index_clear(struct tide_tail_index *index);

#endif
