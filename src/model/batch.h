/* Rows by column: the one shape that passes between scan, cursor, seal, compaction and encoders.
 *
 * A batch has `rows` rows of `ncolumns` columns, and for each row its since and ingested_at. A column holds, for
 * each row, a tag (enum tide_val_type) and a number:  INT the value; REAL the bits of the double; TEXT and BLOB the
 * offset into `base`, with the size in size[row]; NULL 0. `base` is either the column's own bytes.data or memory
 * somebody else owns (a decoded dictionary, say). A column that was never decoded or appended to has tag NULL; who
 * decodes column by column keeps track of which are done.
 *
 * Life: all zero; init; any number of appends, or a decoder that fills columns after tide_batch_reserve; reset to
 * use again; clear. */
#ifndef TIDE_MODEL_BATCH_H
#define TIDE_MODEL_BATCH_H

#include "base/buf.h"
#include "model/val.h"

struct tide_vec {
  uint8_t *tag;
  int64_t *num;
  uint32_t *size;
  const unsigned char *base; /* where TEXT and BLOB offsets count from */
  struct tide_buf bytes;     /* owned storage for them; base follows it on append */
  size_t cap;                /* rows that tag, num and size have room for */
};

struct tide_batch {
  size_t rows;
  size_t ncolumns;
  int64_t *since;
  int64_t *ingested_at;
  size_t cap; /* rows that since and ingested_at have room for */
  struct tide_vec *columns;
  uint64_t raw_bytes; /* of the appended rows: 8 a number, the size of a text or blob, 1 a NULL, 16 a row */
};

int tide_batch_init(struct tide_batch *batch, size_t ncolumns, struct tide_err *err);
void tide_batch_reset(struct tide_batch *batch); /* no rows; memory kept; columns own their bytes again */
void tide_batch_clear(struct tide_batch *batch);
size_t tide_batch_memory(const struct tide_batch *batch); /* what it has, rows or not, in bytes */

/* Appends a row: values has ncolumns entries, copied. On failure the batch has the rows it had. Returns 0 or the
 * code. */
int tide_batch_append(struct tide_batch *batch, int64_t since, int64_t ingested_at, const struct tide_val *values,
                      struct tide_err *err);

/* Appends rows first to first + rows - 1 of another batch of as many columns, copied; columns of it that were not
 * decoded become NULL. On failure the batch has the rows it had. Returns 0 or the code. */
int tide_batch_append_rows(struct tide_batch *batch, const struct tide_batch *from, size_t first, size_t rows,
                           struct tide_err *err);

/* What appending those rows of a batch would add to raw_bytes. */
uint64_t tide_batch_raw_bytes(const struct tide_batch *batch, size_t first, size_t rows);

/* Room in one column for `rows` rows in all (tag, num, size); in since and ingested_at. For decoders. */
int tide_vec_reserve(struct tide_vec *vec, size_t rows, struct tide_err *err);
int tide_batch_reserve(struct tide_batch *batch, size_t rows, struct tide_err *err);
void tide_vec_clear(struct tide_vec *vec);

/* A view of one value, valid until the batch changes. A column that was not decoded reads NULL. */
static inline struct tide_val tide_vec_get(const struct tide_vec *vec, size_t row) {
  struct tide_val val = {.type = vec->tag != NULL ? vec->tag[row] : TIDE_VAL_NULL};
  switch (val.type) {
  case TIDE_VAL_INT:
    val.i = vec->num[row];
    break;
  case TIDE_VAL_REAL:
    val.r = tide_real_of_bits(vec->num[row]);
    break;
  case TIDE_VAL_TEXT:
  case TIDE_VAL_BLOB:
    val.n = vec->size[row];
    val.p = val.n > 0 ? vec->base + vec->num[row] : (const void *)"";
    break;
  default:
    break;
  }
  return val;
}

/* The byte behind a TEXT that lies in memory of the column's own: a caller may change it, and puts back what was, for
 * it may be the first of another value. NULL: it is no TEXT, or lies elsewhere, or up to the end. */
static inline char *tide_vec_behind_text(struct tide_vec *vec, size_t row) {
  if (vec->tag[row] != TIDE_VAL_TEXT || vec->base != vec->bytes.data ||
      (size_t)vec->num[row] + vec->size[row] >= vec->bytes.cap)
    return NULL;
  return (char *)vec->bytes.data + vec->num[row] + vec->size[row];
}

#endif
