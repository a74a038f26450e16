#include "sink/parquet_bounds.h"

#include <string.h>

#include "codec/bitpack.h"
#include "model/val.h"
#include "sink/text.h"

/* ---- numbers ---- */

static size_t number_size(enum tide_parquet_type type) {
  return type == TIDE_PARQUET_BOOLEAN ? 1 : type == TIDE_PARQUET_INT32 ? 4 : 8;
}

static struct tide_parquet_bound bound_of_number(enum tide_parquet_type type, int64_t number) {
  struct tide_parquet_bound bound = {.exact = true, .size = number_size(type)};
  tide_store_u64(bound.bytes, (uint64_t)number);
  memset(bound.bytes + bound.size, 0, 8 - bound.size);
  return bound;
}

int64_t tide_parquet_bound_number(enum tide_parquet_type type, const struct tide_parquet_bound *bound) {
  uint64_t number = tide_load_u64(bound->bytes);
  return type == TIDE_PARQUET_INT32 ? (int64_t)(int32_t)(uint32_t)number : (int64_t)number;
}

static struct tide_parquet_bounds bounds_of_reals(const int64_t *numbers, size_t n) {
  struct tide_parquet_bounds bounds = {0};
  double min = 0;
  double max = 0;
  for (size_t i = 0; i < n; i++) {
    double real = tide_real_of_bits(numbers[i]);
    if (real != real) {
      bounds.nans++;
      continue;
    }
    min = !bounds.any || real < min ? real : min;
    max = !bounds.any || real > max ? real : max;
    bounds.any = true;
  }
  bounds.min = bound_of_number(TIDE_PARQUET_DOUBLE, tide_bits_of_real(min == 0 ? -0.0 : min));
  bounds.max = bound_of_number(TIDE_PARQUET_DOUBLE, tide_bits_of_real(max == 0 ? 0.0 : max));
  return bounds;
}

struct tide_parquet_bounds tide_parquet_bounds_of_numbers(enum tide_parquet_type type, const int64_t *numbers,
                                                          size_t n) {
  if (type == TIDE_PARQUET_DOUBLE)
    return bounds_of_reals(numbers, n);
  struct tide_parquet_bounds bounds = {.any = n > 0};
  if (n == 0)
    return bounds;
  int64_t min = numbers[0];
  int64_t max = numbers[0];
  for (size_t i = 1; i < n; i++) {
    min = numbers[i] < min ? numbers[i] : min;
    max = numbers[i] > max ? numbers[i] : max;
  }
  bounds.min = bound_of_number(type, min);
  bounds.max = bound_of_number(type, max);
  return bounds;
}

/* ---- byte strings ---- */

static int compare_bytes(const unsigned char *a, size_t asize, const unsigned char *b, size_t bsize) {
  int order = memcmp(a, b, asize < bsize ? asize : bsize);
  return order != 0 ? order : asize < bsize ? -1 : asize > bsize;
}

/* How many bytes of a longer text are whole characters within the size of a bound. */
static size_t whole_characters(const unsigned char *text) {
  size_t size = TIDE_PARQUET_BOUND_SIZE;
  while (size > 0 && (text[size] & 0xc0) == 0x80)
    size--;
  return size;
}

static struct tide_parquet_bound lower_bound(const unsigned char *bytes, size_t size, bool text) {
  struct tide_parquet_bound bound = {.exact = size <= TIDE_PARQUET_BOUND_SIZE};
  bound.size = bound.exact ? size : text ? whole_characters(bytes) : TIDE_PARQUET_BOUND_SIZE;
  if (bound.size > 0)
    memcpy(bound.bytes, bytes, bound.size);
  return bound;
}

/* Replaces the last character by the next one of Unicode (surrogates are none), of as many bytes or one more; false
 * when it is the last of all or has no room. */
static bool next_character(struct tide_parquet_bound *bound, size_t at) {
  unsigned char *c = bound->bytes + at;
  size_t size = bound->size - at;
  uint32_t code = size == 1 ? c[0] : c[0] & (0x7fu >> size);
  for (size_t i = 1; i < size; i++)
    code = code << 6 | (c[i] & 0x3f);
  code = code == 0xd7ff ? 0xe000 : code + 1;
  size_t grown = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  if (code > 0x10ffff || at + grown > TIDE_PARQUET_BOUND_SIZE)
    return false;
  for (size_t i = grown; i-- > 1; code >>= 6)
    c[i] = (unsigned char)(0x80 | (code & 0x3f));
  c[0] = (unsigned char)(grown == 1 ? code : (0xf00u >> grown & 0xff) | code);
  bound->size = at + grown;
  return true;
}

