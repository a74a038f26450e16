#include "store/tail_index.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"

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

static void fill_slots(struct tide_tail_index *index) {
  memset(index->slots, 0, index->nslots * sizeof *index->slots);
  for (size_t i = 0; i < index->count; i++)
    *slot_of(index, index->entries[i].partition) = (uint32_t)(i + 1);
}

static int grow_slots(struct tide_tail_index *index, struct tide_err *err) {
  if (index->count + 1 <= index->nslots / 2)
    return 0;
  const size_t nslots = index->nslots > 0 ? index->nslots * 2 : SLOTS_MIN;
  uint32_t *slots = tide_realloc(index->slots, nslots, sizeof *slots, err);
  if (slots == NULL)
    return err->rc;
  index->slots = slots;
  index->nslots = nslots;
  fill_slots(index);
  return 0;
}

const struct tide_tail_entry *tide_tail_index_find(const struct tide_tail_index *index, int64_t partition) {
  const uint32_t slot = index->nslots > 0 ? *slot_of(index, partition) : 0;
  return slot != 0 ? &index->entries[slot - 1] : NULL;
}

int tide_tail_index_add(struct tide_tail_index *index, struct tide_tail_entry entry, struct tide_err *err) {
  void *entries = index->entries;
  if (grow_slots(index, err) != 0 ||
      tide_grow(&entries, &index->cap, index->count + 1, sizeof *index->entries, err) != 0)
    return err->rc;
  index->entries = entries;
  const struct tide_tail_entry *before = tide_tail_index_find(index, entry.partition);
  entry.partition_rows = entry.rows + (before != NULL ? before->partition_rows : 0);
  entry.partition_bytes = entry.bytes + (before != NULL ? before->partition_bytes : 0);
  uint32_t *slot = slot_of(index, entry.partition);
  index->entries[index->count++] = entry;
  *slot = (uint32_t)index->count;
  index->bytes += entry.bytes;
  return 0;
}

/* ---- from the table ---- */

static void check_entry(const struct tide_tail_entry *entry, struct tide_names names, struct tide_err *err) {
  if (entry->first_since < 1 || entry->last_since < entry->first_since || entry->rows < 1 || entry->bytes < 0 ||
      entry->rows - 1 > entry->last_since - entry->first_since)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_tail row %lld contradicts itself", names.dataset,
                 names.dataset, (long long)entry->last_since);
}

/* The last bytes of an entry's data; zeros when there is no such entry. */
static void read_hash(sqlite3 *db, struct tide_names names, int64_t last_since, unsigned char hash[TIDE_TAIL_HASH_SIZE],
                      struct tide_err *err) {
  sqlite3_stmt *stmt =
      tide_stmt_prepare(db, err, "SELECT substr(data, -%d) FROM " TIDE_TABLE("tail") " WHERE last_since = %lld",
                        TIDE_TAIL_HASH_SIZE, names.schema, names.dataset, (long long)last_since);
  memset(hash, 0, TIDE_TAIL_HASH_SIZE);
  if (tide_stmt_row(stmt, err) && sqlite3_column_bytes(stmt, 0) == TIDE_TAIL_HASH_SIZE)
    memcpy(hash, sqlite3_column_blob(stmt, 0), TIDE_TAIL_HASH_SIZE);
  sqlite3_finalize(stmt);
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
  sqlite3_stmt *stmt =
      tide_stmt_prepare(db, err,
                        "SELECT last_since, first_since, partition, rows, length(data)"
                        " FROM " TIDE_TABLE("tail") " WHERE last_since > %lld ORDER BY last_since",
                        names.schema, names.dataset, (long long)(known > 0 ? tide_tail_index_last(index) : INT64_MIN));
  while (tide_stmt_row(stmt, err)) {
    const struct tide_tail_entry entry = {.last_since = sqlite3_column_int64(stmt, 0),
                                          .first_since = sqlite3_column_int64(stmt, 1),
                                          .partition = sqlite3_column_int64(stmt, 2),
                                          .rows = sqlite3_column_int64(stmt, 3),
                                          .bytes = sqlite3_column_int64(stmt, 4)};
    check_entry(&entry, names, err);
    if (!tide_err_is_set(err))
      tide_tail_index_add(index, entry, err);
  }
  sqlite3_finalize(stmt);
  if (index->count > known && !tide_err_is_set(err))
    read_hash(db, names, tide_tail_index_last(index), index->hash, err);
}

/* ---- deleting ---- */

/* The entries that a deletion means. */
struct doomed {
  int64_t partition;
  int64_t upto;
};

static bool is_doomed(const struct doomed *doomed, const struct tide_tail_entry *entry) {
  return entry->partition == doomed->partition && entry->last_since <= doomed->upto;
}

static void delete_rows(const struct tide_tail_index *index, sqlite3 *db, struct tide_names names,
                        const struct doomed *doomed, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_prepare(db, err, "DELETE FROM " TIDE_TABLE("tail") " WHERE last_since = ?1",
                                         names.schema, names.dataset);
  for (size_t i = 0; i < index->count && !tide_err_is_set(err); i++) {
    if (!is_doomed(doomed, &index->entries[i]))
      continue;
    sqlite3_bind_int64(stmt, 1, index->entries[i].last_since);
    tide_stmt_run(stmt, err);
  }
  sqlite3_finalize(stmt);
}

/* Takes them out of the index; what is left of the partition counts from there. */
static void forget_entries(struct tide_tail_index *index, const struct doomed *doomed, struct tide_tail_gone *gone) {
  size_t kept = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < index->count; i++) {
    struct tide_tail_entry entry = index->entries[i];
    if (is_doomed(doomed, &entry)) {
      gone->rows += entry.rows;
      gone->last_since = entry.last_since;
      bytes += entry.bytes;
      continue;
    }
    if (entry.partition == doomed->partition) {
      entry.partition_rows -= gone->rows;
      entry.partition_bytes -= bytes;
    }
    index->entries[kept++] = entry;
  }
  index->count = kept;
  index->bytes -= bytes;
  fill_slots(index);
}

void tide_tail_index_delete_upto(struct tide_tail_index *index, sqlite3 *db, struct tide_names names, int64_t partition,
                                 int64_t upto, struct tide_tail_gone *ret_gone, struct tide_err *err) {
  const struct doomed doomed = {partition, upto};
  *ret_gone = (struct tide_tail_gone){0};
  if (tide_err_is_set(err) || tide_tail_index_find(index, partition) == NULL)
    return;
  const int64_t last = tide_tail_index_last(index);
  delete_rows(index, db, names, &doomed, err);
  if (tide_err_is_set(err))
    return;
  forget_entries(index, &doomed, ret_gone);
  if (index->count > 0 && tide_tail_index_last(index) != last)
    read_hash(db, names, tide_tail_index_last(index), index->hash, err);
}

void tide_tail_index_delete_partition(struct tide_tail_index *index, sqlite3 *db, struct tide_names names,
                                      int64_t partition, struct tide_err *err) {
  struct tide_tail_gone gone;
  tide_tail_index_delete_upto(index, db, names, partition, INT64_MAX, &gone, err);
}

void tide_tail_index_reset(struct tide_tail_index *index) {
  index->count = 0;
  index->bytes = 0;
  if (index->nslots > 0)
    fill_slots(index);
}

void tide_tail_index_clear(struct tide_tail_index *index) {
  tide_free(index->entries);
  tide_free(index->slots);
  *index = (struct tide_tail_index){0};
}
