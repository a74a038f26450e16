#include "engine/txn.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/mem.h"
#include "engine/dataset.h"
#include "engine/once.h"
#include "engine/seal.h"
#include "model/partition.h"

enum { BUCKETS_MIN = 16 };

/* ---- runs in memory ---- */

static void free_runs(struct tide_txn *txn) {
  while (txn->runs != NULL) {
    struct tide_txn_run *run = txn->runs;
    txn->runs = run->next_of_all;
    tide_buf_clear(&run->run.bytes);
    tide_free(run->text);
    tide_free(run);
  }
  if (txn->nbuckets > 0)
    memset(txn->buckets, 0, txn->nbuckets * sizeof(struct tide_txn_run *));
  txn->nruns = 0;
  txn->bytes = 0;
  txn->last = NULL;
}

static bool run_is(const struct tide_txn_run *run, const struct tide_buf *key) {
  return run->text_size == key->len && (key->len == 0 || memcmp(run->text, key->data, key->len) == 0);
}

static void enter(struct tide_txn *txn, struct tide_txn_run *run) {
  struct tide_txn_run **bucket = &txn->buckets[run->hash & (txn->nbuckets - 1)];
  run->next = *bucket;
  *bucket = run;
}

/* Makes room for one run more. */
static int grow_buckets(struct tide_txn *txn, struct tide_err *err) {
  if (txn->nruns < txn->nbuckets)
    return 0;
  const size_t nbuckets = txn->nbuckets > 0 ? txn->nbuckets * 2 : BUCKETS_MIN;
  struct tide_txn_run **buckets = tide_alloc_zero(nbuckets, sizeof(struct tide_txn_run *), err);
  if (buckets == NULL)
    return err->rc;
  tide_free(txn->buckets);
  txn->buckets = buckets;
  txn->nbuckets = nbuckets;
  for (struct tide_txn_run *run = txn->runs; run != NULL; run = run->next_of_all)
    enter(txn, run);
  return 0;
}

static struct tide_txn_run *add_run(struct tide_dataset *ds, uint64_t hash, struct tide_err *err) {
  const struct tide_buf *key = &ds->txn.key;
  if (grow_buckets(&ds->txn, err) != 0)
    return NULL;
  struct tide_txn_run *run = tide_alloc_zero(1, sizeof *run, err);
  if (run == NULL)
    return NULL;
  run->text = tide_copy_text((const char *)key->data, key->len, err);
  run->text_size = key->len;
  const int64_t rowid = sqlite3_last_insert_rowid(ds->conn->db);
  if (run->text != NULL)
    run->run.partition =
        tide_catalog_partition_add(ds->conn->db, tide_dataset_names(ds), run->text, run->text_size, err);
  sqlite3_set_last_insert_rowid(ds->conn->db, rowid);
  if (tide_err_is_set(err)) {
    tide_free(run->text);
    tide_free(run);
    return NULL;
  }
  run->hash = hash;
  enter(&ds->txn, run);
  run->next_of_all = ds->txn.runs;
  ds->txn.runs = run;
  ds->txn.nruns++;
  return run;
}

/* The run of the partition that the row belongs to, made when it is the first of the transaction. */
static struct tide_txn_run *find_run(struct tide_dataset *ds, const struct tide_val *values, struct tide_err *err) {
  struct tide_txn *txn = &ds->txn;
  struct tide_val parts[TIDE_SPEC_PARTITION_MAX];
  for (size_t i = 0; i < ds->spec->npartition; i++)
    parts[i] = values[ds->spec->partition[i]];
  tide_buf_reset(&txn->key);
  tide_partition_encode(ds->spec, parts, &txn->key, err);
  if (tide_err_is_set(err))
    return NULL;
  if (txn->last != NULL && run_is(txn->last, &txn->key))
    return txn->last;
  const uint64_t hash = XXH3_64bits(txn->key.data, txn->key.len);
  struct tide_txn_run *run = txn->nbuckets > 0 ? txn->buckets[hash & (txn->nbuckets - 1)] : NULL;
  while (run != NULL && !run_is(run, &txn->key))
    run = run->next;
  return run != NULL ? run : add_run(ds, hash, err);
}

/* ---- going out ---- */

static bool run_is_due(const struct tide_dataset *ds, const struct tide_tail_run *run) {
  const struct tide_tail_entry *tail = tide_tail_index_find(&ds->tail, run->partition);
  return tide_seal_is_due(ds, run->rows + (tail != NULL ? tail->partition_rows : 0),
                          (int64_t)run->bytes.len + (tail != NULL ? tail->partition_bytes : 0));
}

static void store_run(struct tide_dataset *ds, struct tide_tail_run *run, struct tide_err *err) {
  tide_dataset_touched(ds);
  tide_tail_run_store(run, ds->conn->db, tide_dataset_names(ds), ds->spec, &ds->tail, err);
}

static int by_last_since(const void *a, const void *b) {
  const struct tide_txn_run *const *x = a;
  const struct tide_txn_run *const *y = b;
  return ((*x)->run.last_since > (*y)->run.last_since) - ((*x)->run.last_since < (*y)->run.last_since);
}

/* Runs with rows, ascending in last since, so that the tail's index stays in order. */
static struct tide_txn_run **sorted_runs(const struct tide_txn *txn, size_t *ret_count, struct tide_err *err) {
  struct tide_txn_run **runs = tide_alloc_zero(txn->nruns, sizeof *runs, err);
  *ret_count = 0;
  for (struct tide_txn_run *run = txn->runs; runs != NULL && run != NULL; run = run->next_of_all) {
    if (run->run.rows > 0)
      runs[(*ret_count)++] = run;
  }
  if (runs != NULL)
    qsort(runs, *ret_count, sizeof *runs, by_last_since);
  return runs;
}

