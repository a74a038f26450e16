/* A bounded reader over bytes that somebody else wrote. Every read past the end, every overlong number, sets `bad`
 * and gives 0 or NULL from then on: read in a row, check `bad` once before the values are used. It owns nothing. */
#ifndef TIDE_BASE_RD_H
#define TIDE_BASE_RD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tide_rd {
  const unsigned char *at;
  const unsigned char *end;
  bool bad;
};

struct tide_rd tide_rd_over(const void *bytes, size_t size);
static inline size_t tide_rd_left(const struct tide_rd *rd) {
  return (size_t)(rd->end - rd->at);
}

uint8_t tide_rd_u8(struct tide_rd *rd);
uint32_t tide_rd_u32(struct tide_rd *rd);    /* little-endian */
uint64_t tide_rd_u64(struct tide_rd *rd);    /* little-endian */
uint64_t tide_rd_varint(struct tide_rd *rd); /* the counterpart of tide_buf_put_varint */
int64_t tide_rd_zigzag(struct tide_rd *rd);

/* A varint that must not be above max: sets `bad` when it is. */
uint64_t tide_rd_varint_max(struct tide_rd *rd, uint64_t max);

/* A view of the next `size` bytes; NULL when there are fewer (size 0 gives a non-NULL view). */
const unsigned char *tide_rd_bytes(struct tide_rd *rd, uint64_t size);

#endif
