#include <math.h>
#include <string.h>

#include "base/sqlite.h"
#include "model/val.h"
#include "unit.h"

#define TEXT(literal)                                                                                                  \
  { .type = TIDE_VAL_TEXT, .p = (literal), .n = sizeof(literal) - 1 }
#define BLOB(literal)                                                                                                  \
  { .type = TIDE_VAL_BLOB, .p = (literal), .n = sizeof(literal) - 1 }
#define INT(value)                                                                                                     \
  { .type = TIDE_VAL_INT, .i = (value) }
#define REAL(value)                                                                                                    \
  { .type = TIDE_VAL_REAL, .r = (value) }

static const struct tide_val nasty[] = {
    {.type = TIDE_VAL_NULL},
    INT(0),
    INT(1),
    INT(-1),
    INT(INT64_C(9007199254740991)),
    INT(INT64_C(9007199254740992)),
    INT(INT64_C(9007199254740993)),
    INT(INT64_C(9007199254740994)),
    INT(INT64_C(-9007199254740993)),
    INT(INT64_MAX),
    INT(INT64_MAX - 1),
    INT(INT64_C(9223372036854774784)), /* 2^63 - 1024: the greatest real below 2^63 */
    INT(INT64_C(9223372036854774785)),
    INT(INT64_MIN),
    INT(INT64_MIN + 1),
    REAL(0.0),
    REAL(-0.0),
    REAL(0.5),
    REAL(-0.5),
    REAL(1.0),
    REAL(1.5),
    REAL(-1.0),
    REAL(-1.5),
    REAL(4.9406564584124654e-324),
    REAL(-4.9406564584124654e-324),
    REAL(9007199254740991.0),
    REAL(9007199254740992.0),
    REAL(9007199254740994.0),
    REAL(-9007199254740992.0),
    REAL(-9007199254740994.0),
    REAL(9223372036854774784.0),
    REAL(9223372036854775808.0),
    REAL(-9223372036854775808.0),
    REAL(-9223372036854777856.0),
    REAL(1.7976931348623157e308),
    REAL(-1.7976931348623157e308),
    REAL(INFINITY),
    REAL(-INFINITY),
    TEXT(""),
    TEXT("0"),
    TEXT("a"),
    TEXT("A"),
    TEXT("ab"),
    TEXT("a\0b"),
    TEXT("a "),
    TEXT("\xc3\xa9"),
    TEXT("\x7f"),
    BLOB(""),
    BLOB("\0"),
    BLOB("a"),
    BLOB("ab"),
    BLOB("\xff"),
};
enum { NASTY = sizeof nasty / sizeof *nasty };

static void bind(sqlite3_stmt *stmt, int at, const struct tide_val *val) {
  switch (val->type) {
  case TIDE_VAL_INT:
    sqlite3_bind_int64(stmt, at, val->i);
    break;
  case TIDE_VAL_REAL:
    sqlite3_bind_double(stmt, at, val->r);
    break;
  case TIDE_VAL_TEXT:
    sqlite3_bind_text(stmt, at, val->p, (int)val->n, SQLITE_STATIC);
    break;
  case TIDE_VAL_BLOB:
    sqlite3_bind_blob(stmt, at, val->p, (int)val->n, SQLITE_STATIC);
    break;
  default:
    sqlite3_bind_null(stmt, at);
  }
}

/* SQLite's own answers: below by the comparison operators, or for NULLs by ORDER BY, which puts them first. */
static const char compare_sql[] = "SELECT CASE WHEN ?1 IS ?2 THEN 0 WHEN ?1 IS NULL THEN -1 WHEN ?2 IS NULL THEN 1 "
                                  "WHEN ?1 < ?2 THEN -1 WHEN ?1 > ?2 THEN 1 END";

START_TEST(order_is_sqlites) {
  sqlite3 *db = NULL;
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
  ck_assert_int_eq(sqlite3_prepare_v2(db, compare_sql, -1, &stmt, NULL), SQLITE_OK);
  for (size_t i = 0; i < NASTY * NASTY; i++) {
    const struct tide_val *a = &nasty[i / NASTY];
    const struct tide_val *b = &nasty[i % NASTY];
    bind(stmt, 1, a);
    bind(stmt, 2, b);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_type(stmt, 0), SQLITE_INTEGER);
    int expected = sqlite3_column_int(stmt, 0);
    int order = tide_val_compare(a, b);
    ck_assert_msg((order > 0) - (order < 0) == expected, "values %d and %d compare %d, SQLite says %d",
                  (int)(i / NASTY), (int)(i % NASTY), order, expected);
    sqlite3_reset(stmt);
  }
  sqlite3_finalize(stmt);
  ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}
END_TEST

START_TEST(no_bytes_need_no_pointer) {
  struct tide_val empty = tide_val_text(NULL, 0);
  struct tide_val one = tide_val_text("a", 1);
  ck_assert_int_eq(tide_val_compare(&empty, &empty), 0);
  ck_assert_int_lt(tide_val_compare(&empty, &one), 0);
}
END_TEST

START_TEST(types_have_sqlites_names) {
  ck_assert_str_eq(tide_val_type_name(TIDE_VAL_NULL), "NULL");
  ck_assert_str_eq(tide_val_type_name(TIDE_VAL_INT), "INTEGER");
  ck_assert_str_eq(tide_val_type_name(TIDE_VAL_REAL), "REAL");
  ck_assert_str_eq(tide_val_type_name(TIDE_VAL_TEXT), "TEXT");
  ck_assert_str_eq(tide_val_type_name(TIDE_VAL_BLOB), "BLOB");
}
END_TEST

int main(void) {
  const TTest *const tests[] = {order_is_sqlites, no_bytes_need_no_pointer, types_have_sqlites_names, NULL};
  return unit_main("val", tests);
}
