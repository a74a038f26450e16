#include "engine/seal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/packer.h"
#include "segment/segment.h"
#include "store/deleted.h"

struct tide_sealer {
  struct tide_dataset *ds;
  struct tide_names names;
  struct tide_batch gathered; /* decoded rows of one tail entry or run, those that are gone among them */
  struct tide_packer packer;
  uint8_t *live;
  size_t live_cap;
  struct tide_tail_entry *entries; /* of the partition at hand, ascending */
  size_t entries_cap;
  sqlite3_stmt *tail_stmt;
  sqlite3_stmt *delete_stmt;  /* of tail rows */
  sqlite3_stmt *deleted_stmt; /* of rows that were deleted */
  sqlite3_stmt *partition_stmt;
  bool sealed; /* anything */
  /* of the partition at hand: */
  int64_t partition;
  int64_t pruned_upto;
  int64_t first_since; /* of all rows that left the tail */
  int64_t last_since;
  int64_t written; /* rows that left the tail, those that are gone included */
};

static void mark_live(struct tide_sealer *sealer, struct tide_err *err) {
  const struct tide_batch *rows = &sealer->gathered;
  void *live = sealer->live;
  if (tide_grow(&live, &sealer->live_cap, rows->rows, 1, err) != 0)
    return;
  sealer->live = live;
  memset(sealer->live, 1, rows->rows);
  for (size_t row = 0; row < rows->rows && rows->since[row] <= sealer->pruned_upto; row++)
    sealer->live[row] = 0;
  if (rows->since[0] <= sealer->ds->deleted_max)
    tide_deleted_mark(sealer->deleted_stmt, sealer->partition, rows, sealer->live, err);
}

/* Moves the gathered rows that are there into segments. */
static void take_gathered(struct tide_sealer *sealer, struct tide_err *err) {
  struct tide_batch *rows = &sealer->gathered;
  if (rows->rows == 0)
    return;
  mark_live(sealer, err);
  if (!tide_err_is_set(err))
    tide_packer_add(&sealer->packer, rows, sealer->live, 0, rows->rows, err);
  if (!tide_err_is_set(err)) {
    if (sealer->written == 0)
      sealer->first_since = rows->since[0];
    sealer->last_since = rows->since[rows->rows - 1];
    sealer->written += (int64_t)rows->rows;
  }
  tide_batch_reset(rows);
}

/* The partition's entries in the tail, ascending. */
static size_t list_entries(struct tide_sealer *sealer, struct tide_err *err) {
  const struct tide_tail_index *tail = &sealer->ds->tail;
  const struct tide_tail_entry *entry = tide_tail_index_find(tail, sealer->partition);
  const size_t count = entry != NULL ? entry->partition_batches : 0;
  void *entries = sealer->entries;
  if (tide_grow(&entries, &sealer->entries_cap, count, sizeof *sealer->entries, err) != 0)
    return 0;
  sealer->entries = entries;
  for (size_t i = count; i > 0; entry = tide_tail_index_before(tail, entry))
    sealer->entries[--i] = *entry;
  return count;
}

/* Each is deleted when it is read: its pages are still in the cache then, and all of them may be more than that
 * holds. */
static void take_tail(struct tide_sealer *sealer, struct tide_err *err) {
  const size_t count = list_entries(sealer, err);
  for (size_t i = 0; i < count && !tide_err_is_set(err); i++) {
    const struct tide_tail_entry *entry = &sealer->entries[i];
    const struct tide_tail_part whole = tide_tail_whole(entry);
    if (!tide_tail_read(sealer->tail_stmt, sealer->names, sealer->ds->spec, &whole, &sealer->gathered, err))
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_tail row %lld is missing", sealer->ds->name,
                   sealer->ds->name, (long long)entry->last_since);
    tide_stmt_bind_ints(sealer->delete_stmt, &entry->last_since, 1);
    tide_stmt_run(sealer->delete_stmt, err);
    if (sealer->gathered.rows >= TIDE_SEGMENT_FRAME_ROWS || sealer->gathered.raw_bytes >= TIDE_TXN_DIRECT_BYTES)
      take_gathered(sealer, err);
  }
  if (!tide_err_is_set(err))
    take_gathered(sealer, err);
}

