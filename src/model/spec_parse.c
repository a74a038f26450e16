#include "model/spec_parse.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "model/words.h"

/* ---- Columns ---- */

struct refused {
  const char *keyword;
  const char *shown;
};

static const struct refused refused_constraints[] = {
    {"PRIMARY", "PRIMARY KEY"}, {"UNIQUE", "UNIQUE"},         {"CHECK", "CHECK"},         {"DEFAULT", "DEFAULT"},
    {"COLLATE", "COLLATE"},     {"REFERENCES", "REFERENCES"}, {"GENERATED", "GENERATED"}, {"AS", "AS"},
    {"NULL", "NULL"},           {"CONSTRAINT", "CONSTRAINT"}, {"ON", "ON CONFLICT"},      {NULL, NULL}};
static const struct refused refused_table_constraints[] = {{"PRIMARY", "PRIMARY KEY"},   {"UNIQUE", "UNIQUE"},
                                                           {"CHECK", "CHECK"},           {"FOREIGN", "FOREIGN KEY"},
                                                           {"CONSTRAINT", "CONSTRAINT"}, {NULL, NULL}};

/* The words by which to refuse a constraint; NULL when the word begins none of the list. */
static const char *refused_as(const struct refused *list, const struct tide_word *word) {
  for (; list->keyword != NULL; list++) {
    if (tide_word_is(word, list->keyword))
      return list->shown;
  }
  return NULL;
}

static bool begins_constraint(const struct tide_word *word) {
  return tide_word_is(word, "NOT") || refused_as(refused_constraints, word) != NULL;
}

/* Passes over "(...)", in which only parentheses count. Returns where it ends. */
static const char *skip_parentheses(struct tide_words *words) {
  const char *end = words->rest;
  int depth = 0;
  do {
    depth += tide_word_is_byte(&words->word, '(') ? 1 : tide_word_is_byte(&words->word, ')') ? -1 : 0;
    end = words->rest;
    tide_words_advance(words);
  } while (depth > 0 && words->word.kind != TIDE_WORD_END);
  return end;
}

static void parse_type(struct tide_words *words, struct tide_column *column, struct tide_err *err) {
  column->type = TIDE_TYPE_ANY;
  if (words->word.kind != TIDE_WORD_BARE || begins_constraint(&words->word))
    return;
  const char *start = words->word.at;
  const char *end = start;
  while (words->word.kind == TIDE_WORD_BARE && !begins_constraint(&words->word)) {
    end = words->rest;
    tide_words_advance(words);
  }
  if (tide_word_is_byte(&words->word, '('))
    end = skip_parentheses(words);
  if (!tide_spec_type_of(start, (size_t)(end - start), &column->type))
    tide_err_set(err, SQLITE_ERROR,
                 "unknown type \"%.*w\": expected INTEGER, REAL, TEXT, BLOB, ANY, BOOLEAN, JSON, TIMESTAMP_S, "
                 "TIMESTAMP_MS, TIMESTAMP_US or TIMESTAMP_NS",
                 (int)(end - start), start);
}

/* dflt: takes a DEFAULT; NULL: a DEFAULT is refused. */
static void parse_constraints(struct tide_words *words, struct tide_column *column, struct tide_literal *dflt,
                              struct tide_err *err) {
  const char *known = dflt != NULL ? "a type, NOT NULL or DEFAULT" : "a type or NOT NULL";
  while (words->word.kind != TIDE_WORD_END && !tide_err_is_set(err)) {
    const char *refused = refused_as(refused_constraints, &words->word);
    if (dflt != NULL && tide_word_is(&words->word, "DEFAULT")) {
      tide_words_advance(words);
      tide_literal_take(words, "behind DEFAULT", dflt, err);
    } else if (refused != NULL) {
      tide_err_set(err, SQLITE_ERROR, "%s is not supported: only NOT NULL %s", refused,
                   dflt != NULL ? "and DEFAULT are" : "is");
    } else if (!tide_word_is(&words->word, "NOT")) {
      tide_word_unexpected(&words->word, known, err);
    } else {
      tide_words_advance(words);
      if (!tide_word_is(&words->word, "NULL"))
        tide_word_unexpected(&words->word, "NULL after NOT", err);
      tide_words_advance(words);
      column->not_null = true;
    }
  }
}

