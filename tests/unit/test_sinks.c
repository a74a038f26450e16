/* The rules that the database keeps for sinks, log and batches, whoever writes: DESIGN's list, each refused and
 * accepted. Sinks that are refused for what they ask for are in tests/sql/060_sinks.sql. */
#define _GNU_SOURCE
#include "sql_db.h"
#include "store/sinks.h"
#include "unit.h"

static sqlite3 *db;

/* "logs" with rows 1, 2, 4 of source=a and 3, 5 of source=b, and the sink "s" that its user drives. */
static void begin(void) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source)");
  db_exec(db, "INSERT INTO logs VALUES ('a', '1'), ('a', '2'), ('b', '3'), ('a', '4'), ('b', '5')");
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs')");
}

static void end(void) {
  db_close(db);
}

/* INSERT INTO the log: the columns since, until and rows of source=a, and others that the test names. */
#define LOG(columns, values)                                                                                           \
  "INSERT INTO tidemark_export_log(sink, dataset, partition" columns ") VALUES ('s', 'logs', 'source=a'" values ")"
#define LOG_RANGE(since, until) LOG(", since, until, rows", ", " since ", " until ", 1")

static const char *log_rows(void) {
  return db_text(db, "SELECT id, partition, generation, kind, since, until, rows FROM tidemark_export_log ORDER BY id");
}

/* Runs a test under both settings of recursive_triggers, which decides whether REPLACE fires delete triggers. */
static void under_both(void (*test)(void)) {
  for (int on = 0; on <= 1; on++) {
    begin();
    db_exec(db, "PRAGMA recursive_triggers = %d", on);
    test();
    end();
  }
}

/* ---- the log's rows ---- */

static void ids(void) {
  static const char words[] = "id is given by SQLite: leave it out";
  db_exec(db, LOG_RANGE("0", "1"));
  static const char *const numbers[] = {"1", "2", "0", "-1", "-5", "9223372036854775807"};
  for (int i = 0; i < 6; i++) {
    db_refuses(db, SQLITE_CONSTRAINT, words, LOG(", since, until, id", ", 1, 2, %s"), numbers[i]);
    db_refuses(db, SQLITE_CONSTRAINT, words, LOG(", since, until, rowid", ", 1, 2, %s"), numbers[i]);
    db_refuses(db, SQLITE_CONSTRAINT, words,
               "INSERT OR REPLACE" /* and the rest of LOG */
               " INTO tidemark_export_log(sink, dataset, partition, since, until, id) VALUES ('s', 'logs', 'source=a', "
               "1, 2, %s)",
               numbers[i]);
  }
  db_refuses(db, SQLITE_CONSTRAINT, words,
             LOG(", since, until, id", ", 1, 2, 1") " ON CONFLICT(id) DO UPDATE SET until = 4");
  db_exec(db, LOG(", since, until, id", ", 1, 2, NULL"));
  ck_assert_str_eq(log_rows(), "1|source=a|0|batch|0|1|1 2|source=a|0|batch|1|2|0");
}

START_TEST(ids_are_sqlites) {
  under_both(ids);
}
END_TEST

static void unchanging(void) {
  static const char *const changes[] = {
      "id = 9",         "id = 2",       "sink = 't'",   "dataset = 'other'", "dataset = NULL", "partition = 'x'",
      "generation = 1", "kind = 'gap'", "since = 1",    "until = 2",         "rows = 9",       "skipped = 1",
      "dead = 1",       "bytes = 1",    "object = 'x'", "hash = 'x'",        "reason = 'x'",   "committed_at = 0"};
  db_exec(db, LOG_RANGE("0", "1"));
  db_exec(db, LOG_RANGE("1", "2"));
  const char *before = log_rows();
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    db_refuses(db, SQLITE_CONSTRAINT, "rows of the log never change", "UPDATE tidemark_export_log SET %s WHERE id = 1",
               changes[i]);
    db_refuses(db, SQLITE_CONSTRAINT, "rows of the log never change",
               "UPDATE OR REPLACE tidemark_export_log SET %s WHERE id = 1", changes[i]);
  }
  db_refuses(db, SQLITE_CONSTRAINT, "id is given by SQLite",
             "REPLACE INTO tidemark_export_log SELECT * FROM tidemark_export_log WHERE id = 1");
  ck_assert_str_eq(log_rows(), before);
}

START_TEST(rows_of_the_log_never_change) {
  under_both(unchanging);
}
END_TEST

START_TEST(last_row_of_a_partition_stays) {
  static const char words[] = "the last row of a partition is the watermark and stays";
  begin();
  db_exec(db, LOG_RANGE("0", "1") ";" LOG_RANGE("1", "2") ";" LOG_RANGE("2", "4"));
  db_exec(
      db,
      "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until) VALUES ('s', 'logs', 'source=b', 0, 3)");
  db_refuses(db, SQLITE_CONSTRAINT, words, "DELETE FROM tidemark_export_log WHERE id = 3");
  db_refuses(db, SQLITE_CONSTRAINT, words, "DELETE FROM tidemark_export_log WHERE id = 4");
  db_refuses(db, SQLITE_CONSTRAINT, words, "DELETE FROM tidemark_export_log");
  assert_int(db, 4, "SELECT count(*) FROM tidemark_export_log");
  /* all but those may go, and everything works on */
  db_exec(
      db,
      "DELETE FROM tidemark_export_log WHERE id NOT IN (SELECT max(id) FROM tidemark_export_log GROUP BY partition)");
  assert_text(db, "source=a|4 source=b|3", "SELECT partition, since FROM tidemark_watermark ORDER BY 1");
  assert_text(db, "source=b|3|5|1", "SELECT partition, since, until, rows FROM tidemark_lag WHERE rows > 0");
  db_exec(db, "INSERT INTO logs VALUES ('a', '6')");
  db_refuses(db, SQLITE_CONSTRAINT, "since must be the watermark", LOG_RANGE("0", "6"));
  db_exec(db, LOG_RANGE("4", "6"));
  end();
}
END_TEST

