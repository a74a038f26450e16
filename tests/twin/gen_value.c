#include "gen.h"

#include <string.h>

/* ---- values ---- */

static char *gen_integer(void) {
  static const char *const others[] = {"0",   "-1",    "9223372036854775807", "-9223372036854775808", "'12'",  "3.0",
                                       "1e3", "' 7 '", "9007199254740993",    "4294967296",           "' -0 '"};
  if (one_in(4))
    return copy(PICK(others));
  return sqlite3_mprintf("%lld", (long long)(one_in(3) ? (int64_t)pick(1u << 30) * 7919 : (int64_t)pick(10)));
}

static char *gen_real(void) {
  static const char *const others[] = {"0.5",    "-1.25e10",         "1e308",  "'2.5'", "9e999",
                                       "-9e999", "9007199254740993", "1e-300", "3"};
  if (one_in(2))
    return copy(PICK(others));
  return sqlite3_mprintf("%d.%d", (int)pick(100), (int)pick(4) * 25);
}

static char *gen_text(const struct world *world) {
  static const char *const words[] = {"'a'",   "'A'",  "'b'",   "'abc'", "'ab%'",      "''",      "'10'",
                                      "'010'", "' 7'", "'1e3'", "'é'",   "'漢字'",     "'it''s'", "'a'||char(0)||'b'",
                                      "42",    "1.5",  "'zzz'", "'5'",   "'{\"a\":1}'"};
  if (one_in(12))
    return sqlite3_mprintf("printf('%%.*c', %d, '%c')", (int)pick(one_in(8) ? 9000 : 400), 'a' + (int)pick(3));
  if (!world->utf16 && one_in(20))
    return copy("CAST(x'61c328' AS TEXT)");
  return copy(PICK(words));
}

static char *gen_blob(void) {
  static const char *const blobs[] = {"x''", "x'00'", "x'616263'", "x'ff'", "x'3130'", "zeroblob(300)"};
  return copy(PICK(blobs));
}

char *gen_any(const struct world *world) {
  switch (pick(5)) {
  case 0:
    return gen_integer();
  case 1:
    return gen_real();
  case 2:
    return gen_text(world);
  case 3:
    return gen_blob();
  default:
    return copy("NULL");
  }
}

/* Few values, so that partitions are few. */
static char *gen_part(const struct column *column) {
  static const char *const texts[] = {"'web'", "'a/b'", "'..'", "''", "'é'", "'__HIVE_DEFAULT_PARTITION__'", "7"};
  static const char *const integers[] = {"1", "2", "-3", "'4'", "9223372036854775807"};
  if (!column->not_null && one_in(8))
    return copy("NULL");
  return copy(strcmp(column->strict, "TEXT") == 0 ? PICK(texts) : PICK(integers));
}

static char *gen_bad(const struct column *column) {
  if (column->not_null && one_in(2))
    return copy("NULL");
  if (column->in_partition && one_in(2))
    return copy("printf('%.*c', 300, 'p')");
  if (strcmp(column->type, "BOOLEAN") == 0)
    return copy("2");
  if (strcmp(column->strict, "BLOB") == 0)
    return copy(one_in(2) ? "'text'" : "5");
  return strcmp(column->strict, "TEXT") == 0 ? copy("x'00'") : copy(one_in(2) ? "'abc'" : "x'31'");
}

/* A value that most likely no row has, by a number as SQL, which is freed. */
static char *gen_new(const struct column *column, char *number) {
  char *value;
  if (strcmp(column->strict, "TEXT") == 0)
    value = sqlite3_mprintf("'u' || (%z)", number);
  else if (strcmp(column->strict, "BLOB") == 0)
    value = sqlite3_mprintf("CAST('u' || (%z) AS BLOB)", number);
  else if (strcmp(column->strict, "REAL") == 0)
    value = sqlite3_mprintf("(%z) / 4.0", number);
  else
    value = sqlite3_mprintf("(%z)", number);
  return value;
}

static int pick_new_number(void) {
  return 100 + (int)pick(one_in(3) ? 100 : 1u << 20);
}

char *gen_value(struct world *world, const struct column *column, bool bad) {
  if (bad)
    return gen_bad(column);
  if (column->unique && !column->in_partition && !one_in(5))
    return gen_new(column, sqlite3_mprintf("%d", pick_new_number()));
  if (column->in_partition)
    return gen_part(column);
  if (!column->not_null && one_in(6))
    return copy("NULL");
  if (strcmp(column->type, "BOOLEAN") == 0)
    return copy(one_in(2) ? "0" : "1");
  if (strcmp(column->strict, "INTEGER") == 0)
    return gen_integer();
  if (strcmp(column->strict, "REAL") == 0)
    return gen_real();
  if (strcmp(column->strict, "TEXT") == 0)
    return gen_text(world);
  if (strcmp(column->strict, "BLOB") == 0)
    return gen_blob();
  return column->not_null ? gen_text(world) : gen_any(world);
}

