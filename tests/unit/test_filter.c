#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/filter.h"
#include "unit.h"

/* source is the partition column; batches do not hold it. */
enum { TS, SOURCE, LEVEL, VALUE, ATTRS, ANYTHING, SELECT, COLUMNS };

static struct tide_column columns[COLUMNS] = {{.name = "ts", .type = TIDE_TYPE_TIMESTAMP_MS, .partition_at = -1},
                                              {.name = "source", .type = TIDE_TYPE_TEXT, .partition_at = 0},
                                              {.name = "level", .type = TIDE_TYPE_TEXT, .partition_at = -1},
                                              {.name = "va\"lue", .type = TIDE_TYPE_REAL, .partition_at = -1},
                                              {.name = "attrs", .type = TIDE_TYPE_JSON, .partition_at = -1},
                                              {.name = "any", .type = TIDE_TYPE_ANY, .partition_at = -1},
                                              {.name = "select", .type = TIDE_TYPE_INTEGER, .partition_at = -1}};
static size_t partition[] = {SOURCE};
static const struct tide_spec spec = {
    .refs = 1, .ncolumns = COLUMNS, .columns = columns, .npartition = 1, .partition = partition};

static struct tide_val text(const char *string) {
  return tide_val_text(string, strlen(string));
}

/* The same five rows in a batch and, as CREATE TABLE and INSERT, for SQLite itself. */
static const char twin_sql[] = "CREATE TABLE twin(ts INTEGER, source TEXT, level TEXT, \"va\"\"lue\" REAL, attrs TEXT, "
                               "\"any\", \"select\" INTEGER,"
                               " since INTEGER, partition TEXT, ingested_at INTEGER);"
                               "INSERT INTO twin VALUES"
                               "(5,'web','info',0.5,'{\"a\":1}',7,1,1,'source=web',101),"
                               "(NULL,'web',NULL,NULL,NULL,NULL,NULL,2,'source=web',102),"
                               "(-3,'web','ERROR',1.0,'{\"a\":\"x\"}','7',0,3,'source=web',103),"
                               "(9007199254740993,'web','',-2.5,'[]',x'37',2,4,'source=web',104),"
                               "(0,'web','warn',1e300,'{\"a\":null}',7.5,9223372036854775807,5,'source=web',105)";
enum { ROWS = 5 };

static void fill(struct tide_batch *batch) {
  struct tide_err err = {0};
  const struct tide_val rows[ROWS][COLUMNS] = {
      {tide_val_int(5), {0}, text("info"), tide_val_real(0.5), text("{\"a\":1}"), tide_val_int(7), tide_val_int(1)},
      {{0}},
      {tide_val_int(-3), {0}, text("ERROR"), tide_val_real(1), text("{\"a\":\"x\"}"), text("7"), tide_val_int(0)},
      {tide_val_int(9007199254740993),
       {0},
       text(""),
       tide_val_real(-2.5),
       text("[]"),
       tide_val_blob("7", 1),
       tide_val_int(2)},
      {tide_val_int(0),
       {0},
       text("warn"),
       tide_val_real(1e300),
       text("{\"a\":null}"),
       tide_val_real(7.5),
       tide_val_int(INT64_MAX)}};
  *batch = (struct tide_batch){0};
  tide_batch_init(batch, COLUMNS, &err);
  for (int i = 0; i < ROWS; i++)
    tide_batch_append(batch, i + 1, 101 + i, rows[i], &err);
  assert_ok(err);
}

static void run(struct tide_filter *filter, const struct tide_batch *batch, uint8_t *keep, struct tide_err *err) {
  const struct tide_val web = text("web");
  tide_filter_run(filter, batch, "source=web", &web, keep, err);
}

/* Rows that an ordinary table gives for the expression. */
static void twin_keeps(const char *expression, uint8_t *ret_keep) {
  sqlite3 *db = NULL;
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
  ck_assert_int_eq(sqlite3_exec(db, twin_sql, NULL, NULL, NULL), SQLITE_OK);
  char *sql = sqlite3_mprintf("SELECT since FROM twin WHERE (\n%s\n)", expression);
  ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
  memset(ret_keep, 0, ROWS);
  while (sqlite3_step(stmt) == SQLITE_ROW)
    ret_keep[sqlite3_column_int(stmt, 0) - 1] = 1;
  sqlite3_free(sql);
  sqlite3_finalize(stmt);
  sqlite3_close(db);
}

