/* A file from elsewhere has views, triggers and expressions of its own. None of them calls a function of ours but
 * tidemark_version, whether the host trusts schemas or not: each place is made with another function, which is then
 * exchanged behind SQLite's back, as whoever made such a file would. */
#define _GNU_SOURCE
#include "export_db.h"

#define PLACEHOLDER "abs(-7)"

static const struct {
  const char *create;
  const char *use;
  bool calls; /* SQLite, 3.40 at least, calls from a CHECK what may be called directly only: within a statement that
                 writes, in which all of ours that do anything refuse to run */
} places[] = {
    {"CREATE VIEW evil AS SELECT " PLACEHOLDER " AS x", "SELECT * FROM evil", false},
    {"CREATE VIEW evil AS SELECT a FROM t WHERE " PLACEHOLDER " IS NOT 1", "SELECT count(*) FROM evil", false},
    {"CREATE TRIGGER evil AFTER INSERT ON t BEGIN SELECT " PLACEHOLDER "; END", "INSERT INTO t VALUES (2)", false},
    {"CREATE TRIGGER evil BEFORE DELETE ON t WHEN " PLACEHOLDER " IS NOT 1 BEGIN SELECT 1; END", "DELETE FROM t",
     false},
    {"CREATE TRIGGER evil AFTER UPDATE ON t BEGIN INSERT INTO logs VALUES ('x', " PLACEHOLDER "); END",
     "UPDATE t SET a = 3", false},
    {"CREATE TABLE evil(a, b AS (" PLACEHOLDER "))", "INSERT INTO evil(a) VALUES (1); SELECT b FROM evil", false},
    {"CREATE TABLE evil(a, b AS (" PLACEHOLDER ") STORED)", "INSERT INTO evil(a) VALUES (1)", false},
    {"CREATE TABLE evil(a CHECK(" PLACEHOLDER " IS NOT 1))", "INSERT INTO evil VALUES (1)", true},
    {"CREATE TABLE evil(a, b DEFAULT (" PLACEHOLDER "))", "INSERT INTO evil(a) VALUES (1)", false},
    {"CREATE INDEX evil ON t(" PLACEHOLDER ")", "INSERT INTO t VALUES (2)", false},
    {"CREATE INDEX evil ON t(a) WHERE " PLACEHOLDER " IS NOT 1", "INSERT INTO t VALUES (2)", false}};

enum { PLACES = sizeof places / sizeof *places };

/* A call of the function with so many arguments, which would do something if it were made. */
static const char *call_of(const char *function, int argc) {
  static const struct {
    const char *function;
    const char *arguments;
  } own[] = {{"tidemark_set", "'logs', 'retention_rows', 1"},
             {"tidemark_add_column", "'logs', 'evil TEXT'"},
             {"tidemark_ack", "1"},
             {"tidemark_claim", "'s', 'logs'"},
             {"tidemark_export", "'s'"},
             {"tidemark_verify", "'s'"},
             {"tidemark_peek", "'s'"},
             {"tidemark_metrics", "'main'"},
             {"tidemark_progress", "1"},
             {"tidemark_fork", "'s'"},
             {"tidemark_requeue", "'s'"},
             {"tidemark_rewind", "'s', 'logs', 'source=web', 0, 'evil'"}};
  static char call[200];
  const char *arguments = argc > 0 ? "'logs'" : "";
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    arguments = strcmp(function, own[i].function) == 0 ? own[i].arguments : arguments;
  snprintf(call, sizeof call, "%s(%s)", function, arguments);
  return call;
}

static sqlite3 *open_file(const char *path) {
  sqlite3 *opened = db_open(path, NULL);
  sqlite3_busy_timeout(opened, 0);
  return opened;
}

