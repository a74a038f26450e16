/* A disk without room. The target's: the batch stays with an error that names the folder, the other sinks go on, nothing
 * half is left, and when there is room again the same batch goes out. The database's: whatever of a tick fails, the next
 * one makes each row leave once. */
#define _GNU_SOURCE
#include <errno.h>

#include "effort.h"
#include "export_db.h"
#include "mounts.h"
#include "sink/target.h"

/* The object that the open batch will be, and its range. */
static const char *open_batch(void) {
  return db_text(db, "SELECT since || ' ' || until || ' ' || rows || ' ' || object FROM tidemark_batch");
}

/* A tick fails with those words, with the batch open and no file. */
static void fail_a_tick(const char *words) {
  char batch[300];
  ck_assert_str_eq(tick("failed"), "1");
  assert_int(db, 1, "SELECT count(*) FROM tidemark_batch WHERE error LIKE 'writing \"%s/%%\": %s: the batch stays %%'",
             folder, words);
  assert_int(db, 0, "SELECT count(*) FROM tidemark_export_log");
  ck_assert_int_eq(files_below(folder, false), 0);
  snprintf(batch, sizeof batch, "%s", open_batch());
  append_many(5, 100); /* what comes meanwhile is not in it */
  shim.now_ms += 600000;
  ck_assert_str_eq(tick("failed"), "1");
  ck_assert_str_eq(open_batch(), batch);
  ck_assert_int_eq(files_below(folder, false), 0);
}

static void check_the_same_batch_goes_out(const char *batch) {
  shim.now_ms += 600000;
  ck_assert_str_eq(tick("failed"), "0");
  ck_assert_str_eq(db_text(db, "SELECT since || ' ' || until || ' ' || rows || ' ' || object FROM tidemark_export_log"
                               " ORDER BY id LIMIT 1"),
                   batch);
  check_archive();
}

START_TEST(batch_waits_for_room) {
  static const int errors[] = {ENOSPC, EDQUOT};
  static const char *const words[] = {"No space left on device", "Disk quota exceeded"};
  for (int i = 0; i < 2; i++) {
    char batch[300];
    begin();
    append_many(400, 1000);
    tide_target_dir_room = (struct tide_target_dir_room){300000, errors[i]};
    fail_a_tick(words[i]);
    snprintf(batch, sizeof batch, "%s", open_batch());
    tide_target_dir_room = (struct tide_target_dir_room){0};
    check_the_same_batch_goes_out(batch);
    end();
  }
}
END_TEST

START_TEST(batch_waits_for_room_on_a_real_disk) {
  char batch[300];
  begin();
  append_many(400, 1000);
  if (mount_small_disk(folder)) {
    fail_a_tick("No space left on device");
    snprintf(batch, sizeof batch, "%s", open_batch());
    ck_assert(resize_disk(folder, 4096));
    check_the_same_batch_goes_out(batch);
    umount(folder);
  }
  end();
}
END_TEST

/* ---- a little room, and a little more ---- */

enum { PAGE_KIB = 4 };

static char disk[128];
static bool may_mount = true;

/* The dataset with rows of three partitions, two sinks beside "s", and an empty disk at `disk`. */
static bool begin_with_disk(const char *at, const char *options) {
  begin();
  snprintf(disk, sizeof disk, "%s", scratch_path(at));
  mkdir(disk, 0755);
  mkdir(scratch_path("other"), 0755);
  may_mount = mount_disk(disk, 8192);
  if (!may_mount)
    return false;
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format, options, max_rows) VALUES"
          " ('full', 'logs', 'file://%s', 'parquet', %Q, 40), ('other', 'logs', 'file://%s', 'csv', NULL, 50)",
          disk, options, scratch_path("other"));
  db_exec(db, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 240)"
              " INSERT INTO logs SELECT 'p' || (n %% 3), hex(randomblob(200)) || n FROM c");
  return true;
}

static void end_with_disk(void) {
  end();
  umount(disk);
}

static int temporaries_in(const char *path) {
  return files_below(db_text(db, "SELECT %Q || '/_tidemark/tmp'", path), true);
}

/* The objects are those of the log, and it has each row once. */
static void check_full(void) {
  archive_read(db, disk);
  assert_text(db, "240|240",
              "SELECT (SELECT sum(rows) FROM tidemark_export_log WHERE sink = 'full'), count(*) FROM logs");
  assert_text(db, "", "SELECT object FROM tidemark_export_log WHERE sink = 'full' EXCEPT SELECT object FROM temp.file");
  assert_text(db, "",
              "SELECT object FROM temp.file WHERE object NOT LIKE '%%/_delta_log/%%' EXCEPT"
              " SELECT object FROM tidemark_export_log WHERE sink = 'full'");
  assert_text(db, "1", "SELECT tidemark_verify('full') ->> 'ok'");
  ck_assert_int_eq(temporaries_in(disk), 0);
}

