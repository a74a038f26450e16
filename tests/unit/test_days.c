/* One day in the life of a dataset under each kind of database that a host may have: encodings, page sizes, journal
 * modes, the main, an attached and the TEMP schema, with and without DEFENSIVE and trusted schemas. An ordinary table
 * beside it says what it must hold. */
#define _GNU_SOURCE
#include "effort.h"
#include "export_db.h"

static const char *const encodings[] = {"UTF-8", "UTF-16le", "UTF-16be"};
static const int page_sizes[] = {512, 1024, 4096, 65536};
static const char *const journals[] = {"delete", "wal", "persist", "truncate"};
static const char *const schemas[] = {"main", "at.tached", "temp"};

enum { ENCODINGS = 3, PAGE_SIZES = 4, JOURNALS = 4, SCHEMAS = 3, DAYS = ENCODINGS * PAGE_SIZES * JOURNALS * SCHEMAS };

static struct {
  const char *schema;
  const char *encoding;
  int page_size;
  const char *journal;
  bool strict;
  char name[64];  /* the dataset's */
  char table[96]; /* the same as SQL writes it */
  char what[96];  /* the same as a function takes it */
} day;

static void call_it(const char *name) {
  sqlite3_snprintf((int)sizeof day.name, day.name, "%s", name);
  sqlite3_snprintf((int)sizeof day.table, day.table, "\"%w\".\"%w\"", day.schema, name);
  sqlite3_snprintf((int)sizeof day.what, day.what, "%s.%s", day.schema, name);
}

static void choose(int number) {
  day.encoding = encodings[number % ENCODINGS];
  day.page_size = page_sizes[number / ENCODINGS % PAGE_SIZES];
  day.journal = journals[number / ENCODINGS / PAGE_SIZES % JOURNALS];
  day.schema = schemas[number / ENCODINGS / PAGE_SIZES / JOURNALS];
  day.strict = (number + number / ENCODINGS) % 2 == 1;
}

/* ---- the database ---- */

static void open_day(void) {
  db = db_open(scratch_path("db"), "shim");
  db_exec(db, "PRAGMA page_size = %d; PRAGMA encoding = '%s'", day.page_size, day.encoding);
  if (strcmp(day.schema, "at.tached") == 0)
    db_exec(db, "CREATE TABLE IF NOT EXISTS first(a); ATTACH %Q AS \"%w\"; PRAGMA \"%w\".page_size = %d",
            scratch_path("attached"), day.schema, day.schema, day.page_size);
  if (strcmp(day.schema, "temp") != 0)
    db_exec(db, "PRAGMA \"%w\".journal_mode = %s", day.schema, day.journal);
  if (day.strict) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  }
}

static void reopen(void) {
  if (strcmp(day.schema, "temp") == 0)
    return;
  db_close(db);
  open_day();
}

static void create(void) {
  scratch_open();
  shim.now_ms = T0;
  snprintf(folder, sizeof folder, "%s", scratch_path("archive"));
  mkdir(folder, 0755);
  open_day();
  call_it("l'og \"s\" é");
  db_exec(db, "PRAGMA \"%w\".user_version = 42; PRAGMA \"%w\".application_id = 4711", day.schema, day.schema);
  db_exec(db,
          "CREATE VIRTUAL TABLE %s USING tidemark(source TEXT, n INTEGER, body, partition_by=source, segment_rows=16,"
          " retention_rows=40)",
          day.table);
  db_exec(db,
          "CREATE TABLE \"%w\".twin(since INTEGER PRIMARY KEY, source, n, body);"
          "CREATE TABLE \"%w\".seen(since INTEGER PRIMARY KEY, source);"
          "CREATE TABLE \"%w\".daily(source TEXT PRIMARY KEY, n INTEGER)",
          day.schema, day.schema, day.schema);
  db_exec(db,
          "INSERT INTO \"%w\".tidemark_sink(sink, dataset, target, format)"
          " VALUES ('archive', %Q, 'file://%s', 'ndjson'), ('daily', %Q, NULL, NULL)",
          day.schema, day.name, folder, day.name);
}

