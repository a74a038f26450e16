/* Statements kept for use again: as long as somebody holds the pool and no longer, but for those that last, also when
 * the host finalizes what it finds, and when a rollback releases the pool from within a statement. */
#include "base/stmt.h"
#include "base/stmt_pool.h"
#include "unit.h"

static sqlite3 *db;
static struct tide_stmt_pool pool;
static struct tide_err err;

static void begin(void) {
  pool = (struct tide_stmt_pool){0};
  err = (struct tide_err){0};
  ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
}

static void end(void) {
  assert_ok(err);
  ck_assert_ptr_null(sqlite3_next_stmt(db, NULL));
  ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

static sqlite3_stmt *take(void) {
  return tide_stmt_pool_take(&pool, db, &err, "SELECT %d, ?1", 5);
}

START_TEST(kept_while_it_is_held) {
  begin();
  tide_stmt_pool_hold(&pool);
  tide_stmt_pool_hold(&pool);
  sqlite3_stmt *stmt = take();
  sqlite3_bind_int(stmt, 1, 7);
  ck_assert(tide_stmt_row(stmt, &err));
  tide_stmt_pool_give(&pool, stmt);
  tide_stmt_pool_release(&pool);
  ck_assert_ptr_eq(take(), stmt); /* at rest, and without its binding */
  ck_assert(tide_stmt_row(stmt, &err));
  ck_assert_int_eq(sqlite3_column_int(stmt, 0), 5);
  ck_assert_int_eq(sqlite3_column_type(stmt, 1), SQLITE_NULL);
  tide_stmt_pool_give(&pool, stmt);
  tide_stmt_pool_release(&pool);
  end();
}
END_TEST

START_TEST(not_kept_when_nobody_holds_it) {
  begin();
  tide_stmt_pool_give(&pool, take());
  ck_assert_ptr_null(sqlite3_next_stmt(db, NULL));
  tide_stmt_pool_give(NULL, tide_stmt_pool_take(NULL, db, &err, "SELECT 1"));
  tide_stmt_pool_give(&pool, NULL);
  end();
}
END_TEST

START_TEST(one_that_is_taken_is_nobody_elses) {
  begin();
  tide_stmt_pool_hold(&pool);
  sqlite3_stmt *one = take();
  sqlite3_stmt *two = take();
  ck_assert_ptr_ne(one, two);
  tide_stmt_pool_give(&pool, one);
  tide_stmt_pool_give(&pool, two);
  tide_stmt_pool_release(&pool);
  end();
}
END_TEST

START_TEST(one_that_is_taken_outlives_the_release) {
  begin();
  tide_stmt_pool_hold(&pool);
  sqlite3_stmt *stmt = take();
  tide_stmt_pool_release(&pool);
  ck_assert(tide_stmt_row(stmt, &err));
  tide_stmt_pool_give(&pool, stmt);
  end();
}
END_TEST

START_TEST(host_finalizes_all_it_finds) {
  begin();
  tide_stmt_pool_hold(&pool);
  tide_stmt_pool_give(&pool, take());
  sqlite3_finalize(sqlite3_next_stmt(db, NULL));
  tide_stmt_pool_release(&pool);
  end();
}
END_TEST

/* SQLite gives the memory of the one that is finalized to the next, unless a sanitizer keeps it. */
static sqlite3_stmt *other_at_the_address_of(sqlite3_stmt *stmt) {
  sqlite3_stmt *other = NULL;
  sqlite3_finalize(stmt);
  ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT 6, ?1", -1, &other, NULL), SQLITE_OK);
#ifndef __SANITIZE_ADDRESS__
  ck_assert_ptr_eq(other, stmt);
#endif
  return other;
}

static void assert_is_the_hosts(sqlite3_stmt *other) {
  ck_assert_ptr_eq(sqlite3_next_stmt(db, NULL), other);
  ck_assert(tide_stmt_row(other, &err));
  ck_assert_int_eq(sqlite3_column_int(other, 0), 6);
  sqlite3_finalize(other);
}

START_TEST(a_release_leaves_another_at_its_address) {
  begin();
  tide_stmt_pool_hold(&pool);
  sqlite3_stmt *stmt = take();
  tide_stmt_pool_give(&pool, stmt);
  sqlite3_stmt *other = other_at_the_address_of(stmt);
  tide_stmt_pool_release(&pool);
  assert_is_the_hosts(other);
  end();
}
END_TEST

/* ---- one that lasts ---- */

static sqlite3_stmt *take_lasting(void) {
  tide_stmt_pool_hold(&pool);
  sqlite3_stmt *stmt = take();
  tide_stmt_pool_last(&pool, stmt);
  return stmt;
}

static void give(sqlite3_stmt *stmt) {
  tide_stmt_pool_give(&pool, stmt);
  tide_stmt_pool_release(&pool);
}

static int statements(void) {
  int count = 0;
  for (sqlite3_stmt *stmt = NULL; (stmt = sqlite3_next_stmt(db, stmt)) != NULL;)
    count++;
  return count;
}

START_TEST(one_that_lasts_is_used_again) {
  begin();
  sqlite3_stmt *stmt = take_lasting();
  tide_stmt_pool_give(&pool, tide_stmt_pool_take(&pool, db, &err, "SELECT 1"));
  give(stmt);
  ck_assert_int_eq(statements(), 1); /* the other one did not last */
  ck_assert_ptr_eq(take_lasting(), stmt);
  give(stmt);
  tide_stmt_pool_clear(&pool);
  end();
}
END_TEST

START_TEST(one_that_lasts_may_be_finalized_by_the_host) {
  begin();
  give(take_lasting());
  sqlite3_finalize(sqlite3_next_stmt(db, NULL));
  sqlite3_stmt *stmt = take_lasting();
  ck_assert(tide_stmt_row(stmt, &err));
  ck_assert_int_eq(sqlite3_column_int(stmt, 0), 5);
  give(stmt);
  sqlite3_finalize(sqlite3_next_stmt(db, NULL));
  tide_stmt_pool_clear(&pool);
  end();
}
END_TEST

START_TEST(another_at_its_address_is_not_taken_for_it) {
  begin();
  sqlite3_stmt *stmt = take_lasting();
  give(stmt);
  sqlite3_stmt *other = other_at_the_address_of(stmt);
  sqlite3_stmt *again = take_lasting();
  ck_assert_ptr_ne(again, other);
  ck_assert(tide_stmt_row(again, &err));
  ck_assert_int_eq(sqlite3_column_int(again, 0), 5);
  give(again);
  sqlite3_finalize(other);
  tide_stmt_pool_clear(&pool);
  end();
}
END_TEST

/* The one that is given back is the one at that address which was taken. */
START_TEST(one_at_the_address_of_a_finalized_one_is_given_back) {
  begin();
  give(take_lasting());
  sqlite3_finalize(sqlite3_next_stmt(db, NULL));
  for (int i = 0; i < 2; i++) {
    tide_stmt_pool_hold_lasting(&pool);
    tide_stmt_pool_give(&pool, tide_stmt_pool_take(&pool, db, &err, "SELECT 6, ?1"));
    tide_stmt_pool_release_lasting(&pool);
    ck_assert_int_eq(statements(), 1);
  }
  tide_stmt_pool_clear(&pool);
  end();
}
END_TEST

START_TEST(what_is_taken_from_a_pool_that_is_held_so_lasts) {
  begin();
  tide_stmt_pool_hold(&pool);
  tide_stmt_pool_hold_lasting(&pool);
  sqlite3_stmt *stmt = take();
  tide_stmt_pool_give(&pool, stmt);
  tide_stmt_pool_release_lasting(&pool);
  tide_stmt_pool_give(&pool, tide_stmt_pool_take(&pool, db, &err, "SELECT 1"));
  tide_stmt_pool_release(&pool);
  ck_assert_int_eq(statements(), 1);
  tide_stmt_pool_hold(&pool);
  ck_assert_ptr_eq(take(), stmt);
  tide_stmt_pool_give(&pool, stmt);
  tide_stmt_pool_release(&pool);
  ck_assert_int_eq(statements(), 1);
  tide_stmt_pool_clear(&pool);
  end();
}
END_TEST

START_TEST(clearing_leaves_another_at_its_address) {
  begin();
  sqlite3_stmt *stmt = take_lasting();
  give(stmt);
  sqlite3_stmt *other = other_at_the_address_of(stmt);
  tide_stmt_pool_clear(&pool);
  assert_is_the_hosts(other);
  end();
}
END_TEST

START_TEST(one_that_lasts_behind_many_of_the_host) {
  enum { MANY = 200 };
  sqlite3_stmt *many[MANY];
  begin();
  give(take_lasting());
  for (int i = 0; i < MANY; i++)
    ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT 1", -1, &many[i], NULL), SQLITE_OK);
  sqlite3_stmt *stmt = take_lasting();
  give(stmt);
  ck_assert_int_eq(statements(), MANY + 1);
  ck_assert_ptr_eq(sqlite3_next_stmt(db, NULL), stmt); /* where it is found at once */
  for (int i = 0; i < MANY; i++)
    sqlite3_finalize(many[i]);
  tide_stmt_pool_clear(&pool);
  end();
}
END_TEST

START_TEST(one_that_lasts_and_is_taken_outlives_the_release) {
  begin();
  sqlite3_stmt *stmt = take_lasting();
  tide_stmt_pool_release(&pool);
  ck_assert(tide_stmt_row(stmt, &err));
  tide_stmt_pool_give(&pool, stmt);
  end();
}
END_TEST

START_TEST(an_error_gives_none) {
  begin();
  tide_stmt_pool_hold(&pool);
  ck_assert_ptr_null(tide_stmt_pool_take(&pool, db, &err, "SELECT FROM"));
  ck_assert_int_eq(err.rc, SQLITE_ERROR);
  ck_assert_ptr_null(take());
  err = (struct tide_err){0};
  tide_stmt_pool_release(&pool);
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {kept_while_it_is_held,
                                not_kept_when_nobody_holds_it,
                                one_that_is_taken_is_nobody_elses,
                                one_that_is_taken_outlives_the_release,
                                host_finalizes_all_it_finds,
                                a_release_leaves_another_at_its_address,
                                one_that_lasts_is_used_again,
                                one_that_lasts_may_be_finalized_by_the_host,
                                another_at_its_address_is_not_taken_for_it,
                                one_at_the_address_of_a_finalized_one_is_given_back,
                                what_is_taken_from_a_pool_that_is_held_so_lasts,
                                clearing_leaves_another_at_its_address,
                                one_that_lasts_behind_many_of_the_host,
                                one_that_lasts_and_is_taken_outlives_the_release,
                                an_error_gives_none,
                                NULL};
  return unit_main("stmt_pool", tests);
}
