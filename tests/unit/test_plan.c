#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "engine/plan.h"
#include "model/spec_parse.h"
#include "unit.h"

/* ---- since: what each comparison leaves, worked out by hand ---- */

struct bound {
  enum tide_op op;
  struct tide_val value;
  int64_t above;
  int64_t upto;
  bool empty;
};

static void check_bounds(const struct bound *bounds, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct tide_scan_request request;
    tide_scan_request_init(&request);
    tide_scan_request_since(&request, bounds[i].op, &bounds[i].value);
    ck_assert_msg(request.empty == bounds[i].empty, "case %zu: empty is %d", i, request.empty);
    if (!request.empty)
      ck_assert_msg(request.above == bounds[i].above && request.upto == bounds[i].upto,
                    "case %zu: above %" PRId64 ", upto %" PRId64, i, request.above, request.upto);
    tide_scan_request_clear(&request);
  }
}
#define CHECK_BOUNDS(list) check_bounds(list, sizeof(list) / sizeof *(list))

#define INT(value)                                                                                                     \
  { .type = TIDE_VAL_INT, .i = (value) }
#define REAL(value)                                                                                                    \
  { .type = TIDE_VAL_REAL, .r = (value) }
#define TEXT(text)                                                                                                     \
  { .type = TIDE_VAL_TEXT, .p = (text), .n = sizeof(text) - 1 }
#define BLOB(bytes)                                                                                                    \
  { .type = TIDE_VAL_BLOB, .p = (bytes), .n = sizeof(bytes) - 1 }
#define SQL_NULL                                                                                                       \
  { .type = TIDE_VAL_NULL }

START_TEST(integers_bound_exactly) {
  static const struct bound bounds[] = {{TIDE_OP_GT, INT(150), 150, INT64_MAX, false},
                                        {TIDE_OP_GE, INT(150), 149, INT64_MAX, false},
                                        {TIDE_OP_LT, INT(150), 0, 149, false},
                                        {TIDE_OP_LE, INT(150), 0, 150, false},
                                        {TIDE_OP_EQ, INT(150), 149, 150, false},
                                        {TIDE_OP_IS, INT(150), 149, 150, false},
                                        {TIDE_OP_GT, INT(-1), 0, INT64_MAX, false},
                                        {TIDE_OP_GE, INT(0), 0, INT64_MAX, false},
                                        {TIDE_OP_LT, INT(1), 0, 0, false},
                                        {TIDE_OP_LE, INT(-5), 0, -5, false},
                                        {TIDE_OP_NOT_NULL, SQL_NULL, 0, INT64_MAX, false}};
  CHECK_BOUNDS(bounds);
}
END_TEST

START_TEST(integers_at_the_ends_do_not_overflow) {
  static const struct bound bounds[] = {{TIDE_OP_GT, INT(INT64_MAX), INT64_MAX, INT64_MAX, false},
                                        {TIDE_OP_GE, INT(INT64_MAX), INT64_MAX - 1, INT64_MAX, false},
                                        {TIDE_OP_LT, INT(INT64_MAX), 0, INT64_MAX - 1, false},
                                        {TIDE_OP_LE, INT(INT64_MAX), 0, INT64_MAX, false},
                                        {TIDE_OP_EQ, INT(INT64_MAX), INT64_MAX - 1, INT64_MAX, false},
                                        {TIDE_OP_GT, INT(INT64_MIN), 0, INT64_MAX, false},
                                        {TIDE_OP_GE, INT(INT64_MIN), 0, INT64_MAX, false},
                                        {TIDE_OP_LT, INT(INT64_MIN), 0, INT64_MIN, false},
                                        {TIDE_OP_LE, INT(INT64_MIN), 0, INT64_MIN, false},
                                        {TIDE_OP_EQ, INT(INT64_MIN), 0, INT64_MIN, false}};
  CHECK_BOUNDS(bounds);
}
END_TEST

