/* What the tests of BUSY share: a database with work for every call, a second connection that is in the way, and the
 * list of the calls. Define _GNU_SOURCE before all else. */
#ifndef TIDE_TESTS_BUSY_DB_H
#define TIDE_TESTS_BUSY_DB_H

#include "archive.h"
#include "shim_vfs.h"
#include "sql_db.h"
#include "unit.h"

static sqlite3 *db;    /* makes the calls, and does not wait */
static sqlite3 *other; /* is in the way */

enum call_kind {
  CALL_PLAIN,    /* a statement of SQL: SQLite begins its transaction itself */
  CALL_FUNCTION, /* works in a transaction of its own, or in the one that is open */
  CALL_OUTSIDE   /* a function that refuses to run in a transaction */
};

struct call {
  const char *sql;
  enum call_kind kind;
  const char *effect; /* a query that gives `before` until the call has worked, and then `after` */
  const char *before;
  const char *after;
};

static const struct call calls[] = {
    {"INSERT INTO logs VALUES ('web', 'new'), ('d b', 'new')", CALL_PLAIN,
     "SELECT count(*) FROM logs WHERE body = 'new'", "0", "2"},
    {"INSERT INTO part(x) VALUES ('into a partition')", CALL_PLAIN,
     "SELECT count(*) FROM parted WHERE x = 'into a partition'", "0", "1"},
    {"DELETE FROM logs WHERE since IN (3, 35)", CALL_PLAIN, "SELECT count(*) FROM logs WHERE since IN (3, 35)", "2",
     "0"},
    {"INSERT INTO tidemark_sink(sink, dataset) VALUES ('more', 'logs')", CALL_PLAIN,
     "SELECT count(*) FROM tidemark_sink WHERE sink = 'more'", "0", "1"},
    {"INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES ('mine', 'jobs', '', 2, 3, "
     "1)",
     CALL_PLAIN, "SELECT max(until) FROM tidemark_export_log WHERE sink = 'mine'", "2", "3"},
    {"DELETE FROM tidemark_batch", CALL_PLAIN, "SELECT count(*) FROM tidemark_batch", "1", "0"},
    {"CREATE VIRTUAL TABLE fresh USING tidemark(x)", CALL_PLAIN,
     "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'fresh%'", "0", "8"},
    {"ALTER TABLE jobs RENAME TO tasks", CALL_PLAIN,
     "SELECT (SELECT count(*) FROM sqlite_schema WHERE name LIKE 'tasks%') || ' ' || group_concat(dataset) FROM"
     " tidemark_dataset",
     "0 jobs,logs,parted", "8 logs,parted,tasks"},
    {"DROP TABLE jobs", CALL_PLAIN,
     "SELECT (SELECT count(*) FROM sqlite_schema WHERE name LIKE 'jobs%') || ' ' || count(*) FROM tidemark_sink", "8 3",
     "0 1"},
    {"SELECT tidemark_flush('logs')", CALL_FUNCTION, "SELECT sum(tail_rows) FROM tidemark_stat WHERE dataset = 'logs'",
     "8", "0"},
    {"SELECT tidemark_prune('logs')", CALL_FUNCTION, "SELECT count(*) FROM logs", "40", "5"},
    {"SELECT tidemark_compact('logs')", CALL_FUNCTION, "SELECT count(*) FROM tidemark_segment WHERE dataset = 'logs'",
     "4", "1"},
    {"SELECT tidemark_maintain('logs')", CALL_FUNCTION,
     "SELECT (SELECT sum(tail_rows) FROM tidemark_stat WHERE dataset = 'logs') || ' ' || count(*) FROM logs", "8 40",
     "0 5"},
    {"SELECT tidemark_set('logs', 'segment_rows', 100)", CALL_FUNCTION,
     "SELECT value FROM logs_config WHERE key = 'segment_rows'", "1000", "100"},
    {"SELECT tidemark_add_column('logs', 'more TEXT')", CALL_FUNCTION, "SELECT count(*) FROM logs_column", "2", "3"},
    {"SELECT tidemark_rewind('mine', 'jobs', '', 1, 'again')", CALL_FUNCTION,
     "SELECT count(*) FROM tidemark_export_log WHERE kind = 'rewind'", "0", "1"},
    {"SELECT tidemark_export('s')", CALL_OUTSIDE, "SELECT sum(rows) FROM tidemark_lag WHERE sink = 's'", "40", "0"},
    {"SELECT tidemark_claim('mine', 'jobs')", CALL_OUTSIDE, "SELECT count(*) FROM tidemark_batch WHERE sink = 'mine'",
     "0", "1"},
    {"SELECT tidemark_ack(1, 'there', 9)", CALL_OUTSIDE,
     "SELECT count(*) FROM tidemark_export_log WHERE sink = 'theirs'", "0", "1"}};

