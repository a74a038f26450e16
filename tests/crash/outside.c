#define _GNU_SOURCE
#include "outside.h"

#include <fcntl.h>

#include "archive.h"

static const char *const folders[] = {"lines", "cells", "hand", "lake"};
enum { FOLDERS = 4, FOLDERS_OF_LINES = 3 };

/* ---- what the sinks do ---- */

void outside_make(sqlite3 *db, const char *folder) {
  char path[300];
  for (int i = 0; i < FOLDERS; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, folders[i]);
    ck_assert_int_eq(mkdir(path, 0755), 0);
  }
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format, columns, max_rows) VALUES"
          " ('lines', 'logs', 'file://%s/lines', 'ndjson', '[\"since\", \"body\"]', 12),"
          " ('cells', 'logs', 'file://%s/cells', 'csv.zst', '[\"since\", \"body\"]', 40),"
          " ('hand', 'logs', NULL, NULL, NULL, 30), ('copy', 'logs', NULL, NULL, NULL, NULL);"
          "INSERT INTO tidemark_sink(sink, dataset, target, format, options, columns) VALUES"
          " ('lake', 'logs', 'file://%s/lake', 'parquet', '{\"table\": \"delta\"}', '[\"since\", \"source\"]');"
          "CREATE TABLE copied(since INTEGER PRIMARY KEY, body TEXT)",
          folder, folder, folder);
}

void outside_export(sqlite3 *db, const char *sink) {
  const char *report = db_text(db, "SELECT tidemark_export(%Q, 'now')", sink);
  ck_assert_msg(strstr(report, "\"failed\":0") != NULL && strstr(report, "\"more\":false") != NULL &&
                    strstr(report, "\"stopped\":0") != NULL,
                "%s", report);
}

void outside_copy(sqlite3 *db) {
  db_exec(db, "BEGIN IMMEDIATE;"
              "INSERT INTO copied SELECT l.since, l.body FROM tidemark_lag w CROSS JOIN logs l"
              " ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until"
              " WHERE w.sink = 'copy' AND w.rows > 0;"
              "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
              " SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'copy' AND rows > 0;"
              "COMMIT");
}

/* Puts the bytes under their name as something careful does; what is there already must be the same. */
static void put(const char *folder, const char *name, const char *bytes) {
  char path[600], half[600];
  struct tide_buf there = {0};
  snprintf(path, sizeof path, "%s/hand/%s", folder, name);
  snprintf(half, sizeof half, "%s/hand/half", folder);
  if (access(path, F_OK) == 0) {
    archive_read_file(path, &there);
    ck_assert_msg(there.len == strlen(bytes) && memcmp(there.data, bytes, there.len) == 0,
                  "batch %s was\n%.*s, and now is\n%s", name, (int)there.len, (const char *)there.data, bytes);
    tide_buf_clear(&there);
  } else {
    const int file = open(half, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ck_assert_int_eq(write(file, bytes, strlen(bytes)), (ssize_t)strlen(bytes));
    ck_assert_int_eq(fsync(file), 0);
    close(file);
    ck_assert_int_eq(renameat(AT_FDCWD, half, AT_FDCWD, path), 0);
  }
  snprintf(path, sizeof path, "%s/hand", folder);
  const int in = open(path, O_RDONLY | O_DIRECTORY);
  ck_assert_int_eq(fsync(in), 0);
  close(in);
}

static void ship_batch(sqlite3 *db, const char *folder, int64_t batch) {
  char *name = strdup(db_text(db,
                              "SELECT format('%%s.g%%d.%%d-%%d', partition, generation, since, until)"
                              " FROM tidemark_batch WHERE batch = %lld",
                              (long long)batch));
  char *rows = strdup(db_text(db,
                              "SELECT group_concat(line, '') FROM (SELECT l.since || ',' || l.body || char(10) AS line"
                              " FROM tidemark_batch b JOIN logs l ON l.partition = b.partition AND l.since > b.since"
                              " AND l.since <= b.until WHERE b.batch = %lld ORDER BY l.since)",
                              (long long)batch));
  put(folder, name, rows);
  assert_int(db, 1, "SELECT tidemark_ack(%lld, %Q, %d) IS NOT NULL", (long long)batch, name, (int)strlen(rows));
  free(name);
  free(rows);
}

void outside_ship_by_hand(sqlite3 *db, const char *folder) {
  while (db_int(db, "SELECT tidemark_claim('hand', 'logs')") > 0)
    for (int64_t batch; (batch = db_int(db, "SELECT min(batch) FROM tidemark_batch WHERE sink = 'hand'")) != 0;)
      ship_batch(db, folder, batch);
}

/* ---- what has left ---- */

/* Lines of NDJSON, or of a since, a comma and a body. */
static void read_left(sqlite3 *db, const char *folder) {
  db_exec(db, "CREATE TEMP TABLE went(sink, generation, object, since INTEGER, body TEXT);"
              "CREATE INDEX temp.went_by_since ON went(sink, since)");
  for (int i = 0; i < FOLDERS_OF_LINES; i++) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, folders[i]);
    archive_read(db, path);
    db_exec(db, "UPDATE temp.line SET json = rtrim(json, char(13))");
    db_exec(db,
            "INSERT INTO temp.went SELECT %Q, object LIKE 'logs.g1/%%' OR object LIKE '%%.g1.%%', object,"
            " iif(json LIKE '{%%', json ->> 'since', substr(json, 1, instr(json, ',') - 1)),"
            " iif(json LIKE '{%%', json ->> 'body', substr(json, instr(json, ',') + 1))"
            " FROM temp.line WHERE json <> 'since,body'",
            folders[i]);
    static const char files[] = "SELECT object, bytes FROM temp.file WHERE object <> 'half'";
    static const char objects[] = "SELECT object, bytes FROM tidemark_export_log WHERE object IS NOT NULL AND sink =";
    assert_text(db, "", "%s EXCEPT %s %Q", files, objects, folders[i]);
    assert_text(db, "", "%s %Q EXCEPT %s", objects, folders[i], files);
  }
  db_exec(db, "DELETE FROM temp.went WHERE object = 'half';"
              "INSERT INTO temp.went SELECT 'copy', 0, NULL, since, body FROM copied");
}

