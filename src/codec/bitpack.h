/* Two ways to lay out n unsigned numbers in few bytes.
 *
 * Bits: each number takes `width` bits (0 to 64), the first one the lowest bits of the first byte, with no gap between
 * them. The unused high bits of the last byte are 0. 3 bits each, numbers 1 2 3 4: 0b11'010'001 0b0000'100'0, that is
 * 0xd1 0x08.
 *
 * Planes: `planes` bytes a number (1 to 8), first the lowest bytes of all numbers, then their second bytes, and so on.
 * It takes more room than bits, but zstd finds the order in it. */
#ifndef TIDE_CODEC_BITPACK_H
#define TIDE_CODEC_BITPACK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t tide_load_u64(const unsigned char *bytes) { /* little-endian */
  uint64_t value;
  memcpy(&value, bytes, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  value = __builtin_bswap64(value);
#endif
  return value;
}

static inline void tide_store_u64(unsigned char *bytes, uint64_t value) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  value = __builtin_bswap64(value);
#endif
  memcpy(bytes, &value, sizeof value);
}

/* How many bits the number needs: 0 for 0, 64 for the largest. */
static inline unsigned tide_bitpack_width(uint64_t value) {
  return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}

/* The bytes that n numbers of a width take. n below 2^57. */
static inline size_t tide_bitpack_size(size_t n, unsigned width) {
  return n / 8 * width + (n % 8 * width + 7) / 8;
}

/* values must fit the width. Writes exactly tide_bitpack_size bytes. */
void tide_bitpack_put(const uint64_t *values, size_t n, unsigned width, unsigned char *out);

/* Reads tide_bitpack_size bytes, never beyond. */
void tide_bitpack_get(const unsigned char *in, size_t n, unsigned width, uint64_t *ret_values);

/* Of the same n numbers those from first to end - 1, to their places in ret_values. */
void tide_bitpack_get_part(const unsigned char *in, size_t n, unsigned width, size_t first, size_t end,
                           uint64_t *ret_values);

/* n of the numbers of a column that has `stride` of them: byte p of value i goes to out[p * stride + i]. */
void tide_planes_put(const uint64_t *values, size_t n, unsigned planes, size_t stride, unsigned char *out);

/* All n numbers of a column, from n * planes bytes; those from first to end - 1, to their places in ret_values. */
void tide_planes_get(const unsigned char *in, size_t n, unsigned planes, uint64_t *ret_values);
void tide_planes_get_part(const unsigned char *in, size_t n, unsigned planes, size_t first, size_t end,
                          uint64_t *ret_values);

#endif