START_TEST(reals_bound_at_the_whole_number_beside_them) {
  static const struct bound bounds[] = {{TIDE_OP_GT, REAL(150.5), 150, INT64_MAX, false},
                                        {TIDE_OP_GE, REAL(150.5), 150, INT64_MAX, false},
                                        {TIDE_OP_LT, REAL(150.5), 0, 150, false},
                                        {TIDE_OP_LE, REAL(150.5), 0, 150, false},
                                        {TIDE_OP_GT, REAL(150.0), 150, INT64_MAX, false},
                                        {TIDE_OP_GE, REAL(150.0), 149, INT64_MAX, false},
                                        {TIDE_OP_LT, REAL(150.0), 0, 149, false},
                                        {TIDE_OP_LE, REAL(150.0), 0, 150, false},
                                        {TIDE_OP_EQ, REAL(150.0), 149, 150, false},
                                        {TIDE_OP_EQ, REAL(150.5), 0, 0, true},
                                        {TIDE_OP_IS, REAL(150.5), 0, 0, true},
                                        {TIDE_OP_GT, REAL(-0.5), 0, INT64_MAX, false},
                                        {TIDE_OP_GE, REAL(-0.5), 0, INT64_MAX, false},
                                        {TIDE_OP_LT, REAL(-0.5), 0, -1, false},
                                        {TIDE_OP_LE, REAL(-0.5), 0, -1, false},
                                        {TIDE_OP_EQ, REAL(-0.5), 0, 0, true}};
  CHECK_BOUNDS(bounds);
}
END_TEST

START_TEST(reals_beyond_every_integer_are_all_or_nothing) {
  static const double big[] = {9.3e18, 9223372036854775808.0, 1e308, 1e308 * 10};
  for (size_t i = 0; i < sizeof big / sizeof *big; i++) {
    const struct bound bounds[] = {{TIDE_OP_GT, REAL(big[i]), 0, 0, true},
                                   {TIDE_OP_GE, REAL(big[i]), 0, 0, true},
                                   {TIDE_OP_EQ, REAL(big[i]), 0, 0, true},
                                   {TIDE_OP_LT, REAL(big[i]), 0, INT64_MAX, false},
                                   {TIDE_OP_LE, REAL(big[i]), 0, INT64_MAX, false},
                                   {TIDE_OP_LT, REAL(-2 * big[i]), 0, 0, true},
                                   {TIDE_OP_LE, REAL(-2 * big[i]), 0, 0, true},
                                   {TIDE_OP_IS, REAL(-2 * big[i]), 0, 0, true},
                                   {TIDE_OP_GT, REAL(-2 * big[i]), 0, INT64_MAX, false},
                                   {TIDE_OP_GE, REAL(-2 * big[i]), 0, INT64_MAX, false}};
    CHECK_BOUNDS(bounds);
  }
}
END_TEST

START_TEST(text_and_blob_are_above_every_number) {
  static const struct bound bounds[] = {{TIDE_OP_GT, TEXT("abc"), 0, 0, true},
                                        {TIDE_OP_GE, TEXT(""), 0, 0, true},
                                        {TIDE_OP_EQ, TEXT("abc"), 0, 0, true},
                                        {TIDE_OP_IS, BLOB("1"), 0, 0, true},
                                        {TIDE_OP_LT, TEXT("abc"), 0, INT64_MAX, false},
                                        {TIDE_OP_LE, BLOB("1"), 0, INT64_MAX, false},
                                        {TIDE_OP_GT, BLOB("1"), 0, 0, true},
                                        {TIDE_OP_LT, TEXT(""), 0, INT64_MAX, false}};
  CHECK_BOUNDS(bounds);
}
END_TEST

START_TEST(nothing_compares_with_null) {
  for (int op = TIDE_OP_EQ; op <= TIDE_OP_IS_NULL; op++) {
    const struct bound bound = {(enum tide_op)op, SQL_NULL, 0, 0, true};
    check_bounds(&bound, 1);
  }
}
END_TEST

/* ---- since: SQLite says which rows match, and none of them may be left out ---- */

static const int64_t numbers[] = {1,
                                  2,
                                  149,
                                  150,
                                  151,
                                  INT64_C(9007199254740991),
                                  INT64_C(9007199254740992),
                                  INT64_C(9007199254740993),
                                  INT64_C(9007199254740994),
                                  INT64_C(9007199254740995),
                                  INT64_C(9007199254740996),
                                  INT64_C(9223372036854774784),
                                  INT64_C(9223372036854774785),
                                  INT64_MAX - 1,
                                  INT64_MAX};
static const char *const right_sides[] = {"1",
                                          "0",
                                          "-1",
                                          "150",
                                          "150.5",
                                          "149.999",
                                          "-0.5",
                                          "9007199254740992.0",
                                          "9007199254740994.0",
                                          "9007199254740996.0",
                                          "9007199254740993",
                                          "9223372036854774784.0",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "9223372036854775807.0",
                                          "-9223372036854775808.0",
                                          "9.3e18",
                                          "-9.3e18",
                                          "9e999",
                                          "-9e999",
                                          "'abc'",
                                          "''",
                                          "x'31'",
                                          "NULL"};

