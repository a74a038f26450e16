#include "codec/tagcol.h"

#include <assert.h>
#include <stdbool.h>

#include "codec/bitpack.h"

enum { BLOCK = 256 };

/* Which tags a mask holds, and each one's place. */
struct alphabet {
  unsigned count;
  unsigned width; /* bits a place takes */
  uint8_t tag_of[TIDE_VAL_TYPES];
  uint8_t place_of[TIDE_VAL_TYPES];
};

static struct alphabet alphabet_of(unsigned mask) {
  struct alphabet alphabet = {0};
  for (unsigned tag = 0; tag < TIDE_VAL_TYPES; tag++) {
    if ((mask >> tag & 1) == 0)
      continue;
    alphabet.place_of[tag] = (uint8_t)alphabet.count;
    alphabet.tag_of[alphabet.count++] = (uint8_t)tag;
  }
  alphabet.width = alphabet.count > 0 ? tide_bitpack_width(alphabet.count - 1) : 0;
  return alphabet;
}

static size_t varint_size(size_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7)
    size++;
  return size;
}

static size_t run_length(const uint8_t *tags, size_t from, size_t n) {
  size_t end = from + 1;
  while (end < n && tags[end] == tags[from])
    end++;
  return end - from;
}

static size_t runs_size(const uint8_t *tags, size_t n, size_t limit) {
  size_t size = 0;
  for (size_t i = 0; i < n && size < limit;) {
    size_t length = run_length(tags, i, n);
    size += varint_size(length) + 1;
    i += length;
  }
  return size;
}

static void write_runs(const uint8_t *tags, size_t n, struct tide_buf *out, struct tide_err *err) {
  tide_buf_put_u8(out, TIDE_TAGCOL_RUNS, err);
  for (size_t i = 0; i < n;) {
    size_t length = run_length(tags, i, n);
    tide_buf_put_varint(out, length, err);
    tide_buf_put_u8(out, tags[i], err);
    i += length;
  }
}

static void write_bits(const uint8_t *tags, size_t n, unsigned mask, struct tide_buf *out, struct tide_err *err) {
  struct alphabet alphabet = alphabet_of(mask);
  size_t size = tide_bitpack_size(n, alphabet.width);
  tide_buf_put_u8(out, TIDE_TAGCOL_BITS, err);
  tide_buf_put_u8(out, (uint8_t)mask, err);
  if (tide_buf_reserve(out, size, err) != 0)
    return;
  unsigned char *at = out->data + out->len;
  uint64_t places[BLOCK];
  for (size_t done = 0; done < n; done += BLOCK) {
    size_t count = n - done < BLOCK ? n - done : BLOCK;
    for (size_t i = 0; i < count; i++)
      places[i] = alphabet.place_of[tags[done + i]];
    tide_bitpack_put(places, count, alphabet.width, at + done / 8 * alphabet.width);
  }
  out->len += size;
}

static void count_tags(const uint8_t *tags, size_t n, size_t ret_counts[TIDE_VAL_TYPES]) {
  memset(ret_counts, 0, TIDE_VAL_TYPES * sizeof *ret_counts);
  for (size_t i = 0; i < n; i++)
    ret_counts[tags[i]]++;
}

void tide_tagcol_write(const uint8_t *tags, size_t n, size_t ret_counts[TIDE_VAL_TYPES], struct tide_buf *out,
                       struct tide_err *err) {
  assert(n > 0);
  count_tags(tags, n, ret_counts);
  if (ret_counts[tags[0]] == n) {
    tide_buf_put_u8(out, tags[0], err);
    return;
  }
  unsigned mask = 0;
  for (unsigned tag = 0; tag < TIDE_VAL_TYPES; tag++)
    mask |= (unsigned)(ret_counts[tag] > 0) << tag;
  size_t bits_size = 1 + tide_bitpack_size(n, alphabet_of(mask).width);
  if (runs_size(tags, n, bits_size) < bits_size)
    write_runs(tags, n, out, err);
  else
    write_bits(tags, n, mask, out, err);
}

static void read_runs(struct tide_rd *rd, size_t n, uint8_t *ret_tags) {
  for (size_t done = 0; done < n && !rd->bad;) {
    size_t length = (size_t)tide_rd_varint_max(rd, n - done);
    uint8_t tag = tide_rd_u8(rd);
    if (length == 0 || tag >= TIDE_VAL_TYPES)
      rd->bad = true;
    else
      memset(ret_tags + done, tag, length);
    done += length;
  }
}

static void read_bits(struct tide_rd *rd, size_t n, uint8_t *ret_tags) {
  unsigned mask = tide_rd_u8(rd);
  struct alphabet alphabet = alphabet_of(mask);
  const unsigned char *bytes = tide_rd_bytes(rd, tide_bitpack_size(n, alphabet.width));
  if (bytes == NULL || alphabet.count < 2 || mask >> TIDE_VAL_TYPES != 0) {
    rd->bad = true;
    return;
  }
  uint64_t places[BLOCK];
  bool beyond = false;
  for (size_t done = 0; done < n; done += BLOCK) {
    size_t count = n - done < BLOCK ? n - done : BLOCK;
    tide_bitpack_get(bytes + done / 8 * alphabet.width, count, alphabet.width, places);
    for (size_t i = 0; i < count; i++) {
      bool within = places[i] < alphabet.count;
      beyond |= !within;
      ret_tags[done + i] = alphabet.tag_of[within ? places[i] : 0];
    }
  }
  rd->bad = beyond;
}

void tide_tagcol_read(struct tide_rd *rd, size_t n, uint8_t *ret_tags, size_t ret_counts[TIDE_VAL_TYPES]) {
  assert(n > 0);
  memset(ret_counts, 0, TIDE_VAL_TYPES * sizeof *ret_counts);
  uint8_t kind = tide_rd_u8(rd);
  if (kind < TIDE_VAL_TYPES && !rd->bad) {
    memset(ret_tags, kind, n);
    ret_counts[kind] = n;
    return;
  }
  if (kind == TIDE_TAGCOL_BITS)
    read_bits(rd, n, ret_tags);
  else if (kind == TIDE_TAGCOL_RUNS)
    read_runs(rd, n, ret_tags);
  else
    rd->bad = true;
  if (!rd->bad)
    count_tags(ret_tags, n, ret_counts);
}
