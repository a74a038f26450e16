/* A section of texts and blobs (their bytes; which is which the tags say): plain, with each different one once, or as
 * templates and numbers.
 *
 *   byte 0      kind
 *   PLAIN       intcol of n lengths, then the bytes of all, one behind the other
 *   DICTIONARY  varint number of entries, intcol of their lengths, their bytes, intcol of n indexes from 0
 *   TEMPLATES   templatecol.h
 *   INDEXED     varint number of entries, intcol of n indexes from 0, TEMPLATES section of the entries, with
 *               its kind
 *
 * Entries stand in the order of their first use. The last two are of format version 2. */
#ifndef TIDE_CODEC_TEXTCOL_H
#define TIDE_CODEC_TEXTCOL_H

#include "codec/templatecol.h"
#include "codec/trial.h"

enum tide_textcol_kind {
  TIDE_TEXTCOL_PLAIN = 0,
  TIDE_TEXTCOL_DICTIONARY = 1,
  TIDE_TEXTCOL_TEMPLATES = 2,
  TIDE_TEXTCOL_INDEXED = 3
};

/* ---- writing (textcol_write.c) ---- */

/* Memory that is used again. All zero is empty. */
struct tide_textcol_scratch {
  uint32_t *slots; /* of a hash table: number of an entry + 1, 0 is free */
  size_t slots_cap;
  uint32_t *entries; /* for each entry the number of the slice it was first seen as */
  size_t entries_cap;
  int64_t *indexes; /* for each slice its entry */
  size_t indexes_cap;
  int64_t *lengths;
  size_t lengths_cap;
  struct tide_slice *slices; /* of entries */
  size_t slices_cap;
  struct tide_templatecol_scratch templates;
  struct tide_body other; /* the other way to lay the section out */
};
void tide_textcol_scratch_clear(struct tide_textcol_scratch *scratch);

/* Appends the section of n slices, 1 to 2^20 of them. With a set, templates are tried; the trial tells whether they are
 * smaller. */
void tide_textcol_write(struct tide_textcol_scratch *scratch, struct tide_trial *trial, struct tide_template_set *set,
                        const struct tide_slice *slices, size_t n, struct tide_body *body, struct tide_err *err);

/* ---- reading (textcol_read.c) ---- */

/* Memory that is used again. All zero is empty. */
struct tide_textcol_reader {
  struct tide_templatecol templates;
  int64_t *entries; /* where entries lie, and the end of the last */
  size_t entries_cap;
  uint32_t *sizes;
  size_t sizes_cap;
  int64_t *others; /* the same of texts without a template */
  size_t others_cap;
  uint32_t *others_sizes;
  size_t others_sizes_cap;
};
void tide_textcol_reader_clear(struct tide_textcol_reader *reader);

/* Reads a section of n slices, n at least 1: value i has ret_sizes[i] bytes at ret_offsets[i] of bytes->data, in which
 * the sections of rd lie and behind which texts are built, so that it may move. book: the column's templates, NULL when
 * it has none. wanted, by slice: 0 where it is not asked for, and may come out empty; NULL: all are. Damage sets
 * rd->sections.bad; what was read is then worthless. Returns 0 or the code. */
int tide_textcol_read(struct tide_textcol_reader *reader, const struct tide_template_book *book,
                      struct tide_body_rd *rd, size_t n, const uint8_t *wanted, struct tide_buf *bytes,
                      int64_t *ret_offsets, uint32_t *ret_sizes, struct tide_err *err);

#endif
