#include "sink/iso_time.h"

enum {
  DAY_SECONDS = 86400,
  CYCLE_YEARS = 400,
  CYCLE_DAYS = 146097,
  EPOCH_DAYS = 719528 /* from 0000-01-01 to 1970-01-01 */
};
static const int64_t first_second = INT64_C(-62167219200);   /* 0000-01-01T00:00:00Z */
static const int64_t behind_seconds = INT64_C(253402300800); /* 10000-01-01T00:00:00Z */

static char *put_digits(char *to, int64_t value, int digits) {
  for (int i = digits - 1; i >= 0; i--, value /= 10)
    to[i] = (char)('0' + value % 10);
  return to + digits;
}

/* Days from 0000-01-01 to the first of January of a year; the year 0 is a leap year. */
static int64_t year_start(int64_t year) {
  return 365 * year + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
}

static char *put_date(char *to, int64_t days) {
  static const int before_month[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  int64_t year = days * CYCLE_YEARS / CYCLE_DAYS; /* it may be off by one */
  while (year_start(year) > days)
    year--;
  while (year_start(year + 1) <= days)
    year++;
  const int64_t day = days - year_start(year);
  const int leap = year_start(year + 1) - year_start(year) == 366;
  int month = 11;
  while (before_month[month] + (month > 1 ? leap : 0) > day)
    month--;
  to = put_digits(to, year, 4);
  *to++ = '-';
  to = put_digits(to, month + 1, 2);
  *to++ = '-';
  return put_digits(to, day - before_month[month] - (month > 1 ? leap : 0) + 1, 2);
}

static char *put_time(char *to, int64_t second_of_day) {
  to = put_digits(to, second_of_day / 3600, 2);
  *to++ = ':';
  to = put_digits(to, second_of_day / 60 % 60, 2);
  *to++ = ':';
  return put_digits(to, second_of_day % 60, 2);
}

static int digits_of(enum tide_type type) {
  return type == TIDE_TYPE_TIMESTAMP_NS   ? 9
         : type == TIDE_TYPE_TIMESTAMP_US ? 6
         : type == TIDE_TYPE_TIMESTAMP_MS ? 3
                                          : 0;
}

/* The quotient rounded down; *ret_rest is never negative. */
static int64_t divide(int64_t value, int64_t by, int64_t *ret_rest) {
  int64_t rest = value % by;
  *ret_rest = rest < 0 ? rest + by : rest;
  return value / by - (rest < 0);
}

size_t tide_iso_time(int64_t value, enum tide_type type, char ret_text[TIDE_ISO_TIME_SIZE]) {
  const int digits = digits_of(type);
  int64_t scale = 1;
  int64_t fraction, second_of_day;
  for (int i = 0; i < digits; i++)
    scale *= 10;
  const int64_t seconds = divide(value, scale, &fraction);
  if (seconds < first_second || seconds >= behind_seconds)
    return 0;
  const int64_t days = divide(seconds, DAY_SECONDS, &second_of_day);
  char *to = put_date(ret_text, days + EPOCH_DAYS);
  *to++ = 'T';
  to = put_time(to, second_of_day);
  if (digits > 0) {
    *to++ = '.';
    to = put_digits(to, fraction, digits);
  }
  *to++ = 'Z';
  return (size_t)(to - ret_text);
}