START_TEST(row_begins_where_the_one_before_ended) {
  static const char words[] = "since must be the watermark";
  begin();
  static const char *const wrong[] = {"1", "-1", "2"};
  for (int i = 0; i < 3; i++)
    db_refuses(db, SQLITE_CONSTRAINT, words, LOG_RANGE("%s", "4"), wrong[i]);
  db_refuses(db, SQLITE_CONSTRAINT, words, LOG(", until", ", 4"));
  db_refuses(db, SQLITE_CONSTRAINT, "", LOG_RANGE("NULL", "4"));
  db_refuses(db, SQLITE_CONSTRAINT, "", LOG_RANGE("'x'", "4"));
  db_refuses(db, SQLITE_CONSTRAINT, "", LOG_RANGE("0.5", "4"));
  db_refuses(db, SQLITE_CONSTRAINT, "",
             "INSERT OR IGNORE INTO tidemark_export_log(sink, dataset, partition, since, until)"
             " VALUES ('s', 'logs', 'source=a', 1, 4)");
  db_exec(db, LOG_RANGE("'0'", "1.0")); /* become integers without loss */
  db_refuses(db, SQLITE_CONSTRAINT, words, LOG_RANGE("0", "2"));
  db_refuses(db, SQLITE_CONSTRAINT, words, LOG_RANGE("0", "1"));
  db_refuses(db, SQLITE_CONSTRAINT, words, LOG_RANGE("2", "4"));
  db_exec(db, LOG_RANGE("1", "4"));
  end();
}
END_TEST

START_TEST(row_covers_something_that_is_there) {
  begin();
  db_refuses(db, SQLITE_CONSTRAINT, "until must be above since", LOG_RANGE("0", "0"));
  db_refuses(db, SQLITE_CONSTRAINT, "until must be above since", LOG_RANGE("0", "-1"));
  db_refuses(db, SQLITE_CONSTRAINT, "until must not be beyond the newest row", LOG_RANGE("0", "5"));
  db_refuses(db, SQLITE_CONSTRAINT, "until must not be beyond the newest row", LOG_RANGE("0", "9223372036854775807"));
  db_refuses(db, SQLITE_CONSTRAINT, "", LOG_RANGE("0", "NULL"));
  db_refuses(
      db, SQLITE_CONSTRAINT, "until must not be beyond the newest row",
      "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until) VALUES ('s', 'logs', 'source=c', 0, 1)");
  db_refuses(
      db, SQLITE_CONSTRAINT, "",
      "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until) VALUES ('s', 'logs', NULL, 0, 1)");
  db_refuses(
      db, SQLITE_CONSTRAINT, "there is no such sink",
      "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until) VALUES ('t', 'logs', 'source=a', 0, 1)");
  db_refuses(db, SQLITE_CONSTRAINT, "there is no such sink",
             "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until) VALUES ('s', 'nothing', "
             "'source=a', 0, 1)");
  db_refuses(db, SQLITE_CONSTRAINT, "there is no such sink",
             "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until) VALUES (NULL, 'logs', "
             "'source=a', 0, 1)");
  db_refuses(db, SQLITE_CONSTRAINT, "", LOG(", since, until, kind", ", 0, 1, 'other'"));
  db_refuses(db, SQLITE_CONSTRAINT, "", LOG(", since, until, kind", ", 0, 1, NULL"));
  db_refuses(db, SQLITE_CONSTRAINT, "", LOG(", since, until, rows", ", 0, 1, -1"));
  db_refuses(db, SQLITE_CONSTRAINT, "generation must be the present one",
             LOG(", since, until, generation", ", 0, 1, 1"));
  db_refuses(db, SQLITE_CONSTRAINT, "until must be above since", LOG(", since, until, kind", ", 0, 0, 'gap'"));
  db_refuses(db, SQLITE_CONSTRAINT, "until must not be beyond the newest row",
             LOG(", since, until, kind", ", 0, 5, 'gap'"));
  /* rows of this very transaction count as there */
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', '6')");
  db_exec(db, LOG_RANGE("0", "6") "; COMMIT");
  ck_assert_str_eq(log_rows(), "1|source=a|0|batch|0|6|1");
  end();
}
END_TEST

/* The newest row's number counts though the row is gone: DELETE does not strand a watermark below it. */
START_TEST(deleted_rows_can_be_passed_over) {
  begin();
  db_exec(db, "DELETE FROM logs");
  db_exec(db, LOG(", since, until, rows", ", 0, 4, 0"));
  assert_int(db, 0, "SELECT sum(rows) FROM tidemark_lag");
  db_exec(db, "SELECT tidemark_flush('logs')");
  db_exec(db, "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES ('s', 'logs', "
              "'source=b', 0, 5, 0)");
  end();
}
END_TEST

/* ---- rewinds ---- */