/* Turns a prefix into the least string of its size or shorter that is above all that begin with it. */
static bool round_up(struct tide_parquet_bound *bound, bool text) {
  while (bound->size > 0) {
    size_t at = bound->size - 1;
    if (!text) {
      if (bound->bytes[at] != 0xff) {
        bound->bytes[at]++;
        return true;
      }
    } else {
      while (at > 0 && (bound->bytes[at] & 0xc0) == 0x80)
        at--;
      if (next_character(bound, at))
        return true;
    }
    bound->size = at;
  }
  return false;
}

/* The first eight bytes as a number in their order, zeros behind the end: one that is below another's has the lesser
 * bytes, and of equal ones nothing is known. */
static uint64_t prefix_of(const unsigned char *bytes, size_t size) {
  uint64_t prefix = 0;
  if (size >= 8)
    return __builtin_bswap64(tide_load_u64(bytes));
  for (size_t i = 0; i < size; i++)
    prefix |= (uint64_t)bytes[i] << (8 * (7 - i));
  return prefix;
}

struct tide_parquet_bounds tide_parquet_bounds_of_bytes(const unsigned char *bytes, const int64_t *sizes, size_t n,
                                                        bool text) {
  struct tide_parquet_bounds bounds = {.any = n > 0};
  if (n == 0)
    return bounds;
  const unsigned char *at = bytes;
  const unsigned char *min = at;
  const unsigned char *max = at;
  size_t min_size = (size_t)sizes[0];
  size_t max_size = min_size;
  uint64_t min_prefix = prefix_of(min, min_size);
  uint64_t max_prefix = min_prefix;
  for (size_t i = 0; i < n; at += sizes[i], i++) {
    const size_t size = (size_t)sizes[i];
    const uint64_t prefix = prefix_of(at, size);
    if (prefix < min_prefix || (prefix == min_prefix && compare_bytes(at, size, min, min_size) < 0)) {
      min = at;
      min_size = size;
      min_prefix = prefix;
    }
    if (prefix > max_prefix || (prefix == max_prefix && compare_bytes(at, size, max, max_size) > 0)) {
      max = at;
      max_size = size;
      max_prefix = prefix;
    }
  }
  bounds.min = lower_bound(min, min_size, text);
  bounds.max = lower_bound(max, max_size, text);
  bounds.unlimited = !bounds.max.exact && !round_up(&bounds.max, text);
  return bounds;
}

/* ---- both ---- */

int tide_parquet_bound_compare(enum tide_parquet_type type, const struct tide_parquet_bound *a,
                               const struct tide_parquet_bound *b) {
  if (type == TIDE_PARQUET_BYTE_ARRAY)
    return compare_bytes(a->bytes, a->size, b->bytes, b->size);
  int64_t x = tide_parquet_bound_number(type, a);
  int64_t y = tide_parquet_bound_number(type, b);
  if (type == TIDE_PARQUET_DOUBLE)
    return (tide_real_of_bits(x) > tide_real_of_bits(y)) - (tide_real_of_bits(x) < tide_real_of_bits(y));
  return (x > y) - (x < y);
}

static void widen(struct tide_parquet_bound *bound, const struct tide_parquet_bound *other, int order) {
  if (order > 0)
    *bound = *other;
  else if (order == 0)
    bound->exact = bound->exact || other->exact;
}

void tide_parquet_bounds_merge(struct tide_parquet_bounds *bounds, enum tide_parquet_type type,
                               const struct tide_parquet_bounds *other) {
  bounds->nans += other->nans;
  if (!other->any)
    return;
  if (!bounds->any) {
    bounds->min = other->min;
    bounds->max = other->max;
  } else {
    widen(&bounds->min, &other->min, tide_parquet_bound_compare(type, &bounds->min, &other->min));
    widen(&bounds->max, &other->max, tide_parquet_bound_compare(type, &other->max, &bounds->max));
  }
  bounds->any = true;
  bounds->unlimited = bounds->unlimited || other->unlimited;
}
