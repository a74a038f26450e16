/* Which of n values are asked for: a flag by value, 0 where it is not; NULL: all are. */
#ifndef TIDE_CODEC_WANTED_H
#define TIDE_CODEC_WANTED_H

#include <stddef.h>
#include <stdint.h>

/* From the first value that is asked for to the one before `end`, the last; both 0: none is. */
struct tide_span {
  size_t first;
  size_t end;
};

static inline struct tide_span tide_wanted_span(const uint8_t *wanted, size_t n) {
  struct tide_span span = {0, n};
  if (wanted == NULL)
    return span;
  while (span.end > 0 && wanted[span.end - 1] == 0)
    span.end--;
  while (span.first < span.end && wanted[span.first] == 0)
    span.first++;
  return span;
}

#endif
