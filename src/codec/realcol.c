#include "codec/realcol.h"

#include <assert.h>
#include <stdbool.h>

#include "codec/bitpack.h"

static bool all_equal(const int64_t *bits, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (bits[i] != bits[0])
      return false;
  return true;
}

static void write_plain(const int64_t *bits, size_t n, struct tide_buf *out, struct tide_err *err) {
  tide_buf_put_u8(out, TIDE_REALCOL_PLAIN, err);
  if (tide_buf_reserve(out, n * 8, err) != 0)
    return;
  for (size_t i = 0; i < n; i++)
    tide_store_u64(out->data + out->len + i * 8, (uint64_t)bits[i]);
  out->len += n * 8;
}

static void write_planes(const int64_t *bits, size_t n, struct tide_buf *out, struct tide_err *err) {
  tide_buf_put_u8(out, TIDE_REALCOL_PLANES, err);
  if (tide_buf_reserve(out, n * 8, err) != 0)
    return;
  tide_planes_put((const uint64_t *)bits, n, 8, n, out->data + out->len);
  out->len += n * 8;
}

void tide_realcol_write(struct tide_trial *trial, const int64_t *bits, size_t n, struct tide_buf *out,
                        struct tide_err *err) {
  assert(n > 0);
  if (all_equal(bits, n)) {
    tide_buf_put_u8(out, TIDE_REALCOL_CONSTANT, err);
    tide_buf_put_u64(out, (uint64_t)bits[0], err);
    return;
  }
  size_t start = out->len;
  write_plain(bits, n, out, err);
  size_t middle = out->len;
  if (trial == NULL || tide_err_is_set(err) || middle - start < TIDE_TRIAL_MIN)
    return;
  size_t best = tide_trial_size(trial, out->data + start, middle - start, err);
  write_planes(bits, n, out, err);
  if (!tide_err_is_set(err))
    tide_trial_keep_better(trial, out, start, middle, &best, err);
}

static bool holds_nan(const int64_t *bits, size_t n) {
  uint64_t found = 0;
  for (size_t i = 0; i < n; i++)
    found |= (uint64_t)(((uint64_t)bits[i] & INT64_MAX) > UINT64_C(0x7ff0000000000000));
  return found != 0;
}

static void read_plain(const unsigned char *bytes, size_t n, int64_t *ret_bits) {
  for (size_t i = 0; i < n; i++)
    ret_bits[i] = (int64_t)tide_load_u64(bytes + i * 8);
}

void tide_realcol_read(struct tide_rd *rd, size_t n, int64_t *ret_bits) {
  assert(n > 0);
  uint8_t kind = tide_rd_u8(rd);
  if (kind == TIDE_REALCOL_CONSTANT) {
    int64_t value = (int64_t)tide_rd_u64(rd);
    for (size_t i = 0; i < n && !rd->bad; i++)
      ret_bits[i] = value;
  } else {
    const unsigned char *bytes = tide_rd_bytes(rd, n * 8);
    if (bytes == NULL || (kind != TIDE_REALCOL_PLAIN && kind != TIDE_REALCOL_PLANES))
      rd->bad = true;
    else if (kind == TIDE_REALCOL_PLAIN)
      read_plain(bytes, n, ret_bits);
    else
      tide_planes_get(bytes, n, 8, (uint64_t *)ret_bits);
  }
  if (!rd->bad && holds_nan(ret_bits, n))
    rd->bad = true;
}