static void read_pruned_upto(struct tide_sealer *sealer, struct tide_err *err) {
  struct tide_partition_row row = {0};
  tide_stmt_bind_ints(sealer->partition_stmt, &sealer->partition, 1);
  if (tide_catalog_partition_row(sealer->partition_stmt, sealer->names, &row, err))
    sealer->pruned_upto = row.pruned_upto;
  sqlite3_reset(sealer->partition_stmt);
}

/* What the shadow tables say of the partition after its rows were written to segments. */
static void settle(struct tide_sealer *sealer, struct tide_err *err) {
  struct tide_dataset *ds = sealer->ds;
  sqlite3 *db = ds->conn->db;
  const struct tide_partition_change change = {.written = sealer->written, .last_since = sealer->last_since};
  if (sealer->written == 0 || tide_err_is_set(err))
    return;
  tide_packer_finish(&sealer->packer, err);
  if (tide_err_is_set(err))
    return;
  tide_tail_index_forget_partition(&ds->tail, db, sealer->names, sealer->partition, err);
  if (sealer->first_since <= ds->deleted_max)
    tide_deleted_forget(db, sealer->names, sealer->partition, sealer->first_since - 1, sealer->last_since, err);
  if (sealer->last_since > ds->config.sealed_since)
    ds->config.sealed_since = sealer->last_since;
  tide_catalog_partition_change(db, sealer->names, sealer->partition, &change, err);
  sealer->sealed = true;
  ds->epoch++;
}

static void add_up(const struct tide_sealer *sealer, struct tide_seal_result *result) {
  result->partitions += sealer->written > 0;
  result->segments += sealer->packer.segments;
  result->rows += sealer->packer.rows;
  result->dropped += sealer->written - sealer->packer.rows;
  result->stored_bytes += sealer->packer.stored_bytes;
}

static void start(struct tide_sealer *sealer, int64_t partition, const struct tide_run *run) {
  sealer->partition = partition;
  sealer->first_since = sealer->last_since = sealer->written = sealer->pruned_upto = 0;
  tide_batch_reset(&sealer->gathered);
  if (run == NULL || run->writer == NULL) {
    tide_packer_start(&sealer->packer, partition, 0);
    return;
  }
  tide_packer_start_with(&sealer->packer, partition, 0, run->writer);
  sealer->first_since = run->packed_first;
  sealer->last_since = run->packed_last;
  sealer->written = (int64_t)tide_segment_writer_rows(run->writer);
}

void tide_sealer_packed(struct tide_sealer *sealer, const struct tide_run *run, struct tide_err *err) {
  if (tide_err_is_set(err))
    return;
  start(sealer, run->rows.partition, run);
  settle(sealer, err);
}

void tide_sealer_partition(struct tide_sealer *sealer, int64_t partition, const struct tide_run *run,
                           struct tide_seal_result *result, struct tide_err *err) {
  if (tide_err_is_set(err))
    return;
  start(sealer, partition, run);
  if (sealer->written == 0) {
    read_pruned_upto(sealer, err);
    if (!tide_err_is_set(err))
      take_tail(sealer, err);
  }
  if (run != NULL && !tide_err_is_set(err)) {
    tide_tail_run_decode(&run->rows, sealer->ds->spec, &sealer->gathered, err);
    if (!tide_err_is_set(err))
      take_gathered(sealer, err);
  }
  settle(sealer, err);
  if (!tide_err_is_set(err) && result != NULL)
    add_up(sealer, result);
}

static void clear_sealer(struct tide_sealer *sealer) {
  tide_stmt_pool_give(sealer->names.pool, sealer->tail_stmt);
  tide_stmt_pool_give(sealer->names.pool, sealer->delete_stmt);
  tide_stmt_pool_give(sealer->names.pool, sealer->deleted_stmt);
  tide_stmt_pool_give(sealer->names.pool, sealer->partition_stmt);
  tide_batch_clear(&sealer->gathered);
  tide_packer_clear(&sealer->packer);
  tide_free(sealer->live);
  tide_free(sealer->entries);
  tide_free(sealer);
}