START_TEST(rewind_goes_down_and_says_why) {
  begin();
  db_refuses(db, SQLITE_CONSTRAINT, "below the watermark",
             LOG(", kind, since, until, reason", ", 'rewind', 0, 0, 'x'"));
  db_exec(db, LOG_RANGE("0", "2"));
  db_refuses(db, SQLITE_CONSTRAINT, "below the watermark",
             LOG(", kind, since, until, reason", ", 'rewind', 2, 2, 'x'"));
  db_refuses(db, SQLITE_CONSTRAINT, "below the watermark",
             LOG(", kind, since, until, reason", ", 'rewind', 2, 4, 'x'"));
  db_refuses(db, SQLITE_CONSTRAINT, "not below 0", LOG(", kind, since, until, reason", ", 'rewind', 2, -1, 'x'"));
  db_refuses(db, SQLITE_CONSTRAINT, "must say its reason", LOG(", kind, since, until", ", 'rewind', 2, 0"));
  db_refuses(db, SQLITE_CONSTRAINT, "must say its reason", LOG(", kind, since, until, reason", ", 'rewind', 2, 0, ''"));
  db_refuses(db, SQLITE_CONSTRAINT, "", LOG(", kind, since, until, reason", ", 'rewind', 2, NULL, 'x'"));
  db_refuses(db, SQLITE_CONSTRAINT, "since must be the watermark",
             LOG(", kind, since, until, reason", ", 'rewind', 4, 0, 'x'"));
  db_refuses(db, SQLITE_CONSTRAINT, "generation must be",
             LOG(", kind, since, until, reason, generation", ", 'rewind', 2, 0, 'x', 0"));
  db_exec(db, LOG(", kind, since, until, reason", ", 'rewind', 2, 1, 'lost a file'"));
  db_exec(db, LOG_RANGE("1", "4"));
  db_refuses(db, SQLITE_CONSTRAINT, "generation must be",
             LOG(", kind, since, until, reason, generation", ", 'rewind', 4, 0, 'again', 2"));
  db_exec(db, LOG(", kind, since, until, reason", ", 'rewind', 4, 0, 'again'"));
  db_refuses(db, SQLITE_CONSTRAINT, "since must be the watermark", LOG_RANGE("1", "4"));
  db_refuses(db, SQLITE_CONSTRAINT, "generation must be", LOG(", since, until, generation", ", 0, 4, 1"));
  db_exec(db, LOG(", since, until, generation", ", 0, 4, 2"));
  ck_assert_str_eq(log_rows(), "1|source=a|0|batch|0|2|1 2|source=a|1|rewind|2|1|1 3|source=a|1|batch|1|4|1 "
                               "4|source=a|2|rewind|4|0|3 5|source=a|2|batch|0|4|0");
  assert_text(db, "2|4", "SELECT generation, since FROM tidemark_watermark");
  end();
}
END_TEST

START_TEST(rewound_sink_ships_again_under_new_names) {
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('f', 'logs', 'file://%s', 'ndjson')",
          scratch);
  assert_int(db, 5, "SELECT tidemark_export('f') ->> 'rows'");
  assert_int(db, 0, "SELECT tidemark_export('f') ->> 'rows'");
  db_exec(db, "INSERT INTO tidemark_export_log(sink, dataset, partition, kind, since, until, reason)"
              " VALUES ('f', 'logs', 'source=a', 'rewind', 4, 1, 'test')");
  assert_int(db, 2, "SELECT tidemark_export('f') ->> 'rows'");
  assert_text(
      db, "1|1|4|logs.g1/source=a/00000000000000000001-00000000000000000004",
      "SELECT generation, since, until, substr(object, 1, 58) FROM tidemark_export_log WHERE id = (SELECT max(id) FROM"
      " tidemark_export_log)");
  end();
}
END_TEST

/* ---- batches ---- */

#define BATCH(columns, values)                                                                                         \
  "INSERT INTO tidemark_batch(sink, dataset, partition, rows, key, config, claimed_at, generation" columns             \
  ") VALUES ('s', 'logs', 'source=a', 1, 'k', '{}', 0, 0" values ")"

START_TEST(row_that_equals_an_open_batch_ends_it) {
  begin();
  assert_int(db, 2, "SELECT tidemark_claim('s', 'logs')");
  static const char words[] = "an open batch begins at that since and has another end";
  db_refuses(db, SQLITE_CONSTRAINT, words, LOG_RANGE("0", "2"));
  db_refuses(db, SQLITE_CONSTRAINT, words, LOG(", since, until, kind", ", 0, 2, 'gap'"));
  db_exec(db, "INSERT INTO logs VALUES ('a', '6')");
  db_refuses(db, SQLITE_CONSTRAINT, words, LOG_RANGE("0", "6"));
  db_exec(db, LOG_RANGE("0", "4"));
  assert_text(db, "source=b", "SELECT partition FROM tidemark_batch");
  assert_int(db, 2, "SELECT tidemark_claim('s', 'logs')");
  db_refuses(db, SQLITE_CONSTRAINT, words, LOG(", kind, since, until, reason", ", 'rewind', 4, 0, 'x'"));
  end();
}
END_TEST

static void batches_begin(void) {
  db_refuses(db, SQLITE_CONSTRAINT, "number is given by SQLite", BATCH(", since, until, batch", ", 0, 1, 7"));
  db_refuses(db, SQLITE_CONSTRAINT, "since must be the watermark", BATCH(", since, until", ", 1, 4"));
  db_refuses(db, SQLITE_CONSTRAINT, "until must be above since", BATCH(", since, until", ", 0, 0"));
  db_refuses(db, SQLITE_CONSTRAINT, "until must be above since", BATCH(", since, until", ", 0, 5"));
  db_refuses(db, SQLITE_CONSTRAINT, "", BATCH(", since, until", ", 0, NULL"));
  db_refuses(db, SQLITE_CONSTRAINT, "", BATCH(", since, until", ", NULL, 1"));
  db_refuses(
      db, SQLITE_CONSTRAINT, "there is no such sink",
      "INSERT INTO tidemark_batch(sink, dataset, partition, rows, key, config, claimed_at, generation, since, until)"
      " VALUES ('t', 'logs', 'source=a', 1, 'k', '{}', 0, 0, 0, 1)");
  db_refuses(
      db, SQLITE_CONSTRAINT, "generation must be the present one",
      "INSERT INTO tidemark_batch(sink, dataset, partition, rows, key, config, claimed_at, generation, since, until)"
      " VALUES ('s', 'logs', 'source=a', 1, 'k', '{}', 0, 1, 0, 1)");
  db_exec(db, BATCH(", since, until", ", 0, 2"));
  db_refuses(db, SQLITE_CONSTRAINT, "has an open batch", BATCH(", since, until", ", 0, 2"));
  db_refuses(
      db, SQLITE_CONSTRAINT, "has an open batch",
      "REPLACE INTO tidemark_batch(sink, dataset, partition, rows, key, config, claimed_at, generation, since, until)"
      " VALUES ('s', 'logs', 'source=a', 1, 'k', '{}', 0, 0, 0, 1)");
  db_refuses(db, SQLITE_CONSTRAINT, "number is given by SQLite",
             "REPLACE INTO tidemark_batch SELECT * FROM tidemark_batch");
}

