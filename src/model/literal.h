/* A constant in DDL, as SQLite writes it: a number with or without a sign (1, -2.5e3, 0x1F), 'text', x'00', NULL, TRUE
 * or FALSE. Only where it begins and ends is known here: what it says is SQLite's to tell, and no other SQL can hide in
 * it. */
#ifndef TIDE_MODEL_LITERAL_H
#define TIDE_MODEL_LITERAL_H

#include "model/words.h"

struct tide_literal {
  const char *at; /* a view into the words' text */
  size_t size;    /* 0: there is none */
};

/* Takes the constant at the current word and goes behind it. An error names what stands there instead, and where a
 * constant was expected ("behind DEFAULT"). */
void tide_literal_take(struct tide_words *words, const char *where, struct tide_literal *ret_literal,
                       struct tide_err *err);

#endif
