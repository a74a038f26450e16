#include "codec/intcol.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "codec/bitpack.h"

enum {
  BLOCK = 256,       /* numbers held at a time; a multiple of 8, so that each block of bits ends with a byte */
  ESTIMATE_MIN = 64, /* fewer bytes of numbers are not worth a look at their entropy */
  PLANE_BYTES = 24,  /* what a plane takes beside its entropy */
  SAMPLE = 1024,     /* numbers that are looked at, of many */
  TRIAL_MIN = 256,   /* fewer are not worth a trial */
  BESIDE_GAIN = 16,  /* bits stay among the sections when compression saves one in so many bytes */
  PLANES_GAIN = 16   /* planes must save one in so many bytes: bits decode faster */
};

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
  return kind == TIDE_INTCOL_DELTA_BITS || kind == TIDE_INTCOL_DELTA_PLANES || kind == TIDE_INTCOL_DELTA_BESIDE;
}

static bool is_planes(enum tide_intcol_kind kind) {
  return kind == TIDE_INTCOL_OFFSET_PLANES || kind == TIDE_INTCOL_DELTA_PLANES;
}

static bool is_beside(enum tide_intcol_kind kind) {
  return kind == TIDE_INTCOL_OFFSET_BESIDE || kind == TIDE_INTCOL_DELTA_BESIDE;
}

/* The kind of the same bits beside the sections. */
static enum tide_intcol_kind beside(enum tide_intcol_kind kind) {
  return kind == TIDE_INTCOL_DELTA_BITS ? TIDE_INTCOL_DELTA_BESIDE : TIDE_INTCOL_OFFSET_BESIDE;
}

