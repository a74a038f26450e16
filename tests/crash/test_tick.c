/* Kills a process that appends and ticks, at every change of the database's files and at every step of a target's
 * file, then lets another go on where that was, with more rows and another configuration. The archive must hold each
 * committed row once. */
#define _GNU_SOURCE
#include "archive.h"
#include "crash.h"
#include "unit.h"

struct setting {
  const char *journal;
  const char *synchronous;
  const char *format;
};

static struct setting setting;
static char base[256], work[256], target[256], reference[256];

enum { ROWS_A = 20, ROWS_B = 24 };

/* ---- the database before ---- */

static void append(sqlite3 *db, const char *tag, int rows) {
  db_exec(db,
          "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d)"
          " INSERT INTO logs SELECT iif(n %% 7 = 0, 'quiet', iif(n %% 2, 'web', 'd b')),"
          " iif(n %% 7 = 0 OR n %% 5 = 0, 'debug', 'info'), '%s ' || n FROM c",
          rows, tag);
}

static void make_base(void) {
  sqlite3 *db = db_open(base, NULL);
  db_exec(db, "PRAGMA journal_mode = %s", setting.journal);
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, level TEXT, body TEXT, partition_by=source,"
              " segment_rows=16)");
  append(db, "base", 30);
  db_exec(db, "DELETE FROM logs WHERE body IN ('base 3', 'base 4')");
  append(db, "tail", 9);
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format, columns, filter, max_rows) VALUES"
          " ('archive', 'logs', 'file://%s', '%s', '[\"since\", \"source\", \"body\"]', 'level <> ''debug''', 12)",
          target, setting.format);
  db_close(db);
}

static void restore_base(void) {
  struct tide_buf bytes = {0};
  static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
  for (int i = 0; i < 3; i++) {
    char path[300];
    snprintf(path, sizeof path, "%s%s", work, suffixes[i]);
    unlink(path);
  }
  archive_read_file(base, &bytes);
  FILE *file = fopen(work, "wb");
  ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.len, file), bytes.len);
  fclose(file);
  tide_buf_clear(&bytes);
  nftw(target, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
  ck_assert_int_eq(mkdir(target, 0755), 0);
}

/* ---- what the child does ---- */

static void export_all(sqlite3 *db) {
  const char *report = db_text(db, "SELECT tidemark_export('archive')");
  ck_assert_msg(strstr(report, "\"failed\":0") != NULL && strstr(report, "\"more\":false") != NULL, "%s", report);
}

static void append_and_tick(void) {
  sqlite3 *db = db_open(work, "shim");
  db_exec(db, "PRAGMA synchronous = %s", setting.synchronous);
  append(db, "A", ROWS_A);
  crash.shared->commits++;
  export_all(db);
  crash.shared->exports++;
  append(db, "B", ROWS_B);
  crash.shared->commits++;
  export_all(db);
  crash.shared->exports++;
  db_close(db);
}

/* ---- what must be so after ---- */

/* A transaction is there whole or not at all, and it is there when it was durable. */
static void check_appended(sqlite3 *db, enum crash_how how) {
  const int commits = crash.shared->commits, exports = crash.shared->exports;
  const bool durable =
      how == CRASH_KILL || (strcmp(setting.journal, "wal") == 0 && strcmp(setting.synchronous, "full") == 0);
  const int64_t a = db_int(db, "SELECT count(*) FROM logs WHERE body LIKE 'A %%'");
  const int64_t b = db_int(db, "SELECT count(*) FROM logs WHERE body LIKE 'B %%'");
  ck_assert_msg(a == 0 || a == ROWS_A, "%d rows of A", (int)a);
  ck_assert_msg(b == 0 || (b == ROWS_B && a == ROWS_A), "%d rows of B", (int)b);
  ck_assert_msg(a == ROWS_A || (exports < 1 && (!durable || commits < 1)), "A is gone");
  ck_assert_msg(b == ROWS_B || (exports < 2 && (!durable || commits < 2)), "B is gone");
}

static void check_log(sqlite3 *db) {
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
  assert_int(db, 0, "SELECT sum(rows) FROM tidemark_lag");
  assert_int(db, 0,
             "SELECT count(*) FROM (SELECT since, lag(until, 1, 0) OVER (PARTITION BY partition ORDER BY id) AS before"
             " FROM tidemark_export_log) WHERE since IS NOT before");
  static const char sums[] = "SELECT partition, sum(rows), sum(skipped) FROM tidemark_export_log GROUP BY 1";
  static const char rows[] = "SELECT partition, sum(level <> 'debug'), sum(level = 'debug') FROM logs GROUP BY 1";
  ck_assert_str_eq(db_text(db, "%s ORDER BY 1", sums), db_text(db, "%s ORDER BY 1", rows));
}

