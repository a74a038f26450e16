#include "engine/seal.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "store/chunks.h"
#include "store/deleted.h"

/* One seal of one partition at work. */
struct seal {
  struct tide_dataset *ds;
  struct tide_names names;
  int64_t partition;
  struct tide_batch gathered; /* decoded rows of one tail entry or run, deleted ones among them */
  struct tide_batch segment;  /* rows of the next segment */
  struct tide_val *values;
  uint8_t *live;
  size_t live_cap;
  sqlite3_stmt *tail_stmt;
  sqlite3_stmt *deleted_stmt;
  int64_t next_chunk;
  int64_t first_since; /* of all rows that left the tail */
  int64_t last_since;
  int64_t written; /* rows that left the tail, deleted ones included */
  struct tide_seal_result result;
};

static void write_segment(struct seal *seal, struct tide_err *err) {
  struct tide_segment_out out = {0};
  if (seal->segment.rows == 0 || tide_err_is_set(err))
    return;
  tide_segment_write(seal->ds->spec, &seal->segment, seal->ds->spec->zstd_level, &out, err);
  if (!tide_err_is_set(err))
    tide_chunks_store(seal->ds->conn->db, seal->names, seal->partition, &seal->segment, &out, seal->next_chunk, err);
  if (!tide_err_is_set(err)) {
    seal->next_chunk += (int64_t)out.nchunks;
    seal->result.segments++;
    seal->result.rows += (int64_t)seal->segment.rows;
    seal->result.stored_bytes += (int64_t)out.stored_bytes;
  }
  tide_segment_out_clear(&out);
  tide_batch_reset(&seal->segment);
}

static bool segment_is_full(const struct seal *seal) {
  return (int64_t)seal->segment.rows >= seal->ds->spec->segment_rows || seal->segment.raw_bytes >= TIDE_TXN_SEAL_BYTES;
}

static void mark_live(struct seal *seal, struct tide_err *err) {
  void *live = seal->live;
  if (tide_grow(&live, &seal->live_cap, seal->gathered.rows, 1, err) != 0)
    return;
  seal->live = live;
  memset(seal->live, 1, seal->gathered.rows);
  if (seal->gathered.since[0] <= seal->ds->deleted_max)
    tide_deleted_mark(seal->deleted_stmt, &seal->gathered, seal->live, err);
}

/* Moves the gathered rows that are not deleted into segments. */
static void take_gathered(struct seal *seal, struct tide_err *err) {
  struct tide_batch *rows = &seal->gathered;
  if (rows->rows == 0)
    return;
  mark_live(seal, err);
  for (size_t row = 0; row < rows->rows && !tide_err_is_set(err); row++) {
    if (!seal->live[row])
      continue;
    for (size_t i = 0; i < rows->ncolumns; i++)
      seal->values[i] = tide_vec_get(&rows->columns[i], row);
    tide_batch_append(&seal->segment, rows->since[row], rows->ingested_at[row], seal->values, err);
    if (segment_is_full(seal))
      write_segment(seal, err);
  }
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

static void open_seal(struct seal *seal, struct tide_err *err) {
  sqlite3 *db = seal->ds->conn->db;
  const size_t ncolumns = seal->ds->spec->ncolumns;
  seal->names = tide_dataset_names(seal->ds);
  seal->values = tide_alloc_zero(ncolumns, sizeof *seal->values, err);
  if (!tide_err_is_set(err))
    tide_batch_init(&seal->gathered, ncolumns, err);
  if (!tide_err_is_set(err))
    tide_batch_init(&seal->segment, ncolumns, err);
  seal->tail_stmt = tide_tail_prepare(db, seal->names, err);
  seal->deleted_stmt = tide_deleted_prepare(db, seal->names, err);
  /* read anew, for the handle's is older than the last seal */
  struct tide_config config = {0};
  tide_catalog_config(db, seal->names, &config, err);
  seal->next_chunk = config.next_chunk;
}

static void close_seal(struct seal *seal) {
  sqlite3_finalize(seal->tail_stmt);
  sqlite3_finalize(seal->deleted_stmt);
  tide_batch_clear(&seal->gathered);
  tide_batch_clear(&seal->segment);
  tide_free(seal->values);
  tide_free(seal->live);
}

/* What the shadow tables say of the partition after its rows were written to segments. */
static void settle(struct seal *seal, struct tide_err *err) {
  struct tide_dataset *ds = seal->ds;
  sqlite3 *db = ds->conn->db;
  if (seal->written == 0 || tide_err_is_set(err))
    return;
  tide_tail_index_delete_partition(&ds->tail, db, seal->names, seal->partition, err);
  if (seal->first_since <= ds->deleted_max)
    tide_deleted_forget(db, seal->names, seal->partition, seal->first_since - 1, seal->last_since, err);
  if (seal->last_since > ds->config.sealed_since)
    ds->config.sealed_since = seal->last_since;
  ds->config.next_chunk = seal->next_chunk;
  ds->config.seals++;
  tide_catalog_sealed(db, seal->names, seal->partition, seal->written, seal->last_since, &ds->config, err);
  ds->epoch++;
  seal->result.partitions = 1;
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
  write_segment(&seal, err);
  settle(&seal, err);
  close_seal(&seal);
  if (tide_err_is_set(err)) {
    tide_dataset_forget(ds);
    return;
  }
  if (run != NULL)
    tide_tail_run_reset(run);
  if (ret_result != NULL) {
    ret_result->partitions += seal.result.partitions;
    ret_result->segments += seal.result.segments;
    ret_result->rows += seal.result.rows;
    ret_result->stored_bytes += seal.result.stored_bytes;
  }
}

void tide_seal_all(struct tide_dataset *ds, struct tide_seal_result *ret_result, struct tide_err *err) {
  tide_txn_flush(ds, err);
  tide_dataset_refresh(ds, err);
  while (!tide_err_is_set(err) && ds->tail.count > 0)
    tide_seal_partition(ds, ds->tail.entries[0].partition, NULL, ret_result, err);
}

bool tide_seal_is_due(const struct tide_spec *spec, int64_t rows, int64_t bytes) {
  return rows >= spec->segment_rows || bytes >= TIDE_TXN_SEAL_BYTES;
}

void tide_seal_due(struct tide_dataset *ds, int64_t since, struct tide_err *err) {
  tide_dataset_refresh(ds, err);
  for (size_t i = ds->tail.count; i > 0 && !tide_err_is_set(err); i--) {
    const struct tide_tail_entry *entry = &ds->tail.entries[i - 1];
    if (entry->last_since < since)
      break;
    if (tide_seal_is_due(ds->spec, entry->partition_rows, entry->partition_bytes)) {
      tide_seal_partition(ds, entry->partition, NULL, NULL, err);
      i = ds->tail.count + 1;
    }
  }
  while (!tide_err_is_set(err) && (ds->tail.count > TIDE_TXN_TAIL_BATCHES || ds->tail.bytes > TIDE_TXN_TAIL_BYTES))
    tide_seal_partition(ds, ds->tail.entries[0].partition, NULL, NULL, err);
}