static void check_name(const char *name, struct tide_err *err) {
  static const char *const rowids[] = {"rowid", "_rowid_", "oid"};
  if (*name == '\0')
    tide_err_set(err, SQLITE_ERROR, "a column's name is empty");
  for (int i = 0; i < TIDE_HIDDEN_COLUMNS; i++) {
    if (sqlite3_stricmp(name, tide_spec_hidden_name(i)) == 0)
      tide_err_set(err, SQLITE_ERROR, "column \"%w\" clashes with a hidden column", name);
  }
  for (size_t i = 0; i < sizeof rowids / sizeof *rowids; i++) {
    if (sqlite3_stricmp(name, rowids[i]) == 0)
      tide_err_set(err, SQLITE_ERROR, "column \"%w\" clashes with a name of the rowid", name);
  }
}

static int parse_column(struct tide_words *words, struct tide_column *ret_column, struct tide_literal *dflt,
                        struct tide_err *err) {
  struct tide_column column = {.partition_at = -1};
  const char *refused = refused_as(refused_table_constraints, &words->word);
  if (refused != NULL)
    tide_err_set(err, SQLITE_ERROR, "%s is not supported: expected a column or an option", refused);
  else if (words->word.kind != TIDE_WORD_BARE && words->word.kind != TIDE_WORD_QUOTED)
    tide_word_unexpected(&words->word, "a column's name", err);
  if (tide_err_is_set(err))
    return err->rc;
  column.name = tide_word_text(&words->word, err);
  if (column.name == NULL)
    return err->rc;
  check_name(column.name, err);
  if (!tide_err_is_set(err)) {
    tide_words_advance(words);
    parse_type(words, &column, err);
    parse_constraints(words, &column, dflt, err);
    tide_err_prefix(err, "column \"%w\"", column.name);
  }
  if (tide_err_is_set(err))
    tide_free(column.name);
  else
    *ret_column = column;
  return err->rc;
}

int tide_spec_parse_column(const char *text, struct tide_column *ret_column, struct tide_literal *ret_default,
                           struct tide_err *err) {
  struct tide_words words = tide_words_of(text);
  *ret_default = (struct tide_literal){0};
  return parse_column(&words, ret_column, ret_default, err);
}

/* ---- Options ---- */

struct parser {
  struct tide_spec *spec;
  size_t columns_cap;
  /* Options name columns that may follow them, so their values are read last. at is where it begins; NULL: not
   * given. */
  struct tide_words partition_by;
  struct tide_words options[TIDE_OPTIONS];
};

static bool is_given(const struct tide_words *value) {
  return value->word.at != NULL;
}

static bool value_is_one_word(struct tide_words words) {
  if (words.word.kind == TIDE_WORD_END)
    return false;
  tide_words_advance(&words);
  return words.word.kind == TIDE_WORD_END;
}

/* An option's whole value as text, without its quotes when it is one quoted word. The caller frees. */
static char *value_text(struct tide_words words, struct tide_err *err) {
  struct tide_word first = words.word;
  const char *end = first.at + first.size;
  const bool one = value_is_one_word(words);
  for (; words.word.kind != TIDE_WORD_END; tide_words_advance(&words))
    end = words.rest;
  return one ? tide_word_text(&first, err) : tide_copy_text(first.at, (size_t)(end - first.at), err);
}

static void unknown_option(const struct tide_word *word, struct tide_err *err) {
  char names[TIDE_OPTIONS_NAMES_SIZE];
  tide_options_names(names);
  tide_err_set(err, SQLITE_ERROR, "unknown option \"%.*w\": expected partition_by%s", (int)word->size, word->at, names);
}

