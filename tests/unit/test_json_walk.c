#include <string.h>

#include "sink/json_walk.h"
#include "unit.h"

static struct tide_json_slice slice(const char *text) {
  return (struct tide_json_slice){text, strlen(text)};
}

static const char *text_of(struct tide_json_slice slice) {
  static char text[200];
  ck_assert_uint_lt(slice.size, sizeof text);
  memcpy(text, slice.at != NULL ? slice.at : "", slice.size);
  text[slice.size] = '\0';
  return text;
}

static const char *unescaped(const char *string) {
  static char text[200];
  struct tide_err err = {0};
  struct tide_buf out = {0};
  tide_json_put_unescaped(&out, slice(string), &err);
  assert_ok(err);
  memcpy(text, out.len > 0 ? (char *)out.data : "", out.len);
  text[out.len] = '\0';
  tide_buf_clear(&out);
  return text;
}

START_TEST(members_come_in_their_order) {
  static const char object[] =
      "{\"a\":1,\"b\":{\"c\":[1,{\"d\":\"}]\"}],\"e\":{}},\"q\\\"\":\"x\\\\\\\"],\",\"f\":null,\"g\":[],\"h\":-2.5e3}";
  static const char *const expected[][2] = {{"a", "1"},
                                            {"b", "{\"c\":[1,{\"d\":\"}]\"}],\"e\":{}}"},
                                            {"q\\\"", "\"x\\\\\\\"],\""},
                                            {"f", "null"},
                                            {"g", "[]"},
                                            {"h", "-2.5e3"}};
  struct tide_json_walk walk = tide_json_walk_into(slice(object));
  struct tide_json_slice name, value;
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    ck_assert(tide_json_walk_next(&walk, &name, &value));
    ck_assert_str_eq(text_of(name), expected[i][0]);
    ck_assert_str_eq(text_of(value), expected[i][1]);
  }
  ck_assert(!tide_json_walk_next(&walk, &name, &value));
}
END_TEST

START_TEST(elements_have_no_names) {
  struct tide_json_walk walk = tide_json_walk_into(slice("[\"a,b\",[1,2],{\"x\":3},true]"));
  static const char *const expected[] = {"\"a,b\"", "[1,2]", "{\"x\":3}", "true"};
  struct tide_json_slice name, value;
  for (size_t i = 0; i < 4; i++) {
    ck_assert(tide_json_walk_next(&walk, &name, &value));
    ck_assert_uint_eq(name.size, 0);
    ck_assert_str_eq(text_of(value), expected[i]);
  }
  ck_assert(!tide_json_walk_next(&walk, &name, &value));
}
END_TEST

START_TEST(nothing_to_walk) {
  static const char *const texts[] = {"{}", "[]", "5", "\"[1]\"", "null", ""};
  struct tide_json_slice name, value;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct tide_json_walk walk = tide_json_walk_into(slice(texts[i]));
    ck_assert(!tide_json_walk_next(&walk, &name, &value));
  }
}
END_TEST

START_TEST(a_member_is_found_by_name) {
  const struct tide_json_slice object = slice("{\"ab\":1,\"a\":2,\"n\":null,\"o\":{\"a\":3}}");
  ck_assert_str_eq(text_of(tide_json_member(object, "a")), "2");
  ck_assert_str_eq(text_of(tide_json_member(tide_json_member(object, "o"), "a")), "3");
  ck_assert_uint_eq(tide_json_member(object, "n").size, 0);
  ck_assert_uint_eq(tide_json_member(object, "b").size, 0);
  ck_assert_uint_eq(tide_json_member(slice("[1]"), "a").size, 0);
  ck_assert_uint_eq(tide_json_member((struct tide_json_slice){0}, "a").size, 0);
}
END_TEST

START_TEST(integers_are_exact_or_none) {
  static const struct {
    const char *text;
    bool is;
    int64_t value;
  } cases[] = {{"0", true, 0},
               {"-0", true, 0},
               {"42", true, 42},
               {"9223372036854775807", true, INT64_MAX},
               {"-9223372036854775808", true, INT64_MIN},
               {"9223372036854775808", false, 0},
               {"-9223372036854775809", false, 0},
               {"92233720368547758070", false, 0},
               {"1.0", false, 0},
               {"1e3", false, 0},
               {"\"1\"", false, 0},
               {"null", false, 0},
               {"-", false, 0},
               {"", false, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t value = 77;
    ck_assert_msg(tide_json_integer(slice(cases[i].text), &value) == cases[i].is, "%s", cases[i].text);
    ck_assert_int_eq(value, cases[i].is ? cases[i].value : 77);
  }
}
END_TEST

/* Expected: Python's json.loads. */
START_TEST(strings_are_unescaped) {
  ck_assert_str_eq(unescaped("\"\""), "");
  ck_assert_str_eq(unescaped("\"plain\""), "plain");
  ck_assert_str_eq(unescaped("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), "\"\\/\b\f\n\r\t");
  ck_assert_str_eq(unescaped("\"\\u0041\\u00e9\\u20AC\\ud83c\\udf0a!\""), "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\x8a!");
  ck_assert_str_eq(unescaped("\"h\xc3\xa9\""), "h\xc3\xa9");
  ck_assert_str_eq(unescaped("5"), "");
}
END_TEST

int main(void) {
  const TTest *const tests[] = {members_come_in_their_order,
                                elements_have_no_names,
                                nothing_to_walk,
                                a_member_is_found_by_name,
                                integers_are_exact_or_none,
                                strings_are_unescaped,
                                NULL};
  return unit_main("json_walk", tests);
}
