#include <string.h>

#include "base/sqlite.h"
#include "model/batch.h"
#include "oom.h"
#include "unit.h"

static const double negative_zero = -0.0;

/* Row n of a column of every type, the types moving by one from row to row. */
static struct tide_val value_at(size_t row, size_t column) {
  static const char text[] = "h\xc3\xa9llo\0world";
  switch ((row + column) % 6) {
  case 0:
    return tide_val_null();
  case 1:
    return tide_val_int(INT64_MIN + (int64_t)row);
  case 2:
    return tide_val_real(row % 4 == 0 ? negative_zero : (double)row / 3);
  case 3:
    return tide_val_text(text, row % sizeof text);
  case 4:
    return tide_val_blob(text, (row * 7) % sizeof text);
  default:
    return tide_val_text(NULL, 0);
  }
}

static void assert_value(struct tide_val found, struct tide_val wanted) {
  ck_assert_uint_eq(found.type, wanted.type);
  ck_assert_int_eq(tide_val_compare(&found, &wanted), 0);
  if (wanted.type == TIDE_VAL_REAL)
    ck_assert(memcmp(&found.r, &wanted.r, sizeof found.r) == 0);
}

static void append(struct tide_batch *batch, size_t row, struct tide_err *err) {
  struct tide_val values[3] = {value_at(row, 0), value_at(row, 1), value_at(row, 2)};
  int rc = tide_batch_append(batch, (int64_t)row + 1, (int64_t)row * 10, values, err);
  ck_assert_int_eq(rc, err->rc);
}

static void assert_rows(const struct tide_batch *batch, size_t rows) {
  ck_assert_uint_eq(batch->rows, rows);
  for (size_t row = 0; row < rows; row++) {
    ck_assert_int_eq(batch->since[row], (int64_t)row + 1);
    ck_assert_int_eq(batch->ingested_at[row], (int64_t)row * 10);
    for (size_t i = 0; i < 3; i++)
      assert_value(tide_vec_get(&batch->columns[i], row), value_at(row, i));
  }
}

