/* The rules of the export log that retention and rewinds lean on, whoever writes: gaps of sinks that are gone, what a
 * rewind gives back, trimming from the oldest on with totals kept, and which sinks had every row from the first. */
#define _GNU_SOURCE
#include "sql_db.h"
#include "unit.h"

static sqlite3 *db;

static void fill(void) {
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source)");
  db_exec(db, "INSERT INTO logs VALUES ('a', '1'), ('a', '2'), ('b', '3'), ('a', '4'), ('b', '5')");
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs')");
}

/* "logs" with rows 1, 2, 4 of source=a and 3, 5 of source=b, and the sink "s" that its user drives. */
static void begin(void) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  fill();
}

static void end(void) {
  db_close(db);
}

static void under_both(void (*test)(void)) {
  for (int on = 0; on <= 1; on++) {
    begin();
    db_exec(db, "PRAGMA recursive_triggers = %d", on);
    test();
    end();
  }
}

/* INSERT INTO the log: the columns since, until and rows of source=a, and others that the test names. */
#define LOG(columns, values)                                                                                           \
  "INSERT INTO tidemark_export_log(sink, dataset, partition" columns ") VALUES ('s', 'logs', 'source=a'" values ")"
#define LOG_RANGE(since, until, rows) LOG(", since, until, rows", ", " since ", " until ", " rows)
#define REWIND(since, until) LOG(", kind, reason, since, until", ", 'rewind', 'test', " since ", " until)

/* Sealed rows of a partition up to a since become pruned, as retention leaves them. */
static void prune(const char *source, int upto) {
  db_exec(db, "SELECT tidemark_flush('logs')");
  db_exec(db,
          "UPDATE logs_segment SET pruned = (SELECT count(*) FROM logs WHERE source = '%s' AND since <= %d)"
          " WHERE partition = (SELECT id FROM logs_partition WHERE name = 'source=%s')",
          source, upto, source);
  db_exec(db,
          "UPDATE logs_partition SET pruned_upto = %d, pruned ="
          " (SELECT count(*) FROM logs WHERE source = '%s' AND since <= %d) WHERE name = 'source=%s'",
          upto, source, upto, source);
}

/* ---- gaps ---- */

START_TEST(gap_may_be_written_for_a_sink_that_is_gone) {
  begin();
  db_exec(db, LOG_RANGE("0", "1", "1"));
  db_exec(db, "DELETE FROM tidemark_sink");
  static const char words[] = "there is no such sink";
  db_refuses(db, SQLITE_CONSTRAINT, words, LOG_RANGE("1", "2", "1"));
  db_refuses(db, SQLITE_CONSTRAINT, words, REWIND("1", "0"));
  db_refuses(db, SQLITE_CONSTRAINT, words,
             "INSERT INTO tidemark_export_log(sink, dataset, partition, kind, since, until)"
             " VALUES ('s', 'logs', 'source=b', 'gap', 0, 3)"); /* the log does not know it there */
  db_refuses(db, SQLITE_CONSTRAINT, "since must be the watermark", LOG(", kind, since, until", ", 'gap', 0, 2"));
  db_refuses(db, SQLITE_CONSTRAINT, "not be beyond the newest row", LOG(", kind, since, until", ", 'gap', 1, 5"));
  db_exec(db, LOG(", kind, since, until, rows", ", 'gap', 1, 2, 1"));
  assert_text(db, "gap|0|1|2|1", "SELECT kind, generation, since, until, rows FROM tidemark_export_log WHERE id = 2");
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs')");
  assert_text(db, "2|4|1", "SELECT since, until, rows FROM tidemark_lag WHERE partition = 'source=a'");
  end();
}
END_TEST

/* ---- rewinds ---- */

