#include "engine/txn.h"

#include "base/host.h"
#include "base/mem.h"
#include "engine/dataset.h"
#include "engine/once.h"
#include "engine/seal.h"
#include "model/partition.h"

/* ---- partitions ---- */

/* Makes the run of the partition that the row belongs to, and the partition when there is none. */
static struct tide_run *add_run(struct tide_dataset *ds, const struct tide_val *values, struct tide_err *err) {
  struct tide_buf text = {0};
  struct tide_val parts[TIDE_SPEC_PARTITION_MAX];
  for (size_t i = 0; i < ds->spec->npartition; i++)
    parts[i] = values[ds->spec->partition[i]];
  tide_partition_encode(ds->spec, parts, &text, err);
  const int64_t rowid = sqlite3_last_insert_rowid(ds->conn->db);
  const int64_t partition = tide_err_is_set(err)
                                ? 0
                                : tide_catalog_partition_add(ds->conn->db, tide_dataset_names(ds),
                                                             text.len > 0 ? (char *)text.data : "", text.len, err);
  sqlite3_set_last_insert_rowid(ds->conn->db, rowid);
  tide_buf_clear(&text);
  return tide_runs_add(&ds->txn.runs, partition, err);
}

static struct tide_run *find_run(struct tide_dataset *ds, const struct tide_val *values, struct tide_err *err) {
  struct tide_run *run = tide_runs_find(&ds->txn.runs, ds->spec, values, err);
  return run != NULL || tide_err_is_set(err) ? run : add_run(ds, values, err);
}

/* ---- going out ---- */

static bool run_is_due(const struct tide_dataset *ds, const struct tide_tail_run *run) {
  const struct tide_tail_entry *tail = tide_tail_index_find(&ds->tail, run->partition);
  return tide_seal_is_due(ds, run->rows + (tail != NULL ? tail->partition_rows : 0),
                          (int64_t)run->bytes.len + (tail != NULL ? tail->partition_raw_bytes : 0));
}

static void store_run(struct tide_dataset *ds, struct tide_tail_run *run, struct tide_err *err) {
  tide_dataset_touched(ds);
  if (ds->config.format < TIDE_CATALOG_FORMAT && tide_tail_run_may_be_packed(run)) {
    tide_catalog_raise_format(ds->conn->db, tide_dataset_names(ds), err);
    ds->config.format = TIDE_CATALOG_FORMAT;
  }
  tide_tail_run_store(run, ds->conn->db, tide_dataset_names(ds), ds->spec, &ds->tail, err);
}

/* Everything in memory goes out: to segments the runs that are encoded in part, those of `seal_at` bytes and those that
 * are due (unless it is SIZE_MAX: none), the others to the tail. */
static void flush_runs(struct tide_dataset *ds, size_t seal_at, struct tide_err *err) {
  if (ds->txn.flushing) {
    tide_err_set(err, SQLITE_LOCKED, "dataset %s is being written: a trigger on its tables cannot use it", ds->name);
    return;
  }
  ds->txn.flushing = true;
  const bool seal = ds->config.options.autoflush && seal_at < SIZE_MAX;
  const int64_t rowid = sqlite3_last_insert_rowid(ds->conn->db);
  size_t count = 0;
  tide_dataset_refresh(ds, err);
  struct tide_run **runs = tide_err_is_set(err) ? NULL : tide_runs_sorted(&ds->txn.runs, &count, err);
  struct tide_sealer *sealer = NULL;
  for (size_t i = 0; i < count && !tide_err_is_set(err); i++) {
    struct tide_run *run = runs[i];
    if (run->writer != NULL || (seal && (run->rows.bytes.len >= seal_at || run_is_due(ds, &run->rows)))) {
      sealer = sealer != NULL ? sealer : tide_sealer_open(ds, err);
      tide_sealer_partition(sealer, run->rows.partition, run, NULL, err);
    } else {
      store_run(ds, &run->rows, err);
    }
    if (!tide_err_is_set(err))
      tide_runs_went_out(&ds->txn.runs,
                         run); /* at once: what its writer took for the last rows is as much as a frame */
  }
  tide_sealer_close(sealer, err);
  tide_free(runs);
  tide_runs_all_went_out(&ds->txn.runs);
  ds->txn.flushing = false;
  sqlite3_set_last_insert_rowid(ds->conn->db, rowid);
  tide_txn_note_failure(ds, err);
}