START_TEST(keeps_what_an_ordinary_table_gives) {
  static const char *const expressions[] = {"1",
                                            "0",
                                            "NULL",
                                            "'abc'",
                                            "0.5",
                                            "'1x'",
                                            "x'31'",
                                            "level = 'info'",
                                            "level <> 'info'",
                                            "level IS NOT 'info'",
                                            "level IS NULL",
                                            "NOT level",
                                            "ts = '5'",
                                            "ts > '4'",
                                            "ts = 5.0",
                                            "ts = 9007199254740993",
                                            "ts > 9007199254740992.0",
                                            "\"any\" = 7",
                                            "\"any\" = '7'",
                                            "\"any\" < 8",
                                            "\"va\"\"lue\" = '0.5'",
                                            "\"va\"\"lue\" IN (1, '0.5')",
                                            "\"select\" = 9223372036854775807",
                                            "level LIKE 'e%'",
                                            "level GLOB 'E*'",
                                            "level LIKE '%r' ESCAPE '\\'",
                                            "level IN ('info', 'warn')",
                                            "ts BETWEEN 0 AND 5",
                                            "since > 2 AND partition = 'source=web'",
                                            "since > '2'",
                                            "ingested_at % 2 = 0",
                                            "source = 'web' AND level IS NOT NULL",
                                            "row.level = \"ROW\".level",
                                            "attrs ->> 'a' = 1",
                                            "attrs -> '$.a' IS NOT NULL",
                                            "json_extract(attrs, '$.a') = 'x'",
                                            "json_type(attrs) = 'array'",
                                            "coalesce(level, 'none') = 'none'",
                                            "iif(ts > 0, 1, 0)",
                                            "CASE WHEN ts < 0 THEN level = 'ERROR' ELSE ts = 5 END",
                                            "max(ts, 0) = 5",
                                            "length(level) = 4 COLLATE NOCASE",
                                            "level = 'error' COLLATE NOCASE",
                                            "typeof(\"any\") = 'blob'",
                                            "hex(\"any\") = '37'",
                                            "round(\"va\"\"lue\") = 1",
                                            "CAST(\"any\" AS TEXT) = '7'",
                                            "1 -- a comment",
                                            "1 /* a comment */",
                                            "/* a\ncomment */ since -- )\n = 3",
                                            "(since) IN (1, 3)",
                                            "(since = 1) OR (since = 4)",
                                            "level = ') OR ('"};
  struct tide_batch batch;
  fill(&batch);
  for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
    struct tide_err err = {0};
    uint8_t keep[ROWS] = {1, 1, 1, 1, 1}, expected[ROWS];
    char *qualified = NULL;
    struct tide_filter *filter = tide_filter_create(&spec, expressions[i], &err);
    assert_ok(err);
    run(filter, &batch, keep, &err);
    assert_ok(err);
    qualified = strncmp(expressions[i], "row.", 4) == 0 ? "level = level" : (char *)expressions[i];
    twin_keeps(qualified, expected);
    for (int row = 0; row < ROWS; row++)
      ck_assert_msg(keep[row] == expected[row], "%s on row %d: %d", expressions[i], row + 1, keep[row]);
    tide_filter_destroy(filter);
  }
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(filter_runs_on_any_number_of_batches) {
  struct tide_err err = {0};
  struct tide_batch batch;
  fill(&batch);
  struct tide_filter *filter = tide_filter_create(&spec, "level = 'warn' OR since = 1", &err);
  for (int i = 0; i < 3; i++) {
    uint8_t keep[ROWS] = {1, 1, 1, 1, 1};
    run(filter, &batch, keep, &err);
    assert_ok(err);
    ck_assert_int_eq(memcmp(keep, (const uint8_t[]){1, 0, 0, 0, 1}, ROWS), 0);
  }
  tide_batch_reset(&batch);
  run(filter, &batch, NULL, &err);
  assert_ok(err);
  tide_filter_destroy(filter);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(columns_read_are_known) {
  struct tide_err err = {0};
  struct tide_filter *filter = tide_filter_create(&spec, "LEVEL = 'x' OR \"Any\" IS NULL AND since > 1", &err);
  assert_ok(err);
  for (size_t i = 0; i < COLUMNS; i++)
    ck_assert_int_eq(tide_filter_reads(filter, i), i == LEVEL || i == ANYTHING);
  tide_filter_destroy(filter);
}
END_TEST

/* ---- refused ---- */

static void expect_refused(const char *expression, const char *words) {
  struct tide_err err = {0};
  struct tide_filter *filter = tide_filter_create(&spec, expression, &err);
  char *expected = sqlite3_mprintf("filter \"%s\" %s", expression, words);
  ck_assert_msg(filter == NULL, "%s is accepted", expression);
  ck_assert_str_eq(err.msg, expected);
  ck_assert_int_eq(err.rc, SQLITE_ERROR);
  sqlite3_free(expected);
}

START_TEST(functions_not_listed_are_refused_by_name) {
  static const char *const names[] = {"random()",
                                      "randomblob(4)",
                                      "zeroblob(4)",
                                      "date('now')",
                                      "datetime('now')",
                                      "julianday()",
                                      "strftime('%s')",
                                      "last_insert_rowid()",
                                      "changes()",
                                      "total_changes()",
                                      "sqlite_version()",
                                      "load_extension('x')",
                                      "count(*)",
                                      "count(ts)",
                                      "sum(ts)",
                                      "avg(ts)",
                                      "total(ts)",
                                      "group_concat(level)",
                                      "json_group_array(ts)",
                                      "row_number() OVER ()",
                                      "sqlite_compileoption_get(1)"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char words[256];
    sqlite3_snprintf(sizeof words, words,
                     "uses function %.*s(), which is not allowed: expected one of SQLite's own functions whose result "
                     "follows from its arguments alone",
                     (int)strcspn(names[i], "("), names[i]);
    expect_refused(names[i], words);
  }
  expect_refused("ts > current_timestamp", "uses function current_timestamp(), which is not allowed: expected one of "
                                           "SQLite's own functions whose result follows from its arguments alone");
}
END_TEST

START_TEST(functions_listed_are_known_to_sqlite) {
  static const char *const calls[] = {"abs(1)",
                                      "char(65)",
                                      "coalesce(1,2)",
                                      "format('%d',1)",
                                      "glob('a','a')",
                                      "hex(1)",
                                      "ifnull(1,2)",
                                      "iif(1,2,3)",
                                      "instr('a','a')",
                                      "length('a')",
                                      "like('a','a')",
                                      "likelihood(1,0.5)",
                                      "likely(1)",
                                      "lower('A')",
                                      "ltrim('a')",
                                      "max(1,2)",
                                      "min(1,2)",
                                      "nullif(1,2)",
                                      "printf('%d',1)",
                                      "quote(1)",
                                      "replace('a','b','c')",
                                      "round(1.5)",
                                      "rtrim('a')",
                                      "sign(1)",
                                      "substr('a',1)",
                                      "substring('a',1)",
                                      "trim('a')",
                                      "typeof(1)",
                                      "unicode('a')",
                                      "unlikely(1)",
                                      "upper('a')",
                                      "json('1')",
                                      "json_array(1)",
                                      "json_array_length('[]')",
                                      "json_extract('[]','$')",
                                      "json_insert('[]','$[0]',1)",
                                      "json_object('a',1)",
                                      "json_patch('{}','{}')",
                                      "json_quote(1)",
                                      "json_remove('[]','$[0]')",
                                      "json_replace('[]','$[0]',1)",
                                      "json_set('[]','$[0]',1)",
                                      "json_type('1')",
                                      "json_valid('1')"};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    struct tide_err err = {0};
    struct tide_filter *filter = tide_filter_create(&spec, calls[i], &err);
    ck_assert_msg(filter != NULL, "%s", err.msg);
    tide_filter_destroy(filter);
  }
}
END_TEST