static void rewind_rows(void) {
  static const char last[] =
      "SELECT kind, generation, since, until, rows FROM tidemark_export_log ORDER BY id DESC LIMIT 1";
  db_exec(db, LOG_RANGE("0", "4", "3"));
  db_exec(db, "DELETE FROM logs WHERE since = 2");
  db_exec(db, LOG(", kind, reason, since, until, rows", ", 'rewind', 'test', 4, 0, 77"));
  assert_text(db, "rewind|1|4|0|2", "%s", last);
  db_exec(db, LOG_RANGE("0", "4", "2") "; SELECT tidemark_flush('logs')");
  db_exec(db, "INSERT OR REPLACE INTO tidemark_export_log(sink, dataset, partition, kind, reason, since, until)"
              " VALUES ('s', 'logs', 'source=a', 'rewind', 'test', 4, 1)");
  assert_text(db, "rewind|2|4|1|1", "%s", last);
  db_exec(db, "INSERT INTO logs VALUES ('a', '6')");
  assert_int(db, 1, LOG_RANGE("1", "6", "2") " RETURNING until = 6");
  assert_int(db, 1, REWIND("6", "4") " RETURNING until = 4");
  assert_text(db, "rewind|3|6|4|1", "%s", last); /* the segment's rows lie below, the tail's one above */
  db_refuses(db, SQLITE_CONSTRAINT, "rows of the log never change",
             "UPDATE tidemark_export_log SET rows = 9 WHERE kind = 'rewind'");
  db_refuses(db, SQLITE_CONSTRAINT, "rows of the log never change",
             "UPDATE OR REPLACE tidemark_export_log SET generation = NULL, rows = 9 WHERE kind = 'rewind'");
}

START_TEST(rewind_counts_the_live_rows_that_it_gives_back) {
  under_both(rewind_rows);
}
END_TEST

START_TEST(rows_of_other_kinds_stay_as_they_were_written) {
  begin();
  db_exec(db, LOG_RANGE("0", "2", "55"));
  db_exec(db, LOG(", kind, since, until, rows", ", 'gap', 2, 4, 44"));
  assert_text(db, "55|0 44|0", "SELECT rows, generation FROM tidemark_export_log ORDER BY id");
  end();
}
END_TEST

START_TEST(rules_hold_in_utf16) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "PRAGMA encoding = 'UTF-16le'");
  fill();
  db_exec(db, LOG_RANGE("0", "2", "2"));
  db_exec(db, REWIND("2", "0"));
  db_exec(db, LOG_RANGE("0", "4", "3"));
  assert_text(db, "rewind|1|2", "SELECT kind, generation, rows FROM tidemark_export_log WHERE id = 2");
  db_exec(db, "DELETE FROM tidemark_export_log WHERE id < 3");
  assert_text(db, "source=a|0|2|0 source=a|1|0|2",
              "SELECT partition, generation, rows, rewound_rows FROM tidemark_export_total");
  end();
}
END_TEST

START_TEST(rewind_stops_where_rows_are_gone) {
  begin();
  db_exec(db, LOG_RANGE("0", "4", "3"));
  assert_text(db, "0 0", "SELECT pruned_upto FROM tidemark_stat");
  prune("a", 1);
  assert_text(db, "source=a|1|2", "SELECT partition, pruned_upto, rows FROM tidemark_stat WHERE pruned_upto > 0");
  db_refuses(db, SQLITE_CONSTRAINT, "tidemark_rewind stops there by itself", REWIND("4", "0"));
  db_exec(db, REWIND("4", "1"));
  assert_text(db, "2", "SELECT rows FROM tidemark_export_log WHERE kind = 'rewind'");
  db_exec(db, "UPDATE tidemark_sink SET start = 3");
  db_refuses(db, SQLITE_CONSTRAINT, "no such partition to rewind",
             "INSERT INTO tidemark_export_log(sink, dataset, partition, kind, reason, since, until)"
             " VALUES ('s', 'logs', 'source=c', 'rewind', 'test', 3, 0)");
  end();
}
END_TEST

START_TEST(lag_counts_up_to_a_since) {
  static const char counted[] = "SELECT until, rows FROM tidemark_lag WHERE partition = 'source=a' AND max_until = %d";
  begin();
  assert_text(db, "0|0", counted, 0);
  assert_text(db, "1|1", counted, 1);
  assert_text(db, "3|2", counted, 3);
  assert_text(db, "4|3", counted, 4);
  assert_text(db, "4|3", counted, 1000);
  assert_text(db, "2|2",
              "SELECT until, rows FROM tidemark_lag WHERE partition = 'source=a' AND max_until = 3"
              " AND max_rows = 2");
  assert_text(db, "1|1",
              "SELECT until, rows FROM tidemark_lag WHERE partition = 'source=a' AND max_until = 3"
              " AND max_rows = 1");
  db_exec(db, LOG_RANGE("0", "2", "2"));
  assert_text(db, "2|0", counted, 1); /* never below where the sink stands */
  assert_text(db, "", "SELECT * FROM tidemark_lag WHERE partition = 'source=a' AND max_until = 2 AND rows > 0");
  db_refuses(db, SQLITE_ERROR, "max_until is -1, expected 0 or more",
             "SELECT * FROM tidemark_lag WHERE max_until = -1");
  db_refuses(db, SQLITE_ERROR, "max_until is not an integer", "SELECT * FROM tidemark_lag WHERE max_until = 'x'");
  db_refuses(db, SQLITE_ERROR, "max_until is not an integer", "SELECT * FROM tidemark_lag WHERE max_until = NULL");
  end();
}
END_TEST

