#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sqlite.h"
#include "model/batch.h"
#include "model/pred.h"
#include "model/pred_rows.h"
#include "raw_vtab.h"
#include "unit.h"

#define TEXT(literal)                                                                                                  \
  { .type = TIDE_VAL_TEXT, .p = (literal), .n = sizeof(literal) - 1 }
#define BLOB(literal)                                                                                                  \
  { .type = TIDE_VAL_BLOB, .p = (literal), .n = sizeof(literal) - 1 }
#define INT(value)                                                                                                     \
  { .type = TIDE_VAL_INT, .i = (value) }
#define REAL(value)                                                                                                    \
  { .type = TIDE_VAL_REAL, .r = (value) }

static const struct tide_val pool[] = {
    {.type = TIDE_VAL_NULL},
    INT(0),
    INT(1),
    INT(5),
    INT(10),
    INT(20260101),
    INT(-1),
    INT(INT64_C(9007199254740993)),
    INT(INT64_C(9007199254740992)),
    INT(INT64_MAX),
    INT(INT64_MIN),
    REAL(0.0),
    REAL(-0.0),
    REAL(1.0),
    REAL(1.5),
    REAL(9.75),
    REAL(9007199254740992.0),
    REAL(9007199254740994.0),
    REAL(9223372036854775808.0),
    REAL(-9223372036854775808.0),
    REAL(INFINITY),
    REAL(-INFINITY),
    TEXT(""),
    TEXT("0"),
    TEXT("1"),
    TEXT("5"),
    TEXT("9"),
    TEXT("10"),
    TEXT("-1"),
    TEXT("01"),
    TEXT("+1"),
    TEXT(" 1"),
    TEXT("1 "),
    TEXT("1.0"),
    TEXT("1e0"),
    TEXT("1e"),
    TEXT(".5"),
    TEXT("-"),
    TEXT("5x"),
    TEXT("x5"),
    TEXT("1\0"),
    TEXT("2026"),
    TEXT("20260101"),
    TEXT("20260101.0"),
    TEXT("2026-01-01"),
    TEXT("2026-01-31"),
    TEXT("2026.5"),
    TEXT("9007199254740993"),
    TEXT("9007199254740992.0"),
    TEXT("9223372036854775808"),
    TEXT(":"),
    TEXT("a"),
    TEXT("abc"),
    TEXT("b"),
    TEXT("\xc3\xa9"),
    BLOB(""),
    BLOB("1"),
    BLOB("abc"),
    BLOB("\xff"),
};
enum { POOL = sizeof pool / sizeof *pool };

static const enum tide_type types[] = {TIDE_TYPE_INTEGER, TIDE_TYPE_REAL, TIDE_TYPE_TEXT, TIDE_TYPE_BLOB,
                                       TIDE_TYPE_ANY};
enum { TYPES = sizeof types / sizeof *types };

static const char *const operators[] = {
    [TIDE_OP_EQ] = "=",  [TIDE_OP_GT] = ">",  [TIDE_OP_GE] = ">=",           [TIDE_OP_LT] = "<",
    [TIDE_OP_LE] = "<=", [TIDE_OP_IS] = "IS", [TIDE_OP_IS_NULL] = "IS NULL", [TIDE_OP_NOT_NULL] = "NOT NULL"};
enum { OPERATORS = sizeof operators / sizeof *operators };

/* Where the right-hand side comes from: a parameter, columns of every affinity, expressions with an affinity of their
 * own, compound SELECTs, and virtual tables whose column has an affinity that was never applied to its values. */
struct side {
  const char *from;       /* what stands in FROM beside the column's table */
  const char *expression; /* the right-hand side */
};

static const struct side sides[] = {
    {"(SELECT 1)", "?1"},
    {"r_none", "y"},
    {"r_blob", "y"},
    {"r_text", "y"},
    {"r_integer", "y"},
    {"r_real", "y"},
    {"r_numeric", "y"},
    {"(SELECT 1)", "CAST(?1 AS TEXT)"},
    {"(SELECT 1)", "CAST(?1 AS NUMERIC)"},
    {"(SELECT 1)", "CAST(?1 AS BLOB)"},
    {"r_none", "+y"},
    {"(SELECT y FROM r_integer WHERE 0 UNION ALL SELECT ?1)", "y"},
    {"(SELECT y FROM r_text WHERE 0 UNION ALL SELECT ?1)", "y"},
    {"raw_integer", "y"},
    {"raw_text", "y"},
};
enum { SIDES = sizeof sides / sizeof *sides };

