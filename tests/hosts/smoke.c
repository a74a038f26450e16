/* What every SQLite that the extension serves must do with it. Linked against libsqlite3 as a host is, so that
 * LD_LIBRARY_PATH chooses the SQLite, and loads the same module for each.
 *   smoke MODULE [VERSION serves|refused [FILE]]
 * VERSION: the SQLite that this must be. FILE: a database that the hosts of one run hand on from one to the next. */
#define _GNU_SOURCE
#include "smoke.h"

#include "unit.h"

static const char *module;
static const char *wanted_version;
static const char *travelling;

/* The helpers' name for what makes a connection ready: here as hosts do it. */
int sqlite3_tidemark_init(sqlite3 *db, char **ret_message, const sqlite3_api_routines *api) {
  (void)api;
  char *message = NULL;
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
  const int rc = sqlite3_load_extension(db, module, NULL, &message);
  if (ret_message != NULL)
    *ret_message = message;
  else
    sqlite3_free(message);
  return rc;
}

START_TEST(the_host_is_the_one_that_was_asked_for) {
  ck_assert_str_eq(sqlite3_libversion(), wanted_version != NULL ? wanted_version : sqlite3_libversion());
  sqlite3 *db = db_open(":memory:", NULL);
  assert_text(db, sqlite3_libversion(), "SELECT sqlite_version()");
  assert_text(db, "0.1.0", "SELECT tidemark_version()");
  db_close(db);
}
END_TEST

START_TEST(below_the_floor_it_says_what_it_needs) {
  sqlite3 *db = NULL;
  char *message = NULL;
  char expected[128];
  ck_assert_str_eq(sqlite3_libversion(), wanted_version);
  ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
  ck_assert_int_eq(sqlite3_tidemark_init(db, &message, NULL), SQLITE_ERROR);
  snprintf(expected, sizeof expected, "Tidemark needs SQLite 3.38.0 or newer, this host has %s", wanted_version);
  ck_assert_ptr_nonnull(message);
  ck_assert_msg(strstr(message, expected) != NULL, "%s", message);
  sqlite3_free(message);
  db_refuses(db, SQLITE_ERROR, "no such module: tidemark", "CREATE VIRTUAL TABLE logs USING tidemark(body)");
  db_refuses(db, SQLITE_ERROR, "no such function", "SELECT tidemark_version()");
  db_close(db);
}
END_TEST

/* A file goes from host to host, each of which reads what all before it wrote, appends and seals. */
START_TEST(a_file_of_other_hosts_is_read_and_written) {
  scratch_open();
  sqlite3 *db = db_open(travelling != NULL ? travelling : scratch_path("travelling"), NULL);
  if (db_int(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'visit'") == 0)
    db_exec(db, "CREATE VIRTUAL TABLE visit USING tidemark(host TEXT, value ANY, partition_by=host, segment_rows=16);"
                "CREATE TABLE plain(since INTEGER PRIMARY KEY, host TEXT, value ANY) STRICT");
  for (int i = 0; i < 40; i++) {
    db_exec(db, "INSERT INTO visit VALUES (sqlite_version(), iif(%d %% 2, %d, 'text %d'))", i, i, i);
    db_exec(db, "INSERT INTO plain VALUES (last_insert_rowid(), sqlite_version(), iif(%d %% 2, %d, 'text %d'))", i, i,
            i);
  }
  db_exec(db, "SELECT tidemark_flush('visit'); INSERT INTO visit VALUES (NULL, 0.5)");
  db_exec(db, "INSERT INTO plain VALUES (last_insert_rowid(), NULL, 0.5)");
  assert_text(db, "", "SELECT since, host, value, typeof(value) FROM visit EXCEPT SELECT *, typeof(value) FROM plain");
  assert_text(db, "", "SELECT *, typeof(value) FROM plain EXCEPT SELECT since, host, value, typeof(value) FROM visit");
  assert_int(db, db_int(db, "SELECT count(*) FROM plain"), "SELECT count(*) FROM visit");
  assert_text(db, "ok", "SELECT tidemark_check('visit')");
  assert_text(db, "ok", "PRAGMA integrity_check");
  db_close(db);
}
END_TEST

int main(int argc, char **argv) {
  const TTest *const refused[] = {below_the_floor_it_says_what_it_needs, NULL};
  const TTest *const own[] = {the_host_is_the_one_that_was_asked_for, a_file_of_other_hosts_is_read_and_written, NULL};
  if (argc < 2 || argc == 3) {
    fprintf(stderr, "usage: %s MODULE [VERSION serves|refused [FILE]]\n", argv[0]);
    return 2;
  }
  module = argv[1];
  wanted_version = argc > 3 ? argv[2] : NULL;
  travelling = argc > 4 ? argv[4] : NULL;
  if (argc > 3 && strcmp(argv[3], "refused") == 0)
    return unit_main("host refused", refused);
  const int status = unit_main("host", own);
  return smoke_features() == EXIT_SUCCESS ? status : EXIT_FAILURE;
}
