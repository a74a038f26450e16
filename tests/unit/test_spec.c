#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "model/spec_parse.h"
#include "oom.h"
#include "unit.h"

static struct tide_options options; /* of the last PARSE */

#define PARSE(err, ...)                                                                                                \
  tide_spec_parse((int)(sizeof(const char *[]){__VA_ARGS__} / sizeof(char *)), (const char *const[]){__VA_ARGS__},     \
                  &options, err)

#define REFUSED(sentence, ...)                                                                                         \
  do {                                                                                                                 \
    struct tide_err refused_err = {0};                                                                                 \
    ck_assert_ptr_null(PARSE(&refused_err, __VA_ARGS__));                                                              \
    ck_assert_int_eq(refused_err.rc, SQLITE_ERROR);                                                                    \
    ck_assert_str_eq(refused_err.msg, sentence);                                                                       \
  } while (0)

static const char types_expected[] =
    "expected INTEGER, REAL, TEXT, BLOB, ANY, BOOLEAN, JSON, TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_US or TIMESTAMP_NS";

START_TEST(columns_and_defaults) {
  struct tide_err err = {0};
  struct tide_spec *spec = PARSE(&err, "source TEXT NOT NULL", "ts timestamp_ms", "\"a \"\"b\" json not null", "[x]",
                                 "`y``z` ANY", "\xc3\xa9t\xc3\xa9 Real", "z NOT NULL");
  assert_ok(err);
  static const struct {
    const char *name;
    enum tide_type type;
    bool not_null;
  } expected[] = {{"source", TIDE_TYPE_TEXT, true}, {"ts", TIDE_TYPE_TIMESTAMP_MS, false},
                  {"a \"b", TIDE_TYPE_JSON, true},  {"x", TIDE_TYPE_ANY, false},
                  {"y`z", TIDE_TYPE_ANY, false},    {"\xc3\xa9t\xc3\xa9", TIDE_TYPE_REAL, false},
                  {"z", TIDE_TYPE_ANY, true}};
  ck_assert_uint_eq(spec->ncolumns, sizeof expected / sizeof *expected);
  for (size_t i = 0; i < spec->ncolumns; i++) {
    ck_assert_str_eq(spec->columns[i].name, expected[i].name);
    ck_assert_int_eq(spec->columns[i].type, expected[i].type);
    ck_assert_int_eq(spec->columns[i].not_null, expected[i].not_null);
    ck_assert_int_eq(spec->columns[i].partition_at, -1);
  }
  ck_assert_uint_eq(spec->npartition, 0);
  ck_assert_int_eq(options.segment_rows, 65536);
  ck_assert_int_eq(options.zstd_level, 3);
  ck_assert_int_eq(options.autoflush, 1);
  tide_spec_unref(spec);
}
END_TEST

START_TEST(retention_options) {
  struct tide_err err = {0};
  struct tide_spec *spec = PARSE(&err, "retention_by = T", "retention_age='90 days'", "RETENTION_ROWS=1000000",
                                 "retention_bytes = '123456789012'", "a", "t TIMESTAMP_US");
  assert_ok(err);
  ck_assert_int_eq(options.retention_age, INT64_C(90) * 86400 * 1000);
  ck_assert_int_eq(options.retention_rows, 1000000);
  ck_assert_int_eq(options.retention_bytes, INT64_C(123456789012));
  ck_assert_int_eq(options.retention_by, 1);
  tide_spec_unref(spec);
  spec = PARSE(&err, "a TIMESTAMP_S", "retention_by=NULL", "retention_age=null", "retention_rows=0");
  assert_ok(err);
  ck_assert_int_eq(options.retention_age, -1);
  ck_assert_int_eq(options.retention_rows, 0);
  ck_assert_int_eq(options.retention_bytes, -1);
  ck_assert_int_eq(options.retention_by, -1);
  tide_spec_unref(spec);
}
END_TEST

