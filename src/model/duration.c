#include "model/duration.h"

#include <stdbool.h>
#include <string.h>

#include "base/sqlite.h"

struct unit {
  const char *name;
  bool plural; /* an "s" may follow */
  int64_t ms;
};

static const struct unit units[] = {{"", false, 1000},        {"ms", false, 1},        {"s", false, 1000},
                                    {"sec", true, 1000},      {"second", true, 1000},  {"min", true, 60000},
                                    {"minute", true, 60000},  {"h", false, 3600000},   {"hour", true, 3600000},
                                    {"d", false, 86400000},   {"day", true, 86400000}, {"w", false, 604800000},
                                    {"week", true, 604800000}};

enum { FRACTION_DIGITS = 9, FRACTION_ONE = 1000000000 };

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_unit(const struct unit *unit, const char *text, size_t size) {
  size_t length = strlen(unit->name);
  if (unit->plural && size == length + 1 && (text[length] == 's' || text[length] == 'S'))
    size = length;
  return size == length && sqlite3_strnicmp(unit->name, text, (int)size) == 0;
}

static const struct unit *find_unit(const char *text, size_t size) {
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (is_unit(&units[i], text, size))
      return &units[i];
  }
  return NULL;
}

/* whole units and fraction (in billionths of one) as milliseconds, the fraction rounded. */
static bool scale(int64_t whole, int64_t fraction, int64_t unit_ms, int64_t *ret_ms) {
  int64_t part = (fraction * unit_ms + FRACTION_ONE / 2) / FRACTION_ONE; /* below 2^60 */
  int64_t ms;
  if (__builtin_mul_overflow(whole, unit_ms, &ms) || __builtin_add_overflow(ms, part, &ms))
    return false;
  *ret_ms = ms;
  return true;
}

/* Digits, perhaps '.' and digits, perhaps blanks, a unit. Decimals behind the ninth weigh less than a millisecond. */
static bool parse_text(const char *at, size_t size, int64_t *ret_ms) {
  const char *end = at + size;
  int64_t whole = 0;
  int64_t fraction = 0;
  while (at < end && is_blank(*at))
    at++;
  while (end > at && is_blank(end[-1]))
    end--;
  if (at == end || !is_digit(*at))
    return false;
  for (; at < end && is_digit(*at); at++) {
    if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, *at - '0', &whole))
      return false;
  }
  if (at < end && *at == '.') {
    at++;
    if (at == end || !is_digit(*at))
      return false;
    for (int64_t weight = FRACTION_ONE / 10; at < end && is_digit(*at); at++, weight /= 10)
      fraction += (*at - '0') * weight;
  }
  while (at < end && is_blank(*at))
    at++;
  const struct unit *unit = find_unit(at, (size_t)(end - at));
  return unit != NULL && scale(whole, fraction, unit->ms, ret_ms);
}

/* The whole seconds are scaled as an integer, so that no rounding touches them. */
static bool parse_real(double seconds, int64_t *ret_ms) {
  if (!(seconds >= 0) || seconds >= 9223372036854775808.0)
    return false;
  int64_t whole = (int64_t)seconds;
  int64_t billionths = (int64_t)((seconds - (double)whole) * FRACTION_ONE + 0.5);
  return scale(whole, billionths, 1000, ret_ms);
}

static void refuse(const struct tide_val *value, const char *what, struct tide_err *err) {
  static const char expected[] = "a number of seconds or a span such as '90 days', '5 min' or '250 ms', not negative";
  if (value->type == TIDE_VAL_INT)
    tide_err_set(err, SQLITE_ERROR, "%s is %lld, expected %s", what, (long long)value->i, expected);
  else if (value->type == TIDE_VAL_REAL)
    tide_err_set(err, SQLITE_ERROR, "%s is %!g, expected %s", what, value->r, expected);
  else if (value->type == TIDE_VAL_TEXT)
    tide_err_set(err, SQLITE_ERROR, "%s is '%.*q', expected %s", what, value->n > 100 ? 100 : (int)value->n,
                 value->n > 0 ? (const char *)value->p : "", expected);
  else
    tide_err_set(err, SQLITE_ERROR, "%s is a %s, expected %s", what, tide_val_type_name(value->type), expected);
}

int tide_duration_parse(const struct tide_val *value, const char *what, int64_t *ret_ms, struct tide_err *err) {
  int64_t ms = 0;
  bool good = false;
  if (value->type == TIDE_VAL_INT)
    good = value->i >= 0 && scale(value->i, 0, 1000, &ms);
  else if (value->type == TIDE_VAL_REAL)
    good = parse_real(value->r, &ms);
  else if (value->type == TIDE_VAL_TEXT)
    good = parse_text(value->p, value->n, &ms);
  if (!good)
    refuse(value, what, err);
  else
    *ret_ms = ms;
  return err->rc;
}