/* words: the option's name is current, '=' follows. */
static void parse_option(struct parser *parser, struct tide_words words, struct tide_err *err) {
  const struct tide_word name = words.word;
  const struct tide_option_facts *facts = tide_options_find(name.at, name.size);
  struct tide_words *value = tide_word_is(&name, "partition_by") ? &parser->partition_by
                             : facts != NULL                     ? &parser->options[facts - tide_options_facts]
                                                                 : NULL;
  if (value == NULL || name.kind != TIDE_WORD_BARE) {
    unknown_option(&name, err);
    return;
  }
  if (is_given(value))
    tide_err_set(err, SQLITE_ERROR, "option %s is given twice", facts != NULL ? facts->name : "partition_by");
  tide_words_advance(&words);
  tide_words_advance(&words);
  *value = words;
}

static void set_option(struct parser *parser, const struct tide_option_facts *facts, struct tide_options *options,
                       struct tide_err *err) {
  const struct tide_words words = parser->options[facts - tide_options_facts];
  const bool null = tide_word_is(&words.word, "NULL") && value_is_one_word(words);
  char *text = value_text(words, err);
  if (text == NULL)
    return;
  const struct tide_val value = null ? tide_val_null() : tide_val_text(text, strlen(text));
  tide_options_set(options, facts, parser->spec, &value, err);
  tide_free(text);
}

static bool can_partition(enum tide_type type) {
  return tide_spec_stored_type(type) == TIDE_VAL_INT || type == TIDE_TYPE_TEXT;
}

static void add_partition_column(struct tide_spec *spec, const char *name, struct tide_err *err) {
  int found = tide_spec_find(spec, name, strlen(name));
  struct tide_column *column = found >= 0 ? &spec->columns[found] : NULL;
  if (column == NULL)
    tide_err_set(err, SQLITE_ERROR, "partition_by names \"%w\", which is no column", name);
  else if (column->partition_at >= 0)
    tide_err_set(err, SQLITE_ERROR, "partition_by names column \"%w\" twice", column->name);
  else if (!can_partition(column->type))
    tide_err_set(err, SQLITE_ERROR,
                 "partition_by names column \"%w\" of type %s: expected INTEGER, TEXT, BOOLEAN or a TIMESTAMP",
                 column->name, tide_spec_type_name(column->type));
  else if (spec->npartition == TIDE_SPEC_PARTITION_MAX)
    tide_err_set(err, SQLITE_ERROR, "partition_by names more than %d columns", TIDE_SPEC_PARTITION_MAX);
  if (tide_err_is_set(err))
    return;
  column->partition_at = (int)spec->npartition;
  spec->partition[spec->npartition++] = (size_t)found;
}

static void parse_partition_column(struct tide_spec *spec, struct tide_words *words, struct tide_err *err) {
  if (words->word.kind != TIDE_WORD_BARE && words->word.kind != TIDE_WORD_QUOTED)
    tide_word_unexpected(&words->word, "a column's name in partition_by", err);
  char *name = tide_err_is_set(err) ? NULL : tide_word_text(&words->word, err);
  if (name == NULL)
    return;
  add_partition_column(spec, name, err);
  tide_free(name);
  tide_words_advance(words);
}

/* partition_by = name, or (name, name ...) */
static void parse_partition_by(struct tide_spec *spec, struct tide_words words, struct tide_err *err) {
  spec->partition = tide_alloc_zero(TIDE_SPEC_PARTITION_MAX, sizeof *spec->partition, err);
  if (spec->partition == NULL)
    return;
  bool list = tide_word_is_byte(&words.word, '(');
  if (list)
    tide_words_advance(&words);
  if (list && tide_word_is_byte(&words.word, ')'))
    tide_err_set(err, SQLITE_ERROR, "partition_by is empty: expected a column's name or (name, name)");
  parse_partition_column(spec, &words, err);
  while (list && tide_word_is_byte(&words.word, ',') && !tide_err_is_set(err)) {
    tide_words_advance(&words);
    parse_partition_column(spec, &words, err);
  }
  if (tide_err_is_set(err))
    return;
  if (list && !tide_word_is_byte(&words.word, ')'))
    tide_word_unexpected(&words.word, "\",\" or \")\" in partition_by", err);
  if (list)
    tide_words_advance(&words);
  if (words.word.kind != TIDE_WORD_END)
    tide_word_unexpected(&words.word, "nothing behind partition_by's value", err);
}

