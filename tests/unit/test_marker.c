/* A target that is told each tick: restored backups, live copies, and folders that are not the one written to. */
#define _GNU_SOURCE
#include "export_db.h"
#include "sink/target.h"

static const char *mark_of(const char *in) {
  return db_text(db, "SELECT CAST(readfile('%s/_tidemark/' || (SELECT log_id FROM tidemark_dataset) || '.s') AS TEXT)",
                 in);
}

/* readfile is the shell's; here it is ours, for those texts. */
static void read_file(sqlite3_context *context, int argc, sqlite3_value **argv) {
  char text[200];
  (void)argc;
  FILE *file = fopen((const char *)sqlite3_value_text(argv[0]), "r");
  if (file == NULL)
    return;
  const size_t size = fread(text, 1, sizeof text, file);
  fclose(file);
  sqlite3_result_text(context, text, (int)size, SQLITE_TRANSIENT);
}

static void start(void) {
  begin();
  sqlite3_create_function(db, "readfile", 1, SQLITE_UTF8, NULL, read_file, NULL, NULL);
}

static void copy_db(const char *to) {
  db_exec(db, "VACUUM INTO %Q", scratch_path(to));
}

/* Goes on with another file. */
static void switch_to(const char *name) {
  db_close(db);
  db = db_open(scratch_path(name), "shim");
  sqlite3_create_function(db, "readfile", 1, SQLITE_UTF8, NULL, read_file, NULL, NULL);
}

static void expect_state(const char *state) {
  ck_assert_str_eq(db_text(db, "SELECT state FROM tidemark_sink"), state);
}

START_TEST(each_tick_that_ships_is_told_before_its_first_byte) {
  char before[200];
  start();
  append_many(2, 1);
  ck_assert_str_eq(tick("batches"), "1");
  const char *token = db_text(db, "SELECT printf('%%016llx', token) FROM tidemark_sink_count");
  ck_assert_str_eq(mark_of(folder), db_text(db, "SELECT '{\"tick\":1,\"token\":\"%s\"}' || char(10)", token));
  snprintf(before, sizeof before, "%s", mark_of(folder));
  ck_assert_str_eq(tick("batches"), "0");
  ck_assert_str_eq(mark_of(folder), before);
  db_exec(db, "INSERT INTO logs VALUES ('a', 'x'), ('b', 'y')");
  ck_assert_str_eq(tick("batches"), "2");
  ck_assert_ptr_nonnull(strstr(mark_of(folder), "{\"tick\":2,"));
  end();
}
END_TEST

START_TEST(a_restored_backup_sends_nothing_until_a_fork) {
  start();
  append_many(2, 1);
  tick("batches");
  copy_db("backup");
  append_many(3, 1);
  tick("batches");
  append_many(1, 2);
  tick("batches");
  const int files = files_below(folder, true);
  switch_to("backup");
  append_many(4, 3); /* these have numbers that other rows had, which left */
  ck_assert_str_eq(
      tick("sinks[0].failures[0].error"),
      db_text(db,
              "SELECT '%s was told of tick 3 of this sink, which this database knows nothing of: it was "
              "restored from a backup, or is in use twice. Nothing is sent until SELECT tidemark_fork(''s'')'",
              folder));
  expect_state("diverged");
  ck_assert_str_eq(tick("batches"), "0");
  ck_assert_int_eq(files_below(folder, true), files);
  assert_int(db, 1, "SELECT hold FROM tidemark_sink");
  ck_assert_str_eq(db_text(db, "SELECT tidemark_fork('s') ->> '$.sinks[0].given_up'"), "1");
  expect_state("active");
  ck_assert_str_eq(tick("rows"), "4");
  ck_assert_int_eq(files_below(folder, true), files + 2); /* and a mark of its own */
  const char *object = db_text(db, "SELECT object FROM tidemark_export_log ORDER BY id DESC LIMIT 1");
  ck_assert_ptr_nonnull(strstr(object, db_text(db, "SELECT log_id FROM tidemark_sink_fork")));
  end();
}
END_TEST

