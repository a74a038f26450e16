#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/host.h"
#include "base/mem.h"
#include "base/rd.h"
#include "base/stmt.h"
#include "shim_vfs.h"
#include "unit.h"

START_TEST(first_error_wins) {
  struct tide_err err = {0};
  tide_err_prefix(&err, "ignored");
  ck_assert(!tide_err_is_set(&err));
  tide_err_set(&err, SQLITE_CORRUPT, "first %s", "one");
  tide_err_set(&err, SQLITE_FULL, "second");
  tide_err_prefix(&err, "table %Q", "it's");
  ck_assert_int_eq(err.rc, SQLITE_CORRUPT);
  ck_assert_str_eq(err.msg, "table 'it''s': first one");
}
END_TEST

START_TEST(long_message_is_cut) {
  struct tide_err err = {0};
  char text[2000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  tide_err_set(&err, SQLITE_ERROR, "%s", text);
  ck_assert_uint_eq(strlen(err.msg), TIDE_ERR_MSG_SIZE - 1);
}
END_TEST

START_TEST(varints_come_back) {
  static const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX};
  struct tide_buf buf = {0};
  struct tide_err err = {0};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    tide_buf_put_varint(&buf, values[i], &err);
    tide_buf_put_zigzag(&buf, (int64_t)values[i], &err);
  }
  tide_buf_put_u32(&buf, 0x01020304, &err);
  tide_buf_put_u64(&buf, UINT64_C(0x0102030405060708), &err);
  assert_ok(err);
  struct tide_rd rd = tide_rd_over(buf.data, buf.len);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    ck_assert_uint_eq(tide_rd_varint(&rd), values[i]);
    ck_assert_int_eq(tide_rd_zigzag(&rd), (int64_t)values[i]);
  }
  ck_assert_uint_eq(rd.at[0], 4);
  ck_assert_uint_eq(tide_rd_u32(&rd), 0x01020304);
  ck_assert_uint_eq(tide_rd_u64(&rd), UINT64_C(0x0102030405060708));
  ck_assert(!rd.bad);
  ck_assert_uint_eq(tide_rd_left(&rd), 0);
  tide_buf_clear(&buf);
}
END_TEST

START_TEST(reads_past_the_end_are_bad) {
  static const unsigned char bytes[] = {0x80, 0x80};
  struct tide_rd rd = tide_rd_over(bytes, sizeof bytes);
  ck_assert_uint_eq(tide_rd_varint(&rd), 0);
  ck_assert(rd.bad);
  ck_assert_ptr_null(tide_rd_bytes(&rd, 0));

  static const unsigned char overlong[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
  rd = tide_rd_over(overlong, sizeof overlong);
  tide_rd_varint(&rd);
  ck_assert(rd.bad);

  rd = tide_rd_over(NULL, 0);
  ck_assert_ptr_nonnull(tide_rd_bytes(&rd, 0));
  ck_assert_ptr_null(tide_rd_bytes(&rd, UINT64_MAX));
  ck_assert(rd.bad);

  static const unsigned char ten[] = {10};
  rd = tide_rd_over(ten, sizeof ten);
  ck_assert_uint_eq(tide_rd_varint_max(&rd, 9), 0);
  ck_assert(rd.bad);
}
END_TEST

START_TEST(sizes_that_overflow_are_no_memory) {
  struct tide_err err = {0};
  ck_assert_ptr_null(tide_alloc_zero(SIZE_MAX / 2, 3, &err));
  ck_assert_int_eq(err.rc, SQLITE_NOMEM);
  struct tide_buf buf = {0};
  tide_err_clear(&err);
  tide_buf_put_u8(&buf, 1, &err);
  ck_assert_int_eq(tide_buf_reserve(&buf, SIZE_MAX, &err), SQLITE_NOMEM);
  tide_buf_put_u8(&buf, 2, &err);
  ck_assert_uint_eq(buf.len, 1);
  tide_buf_clear(&buf);
}
END_TEST

START_TEST(statements_report_in_words) {
  sqlite3 *db = NULL;
  struct tide_err err = {0};
  ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
  tide_stmt_exec(db, &err, "CREATE TABLE \"%w\"(x CHECK(x > 0))", "a \" b");
  assert_ok(err);
  ck_assert_int_eq(tide_stmt_int(db, 7, &err, "SELECT max(x) FROM \"%w\"", "a \" b"), 7);
  assert_ok(err);
  tide_stmt_exec(db, &err, "INSERT INTO \"%w\" VALUES(0)", "a \" b");
  ck_assert_int_eq(err.rc & 0xff, SQLITE_CONSTRAINT);
  ck_assert_str_eq(err.msg, "CHECK constraint failed: x > 0");
  ck_assert_ptr_null(tide_stmt_prepare(db, &err, "SELECT 1"));
  ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}
END_TEST

START_TEST(owner_is_alive_until_it_ends) {
  char owner[160];
  tide_host_owner(owner, sizeof owner);
  ck_assert(!tide_host_owner_is_dead(owner));
  char *colon = strrchr(owner, ':');
  strcpy(colon, ":1"); /* the same process number, started at another time */
  ck_assert(tide_host_owner_is_dead(owner));
  ck_assert(!tide_host_owner_is_dead("another-boot:1:1"));
  ck_assert(!tide_host_owner_is_dead(""));
}
END_TEST

START_TEST(without_a_connection_the_clock_is_the_default_vfs_s) {
  shim_register();
  ck_assert_int_eq(sqlite3_vfs_register(sqlite3_vfs_find("shim"), 1), SQLITE_OK);
  shim.now_ms = INT64_C(1767225600123);
  ck_assert_int_eq(tide_host_now_ms(NULL, NULL), INT64_C(1767225600123));
}
END_TEST

int main(void) {
  const TTest *const tests[] = {first_error_wins,
                                long_message_is_cut,
                                varints_come_back,
                                reads_past_the_end_are_bad,
                                sizes_that_overflow_are_no_memory,
                                statements_report_in_words,
                                owner_is_alive_until_it_ends,
                                without_a_connection_the_clock_is_the_default_vfs_s,
                                NULL};
  return unit_main("base", tests);
}