static const char *const right_tables[][2] = {{"r_none", ""},           {"r_blob", "BLOB"}, {"r_text", "TEXT"},
                                              {"r_integer", "INTEGER"}, {"r_real", "REAL"}, {"r_numeric", "NUMERIC"}};
enum { RIGHT_TABLES = sizeof right_tables / sizeof *right_tables };

struct world {
  sqlite3 *db;
  sqlite3_stmt *insert[TYPES];
  sqlite3_stmt *set[RIGHT_TABLES];
  sqlite3_stmt *match[TYPES][SIDES][OPERATORS];
};

static sqlite3_stmt *prepare(sqlite3 *db, const char *format, ...) {
  sqlite3_stmt *stmt = NULL;
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_free(sql);
  return stmt;
}

static void run(sqlite3 *db, const char *sql) {
  ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
}

/* The comparison stands in the SELECT list, where no index and no other plan can change what it says. The value that
 * is compared comes from the same row: a compound SELECT gives another one when SQLite materializes it. */
static void open_world(struct world *world) {
  char sql[200];
  ck_assert_int_eq(sqlite3_open(":memory:", &world->db), SQLITE_OK);
  sqlite3_create_module(world->db, "raw_integer", &raw_module, "INTEGER");
  sqlite3_create_module(world->db, "raw_text", &raw_module, "TEXT");
  for (int i = 0; i < RIGHT_TABLES; i++) {
    snprintf(sql, sizeof sql, "CREATE TABLE %s(y %s); INSERT INTO %s VALUES(NULL)", right_tables[i][0],
             right_tables[i][1], right_tables[i][0]);
    run(world->db, sql);
    world->set[i] = prepare(world->db, "UPDATE %s SET y = ?1", right_tables[i][0]);
  }
  for (int t = 0; t < TYPES; t++) {
    snprintf(sql, sizeof sql, "CREATE TABLE c%d(x %s)", t, tide_spec_declared_type(types[t]));
    run(world->db, sql);
    world->insert[t] = prepare(world->db, "INSERT INTO c%d VALUES(?1)", t);
    for (int i = 0; i < SIDES; i++) {
      for (int op = 0; op < OPERATORS; op++)
        world->match[t][i][op] =
            prepare(world->db, "SELECT %s, (x %s %s) IS TRUE FROM c%d, %s", sides[i].expression, operators[op],
                    op >= TIDE_OP_IS_NULL ? "" : sides[i].expression, t, sides[i].from);
    }
  }
}

static void close_world(struct world *world) {
  sqlite3_stmt *stmt;
  while ((stmt = sqlite3_next_stmt(world->db, NULL)) != NULL)
    sqlite3_finalize(stmt);
  ck_assert_int_eq(sqlite3_close(world->db), SQLITE_OK);
}

static void bind(sqlite3_stmt *stmt, const struct tide_val *val) {
  if (sqlite3_bind_parameter_count(stmt) == 0)
    return;
  if (val->type == TIDE_VAL_INT)
    sqlite3_bind_int64(stmt, 1, val->i);
  else if (val->type == TIDE_VAL_REAL)
    sqlite3_bind_double(stmt, 1, val->r);
  else if (val->type == TIDE_VAL_TEXT)
    sqlite3_bind_text(stmt, 1, val->p, (int)val->n, SQLITE_STATIC);
  else if (val->type == TIDE_VAL_BLOB)
    sqlite3_bind_blob(stmt, 1, val->p, (int)val->n, SQLITE_STATIC);
  else
    sqlite3_bind_null(stmt, 1);
}

static void run_with(sqlite3_stmt *stmt, const struct tide_val *val) {
  bind(stmt, val);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
  sqlite3_reset(stmt);
}

/* A view, good until the statement is reset. */
static struct tide_val column_value(sqlite3_stmt *stmt) {
  switch (sqlite3_column_type(stmt, 0)) {
  case SQLITE_INTEGER:
    return tide_val_int(sqlite3_column_int64(stmt, 0));
  case SQLITE_FLOAT:
    return tide_val_real(sqlite3_column_double(stmt, 0));
  case SQLITE_TEXT: {
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    return tide_val_text(text, (size_t)sqlite3_column_bytes(stmt, 0));
  }
  case SQLITE_BLOB: {
    const void *blob = sqlite3_column_blob(stmt, 0);
    return tide_val_blob(blob, (size_t)sqlite3_column_bytes(stmt, 0));
  }
  default:
    return tide_val_null();
  }
}