/* The backup holds a batch that is open; what was open is in the folder under the count that the backup has too. */
START_TEST(rows_behind_an_open_batch_are_told_as_a_new_tick) {
  char blocked[300];
  start();
  db_exec(db, "INSERT INTO logs VALUES ('p', '1')");
  ck_assert_str_eq(tick("batches"), "1");
  snprintf(blocked, sizeof blocked, "%s/logs/source=q", folder);
  FILE *file = fopen(blocked, "w");
  ck_assert_ptr_nonnull(file);
  fclose(file);
  db_exec(db, "INSERT INTO logs VALUES ('p', '2'), ('q', '3')");
  ck_assert_str_eq(tick("failed"), "1");
  copy_db("backup");
  remove(blocked);
  db_exec(db, "INSERT INTO logs VALUES ('p', '4'), ('p', '5')");
  ck_assert_str_eq(db_text(db, "SELECT tidemark_export('s', 'now') ->> 'rows'"), "3");
  ck_assert_ptr_nonnull(strstr(mark_of(folder), "{\"tick\":3,"));
  switch_to("backup");
  db_exec(db, "INSERT INTO logs VALUES ('p', 'another 4')");
  ck_assert_str_eq(db_text(db, "SELECT tidemark_export('s', 'now') ->> 'rows'"), "0");
  expect_state("diverged");
  end();
}
END_TEST

START_TEST(set_active_without_a_fork_it_diverges_again) {
  start();
  append_many(1, 1);
  tick("batches");
  copy_db("copy");
  append_many(1, 1);
  tick("batches");
  switch_to("copy");
  append_many(1, 1);
  tick("batches");
  db_exec(db, "UPDATE tidemark_sink SET state = 'active'");
  ck_assert_str_eq(db_text(db, "SELECT tidemark_export('s', 'now') ->> 'failed'"), "1");
  expect_state("diverged");
  end();
}
END_TEST

START_TEST(of_two_live_copies_the_second_to_tick_is_stopped) {
  start();
  append_many(1, 1);
  tick("batches");
  copy_db("copy");
  append_many(1, 7);
  ck_assert_str_eq(tick("batches"), "1"); /* both count this tick as the second, with numbers of their own */
  switch_to("copy");
  append_many(1, 8);
  ck_assert_str_eq(tick("failed"), "1");
  expect_state("diverged");
  switch_to("db");
  append_many(1, 9);
  ck_assert_str_eq(tick("batches"), "1");
  check_archive();
  end();
}
END_TEST

START_TEST(copies_that_share_an_open_batch_ship_it_once) {
  start();
  append_many(5, 1);
  chmod(folder, 0755);
  ck_assert_int_eq(rename(folder, scratch_path("away")), 0);
  ck_assert_str_eq(tick("failed"), "1");
  copy_db("copy");
  ck_assert_int_eq(rename(scratch_path("away"), folder), 0);
  shim.now_ms += 600000;
  ck_assert_str_eq(tick("rows"), "5");
  switch_to("copy");
  ck_assert_str_eq(tick("rows"), "5"); /* the same object, which is there */
  ck_assert_int_eq(files_below(folder, true), 2);
  append_many(1, 1);
  ck_assert_str_eq(tick("rows"), "1");
  switch_to("db");
  append_many(1, 1);
  ck_assert_str_eq(tick("failed"), "1");
  expect_state("diverged");
  end();
}
END_TEST

START_TEST(an_object_that_another_library_wrote_is_logged_as_it_is) {
  start();
  db_exec(db, "UPDATE tidemark_sink SET format = 'ndjson.zst'");
  append_many(2000, 100);
  db_exec(db, "INSERT INTO logs SELECT 'web', hex(randomblob(200)) FROM logs");
  ck_assert_int_eq(rename(folder, scratch_path("away")), 0);
  ck_assert_str_eq(tick("failed"), "1");
  copy_db("copy");
  ck_assert_int_eq(rename(scratch_path("away"), folder), 0);
  shim.now_ms += 600000;
  ck_assert_str_eq(tick("batches"), "1");
  const int64_t bytes = db_int(db, "SELECT bytes FROM tidemark_export_log");
  switch_to("copy");
  db_exec(db, "DROP TRIGGER tidemark_batch_update;"
              "UPDATE tidemark_batch SET config = replace(config, '\"zstd_level\":3', '\"zstd_level\":19')");
  ck_assert_str_eq(tick("batches"), "1");
  assert_int(db, bytes, "SELECT bytes FROM tidemark_export_log");
  ck_assert_str_eq(db_text(db, "SELECT tidemark_verify('s') ->> 'ok'"), "1");
  end();
}
END_TEST

