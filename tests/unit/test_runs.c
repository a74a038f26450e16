/* Rows in memory by partition: which values are one partition, and which runs are known again. */
#include "engine/runs.h"

#include "base/mem.h"
#include "model/options.h"
#include "model/spec_parse.h"
#include "unit.h"

static struct tide_spec *spec;
static struct tide_runs runs;
static struct tide_err err;

static void begin(void) {
  static const char *const columns[] = {"source TEXT", "body TEXT", "day INTEGER", "partition_by=(source, day)"};
  struct tide_options options;
  err = (struct tide_err){0};
  runs = (struct tide_runs){0};
  spec = tide_spec_parse(4, columns, &options, &err);
  assert_ok(err);
}

static void end(void) {
  assert_ok(err);
  tide_runs_clear(&runs);
  tide_spec_unref(spec);
}

static struct tide_run *find(struct tide_val source, struct tide_val day) {
  return tide_runs_find(&runs, spec, (const struct tide_val[]){source, tide_val_text("row", 3), day}, &err);
}

static struct tide_run *add(struct tide_val source, struct tide_val day, int64_t partition) {
  ck_assert_ptr_null(find(source, day));
  return tide_runs_add(&runs, partition, &err);
}

static void append(struct tide_run *run, int64_t since) {
  const struct tide_val values[] = {tide_val_text("a", 1), tide_val_text("row", 3), tide_val_int(1)};
  ck_assert_int_eq(tide_runs_append(&runs, run, spec, since, 0, values, &err), 0);
}

START_TEST(different_values_are_different_partitions) {
  begin();
  const struct tide_val sources[] = {tide_val_null(), tide_val_text("", 0), tide_val_text("a", 1),
                                     tide_val_text("a\0b", 3), tide_val_text("ab", 2)};
  const struct tide_val days[] = {tide_val_null(), tide_val_int(0), tide_val_int(-1), tide_val_int(INT64_MAX)};
  for (int64_t i = 0; i < 20; i++)
    add(sources[i % 5], days[i / 5], i + 1);
  for (int64_t i = 0; i < 20; i++)
    ck_assert_int_eq(find(sources[i % 5], days[i / 5])->rows.partition, i + 1);
  end();
}
END_TEST

START_TEST(sorted_by_their_last_row) {
  begin();
  struct tide_run *one = add(tide_val_text("a", 1), tide_val_int(1), 1);
  struct tide_run *two = add(tide_val_text("a", 1), tide_val_int(2), 2);
  add(tide_val_text("a", 1), tide_val_int(3), 3);
  append(one, 1);
  append(two, 2);
  append(one, 3);
  size_t count = 0;
  struct tide_run **sorted = tide_runs_sorted(&runs, &count, &err);
  ck_assert_uint_eq(count, 2); /* the third has no rows */
  ck_assert_ptr_eq(sorted[0], two);
  ck_assert_ptr_eq(sorted[1], one);
  tide_free(sorted);
  end();
}
END_TEST

START_TEST(one_that_went_out_is_known_until_it_is_forgotten) {
  begin();
  struct tide_run *one = add(tide_val_text("a", 1), tide_val_int(1), 7);
  struct tide_run *two = add(tide_val_text("b", 1), tide_val_int(1), 8);
  append(one, 1);
  append(two, 2);
  tide_runs_went_out(&runs, one);
  ck_assert_uint_eq(runs.filled, 1);
  ck_assert_uint_eq(runs.bytes, one->rows.bytes.cap + two->rows.bytes.cap);
  ck_assert_ptr_eq(find(tide_val_text("a", 1), tide_val_int(1)), one);
  tide_runs_forget(&runs);
  ck_assert_ptr_null(find(tide_val_text("a", 1), tide_val_int(1)));
  ck_assert_ptr_eq(find(tide_val_text("b", 1), tide_val_int(1)), two); /* has rows */
  tide_runs_all_went_out(&runs);
  ck_assert_uint_eq(runs.filled, 0);
  ck_assert_ptr_eq(find(tide_val_text("b", 1), tide_val_int(1)), two);
  end();
}
END_TEST