static uint32_t seed = 20260101;
static uint32_t below(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % n;
}

static const struct tide_val *random_value(enum tide_type type) {
  uint8_t stored = tide_spec_stored_type(type);
  for (;;) {
    const struct tide_val *val = &pool[below(POOL)];
    if (stored == TIDE_VAL_NULL || val->type == stored || (val->type == TIDE_VAL_NULL && below(4) == 0))
      return val;
  }
}

static void widen(struct tide_zone *zone, const struct tide_val *val) {
  zone->types |= (uint8_t)(1 << val->type);
  if (val->type == TIDE_VAL_NULL)
    return;
  if (!zone->bounded || tide_val_compare(val, &zone->min) < 0)
    zone->min = *val;
  if (!zone->bounded || tide_val_compare(val, &zone->max) > 0)
    zone->max = *val;
  zone->bounded = true;
}

/* What a writer of zones may do: forget the bounds, cut the lower one short, raise the upper one. */
static void blur(struct tide_zone *zone, char raised[1]) {
  uint32_t how = below(6);
  if (how == 0)
    zone->bounded = false;
  if ((how & 1) != 0 && zone->bounded && zone->min.type >= TIDE_VAL_TEXT)
    zone->min.n -= zone->min.n > 0 ? 1 : 0;
  if ((how & 2) != 0 && zone->bounded && zone->max.type >= TIDE_VAL_TEXT && zone->max.n > 1 &&
      *(const unsigned char *)zone->max.p < 0xff) {
    raised[0] = (char)(*(const unsigned char *)zone->max.p + 1);
    zone->max.p = raised;
    zone->max.n = 1;
  }
}

static void show(const struct tide_val *val, char *text, size_t size) {
  if (val->type == TIDE_VAL_INT)
    snprintf(text, size, "%lld", (long long)val->i);
  else if (val->type == TIDE_VAL_REAL)
    snprintf(text, size, "%.17g", val->r);
  else
    snprintf(text, size, "%s '%.*s'", tide_val_type_name(val->type), (int)val->n,
             val->n > 0 ? (const char *)val->p : "");
}

enum { ROWS_MAX = 8 };

/* What the predicate says of the row when it is asked about all. */
static bool may_match_row(const struct tide_pred *pred, enum tide_type type, const struct tide_batch *rows,
                          size_t row) {
  uint8_t keep[ROWS_MAX];
  memset(keep, 1, sizeof keep);
  const bool any = tide_pred_keep(pred, type, &rows->columns[0], 0, rows->rows, keep);
  ck_assert_int_eq(any, memchr(keep, 1, rows->rows) != NULL);
  return keep[row];
}

/* Asks SQLite about every row, and the predicate, about all at once and each row; returns whether "no" was said of
 * all. */
static bool check(struct world *world, int t, int side, enum tide_op op, const struct tide_val *given,
                  const struct tide_zone *zone, const struct tide_batch *rows) {
  sqlite3_stmt *stmt = world->match[t][side][op];
  bool may_match = true;
  bind(stmt, given);
  for (size_t row = 0; sqlite3_step(stmt) == SQLITE_ROW; row++) {
    struct tide_pred pred = {.op = op, .value = column_value(stmt)};
    may_match = tide_pred_may_match(&pred, types[t], zone);
    if ((may_match && may_match_row(&pred, types[t], rows, row)) || sqlite3_column_int(stmt, 1) == 0)
      continue;
    char low[100];
    char high[100];
    char right[100];
    show(&zone->min, low, sizeof low);
    show(&zone->max, high, sizeof high);
    show(&pred.value, right, sizeof right);
    ck_abort_msg("wrong no: %s column in [%s, %s] %s %s (%s FROM %s)", tide_spec_type_name(types[t]), low, high,
                 operators[op], right, sides[side].expression, sides[side].from);
  }
  ck_assert_int_eq(sqlite3_reset(stmt), SQLITE_OK);
  return !may_match;
}

