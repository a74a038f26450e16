#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/registry.h"
#include "unit.h"

static struct tide_column columns[] = {{.name = "ts", .type = TIDE_TYPE_TIMESTAMP_MS, .partition_at = -1},
                                       {.name = "source", .type = TIDE_TYPE_TEXT, .partition_at = 0},
                                       {.name = "a \"b\"", .type = TIDE_TYPE_TEXT, .partition_at = -1}};
static size_t partition[] = {1};
static const struct tide_spec spec = {
    .refs = 1, .ncolumns = 3, .columns = columns, .npartition = 1, .partition = partition};

static struct tide_sink_config parse(const char *target, const char *format, const char *list, const char *filter,
                                     const char *options) {
  struct tide_err err = {0};
  struct tide_sink_config config = {0};
  const struct tide_schemes schemes = {0};
  const struct tide_sink_words words = {target, format, list, filter, options};
  ck_assert_int_eq(tide_sink_config_parse(&schemes, &spec, &words, &config, &err), err.rc);
  assert_ok(err);
  return config;
}

static void expect_refused(const char *target, const char *format, const char *list, const char *filter,
                           const char *options, const char *message) {
  struct tide_err err = {0};
  struct tide_sink_config config = {.zstd_level = 77};
  const struct tide_schemes schemes = {0};
  const struct tide_sink_words words = {target, format, list, filter, options};
  ck_assert_int_eq(tide_sink_config_parse(&schemes, &spec, &words, &config, &err), SQLITE_ERROR);
  ck_assert_str_eq(err.msg, message);
  ck_assert_int_eq(config.zstd_level, 77);
  ck_assert_ptr_null(config.place);
}

START_TEST(formats_are_found_by_name) {
  ck_assert_str_eq(tide_format_find("ndjson")->extension, "ndjson");
  ck_assert_str_eq(tide_format_find("ndjson.zst")->extension, "ndjson.zst");
  ck_assert_ptr_null(tide_format_find("NDJSON"));
  ck_assert_ptr_null(tide_format_find(""));
  char names[100], *rest = names;
  strcpy(names, tide_format_names());
  for (char *name; (name = strtok_r(rest, ", ", &rest)) != NULL;)
    ck_assert_str_eq(tide_format_find(name)->name, name);
}
END_TEST

START_TEST(a_row_becomes_a_config) {
  struct tide_sink_config config =
      parse("file:///var/a%20b/", "ndjson.zst", "[\"since\",\"A \\\"B\\\"\",\"partition\",\"INGESTED_AT\",\"ts\"]",
            "ts > 5", "{\"zstd_level\":19}");
  ck_assert_str_eq(config.place, "/var/a b");
  ck_assert_str_eq(config.format->name, "ndjson.zst");
  static const int expected[] = {TIDE_ENCODER_SINCE, 2, TIDE_ENCODER_PARTITION, TIDE_ENCODER_INGESTED_AT, 0};
  ck_assert_uint_eq(config.ncolumns, 5);
  ck_assert_int_eq(memcmp(config.columns, expected, sizeof expected), 0);
  ck_assert_str_eq(config.filter, "ts > 5");
  ck_assert_int_eq(config.zstd_level, 19);
  tide_sink_config_clear(&config);
  tide_sink_config_clear(&config);
}
END_TEST

START_TEST(nulls_are_the_defaults) {
  struct tide_sink_config config = parse("file:///a", "ndjson", NULL, NULL, NULL);
  ck_assert_uint_eq(config.ncolumns, 3);
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(config.columns[i], i);
  ck_assert_ptr_null(config.filter);
  ck_assert_int_eq(config.zstd_level, 3);
  tide_sink_config_clear(&config);
  config = parse("file:///a", "ndjson.zst", NULL, NULL, "{ }");
  ck_assert_int_eq(config.zstd_level, 3);
  tide_sink_config_clear(&config);
}
END_TEST

START_TEST(sink_without_target_is_the_users) {
  struct tide_sink_config config = parse(NULL, NULL, "[\"ts\"]", "ts IS NOT NULL", NULL);
  ck_assert_ptr_null(config.place);
  ck_assert_ptr_null(config.format);
  ck_assert_uint_eq(config.ncolumns, 1);
  tide_sink_config_clear(&config);
  expect_refused(NULL, "ndjson", NULL, NULL, NULL,
                 "format is given but target is NULL: expected a target such as file:///folder, or no format for a "
                 "sink you drive yourself");
  expect_refused(NULL, NULL, NULL, NULL, "{}",
                 "options is given but target is NULL: expected a target such as file:///folder, or no options for a "
                 "sink you drive yourself");
}
END_TEST

