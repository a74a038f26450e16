/* How a connection gets the extension: by its host, for all connections, and more than once. */
#define _GNU_SOURCE
#include "sql_db.h"
#include "unit.h"

static void load_into_all(void) {
  ck_assert_int_eq(sqlite3_auto_extension((void (*)(void))sqlite3_tidemark_init), SQLITE_OK);
}

static sqlite3 *open_loaded(const char *path) {
  sqlite3 *db = NULL;
  const int rc = sqlite3_open(path, &db);
  ck_assert_msg(rc == SQLITE_OK, "%s: %d: %s", path, rc, sqlite3_errmsg(db));
  return db;
}

START_TEST(every_connection_opens_with_it) {
  scratch_open();
  load_into_all();
  sqlite3 *first = open_loaded(scratch_path("db"));
  db_exec(first, "CREATE VIRTUAL TABLE logs USING tidemark(body TEXT); INSERT INTO logs VALUES ('one')");
  sqlite3 *second = open_loaded(scratch_path("db"));
  assert_text(second, "1|one", "SELECT since, body FROM logs");
  db_close(second);
  db_close(first);
  sqlite3_reset_auto_extension();
}
END_TEST

START_TEST(second_load_changes_nothing) {
  scratch_open();
  load_into_all();
  sqlite3 *db = open_loaded(scratch_path("db"));
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(body TEXT); BEGIN; INSERT INTO logs VALUES ('one')");
  ck_assert_int_eq(sqlite3_tidemark_init(db, NULL, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_errcode(db), SQLITE_OK);
  db_exec(db, "INSERT INTO logs VALUES ('two')");
  assert_int(db, 2, "SELECT rows FROM tidemark_dataset"); /* the rows in memory are those of one handle */
  db_exec(db, "COMMIT");
  assert_text(db, "1|one 2|two", "SELECT since, body FROM logs");
  db_close(db);
  sqlite3_reset_auto_extension();
}
END_TEST

/* Loading reads nothing of the file: what a host says between open and first use still counts. */
START_TEST(loading_does_not_read_the_file) {
  scratch_open();
  load_into_all();
  FILE *file = fopen(scratch_path("noise"), "w");
  ck_assert_ptr_nonnull(file);
  for (int i = 0; i < 4096; i++)
    fputc('x', file);
  ck_assert_int_eq(fclose(file), 0);
  sqlite3 *db = open_loaded(scratch_path("noise"));
  db_refuses(db, SQLITE_NOTADB, "file is not a database", "SELECT * FROM sqlite_schema");
  db_close(db);
  sqlite3_reset_auto_extension();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {every_connection_opens_with_it, second_load_changes_nothing,
                                loading_does_not_read_the_file, NULL};
  return unit_main("load", tests);
}
