/* The templates of a column in a segment, as its frames share them: a section of its own in the column's chunk.
 *
 *   varint number of templates n, 1 to 16,384
 *   intcol sizes of n texts              0 to 16,384 each
 *   intcol sizes of n lists of tokens
 *   n lists of tokens, each token
 *       varint bytes of text since the token before ended
 *       u8     size << 3 | kind          (token.h); size 1 to 19 of DIGITS, 1 to 16 of HEX, 18 of halves of UUIDs
 *   n texts, together 256 KiB at the most
 *
 * A template is a text that was there, and where its tokens are. A row of it is that text with some of its tokens
 * replaced; those that never vary are part of the text. It has at most 64 tokens. */
#ifndef TIDE_CODEC_TEMPLATE_BOOK_H
#define TIDE_CODEC_TEMPLATE_BOOK_H

#include "codec/body.h"

/* The section is read as a whole before the first frame that needs it. */
enum {
  TIDE_TEMPLATES_MAX = 16384,
  TIDE_TEMPLATES_SIZE_MAX = 256 << 10, /* of the texts */
  TIDE_TEMPLATE_TEXT_MAX = 16384,
  TIDE_TEMPLATE_LIST_MAX = 256, /* bytes: 64 tokens of a varint below 2^21 and a byte */
  TIDE_TEMPLATES_SECTION_MAX =  /* of the whole section: texts, lists, and the sizes of both in eight bytes each */
  TIDE_TEMPLATES_SIZE_MAX + TIDE_TEMPLATES_MAX * (TIDE_TEMPLATE_LIST_MAX + 2 * 8) + 1024,
  TIDE_TEMPLATE_SLACK = 16 /* readable bytes behind the last text, so that short copies need not be exact */
};

struct tide_template_book {
  struct tide_buf bytes; /* the section, and TIDE_TEMPLATE_SLACK bytes */
  size_t count;
  uint32_t *lists_at; /* count + 1: where the lists of tokens begin and end, in bytes */
  uint32_t *texts_at; /* count + 1 */
};

/* Parses a section's body, which lies in book->bytes with `bits` beside it; what is in the lists is checked by who
 * reads them. Damage is SQLITE_CORRUPT_VTAB. Returns 0 or the code; the book can then only be cleared. */
int tide_template_book_parse(struct tide_template_book *book, struct tide_rd bits, struct tide_err *err);
void tide_template_book_clear(struct tide_template_book *book); /* all zero is fine */

#endif
