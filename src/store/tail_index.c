#include "store/tail_index.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "base/stmt_pool.h"
#include "store/catalog.h"

enum { SLOTS_MIN = 16 };

/* ---- by partition ---- */

/* The slot of a partition: the one that has it, or the free one where it belongs. Some slot is always free. */
static uint32_t *slot_of(const struct tide_tail_index *index, int64_t partition) {
  size_t at = (size_t)(((uint64_t)partition * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
  for (;; at++) {
    uint32_t *slot = &index->slots[at & (index->nslots - 1)];
    if (*slot == 0 || index->entries[*slot - 1].partition == partition)
      return slot;
  }
}

static int grow_slots(struct tide_tail_index *index, struct tide_err *err) {
  if (index->places + 1 <= index->nslots / 2)
    return 0;
  const size_t nslots = index->nslots > 0 ? index->nslots * 2 : SLOTS_MIN;
  uint32_t *slots = tide_realloc(index->slots, nslots, sizeof *slots, err);
  if (slots == NULL)
    return err->rc;
  index->slots = slots;
  index->nslots = nslots;
  memset(slots, 0, nslots * sizeof *slots);
  for (size_t i = 0; i < index->places; i++)
    *slot_of(index, index->entries[i].partition) = (uint32_t)(i + 1);
  return 0;
}

const struct tide_tail_entry *tide_tail_index_find(const struct tide_tail_index *index, int64_t partition) {
  const uint32_t slot = index->nslots > 0 ? *slot_of(index, partition) : 0;
  return slot != 0 && index->entries[slot - 1].rows > 0 ? &index->entries[slot - 1] : NULL;
}

size_t tide_tail_index_above(const struct tide_tail_index *index, int64_t since) {
  size_t low = 0;
  size_t high = index->places;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (index->entries[middle].last_since > since)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Behind all others; there is room for it. */
static void append(struct tide_tail_index *index, struct tide_tail_entry entry) {
  const struct tide_tail_entry *before = tide_tail_index_find(index, entry.partition);
  entry.before = before != NULL ? (uint32_t)(before - index->entries) + 1 : 0;
  entry.partition_rows = entry.rows + (before != NULL ? before->partition_rows : 0);
  entry.partition_bytes = entry.bytes + (before != NULL ? before->partition_bytes : 0);
  entry.partition_raw_bytes = entry.raw_bytes + (before != NULL ? before->partition_raw_bytes : 0);
  entry.partition_batches = 1 + (before != NULL ? before->partition_batches : 0);
  uint32_t *slot = slot_of(index, entry.partition);
  index->entries[index->places++] = entry;
  *slot = (uint32_t)index->places;
  index->end = index->places;
  index->count++;
  index->partitions += before == NULL;
  index->rows += entry.rows;
  index->bytes += entry.bytes;
  index->raw_bytes += entry.raw_bytes;
}

/* Gives up the places of those that are gone. */
static void close_ranks(struct tide_tail_index *index) {
  const size_t places = index->places;
  tide_tail_index_reset(index);
  for (size_t i = 0; i < places; i++) {
    if (index->entries[i].rows > 0)
      append(index, index->entries[i]);
  }
}

int tide_tail_index_add(struct tide_tail_index *index, struct tide_tail_entry entry, struct tide_err *err) {
  void *entries = index->entries;
  if (index->places >= SLOTS_MIN && index->places - index->count > index->count)
    close_ranks(index);
  if (grow_slots(index, err) != 0 ||
      tide_grow(&entries, &index->cap, index->places + 1, sizeof *index->entries, err) != 0)
    return err->rc;
  index->entries = entries;
  append(index, entry);
  return 0;
}

/* ---- from the table ---- */

/* A row takes more than a byte, and with that sums of them have room. */
static void check_entry(const struct tide_tail_entry *entry, struct tide_names names, struct tide_err *err) {
  if (entry->first_since < 1 || entry->last_since < entry->first_since || entry->rows < 1 ||
      !tide_catalog_is_count(entry->last_since) || entry->rows > entry->raw_bytes ||
      entry->rows - 1 > entry->last_since - entry->first_since)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_tail row %lld contradicts itself", names.dataset,
                 names.dataset, (long long)entry->last_since);
}

/* The last bytes of an entry's data; zeros when there is no such entry. */
static void read_hash(sqlite3 *db, struct tide_names names, int64_t last_since, unsigned char hash[TIDE_TAIL_HASH_SIZE],
                      struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(names.pool, db, err,
                                           "SELECT substr(data, -%d) FROM " TIDE_TABLE("tail") " WHERE last_since = ?1",
                                           TIDE_TAIL_HASH_SIZE, names.schema, names.dataset);
  tide_stmt_bind_ints(stmt, &last_since, 1);
  memset(hash, 0, TIDE_TAIL_HASH_SIZE);
  if (tide_stmt_row(stmt, err) && sqlite3_column_bytes(stmt, 0) == TIDE_TAIL_HASH_SIZE)
    memcpy(hash, sqlite3_column_blob(stmt, 0), TIDE_TAIL_HASH_SIZE);
  tide_stmt_pool_give(names.pool, stmt);
}

/* What the rows take when they are not packed: it stands at the front. Read by a blob handle, which takes that from the
 * first page: a statement would fetch all of the data. Of data that begins with nothing sensible it is a guess that
 * does not contradict its row: who reads the rows will say that it is damaged, and others need not. */
static int64_t read_raw_bytes(sqlite3 *db, struct tide_names names, const struct tide_tail_entry *entry,
                              sqlite3_blob **blob, struct tide_err *err) {
  unsigned char bytes[TIDE_TAIL_FRONT_MAX];
  char *table = *blob == NULL ? tide_printf(err, "%s_tail", names.dataset) : NULL;
  if (tide_err_is_set(err))
    return 0;
  int rc = *blob != NULL ? sqlite3_blob_reopen(*blob, entry->last_since)
                         : sqlite3_blob_open(db, names.schema, table, "data", entry->last_since, 0, blob);
  if (rc == SQLITE_OK)
    rc = sqlite3_blob_read(*blob, bytes, sizeof bytes, 0);
  tide_free(table);
  if (rc != SQLITE_OK) {
    tide_stmt_error(db, rc, err);
    return 0;
  }
  struct tide_rd rd = tide_rd_over(bytes, sizeof bytes);
  const struct tide_tail_front front = tide_tail_front_read(&rd);
  if (!rd.bad && front.version == TIDE_TAIL_PLAIN)
    return entry->bytes;
  if (!rd.bad && (int64_t)front.raw_size >= entry->rows)
    return (int64_t)front.raw_size;
  return entry->rows > entry->bytes && entry->rows <= TIDE_TAIL_PACKED_MAX ? entry->rows : entry->bytes;
}

bool tide_tail_index_holds(const struct tide_tail_index *index, sqlite3 *db, struct tide_names names,
                           struct tide_err *err) {
  unsigned char hash[TIDE_TAIL_HASH_SIZE];
  if (index->count == 0)
    return true;
  read_hash(db, names, tide_tail_index_last(index), hash, err);
  return memcmp(hash, index->hash, sizeof hash) == 0;
}

void tide_tail_index_extend(struct tide_tail_index *index, sqlite3 *db, struct tide_names names, struct tide_err *err) {
  const size_t known = index->count;
  /* an empty index asks without a bound, so that a row whose number cannot be is seen, and refused */
  sqlite3_stmt *stmt = tide_stmt_pool_take(names.pool, db, err,
                                           "SELECT last_since, first_since, partition, rows, length(data)"
                                           " FROM " TIDE_TABLE("tail") " WHERE last_since > ?1 ORDER BY last_since",
                                           names.schema, names.dataset);
  const int64_t above = known > 0 ? tide_tail_index_last(index) : INT64_MIN;
  tide_stmt_bind_ints(stmt, &above, 1);
  sqlite3_blob *blob = NULL;
  while (tide_stmt_row(stmt, err)) {
    struct tide_tail_entry entry = {.last_since = sqlite3_column_int64(stmt, 0),
                                    .first_since = sqlite3_column_int64(stmt, 1),
                                    .partition = sqlite3_column_int64(stmt, 2),
                                    .rows = sqlite3_column_int64(stmt, 3),
                                    .bytes = sqlite3_column_int64(stmt, 4)};
    entry.raw_bytes =
        entry.bytes < TIDE_TAIL_PACKED_LEAST ? entry.bytes : read_raw_bytes(db, names, &entry, &blob, err);
    if (!tide_stmt_are_ints(stmt, 0, 5))
      entry.rows = 0; /* the row contradicts itself then */
    check_entry(&entry, names, err);
    if (!tide_err_is_set(err))
      tide_tail_index_add(index, entry, err);
  }
  sqlite3_blob_close(blob);
  tide_stmt_pool_give(names.pool, stmt);
  if (index->count > known && !tide_err_is_set(err))
    read_hash(db, names, tide_tail_index_last(index), index->hash, err);
}

/* ---- deleting ---- */

/* The newest of a partition's entries that lie at or below a since; NULL: there are none. `above` is the one behind it,
 * NULL when it is the partition's newest. */
static struct tide_tail_entry *newest_upto(const struct tide_tail_index *index, int64_t partition, int64_t upto,
                                           struct tide_tail_entry **ret_above) {
  const struct tide_tail_entry *entry = tide_tail_index_find(index, partition);
  *ret_above = NULL;
  while (entry != NULL && entry->last_since > upto) {
    *ret_above = &index->entries[entry - index->entries];
    entry = tide_tail_index_before(index, entry);
  }
  return entry != NULL ? &index->entries[entry - index->entries] : NULL;
}

sqlite3_stmt *tide_tail_index_delete_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(names.pool, db, err, "DELETE FROM " TIDE_TABLE("tail") " WHERE last_since = ?1",
                             names.schema, names.dataset);
}

static void delete_rows(const struct tide_tail_index *index, sqlite3 *db, struct tide_names names,
                        const struct tide_tail_entry *newest, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_tail_index_delete_prepare(db, names, err);
  for (; newest != NULL && !tide_err_is_set(err); newest = tide_tail_index_before(index, newest)) {
    tide_stmt_bind_ints(stmt, &newest->last_since, 1);
    tide_stmt_run(stmt, err);
  }
  tide_stmt_pool_give(names.pool, stmt);
}

/* Marks an entry and those before it as gone; what is left of the partition counts from there. */
static void forget_entries(struct tide_tail_index *index, struct tide_tail_entry *newest,
                           const struct tide_tail_entry *above) {
  const int64_t rows = newest->partition_rows;
  const int64_t bytes = newest->partition_bytes;
  const int64_t raw_bytes = newest->partition_raw_bytes;
  const uint32_t batches = newest->partition_batches;
  const int64_t partition = newest->partition;
  for (struct tide_tail_entry *entry = newest; entry != NULL;) {
    const uint32_t before = entry->before;
    entry->rows = 0;
    entry->before = 0;
    entry = before > 0 ? &index->entries[before - 1] : NULL;
  }
  index->rows -= rows;
  index->bytes -= bytes;
  index->raw_bytes -= raw_bytes;
  index->count -= batches;
  index->partitions -= above == NULL;
  while (index->end > 0 && index->entries[index->end - 1].rows == 0)
    index->end--;
  if (above == NULL)
    return;
  index->entries[above - index->entries].before = 0;
  for (const struct tide_tail_entry *kept = tide_tail_index_find(index, partition); kept != NULL;
       kept = tide_tail_index_before(index, kept)) {
    index->entries[kept - index->entries].partition_rows -= rows;
    index->entries[kept - index->entries].partition_bytes -= bytes;
    index->entries[kept - index->entries].partition_raw_bytes -= raw_bytes;
    index->entries[kept - index->entries].partition_batches -= batches;
  }
}

/* Of one that is left, the index knows the end of the data. */
static void forget_upto(struct tide_tail_index *index, sqlite3 *db, struct tide_names names,
                        struct tide_tail_entry *newest, const struct tide_tail_entry *above, struct tide_err *err) {
  const int64_t last = tide_tail_index_last(index);
  forget_entries(index, newest, above);
  if (index->count > 0 && tide_tail_index_last(index) != last)
    read_hash(db, names, tide_tail_index_last(index), index->hash, err);
}

void tide_tail_index_delete_upto(struct tide_tail_index *index, sqlite3 *db, struct tide_names names, int64_t partition,
                                 int64_t upto, struct tide_tail_gone *ret_gone, struct tide_err *err) {
  struct tide_tail_entry *above;
  struct tide_tail_entry *newest = newest_upto(index, partition, upto, &above);
  *ret_gone = (struct tide_tail_gone){0};
  if (tide_err_is_set(err) || newest == NULL)
    return;
  delete_rows(index, db, names, newest, err);
  if (tide_err_is_set(err))
    return;
  *ret_gone = (struct tide_tail_gone){.rows = newest->partition_rows, .last_since = newest->last_since};
  forget_upto(index, db, names, newest, above, err);
}

void tide_tail_index_forget_partition(struct tide_tail_index *index, sqlite3 *db, struct tide_names names,
                                      int64_t partition, struct tide_err *err) {
  struct tide_tail_entry *above;
  struct tide_tail_entry *newest = newest_upto(index, partition, INT64_MAX, &above);
  if (newest != NULL && !tide_err_is_set(err))
    forget_upto(index, db, names, newest, above, err);
}

void tide_tail_index_reset(struct tide_tail_index *index) {
  index->places = index->end = index->count = index->partitions = 0;
  index->rows = index->bytes = index->raw_bytes = 0;
  if (index->nslots > 0)
    memset(index->slots, 0, index->nslots * sizeof *index->slots);
}

void tide_tail_index_clear(struct tide_tail_index *index) {
  tide_free(index->entries);
  tide_free(index->slots);
  *index = (struct tide_tail_index){0};
}