void tide_txn_note_failure(struct tide_dataset *ds, const struct tide_err *err) {
  if (tide_err_is_set(err) && ds->txn.open)
    ds->txn.failed = true;
}

void tide_txn_check(const struct tide_dataset *ds, struct tide_err *err) {
  if (ds->txn.failed)
    tide_err_set(err, SQLITE_ABORT, "an earlier write to dataset %s failed midway: roll the transaction back",
                 ds->name);
}

/* Makes changes() say again what it said. */
static void restore_changes(struct tide_dataset *ds, int changes, struct tide_err *err) {
  if (!ds->txn.alone && sqlite3_changes(ds->conn->db) != changes && !tide_err_is_set(err))
    tide_catalog_restore_changes(ds->conn->db, tide_dataset_names(ds), changes, err);
}

/* More changes than one are those of a statement that ended in tide_txn_release, after which nothing is left to
 * flush: what is flushed then is of a statement that still runs, which will say itself what it changed. */
static void flush(struct tide_dataset *ds, size_t seal_at, struct tide_err *err) {
  if (ds->gone)
    return;
  const int changes = sqlite3_changes(ds->conn->db);
  tide_txn_check(ds, err);
  tide_erase_flush(ds, err);
  if (ds->txn.runs.filled > 0 && !tide_err_is_set(err))
    flush_runs(ds, seal_at, err);
  if (changes <= 1)
    restore_changes(ds, changes, err);
}

void tide_txn_flush(struct tide_dataset *ds, struct tide_err *err) {
  flush(ds, SIZE_MAX, err);
}

void tide_txn_release(struct tide_dataset *ds, struct tide_err *err) {
  flush(ds, TIDE_TXN_DIRECT_BYTES, err);
}

void tide_txn_sync(struct tide_dataset *ds, struct tide_err *err) {
  if (ds->gone)
    return;
  const int64_t rowid = sqlite3_last_insert_rowid(ds->conn->db);
  const int changes = sqlite3_changes(ds->conn->db);
  tide_txn_check(ds, err);
  tide_erase_flush(ds, err);
  if (ds->txn.runs.filled > 0 && !tide_err_is_set(err))
    flush_runs(ds, TIDE_TXN_DIRECT_BYTES, err);
  if (ds->txn.first_since > 0 && ds->config.options.autoflush && !tide_err_is_set(err))
    tide_seal_due(ds, ds->txn.first_since, err);
  restore_changes(ds, changes, err);
  sqlite3_set_last_insert_rowid(ds->conn->db, rowid);
  tide_erase_drop(&ds->txn.erase);
}

/* ---- rows ---- */

/* next since is one above all that was ever given: in the tail, or sealed from it. Read with the write lock held. */
static void know_counters(struct tide_dataset *ds, struct tide_err *err) {
  tide_dataset_refresh(ds, err);
  if (tide_err_is_set(err))
    return;
  const int64_t last = tide_dataset_last_since(ds);
  ds->txn.next_since = last + 1;
  ds->txn.counters_known = true;
  if (ds->txn.first_since == 0)
    ds->txn.first_since = last + 1;
}

static bool is_full(const struct tide_runs *runs) {
  return runs->bytes >= TIDE_TXN_MEMORY_BYTES || runs->filled >= TIDE_RUNS_MAX;
}

/* Before a row is added: makes room when its run or all of memory is full. What that writes is not the row that
 * last_insert_rowid() is about, should this one be refused. */
