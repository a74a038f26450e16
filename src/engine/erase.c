#include "engine/erase.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "engine/dataset.h"
#include "engine/once.h"
#include "engine/scan.h"
#include "store/deleted.h"
#include "store/sinks.h"

static bool frame_has(const struct tide_erase_frame *frame, int64_t since) {
  size_t low = 0;
  size_t high = frame->count;
  if (high == 0 || since < frame->since[0] || since > frame->since[high - 1])
    return false;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (frame->since[middle] < since)
      low = middle + 1;
    else
      high = middle;
  }
  return low < frame->count && frame->since[low] == since;
}

/* Moves to the kept frame that has a row. */
static bool go_to_kept(struct tide_erase *erase, int64_t since) {
  for (size_t i = 0; i < erase->nframes; i++) {
    const size_t at = (erase->at + i) % erase->nframes;
    if (frame_has(&erase->frames[at], since)) {
      erase->at = at;
      return true;
    }
  }
  return false;
}

static void forget_frames(struct tide_erase *erase) {
  for (size_t i = 0; i < erase->nframes; i++)
    tide_free(erase->frames[i].since);
  erase->nframes = erase->numbers = erase->at = erase->oldest = 0;
}

/* The place for another frame: a new one, or that of the oldest. */
static struct tide_erase_frame *make_place(struct tide_erase *erase, struct tide_err *err) {
  void *frames = erase->frames;
  if (erase->nframes == TIDE_ERASE_FRAMES_MAX ||
      (erase->nframes >= TIDE_ERASE_FRAMES_MIN && erase->numbers >= TIDE_ERASE_NUMBERS)) {
    erase->at = erase->oldest;
    erase->oldest = (erase->oldest + 1) % erase->nframes;
    return &erase->frames[erase->at];
  }
  if (tide_grow(&frames, &erase->frames_cap, erase->nframes + 1, sizeof *erase->frames, err) != 0)
    return NULL;
  erase->frames = frames;
  erase->at = erase->nframes++;
  erase->frames[erase->at] = (struct tide_erase_frame){0};
  return &erase->frames[erase->at];
}

/* Keeps the frame's numbers and where it lies. Nothing is pending. */
static void keep_frame(struct tide_dataset *ds, const struct tide_scan_frame *frame, struct tide_err *err) {
  struct tide_erase *erase = &ds->txn.erase;
  if (erase->epoch != ds->epoch)
    forget_frames(erase);
  erase->epoch = ds->epoch;
  struct tide_erase_frame *kept = make_place(erase, err);
  if (kept == NULL)
    return;
  void *since = kept->since;
  if (kept->since == NULL)
    erase->numbers += frame->batch->rows;
  kept->count = 0;
  if (tide_grow(&since, &kept->cap, frame->batch->rows, sizeof *kept->since, err) != 0)
    return;
  kept->since = since;
  memcpy(kept->since, frame->batch->since, frame->batch->rows * sizeof *kept->since);
  kept->count = frame->batch->rows;
  kept->partition = frame->partition;
  kept->segment_last = frame->segment_last;
}

/* ---- where rows are ---- */

void tide_erase_hint(struct tide_erase *erase, int64_t since, int64_t partition) {
  struct tide_err ignored = {0};
  void *hints = erase->hints;
  if (!erase->hinting)
    erase->nhints = erase->hint = 0;
  erase->hinting = true;
  struct tide_erase_hint *last = erase->nhints > 0 ? &erase->hints[erase->nhints - 1] : NULL;
  if (last != NULL && last->partition == partition && since > last->last) {
    last->last = since;
    return;
  }
  if (erase->nhints == TIDE_ERASE_HINTS_MAX ||
      tide_grow(&hints, &erase->hints_cap, erase->nhints + 1, sizeof *erase->hints, &ignored) != 0)
    return;
  erase->hints = hints;
  erase->hints[erase->nhints++] = (struct tide_erase_hint){.partition = partition, .first = since, .last = since};
}

/* The place of the next hint from `from` on, which counts from the last one that was right, that may mean a row; nhints
 * when there is none. Rows are deleted in the order in which they were given. */
static size_t next_hint(const struct tide_erase *erase, int64_t since, size_t from) {
  for (; from < erase->nhints; from++) {
    const struct tide_erase_hint *hint = &erase->hints[(erase->hint + from) % erase->nhints];
    if (since >= hint->first && since <= hint->last)
      return from;
  }
  return erase->nhints;
}

