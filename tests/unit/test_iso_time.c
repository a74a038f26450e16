#include <stdio.h>
#include <string.h>
#include <time.h>

#include "effort.h"
#include "sink/iso_time.h"
#include "unit.h"

static const char *iso(int64_t value, enum tide_type type) {
  static char text[TIDE_ISO_TIME_SIZE + 1];
  text[tide_iso_time(value, type, text)] = '\0';
  return text;
}

/* Expected: Python's datetime(1970, 1, 1) + timedelta(seconds=...). */
START_TEST(seconds_are_dates_and_times) {
  static const struct {
    int64_t value;
    const char *expected;
  } cases[] = {{INT64_C(-62135596800), "0001-01-01T00:00:00Z"}, {INT64_C(-11676096000), "1600-01-01T00:00:00Z"},
               {INT64_C(-2208988801), "1899-12-31T23:59:59Z"},  {INT64_C(-2208988800), "1900-01-01T00:00:00Z"},
               {INT64_C(-1), "1969-12-31T23:59:59Z"},           {INT64_C(0), "1970-01-01T00:00:00Z"},
               {INT64_C(951782399), "2000-02-28T23:59:59Z"},    {INT64_C(951782400), "2000-02-29T00:00:00Z"},
               {INT64_C(951868799), "2000-02-29T23:59:59Z"},    {INT64_C(951868800), "2000-03-01T00:00:00Z"},
               {INT64_C(1767225600), "2026-01-01T00:00:00Z"},   {INT64_C(1709164800), "2024-02-29T00:00:00Z"},
               {INT64_C(4107542399), "2100-02-28T23:59:59Z"},   {INT64_C(4107542400), "2100-03-01T00:00:00Z"},
               {INT64_C(253402300799), "9999-12-31T23:59:59Z"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert_str_eq(iso(cases[i].value, TIDE_TYPE_TIMESTAMP_S), cases[i].expected);
}
END_TEST

START_TEST(a_unit_has_its_digits) {
  ck_assert_str_eq(iso(1767225600000, TIDE_TYPE_TIMESTAMP_MS), "2026-01-01T00:00:00.000Z");
  ck_assert_str_eq(iso(1767225600000007, TIDE_TYPE_TIMESTAMP_US), "2026-01-01T00:00:00.000007Z");
  ck_assert_str_eq(iso(1767225600123456789, TIDE_TYPE_TIMESTAMP_NS), "2026-01-01T00:00:00.123456789Z");
  ck_assert_str_eq(iso(-1, TIDE_TYPE_TIMESTAMP_MS), "1969-12-31T23:59:59.999Z");
  ck_assert_str_eq(iso(-1, TIDE_TYPE_TIMESTAMP_US), "1969-12-31T23:59:59.999999Z");
  ck_assert_str_eq(iso(-1, TIDE_TYPE_TIMESTAMP_NS), "1969-12-31T23:59:59.999999999Z");
}
END_TEST

/* The last and first nanosecond of 64 bits: numpy.datetime64's range. */
START_TEST(every_nanosecond_has_a_text) {
  ck_assert_str_eq(iso(INT64_MAX, TIDE_TYPE_TIMESTAMP_NS), "2262-04-11T23:47:16.854775807Z");
  ck_assert_str_eq(iso(INT64_MIN, TIDE_TYPE_TIMESTAMP_NS), "1677-09-21T00:12:43.145224192Z");
}
END_TEST

START_TEST(years_of_other_than_four_digits_have_none) {
  ck_assert_str_eq(iso(INT64_C(253402300799), TIDE_TYPE_TIMESTAMP_S), "9999-12-31T23:59:59Z");
  ck_assert_str_eq(iso(INT64_C(253402300800), TIDE_TYPE_TIMESTAMP_S), "");
  ck_assert_str_eq(iso(INT64_C(253402300799999), TIDE_TYPE_TIMESTAMP_MS), "9999-12-31T23:59:59.999Z");
  ck_assert_str_eq(iso(INT64_C(253402300800000), TIDE_TYPE_TIMESTAMP_MS), "");
  ck_assert_str_eq(iso(INT64_C(-62167219200), TIDE_TYPE_TIMESTAMP_S), "0000-01-01T00:00:00Z");
  ck_assert_str_eq(iso(INT64_C(-62167219201), TIDE_TYPE_TIMESTAMP_S), "");
  ck_assert_str_eq(iso(INT64_MAX, TIDE_TYPE_TIMESTAMP_S), "");
  ck_assert_str_eq(iso(INT64_MIN, TIDE_TYPE_TIMESTAMP_S), "");
  ck_assert_str_eq(iso(INT64_MIN, TIDE_TYPE_TIMESTAMP_US), "");
}
END_TEST

/* Against the C library's gmtime_r, a day and some hours apart through all ten thousand years; in the short form some
 * weeks apart, at every day of the month in its turn. */
START_TEST(days_agree_with_the_c_library) {
  const int64_t apart = (86400 + 3601) * (effort_is_long() ? 1 : 37);
  for (int64_t at = INT64_C(-62167219200); at < INT64_C(253402300800); at += apart) {
    struct tm tm;
    char expected[80];
    const time_t seconds = (time_t)at;
    ck_assert_ptr_nonnull(gmtime_r(&seconds, &tm));
    snprintf(expected, sizeof expected, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
             tm.tm_hour, tm.tm_min, tm.tm_sec);
    if (strcmp(iso(at, TIDE_TYPE_TIMESTAMP_S), expected) != 0)
      ck_abort_msg("%lld: %s, expected %s", (long long)at, iso(at, TIDE_TYPE_TIMESTAMP_S), expected);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {seconds_are_dates_and_times,   a_unit_has_its_digits,
                                every_nanosecond_has_a_text,   years_of_other_than_four_digits_have_none,
                                days_agree_with_the_c_library, NULL};
  return unit_main("iso_time", tests);
}
