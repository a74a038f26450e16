/* The words of one argument of CREATE VIRTUAL TABLE, cut as SQLite's tokenizer cuts them. Blanks and comments (-- to
 * the end of the line, and C's) lie between words. Everything is a view into the argument, which ends with a NUL. */
#ifndef TIDE_MODEL_WORDS_H
#define TIDE_MODEL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum tide_word_kind {
  TIDE_WORD_END,
  TIDE_WORD_BARE,   /* letters, digits, _ and $, and bytes above 0x7F; not a digit first */
  TIDE_WORD_NUMBER, /* the same, a digit first */
  TIDE_WORD_QUOTED, /* "a", [a] or `a` */
  TIDE_WORD_STRING, /* 'a' */
  TIDE_WORD_OPEN,   /* a quote without its end */
  TIDE_WORD_OTHER   /* any other single byte */
};

struct tide_word {
  enum tide_word_kind kind;
  const char *at;
  size_t size;
};

/* A copy of it is a place to come back to. */
struct tide_words {
  const char *rest;      /* behind the current word */
  struct tide_word word; /* the current one */
};

/* At the first word of the text. */
struct tide_words tide_words_of(const char *text);
void tide_words_advance(struct tide_words *words);

/* Whether it is that bare word, ASCII case ignored; that single byte. */
bool tide_word_is(const struct tide_word *word, const char *keyword);
bool tide_word_is_byte(const struct tide_word *word, char c);

/* What the word says, without its quotes. NULL with err set; the caller frees. */
char *tide_word_text(const struct tide_word *word, struct tide_err *err);

/* Sets the error "unexpected ...: expected ...", or what is wrong with an open quote. */
void tide_word_unexpected(const struct tide_word *word, const char *expected, struct tide_err *err);

#endif
