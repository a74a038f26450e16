/* How much an exhaustive or random test does. TIDE_TEST_LONG=1 asks for its long form; the short form is a third of
 * that under a sanitizer, where everything is several times slower. */
#ifndef TIDE_TESTS_EFFORT_H
#define TIDE_TESTS_EFFORT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
enum { EFFORT_DIVISOR = 3 };
#else
enum { EFFORT_DIVISOR = 1 };
#endif

static inline bool effort_is_long(void) {
  return getenv("TIDE_TEST_LONG") != NULL;
}

/* TIDE_TEST_LONG=all: everything, where that takes days. */
static inline bool effort_is_all(void) {
  return effort_is_long() && strcmp(getenv("TIDE_TEST_LONG"), "all") == 0;
}

/* So many in the short form, or in the long one. */
static inline long effort(long in_short, long in_long) {
  return effort_is_long() ? in_long : in_short / EFFORT_DIVISOR;
}

#endif
