/* The modules as shared objects: loaded, unloaded with their connection, loaded again, loaded twice, in two connections,
 * in the wrong order.
 *   loading TIDEMARK TIDEMARK_NET */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "sql_db.h"
#include "unit.h"

static const char *tidemark;
static const char *tidemark_net;

static int load(sqlite3 *db, const char *module, const char **ret_message) {
  static char message[400];
  char *said = NULL;
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
  const int rc = sqlite3_load_extension(db, module, NULL, &said);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
  snprintf(message, sizeof message, "%s", said != NULL ? said : "");
  sqlite3_free(said);
  if (ret_message != NULL)
    *ret_message = message;
  return rc;
}

/* The helpers' name for what makes a connection ready. */
int sqlite3_tidemark_init(sqlite3 *db, char **ret_message, const sqlite3_api_routines *api) {
  (void)ret_message, (void)api;
  return load(db, tidemark, NULL);
}

/* Whether a module is mapped into this process. */
static bool is_mapped(const char *module) {
  char line[1000];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  ck_assert_ptr_nonnull(maps);
  while (fgets(line, sizeof line, maps) != NULL)
    found = found || strstr(line, module) != NULL;
  fclose(maps);
  return found;
}

static void use(sqlite3 *db, int rows) {
  db_exec(db, "CREATE VIRTUAL TABLE IF NOT EXISTS logs USING tidemark(source TEXT, n, partition_by=source)");
  db_exec(db, "INSERT INTO logs VALUES ('web', 1), ('db', 2); SELECT tidemark_flush('logs')");
  assert_int(db, rows, "SELECT count(*) FROM logs");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
}

START_TEST(a_close_unloads_it_and_it_loads_again) {
  scratch_open();
  sqlite3_int64 used = 0;
  for (int i = 1; i <= 10; i++) {
    sqlite3 *db = db_open(scratch_path("db"), NULL);
    ck_assert(is_mapped("/tidemark.so"));
    use(db, 2 * i);
    db_close(db);
    if (getenv("ASAN_OPTIONS") == NULL) /* whose runtime keeps modules */
      ck_assert(!is_mapped("/tidemark.so"));
    used = i == 1 ? sqlite3_memory_used() : used;
    ck_assert_int_eq(sqlite3_memory_used(), used);
  }
}
END_TEST

START_TEST(a_zombie_keeps_it_until_its_last_statement_goes) {
  scratch_open();
  sqlite3_stmt *stmt = NULL;
  sqlite3 *db = db_open(scratch_path("db"), NULL);
  use(db, 2);
  ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT n FROM logs ORDER BY since", -1, &stmt, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  ck_assert_int_eq(sqlite3_close_v2(db), SQLITE_OK);
  ck_assert(is_mapped("/tidemark.so"));
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  ck_assert_int_eq(sqlite3_column_int(stmt, 0), 2);
  sqlite3_finalize(stmt);
  db = db_open(scratch_path("db"), NULL);
  use(db, 4);
  db_close(db);
}
END_TEST

START_TEST(two_connections_have_one_each) {
  scratch_open();
  sqlite3 *first = db_open(scratch_path("db"), NULL);
  sqlite3 *second = db_open(scratch_path("db"), NULL);
  use(first, 2);
  use(second, 4);
  db_close(first);
  use(second, 6);
  first = db_open(scratch_path("db"), NULL);
  db_close(second);
  use(first, 8);
  db_close(first);
}
END_TEST

START_TEST(a_second_load_changes_nothing) {
  scratch_open();
  sqlite3 *db = db_open(scratch_path("db"), NULL);
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n, partition_by=source);"
              "BEGIN; INSERT INTO logs VALUES ('web', 0)");
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT n FROM logs", -1, &stmt, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(load(db, tidemark, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
  sqlite3_finalize(stmt);
  db_exec(db, "COMMIT");
  use(db, 3);
  db_close(db);
}
END_TEST

/* Not from SQL, once the host has switched that off again; what is loaded stays of use. */
START_TEST(loading_may_be_switched_off_behind_it) {
  scratch_open();
  sqlite3 *db = db_open(scratch_path("db"), NULL);
  db_refuses(db, 0, "not authorized", "SELECT load_extension(%Q)", tidemark_net);
  use(db, 2);
  db_close(db);
}
END_TEST