START_TEST(an_empty_folder_in_its_place_is_not_written_to) {
  start();
  append_many(1, 1);
  tick("batches");
  append_many(1, 1);
  ck_assert_int_eq(rename(folder, scratch_path("away")), 0);
  mkdir(folder, 0755); /* where a disk is mounted otherwise */
  ck_assert_str_eq(
      tick("sinks[0].failures[0].error"),
      db_text(
          db,
          "SELECT '%s is not the place that sink s wrote to, which has a mark of tick 1 in _tidemark: is a disk not "
          "mounted? To begin there anew: SELECT tidemark_fork(''s'')'",
          folder));
  expect_state("active");
  ck_assert_int_eq(files_below(folder, true), 0);
  rmdir(folder);
  ck_assert_int_eq(rename(scratch_path("away"), folder), 0);
  shim.now_ms += 600000;
  ck_assert_str_eq(tick("rows"), "1");
  check_archive();
  end();
}
END_TEST

START_TEST(a_place_that_is_away_costs_one_batch_and_waits_as_a_whole) {
  start();
  db_exec(db, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 50)"
              " INSERT INTO logs SELECT 'source ' || n, 'x' FROM c");
  ck_assert_int_eq(rename(folder, scratch_path("away")), 0);
  ck_assert_str_eq(tick("failed"), "1");
  assert_int(db, 1, "SELECT count(*) FROM tidemark_batch");
  ck_assert_str_eq(tick("waiting"), "50");
  ck_assert_int_eq(rename(scratch_path("away"), folder), 0);
  shim.now_ms += 1000;
  ck_assert_str_eq(tick("rows"), "50");
  check_archive();
  end();
}
END_TEST

START_TEST(an_old_target_that_is_away_does_not_hold_up_the_new_one) {
  start();
  db_exec(db, "INSERT INTO logs VALUES ('a', '1')");
  ck_assert_int_eq(rename(folder, scratch_path("away")), 0);
  ck_assert_str_eq(tick("failed"), "1");
  mkdir(scratch_path("fresh"), 0755);
  db_exec(db, "UPDATE tidemark_sink SET target = 'file://%s'; INSERT INTO logs VALUES ('b', '2'), ('c', '3')",
          scratch_path("fresh"));
  for (int i = 0; i < 3; i++) {
    shim.now_ms += 600000;
    ck_assert_str_eq(tick("rows"), i == 0 ? "2" : "0");
  }
  ck_assert_str_eq(db_text(db, "SELECT partition, attempts FROM tidemark_batch"), "source=a|4");
  end();
}
END_TEST

START_TEST(places_within_each_other_are_refused) {
  start();
  db_refuses(
      db, SQLITE_CONSTRAINT, "the folder of sink s for the same dataset",
      "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('t', 'logs', 'file://%s/logs', 'ndjson')",
      folder);
  db_refuses(db, SQLITE_CONSTRAINT, "the folder of sink s for the same dataset",
             "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('t', 'logs', 'file://%s', 'ndjson')",
             scratch);
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('t', 'logs', 'file://%s2', 'ndjson')",
          folder);
  end();
}
END_TEST

static void tick_of_the_copy(const char *step) {
  /* the mark of this tick is written, and not yet looked at again */
  if (strcmp(step, "folder_synced") != 0)
    return;
  tide_target_dir_step = NULL;
  sqlite3 *other = db_open(scratch_path("copy"), "shim");
  char path[400];
  snprintf(path, sizeof path, "%s/_tidemark/%s.s", folder, db_text(other, "SELECT log_id FROM tidemark_dataset"));
  db_close(other);
  FILE *file = fopen(path, "w");
  fputs("{\"tick\":2,\"token\":\"0123456789abcdef\"}\n", file);
  fclose(file);
}

START_TEST(of_two_that_look_at_once_the_one_that_wrote_first_is_stopped) {
  start();
  append_many(1, 1);
  tick("batches");
  copy_db("copy");
  append_many(1, 1);
  const int files = files_below(folder, true);
  tide_target_dir_step = tick_of_the_copy;
  ck_assert_str_eq(tick("failed"), "1");
  expect_state("diverged");
  ck_assert_int_eq(files_below(folder, true), files);
  end();
}
END_TEST

