#include <string.h>

#include "sink/terms.h"
#include "unit.h"

static const char csv[] =
    "{\"target\":\"file:///var/a\",\"format\":\"csv\",\"columns\":[\"b\",\"since\"],\"log_id\":\"0123456789abcdef0123456789abcdef\"}";
static const char ndjson[] = "{\"target\":\"file:///var/b\",\"format\":\"ndjson\",\"columns\":[\"a\"]}";
static const char unknown[] = "{\"target\":\"file:///var/b\",\"format\":\"ndjson\",\"columns\":[\"c\"]}";
static struct tide_column columns[] = {{.name = "a", .type = TIDE_TYPE_TEXT, .partition_at = -1},
                                       {.name = "b", .type = TIDE_TYPE_TEXT, .partition_at = -1}};
static struct tide_column turned[] = {{.name = "b", .type = TIDE_TYPE_TEXT, .partition_at = -1},
                                      {.name = "a", .type = TIDE_TYPE_TEXT, .partition_at = -1}};
static struct tide_spec spec = {.refs = 1, .ncolumns = 2, .columns = columns};
static struct tide_spec other = {.refs = 1, .ncolumns = 2, .columns = turned};

static sqlite3 *db;
static struct tide_terms terms;

static int read_terms(struct tide_spec *of, const char *text) {
  static const struct tide_schemes schemes;
  struct tide_err err = {0};
  const int rc = tide_terms_read(&terms, db, &schemes, of, text, &err);
  ck_assert_int_eq(rc, err.rc);
  return rc;
}

static void begin(void) {
  ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
  ck_assert_int_eq(read_terms(&spec, csv), 0);
}

static void end(void) {
  tide_terms_clear(&terms);
  ck_assert_int_eq(spec.refs, 1);
  ck_assert_int_eq(other.refs, 1);
  sqlite3_close(db);
}

START_TEST(what_was_frozen_is_parsed) {
  begin();
  ck_assert_str_eq(terms.frozen.log_id, "0123456789abcdef0123456789abcdef");
  ck_assert_str_eq(terms.config.place, "/var/a");
  ck_assert_str_eq(terms.config.format->name, "csv");
  ck_assert_uint_eq(terms.config.ncolumns, 2);
  ck_assert_int_eq(terms.config.columns[0], 1);
  ck_assert_int_eq(terms.config.columns[1], TIDE_ENCODER_SINCE);
  end();
}
END_TEST

START_TEST(the_same_text_is_not_read_again) {
  begin();
  sqlite3_close(db);
  db = NULL; /* there is nothing to read it with */
  ck_assert_int_eq(read_terms(&spec, csv), 0);
  ck_assert_str_eq(terms.config.place, "/var/a");
  end();
}
END_TEST

START_TEST(another_text_is) {
  begin();
  ck_assert_int_eq(read_terms(&spec, ndjson), 0);
  ck_assert_str_eq(terms.config.place, "/var/b");
  ck_assert_ptr_null(terms.frozen.log_id);
  ck_assert_int_eq(terms.config.columns[0], 0);
  end();
}
END_TEST

START_TEST(other_columns_are_looked_up_anew) {
  begin();
  ck_assert_int_eq(read_terms(&other, csv), 0);
  ck_assert_int_eq(terms.config.columns[0], 0);
  end();
}
END_TEST

START_TEST(what_is_wrong_leaves_none) {
  begin();
  ck_assert_int_eq(read_terms(&spec, unknown), SQLITE_ERROR);
  ck_assert_ptr_null(terms.text);
  ck_assert_ptr_null(terms.config.place);
  ck_assert_int_eq(read_terms(&spec, unknown), SQLITE_ERROR);
  ck_assert_int_eq(read_terms(&spec, csv), 0);
  ck_assert_str_eq(terms.config.place, "/var/a");
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {what_was_frozen_is_parsed,        the_same_text_is_not_read_again, another_text_is,
                                other_columns_are_looked_up_anew, what_is_wrong_leaves_none,       NULL};
  return unit_main("terms", tests);
}
