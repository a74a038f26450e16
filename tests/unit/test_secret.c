#include "sink/secret.h"

#include <stdlib.h>
#include <string.h>

#include "base/sqlite.h"
#include "unit.h"

START_TEST(a_secret_is_what_its_variable_holds) {
  struct tide_secret secret = {0};
  struct tide_err err = {0};
  setenv("TIDE_TEST_SECRET", "a b:c\xC3\xA9", 1);
  tide_secret_read(&secret, "TIDE_TEST_SECRET", &err);
  assert_ok(err);
  ck_assert_str_eq(secret.text, "a b:c\xC3\xA9");
  tide_secret_clear(&secret);
  ck_assert_ptr_null(secret.text);
  tide_secret_clear(&secret);
}
END_TEST

static void expect_refused(const char *message) {
  struct tide_secret secret = {0};
  struct tide_err err = {0};
  tide_secret_read(&secret, "TIDE_TEST_SECRET", &err);
  ck_assert_int_eq(err.rc, SQLITE_AUTH);
  ck_assert_str_eq(err.msg, message);
  ck_assert_ptr_null(secret.text);
}

START_TEST(a_variable_without_a_secret_is_named) {
  unsetenv("TIDE_TEST_SECRET");
  expect_refused("environment variable TIDE_TEST_SECRET is not set: expected it to hold the secret of this sink");
  setenv("TIDE_TEST_SECRET", "", 1);
  expect_refused("environment variable TIDE_TEST_SECRET is empty: expected it to hold the secret of this sink");
  static const char lines[] = "environment variable TIDE_TEST_SECRET holds a line break or another control character: "
                              "expected a secret of one line";
  setenv("TIDE_TEST_SECRET", "hidden\r\nX-More: header", 1);
  expect_refused(lines);
  setenv("TIDE_TEST_SECRET", "hidden\x7F", 1);
  expect_refused(lines);
}
END_TEST

START_TEST(an_option_names_a_variable) {
  struct tide_sink_options options = {0};
  struct tide_err err = {0};
  ck_assert_int_eq(tide_sink_options_parse("{\"token_env\":\"_MY_TOKEN2\"}", &options, &err), 0);
  ck_assert_str_eq(tide_secret_take_variable(&options, "token_env", &err), "_MY_TOKEN2");
  ck_assert_ptr_null(tide_secret_take_variable(&options, "other_env", &err));
  assert_ok(err);
  tide_sink_options_clear(&options);
}
END_TEST

START_TEST(a_secret_given_as_a_name_is_not_repeated) {
  static const char *const cases[] = {"{\"token_env\":\"hidden-1\"}", "{\"token_env\":\"1hidden\"}",
                                      "{\"token_env\":\"hidden=\"}", "{\"token_env\":\"hidden x\"}"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_sink_options options = {0};
    struct tide_err err = {0};
    ck_assert_int_eq(tide_sink_options_parse(cases[i], &options, &err), 0);
    ck_assert_ptr_null(tide_secret_take_variable(&options, "token_env", &err));
    ck_assert_str_eq(err.msg, "option token_env is no name of an environment variable: expected one such as MY_SECRET, "
                              "whose value is the secret");
    tide_sink_options_clear(&options);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_secret_is_what_its_variable_holds, a_variable_without_a_secret_is_named,
                                an_option_names_a_variable, a_secret_given_as_a_name_is_not_repeated, NULL};
  return unit_main("secret", tests);
}
