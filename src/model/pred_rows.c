#include "model/pred_rows.h"

#include <math.h>
#include <string.h>

/* ---- any column ---- */

/* The answers for the last few values, which are told apart by where they lie: of a text that occurs often (in a
 * dictionary) each row has the same bytes, not only equal ones. */
enum { ANSWERS = 64 };

struct answer {
  bool known;
  bool keep;
  uint8_t tag;
  uint32_t size;
  int64_t num;
};

static struct answer *answer_of(struct answer *answers, int64_t num) {
  return &answers[(uint64_t)num * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}

static bool value_may_match(const struct tide_pred *pred, enum tide_type type, const struct tide_val *value) {
  const struct tide_zone zone = {
      .types = (uint8_t)(1u << value->type), .bounded = value->type != TIDE_VAL_NULL, .min = *value, .max = *value};
  return tide_pred_may_match(pred, type, &zone);
}

static void keep_by_value(const struct tide_pred *pred, enum tide_type type, const struct tide_vec *vec, size_t first,
                          size_t end, uint8_t *keep) {
  struct answer answers[ANSWERS] = {{0}};
  for (size_t row = first; row < end; row++) {
    if (!keep[row])
      continue;
    struct answer *answer = answer_of(answers, vec->num[row]);
    if (!answer->known || answer->num != vec->num[row] || answer->tag != vec->tag[row] ||
        answer->size != vec->size[row]) {
      const struct tide_val value = tide_vec_get(vec, row);
      *answer = (struct answer){.known = true,
                                .keep = value_may_match(pred, type, &value),
                                .tag = vec->tag[row],
                                .size = vec->size[row],
                                .num = vec->num[row]};
    }
    keep[row] = answer->keep;
  }
}

/* ---- NULL ---- */

static bool asks_for_null(const struct tide_pred *pred) {
  return pred->op == TIDE_OP_IS_NULL || (pred->op == TIDE_OP_IS && pred->value.type == TIDE_VAL_NULL);
}

static void keep_null(const struct tide_vec *vec, bool null, size_t first, size_t end, uint8_t *keep) {
  for (size_t row = first; row < end; row++)
    keep[row] &= (vec->tag[row] == TIDE_VAL_NULL) == null;
}

/* ---- columns of one type, and NULLs ---- */

static bool holds_only(const struct tide_vec *vec, uint8_t tag, size_t first, size_t end) {
  bool other = false;
  for (size_t row = first; row < end; row++)
    other |= (vec->tag[row] != tag) & (vec->tag[row] != TIDE_VAL_NULL);
  return !other;
}

static bool wants_above(enum tide_op op) {
  return op == TIDE_OP_GT || op == TIDE_OP_GE;
}

static bool wants_below(enum tide_op op) {
  return op == TIDE_OP_LT || op == TIDE_OP_LE;
}

/* The integers that satisfy the predicate: low to high, none when low is above high. false when that is not known. */
static bool integers_of(const struct tide_pred *pred, int64_t *ret_low, int64_t *ret_high) {
  const bool above = wants_above(pred->op);
  const bool below = wants_below(pred->op);
  int64_t bound = pred->value.i;
  bool excluded = pred->op == TIDE_OP_GT || pred->op == TIDE_OP_LT;
  if (pred->value.type == TIDE_VAL_REAL) { /* as the integer next to it on the wanted side */
    const double whole = above ? ceil(pred->value.r) : floor(pred->value.r);
    if (!(whole >= -9223372036854775808.0 && whole < 9223372036854775808.0) ||
        (whole != pred->value.r && !above && !below))
      return false;
    bound = (int64_t)whole;
    excluded = excluded && whole == pred->value.r;
  }
  if (excluded && bound == (above ? INT64_MAX : INT64_MIN))
    return false;
  *ret_low = below ? INT64_MIN : bound + (above && excluded);
  *ret_high = above ? INT64_MAX : bound - (below && excluded);
  return true;
}

static void keep_integers(const struct tide_vec *vec, int64_t low, int64_t high, size_t first, size_t end,
                          uint8_t *keep) {
  const uint8_t *tag = vec->tag;
  const int64_t *num = vec->num;
  for (size_t row = first; row < end; row++)
    keep[row] &= (tag[row] == TIDE_VAL_INT) & (num[row] >= low) & (num[row] <= high);
}

/* The reals that satisfy the predicate, from low to high. false when that is not known. */
static bool reals_of(const struct tide_pred *pred, double *ret_low, double *ret_high) {
  const int64_t exact = INT64_C(1) << 53; /* integers up to it are reals too */
  if (pred->value.type == TIDE_VAL_INT && (pred->value.i > exact || pred->value.i < -exact))
    return false;
  const double bound = pred->value.type == TIDE_VAL_INT ? (double)pred->value.i : pred->value.r;
  *ret_low = wants_below(pred->op) ? -INFINITY : pred->op == TIDE_OP_GT ? nextafter(bound, INFINITY) : bound;
  *ret_high = wants_above(pred->op) ? INFINITY : pred->op == TIDE_OP_LT ? nextafter(bound, -INFINITY) : bound;
  return !(pred->op == TIDE_OP_GT && bound == INFINITY) && !(pred->op == TIDE_OP_LT && bound == -INFINITY);
}

static void keep_reals(const struct tide_vec *vec, double low, double high, size_t first, size_t end, uint8_t *keep) {
  for (size_t row = first; row < end; row++) {
    const double real = tide_real_of_bits(vec->num[row]);
    keep[row] &= (vec->tag[row] == TIDE_VAL_REAL) & (real >= low) & (real <= high);
  }
}

static void keep_equal(const struct tide_vec *vec, const struct tide_val *value, size_t first, size_t end,
                       uint8_t *keep) {
  for (size_t row = first; row < end; row++) {
    if (keep[row])
      keep[row] = vec->tag[row] == value->type && vec->size[row] == value->n &&
                  (value->n == 0 || memcmp(vec->base + vec->num[row], value->p, value->n) == 0);
  }
}

/* By a loop for that kind of predicate and column. false when there is none, and nothing was done. */
static bool keep_by_type(const struct tide_pred *pred, const struct tide_vec *vec, size_t first, size_t end,
                         uint8_t *keep) {
  const bool equal = pred->op == TIDE_OP_EQ || pred->op == TIDE_OP_IS;
  const bool number = pred->value.type == TIDE_VAL_INT || pred->value.type == TIDE_VAL_REAL;
  int64_t low_int, high_int;
  double low_real, high_real;
  if (number && holds_only(vec, TIDE_VAL_INT, first, end) && integers_of(pred, &low_int, &high_int))
    keep_integers(vec, low_int, high_int, first, end, keep);
  else if (number && holds_only(vec, TIDE_VAL_REAL, first, end) && reals_of(pred, &low_real, &high_real))
    keep_reals(vec, low_real, high_real, first, end, keep);
  else if (equal && tide_pred_is_of_text(pred) && holds_only(vec, TIDE_VAL_TEXT, first, end))
    keep_equal(vec, &pred->value, first, end, keep);
  else
    return false;
  return true;
}

bool tide_pred_keep(const struct tide_pred *pred, enum tide_type type, const struct tide_vec *vec, size_t first,
                    size_t end, uint8_t *keep) {
  if (asks_for_null(pred) || pred->op == TIDE_OP_NOT_NULL)
    keep_null(vec, pred->op != TIDE_OP_NOT_NULL, first, end, keep);
  else if (!keep_by_type(pred, vec, first, end, keep))
    keep_by_value(pred, type, vec, first, end, keep);
  return memchr(keep + first, 1, end - first) != NULL;
}
