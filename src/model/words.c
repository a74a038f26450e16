#include "model/words.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"

static bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         (unsigned char)c > 0x7F;
}

static const char *skip_blanks(const char *at) {
  for (;;) {
    if (*at == ' ' || (*at >= '\t' && *at <= '\r')) {
      at++;
    } else if (at[0] == '-' && at[1] == '-') {
      at += strcspn(at, "\n");
    } else if (at[0] == '/' && at[1] == '*') {
      const char *end = strstr(at + 2, "*/");
      at = end != NULL ? end + 2 : at + strlen(at);
    } else {
      return at;
    }
  }
}

/* The end of a quoted word; a doubled quote is one of its bytes, but [] knows no doubling. NULL when there is
 * none. */
static const char *quoted_end(const char *at) {
  char close = *at == '[' ? ']' : *at;
  for (at++; *at != '\0'; at++) {
    if (*at != close)
      continue;
    if (close == ']' || at[1] != close)
      return at + 1;
    at++;
  }
  return NULL;
}

void tide_words_advance(struct tide_words *words) {
  const char *at = skip_blanks(words->rest);
  const char *end = at;
  enum tide_word_kind kind = TIDE_WORD_OTHER;
  if (*at == '\0') {
    kind = TIDE_WORD_END;
  } else if (strchr("\"[`'", *at) != NULL) {
    kind = *at == '\'' ? TIDE_WORD_STRING : TIDE_WORD_QUOTED;
    end = quoted_end(at);
    if (end == NULL) {
      kind = TIDE_WORD_OPEN;
      end = at + strlen(at);
    }
  } else if (is_word_byte(*at)) {
    kind = *at >= '0' && *at <= '9' ? TIDE_WORD_NUMBER : TIDE_WORD_BARE;
    while (is_word_byte(*end))
      end++;
  } else {
    end = at + 1;
  }
  words->word = (struct tide_word){kind, at, (size_t)(end - at)};
  words->rest = end;
}

struct tide_words tide_words_of(const char *text) {
  struct tide_words words = {.rest = text};
  tide_words_advance(&words);
  return words;
}

bool tide_word_is(const struct tide_word *word, const char *keyword) {
  return word->kind == TIDE_WORD_BARE && strlen(keyword) == word->size &&
         sqlite3_strnicmp(word->at, keyword, (int)word->size) == 0;
}

bool tide_word_is_byte(const struct tide_word *word, char c) {
  return word->kind == TIDE_WORD_OTHER && *word->at == c;
}

/* What the word says, without its quotes. The caller frees. */
char *tide_word_text(const struct tide_word *word, struct tide_err *err) {
  if (word->kind != TIDE_WORD_QUOTED && word->kind != TIDE_WORD_STRING)
    return tide_copy_text(word->at, word->size, err);
  char *text = tide_copy_text(word->at + 1, word->size - 2, err);
  if (text == NULL || *word->at == '[')
    return text;
  char *to = text;
  for (const char *from = text; *from != '\0'; from++) {
    *to++ = *from;
    if (*from == *word->at)
      from++; /* the second of a doubled quote */
  }
  *to = '\0';
  return text;
}

void tide_word_unexpected(const struct tide_word *word, const char *expected, struct tide_err *err) {
  if (word->kind == TIDE_WORD_END)
    tide_err_set(err, SQLITE_ERROR, "expected %s, found the end", expected);
  else if (word->kind == TIDE_WORD_OPEN)
    tide_err_set(err, SQLITE_ERROR, "the quote that opens %.*s is not closed", (int)word->size, word->at);
  else
    tide_err_set(err, SQLITE_ERROR, "unexpected \"%.*w\": expected %s", (int)word->size, word->at, expected);
}
