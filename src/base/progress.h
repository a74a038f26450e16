/* One line on a terminal that says how far a long call has come, rewritten in place a few times a second and taken away
 * at the call's end. Who does the work tells of rows and bytes; who calls it begins and ends. Switched off, or outside a
 * call, telling costs a look at a flag. */
#ifndef TIDE_BASE_PROGRESS_H
#define TIDE_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sqlite.h"

enum { TIDE_PROGRESS_NAME_SIZE = 96, TIDE_PROGRESS_LINE_SIZE = 512 };

/* One for a connection. All zero is switched off. */
struct tide_progress {
  bool on;                            /* wanted by the host */
  bool active;                        /* within a call, and there is a terminal */
  bool shown;                         /* a line stands there */
  char what[TIDE_PROGRESS_NAME_SIZE]; /* printable ASCII, as the next */
  char part[TIDE_PROGRESS_NAME_SIZE]; /* what of it is at hand; "": nothing to tell */
  sqlite3_vfs *vfs;                   /* whose clock counts */
  int64_t began_ms;
  int64_t shown_ms;
  int64_t rows;
  int64_t of_rows; /* 0: not known */
  int64_t bytes;
};

/* A call begins: `what` is its name, then "sink/dataset", or the one of the two that is there (NULL: none). */
void tide_progress_begin(struct tide_progress *progress, sqlite3_vfs *vfs, const char *what, const char *sink,
                         const char *dataset);
/* The partition or object at hand. */
void tide_progress_part(struct tide_progress *progress, const char *part);
/* So many more rows are to be done. */
static inline void tide_progress_expect(struct tide_progress *progress, int64_t rows) {
  if (progress->active && rows < INT64_MAX - progress->of_rows)
    progress->of_rows += rows;
}
/* So many more are done; 0 and 0: time has passed. */
void tide_progress_show(struct tide_progress *progress);
static inline void tide_progress_add(struct tide_progress *progress, int64_t rows, int64_t bytes) {
  if (!progress->active)
    return;
  progress->rows += rows;
  progress->bytes += bytes;
  tide_progress_show(progress);
}
/* The call ends, however it went. */
void tide_progress_end(struct tide_progress *progress);

/* Writes the line for a width of the terminal, without the moves before and behind it. */
void tide_progress_line(const struct tide_progress *progress, int64_t now_ms, int width,
                        char ret_line[TIDE_PROGRESS_LINE_SIZE]);

#endif