static struct tide_val value_of(sqlite3_stmt *stmt, int column) {
  switch (sqlite3_column_type(stmt, column)) {
  case SQLITE_INTEGER:
    return tide_val_int(sqlite3_column_int64(stmt, column));
  case SQLITE_FLOAT:
    return tide_val_real(sqlite3_column_double(stmt, column));
  case SQLITE_TEXT:
    return tide_val_text((const char *)sqlite3_column_text(stmt, column), (size_t)sqlite3_column_bytes(stmt, column));
  case SQLITE_BLOB:
    return tide_val_blob(sqlite3_column_blob(stmt, column), (size_t)sqlite3_column_bytes(stmt, column));
  default:
    return tide_val_null();
  }
}

static void check_against_sqlite(sqlite3 *db, const char *op_sql, enum tide_op op, const char *right, int64_t number) {
  sqlite3_stmt *stmt = NULL;
  struct tide_scan_request request;
  char *sql = sqlite3_mprintf("SELECT since %s %s, %s FROM (SELECT CAST(%lld AS INTEGER) AS since)", op_sql, right,
                              right, (long long)number);
  ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  const struct tide_val value = value_of(stmt, 1);
  tide_scan_request_init(&request);
  tide_scan_request_since(&request, op, &value);
  const bool kept = !request.empty && request.above < number && number <= request.upto;
  /* The bounds are not only wide enough: they are exact. */
  ck_assert_msg(kept == (sqlite3_column_int(stmt, 0) == 1), "%s with %" PRId64 ": kept %d", sql, number, kept);
  tide_scan_request_clear(&request);
  sqlite3_finalize(stmt);
  sqlite3_free(sql);
}

START_TEST(bounds_agree_with_sqlite) {
  static const struct {
    const char *sql;
    enum tide_op op;
  } ops[] = {{"=", TIDE_OP_EQ}, {">", TIDE_OP_GT},  {">=", TIDE_OP_GE},
             {"<", TIDE_OP_LT}, {"<=", TIDE_OP_LE}, {"IS", TIDE_OP_IS}};
  sqlite3 *db = NULL;
  ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
  for (size_t op = 0; op < sizeof ops / sizeof *ops; op++) {
    for (size_t right = 0; right < sizeof right_sides / sizeof *right_sides; right++) {
      for (size_t number = 0; number < sizeof numbers / sizeof *numbers; number++)
        check_against_sqlite(db, ops[op].sql, ops[op].op, right_sides[right], numbers[number]);
    }
  }
  sqlite3_close(db);
}
END_TEST

/* ---- idxStr ---- */

static struct tide_spec *make_spec(void) {
  static const char *const columns[] = {"a TEXT", "b INTEGER", "partition_by=a"};
  struct tide_err err = {0};
  struct tide_options options;
  struct tide_spec *spec = tide_spec_parse(3, columns, &options, &err);
  assert_ok(err);
  return spec;
}

START_TEST(terms_come_back_as_they_were_put) {
  static const struct tide_plan_constraint constraints[] = {{TIDE_PLAN_SINCE, TIDE_OP_GT, false},
                                                            {1, TIDE_OP_LE, false},
                                                            {TIDE_PLAN_PARTITION, TIDE_OP_EQ, false},
                                                            {TIDE_PLAN_SINCE, TIDE_OP_LT, false}};
  static const struct tide_val values[] = {INT(10), REAL(2.5), TEXT("a=x"), INT(20)};
  struct tide_err err = {0};
  struct tide_buf idx = {0};
  struct tide_scan_request request;
  struct tide_spec *spec = make_spec();
  tide_buf_put_u8(&idx, 'O', &err);
  for (size_t i = 0; i < 4; i++)
    tide_plan_put_term(&idx, &constraints[i], &err);
  tide_buf_put_u8(&idx, 0, &err);
  ck_assert_str_eq((const char *)idx.data, "OSgC1mPeSl");
  ck_assert_int_eq(tide_plan_request((const char *)idx.data, values, 4, spec, &request, &err), 0);
  ck_assert(request.order == TIDE_SCAN_UPWARDS && !request.empty);
  ck_assert_int_eq(request.above, 10);
  ck_assert_int_eq(request.upto, 19);
  ck_assert_uint_eq(request.npreds, 1);
  ck_assert_int_eq(request.preds[0].column, 1);
  ck_assert_int_eq(request.preds[0].op, TIDE_OP_LE);
  ck_assert_double_eq(request.preds[0].value.r, 2.5);
  ck_assert_uint_eq(request.partition_size, 3);
  ck_assert_mem_eq(request.partition, "a=x", 3);
  tide_scan_request_clear(&request);
  tide_buf_clear(&idx);
  tide_spec_unref(spec);
}
END_TEST

