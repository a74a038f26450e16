/* The database before, and what must hold after all that. What is expected are the rows that copy and seen hold,
 * ordinary tables, and the repetitions that again declares. */
#define _GNU_SOURCE
#include "../unit/archive.h"
#include "chance.h"
#include "processes.h"

static const char *const folders[] = {"archive", "sheet", "mail", "lake"};

char database_path[128];

void make_database(const char *journal) {
  scratch_open();
  snprintf(database_path, sizeof database_path, "%s", scratch_path("db"));
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    ck_assert_int_eq(mkdir(scratch_path(folders[i]), 0755), 0);
  sqlite3 *db = db_open(database_path, "shim");
  assert_text(db, journal, "PRAGMA journal_mode = %s", journal);
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, writer INTEGER, n INTEGER, body TEXT,"
              " partition_by=source, segment_rows=64, retention_rows=50);"
              "CREATE VIRTUAL TABLE events USING tidemark(source TEXT, id INTEGER NOT NULL, body TEXT,"
              " partition_by=source, segment_rows=48, unique=id, retention_rows=200);"
              "CREATE TABLE copy(since INTEGER PRIMARY KEY, writer INTEGER, n INTEGER, UNIQUE(writer, n)) STRICT;"
              "CREATE TABLE seen(since INTEGER PRIMARY KEY, partition TEXT, id INTEGER UNIQUE) STRICT;"
              "CREATE TABLE again(sink TEXT, since INTEGER) STRICT");
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format, options, columns, max_rows) VALUES"
          " ('archive', 'logs', 'file://%s/archive', 'ndjson', NULL, '[\"since\", \"writer\", \"n\"]', 40),"
          " ('sheet', 'logs', 'file://%s/sheet', 'csv.zst', NULL, '[\"since\", \"writer\", \"n\"]', 60),"
          " ('copy', 'logs', NULL, NULL, NULL, NULL, NULL),"
          " ('mail', 'events', 'file://%s/mail', 'ndjson.zst', NULL, '[\"since\", \"id\"]', 30),"
          " ('lake', 'events', 'file://%s/lake', 'parquet', '{\"table\": \"delta\"}', NULL, 25)",
          scratch, scratch, scratch, scratch);
  db_close(db);
}

/* Each row of a query comes out as often as in the other. */
static void assert_same_rows(sqlite3 *db, const char *found, const char *expected) {
  db_exec(db,
          "CREATE TEMP TABLE found AS SELECT *, count(*) AS times FROM (%s) GROUP BY 1, 2, 3;"
          "CREATE TEMP TABLE expected AS SELECT *, count(*) AS times FROM (%s) GROUP BY 1, 2, 3",
          found, expected);
  assert_text(db, "", "SELECT * FROM (SELECT * FROM temp.found EXCEPT SELECT * FROM temp.expected) LIMIT 9");
  assert_text(db, "", "SELECT * FROM (SELECT * FROM temp.expected EXCEPT SELECT * FROM temp.found) LIMIT 9");
  db_exec(db, "DROP TABLE temp.found; DROP TABLE temp.expected");
}

/* The writers' own notes say what must be there: a COMMIT that was not answered may be either. */
static void check_writers(sqlite3 *db) {
  int64_t rows = 0;
  for (int writer = 0; writer < WRITERS; writer++) {
    const int64_t last = db_int(db, "SELECT coalesce(max(n), 0) FROM copy WHERE writer = %d", writer);
    ck_assert_int_eq(last, shared->writers[writer].committed);
    assert_int(db, last, "SELECT count(*) FROM copy WHERE writer = %d AND n > 0", writer);
    rows += last;
  }
  assert_int(db, rows, "SELECT count(*) FROM copy");
}

static void check_producers(sqlite3 *db) {
  const int64_t last = db_int(db, "SELECT coalesce(max(id), 0) FROM seen");
  ck_assert_int_ge(last, shared->produced);
  ck_assert_int_le(last, shared->sent);
  assert_int(db, last, "SELECT count(*) FROM seen WHERE id > 0");
}

static void check_objects(sqlite3 *db, const char *sink) {
  assert_text(db, "",
              "SELECT object FROM temp.file WHERE object NOT LIKE '%%/_delta_log/%%' EXCEPT"
              " SELECT object FROM tidemark_export_log WHERE sink = %Q",
              sink);
  assert_text(db, "",
              "SELECT object FROM tidemark_export_log WHERE sink = %Q AND object IS NOT NULL EXCEPT"
              " SELECT object FROM temp.file",
              sink);
}

