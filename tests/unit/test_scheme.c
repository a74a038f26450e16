#include "sink/scheme.h"

#include <string.h>

#include "base/sqlite.h"
#include "sink/scheme_build.h"
#include "tidemark_net.h"
#include "unit.h"

static const struct tide_scheme far = {.name = "far", .expect = "far://place"};
static const struct tide_scheme far_again = {.name = "FAR", .expect = "other"};

static sqlite3 *db;

static void open_db(void) {
  ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
}

/* Offers schemes through SQL, as a second extension does; gives SQLite's code. */
static int offer(const char *build, const struct tide_scheme *const *schemes, size_t count) {
  struct tide_schemes_offer made = {.build = build, .schemes = schemes, .count = count};
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT tidemark_add_schemes(?1)", -1, &stmt, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_bind_pointer(stmt, 1, &made, TIDE_SCHEMES_POINTER, NULL), SQLITE_OK);
  sqlite3_step(stmt);
  return sqlite3_finalize(stmt);
}

START_TEST(net_without_tidemark_says_what_to_load) {
  char *message = NULL;
  open_db();
  ck_assert_int_eq(sqlite3_tidemarknet_init(db, &message, NULL), SQLITE_ERROR);
  ck_assert_str_eq(message,
                   "tidemark_net adds targets to tidemark, which this connection does not have: load tidemark first");
  sqlite3_free(message);
  sqlite3_close(db);
}
END_TEST

START_TEST(net_twice_is_fine) {
  char *message = NULL;
  open_db();
  ck_assert_int_eq(sqlite3_tidemark_init(db, &message, NULL), SQLITE_OK);
  for (int i = 0; i < 2 * TIDE_SCHEMES_MAX; i++)
    ck_assert_int_eq(sqlite3_tidemarknet_init(db, &message, NULL), SQLITE_OK);
  ck_assert_ptr_null(message);
  sqlite3_close(db);
}
END_TEST

START_TEST(another_build_is_refused_in_words) {
  const struct tide_scheme *const list[] = {&far};
  char *message = NULL;
  open_db();
  ck_assert_int_eq(sqlite3_tidemark_init(db, &message, NULL), SQLITE_OK);
  ck_assert_int_eq(offer("0.0.9 (structs of 1 bytes)", list, 1), SQLITE_ERROR);
  static const char expected[] =
      "tidemark_net is of another build than tidemark: it is 0.0.9 (structs of 1 bytes), expected " TIDEMARK_VERSION
      " (structs of ";
  ck_assert_int_eq(strncmp(sqlite3_errmsg(db), expected, strlen(expected)), 0);
  sqlite3_close(db);
}
END_TEST

START_TEST(a_scheme_that_is_there_stays) {
  struct tide_schemes schemes = {0};
  struct tide_err err = {0};
  char build[TIDE_SCHEME_BUILD_SIZE];
  tide_scheme_build(build);
  const struct tide_scheme *const first[] = {&far};
  const struct tide_scheme *const second[] = {&far_again, &tide_scheme_file};
  tide_schemes_add(&schemes, &(struct tide_schemes_offer){build, first, 1}, &err);
  tide_schemes_add(&schemes, &(struct tide_schemes_offer){build, second, 2}, &err);
  assert_ok(err);
  ck_assert_uint_eq(schemes.nadded, 1);
  ck_assert_ptr_eq(tide_schemes_find(&schemes, "Far://x", &err), &far);
  assert_ok(err);
}
END_TEST

START_TEST(unknown_schemes_hear_which_there_are) {
  struct tide_schemes schemes = {.added = {&far}, .nadded = 1};
  struct tide_err err = {0};
  ck_assert_ptr_null(tide_schemes_find(&schemes, "near://x", &err));
  ck_assert_str_eq(err.msg,
                   "target scheme \"near\" is not known here: expected file:///folder, far://place, or NULL for "
                   "a sink you drive yourself");
}
END_TEST

START_TEST(no_pointer_is_refused) {
  char *message = NULL;
  open_db();
  ck_assert_int_eq(sqlite3_tidemark_init(db, &message, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_exec(db, "SELECT tidemark_add_schemes('x')", NULL, NULL, NULL), SQLITE_ERROR);
  ck_assert_str_eq(sqlite3_errmsg(db), "tidemark_add_schemes is for an extension of Tidemark, such as tidemark_net");
  sqlite3_close(db);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {net_without_tidemark_says_what_to_load,
                                net_twice_is_fine,
                                another_build_is_refused_in_words,
                                a_scheme_that_is_there_stays,
                                unknown_schemes_hear_which_there_are,
                                no_pointer_is_refused,
                                NULL};
  return unit_main("scheme", tests);
}