/* Refused by SQLite itself, whose words differ between versions. */
static void expect_uncompiled(const char *expression, const char *words) {
  struct tide_err err = {0};
  char *start = sqlite3_mprintf("filter \"%s\" does not compile: ", expression);
  ck_assert_msg(tide_filter_create(&spec, expression, &err) == NULL, "%s is accepted", expression);
  ck_assert_msg(strncmp(err.msg, start, strlen(start)) == 0, "%s", err.msg);
  ck_assert_msg(strstr(err.msg + strlen(start), words) != NULL, "%s", err.msg);
  ck_assert_int_eq(err.rc, SQLITE_ERROR);
  sqlite3_free(start);
}

START_TEST(what_reaches_beyond_the_row_is_refused) {
  static const char subquery[] = "holds a subquery: expected one expression over one row";
  static const char table[] = "reads table \"sqlite_master\": expected only columns of the dataset";
  static const char rowid[] = "reads ROWID: expected columns of the dataset, or since, partition, ingested_at";
  static const char parameter[] = "has a parameter, which nothing would give a value: expected one expression without";
  expect_refused("(SELECT 1)", subquery);
  expect_refused("EXISTS (SELECT 1)", subquery);
  expect_refused("ts IN (VALUES (1))", subquery);
  expect_refused("ts IN (SELECT since FROM row)", subquery);
  expect_refused("(SELECT name FROM sqlite_master) = 'x'", table);
  expect_uncompiled("ts IN (SELECT 1 UNION SELECT 2)", "compound SELECT");
  expect_uncompiled("ts IN row", "10 columns");
  expect_uncompiled("ts IN (SELECT x FROM other)", "no such table: other");
  expect_uncompiled("max(ts) > 1", "misuse of aggregate");
  expect_refused("rowid = 1", rowid);
  expect_refused("row._rowid_ = 1", rowid);
  expect_refused("ts > ?", parameter);
  expect_refused("ts > ?1", parameter);
  expect_refused("ts > :x", parameter);
}
END_TEST

