#include "checksums.h"

#include <stdbool.h>
#include <string.h>

#include <xxhash.h>

enum {
  META_BODY_AT = 13,
  META_SUM_AT = 5,
  META_VERSION_AT = 4,
  CHUNK_BODY_AT = 9,
  CHUNK_SUM_AT = 1,
  FRAME_ROWS = 4096
};

/* A place in a run of bytes; beyond its end once something was read that is not there. */
struct walk {
  struct fuzz_run run;
  size_t at;
};

static bool is_past(const struct walk *walk) {
  return walk->at > walk->run.size;
}

static uint64_t walk_varint(struct walk *walk) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && walk->at < walk->run.size; shift += 7) {
    const uint8_t byte = walk->run.bytes[walk->at++];
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  walk->at = walk->run.size + 1;
  return 0;
}

static void put(struct fuzz_run run, size_t at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size && run.size >= size && at <= run.size - size; i++)
    run.bytes[at + i] = (uint8_t)(value >> 8 * i);
}

/* A size and the hash of so many bytes at `at` of the chunk, which is moved behind them; none of 0 bytes when it may be
 * missing. */
static void fix_part(struct walk *header, struct fuzz_run chunk, size_t *at, bool may_miss) {
  const uint64_t size = walk_varint(header);
  if (is_past(header) || size > chunk.size - *at) {
    header->at = header->run.size + 1;
    return;
  }
  if (size > 0 || !may_miss) {
    put(header->run, header->at, (uint32_t)XXH3_64bits(chunk.bytes + *at, (size_t)size), 4);
    header->at += 4;
  }
  *at += (size_t)size;
}

/* Gives the header's checksum; 0 when there is none. */
static uint64_t fix_chunk(struct fuzz_run chunk, uint64_t header_size, uint64_t rows) {
  if (header_size < CHUNK_BODY_AT || header_size > chunk.size)
    return 0;
  struct walk header = {{chunk.bytes, (size_t)header_size}, CHUNK_BODY_AT};
  size_t at = (size_t)header_size;
  if (chunk.bytes[0] > 1)
    fix_part(&header, chunk, &at, true);
  for (uint64_t row = 0; row < rows && !is_past(&header); row += FRAME_ROWS)
    fix_part(&header, chunk, &at, false);
  const uint64_t sum =
      XXH3_64bits_withSeed(chunk.bytes + CHUNK_BODY_AT, (size_t)header_size - CHUNK_BODY_AT, chunk.bytes[0]);
  put(chunk, CHUNK_SUM_AT, sum, 8);
  return sum;
}

void fuzz_fix_segment(struct fuzz_run meta, const struct fuzz_run *chunks, size_t nchunks) {
  struct walk walk = {meta, META_BODY_AT};
  if (meta.size < META_BODY_AT)
    return;
  const uint64_t rows = walk_varint(&walk);
  walk_varint(&walk);
  walk_varint(&walk);
  walk_varint(&walk);
  for (size_t i = 0; i < nchunks && !is_past(&walk); i++) {
    if (walk_varint(&walk) == 0)
      continue;
    const uint64_t header_size = walk_varint(&walk);
    const uint64_t sum = fix_chunk(chunks[i], header_size, rows);
    if (sum != 0)
      put(meta, walk.at, sum, 8);
    walk.at += 8;
  }
  put(meta, META_SUM_AT,
      XXH3_64bits_withSeed(meta.bytes + META_BODY_AT, meta.size - META_BODY_AT, meta.bytes[META_VERSION_AT]), 8);
}

void fuzz_fix_tail(struct fuzz_run data, int64_t last_since) {
  if (data.size >= 8)
    put(data, data.size - 8, XXH3_64bits_withSeed(data.bytes, data.size - 8, (uint64_t)last_since), 8);
}
