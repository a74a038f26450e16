/* The rows that a stream stands on: those of one frame of a segment, or of one entry of the tail. Columns of a segment,
 * its numbers (since) among them, are decoded when they are first asked for.
 *
 * Life: init; start, narrow, enter, then step from row to row; start again; clear. */
#ifndef TIDE_ENGINE_WINDOW_H
#define TIDE_ENGINE_WINDOW_H

#include "engine/stream_shared.h"
#include "segment/segment.h"

/* What the window has of a column. */
enum tide_window_column {
  TIDE_WINDOW_NOT_DECODED,
  TIDE_WINDOW_DECODED,
  TIDE_WINDOW_FIXED /* a partition column: one value for all rows, which the stream knows */
};

struct tide_window {
  size_t row;          /* at hand */
  size_t last;         /* the one that is read last */
  size_t step;         /* to the row that is read next: 1, or SIZE_MAX for the one before */
  const uint8_t *live; /* by row, 0: it is not read; NULL: all are */
  uint8_t *columns;    /* enum tide_window_column, by the spec's columns; behind them that of ingested_at */
  bool numbered;       /* since is decoded */
  bool sparing;        /* of rows that are not read texts need not be decoded: who starts it says so */
  struct tide_batch batch;
  size_t first; /* rows first to end - 1 are in range; none: nothing is at hand */
  size_t end;
  struct tide_segment *segment; /* whose frame it is; NULL: the tail's */
  size_t frame;
  uint8_t *live_room;
  size_t live_cap;
};

int tide_window_init(struct tide_window *window, const struct tide_spec *spec, struct tide_err *err);
void tide_window_clear(struct tide_window *window);

static inline bool tide_window_is_empty(const struct tide_window *window) {
  return window->first >= window->end;
}
void tide_window_leave(struct tide_window *window); /* nothing is at hand */

/* Takes all rows of a frame, nothing decoded; or of the tail: the caller then appends them to the empty batch, and says
 * so with tide_window_filled. The segment must live until the window is left or started anew. */
void tide_window_start(struct tide_window *window, const struct tide_spec *spec, struct tide_segment *segment,
                       size_t frame);
void tide_window_start_tail(struct tide_window *window, const struct tide_spec *spec);
void tide_window_filled(struct tide_window *window);

/* Decodes since; a column (the spec's number of columns: ingested_at), unless it was before. Returns 0 or the code. */
int tide_window_number(struct tide_window *window, struct tide_err *err);
int tide_window_decode(struct tide_window *window, size_t column, struct tide_err *err);

/* Narrows it, once numbered, to the rows with above < since <= upto; to those in a request's list. */
void tide_window_trim(struct tide_window *window, int64_t above, int64_t upto);
void tide_window_keep_listed(struct tide_window *window, const struct tide_scan_request *request, struct tide_err *err);
/* The rows' flags, to set to 0 for those that are not to be read. NULL when err is set. */
uint8_t *tide_window_flags(struct tide_window *window, struct tide_err *err);
/* Drops the rows that a request's predicates rule out. */
void tide_window_keep_matching(struct tide_window *window, const struct tide_spec *spec,
                               const struct tide_scan_request *request, struct tide_err *err);

/* Goes to the first row to read. false when there is none. */
bool tide_window_enter(struct tide_window *window, bool downwards);

/* Goes to the next row to read; false, and nothing moves, when the one at hand was the last. */
static inline bool tide_window_step(struct tide_window *window) {
  size_t row = window->row;
  do {
    if (row == window->last)
      return false;
    row += window->step;
  } while (window->live != NULL && !window->live[row]);
  window->row = row;
  return true;
}

#endif