START_TEST(unique_names_any_column) {
  struct tide_err err = {0};
  static const char *const columns[] = {"a INTEGER", "a REAL", "a TEXT", "a BLOB", "a", "a JSON", "a BOOLEAN"};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    struct tide_spec *spec = PARSE(&err, "UNIQUE = 'A'", "first TEXT", columns[i]);
    assert_ok(err);
    ck_assert_int_eq(options.unique, 1);
    tide_spec_unref(spec);
  }
  struct tide_spec *spec = PARSE(&err, "a", "unique=NULL");
  assert_ok(err);
  ck_assert_int_eq(options.unique, -1);
  tide_spec_unref(spec);
}
END_TEST

START_TEST(options_are_read) {
  struct tide_err err = {0};
  struct tide_spec *spec = PARSE(&err, "segment_rows = 16", "a INTEGER", "b TEXT", "c BOOLEAN", "d TIMESTAMP_NS",
                                 "Partition_By=( d , \"B\",c)", "ZSTD_LEVEL='19'", "autoflush=0");
  assert_ok(err);
  ck_assert_uint_eq(spec->ncolumns, 4);
  ck_assert_uint_eq(spec->npartition, 3);
  ck_assert_uint_eq(spec->partition[0], 3);
  ck_assert_uint_eq(spec->partition[1], 1);
  ck_assert_uint_eq(spec->partition[2], 2);
  ck_assert_int_eq(spec->columns[0].partition_at, -1);
  ck_assert_int_eq(spec->columns[1].partition_at, 1);
  ck_assert_int_eq(spec->columns[2].partition_at, 2);
  ck_assert_int_eq(spec->columns[3].partition_at, 0);
  ck_assert_int_eq(options.segment_rows, 16);
  ck_assert_int_eq(options.zstd_level, 19);
  ck_assert_int_eq(options.autoflush, 0);
  tide_spec_unref(spec);
}
END_TEST

START_TEST(partition_by_may_come_first_and_be_one_name) {
  struct tide_err err = {0};
  struct tide_spec *spec = PARSE(&err, "partition_by=source", "x", "source TEXT");
  assert_ok(err);
  ck_assert_uint_eq(spec->npartition, 1);
  ck_assert_uint_eq(spec->partition[0], 1);
  tide_spec_unref(spec);
}
END_TEST

START_TEST(comments_are_blanks) {
  struct tide_err err = {0};
  struct tide_spec *spec =
      PARSE(&err, "/* the \"first */ a -- not b\n TEXT/**/NOT/**/NULL", "segment_rows/*=*/=--=\n 4096 -- rows");
  assert_ok(err);
  ck_assert_str_eq(spec->columns[0].name, "a");
  ck_assert_int_eq(spec->columns[0].type, TIDE_TYPE_TEXT);
  ck_assert(spec->columns[0].not_null);
  ck_assert_int_eq(options.segment_rows, 4096);
  tide_spec_unref(spec);
}
END_TEST

START_TEST(bad_types_are_refused) {
  char sentence[TIDE_ERR_MSG_SIZE];
  static const char *const words[] = {"VARCHAR(10)", "INT", "DOUBLE PRECISION", "DECIMAL(10, (2))", "TEXT HIDDEN"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    char text[100];
    snprintf(text, sizeof text, "x %s NOT NULL", words[i]);
    snprintf(sentence, sizeof sentence, "column \"x\": unknown type \"%s\": %s", words[i], types_expected);
    REFUSED(sentence, text);
  }
}
END_TEST

START_TEST(other_constraints_are_refused) {
  REFUSED("column \"x\": UNIQUE is not supported: only NOT NULL is", "x TEXT unique");
  REFUSED("column \"x\": PRIMARY KEY is not supported: only NOT NULL is", "x INTEGER PRIMARY KEY");
  REFUSED("column \"x\": DEFAULT is not supported: only NOT NULL is", "x DEFAULT 5");
  REFUSED("column \"x\": CHECK is not supported: only NOT NULL is", "x TEXT NOT NULL CHECK (x > '')");
  REFUSED("column \"x\": ON CONFLICT is not supported: only NOT NULL is", "x NOT NULL ON CONFLICT IGNORE");
  REFUSED("column \"x\": COLLATE is not supported: only NOT NULL is", "x TEXT COLLATE NOCASE");
  REFUSED("column \"x\": GENERATED is not supported: only NOT NULL is", "x INTEGER GENERATED ALWAYS AS (1)");
  REFUSED("UNIQUE is not supported: expected a column or an option", "x", "UNIQUE (x)");
  REFUSED("PRIMARY KEY is not supported: expected a column or an option", "x", "primary key(x)");
}
END_TEST

