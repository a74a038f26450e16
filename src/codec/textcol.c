#include "codec/textcol.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include <xxhash.h>

#include "base/mem.h"
#include "codec/bitpack.h"
#include "codec/intcol.h"

/* What the writer learns before it writes. */
struct plan {
  uint32_t *slots;   /* open addressing: number of an entry + 1, 0 is free */
  size_t nslots;     /* a power of two, at least twice n */
  uint32_t *entries; /* for each entry the number of the slice it was first seen as */
  size_t nentries;
  int64_t *indexes; /* for each slice its entry */
  int64_t *lengths; /* of entries or of slices, as needed */
};

static int plan_init(struct plan *plan, size_t n, struct tide_err *err) {
  *plan = (struct plan){.nslots = 16};
  while (plan->nslots < n * 2)
    plan->nslots *= 2;
  plan->slots = tide_alloc_zero(plan->nslots, sizeof *plan->slots, err);
  plan->entries = tide_realloc(NULL, n, sizeof *plan->entries, err);
  plan->indexes = tide_realloc(NULL, n, sizeof *plan->indexes, err);
  plan->lengths = tide_realloc(NULL, n, sizeof *plan->lengths, err);
  return err->rc;
}

static void plan_clear(struct plan *plan) {
  tide_free(plan->lengths);
  tide_free(plan->indexes);
  tide_free(plan->entries);
  tide_free(plan->slots);
}

static bool equal(const struct tide_slice *a, const struct tide_slice *b) {
  return a->size == b->size && (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

static uint32_t entry_of(struct plan *plan, const struct tide_slice *slices, size_t i) {
  const struct tide_slice *slice = &slices[i];
  size_t at = (size_t)(slice->size > 0 ? XXH3_64bits(slice->bytes, slice->size) : 0) & (plan->nslots - 1);
  for (; plan->slots[at] != 0; at = (at + 1) & (plan->nslots - 1)) {
    uint32_t entry = plan->slots[at] - 1;
    if (equal(&slices[plan->entries[entry]], slice))
      return entry;
  }
  plan->entries[plan->nentries++] = (uint32_t)i;
  plan->slots[at] = (uint32_t)plan->nentries;
  return (uint32_t)plan->nentries - 1;
}

/* Fills entries and indexes and decides: a dictionary when it is smaller before compression. It is then also smaller
 * behind zstd, and faster, since zstd has fewer bytes to look at. A length counts as a byte. */
static bool plan_dictionary(struct plan *plan, const struct tide_slice *slices, size_t n) {
  uint64_t all = 0, kept = 0;
  for (size_t i = 0; i < n; i++) {
    size_t before = plan->nentries;
    plan->indexes[i] = entry_of(plan, slices, i);
    all += slices[i].size;
    kept += plan->nentries > before ? slices[i].size : 0;
  }
  uint64_t indexes = tide_bitpack_size(n, tide_bitpack_width(plan->nentries - 1));
  return kept + plan->nentries + indexes < all + n;
}

static void put_slice(const struct tide_slice *slice, struct tide_buf *out, struct tide_err *err) {
  tide_buf_put(out, slice->bytes, slice->size, err);
}

static void write_dictionary(struct tide_trial *trial, struct plan *plan, const struct tide_slice *slices, size_t n,
                             struct tide_buf *out, struct tide_err *err) {
  tide_buf_put_u8(out, TIDE_TEXTCOL_DICTIONARY, err);
  tide_buf_put_varint(out, plan->nentries, err);
  for (size_t i = 0; i < plan->nentries; i++)
    plan->lengths[i] = slices[plan->entries[i]].size;
  tide_intcol_write(trial, plan->lengths, plan->nentries, out, err);
  for (size_t i = 0; i < plan->nentries; i++)
    put_slice(&slices[plan->entries[i]], out, err);
  tide_intcol_write(trial, plan->indexes, n, out, err);
}

static void write_plain(struct tide_trial *trial, struct plan *plan, const struct tide_slice *slices, size_t n,
                        struct tide_buf *out, struct tide_err *err) {
  tide_buf_put_u8(out, TIDE_TEXTCOL_PLAIN, err);
  for (size_t i = 0; i < n; i++)
    plan->lengths[i] = slices[i].size;
  tide_intcol_write(trial, plan->lengths, n, out, err);
  for (size_t i = 0; i < n; i++)
    put_slice(&slices[i], out, err);
}

void tide_textcol_write(struct tide_trial *trial, const struct tide_slice *slices, size_t n, struct tide_buf *out,
                        struct tide_err *err) {
  assert(n > 0 && n <= 1 << 20);
  struct plan plan;
  if (plan_init(&plan, n, err) == 0) {
    if (plan_dictionary(&plan, slices, n))
      write_dictionary(trial, &plan, slices, n, out, err);
    else
      write_plain(trial, &plan, slices, n, out, err);
  }
  plan_clear(&plan);
}

/* Takes the bytes of n values whose lengths are in `numbers`, and turns these into offsets from base. */
static void read_bytes(struct tide_rd *rd, size_t n, const unsigned char *base, int64_t *numbers, uint32_t *ret_sizes) {
  uint64_t total = 0;
  bool beyond = rd->bad;
  int64_t at = rd->at - base;
  for (size_t i = 0; i < n && !beyond; i++) {
    uint64_t length = (uint64_t)numbers[i];
    beyond = length > UINT32_MAX;
    ret_sizes[i] = (uint32_t)length;
    numbers[i] = at + (int64_t)total;
    total += length;
  }
  if (beyond)
    rd->bad = true;
  tide_rd_bytes(rd, total);
}

static void read_dictionary(struct tide_rd *rd, size_t n, const unsigned char *base, int64_t *ret_offsets,
                            uint32_t *ret_sizes, int64_t *scratch) {
  size_t nentries = (size_t)tide_rd_varint_max(rd, n);
  if (nentries == 0) {
    rd->bad = true;
    return;
  }
  tide_intcol_read(rd, nentries, scratch);
  read_bytes(rd, nentries, base, scratch, ret_sizes);
  if (rd->bad)
    return;
  scratch[nentries] = rd->at - base;
  tide_intcol_read(rd, n, ret_offsets);
  for (size_t i = 0; i < n && !rd->bad; i++) {
    uint64_t entry = (uint64_t)ret_offsets[i];
    if (entry >= nentries) {
      rd->bad = true;
      return;
    }
    ret_offsets[i] = scratch[entry];
    ret_sizes[i] = (uint32_t)(scratch[entry + 1] - scratch[entry]);
  }
}

void tide_textcol_read(struct tide_rd *rd, size_t n, const unsigned char *base, int64_t *ret_offsets,
                       uint32_t *ret_sizes, int64_t *scratch) {
  assert(n > 0);
  uint8_t kind = tide_rd_u8(rd);
  if (kind == TIDE_TEXTCOL_DICTIONARY) {
    read_dictionary(rd, n, base, ret_offsets, ret_sizes, scratch);
  } else if (kind == TIDE_TEXTCOL_PLAIN) {
    tide_intcol_read(rd, n, ret_offsets);
    read_bytes(rd, n, base, ret_offsets, ret_sizes);
  } else {
    rd->bad = true;
  }
}
