/* What the tail holds, without its rows: kept in memory by a dataset's handle, ascending in last_since. All zero is an
 * empty one. */
#ifndef TIDE_STORE_TAIL_INDEX_H
#define TIDE_STORE_TAIL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"
#include "store/names.h"

enum { TIDE_TAIL_HASH_SIZE = 8 };

struct tide_tail_entry {
  int64_t last_since;
  int64_t first_since;
  int64_t partition;
  int64_t rows;
  int64_t bytes;
  int64_t partition_rows; /* of its partition, in this entry and those before it: kept by tide_tail_index_add */
  int64_t partition_bytes;
};

struct tide_tail_index {
  struct tide_tail_entry *entries;
  size_t count;
  size_t cap;
  int64_t bytes;
  uint32_t *slots; /* by hash of the partition: 1 + the place of its newest entry; 0: free */
  size_t nslots;   /* a power of two, at least twice count */
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

/* Deletes all of a partition's entries, from the table and from the index. */
void tide_tail_index_delete_partition(struct tide_tail_index *index, sqlite3 *db, struct tide_names names,
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
  return index->count > 0 ? index->entries[index->count - 1].last_since : 0;
}
void tide_tail_index_reset(struct tide_tail_index *index);
void tide_tail_index_clear(struct tide_tail_index *index);

#endif
