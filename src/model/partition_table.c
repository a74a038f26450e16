#include "model/partition_table.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/sqlite.h"
#include "model/literal.h"

/* ---- the dataset ---- */

static char *take_name(struct tide_words *words, const char *expected, struct tide_err *err) {
  if (words->word.kind != TIDE_WORD_BARE && words->word.kind != TIDE_WORD_QUOTED)
    tide_word_unexpected(&words->word, expected, err);
  char *name = tide_err_is_set(err) ? NULL : tide_word_text(&words->word, err);
  tide_words_advance(words);
  return name;
}

/* [schema.]dataset; words are then behind it. */
static void parse_dataset(struct tide_words *words, struct tide_partition_table *table, struct tide_err *err) {
  table->dataset = take_name(words, "the name of a dataset, such as tidemark_partition(logs, source='web')", err);
  if (!tide_word_is_byte(&words->word, '.') || tide_err_is_set(err))
    return;
  tide_words_advance(words);
  table->schema = table->dataset;
  table->dataset = take_name(words, "the name of a dataset behind its schema's", err);
}

/* ---- values ---- */

static void parse_constant(struct tide_words words, struct tide_partition_value *value, struct tide_err *err) {
  struct tide_literal literal = {0};
  tide_literal_take(&words, "behind \"=\"", &literal, err);
  if (words.word.kind != TIDE_WORD_END)
    tide_word_unexpected(&words.word, "nothing behind the constant but \",\"", err);
  if (!tide_err_is_set(err))
    value->constant = tide_copy_text(literal.at, literal.size, err);
}

static void check_column(const struct tide_partition_table *table, const char *column, struct tide_err *err) {
  for (size_t i = 0; i < table->nvalues; i++) {
    if (sqlite3_stricmp(table->values[i].column, column) == 0)
      tide_err_set(err, SQLITE_ERROR, "column \"%w\" is given twice", column);
  }
}

/* column = constant, into the next place, which there is room for. */
static void parse_argument(const char *text, struct tide_partition_table *table, struct tide_err *err) {
  struct tide_words words = tide_words_of(text);
  struct tide_partition_value *value = &table->values[table->nvalues];
  char *column = take_name(&words, "column=constant", err);
  if (column == NULL)
    return;
  check_column(table, column, err);
  value->column = column;
  table->nvalues++;
  if (!tide_word_is_byte(&words.word, '='))
    tide_word_unexpected(&words.word, "\"=\" and a constant behind a column's name", err);
  if (tide_err_is_set(err))
    return;
  tide_words_advance(&words);
  parse_constant(words, value, err);
  tide_err_prefix(err, "column \"%w\"", column);
}

/* ---- the whole ---- */

void tide_partition_table_clear(struct tide_partition_table *table) {
  for (size_t i = 0; i < table->nvalues; i++) {
    tide_free(table->values[i].column);
    tide_free(table->values[i].constant);
  }
  tide_free(table->values);
  tide_free(table->schema);
  tide_free(table->dataset);
  *table = (struct tide_partition_table){0};
}

int tide_partition_table_parse(int argc, const char *const *args, struct tide_partition_table *ret_table,
                               struct tide_err *err) {
  struct tide_partition_table table = {0};
  struct tide_words words = tide_words_of(argc > 0 ? args[0] : "");
  parse_dataset(&words, &table, err);
  if (words.word.kind != TIDE_WORD_END)
    tide_word_unexpected(&words.word, "nothing behind the dataset's name but \",\" and column=constant", err);
  if (argc > 1)
    table.values = tide_alloc_zero((size_t)argc - 1, sizeof *table.values, err);
  for (int i = 1; i < argc && !tide_err_is_set(err); i++)
    parse_argument(args[i], &table, err);
  if (tide_err_is_set(err))
    tide_partition_table_clear(&table);
  else
    *ret_table = table;
  return err->rc;
}

/* ---- statements of sqlite_schema ---- */

static bool skip_keyword(struct tide_words *words, const char *keyword) {
  if (!tide_word_is(&words->word, keyword))
    return false;
  tide_words_advance(words);
  return true;
}

