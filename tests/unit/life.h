/* The life of a dataset with its sinks, told as a transcript that is the same wherever it is lived: what a host sets, or
 * how it opens the file, must not show. Beside it goes an ordinary table in a connection of its own, with the same rows
 * written and deleted, and what is read of the dataset, of its files and of the copy that a sink in plain SQL makes is
 * held against that. Whoever includes it defines _GNU_SOURCE before all else. */
#ifndef TIDE_TESTS_LIFE_H
#define TIDE_TESTS_LIFE_H

#include "archive.h"
#include "shim_vfs.h"
#include "sql_db.h"
#include "unit.h"

static struct {
  sqlite3 *db;
  sqlite3 *plain; /* its table twin */
  sqlite3_str *told;
  const char *folder; /* of the sink in files */
} life;

/* ---- telling ---- */

/* The statement's rows, values as literals; log ids are random and told by a word. */
static inline void life_tell(const char *sql) {
  sqlite3_stmt *stmt = NULL;
  ck_assert_msg(sqlite3_prepare_v2(life.db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s\n%s", sql, sqlite3_errmsg(life.db));
  sqlite3_str_appendf(life.told, "-- %s\n", sql);
  int rc;
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
      const char *text = (const char *)sqlite3_column_text(stmt, i);
      sqlite3_str_appendf(life.told, "%s%s", i > 0 ? "|" : "", text != NULL ? text : "NULL");
    }
    sqlite3_str_appendall(life.told, "\n");
  }
  ck_assert_msg(rc == SQLITE_DONE, "%s\n%d: %s", sql, rc, sqlite3_errmsg(life.db));
  sqlite3_finalize(stmt);
}

/* On the dataset and on the twin; %s is the table. */
static inline void life_both(const char *format) {
  db_exec(life.db, format, "logs");
  db_exec(life.plain, format, "twin");
}

/* Both read the same. */
static inline void life_same(const char *columns) {
  ck_assert_str_eq(db_text(life.db, "SELECT %s FROM logs ORDER BY since", columns),
                   db_text(life.plain, "SELECT %s FROM twin ORDER BY since", columns));
}

/* ---- steps ---- */

static inline void life_create(void) {
  db_exec(life.plain,
          "CREATE TABLE twin(since INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT, n INTEGER, v ANY) STRICT");
  db_exec(life.db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n INTEGER, v ANY, partition_by=source,"
                   " segment_rows=16, retention_rows=40);"
                   "CREATE VIRTUAL TABLE web USING tidemark_partition(logs, source='web');"
                   "CREATE TABLE copy(since INTEGER PRIMARY KEY, source, n, v)");
  db_exec(life.db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format, columns, filter, max_rows) VALUES"
          " ('files', 'logs', 'file://%s', 'ndjson', '[\"since\",\"source\",\"n\"]', 'n IS NOT 1000', 30)",
          life.folder);
  db_exec(life.db, "INSERT INTO tidemark_sink(sink, dataset, start) VALUES ('copy', 'logs', 'earliest'),"
                   " ('mine', 'logs', 'latest')");
}

static inline void life_append(void) {
  life_both("WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 150)"
            " INSERT INTO %s(source, n, v) SELECT CASE i %% 3 WHEN 0 THEN 'web' WHEN 1 THEN 'd b' END, i * i %% 17,"
            " CASE i %% 5 WHEN 0 THEN i WHEN 1 THEN i / 4.0 WHEN 2 THEN 'text ' || i WHEN 3 THEN zeroblob(i %% 7) END"
            " FROM c");
  life_tell("SELECT json_extract(tidemark_flush('logs'), '$.rows')");
  life_both(
      "INSERT INTO %s(source, n, v) VALUES ('web', 1, 'Gr\xc3\xbc\xc3\x9f'), (NULL, 2, x'00ff'), ('d b', 3, NULL)");
  life_both("BEGIN; INSERT INTO %s(n) VALUES (7); SAVEPOINT a");
  life_both("INSERT INTO %s(n) VALUES (8); ROLLBACK TO a");
  life_both("INSERT INTO %s(n) VALUES (1000); RELEASE a; COMMIT");
  life_both("BEGIN; INSERT INTO %s(n) VALUES (9); ROLLBACK");
  db_exec(life.db, "INSERT INTO web(n) VALUES (4)");
  db_exec(life.plain, "INSERT INTO twin(source, n) VALUES ('web', 4)");
  life_both("DELETE FROM %s WHERE since %% 7 = 0");
  life_same("since, source, n, quote(v), typeof(v)");
}

