#include "base/rd.h"

static const unsigned char empty[1];

struct tide_rd tide_rd_over(const void *bytes, size_t size) {
  const unsigned char *at = bytes != NULL ? bytes : empty;
  return (struct tide_rd){.at = at, .end = at + (bytes != NULL ? size : 0)};
}

const unsigned char *tide_rd_bytes(struct tide_rd *rd, uint64_t size) {
  if (rd->bad || size > tide_rd_left(rd)) {
    rd->bad = true;
    return NULL;
  }
  const unsigned char *bytes = rd->at;
  rd->at += size;
  return bytes;
}

uint8_t tide_rd_u8(struct tide_rd *rd) {
  const unsigned char *bytes = tide_rd_bytes(rd, 1);
  return bytes != NULL ? bytes[0] : 0;
}

static uint64_t little_endian(struct tide_rd *rd, unsigned size) {
  const unsigned char *bytes = tide_rd_bytes(rd, size);
  uint64_t value = 0;
  for (unsigned i = 0; bytes != NULL && i < size; i++)
    value |= (uint64_t)bytes[i] << (8 * i);
  return value;
}

uint32_t tide_rd_u32(struct tide_rd *rd) {
  return (uint32_t)little_endian(rd, 4);
}

uint64_t tide_rd_u64(struct tide_rd *rd) {
  return little_endian(rd, 8);
}

uint64_t tide_rd_varint(struct tide_rd *rd) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const unsigned char *byte = tide_rd_bytes(rd, 1);
    if (byte == NULL)
      return 0;
    uint64_t bits = *byte & 0x7fu;
    if (shift == 63 && bits > 1)
      break;
    value |= bits << shift;
    if ((*byte & 0x80u) == 0)
      return value;
  }
  rd->bad = true;
  return 0;
}

int64_t tide_rd_zigzag(struct tide_rd *rd) {
  uint64_t value = tide_rd_varint(rd);
  return (int64_t)((value >> 1) ^ (~(value & 1) + 1));
}

uint64_t tide_rd_varint_max(struct tide_rd *rd, uint64_t max) {
  uint64_t value = tide_rd_varint(rd);
  if (value > max) {
    rd->bad = true;
    return 0;
  }
  return value;
}
