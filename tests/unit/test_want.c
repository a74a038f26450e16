/* A frame of which only some rows are asked for: those come out whole, and work for the others is saved. */
#include <stdio.h>

#include "base/sqlite.h"
#include "segment_rows.h"

enum { ROWS = 5000 };

/* Texts of a few templates, with numbers of one width and of several, and some of none. */
static struct tide_val text_of(char *out, size_t size, size_t row) {
  static const char *const widths[] = {"%u", "%04u", "%07u"};
  char number[16];
  snprintf(number, sizeof number, widths[next_random() % 3], (unsigned)(next_random() % 5000));
  if (row % 11 == 0)
    snprintf(out, size, "%c%c%c alone", 'a' + (int)(next_random() % 26), 'a' + (int)(next_random() % 26),
             'a' + (int)(next_random() % 26));
  else if (row % 3 == 0)
    snprintf(out, size, "user %s from 10.0.%u.%u took %u ms", number, (unsigned)(next_random() % 256),
             (unsigned)(next_random() % 256), (unsigned)(next_random() % 100000));
  else if (row % 3 == 1)
    snprintf(out, size, "id %08x%08x of block %s", (unsigned)next_random(), (unsigned)next_random(), number);
  else
    snprintf(out, size, "nothing varies here");
  return tide_val_text(out, strlen(out));
}

static struct tide_batch rows_of_templates(void) {
  struct tide_err err = {0};
  struct tide_batch batch;
  random_seed = 7;
  tide_batch_init(&batch, COLUMNS, &err);
  for (size_t row = 0; row < ROWS; row++) {
    char text[200], other[200];
    struct tide_val values[COLUMNS] = {[PART] = tide_val_text("web", 3), [TEXT] = text_of(text, sizeof text, row)};
    if (row % 9 != 0)
      values[ANY] = text_of(other, sizeof other, row + 1);
    values[INTEGER] = tide_val_int((int64_t)(next_random() % 100000) - 50000);
    values[BLOB] = tide_val_blob(&"abcde"[next_random() % 4], 2);
    if (row >= TIDE_SEGMENT_FRAME_ROWS)
      values[EMPTY] = tide_val_int((int64_t)row);
    tide_batch_append(&batch, (int64_t)row + 1, 0, values, &err);
  }
  ck_assert_int_eq(err.rc, 0);
  return batch;
}

/* Reads a column of a frame and compares the rows that are asked for (NULL: all); gives how many others are empty. */
static size_t read_wanted(struct tide_segment *segment, size_t frame, size_t column, const uint8_t *wanted,
                          const struct tide_batch *whole) {
  struct tide_err err = {0};
  struct tide_batch batch;
  size_t empty = 0;
  tide_batch_init(&batch, COLUMNS, &err);
  tide_segment_read_since(segment, frame, &batch, &err);
  tide_segment_read_column(segment, frame, column, wanted, &batch, &err);
  ck_assert_msg(err.rc == 0, "%s", err.msg);
  for (size_t row = 0; row < batch.rows; row++) {
    const struct tide_val got = tide_vec_get(&batch.columns[column], row);
    if (wanted == NULL || wanted[row])
      ck_assert(same_value(got, tide_vec_get(&whole->columns[column], frame * TIDE_SEGMENT_FRAME_ROWS + row)));
    else
      empty += got.type >= TIDE_VAL_TEXT && got.n == 0;
  }
  tide_batch_clear(&batch);
  return empty;
}

enum { ONE_IN, RUN, NONE };

/* Flags of a frame: one row in so many, a run of so many somewhere, or none. */
static void choose_rows(int how, size_t number, uint8_t wanted[TIDE_SEGMENT_FRAME_ROWS]) {
  const size_t start = next_random() % 800; /* the second frame has 904 rows */
  for (size_t row = 0; row < TIDE_SEGMENT_FRAME_ROWS; row++)
    wanted[row] = how == ONE_IN ? next_random() % number == 0 : how == RUN && row >= start && row < start + number;
}

START_TEST(rows_that_are_asked_for_are_whole) {
  struct tide_err err = {0};
  struct tide_batch whole = rows_of_templates();
  struct tide_segment_out out = written(&whole);
  struct store store = {.out = &out};
  struct tide_segment *segment = opened(&store, &err);
  uint8_t wanted[TIDE_SEGMENT_FRAME_ROWS];
  static const size_t columns_read[] = {TEXT, ANY, BLOB, INTEGER, EMPTY};
  static const bool has_texts[] = {true, true, true, false, false};
  const size_t ncolumns = sizeof columns_read / sizeof *columns_read;
  for (size_t frame = 0; frame < 2; frame++) {
    for (size_t number = 1; number <= 1000; number *= 10)
      for (int how = ONE_IN; how <= NONE; how++) {
        choose_rows(how, number, wanted);
        for (size_t i = 0; i < ncolumns; i++) {
          const size_t empty = read_wanted(segment, frame, columns_read[i], wanted, &whole);
          const bool saves = has_texts[i] && (how != ONE_IN || (number > 1 && columns_read[i] != BLOB));
          ck_assert(!saves || empty > 0);
        }
      }
    for (size_t i = 0; i < ncolumns; i++)
      read_wanted(segment, frame, columns_read[i], NULL, &whole);
  }
  tide_segment_close(segment);
  tide_segment_out_clear(&out);
  tide_batch_clear(&whole);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {rows_that_are_asked_for_are_whole, NULL};
  return unit_main("want", tests);
}