static unsigned planes_of(uint64_t span) {
  const unsigned width = tide_bitpack_width(span);
  return width > 8 ? (width + 7) / 8 : 1;
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
                       struct tide_body *body, struct tide_err *err) {
  const bool delta = is_delta(kind), planes = is_planes(kind);
  const struct range *range = delta ? &survey->delta : &survey->offset;
  const unsigned width = planes ? planes_of(range->span) : tide_bitpack_width(range->span);
  struct tide_buf *head = &body->sections, *out = is_beside(kind) ? &body->bits : head;
  tide_buf_put_u8(head, (uint8_t)kind, err);
  tide_buf_put_u8(head, (uint8_t)width, err);
  if (delta)
    tide_buf_put_zigzag(head, values[0], err);
  tide_buf_put_zigzag(head, range->base, err);

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

void tide_intcol_write_as(enum tide_intcol_kind kind, const int64_t *values, size_t n, struct tide_body *body,
                          struct tide_err *err) {
  assert(n > 0 && kind != TIDE_INTCOL_CONSTANT);
  struct survey survey = survey_values(values, n);
  write_kind(kind, &survey, values, n, body, err);
}

/* ---- the choice ---- */

/* The logarithm of 2 of a count from 1 on, in 1/65536; a parabola stands for it between two powers. In integers, so
 * that equal rows give equal bytes on every machine. */
static uint64_t log2_of(uint32_t count) {
  const unsigned whole = 31 - (unsigned)__builtin_clz(count);
  const uint64_t part = (uint64_t)count << 16 >> whole & 0xffff;
  return ((uint64_t)whole << 16) + (part * (88244 - (part * 22708 >> 16)) >> 16);
}

/* Bytes that n numbers will take in planes: by the entropy of each plane, one block of several when they are many. */
static size_t estimate_planes(const struct range *range, const int64_t *values, size_t n, bool delta) {
  const unsigned planes = planes_of(range->span);
  const size_t first = delta ? 1 : 0, total = n - first;
  const size_t stride = total / SAMPLE > 0 ? total / SAMPLE * BLOCK : BLOCK;
  uint32_t counts[8][256];
  memset(counts, 0, planes * sizeof *counts);
  uint64_t numbers[BLOCK];
  size_t seen = 0;
  for (size_t done = 0; done < total; done += stride) {
    const size_t count = total - done < BLOCK ? total - done : BLOCK;
    seen += count;
    residuals(values, first + done, count, delta, range->base, numbers);
    for (size_t i = 0; i < count; i++) {
      uint64_t number = numbers[i];
      for (unsigned plane = 0; plane < planes; plane++, number >>= 8)
        counts[plane][number & 0xff]++;
    }
  }
  uint64_t bits = 0;
  const uint64_t log_seen = log2_of((uint32_t)seen);
  for (unsigned plane = 0; plane < planes; plane++) {
    for (unsigned byte = 0; byte < 256; byte++) {
      const uint32_t count = counts[plane][byte];
      bits += count > 0 ? count * (log_seen - log2_of(count)) : 0;
    }
  }
  return (size_t)((bits >> 19) * total / seen) + planes * PLANE_BYTES;
}

/* What a section's layouts take. */
struct sizes {
  size_t bits;
  size_t planes; /* by their entropy */
  enum tide_intcol_kind bits_kind;
  enum tide_intcol_kind planes_kind;
};

static struct sizes sizes_of(const struct survey *survey, const int64_t *values, size_t n) {
  const size_t offset_size = tide_bitpack_size(n, tide_bitpack_width(survey->offset.span));
  const size_t delta_size = tide_bitpack_size(n - 1, tide_bitpack_width(survey->delta.span)) + 2;
  struct sizes sizes = {offset_size, SIZE_MAX, TIDE_INTCOL_OFFSET_BITS, TIDE_INTCOL_OFFSET_PLANES};
  if (delta_size < offset_size) {
    sizes.bits = delta_size;
    sizes.bits_kind = TIDE_INTCOL_DELTA_BITS;
  }
  if (sizes.bits < ESTIMATE_MIN)
    return sizes;
  const size_t delta_planes = estimate_planes(&survey->delta, values, n, true);
  sizes.planes = estimate_planes(&survey->offset, values, n, false);
  if (delta_planes < sizes.planes) {
    sizes.planes = delta_planes;
    sizes.planes_kind = TIDE_INTCOL_DELTA_PLANES;
  }
  return sizes;
}

/* Lays the first of the values out in bits and in planes, and gives the kind that compresses better: beside the
 * sections when that is bits that do not. The body is left as it was. */
static enum tide_intcol_kind try_both(struct tide_trial *trial, const struct sizes *sizes, const struct survey *survey,
                                      const int64_t *values, size_t n, struct tide_body *body, struct tide_err *err) {
  struct tide_buf *out = &body->sections;
  const size_t start = out->len;
  write_kind(sizes->bits_kind, survey, values, n, body, err);
  const size_t middle = out->len;
  write_kind(sizes->planes_kind, survey, values, n, body, err);
  const size_t bits = tide_trial_size(trial, out->data + start, middle - start, err);
  const size_t planes = tide_trial_size(trial, out->data + middle, out->len - middle, err);
  out->len = start;
  if (planes < bits - bits / PLANES_GAIN)
    return sizes->planes_kind;
  return bits < middle - start - (middle - start) / BESIDE_GAIN ? sizes->bits_kind : beside(sizes->bits_kind);
}

static enum tide_intcol_kind choose(struct tide_trial *trial, const struct survey *survey, const int64_t *values,
                                    size_t n, struct tide_body *body, struct tide_err *err) {
  const struct sizes sizes = sizes_of(survey, values, n);
  if (sizes.bits < ESTIMATE_MIN || tide_err_is_set(err))
    return sizes.bits_kind;
  const bool narrow = sizes.bits * 2 <= n; /* bytes that hold two numbers compress better than their entropy says */
  if (sizes.planes < sizes.bits - sizes.bits / PLANES_GAIN && !(narrow && trial != NULL))
    return sizes.planes_kind;
  if (trial == NULL || sizes.bits < TRIAL_MIN)
    return beside(sizes.bits_kind);
  return try_both(trial, &sizes, survey, values, n < SAMPLE ? n : SAMPLE, body, err);
}

void tide_intcol_write(struct tide_trial *trial, const int64_t *values, size_t n, struct tide_body *body,
                       struct tide_err *err) {
  assert(n > 0);
  struct survey survey = survey_values(values, n);
  if (survey.offset.span == 0) {
    tide_buf_put_u8(&body->sections, TIDE_INTCOL_CONSTANT, err);
    tide_buf_put_zigzag(&body->sections, values[0], err);
    return;
  }
  write_kind(choose(trial, &survey, values, n, body, err), &survey, values, n, body, err);
}

/* ---- reading ---- */

/* The numbers of a span as they are laid out, to be turned into values in place. */
static void read_numbers(struct tide_body_rd *rd, size_t n, enum tide_intcol_kind kind, unsigned width,
                         struct tide_span span, uint64_t *ret_numbers) {
  const bool planes = is_planes(kind);
  if (planes ? width < 1 || width > 8 : width > 64)
    rd->sections.bad = true;
  if (rd->sections.bad)
    return;
  const unsigned char *bytes =
      tide_rd_bytes(is_beside(kind) ? &rd->bits : &rd->sections, planes ? n * width : tide_bitpack_size(n, width));
  if (bytes == NULL)
    rd->sections.bad = true;
  else if (planes)
    tide_planes_get_part(bytes, n, width, span.first, span.end, ret_numbers);
  else
    tide_bitpack_get_part(bytes, n, width, span.first, span.end, ret_numbers);
}

static void read_offset(struct tide_body_rd *rd, size_t n, enum tide_intcol_kind kind, struct tide_span span,
                        int64_t *ret_values) {
  unsigned width = tide_rd_u8(&rd->sections);
  uint64_t base = (uint64_t)tide_rd_zigzag(&rd->sections);
  uint64_t *numbers = (uint64_t *)ret_values;
  read_numbers(rd, n, kind, width, span, numbers);
  if (!rd->sections.bad)
    for (size_t i = span.first; i < span.end; i++)
      numbers[i] += base;
}

/* A value is the sum of all steps before it: only those behind `end` are left out. */
static void read_delta(struct tide_body_rd *rd, size_t n, enum tide_intcol_kind kind, size_t end, int64_t *ret_values) {
  unsigned width = tide_rd_u8(&rd->sections);
  uint64_t sum = (uint64_t)tide_rd_zigzag(&rd->sections);
  uint64_t base = (uint64_t)tide_rd_zigzag(&rd->sections);
  uint64_t *numbers = (uint64_t *)ret_values;
  read_numbers(rd, n - 1, kind, width, (struct tide_span){0, end > 0 ? end - 1 : 0}, numbers + 1);
  if (rd->sections.bad || end == 0)
    return;
  numbers[0] = sum;
  for (size_t i = 1; i < end; i++) {
    sum += base + numbers[i];
    numbers[i] = sum;
  }
}

static void read_constant(struct tide_body_rd *rd, struct tide_span span, int64_t *ret_values) {
  int64_t value = tide_rd_zigzag(&rd->sections);
  for (size_t i = span.first; i < span.end && !rd->sections.bad; i++)
    ret_values[i] = value;
}

void tide_intcol_read(struct tide_body_rd *rd, size_t n, int64_t *ret_values) {
  tide_intcol_read_span(rd, n, (struct tide_span){0, n}, ret_values);
}

void tide_intcol_read_span(struct tide_body_rd *rd, size_t n, struct tide_span span, int64_t *ret_values) {
  assert(n > 0 && span.first <= span.end && span.end <= n);
  const uint8_t kind = tide_rd_u8(&rd->sections);
  if (kind > TIDE_INTCOL_DELTA_BESIDE)
    rd->sections.bad = true;
  else if (kind == TIDE_INTCOL_CONSTANT)
    read_constant(rd, span, ret_values);
  else if (is_delta(kind))
    read_delta(rd, n, kind, span.end, ret_values);
  else
    read_offset(rd, n, kind, span, ret_values);
}
