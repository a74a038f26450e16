#include "sink/parquet_encoding.h"

#include <string.h>

#include "codec/bitpack.h"

/* ---- RLE / bit-packing hybrid ---- */

enum {
  GROUP = 8,
  RUN_BITS_MIN = 64 /* a run that would take fewer bits packed is not worth ending a packed one for */
};

static void put_packed(struct tide_buf *out, const uint64_t *values, size_t n, unsigned width, struct tide_err *err) {
  if (n == 0)
    return;
  size_t whole = n / GROUP * GROUP;
  uint64_t last[GROUP] = {0};
  tide_buf_put_varint(out, (uint64_t)(n + GROUP - 1) / GROUP << 1 | 1, err);
  if (tide_buf_reserve(out, (n / GROUP + 1) * width, err) != 0)
    return;
  tide_bitpack_put(values, whole, width, out->data + out->len);
  out->len += whole / GROUP * width;
  if (whole == n)
    return;
  memcpy(last, values + whole, (n - whole) * sizeof *values);
  tide_bitpack_put(last, GROUP, width, out->data + out->len);
  out->len += width;
}

static void put_run(struct tide_buf *out, uint64_t value, size_t n, unsigned width, struct tide_err *err) {
  tide_buf_put_varint(out, (uint64_t)n << 1, err);
  for (unsigned bits = 0; bits < width; bits += 8)
    tide_buf_put_u8(out, (uint8_t)(value >> bits), err);
}

void tide_parquet_put_hybrid(struct tide_buf *out, const uint64_t *values, size_t n, unsigned width,
                             struct tide_err *err) {
  size_t start = 0; /* values from here to at are to be packed */
  size_t at = 0;
  while (at < n && !tide_err_is_set(err)) {
    size_t run = 1;
    while (at + run < n && values[at + run] == values[at])
      run++;
    if (run >= GROUP && run * width >= RUN_BITS_MIN) {
      put_packed(out, values + start, at - start, width, err);
      put_run(out, values[at], run, width, err);
      at += run;
      start = at;
    } else {
      /* To the next place where a packed run may end; a value of this run may begin another one there. */
      at += run < GROUP ? GROUP : run / GROUP * GROUP;
    }
  }
  put_packed(out, values + start, n - start, width, err);
}

/* ---- delta ---- */

enum { BLOCK = 128, MINIBLOCKS = 4, MINIBLOCK = BLOCK / MINIBLOCKS };

/* `deltas` has room for BLOCK; what is beyond n becomes the least one, so that padding is zeros. */
static void put_block(struct tide_buf *out, uint64_t *deltas, size_t n, struct tide_err *err) {
  int64_t least = (int64_t)deltas[0];
  for (size_t i = 1; i < n; i++)
    least = (int64_t)deltas[i] < least ? (int64_t)deltas[i] : least;
  for (size_t i = 0; i < BLOCK; i++)
    deltas[i] = i < n ? deltas[i] - (uint64_t)least : 0;
  tide_buf_put_zigzag(out, least, err);
  if (tide_buf_reserve(out, MINIBLOCKS + BLOCK * sizeof *deltas, err) != 0)
    return;
  unsigned char *widths = out->data + out->len;
  unsigned char *to = widths + MINIBLOCKS;
  for (size_t mini = 0; mini < MINIBLOCKS; mini++) {
    uint64_t any = 0;
    for (size_t i = 0; i < MINIBLOCK; i++)
      any |= deltas[mini * MINIBLOCK + i];
    widths[mini] = (unsigned char)tide_bitpack_width(any);
    tide_bitpack_put(deltas + mini * MINIBLOCK, MINIBLOCK, widths[mini], to);
    to += tide_bitpack_size(MINIBLOCK, widths[mini]);
  }
  out->len = (size_t)(to - out->data);
}

void tide_parquet_put_delta(struct tide_buf *out, const int64_t *values, size_t n, struct tide_err *err) {
  uint64_t deltas[BLOCK];
  tide_buf_put_varint(out, BLOCK, err);
  tide_buf_put_varint(out, MINIBLOCKS, err);
  tide_buf_put_varint(out, n, err);
  tide_buf_put_zigzag(out, n > 0 ? values[0] : 0, err);
  for (size_t at = 1; at < n && !tide_err_is_set(err); at += BLOCK) {
    size_t count = n - at < BLOCK ? n - at : BLOCK;
    for (size_t i = 0; i < count; i++)
      deltas[i] = (uint64_t)values[at + i] - (uint64_t)values[at + i - 1];
    put_block(out, deltas, count, err);
  }
}

/* ---- CRC ---- */

void tide_parquet_crc_init(struct tide_parquet_crc_table *table) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ ((crc & 1) != 0 ? UINT32_C(0xedb88320) : 0);
    table->ahead[0][byte] = crc;
  }
  for (uint32_t byte = 0; byte < 256; byte++) {
    for (int n = 1; n < 8; n++)
      table->ahead[n][byte] = table->ahead[n - 1][byte] >> 8 ^ table->ahead[0][table->ahead[n - 1][byte] & 0xff];
  }
}

/* Eight bytes at a time, each looked up by how many follow it. */
uint32_t tide_parquet_crc(const struct tide_parquet_crc_table *table, uint32_t crc, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  crc = ~crc;
  for (; size >= 8; size -= 8, at += 8) {
    const uint64_t word = tide_load_u64(at) ^ crc;
    crc = 0;
    for (unsigned i = 0; i < 8; i++)
      crc ^= table->ahead[7 - i][word >> (8 * i) & 0xff];
  }
  for (; size > 0; size--)
    crc = crc >> 8 ^ table->ahead[0][(crc ^ *at++) & 0xff];
  return ~crc;
}