START_TEST(words_out_of_place_are_refused) {
  REFUSED("column \"x\": unexpected \"5\": expected a type or NOT NULL", "x 5");
  REFUSED("column \"x\": unexpected \"TEXT\": expected a type or NOT NULL", "x NOT NULL TEXT");
  REFUSED("column \"x\": unexpected \"'TEXT'\": expected a type or NOT NULL", "x 'TEXT'");
  REFUSED("column \"x\": expected NULL after NOT, found the end", "x NOT");
  REFUSED("unexpected \"5\": expected a column's name", "5 TEXT");
  REFUSED("unexpected \"'x'\": expected a column's name", "'x' TEXT");
  REFUSED("the quote that opens \"x TEXT is not closed", "\"x TEXT");
  REFUSED("the quote that opens [x\"\" TEXT is not closed", "[x\"\" TEXT");
  REFUSED("an empty argument: expected a column or an option", "x", " /* nothing */ ");
}
END_TEST

START_TEST(bad_names_are_refused) {
  REFUSED("a column's name is empty", "\"\" TEXT");
  REFUSED("column \"Since\" clashes with a hidden column", "Since INTEGER");
  REFUSED("column \"partition\" clashes with a hidden column", "[partition]");
  REFUSED("column \"ingested_at\" clashes with a hidden column", "ingested_at");
  REFUSED("column \"ROWID\" clashes with a name of the rowid", "ROWID");
  REFUSED("column \"_rowid_\" clashes with a name of the rowid", "_rowid_");
  REFUSED("column \"oid\" clashes with a name of the rowid", "\"oid\"");
  REFUSED("column \"A\" is named twice", "a", "b", "A TEXT");
}
END_TEST

START_TEST(names_differ_by_case_beyond_ascii) {
  struct tide_err err = {0};
  struct tide_spec *spec = PARSE(&err, "\"\xc3\xa9\"", "\"\xc3\x89\"", "a");
  assert_ok(err);
  ck_assert_int_eq(tide_spec_find(spec, "\xc3\x89", 2), 1);
  ck_assert_int_eq(tide_spec_find(spec, "Axx", 1), 2);
  ck_assert_int_eq(tide_spec_find(spec, "ab", 2), -1);
  ck_assert_int_eq(tide_spec_find(spec, "", 0), -1);
  tide_spec_unref(spec);
}
END_TEST

