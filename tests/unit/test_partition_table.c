/* The words of partition tables. */
#include <stdio.h>
#include <string.h>

#include "model/partition_table.h"
#include "model/spec_parse.h"
#include "unit.h"

/* "schema.dataset column=constant ..." of up to three arguments, or the error's message. */
static const char *parsed(const char *const args[3]) {
  int argc = 0;
  while (argc < 3 && args[argc] != NULL)
    argc++;
  static char out[600];
  struct tide_err err = {0};
  struct tide_partition_table table = {0};
  if (tide_partition_table_parse(argc, args, &table, &err) != 0) {
    ck_assert_ptr_null(table.dataset);
    snprintf(out, sizeof out, "%s", err.msg);
    return out;
  }
  size_t used = (size_t)snprintf(out, sizeof out, "%s.%s", table.schema != NULL ? table.schema : "-", table.dataset);
  for (size_t i = 0; i < table.nvalues; i++)
    used += (size_t)snprintf(out + used, sizeof out - used, " %s=%s", table.values[i].column, table.values[i].constant);
  tide_partition_table_clear(&table);
  return out;
}

START_TEST(words_are_read_as_they_are_written) {
  static const struct {
    const char *args[3];
    const char *expected;
  } cases[] = {{{"logs"}, "-.logs"},
               {{" \"my logs\" -- it"}, "-.my logs"},
               {{"[a.b]"}, "-.a.b"},
               {{"main . `x`"}, "main.x"},
               {{"\"a\"\"b\".c", "d=1", "\"e f\" = 'it''s'"}, "a\"b.c d=1 e f='it''s'"},
               {{"logs", "a=-1.5e-3", "b=/* none */NULL"}, "-.logs a=-1.5e-3 b=NULL"},
               {{"logs", "A='='", "b=0x10"}, "-.logs A='=' b=0x10"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_assert_str_eq(parsed(cases[i].args), cases[i].expected);
  }
}
END_TEST

START_TEST(words_that_are_none_are_named) {
  static const struct {
    const char *args[3];
    const char *expected;
  } cases[] = {{{""}, "expected the name of a dataset"},
               {{"'logs'"}, "expected the name of a dataset"},
               {{"7"}, "expected the name of a dataset"},
               {{"\"logs"}, "is not closed"},
               {{"main."}, "expected the name of a dataset behind its schema's, found the end"},
               {{"a.b.c"}, "expected nothing behind the dataset's name"},
               {{"logs", "1=1"}, "expected column=constant"},
               {{"logs", "a"}, "expected \"=\""},
               {{"logs", "a=b"}, "column \"a\": unexpected \"b\""},
               {{"logs", "a=1 2"}, "column \"a\": unexpected \"2\": expected nothing behind the constant"},
               {{"logs", "a=1", "A=2"}, "column \"A\" is given twice"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *message = parsed(cases[i].args);
    ck_assert_msg(strstr(message, cases[i].expected) != NULL, "%s\nnot: %s", message, cases[i].expected);
  }
}
END_TEST

START_TEST(statements_of_partition_tables_are_known) {
  static const struct {
    const char *sql;
    const char *expected; /* NULL: it is none */
  } cases[] = {
      {"CREATE VIRTUAL TABLE web USING tidemark_partition(logs, source='web')", "-.logs"},
      {"create/**/virtual -- x\n table \"a b\"USING\"TIDEMARK_partition\" ( [l ogs] /*,*/ )", "-.l ogs"},
      {"CREATE VIRTUAL TABLE IF NOT EXISTS main.'w' USING 'tidemark_partition'(aux.logs)", "aux.logs"},
      {"CREATE VIRTUAL TABLE if USING tidemark_partition(logs)", "-.logs"},
      {"CREATE VIRTUAL TABLE using USING tidemark_partition(logs)", "-.logs"},
      {"CREATE VIRTUAL TABLE web USING tidemark(source TEXT)", NULL},
      {"CREATE VIRTUAL TABLE tidemark_partition USING fts5(logs)", NULL},
      {"CREATE VIRTUAL TABLE web USING fts5('tidemark_partition(logs)') -- USING tidemark_partition(logs)", NULL},
      {"CREATE VIRTUAL TABLE web USING tidemark_partition", NULL},
      {"CREATE VIRTUAL TABLE web USING tidemark_partition('logs')", NULL},
      {"CREATE TABLE web(tidemark_partition)", NULL},
      {"CREATE VIEW v AS SELECT 'USING tidemark_partition(logs)'", NULL},
      {"", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_err err = {0};
    struct tide_partition_table table = {0};
    const bool is_one = tide_partition_table_of_sql(cases[i].sql, &table, &err);
    assert_ok(err);
    ck_assert_msg(is_one == (cases[i].expected != NULL), "%s", cases[i].sql);
    if (is_one) {
      char found[100];
      snprintf(found, sizeof found, "%s.%s", table.schema != NULL ? table.schema : "-", table.dataset);
      ck_assert_str_eq(found, cases[i].expected);
    }
    tide_partition_table_clear(&table);
  }
}
END_TEST

START_TEST(values_are_matched_with_the_partition_columns) {
  struct tide_err err = {0};
  struct tide_options options;
  static const char *const columns[] = {"n", "source TEXT", "day INTEGER", "partition_by=(day, source)"};
  static const char *const args[] = {"logs", "SOURCE='web'", "day=1"};
  struct tide_spec *spec = tide_spec_parse(4, columns, &options, &err);
  struct tide_partition_table table = {0};
  const struct tide_partition_value *values[TIDE_SPEC_PARTITION_MAX] = {NULL};
  tide_partition_table_parse(3, args, &table, &err);
  ck_assert_int_eq(tide_partition_table_match(&table, spec, values, &err), 0);
  ck_assert_str_eq(values[0]->constant, "1");
  ck_assert_str_eq(values[1]->constant, "'web'");
  tide_partition_table_clear(&table);
  tide_spec_unref(spec);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {words_are_read_as_they_are_written, words_that_are_none_are_named,
                                statements_of_partition_tables_are_known, values_are_matched_with_the_partition_columns,
                                NULL};
  return unit_main("partition_table", tests);
}