START_TEST(unknown_targets_are_refused) {
#define EXPECTED                                                                                                       \
  ": expected file:///folder (the extension tidemark_net adds s3 and http), or NULL for a sink you drive yourself"
  expect_refused("s3://bucket/a", "ndjson", NULL, NULL, NULL, "target scheme \"s3\" is not known here" EXPECTED);
  expect_refused("https://host:80/a", "ndjson", NULL, NULL, NULL, "target scheme \"https\" is not known here" EXPECTED);
  expect_refused("/var/a:b", "ndjson", NULL, NULL, NULL, "target \"/var/a:b\" has no scheme" EXPECTED);
  expect_refused("", "ndjson", NULL, NULL, NULL, "target \"\" has no scheme" EXPECTED);
  expect_refused("file", "ndjson", NULL, NULL, NULL, "target \"file\" has no scheme" EXPECTED);
  expect_refused("file:a", "ndjson", NULL, NULL, NULL, "target \"file:a\": expected file:///folder");
  expect_refused("file:///a/../b", "ndjson", NULL, NULL, NULL,
                 "target \"file:///a/../b\": the parts \".\" and \"..\" are not taken");
}
END_TEST

START_TEST(iso_is_an_option_of_text_formats) {
  static const char *const formats[] = {"ndjson", "ndjson.zst", "csv", "csv.zst"};
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    struct tide_sink_config config = parse("file:///a", formats[i], NULL, NULL, "{\"iso\":true}");
    ck_assert(config.iso);
    tide_sink_config_clear(&config);
    config = parse("file:///a", formats[i], NULL, NULL, NULL);
    ck_assert(!config.iso);
    tide_sink_config_clear(&config);
  }
}
END_TEST

START_TEST(a_folder_of_parquet_may_be_a_delta_table) {
  struct tide_sink_config config = parse("file:///a", "parquet", NULL, NULL, "{\"table\":\"delta\"}");
  ck_assert(config.delta);
  tide_sink_config_clear(&config);
  config = parse("file:///a", "parquet", NULL, NULL, NULL);
  ck_assert(!config.delta);
  tide_sink_config_clear(&config);
  expect_refused("file:///a", "csv", NULL, NULL, "{\"table\":\"delta\"}",
                 "option table=delta needs format parquet, not csv");
  expect_refused("file:///a", "parquet", NULL, NULL, "{\"table\":\"iceberg\"}",
                 "option table is \"iceberg\": expected delta");
  expect_refused("file:///a", "parquet", NULL, NULL, "{\"iso\":true}",
                 "option iso does nothing for format parquet, which has timestamps of its own");
}
END_TEST

START_TEST(unknown_formats_are_refused) {
  expect_refused("file:///a", "xml", NULL, NULL, NULL,
                 "format \"xml\" is not known here: expected one of ndjson, ndjson.zst, csv, csv.zst, parquet");
  expect_refused("file:///a", NULL, NULL, NULL, NULL,
                 "a sink with a target needs a format: expected one of ndjson, ndjson.zst, csv, csv.zst, parquet");
}
END_TEST

START_TEST(bad_columns_are_refused_by_name) {
#define NOT_A_LIST "columns is not a JSON list: expected names of columns such as [\"since\",\"body\"], not "
  expect_refused("file:///a", "ndjson", "ts, source", NULL, NULL, NOT_A_LIST "ts, source");
  expect_refused("file:///a", "ndjson", "{\"a\":1}", NULL, NULL, NOT_A_LIST "{\"a\":1}");
  expect_refused("file:///a", "ndjson", "\"ts\"", NULL, NULL, NOT_A_LIST "\"ts\"");
  expect_refused("file:///a", "ndjson", "", NULL, NULL, NOT_A_LIST);
  expect_refused("file:///a", "ndjson", "[]", NULL, NULL,
                 "columns is an empty list: expected at least one column, or NULL for all");
  expect_refused("file:///a", "ndjson", "[\"ts\",\"nowhere\"]", NULL, NULL,
                 "columns names \"nowhere\", which the dataset does not have: expected its columns, or since, "
                 "partition, ingested_at");
  expect_refused("file:///a", "ndjson", "[\"ts\",\"since\",\"TS\"]", NULL, NULL,
                 "columns names \"TS\" twice: expected each column once");
  expect_refused("file:///a", "ndjson", "[\"since\",\"Since\"]", NULL, NULL,
                 "columns names \"Since\" twice: expected each column once");
  expect_refused("file:///a", "ndjson", "[5]", NULL, NULL,
                 "columns holds 5: expected names of columns in double quotes");
  expect_refused("file:///a", "ndjson", "[null]", NULL, NULL,
                 "columns holds null: expected names of columns in double quotes");
  expect_refused("file:///a", "ndjson", "[[\"ts\"]]", NULL, NULL,
                 "columns holds [\"ts\"]: expected names of columns in double quotes");
}
END_TEST