static void make_room(struct tide_dataset *ds, struct tide_run *run, struct tide_err *err) {
  const struct tide_runs *runs = &ds->txn.runs;
  const bool seal = ds->config.options.autoflush;
  const bool pack = seal && tide_packing_is_due(ds, run);
  if (!pack && !is_full(runs))
    return;
  const int64_t rowid = sqlite3_last_insert_rowid(ds->conn->db);
  if (pack)
    tide_packing_take(ds, run, err);
  if (is_full(runs))
    tide_packing_shrink(ds, TIDE_TXN_MEMORY_BYTES / 16 * 15, err);
  if (is_full(runs)) {
    flush_runs(ds, TIDE_TXN_DIRECT_BYTES, err);
    if (seal && !tide_err_is_set(err))
      tide_seal_due(ds, INT64_MAX, err);
  }
  sqlite3_set_last_insert_rowid(ds->conn->db, rowid);
  tide_txn_note_failure(ds, err);
}

static int64_t now_ms(struct tide_dataset *ds) {
  if (ds->txn.vfs == NULL)
    ds->txn.vfs = tide_host_vfs(ds->conn->db, ds->schema);
  return tide_host_vfs_now_ms(ds->txn.vfs);
}

int tide_txn_append(struct tide_dataset *ds, const struct tide_val *values, int64_t *ret_since, struct tide_err *err) {
  struct tide_txn *txn = &ds->txn;
  tide_txn_check(ds, err);
  if (!txn->counters_known)
    know_counters(ds, err);
  if (!tide_err_is_set(err) && !tide_catalog_is_count(txn->next_since))
    tide_err_set(err, SQLITE_FULL, "dataset %s: every number up to %lld was given", ds->name,
                 (long long)TIDE_CATALOG_COUNT_MAX);
  struct tide_run *run = tide_err_is_set(err) ? NULL : find_run(ds, values, err);
  if (run == NULL)
    return err->rc;
  const int64_t partition = run->rows.partition;
  make_room(ds, run, err);
  if (tide_once_enter(ds, values, partition, txn->next_since, err) != 0)
    return err->rc;
  if (txn->runs.filled == 0)
    run = find_run(ds, values, err); /* all rows went out, and with them runs perhaps */
  if (run != NULL)
    tide_runs_append(&txn->runs, run, ds->spec, txn->next_since, now_ms(ds), values, err);
  if (tide_err_is_set(err)) {
    if (ds->config.options.unique != TIDE_OPTIONS_NOT_UNIQUE)
      tide_txn_note_failure(ds, err); /* its value is there without it */
    return err->rc;
  }
  *ret_since = txn->next_since++;
  return 0;
}

/* ---- life ---- */

static void open_txn(struct tide_dataset *ds) {
  ds->txn.open = true;
  tide_stmt_pool_hold(ds->pool);
}

void tide_txn_begin(struct tide_dataset *ds) {
  if (ds->txn.open)
    return;
  open_txn(ds);
  ds->txn.alone = sqlite3_get_autocommit(ds->conn->db);
  ds->txn.counters_known = false;
  ds->txn.first_since = 0;
}

static void close_txn(struct tide_dataset *ds) {
  struct tide_txn *txn = &ds->txn;
  tide_erase_drop(&txn->erase);
  tide_packing_clear(&txn->packing);
  if (txn->open)
    tide_stmt_pool_release(ds->pool);
  txn->open = false;
  txn->alone = false;
  txn->counters_known = false;
  txn->failed = false;
  txn->first_since = 0;
  txn->vfs = NULL;
}

void tide_txn_committed(struct tide_dataset *ds) {
  tide_dataset_committed(ds);
  tide_runs_all_went_out(&ds->txn.runs);
  close_txn(ds);
}

void tide_txn_rolled_back(struct tide_dataset *ds) {
  tide_txn_drop(ds);
  tide_dataset_forget(ds);
}

/* What was written before the savepoint is due for sealing at a later commit: the tables may not even be there now. */
void tide_txn_rolled_back_to(struct tide_dataset *ds) {
  const bool open = ds->txn.open;
  const bool alone = ds->txn.alone;
  tide_txn_rolled_back(ds);
  if (open)
    open_txn(ds);
  ds->txn.alone = alone;
}

void tide_txn_drop(struct tide_dataset *ds) {
  tide_runs_clear(&ds->txn.runs);
  close_txn(ds);
}
