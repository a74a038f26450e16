/* The applications of a Delta table, against a plain count. */
#include <stdio.h>
#include <string.h>

#include "base/sqlite.h"
#include "oom.h"
#include "sink/delta_txns.h"
#include "unit.h"

enum { MANY = 3000 };

static const char *name_of(int n) {
  static char name[40];
  snprintf(name, sizeof name, "log/lake/source=%d/0", n);
  return name;
}

static void put(struct tide_delta_txns *txns, const char *app, int64_t version, int64_t updated_ms) {
  struct tide_err err = {0};
  tide_delta_txns_put(txns, app, strlen(app), version, updated_ms, &err);
  assert_ok(err);
}

START_TEST(each_of_many_is_found_and_in_its_order) {
  struct tide_delta_txns txns = {0};
  ck_assert_ptr_null(tide_delta_txns_find(&txns, "a", 1));
  for (int n = 0; n < MANY; n++)
    put(&txns, name_of(n), n, -1);
  for (int n = 0; n < MANY; n += 2)
    put(&txns, name_of(n), MANY + n, n);
  ck_assert_uint_eq(txns.count, MANY);
  for (int n = 0; n < MANY; n++) {
    const struct tide_delta_txn *txn = tide_delta_txns_find(&txns, name_of(n), strlen(name_of(n)));
    ck_assert_ptr_eq(txn, &txns.all[n]);
    ck_assert_str_eq(txn->app, name_of(n));
    ck_assert_int_eq(txn->version, n % 2 == 0 ? MANY + n : n);
    ck_assert_int_eq(txn->updated_ms, n % 2 == 0 ? n : -1);
  }
  ck_assert_ptr_null(tide_delta_txns_find(&txns, name_of(MANY), strlen(name_of(MANY))));
  tide_delta_txns_clear(&txns);
  ck_assert_uint_eq(txns.count, 0);
}
END_TEST

START_TEST(a_name_is_not_its_beginning) {
  struct tide_delta_txns txns = {0};
  put(&txns, "ab", 1, 1);
  ck_assert_ptr_null(tide_delta_txns_find(&txns, "ab", 1));
  ck_assert_ptr_null(tide_delta_txns_find(&txns, "abc", 3));
  ck_assert_ptr_nonnull(tide_delta_txns_find(&txns, "abc", 2));
  put(&txns, "a", 2, 1);
  ck_assert_int_eq(tide_delta_txns_find(&txns, "a", 1)->version, 2);
  ck_assert_int_eq(tide_delta_txns_find(&txns, "ab", 2)->version, 1);
  tide_delta_txns_clear(&txns);
}
END_TEST

START_TEST(a_failed_put_changes_nothing) {
  oom_install();
  for (long n = 1;; n++) {
    const long before = oom_live();
    struct tide_err err = {0};
    struct tide_delta_txns txns = {0};
    size_t known = 0;
    oom_fail_at(n);
    for (int i = 0; i < 20 && !tide_err_is_set(&err); i++) {
      known = txns.count;
      tide_delta_txns_put(&txns, name_of(i), strlen(name_of(i)), i, -1, &err);
    }
    const bool failed = oom_has_failed();
    oom_fail_at(0);
    ck_assert_int_eq(err.rc, failed ? SQLITE_NOMEM : 0);
    ck_assert_uint_eq(txns.count, failed ? known : 20);
    for (int i = 0; i < 20; i++)
      put(&txns, name_of(i), i + 1, -1);
    ck_assert_uint_eq(txns.count, 20);
    tide_delta_txns_clear(&txns);
    ck_assert_int_eq(oom_live(), before);
    if (!failed)
      break;
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {each_of_many_is_found_and_in_its_order, a_name_is_not_its_beginning,
                                a_failed_put_changes_nothing, NULL};
  return unit_main("delta_txns", tests);
}