/* One small set of rows and one right-hand side, by every way and operator. */
static long check_rows(struct world *world, int t) {
  char sql[40];
  char raised[1];
  struct tide_zone zone = {0};
  struct tide_batch rows;
  struct tide_err err = {0};
  ck_assert_int_eq(tide_batch_init(&rows, 1, &err), 0);
  snprintf(sql, sizeof sql, "DELETE FROM c%d", t);
  run(world->db, sql);
  for (uint32_t n = 1 + below(below(8) == 0 ? ROWS_MAX : 3); n > 0; n--) {
    const struct tide_val *val = random_value(types[t]);
    run_with(world->insert[t], val);
    widen(&zone, val);
    ck_assert_int_eq(tide_batch_append(&rows, 1, 0, val, &err), 0);
  }
  blur(&zone, raised);
  const struct tide_val *given = &pool[below(POOL)];
  raw_value = given;
  for (int i = 0; i < RIGHT_TABLES; i++)
    run_with(world->set[i], given);
  long said_no = 0;
  for (int side = 0; side < SIDES; side++) {
    for (int op = 0; op < OPERATORS; op++)
      said_no += check(world, t, side, (enum tide_op)op, given, &zone, &rows);
  }
  tide_batch_clear(&rows);
  return said_no;
}

START_TEST(never_a_wrong_no) {
  struct world world;
  long said_no = 0;
  open_world(&world);
  run(world.db, "BEGIN");
  for (int round = 0; round < 300; round++) {
    for (int t = 0; t < TYPES; t++)
      said_no += check_rows(&world, t);
  }
  run(world.db, "COMMIT");
  close_world(&world);
  ck_assert_int_gt(said_no, 300L * TYPES * SIDES); /* of eight times as many questions */
}
END_TEST

/* ---- "no" where it is worth something ---- */

static bool may(enum tide_type type, struct tide_val min, struct tide_val max, enum tide_op op, struct tide_val value) {
  struct tide_zone zone = {.types = (uint8_t)(1 << min.type | 1 << max.type), .bounded = true, .min = min, .max = max};
  struct tide_pred pred = {.op = op, .value = value};
  return tide_pred_may_match(&pred, type, &zone);
}

static struct tide_val text(const char *bytes) {
  return tide_val_text(bytes, strlen(bytes));
}

/* Operators by letter: = > G(>=) < L(<=) I(IS). Returns those that may match. */
static const char *answers(enum tide_type type, struct tide_val min, struct tide_val max, struct tide_val value) {
  static const char letters[] = {[TIDE_OP_EQ] = '=', [TIDE_OP_GT] = '>', [TIDE_OP_GE] = 'G',
                                 [TIDE_OP_LT] = '<', [TIDE_OP_LE] = 'L', [TIDE_OP_IS] = 'I'};
  static char answer[sizeof letters + 1];
  size_t n = 0;
  for (int op = TIDE_OP_EQ; op <= TIDE_OP_IS; op++) {
    if (may(type, min, max, (enum tide_op)op, value))
      answer[n++] = letters[op];
  }
  answer[n] = '\0';
  return answer;
}

START_TEST(numbers_are_pruned_by_order) {
  struct tide_val min = tide_val_int(10);
  struct tide_val max = tide_val_int(20);
  ck_assert_str_eq(answers(TIDE_TYPE_TIMESTAMP_MS, min, max, tide_val_int(9)), ">G");
  ck_assert_str_eq(answers(TIDE_TYPE_TIMESTAMP_MS, min, max, tide_val_real(9.5)), ">G");
  ck_assert_str_eq(answers(TIDE_TYPE_INTEGER, min, max, tide_val_int(10)), "=>GLI");
  ck_assert_str_eq(answers(TIDE_TYPE_INTEGER, min, max, tide_val_int(15)), "=>G<LI");
  ck_assert_str_eq(answers(TIDE_TYPE_INTEGER, min, max, tide_val_int(20)), "=G<LI");
  ck_assert_str_eq(answers(TIDE_TYPE_ANY, min, max, tide_val_int(21)), "<L");
  ck_assert_str_eq(answers(TIDE_TYPE_REAL, tide_val_real(1.5), tide_val_real(2.5), tide_val_int(3)), "<L");
  min = max = tide_val_int(INT64_C(9007199254740993));
  ck_assert_str_eq(answers(TIDE_TYPE_INTEGER, min, max, tide_val_real(9007199254740992.0)), ">G");
  ck_assert_str_eq(answers(TIDE_TYPE_INTEGER, min, max, tide_val_blob("1", 1)), "<L");
  ck_assert_str_eq(answers(TIDE_TYPE_INTEGER, min, max, tide_val_null()), "");
}
END_TEST

