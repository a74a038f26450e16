/* What every unit test shares: Check, and main() for a suite of one test case. */
#ifndef TIDE_TESTS_UNIT_H
#define TIDE_TESTS_UNIT_H

#include <check.h>
#include <stdlib.h>

#include "base/err.h"

/* Runs a suite and returns main()'s status. */
static inline int unit_run(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Runs the test functions of a NULL-ended list and returns main()'s status. CK_FORK=no runs them in this process. */
static inline int unit_main(const char *name, const TTest *const *tests) {
  Suite *suite = suite_create(name);
  TCase *tcase = tcase_create(name);
  tcase_set_timeout(tcase, getenv("TIDE_TEST_LONG") != NULL ? 3600 : 120);
  for (size_t i = 0; tests[i] != NULL; i++)
    tcase_add_test(tcase, tests[i]);
  suite_add_tcase(suite, tcase);
  return unit_run(suite);
}

#define assert_ok(err) ck_assert_msg(!tide_err_is_set(&(err)), "unexpected error %d: %s", (err).rc, (err).msg)

#endif