START_TEST(a_plan_says_what_each_value_is_for) {
  static const char *const plans[] = {"C12gSlLePiC3oSe", "OC12gSlLePiC3oSe", "DC12gSlLePiC3oSe"};
  for (size_t i = 0; i < 3; i++) {
    for (size_t term = 0; term < 8; term++) {
      ck_assert_int_eq(tide_plan_is_since(plans[i], term), term == 1 || term == 5);
      ck_assert_int_eq(tide_plan_is_list(plans[i], term), term == 2);
    }
  }
}
END_TEST

START_TEST(other_strings_are_no_plan) {
  static const char *const wrong[] = {"", "S", "Sx", "X", "C", "C1", "C1z", "OSgQ", "SgS"};
  static const struct tide_val values[] = {INT(1), INT(1)};
  struct tide_spec *spec = make_spec();
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct tide_err err = {0};
    struct tide_scan_request request;
    ck_assert_msg(tide_plan_request(wrong[i], values, 2, spec, &request, &err) == SQLITE_ERROR, "\"%s\" was taken",
                  wrong[i]);
    ck_assert_ptr_nonnull(strstr(err.msg, "is not one of Tidemark's"));
  }
  tide_spec_unref(spec);
}
END_TEST

START_TEST(a_column_that_is_not_there_is_left_to_sqlite) {
  static const struct tide_val value = INT(1);
  struct tide_err err = {0};
  struct tide_scan_request request;
  struct tide_spec *spec = make_spec();
  ck_assert_int_eq(tide_plan_request("C2e", &value, 1, spec, &request, &err), 0);
  ck_assert_uint_eq(request.npreds, 0);
  ck_assert(!request.empty);
  tide_scan_request_clear(&request);
  tide_spec_unref(spec);
}
END_TEST

START_TEST(two_partitions_at_once_are_none) {
  struct tide_err err = {0};
  struct tide_scan_request request;
  struct tide_spec *spec = make_spec();
  const struct tide_val same[] = {TEXT("a=x"), TEXT("a=x")};
  const struct tide_val other[] = {TEXT("a=x"), TEXT("a=y")};
  const struct tide_val null[] = {SQL_NULL};
  ck_assert_int_eq(tide_plan_request("PePe", same, 2, spec, &request, &err), 0);
  ck_assert(!request.empty);
  tide_scan_request_clear(&request);
  ck_assert_int_eq(tide_plan_request("PePe", other, 2, spec, &request, &err), 0);
  ck_assert(request.empty);
  tide_scan_request_clear(&request);
  ck_assert_int_eq(tide_plan_request("Pi", null, 1, spec, &request, &err), 0);
  ck_assert(request.empty);
  tide_scan_request_clear(&request);
  tide_spec_unref(spec);
}
END_TEST

static int64_t *list_of(const int64_t *wanted, size_t count) {
  struct tide_err err = {0};
  int64_t *list = tide_alloc(count * sizeof *list, &err);
  memcpy(list, wanted, count * sizeof *list);
  return list;
}

