/* A growable run of bytes. All zero is an empty one. Every put is sticky: it does nothing once err is set. */
#ifndef TIDE_BASE_BUF_H
#define TIDE_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

struct tide_buf {
  unsigned char *data;
  size_t len;
  size_t cap;
};

void tide_buf_clear(struct tide_buf *buf); /* frees; all zero again */
static inline void tide_buf_reset(struct tide_buf *buf) {
  buf->len = 0; /* keeps the memory for the next use */
}

/* Room for `more` bytes behind len. Returns 0, or the error's code. */
int tide_buf_grow(struct tide_buf *buf, size_t more, struct tide_err *err);
static inline int tide_buf_reserve(struct tide_buf *buf, size_t more, struct tide_err *err) {
  return !tide_err_is_set(err) && more <= buf->cap - buf->len ? 0 : tide_buf_grow(buf, more, err);
}

static inline void tide_buf_put(struct tide_buf *buf, const void *bytes, size_t size, struct tide_err *err) {
  if (size == 0 || tide_buf_reserve(buf, size, err) != 0)
    return;
  memcpy(buf->data + buf->len, bytes, size);
  buf->len += size;
}
void tide_buf_put_string(struct tide_buf *buf, const char *text, struct tide_err *err);
void tide_buf_printf(struct tide_buf *buf, struct tide_err *err, const char *format, ...);
void tide_buf_put_u8(struct tide_buf *buf, uint8_t value, struct tide_err *err);
void tide_buf_put_u32(struct tide_buf *buf, uint32_t value, struct tide_err *err); /* little-endian */
void tide_buf_put_u64(struct tide_buf *buf, uint64_t value, struct tide_err *err); /* little-endian */

/* LEB128: seven bits a byte, low ones first, the high bit set on all but the last; 1 to 10 bytes. */
void tide_buf_put_varint(struct tide_buf *buf, uint64_t value, struct tide_err *err);
/* The same of (value << 1) ^ (value >> 63), so that small negative numbers are short. */
void tide_buf_put_zigzag(struct tide_buf *buf, int64_t value, struct tide_err *err);

#endif