START_TEST(batch_begins_at_the_watermark_one_at_a_time) {
  under_both(batches_begin);
}
END_TEST

static void batches_frozen(void) {
  static const char *const frozen[] = {
      "sink = 't'", "dataset = 'x'", "partition = 'source=c'", "generation = 1", "since = 1", "until = 3",
      "rows = 9",   "key = 'x'",     "object = 'x'",           "config = '[]'",  "batch = 0", "claimed_at = 9"};
  static const char words[] = "what a batch is does not change";
  assert_int(db, 2, "SELECT tidemark_claim('s', 'logs')");
  for (size_t i = 0; i < sizeof frozen / sizeof *frozen; i++) {
    db_refuses(db, SQLITE_CONSTRAINT, words, "UPDATE tidemark_batch SET %s WHERE batch = 1", frozen[i]);
    db_refuses(db, SQLITE_CONSTRAINT, words, "UPDATE OR REPLACE tidemark_batch SET %s WHERE batch = 1", frozen[i]);
  }
  /* another's number would take that batch away */
  db_refuses(db, SQLITE_CONSTRAINT, words, "UPDATE OR REPLACE tidemark_batch SET batch = 2 WHERE batch = 1");
  db_exec(db, "UPDATE tidemark_batch SET owner = 'me', lease_until = 9, attempts = 3, not_before = 8, error = 'e'");
  db_exec(db, "UPDATE tidemark_batch SET batch = 7 WHERE batch = 1");
  assert_text(db, "2 7", "SELECT batch FROM tidemark_batch ORDER BY 1");
}

START_TEST(what_a_batch_froze_does_not_change) {
  under_both(batches_frozen);
}
END_TEST

START_TEST(rows_of_an_open_batch_are_not_deleted) {
  begin();
  db_exec(db, "SELECT tidemark_flush('logs'); INSERT INTO logs VALUES ('a', '6')");
  assert_int(db, 2, "SELECT tidemark_claim('s', 'logs')");
  db_exec(db, "INSERT INTO logs VALUES ('a', '7')");
  db_refuses(db, SQLITE_CONSTRAINT, "row 1 is in open batch 1 of sink s", "DELETE FROM logs WHERE since = 1");
  db_refuses(db, SQLITE_CONSTRAINT, "row 6 is in open batch 1 of sink s", "DELETE FROM logs WHERE since = 6");
  db_refuses(db, SQLITE_CONSTRAINT, "is in open batch", "DELETE FROM logs");
  assert_int(db, 7, "SELECT count(*) FROM logs");
  db_exec(db, "DELETE FROM logs WHERE since = 7");
  db_exec(db, "SELECT tidemark_ack(1); DELETE FROM logs WHERE partition = 'source=a'");
  db_exec(db, "DELETE FROM tidemark_batch; DELETE FROM logs");
  assert_int(db, 0, "SELECT count(*) FROM logs");
  end();
}
END_TEST

START_TEST(batch_numbers_are_never_given_twice) {
  begin();
  assert_int(db, 2, "SELECT tidemark_claim('s', 'logs')");
  db_exec(db, "DELETE FROM tidemark_batch");
  assert_int(db, 2, "SELECT tidemark_claim('s', 'logs')");
  assert_text(db, "3 4", "SELECT batch FROM tidemark_batch ORDER BY 1");
  db_refuses(db, 0, "batch 1 is not open", "SELECT tidemark_ack(1)");
  db_exec(db, "SELECT tidemark_ack(3)");
  end();
}
END_TEST

/* ---- sinks ---- */

START_TEST(start_is_resolved_when_registered) {
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, start) VALUES ('early', 'logs', 'earliest'), ('late', 'logs', "
              "'LATEST'),"
              " ('two', 'logs', 2), ('future', 'logs', 100)");
  db_exec(db, "INSERT INTO logs VALUES ('a', '6')");
  assert_text(db, "early|0 future|100 late|5 s|0 two|2", "SELECT sink, start FROM tidemark_sink ORDER BY sink");
  assert_text(db, "early|6 future|0 late|1 s|6 two|4",
              "SELECT sink, sum(rows) FROM tidemark_lag GROUP BY sink ORDER BY sink");
  db_exec(db, "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until) VALUES ('late', 'logs', "
              "'source=a', 5, 6)");
  db_refuses(db, SQLITE_CONSTRAINT, "since must be the watermark",
             "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until) VALUES ('two', 'logs', "
             "'source=a', 0, 6)");
  static const char *const wrong[] = {"'tomorrow'", "-1", "NULL", "1.5", "x'31'", "''"};
  for (int i = 0; i < 6; i++)
    db_refuses(db, SQLITE_CONSTRAINT, "", "INSERT INTO tidemark_sink(sink, dataset, start) VALUES ('x', 'logs', %s)",
               wrong[i]);
  end();
}
END_TEST

/* With recursive triggers the update's trigger sees what the insert's wrote. */
static void words(void) {
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, start) VALUES ('e', 'logs', 'Earliest'), ('l', 'logs', 'laTEST')");
  assert_text(db, "e|0|integer l|5|integer",
              "SELECT sink, start, typeof(start) FROM tidemark_sink WHERE sink <> 's' ORDER BY sink");
  db_exec(db, "UPDATE tidemark_sink SET start = iif(sink = 'e', 'LATEST', 'EARLIEST')");
  assert_text(db, "e|5 l|0 s|0", "SELECT sink, start FROM tidemark_sink ORDER BY sink");
}

