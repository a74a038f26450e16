/* main() of a test that goes through the operations: each is a test of its own for Check. A number behind the program's
 * name is the one operation to try, as failures name it. */
#ifndef TIDE_TESTS_FAULTS_MAIN_H
#define TIDE_TESTS_FAULTS_MAIN_H

#include "../unit/effort.h"
#include "../unit/unit.h"
#include "trial.h"

/* The next chance to fail that is tried: the further on, the fewer; with TIDE_TEST_LONG=1 one in fifty of those that
 * come next, with TIDE_TEST_LONG=all each. */
static inline long faults_next(long n) {
  return effort_is_all() ? n + 1 : n + 1 + (effort_is_long() ? n / 50 : 7 * n);
}

/* Whether an operation meets a way to fail: in the long form each, in the short one those whose turn it is, one in
 * `every`. */
static inline bool faults_takes(int operation, long way, int every) {
  return effort_is_long() || (operation + way) % every == 0;
}

/* In the short form a program goes through half of the operations, under a sanitizer through a sixth; which, depends on
 * its number, so that programs with different ones go through different parts. */
static inline bool faults_has_turn(int operation, int program) {
  return effort_is_long() || (operation + program) % (2 * EFFORT_DIVISOR) == 0;
}

/* make runs once, before Check forks; others: a NULL-ended list of tests beside, or NULL. */
static inline int faults_main(const char *name, void (*make)(void), const TTest *each, const TTest *const *others,
                              int argc, char **argv) {
  Suite *suite = suite_create(name);
  TCase *tcase = tcase_create(name);
  const int only = argc > 1 ? atoi(argv[1]) : -1;
  tcase_set_timeout(tcase, effort_is_long() ? 7200 : 300);
  tcase_add_unchecked_fixture(tcase, make, NULL);
  for (size_t i = 0; only < 0 && others != NULL && others[i] != NULL; i++)
    tcase_add_test(tcase, others[i]);
  tcase_add_loop_test(tcase, each, only < 0 ? 0 : only, only < 0 ? (int)operations_count : only + 1);
  suite_add_tcase(suite, tcase);
  return unit_run(suite);
}

#endif
