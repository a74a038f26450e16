/* Measuring against writing: row by row, an encoder's measure stops at the row with which writing gets beyond the
 * limit. */
#ifndef TIDE_TEST_MEASURE_H
#define TIDE_TEST_MEASURE_H

#include "sink/encoder.h"
#include "unit.h"

/* create makes an encoder each time it is called. Rows whose keep is 0 count for nothing. */
static void expect_measured_as_written(struct tide_encoder *(*create)(void), const struct tide_batch *batch,
                                       const uint8_t *keep) {
  struct tide_err err = {0};
  struct tide_buf out = {0};
  struct tide_encoder *writer = create();
  for (size_t row = 0; row < batch->rows; row++) {
    writer->methods->rows(writer, batch, row, 1, keep, &out, &err);
    if (keep[row] == 0 || row % 37 != 0)
      continue;
    for (uint64_t most = writer->encoded - 1; most <= writer->encoded; most++) {
      struct tide_encoder *measuring = create();
      const size_t half = batch->rows / 2;
      size_t over = measuring->methods->measure(measuring, batch, 0, half, keep, most, &err);
      if (over == half)
        over = measuring->methods->measure(measuring, batch, half, batch->rows - half, keep, most, &err);
      assert_ok(err);
      if (most == writer->encoded)
        ck_assert_uint_gt(over, row);
      else
        ck_assert_uint_eq(over, row);
      if (over == row)
        ck_assert_uint_eq(measuring->encoded, writer->encoded);
      tide_encoder_destroy(measuring);
    }
  }
  assert_ok(err);
  tide_encoder_destroy(writer);
  tide_buf_clear(&out);
}

#endif