START_TEST(what_does_not_compile_is_refused_in_sqlites_words) {
  expect_uncompiled("", "near \")\": syntax error");
  expect_uncompiled("  ", "near \")\": syntax error");
  expect_uncompiled("-- nothing", "near \")\": syntax error");
  expect_uncompiled("nowhere = 1", "no such column: nowhere");
  expect_uncompiled("level =", "near \")\": syntax error");
  expect_uncompiled("frob(ts)", "no such function: frob");
  expect_uncompiled("'open", "unrecognized token");
  expect_uncompiled("1 /*", "");
  expect_uncompiled("ts, level", "row value misused");
  expect_uncompiled("ts COLLATE nowhere = 1", "no such collation sequence: nowhere");
}
END_TEST

START_TEST(double_quotes_never_make_a_string) {
  struct tide_err err = {0};
  ck_assert_ptr_null(tide_filter_create(&spec, "level = \"info\"", &err));
  ck_assert_ptr_nonnull(strstr(err.msg, "no such column: "));
}
END_TEST

START_TEST(one_expression_stays_one) {
  static const char *const attempts[] = {"1) LIMIT (1",
                                         "1) OR (1",
                                         "0) OR (1",
                                         "1; DELETE FROM row",
                                         "1); DELETE FROM row; SELECT (1",
                                         "1 /*",
                                         "1 /* * /",
                                         "1) UNION SELECT (1",
                                         "1) UNION ALL SELECT since FROM row WHERE (1",
                                         "1) THEN 1 ELSE 0 END FROM row; SELECT CASE WHEN (1",
                                         "1) THEN 1 ELSE 0 END, (1",
                                         "1) THEN 1 WHEN (1",
                                         "1) GROUP BY (1",
                                         "1) ORDER BY (1",
                                         "1) AND (1) OR (1",
                                         "1 AS INTEGER) OR CAST(1",
                                         "1 AS INTEGER) THEN 1 END, CAST(1",
                                         "1 AS INTEGER",
                                         "1 FROM row",
                                         "1)--",
                                         "1)/*",
                                         ")",
                                         "(",
                                         "1) (1",
                                         "1)\n-- (",
                                         "*",
                                         "row.*",
                                         "SELECT 1",
                                         "SELECT 1 AS INTEGER",
                                         "1) WINDOW w AS (ORDER BY since",
                                         "1)\n) THEN 1 ELSE 0 END FROM \"row\" --"};
  for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
    struct tide_err err = {0};
    struct tide_filter *filter = tide_filter_create(&spec, attempts[i], &err);
    ck_assert_msg(filter == NULL, "%s is accepted", attempts[i]);
    ck_assert_int_eq(err.rc, SQLITE_ERROR);
    ck_assert_int_eq(strncmp(err.msg, "filter \"", 8), 0);
  }
}
END_TEST

/* ---- the process around ---- */

static int calls;
static void host_upper(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  calls++;
  sqlite3_result_text(context, "HOST", -1, SQLITE_STATIC);
}

static int automatic(sqlite3 *db, char **message, const struct sqlite3_api_routines *api) {
  (void)message, (void)api;
  sqlite3_create_function_v2(db, "Upper", 1, SQLITE_UTF8, NULL, host_upper, NULL, NULL, NULL);
  return sqlite3_create_function_v2(db, "writefile", 2, SQLITE_UTF8, NULL, host_upper, NULL, NULL, NULL);
}

