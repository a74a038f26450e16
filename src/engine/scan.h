/* Reads the rows of a dataset that a request means, each once, deleted ones left out: segments, then the tail,
 * partition by partition, ascending in since inside each; or merged over all partitions when the request is ordered.
 * Columns are decoded only when a row asks for them, a frame at a time. Rows in memory are flushed to the tail
 * first.
 *
 * The rows are those that the connection sees at open, up to the newest since then. A scan outlives commits, seals
 * and inserts of its own connection: it knows where it is by since, and looks again when rows have moved. Life:
 * open, next until false, values of the row at hand, close. */
#ifndef TIDE_ENGINE_SCAN_H
#define TIDE_ENGINE_SCAN_H

#include "engine/dataset.h"
#include "engine/plan.h"
#include "engine/window.h"

struct tide_scan;

/* What a scan shows of itself, so that a row costs no call: tide_scan_view. */
struct tide_scan_view {
  struct tide_window *window; /* its row is the one at hand */
  const struct tide_spec *spec;
  const struct tide_val *partition_values; /* in partition_by's order */
  bool alone;                              /* the window's next row is the scan's */
  int64_t epoch;                           /* of what is in the window; as it is now: */
  const int64_t *epoch_now;
};

/* Takes the request over (it is cleared), also on failure, when NULL comes back. */
struct tide_scan *tide_scan_open(struct tide_dataset *ds, struct tide_scan_request *request, struct tide_err *err);
void tide_scan_close(struct tide_scan *scan); /* NULL is fine */

/* Moves to the next row: false at the end and on error. */
bool tide_scan_next(struct tide_scan *scan, struct tide_err *err);

/* The scan's view: right after tide_scan_next gave true, until the next call of it. */
static inline struct tide_scan_view *tide_scan_view(struct tide_scan *scan) {
  return (struct tide_scan_view *)scan;
}

/* Moves to the next row when that is easily done; when not, nothing has happened, and tide_scan_next does it. */
static inline bool tide_scan_step(struct tide_scan *scan) {
  const struct tide_scan_view *view = tide_scan_view(scan);
  return view->alone && view->epoch == *view->epoch_now && tide_window_step(view->window);
}

/* Of the row at hand. Views live until the scan moves. A request by rows wants tide_scan_number before
 * tide_scan_since. */
int tide_scan_number(struct tide_scan *scan, struct tide_err *err);
int64_t tide_scan_since(const struct tide_scan *scan);
int64_t tide_scan_partition_id(const struct tide_scan *scan);
int tide_scan_ingested_at(struct tide_scan *scan, int64_t *ret_ms, struct tide_err *err);
int tide_scan_value(struct tide_scan *scan, size_t column, struct tide_val *ret_value, struct tide_err *err);
const char *tide_scan_partition(const struct tide_scan *scan, size_t *ret_size); /* its text */

/* ---- by frames: for encoders and counts; the request names one partition or is not ordered ---- */

/* Moves to the next run of rows of one frame: false at the end and on error. The batch has since decoded, other columns
 * after tide_scan_decode; rows first to end - 1 are within the range, and live[row] is 0 for those that are deleted or
 * that a predicate rules out. */
struct tide_scan_frame {
  const struct tide_batch *batch;
  size_t first;
  size_t end;
  const uint8_t *live;
  int64_t partition;
  int64_t segment_last; /* the segment's last since; 0: from the tail */
};
bool tide_scan_next_frame(struct tide_scan *scan, struct tide_scan_frame *ret_frame, struct tide_err *err);
/* Decodes a column of the frame at hand (the spec's number of columns: ingested_at). A partition column is not in
 * the batch. */
int tide_scan_decode(struct tide_scan *scan, size_t column, struct tide_err *err);

#endif