/* ---- trimming ---- */

/* Sums over log and totals of one sink and partition, which trimming must not change. */
static const char *sums(const char *partition) {
  return db_text(db,
                 "SELECT sum(n) FROM (SELECT CASE kind WHEN 'rewind' THEN -rows ELSE rows + skipped + dead END AS n"
                 " FROM tidemark_export_log WHERE partition = %Q UNION ALL"
                 " SELECT rows + skipped + dead + gap_rows - rewound_rows FROM tidemark_export_total"
                 " WHERE partition = %Q)",
                 partition, partition);
}

/* A log of source=a with ids 1 to 7 of two generations, and 8 of source=b. */
static void long_log(void) {
  db_exec(db,
          "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows, skipped, dead, bytes)"
          " VALUES ('s', 'logs', 'source=a', 0, 1, 5, 10, 20, 100), ('s', 'logs', 'source=a', 1, 2, 6, 11, 21, 101)");
  db_exec(db, LOG(", kind, since, until, rows", ", 'gap', 2, 4, 7"));
  db_exec(db, REWIND("4", "1")); /* gives back 2 */
  db_exec(db, LOG_RANGE("1", "2", "1") ";" LOG_RANGE("2", "4", "1"));
  db_exec(db, REWIND("4", "2")); /* gives back 1 */
  db_exec(db, "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
              " VALUES ('s', 'logs', 'source=b', 0, 5, 2)");
}

static void trimmed(void) {
  static const char words[] = "delete from the oldest on";
  long_log();
  ck_assert_str_eq(sums("source=a"), "79"); /* 35 + 38 + 7 - 2 + 1 + 1 - 1 */
  db_refuses(db, SQLITE_CONSTRAINT, words, "DELETE FROM tidemark_export_log WHERE id = 2");
  db_refuses(db, SQLITE_CONSTRAINT, words, "DELETE FROM tidemark_export_log WHERE id IN (1, 3)");
  db_refuses(db, SQLITE_CONSTRAINT, "is the watermark and stays", "DELETE FROM tidemark_export_log");
  assert_int(db, 8, "SELECT count(*) FROM tidemark_export_log");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_export_total");
  db_exec(db, "DELETE FROM tidemark_export_log WHERE id = 1");
  db_exec(db, "DELETE FROM tidemark_export_log WHERE committed_at > 0 AND id < 4");
  assert_text(db, "s|logs|source=a|0|2|11|21|41|7|0|201|4", "SELECT * FROM tidemark_export_total");
  ck_assert_str_eq(sums("source=a"), "79");
  db_exec(db, "DELETE FROM tidemark_export_log WHERE id IN (6, 4, 5)");
  assert_text(db, "0|2|11|21|41|7|0|201|4 1|2|2|0|0|0|2|0|4",
              "SELECT generation, batches, rows, skipped, dead, gap_rows, rewound_rows, bytes, until"
              " FROM tidemark_export_total");
  ck_assert_str_eq(sums("source=a"), "79");
  assert_int(db, 2, "SELECT count(*) FROM tidemark_export_log");
}

START_TEST(log_goes_from_the_oldest_on_and_is_counted) {
  under_both(trimmed);
}
END_TEST

START_TEST(all_but_the_last_rows_may_go_at_once) {
  begin();
  long_log();
  db_exec(db, "DELETE FROM tidemark_export_log AS e WHERE committed_at < 9e12 AND EXISTS(SELECT 1 FROM"
              " tidemark_export_log n WHERE n.partition = e.partition AND n.id > e.id) RETURNING id");
  assert_text(db, "7 8", "SELECT id FROM tidemark_export_log");
  ck_assert_str_eq(sums("source=a"), "79");
  db_exec(db, LOG_RANGE("2", "4", "1"));
  end();
}
END_TEST

