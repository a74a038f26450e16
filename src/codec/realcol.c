#include "codec/realcol.h"

#include <assert.h>
#include <float.h>
#include <stdbool.h>

#include "base/mem.h"
#include "codec/bitpack.h"
#include "codec/intcol.h"
#include "model/val.h"

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

/* ---- decimals ---- */

_Static_assert(FLT_EVAL_METHOD != 2 && FLT_EVAL_METHOD != -1,
               "doubles must be rounded to 64 bits by each operation: build with -msse2 -mfpmath=sse");

static const double powers[TIDE_REALCOL_DIGITS_MAX + 1] = {1, 10, 100, 1000, 10000, 100000, 1000000};

/* Whether the value is an integer of at most 53 bits over that power of ten, in every bit. */
static bool is_decimal(int64_t bits, unsigned digits, int64_t *ret_integer) {
  const double limit = 9007199254740992.0, scaled = tide_real_of_bits(bits) * powers[digits];
  if (!(scaled > -limit && scaled < limit))
    return false;
  *ret_integer = (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  return tide_bits_of_real((double)*ret_integer / powers[digits]) == bits;
}

/* Finds the fewest digits that do for all values, and the integers. */
static bool find_decimals(const int64_t *bits, size_t n, unsigned *ret_digits, int64_t *ret_integers) {
  unsigned digits = 0;
  for (size_t i = 0; i < n;) {
    if (is_decimal(bits[i], digits, &ret_integers[i])) {
      i++;
    } else if (digits == TIDE_REALCOL_DIGITS_MAX) {
      return false;
    } else {
      digits++;
      i = 0;
    }
  }
  *ret_digits = digits;
  return true;
}

static bool write_decimals(struct tide_trial *trial, const int64_t *bits, size_t n, struct tide_body *body,
                           struct tide_err *err) {
  unsigned digits = 0;
  int64_t first;
  while (digits < TIDE_REALCOL_DIGITS_MAX && !is_decimal(bits[0], digits, &first))
    digits++;
  if (!is_decimal(bits[0], digits, &first)) /* most columns that are no decimals end here */
    return false;
  int64_t *integers = tide_realloc(NULL, n, sizeof *integers, err);
  const bool found = integers != NULL && find_decimals(bits, n, &digits, integers);
  if (found) {
    tide_buf_put_u8(&body->sections, TIDE_REALCOL_DECIMAL, err);
    tide_buf_put_u8(&body->sections, (uint8_t)digits, err);
    tide_intcol_write(trial, integers, n, body, err);
  }
  tide_free(integers);
  return found;
}

void tide_realcol_write(struct tide_trial *trial, const int64_t *bits, size_t n, struct tide_body *body,
                        struct tide_err *err) {
  assert(n > 0);
  struct tide_buf *out = &body->sections;
  if (all_equal(bits, n)) {
    tide_buf_put_u8(out, TIDE_REALCOL_CONSTANT, err);
    tide_buf_put_u64(out, (uint64_t)bits[0], err);
    return;
  }
  if (write_decimals(trial, bits, n, body, err))
    return;
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

/* ---- reading ---- */

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

static void read_decimals(struct tide_body_rd *rd, size_t n, int64_t *ret_bits) {
  const unsigned digits = tide_rd_u8(&rd->sections);
  if (digits > TIDE_REALCOL_DIGITS_MAX)
    rd->sections.bad = true;
  tide_intcol_read(rd, n, ret_bits);
  for (size_t i = 0; i < n && !rd->sections.bad; i++)
    ret_bits[i] = tide_bits_of_real((double)ret_bits[i] / powers[digits]);
}

void tide_realcol_read(struct tide_body_rd *rd, size_t n, int64_t *ret_bits) {
  assert(n > 0);
  uint8_t kind = tide_rd_u8(&rd->sections);
  if (kind == TIDE_REALCOL_CONSTANT) {
    int64_t value = (int64_t)tide_rd_u64(&rd->sections);
    for (size_t i = 0; i < n && !rd->sections.bad; i++)
      ret_bits[i] = value;
  } else if (kind == TIDE_REALCOL_DECIMAL) {
    read_decimals(rd, n, ret_bits);
  } else {
    const unsigned char *bytes = tide_rd_bytes(&rd->sections, n * 8);
    if (bytes == NULL || (kind != TIDE_REALCOL_PLAIN && kind != TIDE_REALCOL_PLANES))
      rd->sections.bad = true;
    else if (kind == TIDE_REALCOL_PLAIN)
      read_plain(bytes, n, ret_bits);
    else
      tide_planes_get(bytes, n, 8, (uint64_t *)ret_bits);
  }
  if (!rd->sections.bad && holds_nan(ret_bits, n))
    rd->sections.bad = true;
}