/* The file with the placeholder exchanged; the caller opens it. */
static void make_file(size_t place, const char *call) {
  sqlite3 *made = open_file(scratch_path("db"));
  db_exec(made, "DROP TABLE IF EXISTS t; DROP VIEW IF EXISTS evil; CREATE TABLE t(a); INSERT INTO t VALUES (1)");
  db_exec(made, "%s", places[place].create);
  db_exec(made, "PRAGMA writable_schema = on; UPDATE sqlite_schema SET sql = replace(sql, '" PLACEHOLDER "', %Q)",
          call);
  ck_assert_int_eq(sqlite3_changes(made) > 0, 1);
  db_close(made);
}

static void check_refused(size_t place, const char *call, bool trusted) {
  sqlite3 *victim = open_file(scratch_path("db"));
  sqlite3_db_config(victim, SQLITE_DBCONFIG_TRUSTED_SCHEMA, (int)trusted, NULL);
  const int rc = sqlite3_exec(victim, places[place].use, NULL, NULL, NULL);
  if (places[place].calls) {
    sqlite3_exec(victim, "BEGIN; INSERT INTO evil VALUES (2); COMMIT", NULL, NULL, NULL);
    sqlite3_close_v2(victim);
    return;
  }
  ck_assert_msg(rc != SQLITE_OK, "%s of %s was accepted", places[place].use, places[place].create);
  ck_assert_msg(strstr(sqlite3_errmsg(victim), "unsafe use of") != NULL ||
                    strstr(sqlite3_errmsg(victim), "non-deterministic") != NULL,
                "%s in %s: %s", call, places[place].create, sqlite3_errmsg(victim));
  sqlite3_close_v2(victim);
}

static void remove_place(void) {
  sqlite3 *mended = open_file(scratch_path("db"));
  db_exec(mended, "PRAGMA writable_schema = on; DELETE FROM sqlite_schema WHERE name IN ('evil', 't');"
                  "PRAGMA writable_schema = reset");
  db_close(mended);
}

static void check_function(const char *function, int argc) {
  const char *call = call_of(function, argc);
  for (size_t i = 0; i < PLACES; i++) {
    make_file(i, call);
    check_refused(i, call, false);
    check_refused(i, call, true);
    remove_place();
  }
}

/* Every function that is registered, with the fewest arguments it takes. */
START_TEST(no_place_of_a_schema_calls_a_function_of_ours) {
  begin();
  db_exec(db, "PRAGMA journal_mode = delete; INSERT INTO logs VALUES ('web', 'one'), ('web', 'two')");
  db_exec(db, "CREATE TEMP TABLE function AS SELECT name, max(narg > 0) AS narg FROM pragma_function_list"
              " WHERE name LIKE 'tidemark%%' AND name <> 'tidemark_version' GROUP BY name");
  ck_assert_int_ge(db_int(db, "SELECT count(*) FROM function"), 16);
  assert_text(db, "",
              "SELECT name FROM pragma_function_list WHERE name LIKE 'tidemark%%' AND"
              " name <> 'tidemark_version' AND NOT flags & %d",
              SQLITE_DIRECTONLY);
  char names[2000];
  snprintf(names, sizeof names, "%s", db_text(db, "SELECT name, narg FROM function"));
  end();
  int functions = 0;
  for (char *at = strtok(names, " |"); at != NULL; at = strtok(NULL, " |"), functions++)
    check_function(at, atoi(strtok(NULL, " |")));
  ck_assert_int_ge(functions, 16);
  db = db_open(scratch_path("db"), NULL);
  assert_text(
      db, "2|0|2|-1|0|0",
      "SELECT (SELECT count(*) FROM logs), (SELECT count(*) FROM logs_segment), (SELECT count(*) FROM logs_column),"
      " (SELECT value FROM logs_config WHERE key = 'retention_rows'),"
      " (SELECT count(*) FROM tidemark_batch), (SELECT count(*) FROM tidemark_export_log)");
  ck_assert_int_eq(files_below(folder, true), 0);
  assert_int(db, 2, "SELECT tidemark_export('s') ->> 'rows'"); /* as the user's own statement it does */
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {no_place_of_a_schema_calls_a_function_of_ours, NULL};
  return unit_main("untrusted schema", tests);
}