START_TEST(bad_options_are_refused_by_name) {
#define NOT_AN_OBJECT "options is not a JSON object: expected one such as {\"zstd_level\":9}, not "
#define NOT_A_LEVEL(is) "option zstd_level is " is ": expected an integer from 1 to 19"
  expect_refused("file:///a", "ndjson", NULL, NULL, "zstd_level=3", NOT_AN_OBJECT "zstd_level=3");
  expect_refused("file:///a", "ndjson", NULL, NULL, "[1]", NOT_AN_OBJECT "[1]");
  expect_refused("file:///a", "ndjson", NULL, NULL, "{zstd_level:3}", NOT_AN_OBJECT "{zstd_level:3}");
  expect_refused("file:///a", "ndjson", NULL, NULL, "{\"level\":3}",
                 "option \"level\" is not known for this target and format: expected one of iso, table");
  expect_refused("file:///a", "ndjson", NULL, NULL, "{\"zstd_level\":3}",
                 "option zstd_level does nothing for format ndjson: expected a compressed format");
  expect_refused("file:///a", "ndjson.zst", NULL, NULL, "{\"zstd_level\":0}", NOT_A_LEVEL("0"));
  expect_refused("file:///a", "ndjson.zst", NULL, NULL, "{\"zstd_level\":20}", NOT_A_LEVEL("20"));
  expect_refused("file:///a", "ndjson.zst", NULL, NULL, "{\"zstd_level\":4294967299}", NOT_A_LEVEL("4294967299"));
  expect_refused("file:///a", "ndjson.zst", NULL, NULL, "{\"zstd_level\":\"3\"}", NOT_A_LEVEL("3"));
  expect_refused("file:///a", "ndjson.zst", NULL, NULL, "{\"zstd_level\":3.0}", NOT_A_LEVEL("3.0"));
  expect_refused("file:///a", "ndjson.zst", NULL, NULL, "{\"zstd_level\":null}", NOT_A_LEVEL("null"));
  expect_refused("file:///a", "ndjson.zst", NULL, NULL, "{\"zstd_level\":3,\"zstd_level\":4}",
                 "option zstd_level is given twice");
}
END_TEST

START_TEST(more_options_than_anybody_knows_are_refused) {
  char json[65 * 10] = "{";
  for (int i = 0; i < 65; i++)
    sprintf(json + strlen(json), "%s\"o%d\":1", i > 0 ? "," : "", i);
  strcat(json, "}");
  expect_refused("file:///a", "ndjson", NULL, NULL, json,
                 "options has more than 64 names: expected those that its format and target know");
}
END_TEST

START_TEST(bad_filters_are_refused) {
  expect_refused("file:///a", "ndjson", NULL, "random() > 0", NULL,
                 "filter \"random() > 0\" uses function random(), which is not allowed: expected one of SQLite's own "
                 "functions whose "
                 "result follows from its arguments alone");
}
END_TEST

int main(void) {
  const TTest *const tests[] = {formats_are_found_by_name,
                                a_row_becomes_a_config,
                                nulls_are_the_defaults,
                                sink_without_target_is_the_users,
                                unknown_targets_are_refused,
                                iso_is_an_option_of_text_formats,
                                a_folder_of_parquet_may_be_a_delta_table,
                                unknown_formats_are_refused,
                                bad_columns_are_refused_by_name,
                                bad_options_are_refused_by_name,
                                more_options_than_anybody_knows_are_refused,
                                bad_filters_are_refused,
                                NULL};
  return unit_main("registry", tests);
}
