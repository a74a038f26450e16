/* The lines of a text as it is read, piece by piece. Life: read and context set and all else zero, next any number of
 * times, clear. */
#ifndef TIDE_SINK_DELTA_LINES_H
#define TIDE_SINK_DELTA_LINES_H

#include "sink/json_walk.h"

enum { TIDE_DELTA_LINE_MAX = 16 << 20 };

struct tide_delta_lines {
  long (*read)(void *context, void *into, size_t size, struct tide_err *err); /* up to size bytes; 0 at the end, -1 */
  void *context;
  struct tide_buf bytes;
  size_t at; /* of the next line in bytes */
  bool ended;
};

/* A view of the next line without its end, valid until the next call; false at the end and on error. Empty lines are
 * passed over. SQLITE_CORRUPT when one is longer than TIDE_DELTA_LINE_MAX. */
bool tide_delta_lines_next(struct tide_delta_lines *lines, struct tide_json_slice *ret_line, struct tide_err *err);
void tide_delta_lines_clear(struct tide_delta_lines *lines);

#endif