START_TEST(words_are_pruned_by_order) {
  ck_assert_str_eq(answers(TIDE_TYPE_TEXT, text("error"), text("info"), text("debug")), ">G");
  ck_assert_str_eq(answers(TIDE_TYPE_JSON, text("error"), text("info"), text("warn")), "<L");
  ck_assert_str_eq(answers(TIDE_TYPE_TEXT, text("web"), text("web"), text("web")), "=GLI");
  ck_assert_str_eq(answers(TIDE_TYPE_ANY, text("web"), text("web"), text("app")), ">G");
  ck_assert_str_eq(answers(TIDE_TYPE_TEXT, text("web"), text("web"), tide_val_blob("web", 3)), "<L");
  ck_assert_str_eq(answers(TIDE_TYPE_BLOB, tide_val_blob("b", 1), tide_val_blob("d", 1), tide_val_blob("a", 1)), ">G");
  ck_assert_str_eq(answers(TIDE_TYPE_BLOB, tide_val_blob("b", 1), tide_val_blob("d", 1), tide_val_int(5)), ">G");
}
END_TEST

START_TEST(days_are_pruned_by_order) {
  struct tide_val min = text("2026-01-01");
  struct tide_val max = text("2026-01-31");
  ck_assert_str_eq(answers(TIDE_TYPE_TEXT, min, max, text("2025-12-31")), ">G");
  ck_assert_str_eq(answers(TIDE_TYPE_TEXT, min, max, text("2026-02-01")), "<L");
  ck_assert_str_eq(answers(TIDE_TYPE_TEXT, text("2025-12-31"), max, text("2024-01-01")), ">G<L");
  ck_assert_str_eq(answers(TIDE_TYPE_TEXT, text("2025-12-31"), max, text("2027-01-01")), "<L");
}
END_TEST

/* One value that is a plain integer in both orders, such as a partition column. */
START_TEST(one_integer_in_text_is_pruned) {
  struct tide_val day = text("20260101");
  ck_assert_str_eq(answers(TIDE_TYPE_TEXT, day, day, text("20260102")), "<L");
  ck_assert_str_eq(answers(TIDE_TYPE_TEXT, day, day, text("20251231")), ">G");
  ck_assert_str_eq(answers(TIDE_TYPE_TEXT, day, day, text("20260101")), "=GLI");
  ck_assert_str_eq(answers(TIDE_TYPE_TEXT, text("9"), text("9"), text("10")), ">G<L"); /* bytes say <, numbers say > */
  ck_assert_str_eq(answers(TIDE_TYPE_TEXT, text("-1"), text("-1"), text("0")), "<L");
}
END_TEST

START_TEST(nulls_and_types_decide_without_bounds) {
  struct tide_zone nulls = {.types = 1 << TIDE_VAL_NULL};
  struct tide_zone texts = {.types = 1 << TIDE_VAL_TEXT};
  struct tide_zone none = {0};
  struct tide_pred is_null = {.op = TIDE_OP_IS_NULL};
  struct tide_pred not_null = {.op = TIDE_OP_NOT_NULL};
  struct tide_pred is_nothing = {.op = TIDE_OP_IS, .value = tide_val_null()};
  struct tide_pred is_five = {.op = TIDE_OP_IS, .value = tide_val_int(5)};
  struct tide_pred is_blob = {.op = TIDE_OP_EQ, .value = tide_val_blob("a", 1)};
  ck_assert(tide_pred_may_match(&is_null, TIDE_TYPE_ANY, &nulls));
  ck_assert(!tide_pred_may_match(&not_null, TIDE_TYPE_ANY, &nulls));
  ck_assert(tide_pred_may_match(&is_nothing, TIDE_TYPE_ANY, &nulls));
  ck_assert(!tide_pred_may_match(&is_five, TIDE_TYPE_ANY, &nulls));
  ck_assert(!tide_pred_may_match(&is_null, TIDE_TYPE_ANY, &texts));
  ck_assert(tide_pred_may_match(&not_null, TIDE_TYPE_ANY, &texts));
  ck_assert(!tide_pred_may_match(&is_nothing, TIDE_TYPE_ANY, &texts));
  ck_assert(!tide_pred_may_match(&is_blob, TIDE_TYPE_ANY, &texts));
  ck_assert(!tide_pred_may_match(&not_null, TIDE_TYPE_ANY, &none));
  ck_assert(!tide_pred_may_match(&is_null, TIDE_TYPE_ANY, &none));
}
END_TEST