struct tide_sealer *tide_sealer_open(struct tide_dataset *ds, struct tide_err *err) {
  sqlite3 *db = ds->conn->db;
  struct tide_sealer *sealer = tide_err_is_set(err) ? NULL : tide_alloc_zero(1, sizeof *sealer, err);
  if (sealer == NULL)
    return NULL;
  sealer->ds = ds;
  sealer->names = tide_dataset_names(ds);
  tide_dataset_refresh(ds, err);
  tide_dataset_touched(ds);
  if (!tide_err_is_set(err) && tide_batch_init(&sealer->gathered, ds->spec->ncolumns, err) == 0)
    tide_packer_init(&sealer->packer, ds, ds->config.options.zstd_level, err);
  if (ds->txn.packing.level == ds->config.options.zstd_level)
    sealer->packer.shared = ds->txn.packing.encoder;
  sealer->tail_stmt = tide_tail_prepare(db, sealer->names, err);
  sealer->delete_stmt = tide_tail_index_delete_prepare(db, sealer->names, err);
  sealer->deleted_stmt = tide_deleted_prepare(db, sealer->names, err);
  sealer->partition_stmt = tide_catalog_partition_by_id(db, sealer->names, err);
  if (!tide_err_is_set(err))
    return sealer;
  clear_sealer(sealer);
  tide_dataset_forget(ds);
  return NULL;
}

void tide_sealer_close(struct tide_sealer *sealer, struct tide_err *err) {
  if (sealer == NULL)
    return;
  struct tide_dataset *ds = sealer->ds;
  if (sealer->sealed)
    tide_catalog_store_counters(ds->conn->db, sealer->names, &ds->config, err);
  if (tide_err_is_set(err))
    tide_dataset_forget(ds);
  clear_sealer(sealer);
}

void tide_seal_partition(struct tide_dataset *ds, int64_t partition, const struct tide_run *run, struct tide_err *err) {
  struct tide_sealer *sealer = tide_sealer_open(ds, err);
  tide_sealer_partition(sealer, partition, run, NULL, err);
  tide_sealer_close(sealer, err);
}

/* ---- in pieces ---- */

enum { PIECE_BYTES = 8 << 20, PIECE_PARTITIONS = 4096 }; /* of the tail, that one transaction seals */

/* Seals the first of the list in one transaction. Gives how many it came to; an error undoes them all. */
static size_t seal_some(struct tide_dataset *ds, const char *what, const int64_t *partitions, size_t count,
                        struct tide_seal_result *result, struct tide_err *err) {
  struct tide_work work;
  struct tide_seal_result sealed = *result;
  int64_t bytes = 0;
  size_t done = 0;
  tide_work_begin(ds, what, &work, err);
  struct tide_sealer *sealer = tide_sealer_open(ds, err);
  for (; sealer != NULL && done < count && done < PIECE_PARTITIONS && bytes < PIECE_BYTES && !tide_err_is_set(err);
       done++) {
    const struct tide_tail_entry *entry = tide_tail_index_find(&ds->tail, partitions[done]);
    if (entry == NULL)
      continue;
    bytes += entry->partition_raw_bytes;
    tide_sealer_partition(sealer, partitions[done], NULL, &sealed, err);
  }
  tide_sealer_close(sealer, err);
  tide_work_end(&work, err);
  if (!tide_err_is_set(err))
    *result = sealed;
  return done;
}

/* Enters damage of a partition. */
static void take_failure(struct tide_dataset *ds, int64_t partition, struct tide_failures *failures,
                         struct tide_err *err) {
  struct tide_buf text = {0};
  struct tide_err none = {0};
  if ((err->rc & 0xff) != SQLITE_CORRUPT)
    return;
  tide_catalog_partition_next(ds->conn->db, tide_dataset_names(ds), partition - 1, &text, &none);
  tide_failures_take(failures, text.len > 0 ? (const char *)text.data : "", text.len, err);
  tide_buf_clear(&text);
}

void tide_seal_pieces(struct tide_dataset *ds, const char *what, const int64_t *partitions, size_t count,
                      struct tide_seal_result *result, struct tide_failures *failures, struct tide_err *err) {
  size_t at = 0;
  size_t alone = 0; /* up to here, each by itself: one of them is damaged */
  tide_stmt_pool_hold(ds->pool);
  while (at < count && !tide_err_is_set(err)) {
    const size_t done = seal_some(ds, what, partitions + at, at < alone ? 1 : count - at, result, err);
    if ((err->rc & 0xff) == SQLITE_CORRUPT && done > 1) {
      alone = at + done;
      tide_err_clear(err);
      continue;
    }
    take_failure(ds, partitions[at], failures, err);
    at += done > 0 ? done : 1;
  }
  tide_stmt_pool_release(ds->pool);
}

