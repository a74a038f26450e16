/* Whatever datasets, columns, schemas, sinks, partition tables and partition values are called, names are quoted
 * wherever SQL is made of them: each name goes through a whole life in every one of those places, and a table that stands
 * beside it stays as it is. */
#define _GNU_SOURCE
#include <errno.h>

#include "archive.h"
#include "sql_db.h"
#include "unit.h"

/* The short form takes the first SHORT of them. */
enum { SHORT = 10 };
static const char *const names[] = {"\"; DROP TABLE bystander; --",
                                    "'; DROP TABLE bystander; --",
                                    "x]; DROP TABLE bystander; --",
                                    "a\"\"b''c",
                                    "`x`",
                                    "%s%n%d%Q%w",
                                    "a/../../b",
                                    "select",
                                    "a.b",
                                    "\xc3\x85ngstr\xc3\xb6m \xe6\x97\xa5\xe6\x9c\xac",
                                    "a\"b",
                                    "a'b",
                                    "[x]",
                                    " two  words ",
                                    "TABLE",
                                    "?1",
                                    ":a",
                                    "..",
                                    "/",
                                    "\\",
                                    "--",
                                    "/*",
                                    "0",
                                    "line\nbreak\ttab",
                                    "new",
                                    "old",
                                    "_tail",
                                    "CON"};

static sqlite3 *db;
static const char *name; /* of this round */
static char folder[128];

static void begin(const char *schema) {
  scratch_open();
  snprintf(folder, sizeof folder, "%s", scratch_path("archive"));
  ck_assert_int_eq(mkdir(folder, 0755), 0);
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "CREATE TABLE bystander(a); INSERT INTO bystander VALUES (1)");
  if (strcmp(schema, "main") != 0)
    db_exec(db, "ATTACH %Q AS \"%w\"", scratch_path("attached"), schema);
}

/* 'schema.dataset', as functions take it; good until the second call after it. */
static const char *full(const char *schema, const char *dataset) {
  static char texts[2][2200];
  static int at;
  char *text = texts[at++ % 2];
  snprintf(text, sizeof texts[0], "%s.%s", schema, dataset);
  return text;
}

static void create(const char *schema, const char *dataset, const char *column, const char *sink) {
  db_exec(db,
          "CREATE VIRTUAL TABLE \"%w\".\"%w\" USING tidemark(\"%w\" TEXT, v ANY, retention_rows=2, segment_rows=16,"
          " partition_by=\"%w\")",
          schema, dataset, column, column);
  char *filter = sqlite3_mprintf("\"%w\" IS NOT 5", column);
  db_exec(db,
          "INSERT INTO \"%w\".tidemark_sink(sink, dataset, target, format, filter, columns) VALUES (%Q, %Q,"
          " 'file://%s', 'ndjson', %Q, json_array('since', %Q, 'v'))",
          schema, sink, dataset, folder, filter, column);
  sqlite3_free(filter);
  db_exec(db, "INSERT INTO \"%w\".tidemark_sink(sink, dataset, hold) VALUES (%Q || ' own', %Q, 0)", schema, sink,
          dataset);
}

static void append(const char *schema, const char *dataset, const char *column) {
  db_exec(db, "INSERT INTO \"%w\".\"%w\"(\"%w\", v) VALUES (%Q, 1), ('other', 2), (%Q, %Q), ('other', 4), (%Q, 5)",
          schema, dataset, column, name, name, name, name);
}

static void check_rows(const char *schema, const char *dataset, const char *column, const char *rows) {
  assert_text(db, rows, "SELECT since FROM \"%w\".\"%w\" WHERE \"%w\" = %Q ORDER BY since", schema, dataset, column,
              name);
  assert_text(db, "ok", "SELECT tidemark_check(%Q)", full(schema, dataset));
}

static void check_files(int rows) {
  archive_read(db, folder);
  assert_int(db, rows, "SELECT count(DISTINCT json ->> 'since') FROM temp.line");
  assert_int(db, rows, "SELECT count(*) FROM temp.line");
  db_exec(db, "DROP TABLE temp.line; DROP TABLE temp.file");
}

static void drive_own_sink(const char *schema, const char *dataset, const char *sink) {
  char own[1100];
  snprintf(own, sizeof own, "%s own", sink);
  assert_int(db, 2, "SELECT tidemark_claim(%Q, %Q)", own, full(schema, dataset));
  const int64_t batch = db_int(db, "SELECT max(batch) FROM \"%w\".tidemark_batch", schema);
  db_exec(db, "SELECT tidemark_ack(%lld, %Q)", (long long)batch, name);
  db_exec(db, "DELETE FROM \"%w\".tidemark_batch", schema);
}

