/* The table of operations is whole: each runs, every SQL function and module that Tidemark registers is in it. */
#define _GNU_SOURCE
#include "faults_main.h"

/* Whether an operation's SQL has the name with that behind it. */
static bool is_used(const char *name, const char *behind) {
  char *word = sqlite3_mprintf("%s%s", name, behind);
  bool used = false;
  for (size_t i = 0; i < operations_count && !used; i++)
    used = strstr(operations[i].sql, word) != NULL;
  sqlite3_free(word);
  return used;
}

static void expect_used(const char *names, const char *behind) {
  sqlite3 *plain = NULL;
  sqlite3_stmt *stmt = NULL;
  int count = 0;
  ck_assert_int_eq(sqlite3_open(":memory:", &plain), SQLITE_OK);
  ck_assert_int_eq(sqlite3_tidemark_init(plain, NULL, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_prepare_v2(plain, names, -1, &stmt, NULL), SQLITE_OK);
  for (; sqlite3_step(stmt) == SQLITE_ROW; count++)
    ck_assert_msg(is_used((const char *)sqlite3_column_text(stmt, 0), behind), "no operation has %s%s",
                  sqlite3_column_text(stmt, 0), behind);
  ck_assert_int_gt(count, 2);
  sqlite3_finalize(stmt);
  sqlite3_close(plain);
}

START_TEST(every_function_has_an_operation) {
  expect_used("SELECT DISTINCT name FROM pragma_function_list WHERE name LIKE 'tidemark%'"
              " AND name <> 'tidemark_add_schemes'", /* for extensions alone: SQL cannot give it what it takes */
              "(");
}
END_TEST

START_TEST(every_module_and_table_has_an_operation) {
  expect_used("SELECT name FROM pragma_module_list WHERE name LIKE 'tidemark%' AND name <> 'tidemark_status'", "");
  sqlite3 *db = database_connect();
  const char *names = db_text(db, "SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view') AND name LIKE"
                                  " 'tidemark%%' AND name NOT IN ('tidemark_registry', 'tidemark_sink_state',"
                                  " 'tidemark_sink_count', 'tidemark_sink_fork')"); /* which nobody else reads */
  char *list = strdup(names);
  for (char *name = strtok(list, " "); name != NULL; name = strtok(NULL, " "))
    ck_assert_msg(is_used(name, ""), "no operation has %s", name);
  free(list);
  db_close(db);
}
END_TEST

START_TEST(every_operation_runs) {
  trial_begin(&operations[_i]);
  if (strncmp(trial.sql, "SELECT", 6) == 0)
    ck_assert_msg(*trial.output != '\0', "%s answers nothing", trial.sql);
  trial_end();
}
END_TEST

static void make(void) {
  database_make("delete");
}

int main(int argc, char **argv) {
  const TTest *const others[] = {every_function_has_an_operation, every_module_and_table_has_an_operation, NULL};
  return faults_main("operations", make, every_operation_runs, others, argc, argv);
}