/* Finds the frame that holds a live row of that number, in a partition (0: in any). false when there is none. */
static bool find_in(struct tide_dataset *ds, int64_t since, int64_t partition, struct tide_err *err) {
  struct tide_scan_request request;
  struct tide_scan_frame frame;
  bool found = false;
  tide_scan_request_init(&request);
  request.above = since - 1;
  request.upto = since;
  request.partition_id = partition;
  struct tide_scan *scan = tide_scan_open(ds, &request, err);
  if (scan != NULL && tide_scan_next_frame(scan, &frame, err) && frame.live[frame.first]) {
    keep_frame(ds, &frame, err);
    found = !tide_err_is_set(err);
  }
  tide_scan_close(scan);
  return found;
}

/* The ranges of hints overlap, so that one may be wrong. */
static bool find_frame(struct tide_dataset *ds, int64_t since, struct tide_err *err) {
  struct tide_erase *erase = &ds->txn.erase;
  tide_erase_flush(ds, err);
  for (size_t from = 0; (from = next_hint(erase, since, from)) < erase->nhints && !tide_err_is_set(err); from++) {
    const size_t at = (erase->hint + from) % erase->nhints;
    if (find_in(ds, since, erase->hints[at].partition, err)) {
      erase->hint = at;
      return true;
    }
  }
  return !tide_err_is_set(err) && find_in(ds, since, 0, err);
}

static void guard(struct tide_dataset *ds, int64_t since, struct tide_err *err) {
  struct tide_erase *erase = &ds->txn.erase;
  sqlite3_stmt *stmt = tide_sinks_guard_prepare(ds->conn->db, tide_dataset_names(ds), err);
  tide_sinks_guard(stmt, tide_dataset_names(ds), since, erase->frames[erase->at].partition, err);
  tide_stmt_pool_give(ds->pool, stmt);
}

static void add(struct tide_dataset *ds, int64_t since, struct tide_err *err) {
  struct tide_erase *erase = &ds->txn.erase;
  const int64_t rowid = sqlite3_last_insert_rowid(ds->conn->db);
  struct tide_erase_frame *frame = &erase->frames[erase->at];
  sqlite3_stmt *stmt = tide_deleted_add_prepare(ds->conn->db, tide_dataset_names(ds), err);
  if (tide_deleted_add(stmt, since, frame->partition, err)) {
    frame->pending++;
    if (since > ds->deleted_max)
      ds->deleted_max = since;
    tide_dataset_touched(ds);
    tide_once_leave(ds, frame->partition, since, err);
    tide_txn_note_failure(ds, err);
  }
  tide_stmt_pool_give(ds->pool, stmt);
  sqlite3_set_last_insert_rowid(ds->conn->db, rowid);
}

void tide_erase_row(struct tide_dataset *ds, int64_t since, struct tide_err *err) {
  struct tide_erase *erase = &ds->txn.erase;
  if (ds->txn.runs.filled > 0)
    tide_txn_flush(ds, err);
  erase->hinting = false;
  if (since < 1 || tide_err_is_set(err))
    return;
  if ((erase->epoch != ds->epoch || !go_to_kept(erase, since)) && !find_frame(ds, since, err))
    return;
  guard(ds, since, err);
  if (!tide_err_is_set(err)) /* one that rolled back has dropped the frames */
    add(ds, since, err);
}

void tide_erase_flush(struct tide_dataset *ds, struct tide_err *err) {
  struct tide_erase *erase = &ds->txn.erase;
  for (size_t i = 0; i < erase->nframes && !tide_err_is_set(err); i++) {
    struct tide_erase_frame *frame = &erase->frames[i];
    if (frame->pending == 0)
      continue;
    tide_catalog_count_deleted(ds->conn->db, tide_dataset_names(ds), frame->partition, frame->segment_last,
                               frame->pending, err);
    tide_txn_note_failure(ds, err);
    if (!tide_err_is_set(err))
      frame->pending = 0;
  }
}

void tide_erase_drop(struct tide_erase *erase) {
  forget_frames(erase);
  tide_free(erase->frames);
  tide_free(erase->hints);
  *erase = (struct tide_erase){.epoch = -1};
}
