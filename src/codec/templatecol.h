/* A section of texts as templates (template_book.h) and the numbers that stand in them. A frame numbers the templates
 * it uses anew, from 1: its locals. A token varies in a frame when it is not what it is in the template's text in every
 * row of the local; only those have numbers.
 *
 *   (kind)      TIDE_TEXTCOL_TEMPLATES, which textcol.c reads
 *   varint      number of locals m, 1 or more
 *   varint      rows from which on a local's numbers have sections of their own, 1 or more
 *   intcol      n rows, each its local; 0: its text is among the others below
 *   intcol      m templates, ascending
 *   intcol      m sets of tokens that vary, bit 0 the first token
 *   padding     for each local and varying token that is no half of a UUID
 *                 u8  the size in characters, 1 to 19 of DIGITS, 1 to 16 of HEX, that leading zeros fill up to; a
 *                     longer value has none; 0: each one's size is below
 *   numbers     for each local of that many rows or more, for each varying token, intcol of its rows' values
 *               for each group that occurs, of the other locals' tokens of one kind and size in the template's text,
 *               intcol of their values, row by row and in a row token by token
 *                 groups: DIGITS of 1 to 19, HEX of 1 to 16 characters, UUID_HEAD, UUID_TAIL, in this order
 *   sizes       when a padding is 0, intcol of those tokens' sizes, row by row and in a row token by token
 *   others      when a row is 0, text section (PLAIN or DICTIONARY) of those rows
 *
 * A section has at most TIDE_TEMPLATECOL_ROWS_MAX rows, and a template's text and list are bounded, so that a small
 * frame never gives more than 72 MiB of text. */
#ifndef TIDE_CODEC_TEMPLATECOL_H
#define TIDE_CODEC_TEMPLATECOL_H

#include "codec/slice.h"
#include "codec/template_book.h"
#include "codec/template_set.h"

enum { TIDE_TEMPLATECOL_ROWS_MAX = 4096, TIDE_TEMPLATECOL_GROUPS = 37 };

/* The group of a token's numbers. */
static inline unsigned tide_templatecol_group(unsigned kind, unsigned size) {
  if ((kind & 3) == TIDE_TOKEN_DIGITS)
    return size - 1;
  return (kind & 3) == TIDE_TOKEN_HEX ? TIDE_TOKEN_DIGITS_MAX + size - 1 : 33 + (kind & 3);
}

/* ---- writing (templatecol_write.c) ---- */

/* What a frame is taken apart into; memory that is used again. All zero is empty. */
struct tide_templatecol_scratch {
  struct tide_token *tokens; /* of all rows */
  size_t tokens_cap;
  struct tide_templatecol_row *rows;
  size_t rows_cap;
  struct tide_templatecol_local *locals;
  size_t locals_cap;
  struct tide_templatecol_place *places;
  size_t places_cap;
  int64_t *numbers;
  size_t numbers_cap;
  struct tide_slice *others; /* rows of no local */
  size_t nothers, others_cap;
};
void tide_templatecol_scratch_clear(struct tide_templatecol_scratch *scratch);

/* Appends the section behind its kind, up to the others, which are left in scratch->others. False when few of the texts
 * have a template, or err is set: the body is then as it was, and the set to be undone. */
bool tide_templatecol_write(struct tide_templatecol_scratch *scratch, struct tide_trial *trial,
                            struct tide_template_set *set, const struct tide_slice *slices, size_t n,
                            struct tide_body *body, struct tide_err *err);

/* ---- reading (templatecol_read.c) ---- */

/* What a section says before its others, and memory that is used again. All zero is empty. */
struct tide_templatecol {
  size_t others; /* rows whose text is among them */
  struct tide_templatecol_piece *pieces;
  size_t pieces_cap;
  struct tide_templatecol_text *locals;
  size_t nlocals, locals_cap;
  int64_t *locals_of; /* by row */
  size_t rows_cap;
  int64_t *numbers;
  size_t numbers_cap;
  int64_t *sizes;
  size_t nsizes, sizes_cap;
  uint32_t cursors[TIDE_TEMPLATECOL_GROUPS]; /* where the next number of a group is */
};
void tide_templatecol_clear(struct tide_templatecol *column);

/* Reads a section of n rows behind its kind, up to the others. wanted, by row: 0 where no text is asked for; NULL: all
 * are. Damage sets rd->sections.bad. Returns 0 or the code. */
int tide_templatecol_read(struct tide_templatecol *column, const struct tide_template_book *book,
                          struct tide_body_rd *rd, size_t n, const uint8_t *wanted, struct tide_err *err);

/* The most bytes that the texts of its rows that are asked for take, the others' aside. */
size_t tide_templatecol_size_max(const struct tide_templatecol *column);

/* wanted, as the section was read: texts that are not asked for may come out empty.
 * Builds the texts behind `len` in a buffer that has room for them and TIDE_TEMPLATE_SLACK more, and says where they
 * lie in it. Rows that are among the others take the next of those, which lie there already. Damage gives false. */
bool tide_templatecol_build(struct tide_templatecol *column, size_t n, const uint8_t *wanted, struct tide_buf *bytes,
                            const int64_t *others_offsets, const uint32_t *others_sizes, int64_t *ret_offsets,
                            uint32_t *ret_sizes);

#endif
