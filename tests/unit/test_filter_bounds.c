/* A filter that came with a file from elsewhere takes no more memory than rows need, and rows of any size pass. */
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/filter.h"
#include "store/interrupt.h"
#include "unit.h"

enum { MIB = 1 << 20 };

static struct tide_column columns[] = {{.name = "v", .type = TIDE_TYPE_TEXT, .partition_at = -1}};
static const struct tide_spec spec = {.refs = 1, .ncolumns = 1, .columns = columns};

static struct tide_batch batch_of(size_t size) {
  struct tide_err err = {0};
  struct tide_batch batch = {0};
  char *bytes = calloc(1, size);
  memset(bytes, 'a', size);
  const struct tide_val rows[] = {tide_val_text(bytes, size), tide_val_text("short", 5)};
  tide_batch_init(&batch, 1, &err);
  for (int i = 0; i < 2; i++)
    tide_batch_append(&batch, i + 1, 1, &rows[i], &err);
  assert_ok(err);
  free(bytes);
  return batch;
}

/* What the run says, "" when it is fine; keep holds what it kept. */
static const char *run(const char *expression, const struct tide_batch *batch, uint8_t keep[2]) {
  static struct tide_err err;
  tide_err_clear(&err);
  struct tide_filter *filter = tide_filter_create(&spec, expression, &err);
  keep[0] = keep[1] = 1;
  if (filter != NULL)
    tide_filter_run(filter, batch, "", NULL, keep, &err);
  tide_filter_destroy(filter);
  return tide_err_is_set(&err) ? err.msg : "";
}

/* Four columns together are longer than a mebibyte. A row's neighbour makes no room for it, nor does a value that is
 * read often make more than once read. */
START_TEST(bound_is_of_the_row) {
  enum { COLUMNS = 4, SIZE = 400000 };
  static struct tide_column wide_columns[COLUMNS];
  static char names[COLUMNS][2] = {"a", "b", "c", "d"};
  struct tide_spec wide = {.refs = 1, .ncolumns = COLUMNS, .columns = wide_columns};
  struct tide_err err = {0};
  struct tide_batch batch = {0};
  char *bytes = calloc(1, SIZE);
  memset(bytes, 'x', SIZE);
  tide_batch_init(&batch, COLUMNS, &err);
  for (int row = 0; row < 2; row++) {
    struct tide_val values[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
      wide_columns[i] = (struct tide_column){.name = names[i], .type = TIDE_TYPE_TEXT, .partition_at = -1};
      values[i] = tide_val_text(bytes, row == 0 ? SIZE : 1000);
    }
    tide_batch_append(&batch, row + 1, 1, values, &err);
  }
  free(bytes);
  uint8_t keep[2] = {1, 1};
  struct tide_filter *filter = tide_filter_create(&wide, "length(a || b || c || d) = 1600000", &err);
  assert_ok(err);
  tide_filter_run(filter, &batch, "", NULL, keep, &err);
  assert_ok(err);
  ck_assert(keep[0] == 1 && keep[1] == 0);
  tide_filter_destroy(filter);

  static const char *const bombs[] = {
      "length(a || b || c || d) = 1600000 OR length(replace(hex(a), '7', printf('%.*c', 1100, 'y'))) > 5",
      "since = 1 OR length(replace(a || a || a || a || a || a || a || a, 'x', printf('%.*c', 150, 'y'))) > 5"};
  for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
    keep[0] = keep[1] = 1;
    filter = tide_filter_create(&wide, bombs[i], &err);
    assert_ok(err);
    ck_assert_int_eq(tide_filter_run(filter, &batch, "", NULL, keep, &err), SQLITE_ERROR);
    ck_assert_ptr_nonnull(strstr(err.msg, "fails on the row with since 2: string or blob too big: expected at most"
                                          " 1048576 bytes and twice those that it reads of the row"));
    tide_err_clear(&err);
    tide_filter_destroy(filter);
  }
  tide_batch_clear(&batch);
}
END_TEST

/* printf() that comes to its bound is NULL, as SQLite has it, and the row fails the filter. */
START_TEST(bombs_are_refused_in_bounded_memory) {
  static const char *const bombs[] = {
      "length(printf('%.*c', 20000000, 'x')) > 5",
      "length(printf('%20000000d', 1)) > 5",
      "length(replace(replace(printf('%.*c', 100000, 'x'), 'x', printf('%.*c', 1000, 'y')), 'y', 'zzzz')) > 5",
      "length(v || printf('%.*c', 20000000, v)) > 5",
      "length(hex(printf('%.*c', 1000000, 'x'))) > 5",
      "length(json_array(printf('%.*c', 1000000, 'x'), printf('%.*c', 1000000, 'x'))) > 5",
      "length(quote(printf('%.*c', 800000, ''''))) > 5"};
  uint8_t keep[2];
  struct tide_batch batch = batch_of(100);
  for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
    sqlite3_memory_highwater(1);
    const char *says = run(bombs[i], &batch, keep);
    ck_assert_msg(strstr(says, "too big") != NULL || (says[0] == '\0' && keep[0] == 0), "%s: %s", bombs[i], says);
    ck_assert_int_lt(sqlite3_memory_highwater(0), 16 * MIB);
  }
  tide_batch_clear(&batch);
}
END_TEST

