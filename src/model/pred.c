#include "model/pred.h"

#include <string.h>

/* How SQLite decides "column OP value". Both sides are compared as they are unless an affinity is applied, which
 * depends on the affinity of both expressions, and we know the column's alone (sqlite3CompareAffinity; datatype3.html,
 * section 4.2):
 *
 *   column            right side has no affinity     TEXT or BLOB        INTEGER, REAL or NUMERIC
 *   INTEGER, REAL     numeric                        numeric             numeric
 *   TEXT              text                           none                numeric
 *   BLOB or none      none                           none (text)         numeric
 *
 * "numeric" turns texts that look like numbers into numbers, on both sides; "text" turns numbers into texts where the
 * other side is a text. No affinity changes a NULL or a BLOB. The order is NULL, numbers, texts, blobs; a comparison
 * with NULL is never true. "text" in the last line is what the documentation may be read to say, though SQLite does
 * not do it: we stay clear of it.
 *
 * Whenever nothing can be converted, the plain order of the zone's bounds decides. So:
 *   - a NULL on the right: never true, but for IS, which asks for NULLs.
 *   - a BLOB on the right: a conversion moves texts and numbers among each other, and all of them stay below every
 *     blob, so the plain order decides for every column.
 *   - a number on the right: the plain order decides when no text lies in the zone, since then neither side has one to
 *     convert. Otherwise "maybe".
 *   - a text on the right of a numeric column: it is converted if it looks like a number, whatever its own affinity.
 *     When it does not, the plain order decides; a plain integer is that integer; any other is "maybe".
 *   - a text on the right of another column: "maybe" where the zone has numbers. What is left are texts and blobs,
 *     which the plain order decides unless the right side is of numeric affinity; text_may_match_as_number has the
 *     proof for that. */

static bool has(const struct tide_zone *zone, enum tide_val_type type) {
  return (zone->types >> type & 1) != 0;
}

static bool has_number(const struct tide_zone *zone) {
  return has(zone, TIDE_VAL_INT) || has(zone, TIDE_VAL_REAL);
}

/* A value's class in SQLite's order. */
static int class_of(uint8_t type) {
  return type == TIDE_VAL_REAL ? TIDE_VAL_INT : type;
}

static bool has_class(const struct tide_zone *zone, int class) {
  return class == TIDE_VAL_INT ? has_number(zone) : has(zone, (enum tide_val_type) class);
}

/* By the types alone, no conversion: is there a non-NULL class that can stand in that relation to the value's class? */
static bool types_may_match(enum tide_op op, const struct tide_val *value, const struct tide_zone *zone) {
  int wanted = class_of(value->type);
  bool above = op == TIDE_OP_GT || op == TIDE_OP_GE;
  bool below = op == TIDE_OP_LT || op == TIDE_OP_LE;
  for (int class = TIDE_VAL_INT; class < TIDE_VAL_TYPES; class ++) {
    if (has_class(zone, class) && (class == wanted || (class > wanted && above) || (class < wanted && below)))
      return true;
  }
  return false;
}

/* By the bounds, no conversion. low and high: the value against min and max. */
static bool bounds_may_match(enum tide_op op, int low, int high) {
  switch (op) {
  case TIDE_OP_GT:
    return high < 0;
  case TIDE_OP_GE:
    return high <= 0;
  case TIDE_OP_LT:
    return low > 0;
  case TIDE_OP_LE:
    return low >= 0;
  default:
    return low >= 0 && high <= 0;
  }
}

static bool order_may_match(enum tide_op op, const struct tide_val *value, const struct tide_zone *zone) {
  if (!types_may_match(op, value, zone))
    return false;
  return !zone->bounded ||
         bounds_may_match(op, tide_val_compare(value, &zone->min), tide_val_compare(value, &zone->max));
}

static size_t skip_digits(const unsigned char *bytes, size_t at, size_t n) {
  while (at < n && bytes[at] >= '0' && bytes[at] <= '9')
    at++;
  return at;
}

/* Whether the bytes are a number or the beginning of one to SQLite, with room to spare: blanks (any byte up to 0x20),
 * sign, digits, point, digits, e, sign, digits, blanks. */
static bool may_begin_number(const unsigned char *bytes, size_t n) {
  size_t at = 0;
  while (at < n && bytes[at] <= ' ')
    at++;
  if (at < n && (bytes[at] == '+' || bytes[at] == '-'))
    at++;
  at = skip_digits(bytes, at, n);
  if (at < n && bytes[at] == '.')
    at = skip_digits(bytes, at + 1, n);
  if (at < n && (bytes[at] == 'e' || bytes[at] == 'E')) {
    at++;
    if (at < n && (bytes[at] == '+' || bytes[at] == '-'))
      at++;
    at = skip_digits(bytes, at, n);
  }
  while (at < n && bytes[at] <= ' ')
    at++;
  return at == n;
}

/* Whether some text of the zone may look like a number. Every text v has min <= v <= max byte by byte, so all of them
 * begin with what min and max have in common; and when min begins above '9', so do all, and no number does. */