START_TEST(bad_options_are_refused) {
  REFUSED("unknown option \"segmnt_rows\": expected partition_by, segment_rows, zstd_level, autoflush, "
          "retention_age, retention_rows, retention_bytes, retention_by or unique",
          "x", "segmnt_rows=16");
  REFUSED("segment_rows is \"15\": expected an integer from 16 to 1048576", "x", "segment_rows=15");
  REFUSED("segment_rows is \"1048577\": expected an integer from 16 to 1048576", "x", "segment_rows=1048577");
  REFUSED("segment_rows is \"99999999999999999999\": expected an integer from 16 to 1048576", "x",
          "segment_rows=99999999999999999999");
  REFUSED("segment_rows is \"- 16\": expected an integer from 16 to 1048576", "x", "segment_rows=- 16");
  REFUSED("segment_rows is \"\": expected an integer from 16 to 1048576", "x", "segment_rows=");
  REFUSED("segment_rows is \"16 17\": expected an integer from 16 to 1048576", "x", "segment_rows=16 17");
  REFUSED("zstd_level is \"0\": expected an integer from 1 to 19", "x", "zstd_level=0");
  REFUSED("zstd_level is \"20\": expected an integer from 1 to 19", "x", "zstd_level='20'");
  REFUSED("zstd_level is \"fast\": expected an integer from 1 to 19", "x", "zstd_level=fast");
  REFUSED("autoflush is \"2\": expected an integer from 0 to 1", "x", "autoflush=2");
  REFUSED("retention_rows is \"-1\": expected an integer from 0 on, or NULL for no limit", "x", "retention_rows=-1");
  REFUSED("retention_bytes is \"1 MB\": expected an integer from 0 on, or NULL for no limit", "x",
          "retention_bytes='1 MB'");
  REFUSED("retention_age is '-1 day', expected a number of seconds or a span such as '90 days', '5 min' or '250 ms', "
          "not negative",
          "x", "retention_age='-1 day'");
  REFUSED("retention_by is \"b\": expected the name of a TIMESTAMP column, or NULL for the time of ingest", "a TEXT",
          "retention_by=b");
  REFUSED("retention_by is \"a\": expected the name of a TIMESTAMP column, or NULL for the time of ingest",
          "retention_by=a", "a INTEGER");
  REFUSED("unique is \"b\": expected the name of one column, or NULL for none", "a TEXT", "unique=b");
  REFUSED("unique is \"(a, b)\": expected the name of one column, or NULL for none", "a", "b", "unique=(a, b)");
  REFUSED("segment_rows is \"NULL\": expected an integer from 16 to 1048576", "x", "segment_rows='NULL'");
  REFUSED("segment_rows is a NULL value: expected an integer from 16 to 1048576", "x", "segment_rows=NULL");
  REFUSED("option autoflush is given twice", "x", "autoflush=1", "AUTOFLUSH=1");
  REFUSED("option partition_by is given twice", "x TEXT", "partition_by=x", "partition_by=x");
  REFUSED("no column: expected at least one, such as tidemark(body TEXT)", "autoflush=1");
  struct tide_err err = {0};
  ck_assert_ptr_null(tide_spec_parse(0, NULL, &options, &err));
  ck_assert_str_eq(err.msg, "no column: expected at least one, such as tidemark(body TEXT)");
}
END_TEST

START_TEST(bad_partition_by_is_refused) {
  REFUSED("partition_by names \"y\", which is no column", "x TEXT", "partition_by=(x, y)");
  REFUSED("partition_by names \"since\", which is no column", "x TEXT", "partition_by=since");
  REFUSED("partition_by names column \"x\" twice", "x TEXT", "partition_by=(x, X)");
  REFUSED("partition_by names column \"x\" of type REAL: expected INTEGER, TEXT, BOOLEAN or a TIMESTAMP", "x REAL",
          "partition_by=x");
  REFUSED("partition_by names column \"x\" of type ANY: expected INTEGER, TEXT, BOOLEAN or a TIMESTAMP", "x",
          "partition_by=x");
  REFUSED("partition_by names column \"x\" of type JSON: expected INTEGER, TEXT, BOOLEAN or a TIMESTAMP", "x JSON",
          "partition_by=x");
  REFUSED("partition_by names column \"x\" of type BLOB: expected INTEGER, TEXT, BOOLEAN or a TIMESTAMP", "x BLOB",
          "partition_by=x");
  REFUSED("partition_by is empty: expected a column's name or (name, name)", "x TEXT", "partition_by=()");
  REFUSED("expected a column's name in partition_by, found the end", "x TEXT", "partition_by=");
  REFUSED("expected a column's name in partition_by, found the end", "x TEXT", "partition_by=(x,");
  REFUSED("unexpected \")\": expected a column's name in partition_by", "x TEXT", "partition_by=(x,)");
  REFUSED("unexpected \"y\": expected \",\" or \")\" in partition_by", "x TEXT", "partition_by=(x y)");
  REFUSED("unexpected \"y\": expected nothing behind partition_by's value", "x TEXT", "partition_by=x y");
  REFUSED("unexpected \"'x'\": expected a column's name in partition_by", "x TEXT", "partition_by='x'");
  REFUSED("partition_by names more than 8 columns", "a TEXT", "b TEXT", "c TEXT", "d TEXT", "e TEXT", "f TEXT",
          "g TEXT", "h TEXT", "i TEXT", "partition_by=(a,b,c,d,e,f,g,h,i)");
}
END_TEST

