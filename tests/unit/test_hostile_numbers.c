/* Numbers that no Tidemark wrote: at the ends of their ranges, negative, of another type. What is asked then is answered
 * or refused in words, in bounded time, and nothing that is written makes unreadable what could be read before. */
#define _GNU_SOURCE
#include "hostile_db.h"
#include "store/catalog_partition.h"
#include "store/dead.h"

#define HIGHEST "4611686018427387904"

static const char rows_text[] = "1 2 3 4 5 6 7 8 9 10 11 12";
static const char all_rows[] = "SELECT since FROM logs ORDER BY since";

/* A text compares above every number, so that a walk that goes on behind the last number met it again and again. */
START_TEST(keys_that_are_no_numbers) {
  static const struct {
    const char *table;
    const char *change;
    const char *words;
  } changes[] = {
      {"logs_segment", "last_since = last_since || '' WHERE last_since = 3",
       "dataset logs: logs_segment row (partition 1, last_since 3) contradicts itself"},
      {"logs_segment", "rows = '3' WHERE last_since = 3",
       "dataset logs: logs_segment row (partition 1, last_since 3) contradicts itself"},
      {"logs_segment", "meta = CAST(meta AS TEXT) WHERE last_since = 3",
       "dataset logs: logs_segment row (partition 1, last_since 3) contradicts itself"},
      {"logs_partition", "last_since = '6' WHERE id = 1", "dataset logs: logs_partition row (id 1) contradicts itself"},
      {"logs_partition", "written = 6.5 WHERE id = 1", "dataset logs: logs_partition row (id 1) contradicts itself"},
      {"logs_partition", "name = CAST(name AS BLOB) WHERE id = 1",
       "dataset logs: logs_partition row (id 1) contradicts itself"},
      {"logs_tail", "first_since = '9' WHERE last_since = 9", "dataset logs: logs_tail row 9 contradicts itself"},
      {"logs_tail", "partition = '1' WHERE last_since = 9", "dataset logs: logs_tail row 9 contradicts itself"},
      {"logs_tail", "rows = 1.0 WHERE last_since = 9", "dataset logs: logs_tail row 9 contradicts itself"}};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    begin();
    loosen(changes[i].table);
    assert_text(db, rows_text, "%s", all_rows);
    damage("UPDATE %s SET %s", changes[i].table, changes[i].change);
    db_refuses(db, SQLITE_CORRUPT, changes[i].words, "%s", all_rows);
    db_refuses(db, SQLITE_CORRUPT, changes[i].words, "%s DESC", all_rows);
    ck_assert_ptr_nonnull(strstr(db_text(db, "SELECT tidemark_check('logs')"), changes[i].words));
    end();
  }
}
END_TEST

START_TEST(a_partition_that_is_none_is_named_with_its_dataset) {
  begin();
  damage("UPDATE logs_partition SET name = 'sauce=a' WHERE id = 1");
  db_refuses(db, SQLITE_CORRUPT, "dataset logs: logs_partition: 'sauce=a' is no partition of this dataset: expected",
             "%s", all_rows);
  assert_text(db, "7 8 10 11", "SELECT since FROM logs WHERE source = 'b'");
  end();
}
END_TEST

/* A BLOB is above every number, and reads as one: who went from one id to the next met it again and again. */
START_TEST(partitions_whose_id_is_no_number) {
  static const char words[] = "dataset logs: logs_partition has an id that is none";
  static const char *const ids[] = {"x'33'", "'c'", "-3"};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    begin();
    damage("CREATE TABLE kept AS SELECT * FROM logs_partition; DROP TABLE logs_partition;"
           "CREATE TABLE logs_partition AS SELECT * FROM kept; DROP TABLE kept;"
           "UPDATE logs_partition SET id = %s WHERE id = 2",
           ids[i]);
    sqlite3_exec(db, "SELECT tidemark_prune('logs')", NULL, NULL, NULL);
    sqlite3_exec(db, "SELECT tidemark_compact('logs')", NULL, NULL, NULL);
    ck_assert_int_lt(hostile_steps, HOSTILE_STEPS_MAX);
    db_refuses(db, SQLITE_CORRUPT, words, "%s", all_rows);
    db_refuses(db, SQLITE_CORRUPT, i < 2 ? "logs_partition" : words, "INSERT INTO logs VALUES ('b', 1, 1)");
    ck_assert_str_ne(db_text(db, "SELECT tidemark_check('logs')"), "ok");
    end();
  }
}
END_TEST

