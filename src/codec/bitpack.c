#include "codec/bitpack.h"

void tide_bitpack_put(const uint64_t *values, size_t n, unsigned width, unsigned char *out) {
  uint64_t held = 0; /* bits not written yet, `used` of them, always fewer than 64 */
  unsigned used = 0;
  for (size_t i = 0; i < n && width > 0; i++) {
    held |= values[i] << used;
    if (used + width < 64) {
      used += width;
      continue;
    }
    tide_store_u64(out, held);
    out += 8;
    held = used > 0 ? values[i] >> (64 - used) : 0;
    used = used + width - 64;
  }
  for (; used > 0; used = used > 8 ? used - 8 : 0) {
    *out++ = (unsigned char)held;
    held >>= 8;
  }
}

/* The value at a bit of nine readable bytes: up to seven bits of shift and 64 of width. */
static inline uint64_t value_of_nine(const unsigned char *bytes, unsigned shift, uint64_t mask) {
  uint64_t low = tide_load_u64(bytes) >> shift;
  uint64_t high = (uint64_t)bytes[8] << 1 << (63 - shift); /* in two steps: a shift of 64 is undefined */
  return (low | high) & mask;
}

/* Values near the end of the `size` bytes, where nine cannot be read. */
static void get_tail(const unsigned char *in, size_t size, size_t from, size_t end, unsigned width, uint64_t mask,
                     uint64_t *ret_values) {
  for (size_t i = from; i < end; i++) {
    unsigned char window[9] = {0};
    size_t at = i * width / 8;
    size_t left = size - at;
    memcpy(window, in + at, left < sizeof window ? left : sizeof window);
    ret_values[i] = value_of_nine(window, i * width % 8, mask);
  }
}

void tide_bitpack_get(const unsigned char *in, size_t n, unsigned width, uint64_t *ret_values) {
  tide_bitpack_get_part(in, n, width, 0, n, ret_values);
}

void tide_bitpack_get_part(const unsigned char *in, size_t n, unsigned width, size_t first, size_t end,
                           uint64_t *ret_values) {
  if (width == 0) {
    memset(ret_values + first, 0, (end - first) * sizeof *ret_values);
    return;
  }
  size_t size = tide_bitpack_size(n, width);
  uint64_t mask = UINT64_MAX >> (64 - width);
  size_t fast = size >= 9 ? (size - 9) * 8 / width + 1 : 0; /* values whose first byte has eight more behind it */
  if (fast > end)
    fast = end;
  if (fast < first)
    fast = first;
  size_t bit = first * width;
  if (width <= 57) { /* with a shift of seven bits still within eight bytes */
    for (size_t i = first; i < fast; i++, bit += width)
      ret_values[i] = tide_load_u64(in + bit / 8) >> (bit % 8) & mask;
  } else {
    for (size_t i = first; i < fast; i++, bit += width)
      ret_values[i] = value_of_nine(in + bit / 8, bit % 8, mask);
  }
  get_tail(in, size, fast, end, width, mask, ret_values);
}

void tide_planes_put(const uint64_t *values, size_t n, unsigned planes, size_t stride, unsigned char *out) {
  for (unsigned plane = 0; plane < planes; plane++) {
    unsigned char *at = out + plane * stride;
    for (size_t i = 0; i < n; i++)
      at[i] = (unsigned char)(values[i] >> (8 * plane));
  }
}

void tide_planes_get(const unsigned char *in, size_t n, unsigned planes, uint64_t *ret_values) {
  tide_planes_get_part(in, n, planes, 0, n, ret_values);
}

void tide_planes_get_part(const unsigned char *in, size_t n, unsigned planes, size_t first, size_t end,
                          uint64_t *ret_values) {
  for (size_t i = first; i < end; i++)
    ret_values[i] = in[i];
  for (unsigned plane = 1; plane < planes; plane++) {
    const unsigned char *at = in + plane * n;
    for (size_t i = first; i < end; i++)
      ret_values[i] |= (uint64_t)at[i] << (8 * plane);
  }
}
