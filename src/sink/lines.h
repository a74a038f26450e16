/* An encoder that writes each row as a line of text: what stands before a column's value is the same in every row, and
 * so are the values of partition columns. The bytes of all lines are counted, hashed and, if wanted, compressed. A
 * format says how names and values look. */
#ifndef TIDE_SINK_LINES_H
#define TIDE_SINK_LINES_H

#include "sink/encoder.h"

/* Each appends to `out`, and sets *altered when the format cannot hold what it was given. */
struct tide_line_style {
  /* What stands before the value of a column. */
  void (*put_before)(struct tide_buf *out, const char *name, bool first, bool *altered, struct tide_err *err);
  /* iso: the values of TIMESTAMP types as text. */
  void (*put_value)(struct tide_buf *out, enum tide_type type, bool iso, const struct tide_val *val, bool *altered,
                    struct tide_err *err);
  const char *end; /* behind the last value: a row's end */
  /* The column's part of a line before all others, which is closed by `end` too. NULL: the format has no such line. It
   * belongs to the bytes of the first row: an object without rows has none. */
  void (*put_title)(struct tide_buf *out, const char *name, bool first, bool *altered, struct tide_err *err);
};

/* style outlives the encoder. */
struct tide_encoder *tide_lines_create(const struct tide_line_style *style, const struct tide_encoder_config *config,
                                       bool compressed, struct tide_err *err);

/* For put_value: appends a timestamp as text and gives true, or appends nothing when it has no such text (iso_time.h),
 * which sets *altered. */
bool tide_lines_put_time(struct tide_buf *out, enum tide_type type, int64_t value, bool *altered, struct tide_err *err);

/* hash_object of tide_format, for objects whose bytes are the encoded ones, and for compressed ones. */
int tide_lines_hash_plain(long (*read)(void *context, void *into, size_t size, struct tide_err *err), void *context,
                          char ret_hash[TIDE_ENCODER_HASH_SIZE], struct tide_err *err);
int tide_lines_hash_compressed(long (*read)(void *context, void *into, size_t size, struct tide_err *err),
                               void *context, char ret_hash[TIDE_ENCODER_HASH_SIZE], struct tide_err *err);

#endif