/* ---- the last numbers ---- */

START_TEST(the_last_number_is_given_and_none_behind_it) {
  begin();
  damage("UPDATE logs_config SET value = " HIGHEST " - 2 WHERE key = 'sealed_since'");
  db_refuses(db, SQLITE_FULL, "dataset logs: every number up to " HIGHEST " was given",
             "INSERT INTO logs VALUES ('a', 1, 1), ('a', 2, 2), ('a', 3, 3)");
  assert_text(db, rows_text, "%s", all_rows);
  db_exec(db, "INSERT INTO logs VALUES ('a', 1, 1), ('b', 2, 2)");
  db_refuses(db, SQLITE_FULL, "dataset logs: every number up to " HIGHEST " was given",
             "INSERT INTO logs VALUES ('c', 3, 3)");
  db_exec(db, "SELECT tidemark_flush('logs'); SELECT tidemark_maintain('logs')");
  assert_text(db, "1 2 3 4 5 6 7 8 9 10 11 12 4611686018427387903 4611686018427387904", "%s", all_rows);
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  end();
}
END_TEST

START_TEST(numbers_above_the_last_are_damage) {
  static const char *const changes[][2] = {
      {"UPDATE logs_config SET value = " HIGHEST " + 1 WHERE key = 'sealed_since'",
       "dataset logs: logs_config has no valid sealed_since"},
      {"UPDATE logs_tail SET last_since = 9223372036854775807 WHERE last_since = 12",
       "dataset logs: logs_tail row 9223372036854775807 contradicts itself"},
      {"UPDATE logs_partition SET last_since = 9223372036854775807 WHERE id = 1",
       "dataset logs: sealed_since in logs_config is 8, below a segment's 9223372036854775807"},
      {"UPDATE logs_segment SET last_since = 9223372036854775807 WHERE last_since = 6",
       "dataset logs: logs_segment row (partition 1, last_since 9223372036854775807) contradicts itself"}};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    begin();
    damage("%s", changes[i][0]);
    db_refuses(db, SQLITE_CORRUPT, changes[i][1], "%s", all_rows);
    end();
  }
}
END_TEST

/* A walk goes on behind the id that it was given: behind 1, 1.5 came again and again. */
START_TEST(ids_that_are_no_numbers) {
  struct tide_err err = {0};
  struct tide_buf text = {0};
  struct tide_dead_row row = {0};
  const struct tide_names names = {.schema = "main", .dataset = "logs"};
  begin();
  db_exec(db, "INSERT INTO tidemark_dead(sink, dataset, partition, since, payload, reason, at)"
              " VALUES ('s', 'logs', 'source=a', 1, '{}', 'poison', 0)");
  damage("CREATE TEMP TABLE dead AS SELECT * FROM tidemark_dead; DROP TABLE tidemark_dead;"
         "CREATE TABLE tidemark_dead AS SELECT * FROM dead; UPDATE tidemark_dead SET id = 1.5;"
         "CREATE TEMP TABLE partition AS SELECT * FROM logs_partition; DROP TABLE logs_partition;"
         "CREATE TABLE logs_partition AS SELECT * FROM partition; UPDATE logs_partition SET id = id + 0.5");
  ck_assert(!tide_dead_next(db, "main", "s", "logs", 1, 9, &row, &err));
  ck_assert_msg(err.rc == SQLITE_CORRUPT_VTAB && strstr(err.msg, "row 1 of sink s, dataset logs is no number") != NULL,
                "%s", err.msg);
  err = (struct tide_err){0};
  ck_assert_int_eq(tide_catalog_partition_next(db, names, 1, &text, &err), 0);
  ck_assert_msg(err.rc == SQLITE_CORRUPT_VTAB, "%s", err.msg);
  ck_assert_str_eq(err.msg, "dataset logs: logs_partition has an id that is none");
  tide_buf_clear(&text);
  end();
}
END_TEST

