#include "sink/delta_lines.h"

#include <string.h>

#include "base/sqlite.h"

enum { PIECE = 65536 };

/* Reads another piece behind what is there. */
static void fill(struct tide_delta_lines *lines, struct tide_err *err) {
  struct tide_buf *bytes = &lines->bytes;
  if (lines->at > 0) {
    memmove(bytes->data, bytes->data + lines->at, bytes->len - lines->at);
    bytes->len -= lines->at;
    lines->at = 0;
  }
  if (bytes->len > TIDE_DELTA_LINE_MAX)
    tide_err_set(err, SQLITE_CORRUPT, "a line of the Delta table's log is longer than %d bytes", TIDE_DELTA_LINE_MAX);
  if (tide_buf_reserve(bytes, PIECE, err) != 0)
    return;
  const long got = lines->read(lines->context, bytes->data + bytes->len, PIECE, err);
  if (got > 0)
    bytes->len += (size_t)got;
  lines->ended = got == 0;
}

bool tide_delta_lines_next(struct tide_delta_lines *lines, struct tide_json_slice *ret_line, struct tide_err *err) {
  size_t looked = 0; /* bytes of the line that hold no end */
  if (lines->bytes.data == NULL)
    fill(lines, err);
  while (!tide_err_is_set(err)) {
    const char *line = lines->bytes.len > 0 ? (const char *)lines->bytes.data + lines->at : "";
    const size_t left = lines->bytes.len - lines->at;
    const char *newline = left > looked ? memchr(line + looked, '\n', left - looked) : NULL;
    if (newline == NULL && !lines->ended) {
      looked = left;
      fill(lines, err);
      continue;
    }
    const size_t size = newline != NULL ? (size_t)(newline - line) : left;
    if (newline == NULL && size == 0)
      return false;
    lines->at += size + (newline != NULL);
    looked = 0;
    if (size == 0 || (size == 1 && line[0] == '\r'))
      continue;
    *ret_line = (struct tide_json_slice){line, size};
    return true;
  }
  return false;
}

void tide_delta_lines_clear(struct tide_delta_lines *lines) {
  tide_buf_clear(&lines->bytes);
}