START_TEST(start_is_a_word_in_any_letters) {
  under_both(words);
}
END_TEST

START_TEST(start_does_not_move_under_an_open_batch) {
  begin();
  assert_int(db, 2, "SELECT tidemark_claim('s', 'logs')");
  db_refuses(db, SQLITE_CONSTRAINT, "start does not change while a batch is open",
             "UPDATE tidemark_sink SET start = 2");
  db_exec(db, "UPDATE tidemark_sink SET start = 0; SELECT tidemark_ack(1); SELECT tidemark_ack(2)");
  db_exec(db, "UPDATE tidemark_sink SET start = 'latest'");
  db_exec(db, "INSERT INTO logs VALUES ('c', '6')");
  assert_text(db, "5|source=c|1", "SELECT since, partition, rows FROM tidemark_lag WHERE rows > 0");
  end();
}
END_TEST

static void sink_keys(void) {
  db_exec(
      db,
      "INSERT INTO tidemark_sink(sink, dataset) VALUES ('t', 'logs'); CREATE VIRTUAL TABLE other USING tidemark(x)");
  static const char *const changes[] = {"sink = 'u'", "sink = 't'", "dataset = 'other'", "sink = NULL"};
  for (int i = 0; i < 4; i++) {
    db_refuses(db, SQLITE_CONSTRAINT, "of a registered sink do not change",
               "UPDATE tidemark_sink SET %s WHERE sink = 's'", changes[i]);
    db_refuses(db, SQLITE_CONSTRAINT, "of a registered sink do not change",
               "UPDATE OR REPLACE tidemark_sink SET %s WHERE sink = 's'", changes[i]);
  }
  db_refuses(db, SQLITE_CONSTRAINT, "UNIQUE constraint failed",
             "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs')");
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'other')");
  assert_int(db, 3, "SELECT count(*) FROM tidemark_sink");
}

START_TEST(key_of_a_sink_does_not_change) {
  under_both(sink_keys);
}
END_TEST

START_TEST(folder_has_one_sink_of_a_dataset) {
  begin();
  static const char insert[] =
      "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('%s', '%s', 'file://%s', 'ndjson')";
  db_exec(db, "CREATE VIRTUAL TABLE other USING tidemark(x)");
  db_exec(db, insert, "a", "logs", "/tmp/x y");
  db_refuses(db, SQLITE_CONSTRAINT, "folder /tmp/x y is, holds or lies in the folder of sink a", insert, "b", "logs",
             "/tmp/x y");
  db_refuses(db, SQLITE_CONSTRAINT, "folder /tmp/x y is, holds or lies in the folder of sink a", insert, "b", "logs",
             "localhost/tmp//x%20y/");
  db_exec(db, insert, "b", "other", "/tmp/x y"); /* its files have another name */
  db_exec(db, insert, "c", "logs", "/tmp/x");
  db_refuses(db, SQLITE_CONSTRAINT, "the folder of sink a",
             "UPDATE tidemark_sink SET target = 'file:///tmp/x y' WHERE sink = 'c'");
  db_exec(db, "UPDATE tidemark_sink SET target = 'file:///tmp/z' WHERE sink = 'a'");
  db_exec(db, "UPDATE tidemark_sink SET target = 'file:///tmp/x y' WHERE sink = 'c'");
  db_exec(db, "DELETE FROM tidemark_sink WHERE sink = 'c'");
  db_exec(db, insert, "d", "logs", "/tmp/x y");
  end();
}
END_TEST

static void replaced_sink(void) {
  db_exec(db, LOG_RANGE("0", "1"));
  assert_int(db, 2, "SELECT tidemark_claim('s', 'logs')");
  db_exec(db, "REPLACE INTO tidemark_sink(sink, dataset, max_rows) VALUES ('s', 'logs', 1)");
  assert_text(db, "1|4|2", "SELECT since, until, rows FROM tidemark_lag WHERE partition = 'source=a'");
  db_exec(db, "SELECT tidemark_claim('s', 'logs')");
  assert_int(db, 2, "SELECT count(*) FROM tidemark_batch");
}

START_TEST(replaced_sink_goes_on) {
  under_both(replaced_sink);
}
END_TEST

START_TEST(sink_that_is_registered_again_goes_on_where_its_log_ends) {
  begin();
  db_exec(db, LOG_RANGE("0", "2"));
  assert_int(db, 2, "SELECT tidemark_claim('s', 'logs')");
  db_exec(db, "DELETE FROM tidemark_sink");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_batch");
  assert_int(db, 1, "SELECT count(*) FROM tidemark_export_log");
  db_refuses(db, SQLITE_CONSTRAINT, "there is no such sink", LOG_RANGE("2", "4"));
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, start) VALUES ('s', 'logs', 'latest')");
  assert_text(db, "source=a|2|4|1", "SELECT partition, since, until, rows FROM tidemark_lag WHERE rows > 0");
  db_exec(db, LOG_RANGE("2", "4"));
  end();
}
END_TEST

/* ---- datasets ---- */