START_TEST(functions_of_the_host_are_refused) {
  struct tide_err err = {0};
  struct tide_batch batch;
  uint8_t keep[ROWS] = {1, 1, 1, 1, 1};
  fill(&batch);
  sqlite3_auto_extension((void (*)(void))automatic);
  expect_refused("upper(level) = 'HOST'", "uses function upper(), which this process has replaced by one of its own");
  expect_refused("writefile('x', 'y')",
                 "uses function writefile(), which is not allowed: expected one of SQLite's own functions whose "
                 "result follows from its arguments alone");
  struct tide_filter *filter = tide_filter_create(&spec, "lower(level) = 'error'", &err);
  assert_ok(err);
  run(filter, &batch, keep, &err);
  assert_ok(err);
  ck_assert_int_eq(memcmp(keep, (const uint8_t[]){0, 0, 1, 0, 0}, ROWS), 0);
  ck_assert_int_eq(calls, 0);
  tide_filter_destroy(filter);
  sqlite3_reset_auto_extension();
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(failing_row_is_named) {
  struct tide_err err = {0};
  struct tide_batch batch;
  uint8_t keep[ROWS] = {1, 1, 1, 1, 1};
  fill(&batch);
  struct tide_filter *filter =
      tide_filter_create(&spec, "abs(\"select\" - 1) >= 0 AND abs(-\"select\" - 1) >= 0", &err);
  assert_ok(err);
  run(filter, &batch, keep, &err);
  ck_assert_str_eq(err.msg,
                   "filter \"abs(\"select\" - 1) >= 0 AND abs(-\"select\" - 1) >= 0\" fails on the row with since 5: "
                   "integer overflow");
  tide_err_clear(&err);
  memset(keep, 1, ROWS);
  run(filter, &batch, keep, &err); /* and is still of use */
  ck_assert(tide_err_is_set(&err));
  tide_filter_destroy(filter);

  tide_err_clear(&err);
  filter = tide_filter_create(&spec, "json_extract(level, '$.a') = 1", &err);
  memset(keep, 1, ROWS);
  run(filter, &batch, keep, &err);
  ck_assert_str_eq(err.msg, "filter \"json_extract(level, '$.a') = 1\" fails on the row with since 1: malformed JSON");
  tide_filter_destroy(filter);
  tide_batch_clear(&batch);
}
END_TEST

/* Rows that were deleted, or lie outside a range: what they hold cannot hold up the others. */
START_TEST(rows_left_out_are_not_looked_at) {
  struct tide_err err = {0};
  struct tide_batch batch;
  uint8_t keep[ROWS] = {0, 1, 1, 1, 0}; /* the last would overflow */
  fill(&batch);
  struct tide_filter *filter = tide_filter_create(&spec, "abs(-\"select\" - 1) >= 0 AND level IS NOT ''", &err);
  assert_ok(err);
  run(filter, &batch, keep, &err);
  assert_ok(err);
  ck_assert_int_eq(memcmp(keep, (const uint8_t[]){0, 0, 1, 0, 0}, ROWS), 0);
  memset(keep, 0, ROWS);
  run(filter, &batch, keep, &err);
  assert_ok(err);
  ck_assert_int_eq(memcmp(keep, (const uint8_t[]){0, 0, 0, 0, 0}, ROWS), 0);
  tide_filter_destroy(filter);
  tide_batch_clear(&batch);
}
END_TEST

/* WHERE would test the cheap term first and fail on rows that the first one keeps away from it. */
START_TEST(terms_are_tested_as_written) {
  struct tide_err err = {0};
  struct tide_batch batch;
  uint8_t keep[ROWS] = {1, 1, 1, 1, 1};
  fill(&batch);
  struct tide_filter *filter = tide_filter_create(&spec, "json_valid(level) AND level ->> 'a' = 1", &err);
  run(filter, &batch, keep, &err);
  assert_ok(err);
  ck_assert_int_eq(memcmp(keep, (const uint8_t[]){0, 0, 0, 0, 0}, ROWS), 0);
  tide_filter_destroy(filter);
  tide_batch_clear(&batch);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {keeps_what_an_ordinary_table_gives,
                                filter_runs_on_any_number_of_batches,
                                columns_read_are_known,
                                functions_not_listed_are_refused_by_name,
                                functions_listed_are_known_to_sqlite,
                                what_reaches_beyond_the_row_is_refused,
                                what_does_not_compile_is_refused_in_sqlites_words,
                                double_quotes_never_make_a_string,
                                one_expression_stays_one,
                                functions_of_the_host_are_refused,
                                failing_row_is_named,
                                rows_left_out_are_not_looked_at,
                                terms_are_tested_as_written,
                                NULL};
  return unit_main("filter", tests);
}
