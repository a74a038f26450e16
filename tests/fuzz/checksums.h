/* Checksums of bytes that were changed, made right, so that a reader behind them gets to see the change. It knows the
 * places by segment/format.h and store/tail.h, not by their readers. */
#ifndef TIDE_TESTS_FUZZ_CHECKSUMS_H
#define TIDE_TESTS_FUZZ_CHECKSUMS_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_run {
  uint8_t *bytes;
  size_t size;
};

/* Of a segment: those of templates and frames in each chunk's header, of the headers, in their chunk and in meta, and of
 * meta. What ends too early for its checksum stays as it is. */
void fuzz_fix_segment(struct fuzz_run meta, const struct fuzz_run *chunks, size_t nchunks);

/* Of the data of a tail's entry. */
void fuzz_fix_tail(struct fuzz_run data, int64_t last_since);

#endif