START_TEST(a_list_is_sorted_and_narrows_the_range) {
  static const int64_t wanted[] = {40, 7, 41, 7, -3, 40};
  struct tide_err err = {0};
  struct tide_scan_request request;
  struct tide_spec *spec = make_spec();
  const struct tide_val values[] = {SQL_NULL, INT(40)};
  ck_assert_int_eq(tide_plan_request("LeSm", values, 2, spec, &request, &err), 0);
  ck_assert(!request.empty && request.npreds == 0);
  tide_scan_request_list(&request, list_of(wanted, 6), 6);
  ck_assert_int_eq(request.above, 0);
  ck_assert_int_eq(request.upto, 40);
  ck_assert_uint_eq(request.list_size, 4);
  ck_assert_int_eq(tide_scan_request_next(&request, -10), -3);
  ck_assert_int_eq(tide_scan_request_next(&request, -3), 7);
  ck_assert_int_eq(tide_scan_request_next(&request, 6), 7);
  ck_assert_int_eq(tide_scan_request_next(&request, 7), 40);
  ck_assert_int_eq(tide_scan_request_next(&request, 41), INT64_MAX);
  tide_scan_request_list(&request, list_of(wanted, 1), 1); /* a second one narrows nothing */
  ck_assert_uint_eq(request.list_size, 4);
  tide_scan_request_clear(&request);
  tide_scan_request_init(&request);
  ck_assert_int_eq(tide_scan_request_next(&request, 7), 8);
  ck_assert_int_eq(tide_scan_request_next(&request, INT64_MAX), INT64_MAX);
  tide_scan_request_list(&request, NULL, 0);
  ck_assert(request.empty);
  tide_scan_request_clear(&request);
  tide_spec_unref(spec);
}
END_TEST

/* ---- choosing ---- */

START_TEST(a_list_may_give_many_rows) {
  static const struct tide_plan_constraint list = {TIDE_PLAN_SINCE, TIDE_OP_EQ, true};
  static const struct tide_plan_constraint range = {TIDE_PLAN_SINCE, TIDE_OP_GT, false};
  struct tide_err err = {0};
  struct tide_buf idx = {0};
  const struct tide_plan_cost cost = tide_plan_estimate(&list, 1, 1000000);
  ck_assert(!cost.unique && cost.rows > 1);
  ck_assert_double_lt(cost.cost, tide_plan_estimate(&range, 1, 1000000).cost);
  tide_plan_put_term(&idx, &list, &err);
  tide_buf_put_u8(&idx, 0, &err);
  ck_assert_str_eq((const char *)idx.data, "Le");
  tide_buf_clear(&idx);
}
END_TEST

START_TEST(only_equality_of_a_partition_is_taken) {
  for (int op = TIDE_OP_EQ; op <= TIDE_OP_NOT_NULL; op++) {
    const struct tide_plan_constraint since = {TIDE_PLAN_SINCE, (enum tide_op)op, false};
    const struct tide_plan_constraint partition = {TIDE_PLAN_PARTITION, (enum tide_op)op, false};
    const struct tide_plan_constraint other = {TIDE_PLAN_OTHER, (enum tide_op)op, false};
    ck_assert(tide_plan_takes(&since));
    ck_assert(tide_plan_takes(&partition) == (op == TIDE_OP_EQ || op == TIDE_OP_IS));
    ck_assert(!tide_plan_takes(&other));
  }
}
END_TEST

START_TEST(each_constraint_lowers_the_cost) {
  static const struct tide_plan_constraint constraints[] = {{1, TIDE_OP_GT, false},
                                                            {1, TIDE_OP_EQ, false},
                                                            {TIDE_PLAN_PARTITION, TIDE_OP_EQ, false},
                                                            {TIDE_PLAN_SINCE, TIDE_OP_GT, false},
                                                            {TIDE_PLAN_SINCE, TIDE_OP_EQ, false}};
  struct tide_plan_cost before = tide_plan_estimate(constraints, 0, 1000000);
  ck_assert_int_eq(before.rows, 1000000);
  for (size_t i = 1; i <= 5; i++) {
    const struct tide_plan_cost cost = tide_plan_estimate(constraints, i, 1000000);
    ck_assert_double_lt(cost.cost, before.cost);
    ck_assert_int_le(cost.rows, before.rows);
    ck_assert(cost.unique == (i == 5));
    before = cost;
  }
  ck_assert_int_eq(before.rows, 1);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {integers_bound_exactly,
                                integers_at_the_ends_do_not_overflow,
                                reals_bound_at_the_whole_number_beside_them,
                                reals_beyond_every_integer_are_all_or_nothing,
                                text_and_blob_are_above_every_number,
                                nothing_compares_with_null,
                                bounds_agree_with_sqlite,
                                terms_come_back_as_they_were_put,
                                a_plan_says_what_each_value_is_for,
                                other_strings_are_no_plan,
                                a_column_that_is_not_there_is_left_to_sqlite,
                                two_partitions_at_once_are_none,
                                a_list_is_sorted_and_narrows_the_range,
                                a_list_may_give_many_rows,
                                only_equality_of_a_partition_is_taken,
                                each_constraint_lowers_the_cost,
                                NULL};
  return unit_main("plan", tests);
}