START_TEST(columns_have_a_limit) {
  static char names[TIDE_SPEC_COLUMNS_MAX + 1][16];
  static const char *args[TIDE_SPEC_COLUMNS_MAX + 1];
  for (int i = 0; i <= TIDE_SPEC_COLUMNS_MAX; i++) {
    snprintf(names[i], sizeof names[i], "c%d", i);
    args[i] = names[i];
  }
  struct tide_err err = {0};
  struct tide_spec *spec = tide_spec_parse(TIDE_SPEC_COLUMNS_MAX, args, &options, &err);
  assert_ok(err);
  ck_assert_uint_eq(spec->ncolumns, 1990);
  tide_spec_unref(spec);
  ck_assert_ptr_null(tide_spec_parse(TIDE_SPEC_COLUMNS_MAX + 1, args, &options, &err));
  ck_assert_str_eq(err.msg, "more than 1990 columns");
}
END_TEST

START_TEST(one_column_alone) {
  struct tide_err err = {0};
  struct tide_column column;
  struct tide_literal literal;
  ck_assert_int_eq(tide_spec_parse_column("\"trace id\" TEXT NOT NULL", &column, &literal, &err), 0);
  ck_assert_str_eq(column.name, "trace id");
  ck_assert_int_eq(column.type, TIDE_TYPE_TEXT);
  ck_assert(column.not_null);
  ck_assert_int_eq(column.partition_at, -1);
  ck_assert_uint_eq(literal.size, 0);
  tide_column_clear(&column);
  ck_assert_int_eq(tide_spec_parse_column("x TEXT CHECK (x > 1)", &column, &literal, &err), SQLITE_ERROR);
  ck_assert_str_eq(err.msg, "column \"x\": CHECK is not supported: only NOT NULL and DEFAULT are");
  tide_err_clear(&err);
  ck_assert_int_eq(tide_spec_parse_column("", &column, &literal, &err), SQLITE_ERROR);
  ck_assert_str_eq(err.msg, "expected a column's name, found the end");
  tide_err_clear(&err);
  ck_assert_int_eq(tide_spec_parse_column("a TEXT, b TEXT", &column, &literal, &err), SQLITE_ERROR);
  ck_assert_str_eq(err.msg, "column \"a\": unexpected \",\": expected a type, NOT NULL or DEFAULT");
}
END_TEST

START_TEST(a_default_is_one_constant) {
  static const char *const constants[] = {"1",    "-1",      "+2.5",  "1.",    ".5",  "1e3",  "1.5E-3", "0x1F",
                                          "-0x1", "'it''s'", "x'00'", "X'aF'", "x''", "NULL", "true",   "FALSE"};
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
    struct tide_err err = {0};
    struct tide_column column;
    struct tide_literal literal;
    char text[100];
    sqlite3_snprintf((int)sizeof text, text, "x DEFAULT %s/**/NOT NULL", constants[i]);
    ck_assert_msg(tide_spec_parse_column(text, &column, &literal, &err) == 0, "%s: %s", text, err.msg);
    ck_assert_uint_eq(literal.size, strlen(constants[i]));
    ck_assert(strncmp(literal.at, constants[i], literal.size) == 0);
    ck_assert(column.not_null);
    tide_column_clear(&column);
  }
}
END_TEST

START_TEST(what_is_no_constant_is_no_default) {
  static const char *const others[] = {"",      "(1)",    "random()", "CURRENT_TIMESTAMP",
                                       "1+1",   "1a",     "1.2.3",    "- 1",
                                       "\"a\"", "'a",     "x'0'",     "x'0g'",
                                       "1, 2",  "'a'||b", "-",        ".",
                                       "0x",    "'a'b"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    struct tide_err err = {0};
    struct tide_column column;
    struct tide_literal literal;
    char text[100];
    sqlite3_snprintf((int)sizeof text, text, "x DEFAULT %s", others[i]);
    ck_assert_msg(tide_spec_parse_column(text, &column, &literal, &err) == SQLITE_ERROR, "%s", text);
    ck_assert_msg(strstr(err.msg, "column \"x\": ") == err.msg, "%s: %s", text, err.msg);
  }
}
END_TEST