static void check_lines(sqlite3 *db) {
  archive_read(db, scratch_path("archive"));
  check_objects(db, "archive");
  assert_same_rows(db, "SELECT json ->> 'since', json ->> 'writer', json ->> 'n' FROM temp.line",
                   "SELECT since, writer, n FROM copy UNION ALL"
                   " SELECT c.since, writer, n FROM again a JOIN copy c USING (since) WHERE a.sink = 'archive'");
  archive_read(db, scratch_path("sheet"));
  check_objects(db, "sheet");
  assert_same_rows(db, "SELECT json, 0, 0 FROM temp.line WHERE json <> 'since,writer,n' || char(13)",
                   "SELECT since || ',' || writer || ',' || n || char(13), 0, 0 FROM (SELECT * FROM copy UNION ALL"
                   " SELECT c.since, writer, n FROM again a JOIN copy c USING (since) WHERE a.sink = 'sheet')");
  assert_text(db, "", "SELECT since, writer, n FROM logs EXCEPT SELECT since, writer, n FROM copy");
  archive_read(db, scratch_path("mail"));
  check_objects(db, "mail");
  assert_same_rows(db, "SELECT json ->> 'since', json ->> 'id', 0 FROM temp.line",
                   "SELECT since, id, 0 FROM seen UNION ALL"
                   " SELECT s.since, id, 0 FROM again a JOIN seen s USING (since) WHERE a.sink = 'mail'");
}

/* Every add of the Delta tables: which file, of which rows. The file's name has its range, as the log says. */
static void check_delta(sqlite3 *db) {
  archive_read(db, scratch_path("lake"));
  check_objects(db, "lake");
  db_exec(db, "CREATE TEMP TABLE added AS SELECT t.name || '/' || (json ->> '$.add.path') AS object,"
              " json ->> '$.add.stats' AS stats, 'source=' || (json ->> '$.add.partitionValues.source') AS partition"
              " FROM (SELECT substr(object, 1, instr(object, '/') - 1) AS name, json FROM temp.line) t"
              " WHERE json ->> '$.add' IS NOT NULL");
  assert_same_rows(db, "SELECT object, 0, 0 FROM temp.added",
                   "SELECT object, 0, 0 FROM temp.file WHERE object NOT LIKE '%/_delta_log/%'");
  assert_text(db, "",
              "SELECT name FROM (SELECT substr(object, 1, instr(object, '/') - 1) AS name, count(DISTINCT object) AS n,"
              " max(substr(object, -25, 20) + 0) AS last FROM temp.line GROUP BY 1) WHERE n <> last + 1");
  db_exec(db, "CREATE TEMP TABLE range AS SELECT a.stats, e.partition, e.since, e.until, e.rows FROM temp.added a"
              " JOIN tidemark_export_log e USING (object, partition) WHERE e.sink = 'lake'");
  assert_int(db, db_int(db, "SELECT count(*) FROM temp.added"), "SELECT count(*) FROM temp.range");
  assert_text(db, "",
              "SELECT stats, since, until FROM temp.range r WHERE (stats ->> 'numRecords', rows,"
              " stats ->> '$.minValues.id', stats ->> '$.maxValues.id') IS NOT (SELECT count(*), count(*), min(id),"
              " max(id) FROM seen s WHERE s.partition = r.partition AND s.since > r.since AND s.since <= r.until)");
  assert_same_rows(db,
                   "SELECT s.since, id, 0 FROM temp.range r JOIN seen s ON s.partition = r.partition AND"
                   " s.since > r.since AND s.since <= r.until",
                   "SELECT since, id, 0 FROM seen UNION ALL"
                   " SELECT s.since, id, 0 FROM again a JOIN seen s USING (since) WHERE a.sink = 'lake'");
  db_exec(db, "DROP TABLE temp.added; DROP TABLE temp.range");
}

static void finish(sqlite3 *db) {
  assert_text(db, "0|0|0",
              "SELECT j ->> 'failed', j ->> 'waiting', j ->> 'more' FROM"
              " (SELECT tidemark_export('archive', 'now') AS j)");
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    assert_text(db, "0|0|0",
                "SELECT j ->> 'failed', j ->> 'waiting', j ->> 'more' FROM (SELECT tidemark_export(%Q, 'now') AS j)",
                folders[i]);
  while (db_int(db, "SELECT sum(rows) FROM tidemark_lag WHERE sink = 'copy'") > 0)
    step_copy(db, 0);
}

void finish_and_check(void) {
  sqlite3 *db = db_open(database_path, "shim");
  shared->left_before = db_int(db, "SELECT count(*) FROM tidemark_export_log WHERE sink <> 'copy' AND kind = 'batch'");
  finish(db);
  assert_int(db, 0, "SELECT sum(rows) FROM tidemark_lag");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
  assert_text(db, "5", "SELECT count(*) FROM tidemark_sink WHERE state = 'active'");
  assert_text(db, "", "SELECT DISTINCT kind FROM tidemark_export_log WHERE kind NOT IN ('batch', 'rewind')");
  assert_text(db, "ok", "PRAGMA integrity_check");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  assert_text(db, "ok", "SELECT tidemark_check(%Q)", events_name(db));
  check_writers(db);
  check_producers(db);
  check_lines(db);
  check_delta(db);
  assert_text(db, "1", "SELECT tidemark_verify('lake') ->> 'ok'");
  step_read(db, 0);
  db_close(db);
}
