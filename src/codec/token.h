/* The parts of a text that change from row to row of a log: runs of digits, words of hexadecimal digits, UUIDs. What is
 * left when they are taken out is the text's template.
 *
 *   DIGITS     a run of decimal digits; one of more than 19 is cut into tokens of 19 and a rest
 *   HEX        a word (letters and digits of ASCII, nothing else beside them) of 6 or more hexadecimal digits, letters
 *              and digits among them, all letters of one case; more than 16 are cut into tokens of 16 and a rest
 *   UUID_HEAD  the first half of a UUID, "xxxxxxxx-xxxx-xxxx", and
 *   UUID_TAIL  the second one, "-xxxx-xxxxxxxxxxxx", all letters of one case
 *
 * Only the writer looks for them. What it found is stored, so that a later one may look in other ways. */
#ifndef TIDE_CODEC_TOKEN_H
#define TIDE_CODEC_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tide_token_kind {
  TIDE_TOKEN_DIGITS = 0,
  TIDE_TOKEN_HEX = 1,
  TIDE_TOKEN_UUID_HEAD = 2,
  TIDE_TOKEN_UUID_TAIL = 3,
  TIDE_TOKEN_UPPER = 4, /* a bit beside the last three: the letters are A to F */
  TIDE_TOKEN_KINDS = 8
};
enum { TIDE_TOKEN_DIGITS_MAX = 19, TIDE_TOKEN_HEX_MAX = 16, TIDE_TOKEN_UUID_SIZE = 18, TIDE_TOKENS_MAX = 64 };

struct tide_token {
  uint64_t value; /* 64 bits of a half of a UUID */
  uint32_t at;    /* where it begins in the text */
  uint8_t size;   /* its characters, leading zeros among them */
  uint8_t kind;   /* enum tide_token_kind */
  bool padded;    /* DIGITS or HEX that begin with a 0 and are more than that */
};

/* The first TIDE_TOKENS_MAX tokens of a text of less than 4 GiB, in their order; gives their number. */
size_t tide_token_find(const unsigned char *text, size_t size, struct tide_token *ret_tokens);

/* The characters a value takes without leading zeros, 1 or more; of a half of a UUID always TIDE_TOKEN_UUID_SIZE. */
unsigned tide_token_natural_size(unsigned kind, uint64_t value);

/* Writes a value as a token of a kind in `size` characters, its natural size or more. */
void tide_token_print(unsigned kind, uint64_t value, unsigned size, unsigned char *out);

#endif