/* The database that each test begins with: "logs" has four segments of 8 rows and a tail of 8, "jobs" five rows, two of
 * which `mine` has, and a batch of `theirs` open. */
static inline void busy_make(const char *journal) {
  sqlite3 *made = db_open(scratch_path("made"), "shim");
  assert_text(made, journal, "PRAGMA journal_mode = %s", journal);
  db_exec(made, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, segment_rows=1000, retention_rows=5);"
                "CREATE VIRTUAL TABLE jobs USING tidemark(body TEXT); CREATE TABLE two(n INTEGER PRIMARY KEY);"
                "CREATE VIRTUAL TABLE parted USING tidemark(p TEXT, x TEXT, partition_by=p);"
                "CREATE VIRTUAL TABLE part USING tidemark_partition(parted, p='a');"
                "INSERT INTO two VALUES (1), (2); INSERT INTO jobs VALUES (1), (2), (3), (4), (5)");
  for (int i = 0; i < 5; i++) {
    db_exec(made,
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 8)"
            " INSERT INTO logs SELECT iif(n %% 2, 'web', 'd b'), 'row ' || n || ' of %d' FROM c",
            i);
    if (i < 4)
      db_exec(made, "SELECT tidemark_flush('logs')");
  }
  db_exec(
      made,
      "INSERT INTO tidemark_sink(sink, dataset, target, format, hold) VALUES ('s', 'logs', 'file://%s', 'ndjson', 0);"
      "INSERT INTO tidemark_sink(sink, dataset) VALUES ('mine', 'jobs'), ('theirs', 'jobs');"
      "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
      " VALUES ('mine', 'jobs', '', 0, 2, 2); SELECT tidemark_claim('theirs', 'jobs')",
      scratch_path("archive"));
  db_close(made);
}

/* A copy of it, made anew only for another journal mode than the last one's, and an empty archive. Both connections
 * have read it, so that nothing of its schema is left to load. */
static inline void busy_open(const char *journal) {
  static struct tide_buf made;
  static char made_for[16];
  if (strcmp(made_for, journal) != 0) {
    scratch_open();
    if (shim.real == NULL)
      shim_register();
    shim.now_ms = 1767225600000; /* 2026-01-01 */
    ck_assert_int_eq(mkdir(scratch_path("archive"), 0755), 0);
    busy_make(journal);
    archive_read_file(scratch_path("made"), &made);
    snprintf(made_for, sizeof made_for, "%s", journal);
  }
  ck_assert_int_eq(nftw(scratch_path("archive"), scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
  ck_assert_int_eq(mkdir(scratch_path("archive"), 0755), 0);
  FILE *file = fopen(scratch_path("db"), "wb");
  ck_assert(file != NULL && fwrite(made.data, 1, made.len, file) == made.len && fclose(file) == 0);
  db = db_open(scratch_path("db"), "shim");
  sqlite3_busy_timeout(db, 0);
  other = db_open(scratch_path("db"), "shim");
  assert_int(db, 40, "SELECT count(*) FROM logs");
  assert_int(other, 40, "SELECT count(*) FROM logs");
}

/* The dataset is whole, and what has left is what the sinks' logs say. */
static inline void busy_close(void) {
  assert_text(db, "ok", "PRAGMA integrity_check");
  assert_text(db, "", "SELECT dataset FROM tidemark_registry WHERE tidemark_check(dataset) <> 'ok'");
  archive_read(db, scratch_path("archive"));
  assert_int(db, db_int(db, "SELECT total(rows) FROM tidemark_export_log WHERE sink = 's' AND kind = 'batch'"),
             "SELECT count(DISTINCT json) FROM temp.line");
  assert_int(db, db_int(db, "SELECT count(*) FROM temp.line"), "SELECT count(DISTINCT json) FROM temp.line");
  db_close(other);
  db_close(db);
}

#endif
