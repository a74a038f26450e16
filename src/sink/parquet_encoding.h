/* How Parquet lays out runs of numbers (apache/parquet-format, Encodings.md). Each function appends to `out` and is
 * sticky in err. */
#ifndef TIDE_SINK_PARQUET_ENCODING_H
#define TIDE_SINK_PARQUET_ENCODING_H

#include "base/buf.h"

/* Parquet's numbers for them. */
enum tide_parquet_encoding {
  TIDE_PARQUET_PLAIN = 0,
  TIDE_PARQUET_RLE = 3,
  TIDE_PARQUET_DELTA_BINARY_PACKED = 5,
  TIDE_PARQUET_DELTA_LENGTH_BYTE_ARRAY = 6,
  TIDE_PARQUET_RLE_DICTIONARY = 8
};

/* RLE / bit-packing hybrid, without a length before it:  varint (n << 1) and the value in whole bytes, for a value that
 * comes n times; varint (groups << 1 | 1) and groups * 8 values of `width` bits (1 to 32), the last one filled up with
 * zeros. */
void tide_parquet_put_hybrid(struct tide_buf *out, const uint64_t *values, size_t n, unsigned width,
                             struct tide_err *err);

/* DELTA_BINARY_PACKED:  varint 128 (values a block), varint 4 (miniblocks a block), varint n, zigzag first value; then
 * blocks: zigzag least delta, 4 widths, and for each miniblock its 32 deltas less the least one in that many bits.
 * Differences wrap around. */
void tide_parquet_put_delta(struct tide_buf *out, const int64_t *values, size_t n, struct tide_err *err);

/* CRC-32 as in gzip (polynomial 0x04c11db7, reflected): the table is filled once, then crc is 0 at first and what the
 * call before gave afterwards. */
struct tide_parquet_crc_table {
  uint32_t ahead[8][256]; /* [n][byte]: what a byte adds when n more bytes follow it */
};
void tide_parquet_crc_init(struct tide_parquet_crc_table *table);
uint32_t tide_parquet_crc(const struct tide_parquet_crc_table *table, uint32_t crc, const void *bytes, size_t size);

#endif
