/* Frames of a column and the templates they refer to, with no checksum before them. What decodes gives the same values
 * again when only some rows are asked for.
 *
 *   u8   bit 0: integers alone are expected; bits 1 to 3: which rows are asked for, every so many
 *   u16  rows less 1
 *   u16  size of the templates, and these
 *   the frame, to the end */
#include <stdlib.h>
#include <string.h>

#include "codec/chunk.h"
#include "fuzz.h"
#include "values.h"

enum { ROWS_MAX = 4096, MEMORY = 120 << 20 };

/* For a bomb there is no memory; anything else that is wrong is damage. */
static void check_refusal(const struct tide_err *err, const uint8_t *bytes, size_t size) {
  if (err->rc != SQLITE_NOMEM || !fuzz_is_bomb(bytes, size, MEMORY / 4))
    fuzz_check_error(err, SQLITE_CORRUPT_VTAB, 0);
}

static void decode_values(struct tide_frame_decoder *decoder, const struct tide_template_book *book,
                          const uint8_t *bytes, size_t size, size_t rows, size_t every) {
  static uint64_t sums[ROWS_MAX];
  uint8_t wanted[ROWS_MAX];
  struct tide_err err = {0}, again = {0};
  struct tide_vec vec = {0};
  tide_frame_decode(decoder, book, bytes, size, rows, NULL, &vec, &err);
  check_refusal(&err, bytes, size);
  for (size_t row = 0; row < rows && err.rc == 0; row++) {
    const struct tide_val val = tide_vec_get(&vec, row);
    sums[row] = fuzz_sum(&val);
  }
  for (size_t row = 0; row < rows; row++)
    wanted[row] = row % (every + 1) == every;
  tide_frame_decode(decoder, book, bytes, size, rows, wanted, &vec, &again);
  check_refusal(&again, bytes, size);
  FUZZ_CHECK(err.rc != 0 || again.rc == 0);
  for (size_t row = every; row < rows && err.rc == 0; row += every + 1) {
    const struct tide_val val = tide_vec_get(&vec, row);
    FUZZ_CHECK(sums[row] == fuzz_sum(&val));
  }
  tide_vec_clear(&vec);
}

static void decode_ints(struct tide_frame_decoder *decoder, const uint8_t *bytes, size_t size, size_t rows) {
  struct tide_err err = {0};
  int64_t *values = malloc(rows * sizeof *values);
  uint64_t sum = 0;
  FUZZ_CHECK(values != NULL);
  tide_frame_decode_ints(decoder, bytes, size, rows, values, &err);
  check_refusal(&err, bytes, size);
  for (size_t row = 0; row < rows && err.rc == 0; row++)
    sum += (uint64_t)values[row];
  FUZZ_CHECK(err.rc == 0 || sum == 0);
  free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct tide_err err = {0};
  const uint8_t flags = fuzz_u8(&input);
  const size_t rows = 1 + fuzz_number(&input, ROWS_MAX - 1);
  size_t templates_size, frame_size;
  uint8_t *templates = fuzz_bytes(&input, fuzz_number(&input, UINT16_MAX), &templates_size);
  uint8_t *frame = fuzz_bytes(&input, input.left, &frame_size);
  fuzz_begin(MEMORY);
  struct tide_frame_decoder *decoder = tide_frame_decoder_create(&err);
  struct tide_template_book book = {0};
  if (templates_size > 0) {
    tide_frame_decode_templates(decoder, templates, templates_size, &book, &err);
    fuzz_check_error(&err, SQLITE_CORRUPT_VTAB, 0);
  }
  if (flags & 1)
    decode_ints(decoder, frame, frame_size, rows);
  else
    decode_values(decoder, err.rc == 0 && book.count > 0 ? &book : NULL, frame, frame_size, rows, flags >> 1 & 7);
  tide_template_book_clear(&book);
  tide_frame_decoder_destroy(decoder);
  fuzz_end();
  free(templates);
  free(frame);
  return 0;
}
