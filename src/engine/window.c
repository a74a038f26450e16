#include "engine/window.h"

#include <string.h>

#include "base/mem.h"
#include "model/pred_rows.h"

/* ---- life ---- */

int tide_window_init(struct tide_window *window, const struct tide_spec *spec, struct tide_err *err) {
  *window = (struct tide_window){.step = 1};
  window->columns = tide_alloc_zero(spec->ncolumns + 1, sizeof *window->columns, err);
  if (window->columns == NULL)
    return err->rc;
  return tide_batch_init(&window->batch, spec->ncolumns, err);
}

void tide_window_clear(struct tide_window *window) {
  tide_batch_clear(&window->batch);
  tide_free(window->columns);
  tide_free(window->live_room);
}

void tide_window_leave(struct tide_window *window) {
  window->first = window->end = 0;
  window->row = window->last = 0;
  window->segment = NULL;
}

static void start(struct tide_window *window, const struct tide_spec *spec, enum tide_window_column state) {
  tide_window_leave(window);
  tide_batch_reset(&window->batch);
  window->live = NULL;
  memset(window->columns, state, spec->ncolumns + 1);
  for (size_t i = 0; i < spec->npartition; i++)
    window->columns[spec->partition[i]] = TIDE_WINDOW_FIXED;
}

void tide_window_start(struct tide_window *window, const struct tide_spec *spec, struct tide_segment *segment,
                       size_t frame) {
  start(window, spec, TIDE_WINDOW_NOT_DECODED);
  window->numbered = false;
  window->segment = segment;
  window->frame = frame;
  window->end = window->batch.rows = tide_segment_frame_rows(segment, frame);
}

void tide_window_start_tail(struct tide_window *window, const struct tide_spec *spec) {
  start(window, spec, TIDE_WINDOW_DECODED);
  window->numbered = true;
}

void tide_window_filled(struct tide_window *window) {
  window->end = window->batch.rows;
}

/* ---- decoding ---- */

int tide_window_number(struct tide_window *window, struct tide_err *err) {
  if (window->numbered)
    return 0;
  window->numbered = tide_segment_read_since(window->segment, window->frame, &window->batch, err) == 0;
  return err->rc;
}

/* Of which rows texts are decoded; NULL: of all. */
static const uint8_t *rows_to_decode(struct tide_window *window, struct tide_err *err) {
  const bool all = window->live == NULL && window->first == 0 && window->end == window->batch.rows;
  uint8_t *live = window->sparing && !all ? tide_window_flags(window, err) : NULL;
  if (live == NULL)
    return NULL;
  memset(live, 0, window->first);
  memset(live + window->end, 0, window->batch.rows - window->end);
  return live;
}

int tide_window_decode(struct tide_window *window, size_t column, struct tide_err *err) {
  if (window->columns[column] != TIDE_WINDOW_NOT_DECODED)
    return 0;
  if (column == window->batch.ncolumns) {
    tide_segment_read_ingested(window->segment, window->frame, &window->batch, err);
  } else {
    const uint8_t *wanted = rows_to_decode(window, err);
    tide_segment_read_column(window->segment, window->frame, column, wanted, &window->batch, err);
  }
  if (!tide_err_is_set(err))
    window->columns[column] = TIDE_WINDOW_DECODED;
  return err->rc;
}

/* ---- narrowing ---- */

/* The first row of the batch whose since is above `since`. */
static size_t row_above(const struct tide_batch *batch, int64_t since) {
  size_t low = 0;
  size_t high = batch->rows;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (batch->since[middle] > since)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

void tide_window_trim(struct tide_window *window, int64_t above, int64_t upto) {
  window->first = row_above(&window->batch, above);
  window->end = row_above(&window->batch, upto);
}

uint8_t *tide_window_flags(struct tide_window *window, struct tide_err *err) {
  if (window->live != NULL)
    return window->live_room;
  void *room = window->live_room;
  if (tide_err_is_set(err) || tide_grow(&room, &window->live_cap, window->batch.rows, 1, err) != 0)
    return NULL;
  window->live = window->live_room = room;
  memset(window->live_room, 1, window->batch.rows);
  return window->live_room;
}

void tide_window_keep_listed(struct tide_window *window, const struct tide_scan_request *request,
                             struct tide_err *err) {
  const int64_t *since = window->batch.since;
  uint8_t *live = tide_window_flags(window, err);
  if (live == NULL)
    return;
  memset(live, 0, window->batch.rows);
  for (size_t row = window->first; row < window->end;) {
    const int64_t next = tide_scan_request_next(request, since[row] - 1);
    while (row < window->end && since[row] < next)
      row++;
    if (row < window->end && since[row] == next)
      live[row++] = 1;
  }
}

void tide_window_keep_matching(struct tide_window *window, const struct tide_spec *spec,
                               const struct tide_scan_request *request, struct tide_err *err) {
  for (size_t i = 0; i < request->npreds && !tide_window_is_empty(window); i++) {
    const struct tide_pred *pred = &request->preds[i];
    const size_t column = (size_t)pred->column;
    if (window->columns[column] == TIDE_WINDOW_FIXED)
      continue;
    uint8_t *live = tide_window_decode(window, column, err) == 0 ? tide_window_flags(window, err) : NULL;
    if (live == NULL)
      return;
    if (!tide_pred_keep(pred, spec->columns[column].type, &window->batch.columns[column], window->first, window->end,
                        live))
      window->end = window->first;
  }
}

/* ---- reading ---- */

bool tide_window_enter(struct tide_window *window, bool downwards) {
  if (tide_window_is_empty(window))
    return false;
  window->step = downwards ? SIZE_MAX : 1;
  window->row = downwards ? window->end - 1 : window->first;
  window->last = downwards ? window->first : window->end - 1;
  return window->live == NULL || window->live[window->row] || tide_window_step(window);
}