/* Until the dataset is gone, and nothing of it is left. */
static void live(const char *schema, const char *dataset, const char *column, const char *sink) {
  create(schema, dataset, column, sink);
  append(schema, dataset, column);
  db_exec(db, "SELECT tidemark_flush(%Q)", full(schema, dataset));
  append(schema, dataset, column);
  check_rows(schema, dataset, column, "1 3 5 6 8 10");
  assert_int(db, 10, "SELECT tidemark_export(%Q, %Q) ->> 'rows'", full(schema, sink), "now");
  check_files(10);
  drive_own_sink(schema, dataset, sink);
  assert_int(db, 1, "SELECT tidemark_verify(%Q) ->> '$.ok'", full(schema, sink));
  db_exec(db, "DELETE FROM \"%w\".\"%w\" WHERE \"%w\" = %Q AND since = 3", schema, dataset, column, name);
  assert_int(db, 5, "SELECT tidemark_prune(%Q) ->> 'rows'", full(schema, dataset));
  db_exec(db, "SELECT tidemark_compact(%Q); SELECT tidemark_maintain(%Q)", full(schema, dataset),
          full(schema, dataset));
  check_rows(schema, dataset, column, "8 10");
  char *added = sqlite3_mprintf("\"%w more\" TEXT DEFAULT %Q", column, name);
  db_exec(db, "SELECT tidemark_add_column(%Q, %Q)", full(schema, dataset), added);
  sqlite3_free(added);
  assert_text(db, name, "SELECT DISTINCT \"%w more\" FROM \"%w\".\"%w\"", column, schema, dataset);
  db_exec(db, "SELECT tidemark_rewind(%Q, %Q, (SELECT partition FROM \"%w\".\"%w\" WHERE \"%w\" = %Q LIMIT 1), 8, %Q)",
          full(schema, sink), full(schema, dataset), schema, dataset, column, name, name);
  assert_int(db, 1, "SELECT tidemark_export(%Q, 'now') ->> 'rows'", full(schema, sink));
  assert_text(db, "ok", "SELECT tidemark_check(%Q)", full(schema, dataset));
  db_exec(db, "DROP TABLE \"%w\".\"%w\"", schema, dataset);
  assert_int(db, 0,
             "SELECT (SELECT count(*) FROM \"%w\".tidemark_sink) + (SELECT count(*) FROM \"%w\".tidemark_export_log) +"
             " (SELECT count(*) FROM \"%w\".sqlite_schema WHERE substr(name, 1, length(%Q)) = %Q AND name NOT LIKE"
             " 'tidemark%%' AND name <> 'bystander')",
             schema, schema, schema, dataset, dataset);
  assert_int(db, 1, "SELECT count(*) FROM bystander");
}

static void each_name(void (*round)(void)) {
  const size_t count = getenv("TIDE_TEST_LONG") != NULL ? sizeof names / sizeof *names : SHORT;
  for (size_t i = 0; i < count; i++) {
    name = names[i];
    round();
  }
}

/* ---- one place at a time, and all at once ---- */

static void everywhere(void) {
  begin(name);
  live(name, name, name, name);
  db_close(db);
}

START_TEST(names_in_all_places_at_once) {
  each_name(everywhere);
}
END_TEST

/* A dataset takes the name by RENAME, with its sinks and its log, and loses it again; its partitions are tables. */
static void renamed(void) {
  begin("main");
  create("main", "plain", "c", "s");
  append("main", "plain", "c");
  assert_int(db, 5, "SELECT tidemark_export('s') ->> 'rows'");
  db_exec(db, "ALTER TABLE plain RENAME TO \"%w\"", name);
  append("main", name, "c");
  assert_int(db, 5, "SELECT tidemark_export('s') ->> 'rows'");
  check_rows("main", name, "c", "1 3 5 6 8 10");
  check_files(10);
  db_exec(db, "ALTER TABLE \"%w\" RENAME TO plain", name);
  check_rows("main", "plain", "c", "1 3 5 6 8 10");
  db_exec(db, "CREATE VIRTUAL TABLE \"%w\" USING tidemark_partition(plain, c='%q')", name, name);
  db_exec(db, "INSERT INTO \"%w\"(v) VALUES (6)", name);
  assert_text(db, "1|3|5|6|8|10|11", "SELECT group_concat(since, '|') FROM (SELECT since FROM \"%w\" ORDER BY since)",
              name);
  db_exec(db, "DROP TABLE \"%w\"; DROP TABLE plain", name);
  assert_int(db, 1, "SELECT count(*) FROM bystander");
  db_close(db);
}

START_TEST(names_that_a_rename_gives) {
  each_name(renamed);
}
END_TEST

/* One of 1,000 bytes is one for SQLite; only where files are named after it, it is refused. */
START_TEST(long_names) {
  static char long_name[1001];
  memset(long_name, '"', sizeof long_name - 1);
  name = long_name;
  begin("main");
  db_exec(db, "CREATE VIRTUAL TABLE \"%w\" USING tidemark(\"%w\" TEXT, v)", name, name);
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES (%Q, %Q)", name, name);
  db_refuses(db, SQLITE_CONSTRAINT, "takes 200 bytes at the most where files are named after it, not 3000",
             "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('s', %Q, 'file://%s', 'csv')", name,
             folder);
  append("main", name, name);
  db_exec(db, "SELECT tidemark_flush(%Q)", name);
  check_rows("main", name, name, "1 3 5");
  assert_int(db, 1, "SELECT tidemark_claim(%Q, %Q)", name, full("main", name));
  db_exec(db, "DROP TABLE \"%w\"", name);
  db_close(db);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {names_in_all_places_at_once, names_that_a_rename_gives, long_names, NULL};
  return unit_main("quoting", tests);
}