START_TEST(drop_takes_all_of_its_dataset_and_nothing_else) {
  begin();
  db_exec(db, "CREATE VIRTUAL TABLE other USING tidemark(source TEXT, partition_by=source); INSERT INTO other VALUES "
              "('a'), ('a');"
              "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'other');"
              "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until) VALUES ('s', 'other', "
              "'source=a', 0, 1)");
  db_exec(db, LOG_RANGE("0", "2"));
  db_exec(db, "SELECT tidemark_claim('s', 'logs'), tidemark_claim('s', 'other'); SELECT tidemark_flush('logs')");
  const char *log_id = db_text(db, "SELECT log_id FROM tidemark_dataset WHERE dataset = 'logs'");
  db_exec(db, "DROP TABLE logs");
  assert_text(db, "", "SELECT name FROM sqlite_schema WHERE name LIKE 'logs%%'");
  assert_text(db, "other", "SELECT dataset FROM tidemark_sink");
  assert_text(db, "other|1", "SELECT dataset, until FROM tidemark_export_log");
  assert_text(db, "other|1|2", "SELECT dataset, since, until FROM tidemark_batch");
  assert_text(db, "other", "SELECT dataset FROM tidemark_dataset");
  assert_text(db, "other", "SELECT DISTINCT dataset FROM tidemark_sink_state");
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source)");
  ck_assert_str_ne(db_text(db, "SELECT log_id FROM tidemark_dataset WHERE dataset = 'logs'"), log_id);
  db_exec(db, "INSERT INTO logs VALUES ('a', 'new'); INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs')");
  assert_text(db, "0|1|1", "SELECT since, until, rows FROM tidemark_lag WHERE dataset = 'logs'");
  end();
}
END_TEST

/* Whoever comes first in a connection may write the dataset's name as he likes. */
START_TEST(name_in_other_letters_is_the_same_dataset) {
  begin();
  assert_int(db, 2, "SELECT tidemark_claim('s', 'logs')");
  db_close(db);
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "BEGIN; SELECT tidemark_flush('LOGS'); COMMIT");
  db_refuses(db, SQLITE_CONSTRAINT, "dataset logs: row 1 is in open batch 1 of sink s",
             "DELETE FROM logs WHERE since = 1");
  db_exec(db, LOG_RANGE("0", "4"));
  db_close(db);
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "BEGIN; SELECT tidemark_flush('Main.LOGS'); DROP TABLE logs; COMMIT");
  static const char *const tables[] = {"registry", "sink", "sink_state", "batch", "export_log"};
  for (int i = 0; i < 5; i++)
    assert_int(db, 0, "SELECT count(*) FROM tidemark_%s", tables[i]);
  assert_text(db, "", "SELECT name FROM sqlite_schema WHERE name LIKE 'logs%%'");
  end();
}
END_TEST

/* Rows go on through the one handle, so that everybody sees them. */
START_TEST(drop_that_is_refused_takes_nothing) {
  begin();
  db_exec(db, "CREATE TRIGGER keep BEFORE DELETE ON tidemark_registry BEGIN SELECT RAISE(ABORT, 'kept'); END;"
              "BEGIN; INSERT INTO logs VALUES ('a', '6')");
  db_refuses(db, SQLITE_CONSTRAINT, "constraint failed", "DROP TABLE logs"); /* SQLite drops what we say of it */
  db_exec(db, "INSERT INTO logs VALUES ('a', '7')");
  assert_int(db, 7, "SELECT rows FROM tidemark_dataset");
  db_exec(db, "INSERT INTO logs VALUES ('a', '8'); SELECT tidemark_flush('logs'); COMMIT");
  assert_int(db, 8, "SELECT count(*) FROM logs");
  db_exec(db, "DROP TRIGGER keep");
  sqlite3_stmt *reading = NULL; /* of a shadow table, which cannot go meanwhile */
  ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT * FROM logs_column", -1, &reading, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_step(reading), SQLITE_ROW);
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', '9')");
  db_refuses(db, SQLITE_LOCKED, "database table is locked", "DROP TABLE logs");
  sqlite3_finalize(reading);
  db_exec(db, "INSERT INTO logs VALUES ('a', '10'); COMMIT");
  assert_text(db, "s|source=a|8 s|source=b|2", "SELECT sink, partition, rows FROM tidemark_lag ORDER BY partition");
  db_exec(db, "DROP TABLE logs");
  assert_text(db, "", "SELECT name FROM sqlite_schema WHERE name LIKE 'logs%%'");
  end();
}
END_TEST

START_TEST(drop_that_is_rolled_back_takes_nothing) {
  begin();
  db_exec(db, LOG_RANGE("0", "2"));
  db_exec(db, "BEGIN; DROP TABLE logs; ROLLBACK");
  assert_int(db, 5, "SELECT count(*) FROM logs");
  assert_text(db, "source=a|2|4|1 source=b|0|5|2", "SELECT partition, since, until, rows FROM tidemark_lag ORDER BY 1");
  db_refuses(db, SQLITE_CONSTRAINT, "never change", "UPDATE tidemark_export_log SET rows = 9");
  end();
}
END_TEST

START_TEST(rename_carries_sinks_log_and_batches_along) {
  begin();
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('f', 'logs', 'file://%s/none', 'ndjson')",
          scratch);
  db_exec(db, LOG_RANGE("0", "2"));
  assert_int(db, 2, "SELECT tidemark_claim('s', 'logs')");
  assert_int(db, 1, "SELECT tidemark_export('f') ->> 'failed'"); /* the folder is away: once is enough to know */
  const char *objects = db_text(db, "SELECT key, object FROM tidemark_batch ORDER BY batch");
  db_exec(db, "ALTER TABLE logs RENAME TO \"new logs\"");
  ck_assert_str_eq(db_text(db, "SELECT key, object FROM tidemark_batch ORDER BY batch"), objects);
  static const char *const tables[] = {"sink", "export_log", "batch", "watermark", "lag", "dataset", "sink_state"};
  for (int i = 0; i < 7; i++)
    assert_text(db, "new logs", "SELECT DISTINCT dataset FROM tidemark_%s", tables[i]);
  db_exec(db, "SELECT tidemark_ack(1)");
  mkdir(scratch_path("none"), 0755);
  assert_int(db, 5, "SELECT tidemark_export('f', 'now') ->> 'rows'");
  db_exec(db, "INSERT INTO \"new logs\" VALUES ('a', '6')");
  assert_int(db, 1, "SELECT tidemark_export('f') ->> 'rows'");
  assert_int(
      db, 3,
      "SELECT count(*) FROM tidemark_export_log WHERE object LIKE 'logs/source=%%'"); /* the folder does not move */
  db_refuses(db, SQLITE_CONSTRAINT, "never change", "UPDATE tidemark_export_log SET dataset = 'logs'");
  end();
}
END_TEST

