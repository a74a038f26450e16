/* The values of a page in the layout that is likely to be smallest when it is compressed. The choice is by the values
 * alone, never by what zstd makes of them:
 *
 *   byte strings   with a dictionary while that, entries and indexes at the layout's weight, takes less room than the
 *                  plain ones: zstd sees no further than a page, so the entries of a dictionary are found again where
 *                  it finds nothing
 *   numbers        plain, as deltas (integers), or with a dictionary, whichever a rough guess of an LZ compressor's
 *                  output says; deltas and indexes are taken as they are, since packed bits hardly shrink
 *   booleans       plain, eight a byte */
#ifndef TIDE_SINK_PARQUET_VALUES_H
#define TIDE_SINK_PARQUET_VALUES_H

#include "sink/parquet_dict.h"
#include "sink/parquet_encoding.h"
#include "sink/parquet_layout.h"
#include "sink/parquet_schema.h"

/* A view. */
struct tide_parquet_values {
  const struct tide_parquet_layout *layout;
  enum tide_parquet_type type;
  size_t n;
  const int64_t *numbers;     /* integers, the bits of doubles, the sizes of byte strings */
  const unsigned char *bytes; /* the byte strings, one behind the other */
  size_t nbytes;
};

/* Memory that is used again. All zero is fine. */
struct tide_parquet_scratch {
  struct tide_buf layout;
  uint64_t *indexes;
  size_t indexes_cap;
  uint32_t *recent;
};
void tide_parquet_scratch_clear(struct tide_parquet_scratch *scratch);

/* Room for n numbers in scratch->indexes. Returns 0 or the code. */
int tide_parquet_scratch_reserve(struct tide_parquet_scratch *scratch, size_t n, struct tide_err *err);

/* Appends the values as PLAIN has them. Sticky in err. */
void tide_parquet_put_plain(const struct tide_parquet_values *values, struct tide_buf *out, struct tide_err *err);

/* Appends the values' layout and names it. The dictionary gains entries only when its indexes are what is appended;
 * otherwise *dict_refused is set, and with it set no dictionary is tried. Sticky in err. */
enum tide_parquet_encoding tide_parquet_put_values(const struct tide_parquet_values *values,
                                                   struct tide_parquet_dict *dict, bool *dict_refused,
                                                   struct tide_parquet_scratch *scratch, struct tide_buf *out,
                                                   struct tide_err *err);

#endif
