/* What is written between the parentheses of CREATE VIRTUAL TABLE, and behind tidemark_add_column. What is understood
 * is written down again in the plainest way, and has to be understood as the same. A constant has to be one to SQLite.
 *
 *   u8   0 to 3: a dataset, a partition table, one column, a constant
 *   the arguments, a line each (of the last two: the text, to the end) */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fuzz.h"
#include "model/partition_table.h"
#include "model/spec_parse.h"

enum { ARGS_MAX = 64, MEMORY = 16 << 20 };

/* Cuts a text into its lines, in place. */
static int cut_lines(char *text, const char *ret_args[ARGS_MAX]) {
  int argc = 0;
  for (char *at = text; at != NULL && argc < ARGS_MAX; argc++) {
    char *end = strchr(at, '\n');
    ret_args[argc] = at;
    if (end != NULL)
      *end++ = '\0';
    at = end;
  }
  return argc;
}

/* ---- a dataset ---- */

static void print_column(const struct tide_column *column, struct tide_buf *out, struct tide_err *err) {
  tide_buf_printf(out, err, "\"%w\" %s%s", column->name, tide_spec_type_name(column->type),
                  column->not_null ? " NOT NULL" : "");
  tide_buf_put_u8(out, 0, err);
}

static void print_partition_by(const struct tide_spec *spec, struct tide_buf *out, struct tide_err *err) {
  for (size_t i = 0; i < spec->npartition; i++)
    tide_buf_printf(out, err, "%s\"%w\"", i == 0 ? "partition_by=(" : ",", spec->columns[spec->partition[i]].name);
  if (spec->npartition > 0)
    tide_buf_put(out, ")", 2, err);
}

static void print_option(const struct tide_spec *spec, const struct tide_option_facts *facts, int64_t value,
                         struct tide_buf *out, struct tide_err *err) {
  if (value < 0)
    tide_buf_printf(out, err, "%s=NULL", facts->name);
  else if (facts->kind == TIDE_OPTION_TIME || facts->kind == TIDE_OPTION_FIXED)
    tide_buf_printf(out, err, "%s=\"%w\"", facts->name, spec->columns[value].name);
  else
    tide_buf_printf(out, err, "%s='%lld%s'", facts->name, (long long)value,
                    facts->kind == TIDE_OPTION_DURATION ? " ms" : "");
  tide_buf_put_u8(out, 0, err);
}

/* Every argument with its NUL; gives their number. */
static int print_spec(const struct tide_spec *spec, const struct tide_options *options, struct tide_buf *out,
                      struct tide_err *err) {
  for (size_t i = 0; i < spec->ncolumns; i++)
    print_column(&spec->columns[i], out, err);
  print_partition_by(spec, out, err);
  for (size_t i = 0; i < TIDE_OPTIONS; i++) {
    const struct tide_option_facts *facts = &tide_options_facts[i];
    const int64_t value = *(const int64_t *)((const char *)options + facts->offset);
    FUZZ_CHECK(value >= facts->min && value <= facts->max);
    print_option(spec, facts, value, out, err);
  }
  return (int)(spec->ncolumns + (spec->npartition > 0) + TIDE_OPTIONS);
}

static void parse_dataset(int argc, const char *const *args) {
  struct tide_err err = {0};
  struct tide_options options, options_again;
  struct tide_buf printed = {0};
  const char *again[ARGS_MAX + 1 + TIDE_OPTIONS];
  tide_spec_parse_adopt(argc, args, &err);
  fuzz_check_error(&err, SQLITE_ERROR, 0);
  tide_err_clear(&err);
  struct tide_spec *spec = tide_spec_parse(argc, args, &options, &err);
  FUZZ_CHECK((spec == NULL) == (err.rc != 0));
  fuzz_check_error(&err, SQLITE_ERROR, 0);
  if (spec == NULL)
    return;
  const int count = print_spec(spec, &options, &printed, &err);
  const char *at = (const char *)printed.data;
  for (int i = 0; i < count; i++, at += strlen(at) + 1)
    again[i] = at;
  struct tide_spec *spec_again = tide_spec_parse(count, again, &options_again, &err);
  fuzz_check_error(&err, 0, 0);
  FUZZ_CHECK(tide_spec_equal(spec, spec_again) && memcmp(&options, &options_again, sizeof options) == 0);
  tide_spec_unref(spec);
  tide_spec_unref(spec_again);
  tide_buf_clear(&printed);
}

