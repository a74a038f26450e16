#include "sink/retry_after.h"

#include <stddef.h>
#include <string.h>

enum { SECONDS_MAX = TIDE_RETRY_AFTER_MAX_MS / 1000, DAY_S = 24 * 60 * 60, YEARS_AHEAD = 50 };

struct moment {
  int64_t year;
  int month; /* from 0 */
  int day;   /* from 1 */
  int hour, minute, second;
};

/* ---- the calendar ---- */

static bool is_leap(int64_t year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t leap_days_before(int64_t year) {
  return (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
}

static int days_in(int64_t year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return days[month] + (month == 1 && is_leap(year));
}

static int64_t seconds_of(const struct moment *at) {
  int64_t days = (at->year - 1970) * 365 + leap_days_before(at->year) - leap_days_before(1970) + at->day - 1;
  for (int month = 0; month < at->month; month++)
    days += days_in(at->year, month);
  return days * DAY_S + (at->hour * 60 + at->minute) * 60 + at->second;
}

/* A leap second is legal. */
static bool is_real(const struct moment *at) {
  return at->year > 0 && at->day >= 1 && at->day <= days_in(at->year, at->month) && at->hour <= 23 &&
         at->minute <= 59 && at->second <= 60;
}

/* The latest year with the last two digits of at->year that is at most 50 years ahead. */
static void choose_century(struct moment *at, int64_t now_ms) {
  const int64_t now_year = 1970 + now_ms / 1000 / DAY_S / 365;
  int64_t year = at->year % 100 + (now_year / 100 + 1) * 100;
  struct moment earlier = *at;
  for (;; year -= 100) {
    earlier.year = year - YEARS_AHEAD;
    if (seconds_of(&earlier) <= now_ms / 1000)
      break;
  }
  at->year = year;
}

/* ---- reading: each moves *at on, and gives false where the text is another ---- */

static bool read_text(const char **at, const char *expected) {
  const size_t size = strlen(expected);
  if (strncmp(*at, expected, size) != 0)
    return false;
  *at += size;
  return true;
}

static bool read_digits(const char **at, int count, int *ret) {
  int value = 0;
  for (int i = 0; i < count; i++) {
    if ((*at)[i] < '0' || (*at)[i] > '9')
      return false;
    value = value * 10 + ((*at)[i] - '0');
  }
  *at += count;
  *ret = value;
  return true;
}

static bool read_word(const char **at, const char *const *words, int count, int *ret) {
  for (int i = 0; i < count; i++) {
    if (read_text(at, words[i])) {
      *ret = i;
      return true;
    }
  }
  return false;
}

static bool read_month(const char **at, int *ret) {
  static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return read_word(at, months, 12, ret);
}

static bool read_time(const char **at, struct moment *ret) {
  return read_digits(at, 2, &ret->hour) && read_text(at, ":") && read_digits(at, 2, &ret->minute) &&
         read_text(at, ":") && read_digits(at, 2, &ret->second);
}

static const char *const short_days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

/* Sun, 06 Nov 1994 08:49:37 GMT */
static bool read_fixdate(const char *at, struct moment *ret) {
  int name = 0, year = 0;
  const bool is = read_word(&at, short_days, 7, &name) && read_text(&at, ", ") && read_digits(&at, 2, &ret->day) &&
                  read_text(&at, " ") && read_month(&at, &ret->month) && read_text(&at, " ") &&
                  read_digits(&at, 4, &year) && read_text(&at, " ") && read_time(&at, ret) && strcmp(at, " GMT") == 0;
  ret->year = year;
  return is;
}

/* Sunday, 06-Nov-94 08:49:37 GMT */
static bool read_rfc850(const char *at, struct moment *ret) {
  static const char *const days[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
  int name = 0, year = 0;
  const bool is = read_word(&at, days, 7, &name) && read_text(&at, ", ") && read_digits(&at, 2, &ret->day) &&
                  read_text(&at, "-") && read_month(&at, &ret->month) && read_text(&at, "-") &&
                  read_digits(&at, 2, &year) && read_text(&at, " ") && read_time(&at, ret) && strcmp(at, " GMT") == 0;
  ret->year = year;
  return is;
}

/* Sun Nov  6 08:49:37 1994 */
static bool read_asctime(const char *at, struct moment *ret) {
  int name = 0, year = 0;
  const bool is = read_word(&at, short_days, 7, &name) && read_text(&at, " ") && read_month(&at, &ret->month) &&
                  read_text(&at, " ") && read_digits(&at, read_text(&at, " ") ? 1 : 2, &ret->day) &&
                  read_text(&at, " ") && read_time(&at, ret) && read_text(&at, " ") && read_digits(&at, 4, &year) &&
                  *at == '\0';
  ret->year = year;
  return is;
}

/* ---- the header ---- */

bool tide_http_date_parse(const char *text, int64_t now_ms, int64_t *ret_s) {
  struct moment at = {0};
  bool is = read_fixdate(text, &at) || read_asctime(text, &at);
  if (!is && read_rfc850(text, &at)) {
    choose_century(&at, now_ms);
    is = true;
  }
  is = is && is_real(&at);
  if (is)
    *ret_s = seconds_of(&at);
  return is;
}

static bool read_seconds(const char *text, int64_t *ret_s) {
  int64_t seconds = 0;
  const char *at = text;
  for (; *at >= '0' && *at <= '9'; at++)
    seconds = seconds < SECONDS_MAX ? seconds * 10 + (*at - '0') : seconds;
  *ret_s = seconds;
  return at > text && *at == '\0';
}

int64_t tide_retry_after_ms(const char *value, const char *date, int64_t now_ms) {
  int64_t seconds = 0, from_s = 0;
  if (value == NULL)
    return -1;
  if (!read_seconds(value, &seconds)) {
    if (!tide_http_date_parse(value, now_ms, &seconds))
      return -1;
    if (date == NULL || !tide_http_date_parse(date, now_ms, &from_s))
      from_s = now_ms / 1000;
    seconds -= from_s;
  }
  return seconds <= 0 ? 0 : seconds < SECONDS_MAX ? seconds * 1000 : TIDE_RETRY_AFTER_MAX_MS;
}