static const char s3_sink[] = "INSERT INTO tidemark_sink(sink, dataset, target, format)"
                              " VALUES ('lake', 'logs', 's3://bucket/prefix', 'csv')";

/* tidemark_net adds to what is there, for its connection alone, and stays in the process. */
START_TEST(the_second_extension_comes_second) {
  scratch_open();
  const char *message = NULL;
  sqlite3 *db = NULL;
  ck_assert_int_eq(sqlite3_open(scratch_path("db"), &db), SQLITE_OK);
  ck_assert_int_ne(load(db, tidemark_net, &message), SQLITE_OK);
  ck_assert_msg(strstr(message, "load tidemark first") != NULL, "%s", message);
  ck_assert_int_eq(load(db, tidemark, NULL), SQLITE_OK);
  use(db, 2);
  db_refuses(db, SQLITE_CONSTRAINT, "s3", "%s", s3_sink);
  for (int i = 0; i < 2; i++)
    ck_assert_msg(load(db, tidemark_net, &message) == SQLITE_OK, "%s", message);
  ck_assert_int_eq(load(db, tidemark, NULL), SQLITE_OK);
  db_exec(db, "%s", s3_sink);
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  db_refuses(other, SQLITE_CONSTRAINT, "s3", "UPDATE tidemark_sink SET target = 's3://bucket/other'");
  db_close(db);
  use(other, 4);
  db_close(other);
  ck_assert(is_mapped("/tidemark_net.so"));
  db = db_open(scratch_path("db"), NULL);
  ck_assert_int_eq(load(db, tidemark_net, NULL), SQLITE_OK);
  db_exec(db, "UPDATE tidemark_sink SET target = 's3://bucket/other'");
  db_close(db);
}
END_TEST

static sqlite3_api_routines narrow;

static int narrow_init(sqlite3 *db, char **ret_message, const sqlite3_api_routines *api) {
  (void)db, (void)ret_message;
  narrow = *api;
  narrow.progress_handler = NULL;
  return SQLITE_OK;
}

/* As better-sqlite3's SQLite is built. */
START_TEST(a_host_may_lack_progress_callbacks) {
  scratch_open();
  sqlite3 *db = NULL;
  sqlite3_auto_extension((void (*)(void))narrow_init);
  ck_assert_int_eq(sqlite3_open(scratch_path("db"), &db), SQLITE_OK);
  sqlite3_cancel_auto_extension((void (*)(void))narrow_init);
  void *module = dlopen(tidemark, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(module != NULL, "%s", dlerror());
  int (*init)(sqlite3 *, char **, const sqlite3_api_routines *) = NULL;
  *(void **)&init = dlsym(module, "sqlite3_tidemark_init");
  ck_assert_int_eq(init(db, NULL, &narrow), SQLITE_OK);
  use(db, 2);
  ck_assert_int_eq(mkdir(scratch_path("archive"), 0700), 0);
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format, filter)"
          " VALUES ('archive', 'logs', 'file://' || %Q, 'csv', 'n > 1')",
          scratch_path("archive"));
  assert_text(db, "1 1",
              "SELECT (did ->> 'rows') || ' ' || (did ->> 'skipped') FROM (SELECT tidemark_export() AS did)");
  db_close(db);
  dlclose(module);
}
END_TEST

int main(int argc, char **argv) {
  const TTest *const tests[] = {a_close_unloads_it_and_it_loads_again, a_zombie_keeps_it_until_its_last_statement_goes,
                                two_connections_have_one_each,         a_second_load_changes_nothing,
                                loading_may_be_switched_off_behind_it, the_second_extension_comes_second,
                                a_host_may_lack_progress_callbacks,    NULL};
  if (argc != 3) {
    fprintf(stderr, "usage: %s TIDEMARK TIDEMARK_NET\n", argv[0]);
    return 2;
  }
  tidemark = argv[1];
  tidemark_net = argv[2];
  return unit_main("loading", tests);
}