char *gen_row(struct world *world, bool bad) {
  sqlite3_str *out = sqlite3_str_new(NULL);
  const size_t bad_at = bad ? pick(world->ncolumns) : COLUMNS_MAX;
  for (size_t i = 0; i < world->ncolumns; i++) {
    char *value = gen_value(world, &world->columns[i], i == bad_at);
    sqlite3_str_appendf(out, "%s%s", i > 0 ? ", " : "", value);
    sqlite3_free(value);
  }
  return sqlite3_str_finish(out);
}

/* ---- sources of rows ---- */

static char *gen_values(struct world *world, bool bad) {
  sqlite3_str *out = sqlite3_str_new(NULL);
  const size_t rows = one_in(2) ? 1 : 1 + pick(5);
  const size_t bad_at = bad ? pick(rows) : rows;
  sqlite3_str_appendall(out, "VALUES");
  for (size_t i = 0; i < rows; i++)
    sqlite3_str_appendf(out, "%s(%z)", i > 0 ? ", " : "", gen_row(world, i == bad_at));
  return sqlite3_str_finish(out);
}

/* A column of a series: a choice of values by the counter i, or one that grows with it. */
static char *gen_series_column(struct world *world, const struct column *column) {
  if (column->unique && !column->in_partition)
    return gen_new(column, sqlite3_mprintf("%d + i / %d", pick_new_number(), one_in(6) ? 2 : 1));
  char *one = gen_value(world, column, false);
  char *two = gen_value(world, column, false);
  char *three = gen_value(world, column, false);
  sqlite3_str *out = sqlite3_str_new(NULL);
  sqlite3_str_appendf(out, "CASE WHEN i %% %d = 0 THEN %z WHEN i %% %d < 2 THEN %z", 2 + (int)pick(5), one,
                      2 + (int)pick(9), two);
  const bool counts = !column->in_partition && strcmp(column->type, "BOOLEAN") != 0;
  if (counts && strcmp(column->strict, "INTEGER") == 0)
    sqlite3_str_appendf(out, " WHEN i %% 3 > 0 THEN i * %d", 1 + (int)pick(1000));
  else if (counts && strcmp(column->strict, "TEXT") == 0)
    sqlite3_str_appendf(out, " WHEN i %% 3 > 0 THEN 'w' || i %% %d", 1 + (int)pick(20));
  sqlite3_str_appendf(out, " ELSE %z END", three);
  return sqlite3_str_finish(out);
}

/* Many rows, out of a counter; the row refused stands anywhere among them. */
static char *gen_series(struct world *world, bool bad) {
  sqlite3_str *out = sqlite3_str_new(NULL);
  const size_t rows = 5 + pick(one_in(4) ? 120 : 30);
  const size_t bad_row = bad ? 1 + pick(rows) : 0;
  const size_t bad_column = pick(world->ncolumns);
  sqlite3_str_appendf(out, "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT %d) SELECT ",
                      (int)rows);
  for (size_t i = 0; i < world->ncolumns; i++) {
    const struct column *column = &world->columns[i];
    char *value = gen_series_column(world, column);
    if (bad && i == bad_column)
      value =
          sqlite3_mprintf("CASE WHEN i = %d THEN %z ELSE %z END", (int)bad_row, gen_value(world, column, true), value);
    sqlite3_str_appendf(out, "%s%z", i > 0 ? ", " : "", value);
  }
  sqlite3_str_appendall(out, " FROM n");
  return sqlite3_str_finish(out);
}

/* Out of the table itself: what is refused then is a NULL, or text where a number is wanted. */
static char *gen_self(struct world *world, bool bad) {
  char *where = gen_where(world, "");
  const size_t limit = pick(30);
  const size_t at = pick(world->ncolumns);
  sqlite3_str *out = sqlite3_str_new(NULL);
  sqlite3_str_appendall(out, "SELECT ");
  for (size_t i = 0; i < world->ncolumns; i++) {
    const char *name = world->columns[i].name;
    if (bad && i == at)
      sqlite3_str_appendf(out, "%sCASE WHEN since %% 7 = 3 THEN %z ELSE \"%w\" END", i > 0 ? ", " : "",
                          gen_value(world, &world->columns[i], true), name);
    else if (world->columns[i].unique && !world->columns[i].in_partition && !one_in(3))
      sqlite3_str_appendf(out, "%s%z", i > 0 ? ", " : "",
                          gen_new(&world->columns[i], sqlite3_mprintf("since + %d", pick_new_number())));
    else
      sqlite3_str_appendf(out, "%s\"%w\"", i > 0 ? ", " : "", name);
  }
  sqlite3_str_appendf(out, " FROM @T WHERE %z ORDER BY since%s LIMIT %d", where, one_in(3) ? " DESC" : "", (int)limit);
  return sqlite3_str_finish(out);
}

char *gen_source(struct world *world, bool bad) {
  switch (pick(6)) {
  case 0:
    return gen_series(world, bad);
  case 1:
    return gen_self(world, bad);
  default:
    return gen_values(world, bad);
  }
}