START_TEST(patterns_are_bounded) {
  uint8_t keep[2];
  struct tide_batch batch = batch_of(100);
  ck_assert_ptr_nonnull(strstr(run("v LIKE printf('%.*c', 2000, '%')", &batch, keep), "pattern too complex"));
  ck_assert_ptr_nonnull(strstr(run("v GLOB printf('%.*c', 2000, '*')", &batch, keep), "pattern too complex"));
  ck_assert_str_eq(run("v LIKE '%' || printf('%.*c', 90, 'A') || '%'", &batch, keep), "");
  ck_assert(keep[0] == 1 && keep[1] == 0);
  tide_batch_clear(&batch);
}
END_TEST

/* A value is no bomb however long it is, nor is what comes of it; the next run has the old bound again. */
START_TEST(long_values_pass) {
  static const char *const passes[] = {"length(v) = 3145728", "length(v || v) = 6291456", "upper(v) GLOB 'AAA*'",
                                       "length(replace(v, 'a', 'bb')) = 6291456", "substr(v, -3) = 'aaa'"};
  struct tide_err err = {0};
  uint8_t keep[2];
  struct tide_batch big = batch_of(3 * MIB);
  struct tide_batch small = batch_of(100);
  for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
    ck_assert_str_eq(run(passes[i], &big, keep), "");
    ck_assert_msg(keep[0] == 1 && keep[1] == 0, "%s", passes[i]);
  }
  struct tide_filter *filter =
      tide_filter_create(&spec, "length(replace(v, 'a', printf('%.*c', 20000, 'b'))) > 5", &err);
  assert_ok(err);
  for (int i = 0; i < 2; i++) {
    keep[0] = keep[1] = 1;
    tide_filter_run(filter, i == 0 ? &big : &small, "", NULL, keep, &err);
    ck_assert_ptr_nonnull(strstr(err.msg, "too big"));
    tide_err_clear(&err);
  }
  tide_filter_destroy(filter);
  tide_batch_clear(&big);
  tide_batch_clear(&small);
}
END_TEST

static int stop(void *context) {
  (void)context;
  return 1;
}

/* The private connection hears nothing of what the host's is told. */
START_TEST(run_ends_when_the_host_says_so) {
  enum { ROWS = 2000 };
  static uint8_t keep[ROWS];
  struct tide_err err = {0};
  struct tide_batch batch = {0};
  sqlite3 *host;
  const struct tide_val value = tide_val_text("short", 5);
  tide_batch_init(&batch, 1, &err);
  for (int i = 0; i < ROWS; i++)
    tide_batch_append(&batch, i + 1, 1, &value, &err);
  ck_assert_int_eq(sqlite3_open(":memory:", &host), SQLITE_OK);
  sqlite3_stmt *interrupt = tide_interrupt_prepare(host, &err);
  struct tide_filter *filter = tide_filter_create(&spec, "length(v) < 5", &err);
  assert_ok(err);
  tide_filter_heed(filter, interrupt);
  memset(keep, 1, ROWS);
  sqlite3_progress_handler(host, 1, stop, NULL);
  ck_assert_int_eq(tide_filter_run(filter, &batch, "", NULL, keep, &err), SQLITE_INTERRUPT);
  ck_assert_str_eq(err.msg, "interrupted");
  ck_assert_int_eq(keep[ROWS - 1], 1); /* it was not looked at */

  sqlite3_progress_handler(host, 0, NULL, NULL);
  tide_err_clear(&err);
  ck_assert_int_eq(tide_filter_run(filter, &batch, "", NULL, keep, &err), SQLITE_OK);
  ck_assert_int_eq(keep[ROWS - 1], 0);
  tide_filter_destroy(filter);
  tide_batch_clear(&batch);
  sqlite3_finalize(interrupt);
  sqlite3_close(host);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {bound_is_of_the_row, bombs_are_refused_in_bounded_memory, patterns_are_bounded,
                                long_values_pass,    run_ends_when_the_host_says_so,      NULL};
  return unit_main("filter bounds", tests);
}
