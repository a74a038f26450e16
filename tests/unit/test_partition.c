#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sqlite.h"
#include "model/duration.h"
#include "model/partition.h"
#include "model/spec_parse.h"
#include "oom.h"
#include "unit.h"

static const char null_text[] = "__HIVE_DEFAULT_PARTITION__";

static struct tide_spec *spec_of(int argc, const char *const *args) {
  struct tide_err err = {0};
  struct tide_options options;
  struct tide_spec *spec = tide_spec_parse(argc, args, &options, &err);
  assert_ok(err);
  return spec;
}

#define SPEC(...)                                                                                                      \
  spec_of((int)(sizeof(const char *[]){__VA_ARGS__} / sizeof(char *)), (const char *const[]){__VA_ARGS__})

static bool same(const struct tide_val *a, const struct tide_val *b) {
  return a->type == b->type && tide_val_compare(a, b) == 0;
}

/* Encodes, compares with what was expected (NULL: anything), decodes and compares again. */
static void round_trip(const struct tide_spec *spec, const struct tide_val *values, const char *expected) {
  struct tide_err err = {0};
  struct tide_buf out = {0};
  struct tide_buf bytes = {0};
  struct tide_val back[TIDE_SPEC_PARTITION_MAX];
  tide_buf_put_string(&bytes, "before", &err);
  tide_partition_encode(spec, values, &out, &err);
  assert_ok(err);
  if (expected != NULL) {
    ck_assert_uint_eq(out.len, strlen(expected));
    ck_assert(out.len == 0 || memcmp(out.data, expected, out.len) == 0);
  }
  ck_assert_int_eq(tide_partition_decode(spec, (const char *)out.data, out.len, back, &bytes, &err), 0);
  assert_ok(err);
  for (size_t i = 0; i < spec->npartition; i++)
    ck_assert_msg(same(&values[i], &back[i]), "value %d of %.*s", (int)i, (int)out.len, (char *)out.data);
  ck_assert(memcmp(bytes.data, "before", 6) == 0);
  tide_buf_clear(&out);
  tide_buf_clear(&bytes);
}

static void text_trip(const struct tide_spec *spec, const char *text, size_t size, const char *expected) {
  struct tide_val value = tide_val_text(text, size);
  round_trip(spec, &value, expected);
}

static void refused(const struct tide_spec *spec, const char *text) {
  struct tide_err err = {0};
  struct tide_buf bytes = {0};
  struct tide_val back[TIDE_SPEC_PARTITION_MAX];
  ck_assert_msg(tide_partition_decode(spec, text, strlen(text), back, &bytes, &err) == SQLITE_ERROR, "%s passes", text);
  ck_assert_ptr_nonnull(strstr(err.msg, "is no partition of this dataset: expected '"));
  ck_assert_uint_eq(bytes.len, 0);
  tide_buf_clear(&bytes);
}

START_TEST(texts_have_one_form) {
  struct tide_spec *spec = SPEC("s TEXT", "partition_by=s");
  text_trip(spec, "web", 3, "s=web");
  text_trip(spec, "", 0, "s=");
  text_trip(spec, NULL, 0, "s=");
  text_trip(spec, ".", 1, "s=.");
  text_trip(spec, "..", 2, "s=..");
  text_trip(spec, "/", 1, "s=%2F");
  text_trip(spec, "%", 1, "s=%25");
  text_trip(spec, "%2F", 3, "s=%252F");
  text_trip(spec, "s=NULL", 6, "s=s%3DNULL");
  text_trip(spec, "NULL", 4, "s=NULL");
  text_trip(spec, "a b\0c", 5, "s=a%20b%00c");
  text_trip(spec, "\xff\xc3", 2, "s=%FF%C3");
  text_trip(spec, "\xc3\xa9", 2, "s=%C3%A9");
  text_trip(spec, "A-z_0.9~", 8, "s=A-z_0.9~");
  text_trip(spec, null_text, 26, "s=%5F_HIVE_DEFAULT_PARTITION__");
  text_trip(spec, "%5F_HIVE_DEFAULT_PARTITION__", 28, "s=%255F_HIVE_DEFAULT_PARTITION__");
  text_trip(spec, "__hive_default_partition__", 26, "s=__hive_default_partition__");
  text_trip(spec, "__HIVE_DEFAULT_PARTITION__x", 27, "s=__HIVE_DEFAULT_PARTITION__x");
  struct tide_val null = tide_val_null();
  round_trip(spec, &null, "s=__HIVE_DEFAULT_PARTITION__");
  tide_spec_unref(spec);
}
END_TEST

