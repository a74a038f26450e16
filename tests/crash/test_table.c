/* Kills a process that appends and ticks into a Delta table, at changes of the database's files and at every step of
 * a target's file, then lets another go on. Each batch of the export log must be one commit of the table, and no
 * other. */
#define _GNU_SOURCE
#include "archive.h"
#include "crash.h"
#include "unit.h"

static char base[256], work[256], target[256];

static void append(sqlite3 *db, const char *tag, int rows) {
  db_exec(db,
          "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d)"
          " INSERT INTO logs SELECT iif(n %% 3, 'web', 'd%%b'), '%s ' || n FROM c",
          rows, tag);
}

static void make_base(void) {
  sqlite3 *db = db_open(base, NULL);
  db_exec(db, "PRAGMA journal_mode = wal");
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source)");
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format, options, max_rows) VALUES"
          " ('lake', 'logs', 'file://%s', 'parquet', '{\"table\":\"delta\"}', 2)",
          target);
  append(db, "base", 12);
  db_close(db);
}

static void restore_base(void) {
  struct tide_buf bytes = {0};
  static const char *const suffixes[] = {"-wal", "-shm"};
  for (int i = 0; i < 2; i++) {
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

static void export_all(sqlite3 *db) {
  const char *report = db_text(db, "SELECT tidemark_export('lake', 'now')");
  ck_assert_msg(strstr(report, "\"failed\":0") != NULL && strstr(report, "\"more\":false") != NULL, "%s", report);
}

static void append_and_tick(void) {
  sqlite3 *db = db_open(work, "shim");
  export_all(db);
  append(db, "A", 14);
  export_all(db);
  db_close(db);
}

/* ---- what must be so after ---- */

/* The lines of all commits, in a table of their own. */
static void read_commits(sqlite3 *db) {
  struct tide_buf bytes = {0};
  char path[400];
  db_exec(db, "CREATE TEMP TABLE line(version, json)");
  for (int version = 0;; version++) {
    snprintf(path, sizeof path, "%s/logs/_delta_log/%020d.json", target, version);
    if (access(path, F_OK) != 0)
      break;
    archive_read_file(path, &bytes);
    char *rest = strndup((char *)bytes.data, bytes.len);
    char *all = rest;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
      if (*line != '\0')
        db_exec(db, "INSERT INTO temp.line VALUES(%d, %Q)", version, line);
    }
    free(all);
  }
  tide_buf_clear(&bytes);
}

static void check_table(sqlite3 *db) {
  read_commits(db);
  static const char adds[] = "SELECT 'logs/' || replace(json ->> '$.add.path', '%25', '%'), json ->> '$.add.size',"
                             " json ->> '$.add.stats' ->> 'numRecords' FROM temp.line WHERE json -> 'add' NOT NULL";
  static const char batches[] = "SELECT object, bytes, rows FROM tidemark_export_log WHERE object IS NOT NULL";
  ck_assert_str_eq(db_text(db, "%s ORDER BY 1", adds), db_text(db, "%s ORDER BY 1", batches));
  assert_text(db, db_text(db, "SELECT count(*) FROM tidemark_export_log"),
              "SELECT max(version) + 1 FROM temp.line WHERE (SELECT count(DISTINCT version) FROM temp.line)"
              " = (SELECT max(version) + 1 FROM temp.line)");
  static const char txns[] = "SELECT log_id || '/lake/' || partition || '/0', max(until) FROM tidemark_export_log, "
                             "tidemark_dataset GROUP BY 1";
  ck_assert_str_eq(db_text(db, "SELECT json ->> '$.txn.appId', max(json ->> '$.txn.version') FROM temp.line"
                               " WHERE json -> 'txn' NOT NULL GROUP BY 1 ORDER BY 1"),
                   db_text(db, "%s ORDER BY 1", txns));
}

static void go_on_and_check(enum crash_how how) {
  sqlite3 *db = db_open(work, NULL);
  char path[400];
  (void)how;
  append(db, "B", 9);
  export_all(db);
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
  assert_int(db, 0, "SELECT sum(rows) FROM tidemark_lag");
  check_table(db);
  snprintf(path, sizeof path, "%s/logs/_delta_log/_last_checkpoint", target);
  ck_assert_int_eq(access(path, F_OK), 0);
  assert_text(db, "0", "SELECT tidemark_export('lake') ->> 'batches'");
  db_close(db);
}

static void crash_in(int stride) {
  scratch_open();
  crash_open();
  snprintf(base, sizeof base, "%s/base", scratch);
  snprintf(work, sizeof work, "%s/work", scratch);
  snprintf(target, sizeof target, "%s/archive", scratch);
  make_base();
  crash_everywhere(restore_base, append_and_tick, go_on_and_check, stride);
}

START_TEST(steps_of_files) {
  crash.steps_only = true;
  crash_in(effort_is_long() ? 1 : 7);
}
END_TEST

START_TEST(changes_of_the_database) {
  crash_in(effort_is_long() ? 1 : 83);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {steps_of_files, changes_of_the_database, NULL};
  return unit_main("crash table", tests);
}