START_TEST(a_renamed_dataset_keeps_its_folder_to_itself) {
  start();
  db_exec(db, "ALTER TABLE logs RENAME TO logs_2025; CREATE VIRTUAL TABLE logs USING tidemark(x)");
  db_refuses(db, SQLITE_CONSTRAINT, "the folder of sink s for the same dataset's name",
             "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('s', 'logs', 'file://%s', 'ndjson')",
             folder);
  db_exec(db, "CREATE VIRTUAL TABLE _tidemark USING tidemark(x); CREATE VIRTUAL TABLE \"logs.g1\" USING tidemark(x)");
  db_refuses(
      db, SQLITE_CONSTRAINT, "would lie among others",
      "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('s', '_tidemark', 'file://%s', 'ndjson')",
      folder);
  db_refuses(db, SQLITE_CONSTRAINT, "would lie among others",
             "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('s', 'logs.g1', 'file://%s', 'ndjson')",
             folder);
  end();
}
END_TEST

START_TEST(the_place_of_another_sink_of_the_log_is_not_shared) {
  start();
  append_many(1, 1);
  tick("batches");
  const int files = files_below(folder, true);
  db_exec(db,
          "DELETE FROM tidemark_sink; INSERT INTO tidemark_sink(sink, dataset, target, format)"
          " VALUES ('t', 'logs', 'file://%s', 'ndjson')",
          folder);
  ck_assert_str_eq(
      db_text(db, "SELECT tidemark_export('t') ->> '$.sinks[0].failures[0].error'"),
      db_text(
          db,
          "SELECT '%s holds what another sink of this log wrote, as _tidemark says: give sink t a place of its own, or "
          "register it under that sink''s name'",
          folder));
  ck_assert_int_eq(files_below(folder, true), files);
  end();
}
END_TEST

static void fork_in_between(const char *step) {
  if (strcmp(step, "written") != 0)
    return;
  tide_target_dir_step = NULL;
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  db_refuses(other, SQLITE_BUSY, "sink s: batch 1 is being shipped by another process: fork when that has ended",
             "SELECT tidemark_fork('s')");
  db_close(other);
}

START_TEST(no_fork_while_another_process_ships) {
  start();
  append_many(1, 1);
  tide_target_dir_step = fork_in_between;
  ck_assert_str_eq(tick("rows"), "1");
  ck_assert_ptr_null(tide_target_dir_step);
  db_exec(db, "SELECT tidemark_fork('s')");
  end();
}
END_TEST

START_TEST(a_sink_that_stopped_is_in_every_answer) {
  start();
  append_many(1, 1);
  tick("batches");
  copy_db("copy");
  append_many(1, 1);
  tick("batches");
  switch_to("copy");
  append_many(1, 1);
  ck_assert_str_eq(db_text(db, "SELECT e ->> '$.sinks[0].state', e ->> 'stopped' FROM (SELECT tidemark_export() AS e)"),
                   "diverged|1");
  for (int i = 0; i < 3; i++)
    ck_assert_str_eq(
        db_text(db, "SELECT e ->> '$.sinks[0].state', e ->> 'stopped' FROM (SELECT tidemark_export() AS e)"),
        "diverged|1");
  db_exec(db, "UPDATE tidemark_sink SET state = 'paused'");
  ck_assert_str_eq(db_text(db, "SELECT tidemark_export() ->> 'stopped'"), "0");
  end();
}
END_TEST

