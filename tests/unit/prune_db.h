/* What the tests of retention share. Define _GNU_SOURCE before all else. */
#ifndef TIDE_TESTS_PRUNE_DB_H
#define TIDE_TESTS_PRUNE_DB_H

#include "shim_vfs.h"
#include "sql_db.h"
#include "unit.h"

static const int64_t T0 = 1767225600000; /* 2026-01-01 */

static sqlite3 *db;

/* An empty dataset "logs" by source, with segments of 16 rows, under a clock that stands at T0. */
static inline void begin(void) {
  scratch_open();
  shim_register();
  shim.now_ms = T0;
  db = db_open(scratch_path("db"), "shim");
  db_exec(db, "PRAGMA journal_mode = wal; PRAGMA synchronous = normal;"
              "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, ts TIMESTAMP_MS, body TEXT, partition_by=source,"
              " segment_rows=16)");
}

static inline void end(void) {
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  db_close(db);
}

static inline void append(const char *source, int rows) {
  db_exec(db,
          "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d)"
          " INSERT INTO logs SELECT %Q, NULL, 'row ' || n FROM c",
          rows, source);
}

/* Rows 1 to 40 of source=a: segments up to 16 and 32, and the tail. */
static inline void begin_with_40(void) {
  begin();
  append("a", 32);
  append("a", 8);
}

static inline void limit(const char *option, const char *value) {
  db_exec(db, "SELECT tidemark_set('logs', %Q, %Q)", option, value);
}

/* Values of the report of a prune, as "a|b|c". */
static inline const char *prune(const char *paths) {
  return db_text(db,
                 "SELECT group_concat(coalesce(j ->> ('$.' || value), '-'), '|') FROM"
                 " (SELECT tidemark_prune('logs') AS j), json_each('[\"' || replace(%Q, ' ', '\",\"') || '\"]')",
                 paths);
}

/* The export log of a sink: kind since until rows. */
static inline const char *log_of(const char *sink) {
  return db_text(db,
                 "SELECT group_concat(kind || ' ' || since || ' ' || until || ' ' || rows, ', ') FROM"
                 " (SELECT * FROM tidemark_export_log WHERE sink = %Q ORDER BY id)",
                 sink);
}

static inline void deliver(const char *sink, const char *partition, int since, int until, int rows) {
  db_exec(db,
          "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
          " VALUES (%Q, 'logs', %Q, %d, %d, %d)",
          sink, partition, since, until, rows);
}

/* Each log is contiguous, and for a sink that began at 0 before anything was pruned it adds up, with what it has
 * still to do, to what was written less at most what was deleted. */
static inline void check_logs(void) {
  assert_text(db, "",
              "SELECT sink, partition, id FROM (SELECT *, lag(until) OVER"
              " (PARTITION BY sink, dataset, partition ORDER BY id) AS before FROM tidemark_export_log)"
              " WHERE since <> before");
  assert_text(db, "",
              "SELECT sink, partition, written, deleted, sum FROM (SELECT s.sink, p.partition, p.written, p.deleted,"
              " coalesce((SELECT sum(CASE kind WHEN 'rewind' THEN -rows ELSE rows + skipped + dead END)"
              "   FROM tidemark_export_log l WHERE l.sink = s.sink AND l.partition = p.partition), 0)"
              " + coalesce((SELECT rows FROM tidemark_lag l WHERE l.sink = s.sink AND l.dataset = 'logs'"
              "   AND l.partition = p.partition), 0) AS sum FROM tidemark_sink s JOIN tidemark_sink_state USING (sink)"
              " JOIN tidemark_stat p WHERE s.dataset = 'logs' AND p.dataset = 'logs' AND from_first)"
              " WHERE sum NOT BETWEEN written - deleted AND written");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_lag WHERE rows < 0");
}

#endif