static inline void life_copy(void) {
  db_exec(life.db, "BEGIN IMMEDIATE; INSERT INTO copy SELECT l.since, l.source, l.n, l.v FROM tidemark_lag w"
                   " CROSS JOIN logs l ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until"
                   " WHERE w.sink = 'copy' AND w.rows > 0;"
                   "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
                   " SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag"
                   " WHERE sink = 'copy' AND rows > 0; COMMIT");
}

static inline void life_export(void) {
  life_tell("SELECT json_extract(tidemark_export('files'), '$.rows', '$.batches', '$.skipped', '$.failed', '$.more')");
  life_tell("SELECT json_extract(tidemark_export(), '$.batches')");
  life_copy();
}

/* What left so far is what the twin holds: files and copy. */
static inline void life_left(void) {
  db_exec(life.plain, "CREATE TEMP TABLE IF NOT EXISTS seen(since, source, n)");
  archive_read(life.plain, life.folder);
  db_exec(life.plain, "INSERT INTO seen SELECT json ->> 'since', json ->> 'source', json ->> 'n' FROM temp.line");
  assert_text(life.plain, "", "SELECT since FROM seen GROUP BY since HAVING count(*) > 1");
  assert_text(life.plain, "", "SELECT since, source, n FROM twin WHERE n IS NOT 1000 EXCEPT SELECT * FROM seen");
  assert_text(life.plain, "", "SELECT * FROM seen EXCEPT SELECT since, source, n FROM twin WHERE n IS NOT 1000");
  db_exec(life.plain, "DROP TABLE seen");
  ck_assert_str_eq(db_text(life.db, "SELECT since, source, n, quote(v) FROM copy ORDER BY since"),
                   db_text(life.plain, "SELECT since, source, n, quote(v) FROM twin ORDER BY since"));
}

static inline void life_claim(void) {
  db_exec(life.db, "UPDATE tidemark_sink SET start = 100 WHERE sink = 'mine'");
  life_tell("SELECT tidemark_claim('mine', 'logs')");
  db_refuses(life.db, 0, "open batch", "DELETE FROM logs WHERE since = 103");
  const int64_t batch = db_int(life.db, "SELECT batch FROM tidemark_batch WHERE partition = 'source=web'");
  assert_int(life.db, db_int(life.plain, "SELECT count(*) FROM twin WHERE source = 'web' AND since > 100"),
             "SELECT json_extract(tidemark_ack(%lld, 'there', 12), '$.rows')", (long long)batch);
  life_tell("SELECT partition, since, until, rows FROM tidemark_batch ORDER BY partition");
  db_exec(life.db, "DELETE FROM tidemark_batch; UPDATE tidemark_sink SET hold = 0 WHERE sink = 'mine'");
}

static inline void life_upkeep(void) {
  life_tell("SELECT json_extract(tidemark_prune('logs'), '$.rows', '$.gap_rows', '$.failures')");
  db_exec(life.plain, "DELETE FROM twin WHERE since NOT IN (SELECT since FROM (SELECT since, row_number() OVER"
                      " (PARTITION BY source ORDER BY since DESC) AS newest FROM twin) WHERE newest <= 40)");
  life_same("since, source, n, quote(v), typeof(v)");
  life_both("DELETE FROM %s WHERE since %% 5 = 0");
  life_tell("SELECT json_extract(tidemark_compact('logs'), '$.dropped', '$.failures')");
  life_tell("SELECT json_extract(tidemark_maintain(), '$.datasets[0].error')");
  life_same("since, source, n, quote(v), typeof(v)");
}

