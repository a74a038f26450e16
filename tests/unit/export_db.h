/* What the tests of ticks share. Define _GNU_SOURCE before all else. */
#ifndef TIDE_TESTS_EXPORT_DB_H
#define TIDE_TESTS_EXPORT_DB_H

#include "archive.h"
#include "shim_vfs.h"
#include "sql_db.h"
#include "unit.h"

static const int64_t T0 = 1767225600000; /* 2026-01-01 */

static sqlite3 *db;
static char folder[128];

/* A dataset "logs" of source and body, by source, and the sink "s" of all of it as plain NDJSON, under a clock that
 * stands at T0. */
static inline void begin(void) {
  scratch_open();
  shim_register();
  shim.now_ms = T0;
  snprintf(folder, sizeof folder, "%s", scratch_path("archive"));
  mkdir(folder, 0755);
  db = db_open(scratch_path("db"), "shim");
  db_exec(db, "PRAGMA journal_mode = wal; PRAGMA synchronous = normal;"
              "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source)");
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('s', 'logs', 'file://%s', 'ndjson')",
          folder);
}

static inline void end(void) {
  db_close(db);
}

/* One value of the report of a tick. */
static inline const char *tick(const char *what) {
  return db_text(db, "SELECT json_extract(tidemark_export('s'), '$.%s')", what);
}

static inline void append_many(int rows, int size) {
  db_exec(db,
          "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d)"
          " INSERT INTO logs SELECT 'web', printf('%%.*c', %d, 'x') FROM c",
          rows, size);
}

/* How many files are in a folder and those below it; marks: those of ticks count too. */
static inline int files_below(const char *path, bool marks) {
  char command[300];
  int files = -1;
  snprintf(command, sizeof command, "find '%s' -type f %s | wc -l", path, marks ? "" : "-not -path '*/_tidemark/*.s'");
  FILE *out = popen(command, "r");
  ck_assert_int_eq(fscanf(out, "%d", &files), 1);
  pclose(out);
  return files;
}

/* Every live row left once, and nothing else did. */
static inline void check_archive(void) {
  archive_read(db, folder);
  assert_int(db, db_int(db, "SELECT count(*) FROM logs"), "SELECT count(*) FROM temp.line");
  assert_int(db, 0,
             "SELECT count(*) FROM (SELECT source, body FROM logs EXCEPT"
             " SELECT json ->> 'source', json ->> 'body' FROM temp.line)");
}

#endif
