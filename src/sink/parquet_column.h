/* A column of a Parquet file: what its rows' values become in the leaf (enc_parquet.c has the table of types), and how
 * many bytes they count for. */
#ifndef TIDE_SINK_PARQUET_COLUMN_H
#define TIDE_SINK_PARQUET_COLUMN_H

#include "model/batch.h"
#include "model/spec.h"
#include "sink/parquet_file.h"

struct tide_parquet_column {
  const char *name;
  size_t name_at; /* well-formed, in the encoder's names */
  int source; /* index of a column of the batch, TIDE_ENCODER_SINCE or TIDE_ENCODER_INGESTED_AT; when not constant */
  enum tide_type type;
  int scale; /* of a timestamp: what the number is times */
  bool required;
  bool constant; /* the same value in the whole object */
  bool constant_altered;
  struct tide_val value; /* the constant as the format has it: i, also the bits of a REAL; the encoder's own bytes */
  struct tide_parquet_leaf *leaf;
};

/* Rows of a batch on their way. */
enum { TIDE_PARQUET_BLOCK_ROWS = 1024 };
struct tide_parquet_block {
  const struct tide_batch *batch;
  size_t rows;
  uint32_t row[TIDE_PARQUET_BLOCK_ROWS];     /* their numbers in the batch */
  uint64_t weight[TIDE_PARQUET_BLOCK_ROWS];  /* of each row's values in the batch */
  uint64_t encoded[TIDE_PARQUET_BLOCK_ROWS]; /* of each row, as encoder->encoded counts it */
  bool altered[TIDE_PARQUET_BLOCK_ROWS];     /* a value became another one */
  /* of the column at hand, as tide_parquet_put_flat takes them */
  uint8_t present[TIDE_PARQUET_BLOCK_ROWS];
  int64_t number[TIDE_PARQUET_BLOCK_ROWS];
};

/* Whether the type's values are byte strings in the file. */
bool tide_parquet_column_is_bytes(enum tide_type type);

/* Appends the bytes that stand for a value that is not NULL in a column of byte strings. Sticky in err. */
void tide_parquet_put_value(enum tide_type type, const struct tide_val *val, struct tide_buf *out,
                            struct tide_buf *scratch, bool *altered, struct tide_err *err);

/* The number that stands for an integer of the column; false when it has no room. */
static inline bool tide_parquet_column_scale(const struct tide_parquet_column *column, int64_t *number) {
  return column->scale <= 1 || !__builtin_mul_overflow(*number, column->scale, number);
}

/* Says in present and number what the column's values become, appends those that are byte strings to `bytes`, and adds
 * to encoded and altered of each row. A NULL that the column cannot hold, or a value that is not of its type, is
 * SQLITE_CORRUPT_VTAB. Sticky in err. */
void tide_parquet_column_take(const struct tide_parquet_column *column, struct tide_parquet_block *block,
                              struct tide_buf *bytes, struct tide_buf *scratch, struct tide_err *err);

#endif