/* A numeric column converts a text that looks like a number, whoever asks. */
START_TEST(texts_prune_numeric_columns) {
  struct tide_val min = tide_val_int(INT64_C(1767225600000000000));
  struct tide_val max = tide_val_int(INT64_C(1767225600000000009));
  ck_assert_str_eq(answers(TIDE_TYPE_TIMESTAMP_NS, min, max, text("1767225600000000010")), "<L");
  ck_assert_str_eq(answers(TIDE_TYPE_TIMESTAMP_NS, min, max, text("1767225600000000000")), "=>GLI");
  ck_assert_str_eq(answers(TIDE_TYPE_TIMESTAMP_NS, min, max, text("2026-01-01")), "<L");
  ck_assert_str_eq(answers(TIDE_TYPE_REAL, tide_val_real(1.5), tide_val_real(2.5), text("-3")), ">G");
}
END_TEST

START_TEST(conversions_are_maybe) {
  ck_assert_str_eq(answers(TIDE_TYPE_TEXT, text("5"), text("5"), tide_val_int(7)), "=>G<LI");
  ck_assert_str_eq(answers(TIDE_TYPE_ANY, text("a"), text("b"), tide_val_int(7)), "=>G<LI");
  ck_assert_str_eq(answers(TIDE_TYPE_INTEGER, tide_val_int(5), tide_val_int(5), text("7.0")), "=>G<LI");
  ck_assert_str_eq(answers(TIDE_TYPE_ANY, tide_val_int(5), text("b"), text("c")), "=>G<LI");
}
END_TEST

/* ---- rows ---- */

/* Which of some values are left, as their places: "024". */
static const char *kept(enum tide_type type, enum tide_op op, struct tide_val value, const struct tide_val *values,
                        size_t n) {
  static char answer[ROWS_MAX + 1];
  struct tide_err err = {0};
  struct tide_batch rows;
  uint8_t keep[ROWS_MAX];
  const struct tide_pred pred = {.op = op, .value = value};
  size_t left = 0;
  ck_assert_int_eq(tide_batch_init(&rows, 1, &err), 0);
  for (size_t i = 0; i < n; i++)
    ck_assert_int_eq(tide_batch_append(&rows, 1, 0, &values[i], &err), 0);
  memset(keep, 1, sizeof keep);
  tide_pred_keep(&pred, type, &rows.columns[0], 0, n, keep);
  for (size_t i = 0; i < n; i++) {
    if (keep[i])
      answer[left++] = (char)('0' + i);
  }
  answer[left] = '\0';
  tide_batch_clear(&rows);
  return answer;
}

START_TEST(integers_that_cannot_match_are_dropped) {
  static const struct tide_val values[] = {INT(5),         INT(7),         {.type = TIDE_VAL_NULL},
                                           INT(INT64_MIN), INT(INT64_MAX), INT(INT64_C(9007199254740993))};
  const enum tide_type type = TIDE_TYPE_INTEGER;
  ck_assert_str_eq(kept(type, TIDE_OP_EQ, tide_val_int(7), values, 6), "1");
  ck_assert_str_eq(kept(type, TIDE_OP_IS, tide_val_real(7), values, 6), "1");
  ck_assert_str_eq(kept(type, TIDE_OP_EQ, tide_val_real(6.5), values, 6), "");
  ck_assert_str_eq(kept(type, TIDE_OP_GT, tide_val_int(5), values, 6), "145");
  ck_assert_str_eq(kept(type, TIDE_OP_GE, tide_val_real(4.5), values, 6), "0145");
  ck_assert_str_eq(kept(type, TIDE_OP_GT, tide_val_int(INT64_MAX), values, 6), "");
  ck_assert_str_eq(kept(type, TIDE_OP_LT, tide_val_int(INT64_MIN), values, 6), "");
  ck_assert_str_eq(kept(type, TIDE_OP_LT, tide_val_real(5.5), values, 6), "03");
  ck_assert_str_eq(kept(type, TIDE_OP_LE, tide_val_real(9007199254740992.0), values, 6), "013");
  ck_assert_str_eq(kept(type, TIDE_OP_LT, tide_val_real(INFINITY), values, 6), "01345");
  ck_assert_str_eq(kept(type, TIDE_OP_IS_NULL, tide_val_null(), values, 6), "2");
  ck_assert_str_eq(kept(type, TIDE_OP_IS, tide_val_null(), values, 6), "2");
  ck_assert_str_eq(kept(type, TIDE_OP_NOT_NULL, tide_val_null(), values, 6), "01345");
  ck_assert_str_eq(kept(type, TIDE_OP_EQ, tide_val_null(), values, 6), "");
  ck_assert_str_eq(kept(type, TIDE_OP_EQ, text("7"), values, 6), "1");
}
END_TEST