/* ---- the day's work ---- */

/* Rows of every type, in one transaction with a savepoint that is rolled back; the twin is told the numbers. */
static void write_rows(int count) {
  db_exec(db, "DROP TABLE IF EXISTS temp.rows; CREATE TEMP TABLE rows(source, n, body)");
  db_exec(db,
          "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d) INSERT INTO temp.rows"
          " SELECT CASE n %% 3 WHEN 0 THEN 'é😀' WHEN 1 THEN 'web' END, n, CASE n %% 6 WHEN 0 THEN 'text ' || n"
          " WHEN 1 THEN n * 1.5 WHEN 2 THEN n WHEN 3 THEN x'00ff' WHEN 4 THEN 'é' || char(0, 128512) END FROM c",
          count);
  const int64_t last = db_int(db, "SELECT last_since FROM \"%w\".tidemark_dataset", day.schema);
  db_exec(db,
          "BEGIN; INSERT INTO %s SELECT source, n, body FROM temp.rows WHERE rowid = 1 ORDER BY rowid;"
          "SAVEPOINT undone; INSERT INTO %s SELECT source, n, body FROM temp.rows ORDER BY rowid;"
          "ROLLBACK TO undone; INSERT INTO %s SELECT source, n, body FROM temp.rows WHERE rowid > 1 ORDER BY rowid",
          day.table, day.table, day.table);
  ck_assert_int_eq(sqlite3_last_insert_rowid(db), last + count);
  db_exec(db, "INSERT INTO \"%w\".twin SELECT %lld + rowid, source, n, body FROM temp.rows; COMMIT", day.schema, last);
}

static void compare(void) {
  assert_int(db, db_int(db, "SELECT count(*) FROM \"%w\".twin", day.schema), "SELECT count(*) FROM %s", day.table);
  assert_int(db, 0,
             "SELECT count(*) FROM (SELECT since, source, n, typeof(body), quote(body), body FROM %s"
             " EXCEPT SELECT since, source, n, typeof(body), quote(body), body FROM \"%w\".twin)",
             day.table, day.schema);
  assert_text(db, db_text(db, "SELECT since FROM \"%w\".twin WHERE source = 'é😀' AND n < 9 ORDER BY since", day.schema),
              "SELECT since FROM %s WHERE source = 'é😀' AND n < 9 ORDER BY since", day.table);
  assert_text(db, db_text(db, "SELECT n FROM \"%w\".twin WHERE body > 'text 3' ORDER BY body, since", day.schema),
              "SELECT n FROM %s WHERE body > 'text 3' ORDER BY body, since", day.table);
  assert_text(db, "ok", "SELECT tidemark_check(%Q)", day.what);
}

/* One tick of the archive and one of the sink in plain SQL, each beside what the twin says is new. */
static void tick_both(void) {
  db_exec(db,
          "INSERT INTO \"%w\".seen SELECT since, source FROM \"%w\".twin"
          " WHERE since > (SELECT coalesce(max(since), 0) FROM \"%w\".seen)",
          day.schema, day.schema, day.schema);
  assert_text(db, "0|0", "SELECT e ->> 'failed', e ->> 'more' FROM (SELECT tidemark_export('archive') AS e)");
  db_exec(db,
          "BEGIN IMMEDIATE; INSERT INTO \"%w\".daily SELECT coalesce(l.source, '-'), count(*)"
          " FROM \"%w\".tidemark_lag w CROSS JOIN %s l"
          " ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until"
          " WHERE w.sink = 'daily' AND w.rows > 0 GROUP BY 1 ON CONFLICT(source) DO UPDATE SET n = n + excluded.n;"
          "INSERT INTO \"%w\".tidemark_export_log(sink, dataset, partition, since, until, rows)"
          " SELECT sink, dataset, partition, since, until, rows FROM \"%w\".tidemark_lag"
          " WHERE sink = 'daily' AND rows > 0; COMMIT",
          day.schema, day.schema, day.table, day.schema, day.schema);
  assert_text(db,
              db_text(db, "SELECT coalesce(source, '-'), count(*) FROM \"%w\".seen GROUP BY 1 ORDER BY 1", day.schema),
              "SELECT * FROM \"%w\".daily ORDER BY 1", day.schema);
  archive_read(db, folder);
  assert_int(db, db_int(db, "SELECT count(*) FROM \"%w\".seen", day.schema), "SELECT count(*) FROM temp.line");
}