START_TEST(rename_that_is_rolled_back_carries_nothing) {
  begin();
  db_exec(db, LOG_RANGE("0", "2"));
  db_exec(db, "BEGIN; ALTER TABLE logs RENAME TO other; INSERT INTO other VALUES ('a', '6'); ROLLBACK");
  assert_text(db, "logs|source=a|2|4|1 logs|source=b|0|5|2",
              "SELECT dataset, partition, since, until, rows FROM tidemark_lag ORDER BY 2");
  db_exec(db, "INSERT INTO logs VALUES ('a', '6')");
  db_exec(db, LOG_RANGE("2", "6"));
  end();
}
END_TEST

START_TEST(attached_schema_has_its_own) {
  begin();
  db_exec(db, "ATTACH '%s' AS aux", scratch_path("aux.db"));
  db_exec(db, "CREATE VIRTUAL TABLE aux.logs USING tidemark(source TEXT, partition_by=source); INSERT INTO aux.logs "
              "VALUES ('z')");
  db_refuses(db, SQLITE_CONSTRAINT, "no such dataset in schema aux: nothing",
             "INSERT INTO aux.tidemark_sink(sink, dataset) VALUES ('s', 'nothing')");
  db_exec(db,
          "INSERT INTO aux.tidemark_sink(sink, dataset, target, format) VALUES ('s', 'logs', 'file://%s', 'ndjson')",
          scratch);
  assert_text(db, "source=z|1", "SELECT partition, rows FROM aux.tidemark_lag");
  db_refuses(db, SQLITE_CONSTRAINT, "since must be the watermark",
             "INSERT INTO aux.tidemark_export_log(sink, dataset, partition, since, until) VALUES ('s', 'logs', "
             "'source=z', 1, 1)");
  assert_int(db, 1, "SELECT tidemark_export() ->> 'rows'");
  assert_text(db, "source=z|1", "SELECT partition, until FROM aux.tidemark_export_log");
  assert_int(db, 0, "SELECT count(*) FROM main.tidemark_export_log");
  db_refuses(db, 0, "write one as", "SELECT tidemark_flush('logs')");
  assert_int(db, 1, "SELECT tidemark_flush('aux.logs') ->> 'segments'");
  db_exec(db, "DETACH aux");
  end();
  /* the same file by another name */
  db = db_open(scratch_path("aux.db"), NULL);
  db_exec(db, "INSERT INTO logs VALUES ('z')");
  assert_int(db, 1, "SELECT tidemark_export('s') ->> 'rows'");
  end();
}
END_TEST

START_TEST(temp_schema_has_its_own) {
  begin();
  db_exec(db, "CREATE VIRTUAL TABLE temp.logs USING tidemark(source TEXT, partition_by=source); INSERT INTO temp.logs "
              "VALUES ('z');"
              "INSERT INTO temp.tidemark_sink(sink, dataset) VALUES ('t', 'logs')");
  assert_text(db, "t|source=z|1", "SELECT sink, partition, rows FROM temp.tidemark_lag");
  db_exec(db, "INSERT INTO temp.tidemark_export_log(sink, dataset, partition, since, until) VALUES ('t', 'logs', "
              "'source=z', 0, 1)");
  assert_int(db, 0, "SELECT count(*) FROM main.tidemark_export_log");
  db_refuses(db, SQLITE_CONSTRAINT, "since must be",
             "INSERT INTO temp.tidemark_export_log(sink, dataset, partition, since, until) VALUES ('t', 'logs', "
             "'source=z', 0, 1)");
  end();
}
END_TEST

START_TEST(rules_hold_in_a_schema_that_is_not_trusted) {
  begin();
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  db_exec(db, "PRAGMA trusted_schema = OFF");
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format, filter) VALUES"
          " ('f', 'logs', 'file://%s', 'ndjson', 'source = ''a''')",
          scratch);
  db_refuses(db, SQLITE_CONSTRAINT, "does not compile", "UPDATE tidemark_sink SET filter = 'x' WHERE sink = 'f'");
  db_exec(db, LOG_RANGE("0", "2"));
  db_refuses(db, SQLITE_CONSTRAINT, "since must be the watermark", LOG_RANGE("0", "2"));
  assert_int(db, 3, "SELECT tidemark_export('f') ->> 'rows'");
  db_exec(db, "SELECT tidemark_claim('s', 'logs'); SELECT tidemark_ack(min(batch)) FROM (SELECT 3 AS batch)");
  db_exec(db, "CREATE TABLE t(x); CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO logs VALUES ('t', NEW.x); END;"
              "INSERT INTO t VALUES ('from a trigger')");
  assert_text(db, "from a trigger", "SELECT body FROM logs WHERE source = 't'");
  /* what reaches a file is not for schemas */
  db_exec(db, "CREATE VIEW v AS SELECT tidemark_export('f')");
  db_refuses(db, SQLITE_ERROR, "unsafe use of tidemark_export", "SELECT * FROM v");
  db_exec(db, "CREATE TRIGGER te AFTER DELETE ON t BEGIN SELECT tidemark_export('f'); END");
  db_refuses(db, SQLITE_ERROR, "unsafe use of tidemark_export", "DELETE FROM t");
  end();
}
END_TEST