START_TEST(reals_that_cannot_match_are_dropped) {
  static const struct tide_val values[] = {REAL(-1.5), REAL(0.0), REAL(2.5), {.type = TIDE_VAL_NULL}, REAL(INFINITY)};
  const enum tide_type type = TIDE_TYPE_REAL;
  ck_assert_str_eq(kept(type, TIDE_OP_EQ, tide_val_real(-0.0), values, 5), "1");
  ck_assert_str_eq(kept(type, TIDE_OP_EQ, tide_val_int(0), values, 5), "1");
  ck_assert_str_eq(kept(type, TIDE_OP_GT, tide_val_real(2.5), values, 5), "4");
  ck_assert_str_eq(kept(type, TIDE_OP_GE, tide_val_real(2.5), values, 5), "24");
  ck_assert_str_eq(kept(type, TIDE_OP_LT, tide_val_int(0), values, 5), "0");
  ck_assert_str_eq(kept(type, TIDE_OP_GT, tide_val_real(INFINITY), values, 5), "");
  ck_assert_str_eq(kept(type, TIDE_OP_LT, tide_val_int(INT64_C(9007199254740993)), values, 5), "012");
}
END_TEST

START_TEST(texts_that_cannot_match_are_dropped) {
  static const struct tide_val values[] = {TEXT("info"), TEXT("error"), TEXT("in"), {.type = TIDE_VAL_NULL},
                                           TEXT(""),     TEXT("7")};
  const enum tide_type type = TIDE_TYPE_TEXT;
  ck_assert_str_eq(kept(type, TIDE_OP_EQ, text("in"), values, 6), "2");
  ck_assert_str_eq(kept(type, TIDE_OP_IS, text("error"), values, 6), "1");
  ck_assert_str_eq(kept(type, TIDE_OP_GT, text("error"), values, 6), "02");
  ck_assert_str_eq(kept(type, TIDE_OP_EQ, text("7"), values, 6), "45"); /* '' begins a number */
  ck_assert_str_eq(kept(TIDE_TYPE_ANY, TIDE_OP_EQ, tide_val_blob("in", 2), values, 6), "");
}
END_TEST

/* Of a dictionary equal texts have one place; one may begin where another does, and be shorter. */
START_TEST(texts_that_share_bytes_are_told_apart) {
  uint8_t tag[] = {TIDE_VAL_TEXT, TIDE_VAL_TEXT, TIDE_VAL_TEXT, TIDE_VAL_BLOB};
  int64_t num[] = {0, 0, 0, 0};
  uint32_t size[] = {2, 3, 2, 2};
  const struct tide_vec vec = {.tag = tag, .num = num, .size = size, .base = (const unsigned char *)"abc", .cap = 4};
  const struct tide_pred pred = {.op = TIDE_OP_LE, .value = TEXT("ab")};
  uint8_t keep[] = {1, 1, 0, 1};
  ck_assert(tide_pred_keep(&pred, TIDE_TYPE_ANY, &vec, 0, 4, keep));
  ck_assert_int_eq(keep[0], 1);
  ck_assert_int_eq(keep[1], 0);
  ck_assert_int_eq(keep[2], 0); /* was none before */
  ck_assert_int_eq(keep[3], 0);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {never_a_wrong_no,
                                numbers_are_pruned_by_order,
                                words_are_pruned_by_order,
                                days_are_pruned_by_order,
                                one_integer_in_text_is_pruned,
                                nulls_and_types_decide_without_bounds,
                                texts_prune_numeric_columns,
                                conversions_are_maybe,
                                integers_that_cannot_match_are_dropped,
                                reals_that_cannot_match_are_dropped,
                                texts_that_cannot_match_are_dropped,
                                texts_that_share_bytes_are_told_apart,
                                NULL};
  return unit_main("pred", tests);
}
