#include "engine/erase.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/dataset.h"
#include "engine/scan.h"
#include "store/deleted.h"
#include "store/sinks.h"

static bool frame_has(const struct tide_erase *erase, int64_t since) {
  size_t low = 0;
  size_t high = erase->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (erase->since[middle] < since)
      low = middle + 1;
    else
      high = middle;
  }
  return low < erase->count && erase->since[low] == since;
}

/* Keeps the frame's numbers and where it lies. */
static void keep_frame(struct tide_dataset *ds, const struct tide_scan_frame *frame, struct tide_err *err) {
  struct tide_erase *erase = &ds->txn.erase;
  void *since = erase->since;
  if (tide_grow(&since, &erase->cap, frame->batch->rows, sizeof *erase->since, err) != 0)
    return;
  erase->since = since;
  memcpy(erase->since, frame->batch->since, frame->batch->rows * sizeof *erase->since);
  erase->count = frame->batch->rows;
  erase->partition = frame->partition;
  erase->segment_last = frame->segment_last;
  erase->epoch = ds->epoch;
}

/* Finds the frame that holds a live row of that number. false when there is none. */
static bool find_frame(struct tide_dataset *ds, int64_t since, struct tide_err *err) {
  struct tide_scan_request request;
  struct tide_scan_frame frame;
  bool found = false;
  tide_erase_flush(ds, err);
  tide_scan_request_init(&request);
  request.above = since - 1;
  request.upto = since;
  struct tide_scan *scan = tide_scan_open(ds, &request, err);
  if (scan != NULL && tide_scan_next_frame(scan, &frame, err) && frame.live[frame.first]) {
    keep_frame(ds, &frame, err);
    found = !tide_err_is_set(err);
  }
  tide_scan_close(scan);
  return found;
}

static void guard(struct tide_dataset *ds, int64_t since, struct tide_err *err) {
  struct tide_erase *erase = &ds->txn.erase;
  if (erase->guard_stmt == NULL)
    erase->guard_stmt = tide_sinks_guard_prepare(ds->conn->db, tide_dataset_names(ds), err);
  tide_sinks_guard(erase->guard_stmt, tide_dataset_names(ds), since, erase->partition, err);
}

static void add(struct tide_dataset *ds, int64_t since, struct tide_err *err) {
  struct tide_erase *erase = &ds->txn.erase;
  const int64_t rowid = sqlite3_last_insert_rowid(ds->conn->db);
  if (erase->add_stmt == NULL)
    erase->add_stmt = tide_deleted_add_prepare(ds->conn->db, tide_dataset_names(ds), err);
  if (tide_deleted_add(erase->add_stmt, since, erase->partition, err)) {
    erase->pending++;
    if (since > ds->deleted_max)
      ds->deleted_max = since;
    tide_dataset_touched(ds);
  }
  sqlite3_set_last_insert_rowid(ds->conn->db, rowid);
}

void tide_erase_row(struct tide_dataset *ds, int64_t since, struct tide_err *err) {
  struct tide_erase *erase = &ds->txn.erase;
  if (ds->txn.bytes > 0)
    tide_txn_flush(ds, err);
  if (since < 1 || tide_err_is_set(err))
    return;
  if ((erase->epoch != ds->epoch || !frame_has(erase, since)) && !find_frame(ds, since, err))
    return;
  erase->busy = true;
  guard(ds, since, err);
  add(ds, since, err);
  erase->busy = false;
  if (erase->dropped)
    tide_erase_drop(erase);
}

void tide_erase_flush(struct tide_dataset *ds, struct tide_err *err) {
  struct tide_erase *erase = &ds->txn.erase;
  if (erase->pending == 0 || tide_err_is_set(err))
    return;
  tide_catalog_count_deleted(ds->conn->db, tide_dataset_names(ds), erase->partition, erase->segment_last,
                             erase->pending, err);
  tide_txn_note_failure(ds, err);
  if (!tide_err_is_set(err))
    erase->pending = 0;
}

void tide_erase_drop(struct tide_erase *erase) {
  if (erase->busy) {
    erase->dropped = true;
    return;
  }
  sqlite3_finalize(erase->add_stmt);
  sqlite3_finalize(erase->guard_stmt);
  tide_free(erase->since);
  *erase = (struct tide_erase){.epoch = -1};
}