/* With room for n pages: whether that was enough. */
static bool tick_with_room(int pages, const char *options) {
  if (!begin_with_disk("disk", options))
    return true;
  ck_assert(resize_disk(disk, used_of_disk(disk) + pages * PAGE_KIB + PAGE_KIB));
  const char *report = db_text(db, "SELECT tidemark_export()");
  const bool enough = strstr(report, "No space left on device") == NULL;
  assert_int(db, enough ? 0 : 1, "SELECT %Q ->> 'failed' > 0", report);
  assert_text(db, "240 240", "SELECT sum(rows) FROM tidemark_export_log WHERE sink <> 'full' GROUP BY sink");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch WHERE error NOT LIKE '%%%q%%'", disk);
  ck_assert(resize_disk(disk, 8192));
  assert_text(db, "0|0", "SELECT e ->> 'failed', e ->> 'more' FROM (SELECT tidemark_export('full', 'now') AS e)");
  check_full();
  end_with_disk();
  return enough;
}

START_TEST(disk_is_full_after_any_number_of_pages) {
  static const char *const options[] = {NULL, "{\"table\":\"delta\"}"};
  for (size_t i = 0; i < 2; i++) {
    int pages = 0;
    while (!tick_with_room(pages, options[i]))
      pages += 1 + pages / 4 * !effort_is_long();
    ck_assert_int_gt(pages, may_mount ? 3 : -1); /* it was too little so often */
  }
}
END_TEST

/* ---- the database's disk ---- */

/* The database, in that journal mode, on an empty disk of its own; the archive is elsewhere. */
static bool begin_on_disk(const char *journal) {
  char path[160];
  begin();
  snprintf(disk, sizeof disk, "%s", scratch_path("disk"));
  mkdir(disk, 0755);
  may_mount = mount_disk(disk, 8192);
  if (!may_mount)
    return false;
  db_close(db);
  snprintf(path, sizeof path, "%s/db", disk);
  db = db_open(path, "shim");
  assert_text(db, journal, "PRAGMA journal_mode = %s", journal);
  db_exec(db,
          "PRAGMA wal_autocheckpoint = 10; CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT,"
          " partition_by=source); INSERT INTO tidemark_sink(sink, dataset, target, format, max_rows) VALUES"
          " ('s', 'logs', 'file://%s', 'ndjson', 40);"
          "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 200)"
          " INSERT INTO logs SELECT 'p' || (n %% 2), hex(randomblob(200)) || n FROM c; PRAGMA wal_checkpoint(TRUNCATE)",
          folder);
  return true;
}

static int take_text(void *into, int columns, char **values, char **names) {
  (void)columns, (void)names;
  *(char **)into = strdup(values[0]);
  return 0;
}

/* Whether so many pages were enough for a tick of several claims and acks. */
static bool tick_on_disk(const char *journal, int pages) {
  char *report = NULL;
  if (!begin_on_disk(journal))
    return true;
  ck_assert(resize_disk(disk, used_of_disk(disk) + pages * PAGE_KIB));
  const int rc = sqlite3_exec(db, "SELECT tidemark_export('s')", take_text, &report, NULL);
  const bool enough = rc == SQLITE_OK && strstr(report, "\"failed\":0,") != NULL;
  if (rc != SQLITE_OK)
    ck_assert_msg((rc & 0xff) == SQLITE_FULL || (rc & 0xff) == SQLITE_IOERR, "%d: %s", rc, sqlite3_errmsg(db));
  else if (!enough)
    ck_assert_msg(strstr(report, "full") != NULL || strstr(report, "disk I/O error") != NULL, "%s", report);
  free(report);
  ck_assert_int_eq(sqlite3_txn_state(db, NULL), SQLITE_TXN_NONE);
  ck_assert(resize_disk(disk, 8192));
  assert_text(db, "0|0", "SELECT e ->> 'failed', e ->> 'more' FROM (SELECT tidemark_export('s', 'now') AS e)");
  check_archive();
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
  end_with_disk();
  return enough;
}

START_TEST(database_s_disk_is_full_after_any_number_of_pages) {
  static const char *const journals[] = {"wal", "delete"};
  for (size_t i = 0; i < 2; i++) {
    int pages = 0;
    while (!tick_on_disk(journals[i], pages))
      pages += 1 + !effort_is_long();
    ck_assert_int_gt(pages, may_mount ? 3 : -1); /* it was too little so often */
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {batch_waits_for_room, batch_waits_for_room_on_a_real_disk,
                                disk_is_full_after_any_number_of_pages,
                                database_s_disk_is_full_after_any_number_of_pages, NULL};
  return unit_main("room", tests);
}
