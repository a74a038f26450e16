/* Whatever a host sets, limits or opens, a dataset's life is the same to the last row of its status tables, and so is
 * what other ways of opening read of it. Each setting is asked for again at the end: one that did not take proves
 * nothing. Those that do not exclude each other are lived with together; the long form takes each by itself too, and
 * TIDE_TEST_SETTING=<number> one. */
#define _GNU_SOURCE
#include "life.h"

enum { SHARED = 1 };

struct setting {
  const char *sql; /* run before anything is there */
  const char *ask; /* a query whose answer is `is` all the time; NULL: none */
  const char *is;
  int option, on;  /* for sqlite3_db_config; 0: none */
  int limit, most; /* for sqlite3_limit, unless most is 0 */
  int how;
  bool apart; /* goes with no other */
  void (*apply)(sqlite3 *db);
  const char *path; /* NULL: "db" in the scratch folder */
};

/* ---- settings that take more than a word ---- */

static void host_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  sqlite3_result_error(context, "a function of the host's was called", -1);
}

/* Functions that hosts make their own. (ICU's lower and upper are SQLite's for the words of the product.) */
static void replace_functions(sqlite3 *db) {
  static const struct {
    const char *name;
    int argc;
  } all[] = {{"like", 2}, {"like", 3}, {"glob", 2}, {"regexp", 2}, {"match", 2}, {"hex", 1}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    ck_assert_int_eq(
        sqlite3_create_function(db, all[i].name, all[i].argc, SQLITE_UTF8, NULL, host_function, NULL, NULL), SQLITE_OK);
}

static void without_optimizations(sqlite3 *db) {
  ck_assert_int_eq(sqlite3_test_control(SQLITE_TESTCTRL_OPTIMIZATIONS, db, 0xffffffff), SQLITE_OK);
}

static void with_extended_codes(sqlite3 *db) {
  sqlite3_extended_result_codes(db, 1);
}

static int on_commit(void *data) {
  (void)data;
  return 0;
}

static void on_change(void *data, int action, const char *schema, const char *table, sqlite3_int64 rowid) {
  (void)data, (void)action, (void)schema, (void)table, (void)rowid;
}

static int on_trace(unsigned type, void *data, void *p, void *x) {
  (void)data, (void)x;
  if (type == SQLITE_TRACE_STMT)
    sqlite3_free(sqlite3_expanded_sql(p));
  return 0;
}

static void with_hooks(sqlite3 *db) {
  sqlite3_commit_hook(db, on_commit, NULL);
  sqlite3_update_hook(db, on_change, NULL);
  sqlite3_trace_v2(db, SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE | SQLITE_TRACE_ROW, on_trace, NULL);
}

/* ---- the table ---- */

#define PRAGMA(name, value, told)                                                                                      \
  { .sql = "PRAGMA " name " = " value, .ask = "PRAGMA " name, .is = told }
#define APART(name, value, told)                                                                                       \
  { .sql = "PRAGMA " name " = " value, .ask = "PRAGMA " name, .is = told, .apart = true }

static const struct setting settings[] = {
    PRAGMA("trusted_schema", "off", "0"),
    PRAGMA("foreign_keys", "on", "1"),
    PRAGMA("recursive_triggers", "on", "1"),
    PRAGMA("cell_size_check", "on", "1"),
    APART("writable_schema", "on", "1"), /* DEFENSIVE takes it back */
    PRAGMA("short_column_names", "off", "0"),
    PRAGMA("full_column_names", "on", "1"),
    PRAGMA("reverse_unordered_selects", "on", "1"),
    {.sql = "PRAGMA case_sensitive_like = on", .ask = "SELECT 'a' LIKE 'A'", .is = "0"},
    PRAGMA("automatic_index", "off", "0"),
    PRAGMA("legacy_alter_table", "on", "1"),
    PRAGMA("ignore_check_constraints", "on", "1"),
    PRAGMA("secure_delete", "on", "1"),
    PRAGMA("secure_delete", "fast", "2"),
    PRAGMA("auto_vacuum", "full", "1"),
    PRAGMA("auto_vacuum", "incremental", "2"),
    PRAGMA("page_size", "512", "512"),
    PRAGMA("page_size", "1024", "1024"),
    PRAGMA("page_size", "65536", "65536"),
    PRAGMA("encoding", "'UTF-16le'", "UTF-16le"),
    PRAGMA("encoding", "'UTF-16be'", "UTF-16be"),
    PRAGMA("journal_mode", "truncate", "truncate"),
    PRAGMA("journal_mode", "persist", "persist"),
    PRAGMA("journal_mode", "memory", "memory"),
    APART("journal_mode", "off", "off"), /* without it nothing can be rolled back */
    PRAGMA("journal_mode", "wal", "wal"),
    PRAGMA("locking_mode", "exclusive", "exclusive"),
    {.apart = true,
     .sql = "PRAGMA locking_mode = exclusive; PRAGMA journal_mode = wal",
     .ask = "PRAGMA journal_mode",
     .is = "wal"},
    PRAGMA("mmap_size", "268435456", "268435456"),
    PRAGMA("cache_size", "1", "1"),
    PRAGMA("cache_spill", "off", "0"),
    PRAGMA("temp_store", "memory", "2"),
    PRAGMA("synchronous", "off", "0"),
    PRAGMA("synchronous", "extra", "3"),
    PRAGMA("read_uncommitted", "on", "1"),
    {.sql = "PRAGMA count_changes = on", .ask = "PRAGMA count_changes", .is = "1"},
    {.option = SQLITE_DBCONFIG_DEFENSIVE, .on = 1},
    {.option = SQLITE_DBCONFIG_TRUSTED_SCHEMA, .on = 0},
    {.option = SQLITE_DBCONFIG_DQS_DML, .on = 0},
    {.option = SQLITE_DBCONFIG_DQS_DDL, .on = 0},
    {.option = SQLITE_DBCONFIG_ENABLE_QPSG, .on = 1},
    {.option = SQLITE_DBCONFIG_LEGACY_ALTER_TABLE, .on = 1},
    {.option = SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, .on = 1, .sql = "PRAGMA journal_mode = wal"},
    {.option = SQLITE_DBCONFIG_ENABLE_FKEY, .on = 1},
    {.option = SQLITE_DBCONFIG_ENABLE_VIEW, .on = 0},
    {.limit = SQLITE_LIMIT_LENGTH, .most = 1000000},
    {.limit = SQLITE_LIMIT_SQL_LENGTH, .most = 10000},
    {.limit = SQLITE_LIMIT_COLUMN, .most = 40},
    {.limit = SQLITE_LIMIT_EXPR_DEPTH, .most = 40},
    {.limit = SQLITE_LIMIT_COMPOUND_SELECT, .most = 5},
    {.limit = SQLITE_LIMIT_VDBE_OP, .most = 5000},
    {.limit = SQLITE_LIMIT_FUNCTION_ARG, .most = 20},
    {.limit = SQLITE_LIMIT_ATTACHED, .most = 1},
    {.limit = SQLITE_LIMIT_LIKE_PATTERN_LENGTH, .most = 40},
    {.limit = SQLITE_LIMIT_VARIABLE_NUMBER, .most = 32},
    {.limit = SQLITE_LIMIT_TRIGGER_DEPTH, .most = 5},
    {.limit = SQLITE_LIMIT_WORKER_THREADS, .most = 4},
    {.apart = true, .path = ":memory:"},
    {.apart = true, .path = ""},
    {.apart = true, .path = "file:memory?mode=memory&cache=shared"},
    {.apart = true, .how = SHARED},
    {.apart = true, .how = SHARED, .sql = "PRAGMA journal_mode = wal", .ask = "PRAGMA journal_mode", .is = "wal"},
    {.apart = true, .apply = replace_functions},
    {.apply = without_optimizations},
    {.apply = with_extended_codes},
    {.apply = with_hooks},
};

static sqlite3 *open_with(const char *path, int flags) {
  sqlite3 *db = NULL;
  const int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | flags, NULL);
  ck_assert_msg(rc == SQLITE_OK, "%s: %s", path, sqlite3_errmsg(db));
  return db;
}