/* ---- the table ---- */

/* Each batch is one commit, of which none is missing, and its file is there. */
static void check_table(sqlite3 *db, const char *folder) {
  static const char adds[] = "SELECT 'logs/' || (json ->> '$.add.path'), json ->> '$.add.size',"
                             " json ->> '$.add.stats' ->> 'numRecords' FROM temp.line WHERE json -> 'add' NOT NULL";
  static const char batches[] = "SELECT object, bytes, rows FROM tidemark_export_log WHERE sink = 'lake'";
  static const char files[] = "SELECT object, bytes FROM temp.file WHERE object NOT LIKE 'logs/_delta_log/%'";
  char path[300];
  snprintf(path, sizeof path, "%s/lake", folder);
  archive_read(db, path);
  ck_assert_str_eq(db_text(db, "%s ORDER BY 1", adds), db_text(db, "%s ORDER BY 1", batches));
  ck_assert_str_eq(db_text(db, "%s ORDER BY 1", files),
                   db_text(db, "SELECT object, bytes FROM (%s) ORDER BY 1", batches));
  assert_int(db, db_int(db, "SELECT count(*) - 1 FROM tidemark_export_log WHERE sink = 'lake'"),
             "SELECT max(substr(object, 17, 20)) FROM temp.line");
}

static void check_log(sqlite3 *db) {
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch WHERE dataset = 'logs'");
  assert_int(db, 0, "SELECT sum(rows) FROM tidemark_lag WHERE dataset = 'logs'");
  assert_text(db, "",
              "SELECT * FROM (SELECT *, lag(until, 1, 0) OVER (PARTITION BY sink, partition ORDER BY id) AS before"
              " FROM tidemark_export_log WHERE dataset = 'logs') WHERE since <> before");
  assert_text(db, "",
              "SELECT l.sink, l.object, l.rows, w.rows FROM tidemark_export_log l LEFT JOIN"
              " (SELECT sink, object, count(*) AS rows FROM temp.went GROUP BY 1, 2) w USING (sink, object)"
              " WHERE l.sink <> 'lake' AND l.object IS NOT NULL AND l.rows IS NOT w.rows");
  assert_text(db, "", "SELECT * FROM tidemark_export_log WHERE kind = 'gap'");
}

void outside_check(sqlite3 *db, const char *folder, const char *twin) {
  db_exec(db, "ATTACH %Q AS twin", twin);
  read_left(db, folder);
  check_log(db);
  check_table(db, folder);
  /* each row once in a generation, and in a later one only what a rewind gave back */
  assert_text(db, "", "SELECT sink, generation, since FROM temp.went GROUP BY 1, 2, 3 HAVING count(*) > 1");
  assert_text(db, "",
              "SELECT a.since FROM temp.went a JOIN temp.went b USING (sink, since) WHERE a.generation < b.generation"
              " AND NOT EXISTS (SELECT 1 FROM tidemark_export_log r WHERE r.kind = 'rewind' AND r.sink = a.sink"
              " AND a.since > r.until AND a.since <= r.since)");
  /* every row that is there went to every sink; nothing went that never was; a number is one row's everywhere */
  assert_text(db, "",
              "SELECT s.sink, l.since FROM tidemark_sink s CROSS JOIN twin.logs l"
              " WHERE s.dataset = 'logs' AND s.sink <> 'lake' AND NOT EXISTS"
              " (SELECT 1 FROM temp.went w WHERE w.sink = s.sink AND w.since = l.since AND w.body = l.body)");
  assert_text(db, "", "SELECT since, body FROM temp.went EXCEPT SELECT since, body FROM twin.ever");
  assert_text(db, "", "SELECT since FROM temp.went GROUP BY since HAVING count(DISTINCT body) > 1");
  db_exec(db, "DROP TABLE temp.went; DETACH twin");
}