START_TEST(types_by_name) {
  for (int i = TIDE_TYPE_ANY; i <= TIDE_TYPE_TIMESTAMP_NS; i++) {
    enum tide_type type;
    const char *name = tide_spec_type_name((enum tide_type)i);
    ck_assert(tide_spec_type_of(name, strlen(name), &type));
    ck_assert_int_eq(type, i);
    ck_assert(!tide_spec_type_of(name, strlen(name) - 1, &type));
  }
  enum tide_type type;
  ck_assert(tide_spec_type_of("Timestamp_us(3)", 12, &type));
  ck_assert_int_eq(type, TIDE_TYPE_TIMESTAMP_US);
  ck_assert(!tide_spec_type_of("", 0, &type));
  ck_assert_str_eq(tide_spec_declared_type(TIDE_TYPE_ANY), "");
  ck_assert_str_eq(tide_spec_declared_type(TIDE_TYPE_JSON), "TEXT");
  ck_assert_str_eq(tide_spec_declared_type(TIDE_TYPE_BOOLEAN), "INTEGER");
  ck_assert_uint_eq(tide_spec_stored_type(TIDE_TYPE_ANY), TIDE_VAL_NULL);
  ck_assert_uint_eq(tide_spec_stored_type(TIDE_TYPE_TIMESTAMP_NS), TIDE_VAL_INT);
  ck_assert_uint_eq(tide_spec_stored_type(TIDE_TYPE_REAL), TIDE_VAL_REAL);
  ck_assert_uint_eq(tide_spec_stored_type(TIDE_TYPE_JSON), TIDE_VAL_TEXT);
  ck_assert_uint_eq(tide_spec_stored_type(TIDE_TYPE_BLOB), TIDE_VAL_BLOB);
  ck_assert_str_eq(tide_spec_hidden_name(TIDE_HIDDEN_SINCE), "since");
  ck_assert_str_eq(tide_spec_hidden_name(TIDE_HIDDEN_PARTITION), "partition");
  ck_assert_str_eq(tide_spec_hidden_name(TIDE_HIDDEN_INGESTED_AT), "ingested_at");
}
END_TEST

START_TEST(last_reference_frees) {
  struct tide_err err = {0};
  sqlite3_int64 before = sqlite3_memory_used();
  struct tide_spec *spec = PARSE(&err, "a TEXT", "b", "partition_by=a");
  assert_ok(err);
  tide_spec_ref(spec);
  tide_spec_unref(spec);
  ck_assert_str_eq(spec->columns[1].name, "b");
  tide_spec_unref(spec);
  tide_spec_unref(NULL);
  ck_assert_int_eq(sqlite3_memory_used(), before);
}
END_TEST

START_TEST(parsing_gives_all_back_when_memory_is_short) {
  oom_install();
  long live = oom_live();
  long at = 1;
  for (;; at++) {
    struct tide_err err = {0};
    oom_fail_at(at);
    struct tide_spec *spec = PARSE(&err, "partition_by=(a, [b c])", "a TEXT NOT NULL", "[b c] INTEGER", "c", "d", "e",
                                   "f", "g", "h", "i JSON", "segment_rows='100'", "autoflush=0");
    ck_assert_int_eq(err.rc, oom_has_failed() ? SQLITE_NOMEM : 0);
    ck_assert((spec == NULL) == oom_has_failed());
    tide_spec_unref(spec);
    ck_assert_int_eq(oom_live(), live);
    if (!oom_has_failed())
      break;
  }
  ck_assert_int_gt(at, 15);
  oom_fail_at(0);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {columns_and_defaults,
                                retention_options,
                                unique_names_any_column,
                                options_are_read,
                                partition_by_may_come_first_and_be_one_name,
                                comments_are_blanks,
                                bad_types_are_refused,
                                other_constraints_are_refused,
                                words_out_of_place_are_refused,
                                bad_names_are_refused,
                                names_differ_by_case_beyond_ascii,
                                bad_options_are_refused,
                                bad_partition_by_is_refused,
                                columns_have_a_limit,
                                one_column_alone,
                                a_default_is_one_constant,
                                what_is_no_constant_is_no_default,
                                types_by_name,
                                last_reference_frees,
                                parsing_gives_all_back_when_memory_is_short,
                                NULL};
  return unit_main("spec", tests);
}