static inline void life_change(void) {
  db_exec(life.db, "DROP TABLE web; ALTER TABLE logs RENAME TO \"the log\"; ALTER TABLE \"the log\" RENAME TO logs");
  life_tell("SELECT tidemark_add_column('logs', 'level TEXT DEFAULT ''info''') IS NOT NULL");
  db_exec(life.plain, "ALTER TABLE twin ADD COLUMN level TEXT DEFAULT 'info'");
  life_both("INSERT INTO %s(source, n, level) VALUES ('web', 5, 'warn'), ('new', 6, NULL)");
  life_same("since, source, n, quote(v), level");
  life_export();
  life_tell("SELECT json_extract(tidemark_rewind('files', 'logs', 'source=web', 140, 'again'), '$.rows')");
  life_export();
  life_tell("SELECT json_extract(tidemark_verify('files'), '$.ok', '$.objects')");
  db_exec(life.db, "CREATE VIRTUAL TABLE keyed USING tidemark(id TEXT, unique=id);"
                   "INSERT OR IGNORE INTO keyed VALUES ('a'), ('B'), ('a'), ('b'), (NULL), (NULL)");
  db_refuses(life.db, SQLITE_CONSTRAINT, "UNIQUE constraint failed: keyed.id", "INSERT INTO keyed VALUES ('B')");
  db_exec(life.db, "CREATE VIRTUAL TABLE gone USING tidemark(x); INSERT INTO gone VALUES (1); DROP TABLE gone; VACUUM");
}

/* ---- reading ---- */

/* All that can be read, of a connection that perhaps may not write. */
static inline void life_read(void) {
  static const char *const queries[] = {
      "SELECT since, partition, source, n, quote(v), typeof(v), level FROM logs ORDER BY since",
      "SELECT since FROM logs ORDER BY since DESC LIMIT 5",
      "SELECT since FROM logs WHERE source = 'web' AND since > '50' ORDER BY since",
      "SELECT source, count(*), min(since), max(since), total(n) FROM logs GROUP BY source ORDER BY source",
      "SELECT since FROM logs WHERE since IN (3, 151, 143, '144', 146.0, NULL) ORDER BY since",
      "SELECT since, id FROM keyed ORDER BY since",
      "SELECT dataset, last_since, partitions, rows FROM tidemark_dataset ORDER BY dataset",
      "SELECT partition, rows, written, deleted, tail_rows, first_since, last_since, held_by, held_rows"
      " FROM tidemark_stat ORDER BY dataset, partition",
      "SELECT partition, first_since, last_since, rows, deleted FROM tidemark_segment ORDER BY dataset, partition, 2",
      "SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag ORDER BY 1, 2, 3",
      "SELECT id, sink, partition, generation, kind, since, until, rows, skipped, bytes, hash,"
      " replace(object, (SELECT log_id FROM tidemark_dataset WHERE dataset = 'logs'), 'LOG')"
      " FROM tidemark_export_log ORDER BY id",
      "SELECT sink, state, hold, start FROM tidemark_sink ORDER BY sink",
      "SELECT tidemark_check('logs'), tidemark_check('keyed')",
      "PRAGMA integrity_check"};
  int views = 0;
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
    life_tell(queries[i]);
  sqlite3_db_config(life.db, SQLITE_DBCONFIG_ENABLE_VIEW, -1, &views);
  sqlite3_db_config(life.db, SQLITE_DBCONFIG_ENABLE_VIEW, 1, NULL); /* who reads a view wants it */
  life_tell("SELECT sink, partition, generation, since FROM tidemark_watermark ORDER BY 1, 2");
  sqlite3_db_config(life.db, SQLITE_DBCONFIG_ENABLE_VIEW, views, NULL);
}

/* What life_read tells of a connection; for sqlite3_free. */
static inline char *life_told_by(sqlite3 *db) {
  life.db = db;
  life.told = sqlite3_str_new(NULL);
  life_read();
  return sqlite3_str_finish(life.told);
}

/* Lives it in an empty database and tells it, for sqlite3_free. The folder, an empty one, is left as it is. */
static inline char *life_of(sqlite3 *db, const char *folder) {
  life.db = db;
  life.folder = folder;
  life.told = sqlite3_str_new(NULL);
  ck_assert_int_eq(sqlite3_open(":memory:", &life.plain), SQLITE_OK);
  life_create();
  life_append();
  life_export();
  life_left();
  life_claim();
  life_upkeep();
  life_change();
  life_read();
  ck_assert_int_eq(sqlite3_close(life.plain), SQLITE_OK);
  return sqlite3_str_finish(life.told);
}

#endif