static void delete_rows(void) {
  db_exec(db, "DELETE FROM %s WHERE n %% 7 = 0; DELETE FROM \"%w\".twin WHERE n %% 7 = 0", day.table, day.schema);
}

/* retention_rows keeps the newest 40 of each partition. */
static void prune(void) {
  db_exec(db, "SELECT tidemark_prune(%Q)", day.what);
  db_exec(db,
          "DELETE FROM \"%w\".twin WHERE since NOT IN (SELECT since FROM (SELECT since, row_number() OVER"
          " (PARTITION BY source ORDER BY since DESC) AS place FROM \"%w\".twin) WHERE place <= 40)",
          day.schema, day.schema);
}

static void check_left_alone(void) {
  assert_int(db, 42, "PRAGMA \"%w\".user_version", day.schema);
  assert_int(db, 4711, "PRAGMA \"%w\".application_id", day.schema);
  assert_text(db, day.encoding, "PRAGMA encoding");
  if (strcmp(day.schema, "temp") == 0)
    return;
  assert_int(db, day.page_size, "PRAGMA \"%w\".page_size", day.schema);
  assert_text(db, day.journal, "PRAGMA \"%w\".journal_mode", day.schema);
}

static void rename_and_drop(void) {
  db_exec(db, "ALTER TABLE %s RENAME TO \"re.named\"", day.table);
  call_it("re.named");
  compare();
  write_rows(20);
  tick_both();
  reopen();
  compare();
  assert_int(db, 0, "SELECT sum(rows) FROM \"%w\".tidemark_lag", day.schema);
  db_exec(db, "DROP TABLE %s", day.table);
  assert_int(db, 0, "SELECT count(*) FROM \"%w\".sqlite_schema WHERE name LIKE 're.named%%'", day.schema);
  assert_int(db, 0,
             "SELECT (SELECT count(*) FROM \"%w\".tidemark_sink) + (SELECT count(*) FROM \"%w\".tidemark_export_log)",
             day.schema, day.schema);
}

static void live(int number) {
  choose(number);
  printf("day %d: %s, pages of %d, journal %s, schema %s%s\n", number, day.encoding, day.page_size, day.journal,
         day.schema, day.strict ? ", DEFENSIVE and untrusted" : "");
  fflush(stdout);
  create();
  write_rows(100);
  compare();
  tick_both();
  delete_rows();
  db_exec(db, "SELECT tidemark_flush(%Q)", day.what);
  compare();
  write_rows(130);
  reopen();
  tick_both();
  prune();
  compare();
  db_exec(db, "SELECT tidemark_compact(%Q)", day.what);
  compare();
  if (strcmp(day.schema, "temp") != 0)
    db_exec(db, "VACUUM \"%w\"", day.schema);
  db_exec(db, "SELECT tidemark_maintain(%Q)", day.what);
  compare();
  assert_text(db, "ok", "PRAGMA \"%w\".integrity_check", day.schema);
  rename_and_drop();
  check_left_alone();
  db_close(db);
}

/* The short form takes every fifth of all days, which has each pair of settings. */
START_TEST(every_day_is_the_same) {
  shim_register();
  for (int number = 0; number < DAYS; number += effort_is_long() ? 1 : EFFORT_DIVISOR == 1 ? 5 : 13)
    live(number);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {every_day_is_the_same, NULL};
  return unit_main("days", tests);
}
