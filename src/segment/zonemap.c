#include "segment/zonemap.h"

#include <string.h>

/* The rows of the smallest and the largest value of one type. */
struct extremes {
  bool any;
  size_t low;
  size_t high;
};

static struct extremes extremes_of(const struct tide_vec *vec, size_t rows, uint8_t tag) {
  struct extremes found = {0};
  struct tide_val low = tide_val_null(), high = tide_val_null();
  for (size_t i = 0; i < rows; i++) {
    if (vec->tag[i] != tag)
      continue;
    struct tide_val val = tide_vec_get(vec, i);
    if (!found.any || tide_val_compare(&val, &low) < 0) {
      low = val;
      found.low = i;
    }
    if (!found.any || tide_val_compare(&val, &high) > 0) {
      high = val;
      found.high = i;
    }
    found.any = true;
  }
  return found;
}

/* Integers are what segments hold most of, and need no comparison of values. */
static struct extremes extremes_of_ints(const struct tide_vec *vec, size_t rows) {
  struct extremes found = {0};
  for (size_t i = 0; i < rows; i++) {
    if (vec->tag[i] != TIDE_VAL_INT)
      continue;
    if (!found.any || vec->num[i] < vec->num[found.low])
      found.low = i;
    if (!found.any || vec->num[i] > vec->num[found.high])
      found.high = i;
    found.any = true;
  }
  return found;
}

/* The smallest value of at most TIDE_ZONEMAP_BYTES_MAX bytes that is above all that begin like val: false when there is
 * none. */
static bool raise_max(struct tide_val *val, unsigned char *raised) {
  size_t n = TIDE_ZONEMAP_BYTES_MAX;
  memcpy(raised, val->p, n);
  while (n > 0 && raised[n - 1] == 0xff)
    n--;
  if (n == 0)
    return false;
  raised[n - 1]++;
  val->p = raised;
  val->n = n;
  return true;
}

static uint8_t types_of(const struct tide_vec *vec, size_t rows) {
  unsigned types = 0;
  for (size_t i = 0; i < rows; i++)
    types |= 1u << vec->tag[i];
  return (uint8_t)types;
}

void tide_zonemap_collect(const struct tide_vec *vec, size_t rows, unsigned char raised[TIDE_ZONEMAP_BYTES_MAX],
                          struct tide_zone *ret_zone) {
  struct tide_zone zone = {.types = types_of(vec, rows)};
  for (uint8_t tag = TIDE_VAL_INT; tag < TIDE_VAL_TYPES; tag++) {
    if ((zone.types >> tag & 1) == 0)
      continue;
    struct extremes found = tag == TIDE_VAL_INT ? extremes_of_ints(vec, rows) : extremes_of(vec, rows, tag);
    struct tide_val low = tide_vec_get(vec, found.low), high = tide_vec_get(vec, found.high);
    if (!zone.bounded || tide_val_compare(&low, &zone.min) < 0)
      zone.min = low;
    if (!zone.bounded || tide_val_compare(&high, &zone.max) > 0)
      zone.max = high;
    zone.bounded = true;
  }
  if (zone.bounded && zone.min.n > TIDE_ZONEMAP_BYTES_MAX)
    zone.min.n = TIDE_ZONEMAP_BYTES_MAX;
  if (zone.bounded && zone.max.n > TIDE_ZONEMAP_BYTES_MAX)
    zone.bounded = raise_max(&zone.max, raised);
  if (!zone.bounded)
    zone.min = zone.max = tide_val_null();
  *ret_zone = zone;
}
