#include "engine/seal.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/packer.h"
#include "segment/segment.h"
#include "store/deleted.h"

/* One seal of one partition at work. */
struct seal {
  struct tide_dataset *ds;
  struct tide_names names;
  int64_t partition;
  int64_t pruned_upto;
  struct tide_batch gathered; /* decoded rows of one tail entry or run, those that are gone among them */
  struct tide_packer packer;
  uint8_t *live;
  size_t live_cap;
  sqlite3_stmt *tail_stmt;
  sqlite3_stmt *deleted_stmt;
  int64_t first_since; /* of all rows that left the tail */
  int64_t last_since;
  int64_t written; /* rows that left the tail, those that are gone included */
};

static void mark_live(struct seal *seal, struct tide_err *err) {
  const struct tide_batch *rows = &seal->gathered;
  void *live = seal->live;
  if (tide_grow(&live, &seal->live_cap, rows->rows, 1, err) != 0)
    return;
  seal->live = live;
  memset(seal->live, 1, rows->rows);
  for (size_t row = 0; row < rows->rows && rows->since[row] <= seal->pruned_upto; row++)
    seal->live[row] = 0;
  if (rows->since[0] <= seal->ds->deleted_max)
    tide_deleted_mark(seal->deleted_stmt, rows, seal->live, err);
}

/* Moves the gathered rows that are there into segments. */
static void take_gathered(struct seal *seal, struct tide_err *err) {
  struct tide_batch *rows = &seal->gathered;
  if (rows->rows == 0)
    return;
  mark_live(seal, err);
  if (!tide_err_is_set(err))
    tide_packer_add(&seal->packer, rows, seal->live, 0, rows->rows, err);
  if (!tide_err_is_set(err)) {
    if (seal->written == 0)
      seal->first_since = rows->since[0];
    seal->last_since = rows->since[rows->rows - 1];
    seal->written += (int64_t)rows->rows;
  }
  tide_batch_reset(rows);
}

static void take_tail(struct seal *seal, struct tide_err *err) {
  const struct tide_tail_index *tail = &seal->ds->tail;
  for (size_t i = 0; i < tail->count && !tide_err_is_set(err); i++) {
    const struct tide_tail_entry *entry = &tail->entries[i];
    if (entry->partition != seal->partition)
      continue;
    if (!tide_tail_read(seal->tail_stmt, seal->names, seal->ds->spec, entry, &seal->gathered, err))
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: %s_tail row %lld is missing", seal->ds->name, seal->ds->name,
                   (long long)entry->last_since);
    if (seal->gathered.rows >= TIDE_SEGMENT_FRAME_ROWS || seal->gathered.raw_bytes >= TIDE_TXN_DIRECT_BYTES)
      take_gathered(seal, err);
  }
  if (!tide_err_is_set(err))
    take_gathered(seal, err);
}

static void read_pruned_upto(struct seal *seal, struct tide_err *err) {
  struct tide_partition_row row = {0};
  sqlite3_stmt *stmt = tide_catalog_partition_by_id(seal->ds->conn->db, seal->names, err);
  if (stmt != NULL)
    sqlite3_bind_int64(stmt, 1, seal->partition);
  if (tide_catalog_partition_row(stmt, seal->names, &row, err))
    seal->pruned_upto = row.pruned_upto;
  tide_stmt_pool_give(seal->names.pool, stmt);
}

static void open_seal(struct seal *seal, struct tide_err *err) {
  sqlite3 *db = seal->ds->conn->db;
  seal->names = tide_dataset_names(seal->ds);
  if (!tide_err_is_set(err))
    tide_batch_init(&seal->gathered, seal->ds->spec->ncolumns, err);
  if (!tide_err_is_set(err))
    tide_packer_init(&seal->packer, seal->ds, seal->partition, seal->ds->config.options.zstd_level, 0, err);
  read_pruned_upto(seal, err);
  seal->tail_stmt = tide_tail_prepare(db, seal->names, err);
  seal->deleted_stmt = tide_deleted_prepare(db, seal->names, err);
}

static void close_seal(struct seal *seal) {
  tide_stmt_pool_give(seal->names.pool, seal->tail_stmt);
  tide_stmt_pool_give(seal->names.pool, seal->deleted_stmt);
  tide_batch_clear(&seal->gathered);
  tide_packer_clear(&seal->packer);
  tide_free(seal->live);
}