/* ---- counters at their end ---- */

/* Refused as a whole: what was there is read as before, also by who opens the file next. */
static void refuses_to_pass(const char *change, const char *words, const char *sql) {
  begin();
  damage("%s", change);
  db_refuses(db, 0, words, "%s", sql);
  assert_text(db, rows_text, "%s", all_rows);
  end();
  hostile_reopen();
  assert_text(db, rows_text, "%s", all_rows);
  end();
}

START_TEST(counters_do_not_pass_their_end) {
  refuses_to_pass("UPDATE logs_config SET value = " HIGHEST " - 4 WHERE key = 'next_chunk'",
                  "dataset logs: next_chunk in logs_config would pass " HIGHEST ", the highest there can be",
                  "SELECT tidemark_flush('logs')");
  refuses_to_pass("UPDATE logs_config SET value = " HIGHEST " WHERE key = 'seals'",
                  "dataset logs: seals in logs_config would pass " HIGHEST ", the highest there can be",
                  "SELECT tidemark_flush('logs')");
  refuses_to_pass("UPDATE logs_partition SET written = " HIGHEST " WHERE id = 1",
                  "dataset logs: logs_partition (id 1) is missing, or counts more rows than there can be",
                  "SELECT tidemark_flush('logs')");
  refuses_to_pass("DELETE FROM tidemark_batch; UPDATE logs_partition SET deleted = " HIGHEST " WHERE id = 1",
                  "dataset logs: logs_partition (id 1) is missing, or counts more rows than there can be",
                  "DELETE FROM logs WHERE since = 1");
  refuses_to_pass("DELETE FROM tidemark_batch; UPDATE logs_segment SET deleted = 3 WHERE last_since = 3",
                  "dataset logs: logs_segment row (partition 1, last_since 3) is missing, or counts more rows as gone"
                  " than it has",
                  "DELETE FROM logs WHERE since = 1");
}
END_TEST

START_TEST(adopting_does_not_take_up_a_number_above_the_last) {
  begin();
  damage("UPDATE tidemark_export_log SET until = 9223372036854775807; PRAGMA writable_schema = ON;"
         "DELETE FROM sqlite_schema WHERE name = 'logs'");
  db_refuses(db, SQLITE_FULL, "sealed_since in logs_config would pass " HIGHEST,
             "CREATE VIRTUAL TABLE logs USING tidemark(adopt=1)");
  assert_int(db, 8, "SELECT value FROM logs_config WHERE key = 'sealed_since'");
  end();
}
END_TEST

/* ---- sinks ---- */

START_TEST(attempts_of_any_number) {
  static const char *const attempts[] = {"-10", "-9223372036854775807 - 1", "9223372036854775806",
                                         "9223372036854775807"};
  for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
    begin();
    db_exec(db,
            "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES"
            " ('away', 'logs', 'file://%s/away', 'ndjson'); SELECT tidemark_export('away');"
            "UPDATE tidemark_batch SET attempts = %s, error = NULL; UPDATE tidemark_sink_count SET attempts = %s",
            scratch_path("folder"), attempts[i], attempts[i]);
    for (int tick = 0; tick < 2; tick++)
      assert_text(db, "1", "SELECT json_extract(tidemark_export('away', 'now'), '$.failed') > 0");
    assert_int(db, 0, "SELECT count(*) FROM tidemark_batch WHERE sink = 'away' AND error IS NULL");
    assert_text(db, rows_text, "%s", all_rows);
    end();
  }
}
END_TEST