START_TEST(integers_have_one_form) {
  struct tide_spec *spec = SPEC("n TIMESTAMP_S", "partition_by=n");
  static const struct {
    int64_t value;
    const char *text;
  } cases[] = {{0, "n=0"},
               {-1, "n=-1"},
               {10, "n=10"},
               {INT64_MAX, "n=9223372036854775807"},
               {INT64_MIN, "n=-9223372036854775808"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_val value = tide_val_int(cases[i].value);
    round_trip(spec, &value, cases[i].text);
  }
  struct tide_val null = tide_val_null();
  round_trip(spec, &null, "n=__HIVE_DEFAULT_PARTITION__");
  tide_spec_unref(spec);
}
END_TEST

START_TEST(parts_follow_partition_by_and_names_are_encoded) {
  struct tide_spec *spec =
      SPEC("day INTEGER", "\"Sou/rce=\" TEXT", "\"..\" TEXT", "partition_by=(\"Sou/rce=\", day, [..])");
  struct tide_val values[] = {tide_val_text("a/b", 3), tide_val_int(7), tide_val_null()};
  round_trip(spec, values, "Sou%2Frce%3D=a%2Fb/day=7/..=__HIVE_DEFAULT_PARTITION__");
  tide_spec_unref(spec);
}
END_TEST

START_TEST(no_partition_by_is_the_empty_text) {
  struct tide_spec *spec = SPEC("x TEXT");
  round_trip(spec, NULL, "");
  refused(spec, "x=1");
  refused(spec, "/");
  tide_spec_unref(spec);
}
END_TEST

/* Every text of up to two bytes has its own form, and comes back. */
START_TEST(all_short_texts_come_back) {
  struct tide_spec *spec = SPEC("s TEXT", "partition_by=s");
  for (int i = 0; i < 65536 + 256; i++) {
    char text[2] = {(char)(i & 0xff), (char)(i >> 8 & 0xff)};
    text_trip(spec, text, i < 65536 ? 2 : 1, NULL);
  }
  tide_spec_unref(spec);
}
END_TEST

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

START_TEST(random_parts_come_back) {
  static const char alphabet[] = "a/=%_.2F5\0\xff-";
  struct tide_spec *spec = SPEC("a TEXT", "b INTEGER", "c TEXT", "partition_by=(a,b,c)");
  uint32_t seed = 1;
  for (int round = 0; round < 5000; round++) {
    char texts[2][16];
    struct tide_val values[3];
    for (int i = 0; i < 2; i++) {
      size_t size = next_random(&seed) % sizeof texts[i];
      for (size_t k = 0; k < size; k++)
        texts[i][k] = alphabet[next_random(&seed) % (sizeof alphabet - 1)];
      values[i * 2] = next_random(&seed) % 8 == 0 ? tide_val_null() : tide_val_text(texts[i], size);
    }
    int64_t number = (int64_t)((uint64_t)next_random(&seed) << 40 | next_random(&seed));
    values[1] = tide_val_int(number >> next_random(&seed) % 64);
    round_trip(spec, values, NULL);
  }
  tide_spec_unref(spec);
}
END_TEST

START_TEST(other_forms_are_refused) {
  struct tide_spec *spec = SPEC("s TEXT", "n INTEGER", "partition_by=(s,n)");
  static const char *const bad[] = {"",
                                    "s=a",
                                    "s=a/",
                                    "s=a/n=",
                                    "s=a/n=1/",
                                    "s=a/n=1/x=2",
                                    "/s=a/n=1",
                                    "n=1/s=a",
                                    "S=a/n=1",
                                    "%73=a/n=1",
                                    "t=a/n=1",
                                    "s/n=1",
                                    "s=%61/n=1",
                                    "s=%2f/n=1",
                                    "s=%2/n=1",
                                    "s=%/n=1",
                                    "s=%2G/n=1",
                                    "s=a b/n=1",
                                    "s=a=b/n=1",
                                    "s=\xc3\xa9/n=1",
                                    "s=%5F_HIVE_DEFAULT_PARTITION_%5F/n=1",
                                    "s=_%5FHIVE_DEFAULT_PARTITION__/n=1",
                                    "s=a/n=+1",
                                    "s=a/n=01",
                                    "s=a/n=-0",
                                    "s=a/n=-",
                                    "s=a/n=1.0",
                                    "s=a/n= 1",
                                    "s=a/n=x",
                                    "s=a/n=A",
                                    "s=a/n=9223372036854775808",
                                    "s=a/n=-9223372036854775809",
                                    "s=a/n=%5F_HIVE_DEFAULT_PARTITION__"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    refused(spec, bad[i]);
  struct tide_err err = {0};
  struct tide_buf bytes = {0};
  struct tide_val back[2];
  ck_assert_int_eq(tide_partition_decode(spec, "s=a\0/n=1", 8, back, &bytes, &err), SQLITE_ERROR);
  tide_err_clear(&err);
  tide_partition_decode(spec, "s=it's", 6, back, &bytes, &err);
  ck_assert_str_eq(err.msg, "'s=it''s' is no partition of this dataset: expected 's=.../n=...', percent-encoded");
  tide_buf_clear(&bytes);
  tide_spec_unref(spec);
}
END_TEST

START_TEST(a_part_has_at_most_255_bytes) {
  struct tide_spec *spec = SPEC("s TEXT", "t TEXT", "partition_by=(s,t)");
  static char text[100000];
  memset(text, 'x', sizeof text);
  struct tide_val values[] = {tide_val_text(text, 253), tide_val_text(text, 253)};
  round_trip(spec, values, NULL);
  static const size_t sizes[] = {254, 255, 256, sizeof text};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct tide_err err = {0};
    struct tide_buf out = {0};
    tide_buf_put_string(&out, "before", &err);
    values[1].n = sizes[i];
    tide_partition_encode(spec, values, &out, &err);
    ck_assert_int_eq(err.rc, SQLITE_CONSTRAINT);
    ck_assert_str_eq(err.msg, "the value of partition column \"t\" is too long: its part of the partition's text may "
                              "have at most 255 bytes");
    ck_assert_uint_eq(out.len, 6);
    tide_buf_clear(&out);
  }
  memset(text, '/', 85);
  values[0] = tide_val_null();
  values[1] = tide_val_text(text, 84); /* 2 + 3 * 84 = 254 */
  round_trip(spec, values, NULL);
  struct tide_err err = {0};
  struct tide_buf out = {0};
  values[1].n = 85;
  tide_partition_encode(spec, values, &out, &err);
  ck_assert_int_eq(err.rc, SQLITE_CONSTRAINT);
  tide_buf_clear(&out);
  tide_spec_unref(spec);
}
END_TEST

/* A text that is a partition, and one that is none, with each allocation failing once: nothing else is said, nothing
 * is kept. */
START_TEST(decoding_gives_all_back_when_memory_is_short) {
  static const char *const texts[] = {"s=a%20long%20enough%20value/n=5", "s=a%20long%20enough%20value/n=05"};
  oom_install();
  struct tide_spec *spec = SPEC("s TEXT", "n INTEGER", "partition_by=(s,n)");
  long live = oom_live();
  for (int i = 0; i < 2; i++) {
    for (long at = 1;; at++) {
      struct tide_err err = {0};
      struct tide_buf bytes = {0};
      struct tide_val back[2] = {tide_val_int(1), tide_val_int(2)};
      oom_fail_at(at);
      tide_partition_decode(spec, texts[i], strlen(texts[i]), back, &bytes, &err);
      ck_assert_int_eq(err.rc, oom_has_failed() ? SQLITE_NOMEM : i == 0 ? 0 : SQLITE_ERROR);
      ck_assert(err.rc == 0 || (bytes.len == 0 && back[0].i == 1 && back[1].i == 2));
      tide_buf_clear(&bytes);
      ck_assert_int_eq(oom_live(), live);
      if (!oom_has_failed())
        break;
      ck_assert_int_lt(at, 100);
    }
  }
  oom_fail_at(0);
  tide_spec_unref(spec);
}
END_TEST

static void name_becomes(const char *name, const char *expected) {
  struct tide_err err = {0};
  struct tide_buf out = {0};
  tide_partition_encode_name(name, strlen(name), &out, &err);
  assert_ok(err);
  ck_assert_uint_eq(out.len, strlen(expected));
  ck_assert(out.len == 0 || memcmp(out.data, expected, out.len) == 0);
  tide_buf_clear(&out);
}

START_TEST(names_become_file_names) {
  name_becomes("logs", "logs");
  name_becomes(".", "%2E");
  name_becomes("..", "%2E%2E");
  name_becomes("...", "...");
  name_becomes("a/../b c", "a%2F..%2Fb%20c");
  name_becomes("", "");
}
END_TEST

static int64_t duration(struct tide_val value) {
  struct tide_err err = {0};
  int64_t ms = -1;
  int rc = tide_duration_parse(&value, "retention_age", &ms, &err);
  ck_assert_int_eq(rc, err.rc);
  ck_assert_msg(rc == 0 ? ms >= 0 : ms == -1, "%lld after %d", (long long)ms, rc);
  return ms;
}

static int64_t text_duration(const char *text) {
  return duration(tide_val_text(text, strlen(text)));
}

START_TEST(durations_in_words) {
  static const struct {
    const char *text;
    int64_t ms;
  } cases[] = {{"90 days", INT64_C(7776000000)},
               {"5 min", 300000},
               {"1.5 hours", 5400000},
               {"250 ms", 250},
               {"250ms", 250},
               {"0", 0},
               {"7", 7000},
               {"0.001", 1},
               {"1 s", 1000},
               {"2 SEC", 2000},
               {"2 secs", 2000},
               {"3 Seconds", 3000},
               {"1 second", 1000},
               {"1 mins", 60000},
               {"2 minutes", 120000},
               {"1 h", 3600000},
               {"1 hour", 3600000},
               {"1d", 86400000},
               {" 1\tday ", 86400000},
               {"1 w", 604800000},
               {"2 weeks", 1209600000},
               {"0.0004 s", 0},
               {"0.0005 s", 1},
               {"0.1 ms", 0},
               {"1.9999999999999 s", 2000},
               {"007 s", 7000},
               {"9223372036854775807 ms", INT64_MAX},
               {"9223372036854775.807 s", INT64_MAX}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert_msg(text_duration(cases[i].text) == cases[i].ms, "%s", cases[i].text);
}
END_TEST

START_TEST(bad_durations_are_refused) {
  static const char *const bad[] = {"",
                                    " ",
                                    "days",
                                    "-1 day",
                                    "+1 day",
                                    "1 parsec",
                                    "1.",
                                    ".5 s",
                                    "1e3",
                                    "1 day 2",
                                    "1,5 s",
                                    "1 mss",
                                    "1 hs",
                                    "ss",
                                    "1 m",
                                    "0x10",
                                    "1 days!",
                                    "1 sec onds",
                                    "9223372036854775808 ms",
                                    "9223372036854775.808 s",
                                    "106751991168 days",
                                    "99999999999999999999"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    ck_assert_msg(text_duration(bad[i]) == -1, "%s", bad[i]);
  ck_assert_int_eq(duration(tide_val_text("1\0", 2)), -1);
  ck_assert_int_eq(duration(tide_val_text(NULL, 0)), -1);
  ck_assert_int_eq(duration(tide_val_null()), -1);
  ck_assert_int_eq(duration(tide_val_blob("1", 1)), -1);
}
END_TEST

START_TEST(durations_in_numbers) {
  ck_assert_int_eq(duration(tide_val_int(0)), 0);
  ck_assert_int_eq(duration(tide_val_int(90)), 90000);
  ck_assert_int_eq(duration(tide_val_int(INT64_C(9223372036854775))), INT64_C(9223372036854775000));
  ck_assert_int_eq(duration(tide_val_int(INT64_C(9223372036854776))), -1);
  ck_assert_int_eq(duration(tide_val_int(-1)), -1);
  ck_assert_int_eq(duration(tide_val_int(INT64_MIN)), -1);
  ck_assert_int_eq(duration(tide_val_real(1.5)), 1500);
  ck_assert_int_eq(duration(tide_val_real(0.29)), 290);
  ck_assert_int_eq(duration(tide_val_real(0.0004)), 0);
  ck_assert_int_eq(duration(tide_val_real(0.0005)), 1);
  ck_assert_int_eq(duration(tide_val_real(-0.001)), -1);
  ck_assert_int_eq(duration(tide_val_real(4503599627370497.0)), INT64_C(4503599627370497000));
  ck_assert_int_eq(duration(tide_val_real(1e300)), -1);
  ck_assert_int_eq(duration(tide_val_real(INFINITY)), -1);
  ck_assert_int_eq(duration(tide_val_real(9223372036854775.9)), -1);
}
END_TEST

START_TEST(duration_errors_name_what_and_value) {
  struct tide_err err = {0};
  int64_t ms;
  struct tide_val value = tide_val_text("soon", 4);
  tide_duration_parse(&value, "retention_age", &ms, &err);
  ck_assert_int_eq(err.rc, SQLITE_ERROR);
  ck_assert_str_eq(err.msg,
                   "retention_age is 'soon', expected a number of seconds or a span such as '90 days', '5 min' or "
                   "'250 ms', not negative");
  tide_err_clear(&err);
  value = tide_val_int(-5);
  tide_duration_parse(&value, "max_delay", &ms, &err);
  ck_assert(strncmp(err.msg, "max_delay is -5, expected ", 26) == 0);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {texts_have_one_form,
                                integers_have_one_form,
                                parts_follow_partition_by_and_names_are_encoded,
                                no_partition_by_is_the_empty_text,
                                all_short_texts_come_back,
                                random_parts_come_back,
                                other_forms_are_refused,
                                a_part_has_at_most_255_bytes,
                                decoding_gives_all_back_when_memory_is_short,
                                names_become_file_names,
                                durations_in_words,
                                bad_durations_are_refused,
                                durations_in_numbers,
                                duration_errors_name_what_and_value,
                                NULL};
  return unit_main("partition", tests);
}
