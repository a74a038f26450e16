#include "sink/retry_after.h"

#include <stddef.h>

#include "unit.h"

/* 2026-11-30 12:00:00 UTC. Expected values are of GNU date(1): date -u -d ... +%s */
static const int64_t now_ms = INT64_C(1796040000) * 1000;
enum { DAY_MS = 86400000 };

START_TEST(dates_are_read_in_three_forms) {
  static const struct {
    const char *text;
    int64_t seconds;
  } cases[] = {
      {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777}, /* the three examples of RFC 9110 are one moment */
      {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777}, {"Sun Nov  6 08:49:37 1994", 784111777},
      {"Wed Oct 21 07:28:00 2015", 1445412480},      {"Thu, 29 Feb 2024 23:59:59 GMT", 1709251199},
      {"Tue, 29 Feb 2000 00:00:00 GMT", 951782400},  {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
      {"Wed, 31 Dec 1969 23:59:59 GMT", -1},         {"Fri, 31 Dec 9999 23:59:59 GMT", INT64_C(253402300799)},
      {"Mon, 06 Nov 1994 08:49:37 GMT", 784111777},  /* the day's name is not looked at */
      {"Sat, 31 Dec 2016 23:59:60 GMT", 1483228800}, /* a leap second */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t seconds = 77;
    ck_assert_msg(tide_http_date_parse(cases[i].text, now_ms, &seconds), "%s", cases[i].text);
    ck_assert_msg(seconds == cases[i].seconds, "%s gave %lld", cases[i].text, (long long)seconds);
  }
}
END_TEST

START_TEST(years_of_two_digits_are_at_most_fifty_ahead) {
  static const struct {
    const char *text;
    int64_t now_s, seconds;
  } cases[] = {
      {"Monday, 30-Nov-76 12:00:00 GMT", 1796040000, 3373963200}, /* 2076, 50 years ahead to the second */
      {"Monday, 30-Nov-76 12:00:01 GMT", 1796040000, 218203201},  /* one more: 1976 */
      {"Monday, 30-Nov-26 12:00:01 GMT", 1796040000, 1796040001},
      {"Friday, 01-Jan-00 00:00:00 GMT", 4083955200, 4102444800}, /* in 2099: 2100 */
      {"Friday, 01-Jan-00 00:00:00 GMT", 1796040000, 946684800},  /* in 2026: 2000 */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t seconds = 77;
    ck_assert(tide_http_date_parse(cases[i].text, cases[i].now_s * 1000, &seconds));
    ck_assert_msg(seconds == cases[i].seconds, "%s gave %lld", cases[i].text, (long long)seconds);
  }
}
END_TEST

START_TEST(other_texts_are_no_dates) {
  static const char *const cases[] = {
      "",
      "Sun, 06 Nov 1994 08:49:37",
      "Sun, 06 Nov 1994 08:49:37 UTC",
      "Sun, 06 Nov 1994 08:49:37 GMT ",
      "Sun, 6 Nov 1994 08:49:37 GMT",
      "sun, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 nov 1994 08:49:37 GMT",
      "Son, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 94 08:49:37 GMT",
      "Sun, 31 Nov 1994 08:49:37 GMT",
      "Sun, 29 Feb 2023 08:49:37 GMT",
      "Thu, 29 Feb 1900 08:49:37 GMT",
      "Sun, 00 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 0000 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:49:37 GMT",
      "Sun, 06 Nov 1994 08:60:37 GMT",
      "Sun, 06 Nov 1994 08:49:61 GMT",
      "Sunday, 06-Nov-1994 08:49:37 GMT",
      "Sun, 06-Nov-94 08:49:37 GMT",
      "Sun Nov 6 08:49:37 1994",
      "Sun Nov  6 08:49:37 1994 GMT",
      "1994-11-06T08:49:37Z",
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t seconds = 77;
    ck_assert_msg(!tide_http_date_parse(cases[i], now_ms, &seconds), "%s", cases[i]);
    ck_assert_int_eq(seconds, 77);
    ck_assert_msg(tide_retry_after_ms(cases[i], NULL, now_ms) == -1, "%s", cases[i]);
  }
}
END_TEST

START_TEST(seconds_are_counted_from_now) {
  static const struct {
    const char *text;
    int64_t ms;
  } cases[] = {{"0", 0},
               {"1", 1000},
               {"007", 7000},
               {"120", 120000},
               {"86399", 86399000},
               {"86400", DAY_MS},
               {"86401", DAY_MS},
               {"99999999999999999999999999", DAY_MS},
               {"-1", -1},
               {"+1", -1},
               {"1.5", -1},
               {"1s", -1},
               {"0x10", -1},
               {" 1", -1},
               {"", -1},
               {"soon", -1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert_msg(tide_retry_after_ms(cases[i].text, NULL, now_ms) == cases[i].ms, "%s", cases[i].text);
  ck_assert_int_eq(tide_retry_after_ms(NULL, NULL, now_ms), -1);
}
END_TEST

START_TEST(dates_are_counted_from_the_answers_own) {
  static const char soon[] = "Mon, 30 Nov 2026 12:01:30 GMT";
  ck_assert_int_eq(tide_retry_after_ms(soon, NULL, now_ms), 90000);
  /* A receiver whose clock is an hour slow, or fast. */
  ck_assert_int_eq(tide_retry_after_ms(soon, "Mon, 30 Nov 2026 12:01:00 GMT", now_ms + 3600000), 30000);
  ck_assert_int_eq(tide_retry_after_ms(soon, "Mon, 30 Nov 2026 12:01:00 GMT", now_ms - 3600000), 30000);
  ck_assert_int_eq(tide_retry_after_ms(soon, "yesterday", now_ms), 90000);
  ck_assert_int_eq(tide_retry_after_ms(soon, "Mon, 30 Nov 2026 12:01:31 GMT", now_ms), 0);
  ck_assert_int_eq(tide_retry_after_ms("Sun, 06 Nov 1994 08:49:37 GMT", NULL, now_ms), 0);
  ck_assert_int_eq(tide_retry_after_ms("Fri, 31 Dec 9999 23:59:59 GMT", NULL, now_ms), DAY_MS);
  /* Seconds need no date. */
  ck_assert_int_eq(tide_retry_after_ms("5", "Mon, 30 Nov 2026 12:01:31 GMT", now_ms), 5000);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      dates_are_read_in_three_forms, years_of_two_digits_are_at_most_fifty_ahead, other_texts_are_no_dates,
      seconds_are_counted_from_now,  dates_are_counted_from_the_answers_own,      NULL};
  return unit_main("retry_after", tests);
}