/* What the shadow tables say of the partition after its rows were written to segments. */
static void settle(struct seal *seal, struct tide_err *err) {
  struct tide_dataset *ds = seal->ds;
  sqlite3 *db = ds->conn->db;
  const struct tide_partition_change change = {.written = seal->written, .last_since = seal->last_since};
  if (seal->written == 0 || tide_err_is_set(err))
    return;
  tide_packer_finish(&seal->packer, err);
  if (tide_err_is_set(err))
    return;
  tide_tail_index_delete_partition(&ds->tail, db, seal->names, seal->partition, err);
  if (seal->first_since <= ds->deleted_max)
    tide_deleted_forget(db, seal->names, seal->partition, seal->first_since - 1, seal->last_since, err);
  if (seal->last_since > ds->config.sealed_since)
    ds->config.sealed_since = seal->last_since;
  tide_catalog_partition_change(db, seal->names, seal->partition, &change, err);
  tide_catalog_store_counters(db, seal->names, &ds->config, err);
  ds->epoch++;
}

static void add_up(const struct seal *seal, struct tide_seal_result *result) {
  result->partitions += seal->written > 0;
  result->segments += seal->packer.segments;
  result->rows += seal->packer.rows;
  result->dropped += seal->written - seal->packer.rows;
  result->stored_bytes += seal->packer.stored_bytes;
}

void tide_seal_partition(struct tide_dataset *ds, int64_t partition, struct tide_tail_run *run,
                         struct tide_seal_result *ret_result, struct tide_err *err) {
  struct seal seal = {.ds = ds, .partition = partition};
  tide_dataset_refresh(ds, err);
  tide_dataset_touched(ds);
  open_seal(&seal, err);
  if (!tide_err_is_set(err))
    take_tail(&seal, err);
  if (run != NULL && !tide_err_is_set(err)) {
    tide_tail_run_decode(run, ds->spec, &seal.gathered, err);
    if (!tide_err_is_set(err))
      take_gathered(&seal, err);
  }
  settle(&seal, err);
  close_seal(&seal);
  if (tide_err_is_set(err)) {
    tide_dataset_forget(ds);
    return;
  }
  if (run != NULL)
    tide_tail_run_reset(run);
  if (ret_result != NULL)
    add_up(&seal, ret_result);
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

void tide_seal_piece(struct tide_dataset *ds, const char *what, int64_t partition, struct tide_seal_result *result,
                     struct tide_failures *failures, struct tide_err *err) {
  struct tide_work work;
  struct tide_seal_result sealed = *result;
  tide_work_begin(ds, what, &work, err);
  if (!tide_err_is_set(err) && tide_tail_index_find(&ds->tail, partition) != NULL)
    tide_seal_partition(ds, partition, NULL, &sealed, err);
  tide_work_end(&work, err);
  if (!tide_err_is_set(err))
    *result = sealed;
  take_failure(ds, partition, failures, err);
}

void tide_seal_all(struct tide_dataset *ds, struct tide_seal_result *ret_result, struct tide_err *err) {
  tide_txn_flush(ds, err);
  tide_dataset_refresh(ds, err);
  while (!tide_err_is_set(err) && ds->tail.count > 0)
    tide_seal_partition(ds, ds->tail.entries[0].partition, NULL, ret_result, err);
}

bool tide_seal_is_due(const struct tide_dataset *ds, int64_t rows, int64_t bytes) {
  return rows >= ds->config.options.segment_rows || bytes >= TIDE_PACKER_SEGMENT_BYTES;
}

void tide_seal_due(struct tide_dataset *ds, int64_t since, struct tide_err *err) {
  tide_dataset_refresh(ds, err);
  for (size_t i = ds->tail.count; i > 0 && !tide_err_is_set(err); i--) {
    const struct tide_tail_entry *entry = &ds->tail.entries[i - 1];
    if (entry->last_since < since)
      break;
    if (tide_seal_is_due(ds, entry->partition_rows, entry->partition_bytes)) {
      tide_seal_partition(ds, entry->partition, NULL, NULL, err);
      i = ds->tail.count + 1;
    }
  }
  while (!tide_err_is_set(err) && (ds->tail.count > TIDE_TXN_TAIL_BATCHES || ds->tail.bytes > TIDE_TXN_TAIL_BYTES))
    tide_seal_partition(ds, ds->tail.entries[0].partition, NULL, NULL, err);
}