/* ---- The whole ---- */

static void add_column(struct parser *parser, struct tide_words *words, struct tide_err *err) {
  struct tide_spec *spec = parser->spec;
  struct tide_column column;
  if (parse_column(words, &column, NULL, err) != 0)
    return;
  void *columns = spec->columns;
  if (tide_spec_find(spec, column.name, strlen(column.name)) >= 0)
    tide_err_set(err, SQLITE_ERROR, "column \"%w\" is named twice", column.name);
  else if (spec->ncolumns == TIDE_SPEC_COLUMNS_MAX)
    tide_err_set(err, SQLITE_ERROR, "more than %d columns", TIDE_SPEC_COLUMNS_MAX);
  else
    tide_grow(&columns, &parser->columns_cap, spec->ncolumns + 1, sizeof column, err);
  spec->columns = columns;
  if (tide_err_is_set(err))
    tide_free(column.name);
  else
    spec->columns[spec->ncolumns++] = column;
}

static void parse_argument(struct parser *parser, const char *text, struct tide_err *err) {
  struct tide_words words = tide_words_of(text);
  struct tide_words next = words;
  tide_words_advance(&next);
  if (words.word.kind == TIDE_WORD_END)
    tide_err_set(err, SQLITE_ERROR, "an empty argument: expected a column or an option");
  else if (tide_word_is_byte(&next.word, '='))
    parse_option(parser, words, err);
  else
    add_column(parser, &words, err);
}

static void read_options(struct parser *parser, struct tide_options *options, struct tide_err *err) {
  tide_options_init(options);
  if (is_given(&parser->partition_by) && !tide_err_is_set(err))
    parse_partition_by(parser->spec, parser->partition_by, err);
  for (int i = 0; i < TIDE_OPTIONS && !tide_err_is_set(err); i++) {
    if (is_given(&parser->options[i]))
      set_option(parser, &tide_options_facts[i], options, err);
  }
}

struct tide_spec *tide_spec_parse(int argc, const char *const *args, struct tide_options *ret_options,
                                  struct tide_err *err) {
  struct parser parser = {.spec = tide_alloc_zero(1, sizeof *parser.spec, err)};
  struct tide_options options;
  if (parser.spec == NULL)
    return NULL;
  parser.spec->refs = 1;
  for (int i = 0; i < argc && !tide_err_is_set(err); i++)
    parse_argument(&parser, args[i], err);
  if (parser.spec->ncolumns == 0)
    tide_err_set(err, SQLITE_ERROR, "no column: expected at least one, such as tidemark(body TEXT)");
  read_options(&parser, &options, err);
  if (tide_err_is_set(err)) {
    tide_spec_unref(parser.spec);
    return NULL;
  }
  *ret_options = options;
  return parser.spec;
}

bool tide_spec_parse_adopt(int argc, const char *const *args, struct tide_err *err) {
  for (int i = 0; i < argc; i++) {
    struct tide_words words = tide_words_of(args[i]);
    const bool adopt = tide_word_is(&words.word, "adopt");
    tide_words_advance(&words);
    if (!adopt || !tide_word_is_byte(&words.word, '='))
      continue;
    tide_words_advance(&words);
    if (words.word.size != 1 || *words.word.at != '1' || !value_is_one_word(words))
      tide_err_set(err, SQLITE_ERROR, "adopt is \"%.100w\": expected 1", words.word.at);
    else if (argc > 1)
      tide_err_set(err, SQLITE_ERROR,
                   "adopt=1 stands alone: columns and options are those of the tables that it takes up");
    return true;
  }
  return false;
}