START_TEST(totals_follow_their_dataset) {
  begin();
  long_log();
  db_exec(db, "DELETE FROM tidemark_export_log WHERE id < 3; ALTER TABLE logs RENAME TO other");
  assert_text(db, "other|2", "SELECT dataset, until FROM tidemark_export_total");
  db_exec(db, "DELETE FROM tidemark_export_log WHERE id = 3; DROP TABLE other");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_export_total");
  assert_int(db, 0, "SELECT count(*) FROM tidemark_export_log");
  end();
}
END_TEST

/* ---- sinks that had every row ---- */

static int64_t from_first(const char *sink) {
  return db_int(db, "SELECT from_first FROM tidemark_sink_state WHERE sink = %Q", sink);
}

START_TEST(sink_that_starts_at_the_first_row_is_known) {
  begin();
  db_exec(db, "DELETE FROM logs WHERE since = 1"); /* the user's word, which the sum leaves room for */
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, start) VALUES ('word', 'logs', 'EARLIEST'), ('0', 'logs', 0),"
              " ('1', 'logs', 1), ('latest', 'logs', 'latest')");
  ck_assert_int_eq(from_first("s"), 1);
  ck_assert_int_eq(from_first("word"), 1);
  ck_assert_int_eq(from_first("0"), 1);
  ck_assert_int_eq(from_first("1"), 0);
  ck_assert_int_eq(from_first("latest"), 0);
  prune("a", 2);
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('late', 'logs')");
  ck_assert_int_eq(from_first("late"), 0);
  ck_assert_int_eq(from_first("s"), 1);
  db_exec(db, "UPDATE tidemark_sink SET state = 'paused', max_rows = 4 WHERE sink = 's'");
  ck_assert_int_eq(from_first("s"), 1);
  end();
}
END_TEST

static void moved(void) {
  db_exec(db, "UPDATE tidemark_sink SET start = 'earliest'");
  ck_assert_int_eq(from_first("s"), 1);
  db_exec(db, "UPDATE tidemark_sink SET start = 2");
  ck_assert_int_eq(from_first("s"), 0);
  db_exec(db, "UPDATE tidemark_sink SET start = 0");
  ck_assert_int_eq(from_first("s"), 0);
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('t', 'logs')");
  ck_assert_int_eq(from_first("t"), 1);
  db_exec(db, "UPDATE tidemark_sink SET start = 'latest' WHERE sink = 't'");
  ck_assert_int_eq(from_first("t"), 0);
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('u', 'logs')");
  db_exec(db, "REPLACE INTO tidemark_sink(sink, dataset) VALUES ('u', 'logs'), ('t', 'logs')");
  ck_assert_int_eq(from_first("u"), 1);
  ck_assert_int_eq(from_first("t"), 0);
}

START_TEST(sink_whose_start_was_ever_another_is_not) {
  under_both(moved);
}
END_TEST

START_TEST(sink_that_was_away_while_rows_went_is_known_where_its_log_is) {
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('t', 'logs'), ('u', 'logs')");
  db_exec(db, LOG_RANGE("0", "1", "1"));
  db_exec(db, "DELETE FROM tidemark_sink");
  prune("a", 2);
  db_exec(db, LOG(", kind, since, until, rows", ", 'gap', 1, 2, 1"));
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs'), ('t', 'logs')");
  ck_assert_int_eq(from_first("s"), 1); /* its gap says what it missed */
  ck_assert_int_eq(from_first("t"), 0); /* nothing says what it missed */
  db_exec(db, "DELETE FROM tidemark_sink");
  prune("b", 3);
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs')");
  ck_assert_int_eq(from_first("s"), 0);
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {gap_may_be_written_for_a_sink_that_is_gone,
                                rewind_counts_the_live_rows_that_it_gives_back,
                                rows_of_other_kinds_stay_as_they_were_written,
                                rules_hold_in_utf16,
                                rewind_stops_where_rows_are_gone,
                                lag_counts_up_to_a_since,
                                log_goes_from_the_oldest_on_and_is_counted,
                                all_but_the_last_rows_may_go_at_once,
                                totals_follow_their_dataset,
                                sink_that_starts_at_the_first_row_is_known,
                                sink_whose_start_was_ever_another_is_not,
                                sink_that_was_away_while_rows_went_is_known_where_its_log_is,
                                NULL};
  return unit_main("log_rules", tests);
}