START_TEST(many_empty_ones_are_not_kept) {
  begin();
  for (int64_t i = 0; i <= TIDE_RUNS_KEPT; i++)
    append(add(tide_val_null(), tide_val_int(i), i + 1), i + 1);
  tide_runs_all_went_out(&runs);
  ck_assert_uint_eq(runs.count, 0);
  end();
}
END_TEST

/* ---- encoded ---- */

static struct tide_frame_encoder *encoder;

/* Two rows from `first` on go to the run's writer. */
static void pack(struct tide_run *run, int64_t first) {
  struct tide_batch rows;
  append(run, first);
  append(run, first + 1);
  if (encoder == NULL)
    encoder = tide_frame_encoder_create(3, &err);
  if (run->writer == NULL)
    run->writer = tide_segment_writer_create(spec, encoder, &err);
  tide_batch_init(&rows, spec->ncolumns, &err);
  struct tide_tail_walk walk = tide_tail_run_walk(&run->rows, spec);
  ck_assert_int_eq(tide_tail_walk_next(&walk, spec, 2, &rows, &err), 2);
  tide_segment_writer_add(run->writer, &rows, 0, 2, &err);
  tide_batch_clear(&rows);
  tide_runs_packed(&runs, run, first, first + 1);
  assert_ok(err);
}

static void end_packed(void) {
  end();
  tide_frame_encoder_destroy(encoder);
  encoder = NULL;
}

START_TEST(encoded_rows_are_the_runs_until_they_go_out) {
  begin();
  struct tide_run *run = add(tide_val_text("a", 1), tide_val_int(1), 1);
  pack(run, 5);
  tide_runs_rows_packed(&runs, run);
  pack(run, 7);
  tide_runs_rows_packed(&runs, run);
  ck_assert_int_eq(run->packed_first, 5);
  ck_assert_int_eq(run->packed_last, 8);
  ck_assert_int_eq(run->rows.rows, 0);
  ck_assert_uint_eq(runs.filled, 1);
  ck_assert_uint_gt(run->writer_memory, 0);
  ck_assert_uint_eq(runs.bytes, run->rows.bytes.cap + tide_segment_writer_memory(run->writer));
  tide_runs_packed_went_out(&runs, run);
  ck_assert_uint_eq(runs.filled, 0);
  ck_assert_uint_eq(runs.bytes, run->rows.bytes.cap);
  pack(run, 9);
  ck_assert_int_eq(run->packed_first, 9);
  end_packed();
}
END_TEST

START_TEST(a_segment_that_takes_the_last_row_leaves_an_empty_run) {
  begin();
  struct tide_run *run = add(tide_val_text("a", 1), tide_val_int(1), 1);
  for (int64_t since = 1; since < 10; since += 2) {
    pack(run, since);
    tide_runs_packed_went_out(&runs, run);
    tide_runs_rows_packed(&runs, run);
    ck_assert(tide_run_is_empty(run));
    ck_assert_uint_eq(runs.filled, 0);
  }
  end_packed();
}
END_TEST

START_TEST(rows_behind_a_segment_stay) {
  begin();
  struct tide_run *run = add(tide_val_text("a", 1), tide_val_int(1), 1);
  pack(run, 1);
  tide_runs_rows_packed(&runs, run);
  append(run, 3);
  tide_runs_packed_went_out(&runs, run);
  ck_assert_uint_eq(runs.filled, 1);
  ck_assert_int_eq(run->rows.rows, 1);
  end_packed();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {different_values_are_different_partitions,
                                sorted_by_their_last_row,
                                one_that_went_out_is_known_until_it_is_forgotten,
                                many_empty_ones_are_not_kept,
                                encoded_rows_are_the_runs_until_they_go_out,
                                a_segment_that_takes_the_last_row_leaves_an_empty_run,
                                rows_behind_a_segment_stay,
                                NULL};
  return unit_main("runs", tests);
}