static bool zone_may_have_number_text(const struct tide_zone *zone) {
  if (!has(zone, TIDE_VAL_TEXT))
    return false;
  if (!zone->bounded || zone->min.type != TIDE_VAL_TEXT)
    return true;
  const unsigned char *min = zone->min.p;
  const unsigned char *max = zone->max.p;
  if (zone->min.n > 0 && min[0] > '9')
    return false;
  size_t common = 0;
  while (zone->max.type == TIDE_VAL_TEXT && common < zone->min.n && common < zone->max.n && min[common] == max[common])
    common++;
  return may_begin_number(min, common);
}

/* Reads an integer in its one shortest form: such texts and integers correspond one to one. */
static bool plain_integer(const struct tide_val *text, int64_t *ret_value) {
  const char *bytes = text->p;
  size_t at = text->n > 1 && bytes[0] == '-' ? 1 : 0;
  bool negative = at == 1;
  int64_t value = 0;
  if (text->n == at || (bytes[at] == '0' && text->n > 1))
    return false;
  for (; at < text->n; at++) {
    int digit = bytes[at] - '0';
    if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, negative ? -digit : digit, &value))
      return false;
  }
  *ret_value = value;
  return true;
}

/* When the zone holds one text only (a partition column, say) and both it and the value are plain integers, their
 * comparison as numbers is known. Returns whether it is, and the answer. */
static bool integers_match(enum tide_op op, const struct tide_val *value, const struct tide_zone *zone,
                           bool *ret_match) {
  int64_t left;
  int64_t right;
  if (!zone->bounded || zone->min.type != TIDE_VAL_TEXT || tide_val_compare(&zone->min, &zone->max) != 0)
    return false;
  if (!plain_integer(&zone->min, &left) || !plain_integer(value, &right))
    return false;
  int order = (right > left) - (right < left);
  *ret_match = bounds_may_match(op, order, order);
  return true;
}

/* Whether a text or blob of the zone may match when numeric affinity is applied and the plain order has said no. Write
 * v for a value of the zone, r for the value on the right. Blobs stay above r whatever becomes of it, as in the plain
 * order. For texts:
 *   v stays, r stays: the plain order, which said no.
 *   v a number, r stays: v < r, so LT and LE are true, the others are not.
 *   v stays, r a number: v > r, so GT and GE are true, the others are not.
 *   both numbers: unknown, unless both are plain integers. */
static bool text_may_match_as_number(enum tide_op op, const struct tide_val *value, const struct tide_zone *zone) {
  bool above = op == TIDE_OP_GT || op == TIDE_OP_GE;
  bool below = op == TIDE_OP_LT || op == TIDE_OP_LE;
  bool left_may = zone_may_have_number_text(zone);
  bool right_may = may_begin_number(value->p, value->n);
  bool match = true;
  if (!right_may)
    return left_may && below;
  if (!left_may)
    return above && has(zone, TIDE_VAL_TEXT);
  return !integers_match(op, value, zone, &match) || match;
}

static bool number_may_match(enum tide_op op, const struct tide_val *value, const struct tide_zone *zone) {
  return has(zone, TIDE_VAL_TEXT) || order_may_match(op, value, zone);
}

static bool text_may_match(enum tide_op op, const struct tide_val *value, enum tide_type type,
                           const struct tide_zone *zone) {
  uint8_t stored = tide_spec_stored_type(type);
  if (stored != TIDE_VAL_INT && stored != TIDE_VAL_REAL)
    return has_number(zone) || order_may_match(op, value, zone) || text_may_match_as_number(op, value, zone);
  int64_t integer = 0;
  bool plain = plain_integer(value, &integer);
  if (!plain && may_begin_number(value->p, value->n))
    return true;
  struct tide_val converted = plain ? tide_val_int(integer) : *value;
  return number_may_match(op, &converted, zone);
}

static bool value_may_match(enum tide_op op, const struct tide_val *value, enum tide_type type,
                            const struct tide_zone *zone) {
  switch (value->type) {
  case TIDE_VAL_NULL:
    return false;
  case TIDE_VAL_TEXT:
    return text_may_match(op, value, type, zone);
  case TIDE_VAL_BLOB:
    return order_may_match(op, value, zone);
  default:
    return number_may_match(op, value, zone);
  }
}

bool tide_pred_may_match(const struct tide_pred *pred, enum tide_type type, const struct tide_zone *zone) {
  bool not_null = (zone->types & ~(1u << TIDE_VAL_NULL)) != 0;
  if (pred->op == TIDE_OP_IS_NULL)
    return has(zone, TIDE_VAL_NULL);
  if (pred->op == TIDE_OP_NOT_NULL)
    return not_null;
  if (pred->op == TIDE_OP_IS && pred->value.type == TIDE_VAL_NULL)
    return has(zone, TIDE_VAL_NULL);
  return not_null && value_may_match(pred->op, &pred->value, type, zone);
}

bool tide_pred_is_of_text(const struct tide_pred *pred) {
  return pred->value.type == TIDE_VAL_TEXT && !may_begin_number(pred->value.p, pred->value.n);
}