static void set(sqlite3 *db, const struct setting *setting) {
  if (setting->option != 0)
    sqlite3_db_config(db, setting->option, setting->on, NULL);
  if (setting->most != 0 || setting->limit != 0)
    sqlite3_limit(db, setting->limit, setting->most);
  if (setting->apply != NULL)
    setting->apply(db);
  if (setting->sql != NULL)
    ck_assert_int_eq(sqlite3_exec(db, setting->sql, NULL, NULL, NULL), SQLITE_OK);
}

static void check_still_set(sqlite3 *db, const struct setting *setting) {
  int on = setting->on;
  if (setting->ask != NULL)
    ck_assert_msg(strcmp(db_text(db, "%s", setting->ask), setting->is) == 0, "%s: %s", setting->sql,
                  db_text(db, "%s", setting->ask));
  if (setting->option != 0)
    sqlite3_db_config(db, setting->option, -1, &on);
  ck_assert_int_eq(on, setting->on);
  if (setting->most != 0 || setting->limit != 0)
    ck_assert_int_eq(sqlite3_limit(db, setting->limit, -1), setting->most);
}

/* ---- transcripts ---- */

static void check_told(const char *told, const char *expected, const char *name) {
  size_t at = 0;
  while (told[at] != '\0' && told[at] == expected[at])
    at++;
  while (at > 0 && strncmp(told + at, "\n-- ", 4) != 0)
    at--;
  ck_assert_msg(strcmp(told, expected) == 0, "%s\n%.600s\nand by default:\n%.600s", name, told + at, expected + at);
}