START_TEST(a_fork_begins_anew_in_an_empty_folder) {
  start();
  append_many(1, 1);
  tick("batches");
  append_many(2, 1);
  nftw(folder, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
  mkdir(folder, 0755);
  ck_assert_str_eq(tick("failed"), "1");
  db_exec(db, "SELECT tidemark_fork('s')");
  ck_assert_str_eq(tick("rows"), "2");
  end();
}
END_TEST

START_TEST(an_old_copy_of_the_folder_is_noticed) {
  char command[400];
  start();
  append_many(1, 1);
  tick("batches");
  snprintf(command, sizeof command, "cp -r '%s' '%s'", folder, scratch_path("old"));
  ck_assert_int_eq(system(command), 0);
  for (int i = 0; i < 3; i++) {
    append_many(1, 1);
    tick("batches");
  }
  append_many(1, 1);
  ck_assert_int_eq(rename(folder, scratch_path("away")), 0);
  ck_assert_int_eq(rename(scratch_path("old"), folder), 0);
  ck_assert_ptr_nonnull(strstr(tick("sinks[0].failures[0].error"), "is an old copy of the place that sink s wrote to"));
  expect_state("active");
  ck_assert_int_eq(files_below(folder, true), 2);
  end();
}
END_TEST

START_TEST(a_target_may_be_moved_with_its_folder_or_begin_anew) {
  start();
  append_many(1, 1);
  tick("batches");
  const char *moved = scratch_path("moved");
  ck_assert_int_eq(rename(folder, moved), 0);
  db_exec(db, "UPDATE tidemark_sink SET target = 'file://%s'", moved);
  append_many(1, 1);
  ck_assert_str_eq(tick("rows"), "1");
  const char *fresh = scratch_path("fresh");
  mkdir(fresh, 0755);
  db_exec(db, "UPDATE tidemark_sink SET target = 'file://%s'", fresh);
  append_many(1, 1);
  ck_assert_str_eq(tick("rows"), "1");
  append_many(1, 1);
  ck_assert_str_eq(tick("rows"), "1");
  db_exec(db, "UPDATE tidemark_sink SET target = 'file://%s'", scratch_path("moved"));
  append_many(1, 1);
  ck_assert_str_eq(tick("rows"), "1");
  expect_state("active");
  end();
}
END_TEST

START_TEST(a_mark_that_is_none_of_ours_stays) {
  static const char *const texts[] = {"",
                                      "{\"tick\":1}\n",
                                      "{\"tick\":01,\"token\":\"0000000000000000\"}\n",
                                      "{\"tick\":1,\"token\":\"00000000000000000\"}\n",
                                      "{\"tick\":99999999999999999999,\"token\":\"0000000000000000\"}\n",
                                      "{\"tick\":1,\"token\":\"0000000000000000\"}\n "};
  start();
  append_many(1, 1);
  tick("batches");
  append_many(1, 1);
  for (size_t i = 1; i < sizeof texts / sizeof *texts; i++) {
    char path[400];
    snprintf(path, sizeof path, "%s/_tidemark/%s.s", folder, db_text(db, "SELECT log_id FROM tidemark_dataset"));
    FILE *file = fopen(path, "w");
    fputs(texts[i], file);
    fclose(file);
    ck_assert_ptr_nonnull(strstr(db_text(db, "SELECT tidemark_export('s', 'now') ->> '$.sinks[0].failures[0].error'"),
                                 "is not one that Tidemark wrote: move it away"));
    ck_assert_str_eq(mark_of(folder), texts[i]);
  }
  end();
}
END_TEST

START_TEST(a_count_that_was_never_told_is_used_again) {
  start();
  append_many(1, 1);
  ck_assert_int_eq(rename(folder, scratch_path("away")), 0);
  for (int i = 0; i < 3; i++) {
    tick("failed");
    shim.now_ms += 600000;
  }
  assert_int(db, 1, "SELECT tick FROM tidemark_sink_count");
  ck_assert_int_eq(rename(scratch_path("away"), folder), 0);
  ck_assert_str_eq(tick("rows"), "1");
  assert_int(db, 1, "SELECT marked FROM tidemark_sink_count");
  end();
}
END_TEST

START_TEST(what_a_sink_skips_is_no_tick) {
  start();
  db_exec(db, "UPDATE tidemark_sink SET filter = 'false'");
  append_many(3, 1);
  ck_assert_str_eq(tick("skipped"), "3");
  ck_assert_int_eq(files_below(folder, true), 0);
  assert_int(db, 0, "SELECT marked FROM tidemark_sink_count");
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {each_tick_that_ships_is_told_before_its_first_byte,
                                a_restored_backup_sends_nothing_until_a_fork,
                                rows_behind_an_open_batch_are_told_as_a_new_tick,
                                set_active_without_a_fork_it_diverges_again,
                                of_two_live_copies_the_second_to_tick_is_stopped,
                                copies_that_share_an_open_batch_ship_it_once,
                                an_object_that_another_library_wrote_is_logged_as_it_is,
                                an_empty_folder_in_its_place_is_not_written_to,
                                a_place_that_is_away_costs_one_batch_and_waits_as_a_whole,
                                an_old_target_that_is_away_does_not_hold_up_the_new_one,
                                places_within_each_other_are_refused,
                                of_two_that_look_at_once_the_one_that_wrote_first_is_stopped,
                                a_renamed_dataset_keeps_its_folder_to_itself,
                                the_place_of_another_sink_of_the_log_is_not_shared,
                                no_fork_while_another_process_ships,
                                a_sink_that_stopped_is_in_every_answer,
                                a_fork_begins_anew_in_an_empty_folder,
                                an_old_copy_of_the_folder_is_noticed,
                                a_target_may_be_moved_with_its_folder_or_begin_anew,
                                a_mark_that_is_none_of_ours_stays,
                                a_count_that_was_never_told_is_used_again,
                                what_a_sink_skips_is_no_tick,
                                NULL};
  return unit_main("marker", tests);
}
