#include "model/literal.h"

#include <string.h>

#include "base/sqlite.h"

static size_t digits(const char *at) {
  return strspn(at, "0123456789");
}

static size_t exponent(const char *at) {
  if (*at != 'e' && *at != 'E')
    return 0;
  const size_t sign = at[1] == '+' || at[1] == '-';
  const size_t n = digits(at + 1 + sign);
  return n > 0 ? 1 + sign + n : 0;
}

/* How many bytes of the text are a number; 0: it does not begin with one. */
static size_t number_size(const char *text) {
  const char *at = text + (*text == '+' || *text == '-');
  if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
    const size_t n = strspn(at + 2, "0123456789abcdefABCDEF");
    return n > 0 ? (size_t)(at - text) + 2 + n : 0;
  }
  const size_t whole = digits(at);
  at += whole;
  const size_t fraction = *at == '.' ? digits(at + 1) : 0;
  if (whole + fraction == 0)
    return 0;
  if (*at == '.')
    at += 1 + fraction;
  return (size_t)(at - text) + exponent(at);
}

/* x'00': an even number of hexadecimal digits. */
static size_t blob_size(const char *text) {
  if ((*text != 'x' && *text != 'X') || text[1] != '\'')
    return 0;
  const size_t n = strspn(text + 2, "0123456789abcdefABCDEF");
  return n % 2 == 0 && text[2 + n] == '\'' ? n + 3 : 0;
}

static bool is_name(const struct tide_word *word) {
  return tide_word_is(word, "NULL") || tide_word_is(word, "TRUE") || tide_word_is(word, "FALSE");
}

/* A word goes on behind the constant: 1a, 1.2.3 */
static bool goes_on(char c) {
  return strchr(" \t\n\v\f\r-/", c) == NULL;
}

void tide_literal_take(struct tide_words *words, const char *where, struct tide_literal *ret_literal,
                       struct tide_err *err) {
  char expected[120];
  const struct tide_word *word = &words->word;
  size_t size = 0;
  if (word->kind == TIDE_WORD_STRING || is_name(word))
    size = word->size;
  else if (word->kind == TIDE_WORD_BARE)
    size = blob_size(word->at);
  else if (word->kind == TIDE_WORD_NUMBER || word->kind == TIDE_WORD_OTHER)
    size = number_size(word->at);
  if (size == 0 || goes_on(word->at[size])) {
    sqlite3_snprintf(sizeof expected, expected, "a constant %s: a number, 'text', x'00', NULL, TRUE or FALSE", where);
    tide_word_unexpected(word, expected, err);
    return;
  }
  *ret_literal = (struct tide_literal){word->at, size};
  words->rest = word->at + size;
  tide_words_advance(words);
}
