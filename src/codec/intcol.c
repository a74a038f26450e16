#include "codec/intcol.h"

#include <assert.h>
#include <stdbool.h>

#include "codec/bitpack.h"

enum { BLOCK = 256 }; /* numbers held at a time; a multiple of 8, so that each block of bits ends with a byte */

/* The smallest of some numbers, and how far above it the largest lies. */
struct range {
  int64_t base;
  uint64_t span;
};

struct survey {
  struct range offset; /* of the values */
  struct range delta;  /* of the steps from one to the next; base 0, span 0 when there is none */
};

static int64_t step(const int64_t *values, size_t i) {
  return (int64_t)((uint64_t)values[i] - (uint64_t)values[i - 1]);
}

static struct survey survey_values(const int64_t *values, size_t n) {
  int64_t low = values[0], high = values[0];
  int64_t low_step = n > 1 ? step(values, 1) : 0, high_step = low_step;
  for (size_t i = 1; i < n; i++) {
    int64_t now = values[i], delta = step(values, i);
    low = now < low ? now : low;
    high = now > high ? now : high;
    low_step = delta < low_step ? delta : low_step;
    high_step = delta > high_step ? delta : high_step;
  }
  return (struct survey){.offset = {low, (uint64_t)high - (uint64_t)low},
                         .delta = {low_step, (uint64_t)high_step - (uint64_t)low_step}};
}

static bool is_delta(enum tide_intcol_kind kind) {
  return kind == TIDE_INTCOL_DELTA_BITS || kind == TIDE_INTCOL_DELTA_PLANES;
}

static bool is_planes(enum tide_intcol_kind kind) {
  return kind == TIDE_INTCOL_OFFSET_PLANES || kind == TIDE_INTCOL_DELTA_PLANES;
}

/* The numbers to lay out for up to BLOCK values from `from`. */
static void residuals(const int64_t *values, size_t from, size_t count, bool delta, int64_t base,
                      uint64_t *ret_numbers) {
  if (delta)
    for (size_t i = 0; i < count; i++)
      ret_numbers[i] = (uint64_t)step(values, from + i) - (uint64_t)base;
  else
    for (size_t i = 0; i < count; i++)
      ret_numbers[i] = (uint64_t)values[from + i] - (uint64_t)base;
}

static void write_kind(enum tide_intcol_kind kind, const struct survey *survey, const int64_t *values, size_t n,
                       struct tide_buf *out, struct tide_err *err) {
  bool delta = is_delta(kind), planes = is_planes(kind);
  const struct range *range = delta ? &survey->delta : &survey->offset;
  unsigned width = tide_bitpack_width(range->span);
  if (planes)
    width = width > 8 ? (width + 7) / 8 : 1;
  tide_buf_put_u8(out, (uint8_t)kind, err);
  tide_buf_put_u8(out, (uint8_t)width, err);
  if (delta)
    tide_buf_put_zigzag(out, values[0], err);
  tide_buf_put_zigzag(out, range->base, err);

  size_t first = delta ? 1 : 0, total = n - first;
  size_t size = planes ? total * width : tide_bitpack_size(total, width);
  if (tide_buf_reserve(out, size, err) != 0)
    return;
  unsigned char *at = out->data + out->len;
  uint64_t numbers[BLOCK];
  for (size_t done = 0; done < total; done += BLOCK) {
    size_t count = total - done < BLOCK ? total - done : BLOCK;
    residuals(values, first + done, count, delta, range->base, numbers);
    if (planes)
      tide_planes_put(numbers, count, width, total, at + done);
    else
      tide_bitpack_put(numbers, count, width, at + done / 8 * width);
  }
  out->len += size;
}

void tide_intcol_write_as(enum tide_intcol_kind kind, const int64_t *values, size_t n, struct tide_buf *out,
                          struct tide_err *err) {
  assert(n > 0 && kind != TIDE_INTCOL_CONSTANT);
  struct survey survey = survey_values(values, n);
  write_kind(kind, &survey, values, n, out, err);
}

