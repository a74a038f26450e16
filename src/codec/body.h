/* What a frame holds, in two runs of bytes: the sections, one behind the other, which are compressed, and beside them
 * `bits`: numbers in bits (bitpack.h) that no compressor makes smaller, which are stored as they are. A section that
 * put its numbers there says so, and takes them from there in the same order. */
#ifndef TIDE_CODEC_BODY_H
#define TIDE_CODEC_BODY_H

#include "base/buf.h"
#include "base/rd.h"

struct tide_body {
  struct tide_buf sections;
  struct tide_buf bits;
};

static inline void tide_body_reset(struct tide_body *body) {
  tide_buf_reset(&body->sections);
  tide_buf_reset(&body->bits);
}

static inline void tide_body_clear(struct tide_body *body) {
  tide_buf_clear(&body->sections);
  tide_buf_clear(&body->bits);
}

/* The two are read side by side; a read beyond either one sets sections.bad. */
struct tide_body_rd {
  struct tide_rd sections;
  struct tide_rd bits;
};

#endif