/* Settings that are lived with at once. */
struct group {
  const struct setting *settings[sizeof settings / sizeof *settings];
  size_t count;
};

static const char *name_of(const struct group *group) {
  static char name[4000];
  size_t used = 0;
  for (size_t i = 0; i < group->count && used < sizeof name; i++) {
    const struct setting *setting = group->settings[i];
    used += (size_t)snprintf(name + used, sizeof name - used, "%s%d (%s option %d limit %d)",
                             i > 0 ? ", " : "settings ", (int)(setting - settings),
                             setting->sql != NULL ? setting->sql : "", setting->option, setting->limit);
  }
  return name;
}

/* What a connection of the same cache reads is what the life ended with. */
static void check_beside(sqlite3 *beside, const char *told) {
  ck_assert_int_eq(sqlite3_tidemark_init(beside, NULL, NULL), SQLITE_OK);
  char *by = life_told_by(beside);
  ck_assert_msg(strstr(told, by) != NULL, "%s", by);
  sqlite3_free(by);
  db_close(beside);
}

static char *live(const struct group *group) {
  char folder[128];
  const struct setting *first = group->count > 0 ? group->settings[0] : NULL;
  const bool shared = first != NULL && (first->how & SHARED);
  scratch_open();
  snprintf(folder, sizeof folder, "%s", scratch_path("archive"));
  ck_assert_int_eq(mkdir(folder, 0755), 0);
  const char *path = first != NULL && first->path != NULL ? first->path : scratch_path("db");
  sqlite3 *db = open_with(path, shared ? SQLITE_OPEN_SHAREDCACHE : 0);
  sqlite3 *beside = shared ? open_with(path, SQLITE_OPEN_SHAREDCACHE) : NULL;
  for (size_t i = 0; i < group->count; i++)
    set(db, group->settings[i]);
  ck_assert_int_eq(sqlite3_tidemark_init(db, NULL, NULL), SQLITE_OK);
  char *told = life_of(db, folder);
  for (size_t i = 0; i < group->count; i++)
    check_still_set(db, group->settings[i]);
  if (beside != NULL)
    check_beside(beside, told);
  db_close(db);
  return told;
}