START_TEST(entries_of_deleted_rows_that_are_no_numbers) {
  static const char *const changes[][2] = {
      {"partition = '1'", "logs_deleted: since '2' of partition '1': both must be integers"},
      {"since = 2.5", "logs_deleted: since '2.5' of partition '1': both must be integers"},
      {"since = 'two'", "logs_deleted: since 'two' of partition '1': both must be integers"}};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    begin();
    db_exec(db, "DELETE FROM tidemark_batch; DELETE FROM logs WHERE since = 2");
    damage("CREATE TABLE kept AS SELECT * FROM logs_deleted; DROP TABLE logs_deleted;"
           "CREATE TABLE logs_deleted(since, partition); INSERT INTO logs_deleted SELECT since, partition FROM kept;"
           "DROP TABLE kept; UPDATE logs_deleted SET %s",
           changes[i][0]);
    const char *said = db_text(db, "SELECT tidemark_check('logs')");
    ck_assert_msg(strstr(said, changes[i][1]) != NULL, "%d says: %s", (int)i, said);
    end();
  }
}
END_TEST

/* What reads as 0 would be taken for a sink that has shipped nothing yet, or that begins with the first row. */
START_TEST(numbers_of_a_sink_that_are_none) {
  static const struct {
    const char *table;
    const char *change;
    const char *words;
  } changes[] = {{"tidemark_sink_count", "UPDATE tidemark_sink_count SET marked = 'many'",
                  "tidemark_sink_count is damaged: a count of sink out, dataset logs is no number"},
                 {"tidemark_sink_count", "UPDATE tidemark_sink_count SET tick = x'31'",
                  "tidemark_sink_count is damaged: a count of sink out, dataset logs is no number"},
                 {"tidemark_sink", "UPDATE tidemark_sink SET start = 'earliest' WHERE sink = 'out'",
                  "tidemark_sink.start is no whole number for sink out of dataset logs"},
                 {"tidemark_sink", "UPDATE tidemark_sink SET max_rows = 'all' WHERE sink = 'out'",
                  "tidemark_sink.max_rows is no whole number for sink out of dataset logs"},
                 {"tidemark_sink_state", "UPDATE tidemark_sink_state SET caught_up = 1.5 WHERE sink = 'out'",
                  "tidemark_sink_state.caught_up is no whole number for sink out of dataset logs"}};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    begin();
    db_exec(db,
            "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES"
            " ('out', 'logs', 'file://%s', 'ndjson'); SELECT tidemark_export('out');"
            "INSERT INTO logs VALUES ('a', 13, 13)",
            scratch_path("folder"));
    loosen(changes[i].table);
    damage("%s", changes[i].change);
    if (strcmp(changes[i].table, "tidemark_sink_count") != 0) {
      db_refuses(db, SQLITE_CORRUPT, changes[i].words, "SELECT tidemark_export('out', 'now')");
      if (strstr(changes[i].words, "max_rows") ==
          NULL) /* where the log begins and ends is the check's, not its pieces */
        ck_assert_str_ne(db_text(db, "SELECT tidemark_check('logs')"), "ok");
    } else {
      const char *said = db_text(db, "SELECT tidemark_export('out', 'now')");
      ck_assert_msg(strstr(said, changes[i].words) != NULL, "%d says: %s", (int)i, said);
    }
    end();
  }
}
END_TEST

START_TEST(batches_have_no_number_behind_the_last) {
  begin();
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES"
          " ('away', 'logs', 'file://%s/away', 'ndjson'); SELECT tidemark_export('away')",
          scratch_path("folder"));
  damage("UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'tidemark_batch'");
  const char *said = db_text(db, "SELECT tidemark_export('away', 'now')");
  ck_assert_msg(strstr(said, "every number of a batch was given") != NULL, "says: %s", said);
  assert_text(db, rows_text, "%s", all_rows);
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {keys_that_are_no_numbers,
                                partitions_whose_id_is_no_number,
                                a_partition_that_is_none_is_named_with_its_dataset,
                                the_last_number_is_given_and_none_behind_it,
                                numbers_above_the_last_are_damage,
                                ids_that_are_no_numbers,
                                counters_do_not_pass_their_end,
                                adopting_does_not_take_up_a_number_above_the_last,
                                attempts_of_any_number,
                                entries_of_deleted_rows_that_are_no_numbers,
                                numbers_of_a_sink_that_are_none,
                                batches_have_no_number_behind_the_last,
                                NULL};
  return unit_main("hostile_numbers", tests);
}