/* Everything in memory goes out: to segments the runs of `seal_at` bytes and those that are due (unless it is
 * SIZE_MAX: none), the others to the tail. */
static void flush_runs(struct tide_dataset *ds, size_t seal_at, struct tide_err *err) {
  const bool seal = ds->config.options.autoflush && seal_at < SIZE_MAX;
  const int64_t rowid = sqlite3_last_insert_rowid(ds->conn->db);
  size_t count = 0;
  tide_dataset_refresh(ds, err);
  struct tide_txn_run **runs = tide_err_is_set(err) ? NULL : sorted_runs(&ds->txn, &count, err);
  struct tide_sealer *sealer = NULL;
  for (size_t i = 0; i < count && !tide_err_is_set(err); i++) {
    struct tide_tail_run *run = &runs[i]->run;
    if (seal && (run->bytes.len >= seal_at || run_is_due(ds, run))) {
      sealer = sealer != NULL ? sealer : tide_sealer_open(ds, err);
      tide_sealer_partition(sealer, run->partition, run, NULL, err);
    } else {
      store_run(ds, run, err);
    }
  }
  tide_sealer_close(sealer, err);
  tide_free(runs);
  free_runs(&ds->txn);
  sqlite3_set_last_insert_rowid(ds->conn->db, rowid);
  tide_txn_note_failure(ds, err);
}

void tide_txn_note_failure(struct tide_dataset *ds, const struct tide_err *err) {
  if (tide_err_is_set(err) && ds->txn.open)
    ds->txn.failed = true;
}

static void check_not_failed(const struct tide_dataset *ds, struct tide_err *err) {
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
  check_not_failed(ds, err);
  tide_erase_flush(ds, err);
  if (ds->txn.nruns > 0 && !tide_err_is_set(err))
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
  check_not_failed(ds, err);
  tide_erase_flush(ds, err);
  if (ds->txn.nruns > 0 && !tide_err_is_set(err))
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
  if (last == INT64_MAX) {
    tide_err_set(err, SQLITE_FULL, "dataset %s: every number up to %lld was given", ds->name, (long long)last);
    return;
  }
  ds->txn.next_since = last + 1;
  ds->txn.counters_known = true;
  if (ds->txn.first_since == 0)
    ds->txn.first_since = last + 1;
}

/* Before a row is added: makes room when its run or all of memory is full. */
static void make_room(struct tide_dataset *ds, struct tide_txn_run *run, struct tide_err *err) {
  struct tide_txn *txn = &ds->txn;
  if (ds->config.options.autoflush && tide_seal_is_due(ds, run->run.rows, (int64_t)run->run.bytes.len)) {
    const int64_t rowid = sqlite3_last_insert_rowid(ds->conn->db);
    txn->bytes -= run->run.bytes.len;
    tide_seal_partition(ds, run->run.partition, &run->run, err);
    sqlite3_set_last_insert_rowid(ds->conn->db, rowid);
    tide_txn_note_failure(ds, err);
  } else if (txn->bytes >= TIDE_TXN_MEMORY_BYTES || txn->nruns >= TIDE_TXN_RUNS_MAX) {
    flush_runs(ds, TIDE_TXN_DIRECT_BYTES, err);
    if (ds->config.options.autoflush && !tide_err_is_set(err))
      tide_seal_due(ds, INT64_MAX, err);
    tide_txn_note_failure(ds, err);
  }
}

/* Into memory, run NULL: after a failure to find it. */
static int append_to(struct tide_dataset *ds, struct tide_txn_run *run, const struct tide_val *values,
                     struct tide_err *err) {
  struct tide_txn *txn = &ds->txn;
  if (run == NULL)
    return err->rc;
  const size_t before = run->run.bytes.len;
  if (tide_tail_run_append(&run->run, ds->spec, txn->next_since, tide_dataset_now_ms(ds), values, err) != 0)
    return err->rc;
  txn->last = run;
  txn->bytes += run->run.bytes.len - before;
  return 0;
}

int tide_txn_append(struct tide_dataset *ds, const struct tide_val *values, int64_t *ret_since, struct tide_err *err) {
  struct tide_txn *txn = &ds->txn;
  check_not_failed(ds, err);
  if (!txn->counters_known)
    know_counters(ds, err);
  struct tide_txn_run *run = tide_err_is_set(err) ? NULL : find_run(ds, values, err);
  if (run == NULL)
    return err->rc;
  const int64_t partition = run->run.partition;
  make_room(ds, run, err);
  if (tide_once_enter(ds, values, partition, txn->next_since, err) != 0)
    return err->rc;
  if (txn->nruns == 0)
    run = find_run(ds, values, err); /* all runs went out, this one too */
  if (append_to(ds, run, values, err) != 0) {
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

void tide_txn_committed(struct tide_dataset *ds) {
  tide_dataset_committed(ds);
  tide_txn_drop(ds);
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
  struct tide_txn *txn = &ds->txn;
  free_runs(txn);
  tide_free(txn->buckets);
  txn->buckets = NULL;
  txn->nbuckets = 0;
  tide_buf_clear(&txn->key);
  tide_erase_drop(&txn->erase);
  if (txn->open)
    tide_stmt_pool_release(ds->pool);
  txn->open = false;
  txn->alone = false;
  txn->counters_known = false;
  txn->failed = false;
  txn->first_since = 0;
}