void tide_seal_all(struct tide_dataset *ds, struct tide_seal_result *result, struct tide_err *err) {
  tide_txn_flush(ds, err);
  struct tide_sealer *sealer = tide_sealer_open(ds, err);
  for (size_t i = 0; !tide_err_is_set(err) && i < ds->tail.end; i++) {
    if (ds->tail.entries[i].rows > 0)
      tide_sealer_partition(sealer, ds->tail.entries[i].partition, NULL, result, err);
  }
  tide_sealer_close(sealer, err);
}

/* ---- when ---- */

bool tide_seal_is_due(const struct tide_dataset *ds, int64_t rows, int64_t bytes) {
  return rows >= ds->config.options.segment_rows || bytes >= TIDE_PACKER_SEGMENT_BYTES;
}

/* How many batches the tail may have: a partition is worth a segment when it has several of them. */
static size_t batches_max(const struct tide_tail_index *tail) {
  const size_t worth = tail->partitions * TIDE_TXN_TAIL_BATCHES_EACH;
  if (worth < TIDE_TXN_TAIL_BATCHES)
    return TIDE_TXN_TAIL_BATCHES;
  return worth < TIDE_TXN_TAIL_BATCHES_MAX ? worth : TIDE_TXN_TAIL_BATCHES_MAX;
}

struct share {
  int64_t weight;
  int64_t partition;
};

static int by_weight(const void *a, const void *b) {
  const struct share *x = a;
  const struct share *y = b;
  return x->weight != y->weight ? (x->weight < y->weight ? 1 : -1) : (x->partition > y->partition ? 1 : -1);
}

/* What each partition has of the tail, in bytes and in batches as parts of what may be, the heaviest first. The caller
 * frees it. */
static struct share *weigh_partitions(const struct tide_tail_index *tail, size_t *ret_count, struct tide_err *err) {
  const int64_t batch_bytes = TIDE_TXN_TAIL_BYTES / (int64_t)batches_max(tail);
  struct share *shares = tide_alloc_zero(tail->partitions, sizeof *shares, err);
  *ret_count = 0;
  for (size_t i = 0; shares != NULL && i < tail->end; i++) {
    const struct tide_tail_entry *entry = &tail->entries[i];
    if (tide_tail_index_find(tail, entry->partition) == entry)
      shares[(*ret_count)++] =
          (struct share){entry->partition_batches * batch_bytes + entry->partition_raw_bytes, entry->partition};
  }
  if (shares != NULL)
    qsort(shares, *ret_count, sizeof *shares, by_weight);
  return shares;
}

static void seal_heaviest(struct tide_sealer *sealer, struct tide_err *err) {
  size_t count = 0;
  const struct tide_tail_index *tail = &sealer->ds->tail;
  const size_t most = batches_max(tail);
  struct share *shares = weigh_partitions(tail, &count, err);
  for (size_t i = 0; i < count && !tide_err_is_set(err) &&
                     (tail->count > most - most / 8 || tail->raw_bytes > TIDE_TXN_TAIL_BYTES - TIDE_TXN_TAIL_BYTES / 8);
       i++)
    tide_sealer_partition(sealer, shares[i].partition, NULL, NULL, err);
  tide_free(shares);
}

void tide_seal_due(struct tide_dataset *ds, int64_t since, struct tide_err *err) {
  struct tide_sealer *sealer = NULL;
  const struct tide_tail_index *tail = &ds->tail;
  tide_dataset_refresh(ds, err);
  for (size_t i = tide_err_is_set(err) ? 0 : tail->end; i > 0 && !tide_err_is_set(err); i--) {
    const struct tide_tail_entry *entry = &tail->entries[i - 1];
    if (entry->last_since < since)
      break;
    if (entry->rows == 0 || !tide_seal_is_due(ds, entry->partition_rows, entry->partition_raw_bytes))
      continue;
    sealer = sealer != NULL ? sealer : tide_sealer_open(ds, err);
    tide_sealer_partition(sealer, entry->partition, NULL, NULL, err);
  }
  if (!tide_err_is_set(err) && (tail->count > batches_max(tail) || tail->raw_bytes > TIDE_TXN_TAIL_BYTES)) {
    sealer = sealer != NULL ? sealer : tide_sealer_open(ds, err);
    if (sealer != NULL)
      seal_heaviest(sealer, err);
  }
  tide_sealer_close(sealer, err);
}