START_TEST(rows_come_back_bit_for_bit) {
  struct tide_err err = {0};
  struct tide_batch batch;
  ck_assert_int_eq(tide_batch_init(&batch, 3, &err), 0);
  for (size_t row = 0; row < 10000; row++)
    append(&batch, row, &err);
  assert_ok(err);
  assert_rows(&batch, 10000);
  tide_batch_clear(&batch);
  ck_assert_ptr_null(batch.columns);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(reset_begins_anew_with_the_same_memory) {
  struct tide_err err = {0};
  struct tide_batch batch;
  tide_batch_init(&batch, 3, &err);
  for (size_t row = 0; row < 100; row++)
    append(&batch, row, &err);
  const int64_t *since = batch.since;
  batch.columns[1].base = (const unsigned char *)"somebody else's";
  tide_batch_reset(&batch);
  ck_assert_uint_eq(batch.rows, 0);
  ck_assert_uint_eq(batch.raw_bytes, 0);
  for (size_t row = 0; row < 100; row++)
    append(&batch, row, &err);
  assert_ok(err);
  ck_assert_ptr_eq(batch.since, since);
  assert_rows(&batch, 100);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(rows_of_another_batch_are_copied) {
  struct tide_err err = {0};
  struct tide_batch from, batch;
  tide_batch_init(&from, 3, &err);
  tide_batch_init(&batch, 3, &err);
  for (size_t row = 0; row < 100; row++)
    append(&from, row, &err);
  ck_assert_int_eq(tide_batch_append_rows(&batch, &from, 0, 1, &err), 0);
  ck_assert_int_eq(tide_batch_append_rows(&batch, &from, 1, 69, &err), 0);
  ck_assert_uint_eq(tide_batch_raw_bytes(&from, 0, 70), batch.raw_bytes);
  for (size_t row = 70; row < 100; row++)
    append(&batch, row, &err); /* the column owns its bytes */
  assert_ok(err);
  ck_assert_uint_eq(batch.raw_bytes, from.raw_bytes);
  tide_batch_clear(&from);
  assert_rows(&batch, 100);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(copied_columns_that_were_not_decoded_are_null) {
  struct tide_err err = {0};
  struct tide_batch from, batch;
  tide_batch_init(&from, 2, &err);
  tide_batch_init(&batch, 2, &err);
  const struct tide_val values[2] = {tide_val_int(7), tide_val_text("ab", 2)};
  tide_batch_append(&from, 1, 5, values, &err);
  tide_vec_clear(&from.columns[1]);
  tide_batch_append_rows(&batch, &from, 0, 1, &err);
  assert_ok(err);
  assert_value(tide_vec_get(&batch.columns[0], 0), tide_val_int(7));
  assert_value(tide_vec_get(&batch.columns[1], 0), tide_val_null());
  ck_assert_uint_eq(batch.raw_bytes, 16 + 8 + 1);
  tide_batch_clear(&from);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(raw_bytes_count_values) {
  struct tide_err err = {0};
  struct tide_batch batch;
  tide_batch_init(&batch, 5, &err);
  struct tide_val values[5] = {tide_val_null(), tide_val_int(1), tide_val_real(1), tide_val_text("abc", 3),
                               tide_val_blob("abcd", 4)};
  tide_batch_append(&batch, 1, 1, values, &err);
  ck_assert_uint_eq(batch.raw_bytes, 16 + 1 + 8 + 8 + 3 + 4);
  tide_batch_append(&batch, 2, 1, values, &err);
  ck_assert_uint_eq(batch.raw_bytes, 80);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(rows_may_have_no_columns) {
  struct tide_err err = {0};
  struct tide_batch batch;
  ck_assert_int_eq(tide_batch_init(&batch, 0, &err), 0);
  ck_assert_int_eq(tide_batch_append(&batch, 5, 6, NULL, &err), 0);
  ck_assert_int_eq(batch.since[0], 5);
  ck_assert_uint_eq(batch.raw_bytes, 16);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(a_column_that_was_not_decoded_reads_null) {
  struct tide_err err = {0};
  struct tide_batch batch;
  tide_batch_init(&batch, 2, &err);
  ck_assert_int_eq(tide_batch_reserve(&batch, 100, &err), 0);
  ck_assert_int_eq(tide_vec_reserve(&batch.columns[1], 100, &err), 0);
  ck_assert_uint_ge(batch.cap, 100);
  ck_assert_uint_ge(batch.columns[1].cap, 100);
  for (int i = 0; i < 100; i++) {
    batch.columns[1].tag[i] = TIDE_VAL_TEXT;
    batch.columns[1].num[i] = i % 5;
    batch.columns[1].size[i] = 2;
  }
  batch.columns[1].base = (const unsigned char *)"abcdef";
  batch.rows = 100;
  assert_value(tide_vec_get(&batch.columns[0], 99), tide_val_null());
  assert_value(tide_vec_get(&batch.columns[1], 99), tide_val_text("ef", 2));
  tide_vec_clear(&batch.columns[1]);
  assert_value(tide_vec_get(&batch.columns[1], 99), tide_val_null());
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(a_value_above_4_gib_is_refused) {
  struct tide_err err = {0};
  struct tide_batch batch;
  tide_batch_init(&batch, 3, &err);
  append(&batch, 0, &err);
  append(&batch, 1, &err);
  uint64_t raw_bytes = batch.raw_bytes;
  size_t bytes = batch.columns[0].bytes.len;
  struct tide_val values[3] = {tide_val_text("kept out", 8), tide_val_int(1),
                               tide_val_blob("", (size_t)UINT32_MAX + 1)};
  ck_assert_int_eq(tide_batch_append(&batch, 3, 3, values, &err), SQLITE_TOOBIG);
  ck_assert_str_eq(err.msg, "a value of 4294967296 bytes is above the limit of 4294967295");
  ck_assert_uint_eq(batch.raw_bytes, raw_bytes);
  ck_assert_uint_eq(batch.columns[0].bytes.len, bytes);
  assert_rows(&batch, 2);
  tide_err_clear(&err);
  append(&batch, 2, &err);
  assert_ok(err);
  assert_rows(&batch, 3);
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(an_earlier_error_keeps_rows_out) {
  struct tide_err err = {.rc = SQLITE_FULL};
  struct tide_err none = {0};
  struct tide_batch batch;
  tide_batch_init(&batch, 3, &none);
  append(&batch, 0, &err);
  ck_assert_uint_eq(batch.rows, 0);
  tide_batch_clear(&batch);
}
END_TEST

/* Each allocation of 300 appends fails once: the rows before it stay, and the appends go on when there is memory
 * again. */
START_TEST(rows_stay_when_memory_is_short) {
  oom_install();
  long live = oom_live();
  long at = 1;
  for (;; at++) {
    struct tide_err err = {0};
    struct tide_batch batch = {0};
    size_t row = 0;
    oom_fail_at(at);
    tide_batch_init(&batch, 3, &err);
    while (row < 300 && !tide_err_is_set(&err)) {
      append(&batch, row, &err);
      row += !tide_err_is_set(&err);
    }
    ck_assert_int_eq(err.rc, oom_has_failed() ? SQLITE_NOMEM : 0);
    if (batch.columns != NULL)
      assert_rows(&batch, row);
    tide_err_clear(&err);
    if (batch.columns == NULL)
      tide_batch_init(&batch, 3, &err);
    for (; row < 300; row++)
      append(&batch, row, &err);
    assert_ok(err);
    assert_rows(&batch, 300);
    tide_batch_clear(&batch);
    ck_assert_int_eq(oom_live(), live);
    if (!oom_has_failed())
      break;
  }
  ck_assert_int_gt(at, 50);
  oom_fail_at(0);
}
END_TEST

START_TEST(copied_rows_stay_when_memory_is_short) {
  oom_install();
  struct tide_err err = {0};
  struct tide_batch from;
  tide_batch_init(&from, 3, &err);
  for (size_t row = 0; row < 300; row++)
    append(&from, row, &err);
  assert_ok(err);
  for (long at = 1;; at++) {
    struct tide_batch batch = {0};
    tide_batch_init(&batch, 3, &err);
    tide_batch_append_rows(&batch, &from, 0, 20, &err);
    assert_ok(err);
    oom_fail_at(at);
    tide_batch_append_rows(&batch, &from, 20, 280, &err);
    const bool failed = oom_has_failed();
    oom_fail_at(0);
    assert_rows(&batch, failed ? 20 : 300);
    tide_err_clear(&err);
    tide_batch_clear(&batch);
    if (!failed)
      break;
  }
  tide_batch_clear(&from);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {rows_come_back_bit_for_bit,
                                reset_begins_anew_with_the_same_memory,
                                rows_of_another_batch_are_copied,
                                copied_columns_that_were_not_decoded_are_null,
                                raw_bytes_count_values,
                                rows_may_have_no_columns,
                                a_column_that_was_not_decoded_reads_null,
                                a_value_above_4_gib_is_refused,
                                an_earlier_error_keeps_rows_out,
                                rows_stay_when_memory_is_short,
                                copied_rows_stay_when_memory_is_short,
                                NULL};
  return unit_main("batch", tests);
}