/* ---- a partition table ---- */

static void check_constant(const char *text, size_t size);

static void parse_partition_table(int argc, const char *const *args) {
  struct tide_err err = {0};
  struct tide_partition_table table = {0}, of_sql = {0};
  tide_partition_table_parse(argc, args, &table, &err);
  fuzz_check_error(&err, SQLITE_ERROR, 0);
  for (size_t i = 0; i < table.nvalues && err.rc == 0; i++)
    check_constant(table.values[i].constant, strlen(table.values[i].constant));
  tide_partition_table_clear(&table);
  tide_err_clear(&err);
  tide_partition_table_of_sql(args[0], &of_sql, &err);
  fuzz_check_error(&err, 0, 0);
  tide_partition_table_clear(&of_sql);
}

/* ---- a column, a constant ---- */

/* SQLite takes it for one expression, and it is none of a row. */
static void check_constant(const char *text, size_t size) {
  sqlite3 *db = NULL;
  sqlite3_stmt *stmt = NULL;
  const char *rest = NULL;
  char *sql = sqlite3_mprintf("CREATE TABLE t(a DEFAULT %.*s)", (int)size, text);
  FUZZ_CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK && sql != NULL);
  FUZZ_CHECK(sqlite3_prepare_v2(db, sql, -1, &stmt, &rest) == SQLITE_OK && *rest == '\0');
  sqlite3_finalize(stmt);
  sqlite3_free(sql);
  sqlite3_close(db);
}

static void parse_column(const char *text) {
  struct tide_err err = {0};
  struct tide_column column = {0}, again = {0};
  struct tide_literal dflt = {0}, dflt_again = {0};
  struct tide_buf printed = {0};
  tide_spec_parse_column(text, &column, &dflt, &err);
  fuzz_check_error(&err, SQLITE_ERROR, 0);
  if (err.rc != 0)
    return;
  if (dflt.size > 0)
    check_constant(dflt.at, dflt.size);
  print_column(&column, &printed, &err);
  tide_spec_parse_column((const char *)printed.data, &again, &dflt_again, &err);
  fuzz_check_error(&err, 0, 0);
  FUZZ_CHECK(tide_column_equal(&column, &again) && dflt_again.size == 0);
  tide_column_clear(&column);
  tide_column_clear(&again);
  tide_buf_clear(&printed);
}

static void take_constant(const char *text) {
  struct tide_err err = {0};
  struct tide_literal literal = {0};
  struct tide_words words = tide_words_of(text);
  tide_literal_take(&words, "here", &literal, &err);
  fuzz_check_error(&err, SQLITE_ERROR, 0);
  if (err.rc == 0)
    check_constant(literal.at, literal.size);
  for (size_t steps = 0; words.word.kind != TIDE_WORD_END; tide_words_advance(&words), steps++)
    FUZZ_CHECK(steps <= strlen(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  const uint8_t what = fuzz_u8(&input) % 4;
  const char *args[ARGS_MAX];
  char *text = fuzz_string(&input, input.left, &size);
  fuzz_begin(MEMORY);
  if (what == 2) {
    parse_column(text);
  } else if (what == 3) {
    take_constant(text);
  } else {
    const int argc = cut_lines(text, args);
    if (what == 0)
      parse_dataset(argc, args);
    else
      parse_partition_table(argc, args);
  }
  fuzz_end();
  free(text);
  return 0;
}