static bool is_name(const struct tide_word *word) {
  return word->kind == TIDE_WORD_BARE || word->kind == TIDE_WORD_QUOTED || word->kind == TIDE_WORD_STRING;
}

/* IF NOT EXISTS [schema.]name; "if" alone is a name. */
static bool skip_table_name(struct tide_words *words) {
  struct tide_words ahead = *words;
  if (skip_keyword(&ahead, "IF") && skip_keyword(&ahead, "NOT") && skip_keyword(&ahead, "EXISTS"))
    *words = ahead;
  if (!is_name(&words->word))
    return false;
  tide_words_advance(words);
  if (!tide_word_is_byte(&words->word, '.'))
    return true;
  tide_words_advance(words);
  if (!is_name(&words->word))
    return false;
  tide_words_advance(words);
  return true;
}

static bool skip_module(struct tide_words *words, struct tide_err *err) {
  if (!is_name(&words->word))
    return false;
  char *module = tide_word_text(&words->word, err);
  const bool ours = module != NULL && sqlite3_stricmp(module, TIDE_PARTITION_TABLE_MODULE) == 0;
  tide_free(module);
  tide_words_advance(words);
  return ours && tide_word_is_byte(&words->word, '(');
}

bool tide_partition_table_of_sql(const char *sql, struct tide_partition_table *ret_table, struct tide_err *err) {
  struct tide_words words = tide_words_of(sql);
  if (!skip_keyword(&words, "CREATE") || !skip_keyword(&words, "VIRTUAL") || !skip_keyword(&words, "TABLE") ||
      !skip_table_name(&words) || !skip_keyword(&words, "USING") || !skip_module(&words, err))
    return false;
  struct tide_partition_table table = {0};
  struct tide_err unlike = {0}; /* such a table cannot connect, so it is none */
  tide_words_advance(&words);
  parse_dataset(&words, &table, &unlike);
  if (unlike.rc == SQLITE_NOMEM)
    tide_err_nomem(err);
  if (tide_err_is_set(&unlike)) {
    tide_partition_table_clear(&table);
    return false;
  }
  *ret_table = table;
  return true;
}

/* ---- against the dataset ---- */

/* "source, day" for an error's sentence. */
static void put_columns(const struct tide_spec *spec, char *out, size_t size) {
  out[0] = '\0';
  for (size_t i = 0; i < spec->npartition; i++) {
    const size_t used = strlen(out);
    sqlite3_snprintf((int)(size - used), out + used, "%s%s", i > 0 ? ", " : "", spec->columns[spec->partition[i]].name);
  }
}

static int partition_at(const struct tide_spec *spec, const char *column) {
  const int found = tide_spec_find(spec, column, strlen(column));
  return found >= 0 ? spec->columns[found].partition_at : -1;
}

int tide_partition_table_match(const struct tide_partition_table *table, const struct tide_spec *spec,
                               const struct tide_partition_value *ret_values[TIDE_SPEC_PARTITION_MAX],
                               struct tide_err *err) {
  const struct tide_partition_value *values[TIDE_SPEC_PARTITION_MAX] = {NULL};
  char columns[300];
  put_columns(spec, columns, sizeof columns);
  for (size_t i = 0; i < table->nvalues; i++) {
    const int at = partition_at(spec, table->values[i].column);
    if (at >= 0)
      values[at] = &table->values[i];
    else if (spec->npartition == 0)
      tide_err_set(err, SQLITE_ERROR, "\"%w\" is no partition column of dataset %s, which has none",
                   table->values[i].column, table->dataset);
    else
      tide_err_set(err, SQLITE_ERROR, "\"%w\" is no partition column of dataset %s, which is partitioned by %s",
                   table->values[i].column, table->dataset, columns);
  }
  for (size_t i = 0; i < spec->npartition; i++) {
    if (values[i] == NULL)
      tide_err_set(err, SQLITE_ERROR, "partition column \"%w\" of dataset %s is missing: expected \"%w\"=constant",
                   spec->columns[spec->partition[i]].name, table->dataset, spec->columns[spec->partition[i]].name);
  }
  if (!tide_err_is_set(err))
    memcpy(ret_values, values, sizeof values);
  return err->rc;
}
