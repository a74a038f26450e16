/* Adding target schemes of a test to a connection, as a second extension does. */
#ifndef TIDE_TESTS_SCHEMES_H
#define TIDE_TESTS_SCHEMES_H

#include <check.h>

#include "sink/scheme_build.h"

static inline void schemes_add(sqlite3 *conn, const struct tide_scheme *const *schemes, size_t count) {
  char build[TIDE_SCHEME_BUILD_SIZE];
  sqlite3_stmt *stmt = NULL;
  tide_scheme_build(build);
  struct tide_schemes_offer offer = {.build = build, .schemes = schemes, .count = count};
  ck_assert_int_eq(sqlite3_prepare_v2(conn, "SELECT tidemark_add_schemes(?1)", -1, &stmt, NULL), SQLITE_OK);
  sqlite3_bind_pointer(stmt, 1, &offer, TIDE_SCHEMES_POINTER, NULL);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  ck_assert_int_eq(sqlite3_finalize(stmt), SQLITE_OK);
}

#endif