static void check_archive(sqlite3 *db) {
  archive_read(db, target);
  assert_int(db, 0, "SELECT count(*) FROM temp.line WHERE NOT json_valid(json)");
  assert_int(db, 0, "SELECT count(*) - count(DISTINCT json ->> 'since') FROM temp.line");
  static const char lines[] = "SELECT json ->> 'since', json ->> 'body' FROM temp.line";
  static const char rows[] = "SELECT since, body FROM logs WHERE level <> 'debug'";
  assert_text(db, "", "%s EXCEPT %s", rows, lines);
  assert_text(db, "", "%s EXCEPT %s", lines, rows);
  static const char files[] = "SELECT object, bytes FROM temp.file";
  static const char objects[] = "SELECT object, bytes FROM tidemark_export_log WHERE object IS NOT NULL";
  assert_text(db, "", "%s EXCEPT %s", files, objects);
  assert_text(db, "", "%s EXCEPT %s", objects, files);
  assert_int(db, 0, "SELECT count(*) - count(DISTINCT object) FROM tidemark_export_log WHERE object IS NOT NULL");
}

/* Every batch claimed before the crash is, in name and bytes, what it is without one. Returns how many those are. */
static int check_same(sqlite3 *db) {
  sqlite3_stmt *stmt = NULL;
  int count = 0;
  sqlite3_prepare_v2(db, "SELECT object FROM temp.claimed WHERE object IN (SELECT object FROM temp.file)", -1, &stmt,
                     NULL);
  while (sqlite3_step(stmt) == SQLITE_ROW) {
    const char *object = (const char *)sqlite3_column_text(stmt, 0);
    ck_assert_msg(archive_same(target, reference, object), "%s has other bytes", object);
    count++;
  }
  sqlite3_finalize(stmt);
  return count;
}

static void go_on_and_check(enum crash_how how) {
  sqlite3 *db = db_open(work, NULL);
  assert_text(db, "ok", "PRAGMA integrity_check");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  check_appended(db, how);
  db_exec(db,
          "CREATE TEMP TABLE claimed AS SELECT object FROM tidemark_batch UNION SELECT object FROM tidemark_export_log"
          " WHERE object IS NOT NULL");
  append(db, "C", 15);
  db_exec(db, "SELECT tidemark_flush('logs')");
  db_exec(db, "UPDATE tidemark_sink SET format = iif(format = 'ndjson', 'ndjson.zst', 'ndjson'), max_rows = 7,"
              " columns = '[\"body\", \"partition\", \"since\", \"level\"]', filter = 'level IN (''info'')'");
  append(db, "D", 8);
  export_all(db);
  check_log(db);
  check_archive(db);
  check_same(db);
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  assert_text(db, "0", "SELECT tidemark_export('archive') ->> 'batches'");
  db_close(db);
}

/* ---- */

static void make_reference(void) {
  restore_base();
  ck_assert(!crash_run(append_and_tick, 0, CRASH_KILL));
  const int moments = crash.shared->moments;
  ck_assert_int_eq(rename(target, reference), 0);
  ck_assert_int_gt(moments, 30);
}

static void crash_in(const char *journal, const char *synchronous, const char *format, int stride) {
  setting = (struct setting){journal, synchronous, format};
  if (crash.shared == NULL) {
    scratch_open();
    crash_open();
  }
  snprintf(base, sizeof base, "%s/base-%s-%s-%s", scratch, journal, synchronous, format);
  snprintf(reference, sizeof reference, "%s/reference-%s-%s-%s", scratch, journal, synchronous, format);
  snprintf(work, sizeof work, "%s/work", scratch);
  snprintf(target, sizeof target, "%s/archive", scratch);
  make_base();
  make_reference();
  crash_everywhere(restore_base, append_and_tick, go_on_and_check, stride);
}

START_TEST(wal_normal_packed) {
  crash_in("wal", "normal", "ndjson.zst", 17);
}
END_TEST

START_TEST(wal_full_plain) {
  crash_in("wal", "full", "ndjson", 17);
}
END_TEST

START_TEST(delete_full_plain) {
  crash_in("delete", "full", "ndjson", 29);
}
END_TEST

START_TEST(delete_normal_packed) {
  crash_in("delete", "normal", "ndjson.zst", 29);
}
END_TEST

/* Every step of every file: made, written, synced, named, its folder synced. */
START_TEST(steps_of_files) {
  crash.steps_only = true;
  crash_in("wal", "normal", "ndjson.zst", 1);
}
END_TEST

/* The other half, for the long form. */
START_TEST(wal_normal_plain_and_full_packed) {
  if (!effort_is_long())
    return;
  crash_in("wal", "normal", "ndjson", 1);
  crash_in("wal", "full", "ndjson.zst", 1);
}
END_TEST

START_TEST(delete_normal_plain_and_full_packed) {
  if (!effort_is_long())
    return;
  crash_in("delete", "normal", "ndjson", 1);
  crash_in("delete", "full", "ndjson.zst", 1);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {wal_normal_packed,
                                wal_full_plain,
                                delete_full_plain,
                                delete_normal_packed,
                                steps_of_files,
                                wal_normal_plain_and_full_packed,
                                delete_normal_plain_and_full_packed,
                                NULL};
  return unit_main("crash tick", tests);
}