/* Two of one pragma, or of which one goes with no other. */
static bool clash(const struct setting *one, const struct setting *other) {
  const char *sign = one->sql != NULL ? strchr(one->sql, '=') : NULL;
  return one->apart || other->apart ||
         (sign != NULL && other->sql != NULL && strncmp(one->sql, other->sql, (size_t)(sign - one->sql)) == 0);
}

/* Takes the first setting that is left and all that go with it; false when none is left. */
static bool next_group(bool *left, bool alone, struct group *group) {
  group->count = 0;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    bool fits = left[i] && !(alone && group->count > 0);
    for (size_t j = 0; j < group->count && fits; j++)
      fits = !clash(&settings[i], group->settings[j]);
    if (fits)
      group->settings[group->count++] = &settings[i];
    left[i] = left[i] && !fits;
  }
  return group->count > 0;
}

static void live_under_all(bool alone, const char *expected) {
  struct group group;
  bool left[sizeof settings / sizeof *settings];
  const char *only = getenv("TIDE_TEST_SETTING");
  for (size_t i = 0; i < sizeof left; i++)
    left[i] = only == NULL || strtoul(only, NULL, 10) == i;
  while (next_group(left, alone, &group)) {
    char *told = live(&group);
    check_told(told, expected, name_of(&group));
    sqlite3_free(told);
  }
}

START_TEST(a_life_is_the_same_under_every_setting) {
  static const struct group none = {0};
  char *expected = live(&none);
  live_under_all(false, expected);
  if (getenv("TIDE_TEST_LONG") != NULL)
    live_under_all(true, expected);
  sqlite3_free(expected);
}
END_TEST

/* ---- ways to open what is there ---- */

/* The end of what the life told, as a connection of that kind reads it. */
static void check_read(const char *query, int flags, const char *pragma, const char *told) {
  char uri[300];
  sqlite3 *db = NULL;
  snprintf(uri, sizeof uri, "file:%s?%s", scratch_path("db"), query);
  ck_assert_int_eq(sqlite3_open_v2(uri, &db, flags | SQLITE_OPEN_URI, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_exec(db, pragma, NULL, NULL, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_tidemark_init(db, NULL, NULL), SQLITE_OK);
  char *by = life_told_by(db);
  const size_t size = strlen(by);
  ck_assert_uint_ge(strlen(told), size);
  check_told(by, told + strlen(told) - size, query);
  sqlite3_free(by);
  if (strcmp(pragma, "") != 0 || (flags & SQLITE_OPEN_READONLY) != 0)
    db_refuses(db, SQLITE_READONLY, "", "INSERT INTO logs(n) VALUES (1)");
  db_close(db);
}

START_TEST(what_was_lived_is_read_in_every_way) {
  static const struct setting modes[] = {{.sql = "PRAGMA journal_mode = delete"}, {.sql = "PRAGMA journal_mode = wal"}};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    const struct group mode = {.settings = {&modes[i]}, .count = 1};
    char *told = live(&mode);
    check_read("mode=rw", SQLITE_OPEN_READWRITE, "", told);
    check_read("mode=rw", SQLITE_OPEN_READWRITE, "PRAGMA query_only = on", told);
    check_read("mode=ro", SQLITE_OPEN_READONLY, "", told);
    check_read("mode=ro", SQLITE_OPEN_READONLY, "PRAGMA mmap_size = 1000000", told);
    check_read("immutable=1", SQLITE_OPEN_READONLY, "", told);
    check_read("mode=ro&cache=shared", SQLITE_OPEN_READONLY, "", told);
    sqlite3_free(told);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_life_is_the_same_under_every_setting, what_was_lived_is_read_in_every_way, NULL};
  return unit_main("settings", tests);
}
