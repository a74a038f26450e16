#include "model/val.h"

#include <assert.h>
#include <string.h>

/* As SQLite's sqlite3IntFloatCompare: no step rounds, so that 2^53 + 1 is above 2^53 as a real. Both bounds are exact
 * doubles; a NaN, which SQLite takes for NULL, is below every integer and never reaches the cast. */
static int compare_int_real(int64_t i, double r) {
  if (!(r >= -9223372036854775808.0))
    return 1;
  if (r >= 9223372036854775808.0)
    return -1;
  int64_t whole = (int64_t)r;
  if (i != whole)
    return i < whole ? -1 : 1;
  double same = (double)i; /* exact unless r has no fraction left, and then it equals r */
  return (same > r) - (same < r);
}

static int compare_numbers(const struct tide_val *a, const struct tide_val *b) {
  if (a->type == TIDE_VAL_INT)
    return b->type == TIDE_VAL_INT ? (a->i > b->i) - (a->i < b->i) : compare_int_real(a->i, b->r);
  if (b->type == TIDE_VAL_INT)
    return -compare_int_real(b->i, a->r);
  return (a->r > b->r) - (a->r < b->r);
}

static int compare_bytes(const struct tide_val *a, const struct tide_val *b) {
  size_t common = a->n < b->n ? a->n : b->n;
  int order = common > 0 ? memcmp(a->p, b->p, common) : 0;
  return order != 0 ? order : (a->n > b->n) - (a->n < b->n);
}

/* INT and REAL share a rank: they are one class of values to SQLite. */
static int rank(uint8_t type) {
  return type == TIDE_VAL_REAL ? TIDE_VAL_INT : type;
}

int tide_val_compare(const struct tide_val *a, const struct tide_val *b) {
  if (rank(a->type) != rank(b->type))
    return rank(a->type) < rank(b->type) ? -1 : 1;
  if (a->type == TIDE_VAL_NULL)
    return 0;
  return rank(a->type) == TIDE_VAL_INT ? compare_numbers(a, b) : compare_bytes(a, b);
}

const char *tide_val_type_name(uint8_t type) {
  static const char *const names[TIDE_VAL_TYPES] = {"NULL", "INTEGER", "REAL", "TEXT", "BLOB"};
  assert(type < TIDE_VAL_TYPES);
  return names[type];
}