/* Per partition and generation: what the log says and what is still to do is what was written less what was deleted. */
START_TEST(sums_are_provable_by_sql) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET filter = 'body <> ''2'''");
  db_exec(db, "DELETE FROM logs WHERE since = 1");
  db_exec(db, "SELECT tidemark_claim('s', 'logs'); SELECT tidemark_ack(1)");
  db_exec(db, "INSERT INTO logs VALUES ('a', '6'), ('a', '7'), ('b', '8'); SELECT tidemark_flush('logs')");
  db_exec(db, "INSERT INTO tidemark_export_log(sink, dataset, partition, kind, since, until, rows) VALUES"
              " ('s', 'logs', 'source=a', 'gap', 4, 6, 1)");
  static const char sums[] =
      "SELECT l.partition, (SELECT total(rows + skipped + dead) FROM tidemark_export_log e WHERE e.partition = "
      "l.partition)"
      " + l.rows - s.written + s.deleted FROM tidemark_lag l JOIN tidemark_stat s USING (dataset, partition)"
      " WHERE l.sink = 's' ORDER BY 1";
  assert_text(db, "source=a|0.0 source=b|0.0", "%s", sums);
  assert_text(db, "batch|1|1 gap|1|0", "SELECT kind, rows, skipped FROM tidemark_export_log ORDER BY id");
  end();
}
END_TEST

/* ---- what is not as it was made ---- */

START_TEST(registry_of_other_columns_is_told_from_none) {
  struct tide_err err = {0};
  ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
  tide_sinks_enlist(db, "main", &err);
  assert_ok(err);
  db_exec(db, "CREATE TABLE tidemark_registry(name)");
  tide_sinks_enlist(db, "main", &err);
  ck_assert_int_eq(err.rc, SQLITE_CORRUPT_VTAB);
  ck_assert_ptr_nonnull(strstr(err.msg, "no such column: dataset"));
  end();
}
END_TEST

/* ---- files made before ---- */

/* As in the databases of tests/golden. */
static void put_earlier_view(void) {
  db_exec(db, "DROP VIEW tidemark_watermark;"
              "CREATE VIEW tidemark_watermark(sink, dataset, partition, generation, since, committed_at) AS\n"
              "  SELECT sink, dataset, partition, generation, until, committed_at\n"
              "  FROM (SELECT *, max(id) FROM tidemark_export_log GROUP BY sink, dataset, partition)");
}

#define WATERMARKS "SELECT sink, partition, since FROM tidemark_watermark ORDER BY 1, 2"

START_TEST(earlier_view_is_replaced_by_a_tick) {
  begin();
  db_exec(db, LOG_RANGE("0", "2"));
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('f', 'logs', 'file://%s', 'ndjson')",
          scratch);
  put_earlier_view();
  db_exec(db, "PRAGMA full_column_names = on; PRAGMA short_column_names = off");
  assert_int(db, 5, "SELECT tidemark_export('f') ->> 'rows'");
  assert_text(db, "f|source=a|4 f|source=b|5 s|source=a|2", WATERMARKS);
  /* one of the user's own stays */
  db_exec(db, "DROP VIEW tidemark_watermark; CREATE VIEW tidemark_watermark AS SELECT 1 AS own;"
              "INSERT INTO logs VALUES ('a', '6')");
  assert_int(db, 1, "SELECT tidemark_export('f') ->> 'rows'");
  assert_int(db, 1, "SELECT own FROM tidemark_watermark");
  end();
}
END_TEST

START_TEST(earlier_view_is_no_foreign_one_when_the_registry_is_lost) {
  begin();
  db_exec(db, LOG_RANGE("0", "2"));
  put_earlier_view();
  db_exec(db, "PRAGMA writable_schema = on; DELETE FROM sqlite_schema WHERE name IN ('logs', 'tidemark_registry');"
              "PRAGMA writable_schema = reset; CREATE VIRTUAL TABLE logs USING tidemark(adopt=1);"
              "PRAGMA full_column_names = on; PRAGMA short_column_names = off");
  assert_text(db, "s|source=a|2", WATERMARKS);
  db_exec(db,
          "PRAGMA writable_schema = on; DELETE FROM sqlite_schema WHERE name IN ('logs', 'tidemark_registry');"
          "PRAGMA writable_schema = reset; DROP VIEW tidemark_watermark; CREATE VIEW tidemark_watermark AS SELECT 1");
  db_refuses(db, SQLITE_ERROR, "has a view tidemark_watermark, a name that Tidemark needs",
             "CREATE VIRTUAL TABLE logs USING tidemark(adopt=1)");
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {ids_are_sqlites,
                                rows_of_the_log_never_change,
                                last_row_of_a_partition_stays,
                                row_begins_where_the_one_before_ended,
                                row_covers_something_that_is_there,
                                deleted_rows_can_be_passed_over,
                                rewind_goes_down_and_says_why,
                                rewound_sink_ships_again_under_new_names,
                                row_that_equals_an_open_batch_ends_it,
                                batch_begins_at_the_watermark_one_at_a_time,
                                what_a_batch_froze_does_not_change,
                                rows_of_an_open_batch_are_not_deleted,
                                batch_numbers_are_never_given_twice,
                                start_is_resolved_when_registered,
                                start_is_a_word_in_any_letters,
                                start_does_not_move_under_an_open_batch,
                                key_of_a_sink_does_not_change,
                                folder_has_one_sink_of_a_dataset,
                                replaced_sink_goes_on,
                                sink_that_is_registered_again_goes_on_where_its_log_ends,
                                drop_takes_all_of_its_dataset_and_nothing_else,
                                name_in_other_letters_is_the_same_dataset,
                                drop_that_is_refused_takes_nothing,
                                drop_that_is_rolled_back_takes_nothing,
                                rename_carries_sinks_log_and_batches_along,
                                rename_that_is_rolled_back_carries_nothing,
                                attached_schema_has_its_own,
                                temp_schema_has_its_own,
                                rules_hold_in_a_schema_that_is_not_trusted,
                                sums_are_provable_by_sql,
                                registry_of_other_columns_is_told_from_none,
                                earlier_view_is_replaced_by_a_tick,
                                earlier_view_is_no_foreign_one_when_the_registry_is_lost,
                                NULL};
  return unit_main("sinks", tests);
}