/* Lays the section out a second way, in planes, and keeps what compresses better. */
static void try_planes(struct tide_trial *trial, const struct survey *survey, const int64_t *values, size_t n,
                       size_t start, struct tide_buf *out, struct tide_err *err) {
  static const enum tide_intcol_kind others[] = {TIDE_INTCOL_OFFSET_PLANES, TIDE_INTCOL_DELTA_PLANES};
  size_t best = tide_trial_size(trial, out->data + start, out->len - start, err);
  for (size_t i = 0; i < sizeof others / sizeof *others && !tide_err_is_set(err); i++) {
    size_t middle = out->len;
    write_kind(others[i], survey, values, n, out, err);
    if (!tide_err_is_set(err))
      tide_trial_keep_better(trial, out, start, middle, &best, err);
  }
}

void tide_intcol_write(struct tide_trial *trial, const int64_t *values, size_t n, struct tide_buf *out,
                       struct tide_err *err) {
  assert(n > 0);
  struct survey survey = survey_values(values, n);
  if (survey.offset.span == 0) {
    tide_buf_put_u8(out, TIDE_INTCOL_CONSTANT, err);
    tide_buf_put_zigzag(out, values[0], err);
    return;
  }
  size_t offset_size = tide_bitpack_size(n, tide_bitpack_width(survey.offset.span));
  size_t delta_size = tide_bitpack_size(n - 1, tide_bitpack_width(survey.delta.span)) + 2;
  size_t start = out->len;
  write_kind(delta_size < offset_size ? TIDE_INTCOL_DELTA_BITS : TIDE_INTCOL_OFFSET_BITS, &survey, values, n, out, err);
  if (trial != NULL && !tide_err_is_set(err) && out->len - start >= TIDE_TRIAL_MIN)
    try_planes(trial, &survey, values, n, start, out, err);
}

/* The numbers as they are laid out, to be turned into values in place. */
static void read_numbers(struct tide_rd *rd, size_t n, bool planes, unsigned width, uint64_t *ret_numbers) {
  if (planes ? width < 1 || width > 8 : width > 64)
    rd->bad = true;
  const unsigned char *bytes = tide_rd_bytes(rd, planes ? n * width : tide_bitpack_size(n, width));
  if (bytes == NULL)
    return;
  if (planes)
    tide_planes_get(bytes, n, width, ret_numbers);
  else
    tide_bitpack_get(bytes, n, width, ret_numbers);
}

static void read_offset(struct tide_rd *rd, size_t n, bool planes, int64_t *ret_values) {
  unsigned width = tide_rd_u8(rd);
  uint64_t base = (uint64_t)tide_rd_zigzag(rd);
  uint64_t *numbers = (uint64_t *)ret_values;
  read_numbers(rd, n, planes, width, numbers);
  if (!rd->bad)
    for (size_t i = 0; i < n; i++)
      numbers[i] += base;
}

static void read_delta(struct tide_rd *rd, size_t n, bool planes, int64_t *ret_values) {
  unsigned width = tide_rd_u8(rd);
  uint64_t sum = (uint64_t)tide_rd_zigzag(rd);
  uint64_t base = (uint64_t)tide_rd_zigzag(rd);
  uint64_t *numbers = (uint64_t *)ret_values;
  numbers[0] = sum;
  read_numbers(rd, n - 1, planes, width, numbers + 1);
  if (rd->bad)
    return;
  for (size_t i = 1; i < n; i++) {
    sum += base + numbers[i];
    numbers[i] = sum;
  }
}

static void read_constant(struct tide_rd *rd, size_t n, int64_t *ret_values) {
  int64_t value = tide_rd_zigzag(rd);
  for (size_t i = 0; i < n && !rd->bad; i++)
    ret_values[i] = value;
}

void tide_intcol_read(struct tide_rd *rd, size_t n, int64_t *ret_values) {
  assert(n > 0);
  uint8_t kind = tide_rd_u8(rd);
  switch (kind) {
  case TIDE_INTCOL_CONSTANT:
    read_constant(rd, n, ret_values);
    break;
  case TIDE_INTCOL_OFFSET_BITS:
  case TIDE_INTCOL_OFFSET_PLANES:
    read_offset(rd, n, is_planes(kind), ret_values);
    break;
  case TIDE_INTCOL_DELTA_BITS:
  case TIDE_INTCOL_DELTA_PLANES:
    read_delta(rd, n, is_planes(kind), ret_values);
    break;
  default:
    rd->bad = true;
  }
}
