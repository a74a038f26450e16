/* tidemark_rewind: what it refuses and answers, transactions, and that the next ticks ship exactly the rows that were
 * given back, once more and into a folder of their own. */
#define _GNU_SOURCE
#include "export_db.h"

/* Rows 1, 2, 4 of source=a and 3, 5 of source=b, all of them shipped. */
static void begin_shipped(void) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', '1'), ('a', '2'), ('b', '3'), ('a', '4'), ('b', '5')");
  ck_assert_str_eq(tick("rows"), "5");
}

#define REWIND(since) "SELECT tidemark_rewind('s', 'logs', 'source=a', " since ", 'lost the folder')"

static const char answer[] = "{\"sink\":\"s\",\"dataset\":\"logs\",\"partition\":\"source=a\",\"generation\":1,"
                             "\"since\":4,\"until\":1,\"rows\":2,\"stopped\":false}";

static int64_t log_count(void) {
  return db_int(db, "SELECT count(*) FROM tidemark_export_log");
}

static uint32_t file_version(void) {
  uint32_t version = 0;
  db_int(db, "SELECT count(*) FROM sqlite_schema");
  ck_assert_int_eq(sqlite3_file_control(db, "main", SQLITE_FCNTL_DATA_VERSION, &version), SQLITE_OK);
  return version;
}

START_TEST(what_cannot_be_rewound_is_refused_in_words) {
  begin_shipped();
  static const struct {
    const char *words, *sql;
  } refused[] = {
      {"no such sink of dataset logs: t", "SELECT tidemark_rewind('t', 'logs', 'source=a', 0, 'x')"},
      {"no such sink of dataset main.logs: temp.s", "SELECT tidemark_rewind('temp.s', 'logs', 'source=a', 0, 'x')"},
      {"no such dataset: nothing", "SELECT tidemark_rewind('s', 'nothing', 'source=a', 0, 'x')"},
      {"no such dataset: temp.logs", "SELECT tidemark_rewind('s', 'temp.logs', 'source=a', 0, 'x')"},
      {"dataset logs has no partition 'source=c'", "SELECT tidemark_rewind('s', 'logs', 'source=c', 0, 'x')"},
      {"dataset logs has no partition ''", "SELECT tidemark_rewind('s', 'logs', '', 0, 'x')"},
      {"stands at since 4 in partition 'source=a': a rewind goes below that, not to 4",
       "SELECT tidemark_rewind('s', 'logs', 'source=a', 4, 'x')"},
      {"not to 9223372036854775807", "SELECT tidemark_rewind('s', 'logs', 'source=a', 9223372036854775807, 'x')"},
      {"since is a number of 0 or more", "SELECT tidemark_rewind('s', 'logs', 'source=a', -1, 'x')"},
      {"since is a number of 0 or more", "SELECT tidemark_rewind('s', 'logs', 'source=a', NULL, 'x')"},
      {"since is a number of 0 or more", "SELECT tidemark_rewind('s', 'logs', 'source=a', 'first', 'x')"},
      {"since is a number of 0 or more", "SELECT tidemark_rewind('s', 'logs', 'source=a', 1.5, 'x')"},
      {"say the reason", "SELECT tidemark_rewind('s', 'logs', 'source=a', 0, '')"},
      {"say the reason", "SELECT tidemark_rewind('s', 'logs', 'source=a', 0, NULL)"},
      {"takes sink, dataset and partition as text", "SELECT tidemark_rewind(NULL, 'logs', 'source=a', 0, 'x')"},
      {"takes sink, dataset and partition as text", "SELECT tidemark_rewind('s', 'logs', NULL, 0, 'x')"},
      {"expected the name of a dataset as text", "SELECT tidemark_rewind('s', NULL, 'source=a', 0, 'x')"},
      {"wrong number of arguments", "SELECT tidemark_rewind('s', 'logs', 'source=a', 0)"},
  };
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    db_refuses(db, SQLITE_ERROR, refused[i].words, "%s", refused[i].sql);
  db_exec(db, "CREATE VIEW v AS " REWIND("0"));
  db_refuses(db, SQLITE_ERROR, "unsafe use of tidemark_rewind", "SELECT * FROM v");
  ck_assert_int_eq(log_count(), 2);
  end();
}
END_TEST

START_TEST(open_batch_is_ended_first) {
  begin_shipped();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('mine', 'logs'); SELECT tidemark_claim('mine', 'logs');"
              "SELECT tidemark_ack(min(batch)) FROM (SELECT 3 AS batch)");
  db_exec(db, "INSERT INTO logs VALUES ('a', '6'); SELECT tidemark_claim('mine', 'logs')");
  const int64_t batch = db_int(db, "SELECT batch FROM tidemark_batch WHERE partition = 'source=a'");
  char words[64];
  snprintf(words, sizeof words, "has batch %lld of partition 'source=a' open", (long long)batch);
  db_refuses(db, SQLITE_ERROR, words, "SELECT tidemark_rewind('mine', 'logs', 'source=a', 0, 'x')");
  db_exec(db, "DELETE FROM tidemark_batch WHERE batch = %lld", (long long)batch);
  assert_int(db, 3, "SELECT tidemark_rewind('mine', 'logs', 'source=a', 0, 'x') ->> 'rows'");
  end();
}
END_TEST

START_TEST(second_call_answers_as_the_first_and_writes_nothing) {
  begin_shipped();
  assert_text(db, answer, REWIND("1"));
  const uint32_t version = file_version();
  const int changes = sqlite3_total_changes(db);
  assert_text(db, answer, REWIND("1"));
  ck_assert_uint_eq(file_version(), version);
  ck_assert_int_eq(sqlite3_total_changes(db), changes);
  assert_int(db, 3, "SELECT count(*) FROM tidemark_export_log");
  db_close(db); /* nor does it take the lock */
  db = db_open(scratch_path("db"), "shim");
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  db_exec(other, "BEGIN IMMEDIATE");
  sqlite3_busy_timeout(db, 0);
  assert_text(db, answer, REWIND("1"));
  db_refuses(db, SQLITE_BUSY, "locked", REWIND("0"));
  db_exec(other, "ROLLBACK");
  db_close(other);
  /* another reason or place is another rewind */
  db_refuses(db, SQLITE_ERROR, "stands at since 1", "SELECT tidemark_rewind('s', 'logs', 'source=a', 1, 'other')");
  assert_text(db, "2|1|0|1",
              "SELECT j ->> 'generation', j ->> 'since', j ->> 'until', j ->> 'rows'"
              " FROM (SELECT tidemark_rewind('s', 'logs', 'source=a', 0, 'lost the folder') AS j)");
  end();
}
END_TEST

START_TEST(rewind_follows_its_transaction) {
  begin_shipped();
  db_exec(db, "CREATE TABLE t(x); INSERT INTO t VALUES (1); BEGIN; INSERT INTO logs VALUES ('a', '6')");
  assert_int(db, 6, "SELECT last_insert_rowid()");
  assert_text(db, answer, REWIND("1"));
  assert_int(db, 6, "SELECT last_insert_rowid()");
  assert_text(db, "1|6|3", "SELECT since, until, rows FROM tidemark_lag WHERE partition = 'source=a'");
  db_exec(db, "ROLLBACK");
  ck_assert_int_eq(log_count(), 2);
  db_exec(db, "BEGIN; SAVEPOINT a");
  assert_text(db, answer, REWIND("1"));
  db_exec(db, "ROLLBACK TO a; INSERT INTO logs VALUES ('a', '6')");
  db_refuses(db, SQLITE_ERROR, "stands at since 4", REWIND("4"));
  assert_text(db, answer, REWIND("1"));
  db_exec(db, "COMMIT");
  assert_text(db, answer, REWIND("1"));
  ck_assert_int_eq(log_count(), 3);
  assert_int(db, 6, "SELECT count(*) FROM logs");
  db_refuses(db, SQLITE_BUSY, "tidemark_rewind cannot run inside a statement that writes",
             "INSERT INTO t SELECT tidemark_rewind('s', 'logs', 'source=b', 0, 'x') FROM t");
  db_exec(db, "BEGIN; INSERT INTO t VALUES (2)");
  db_refuses(db, SQLITE_BUSY, "tidemark_rewind cannot run inside a statement that writes",
             "INSERT INTO t SELECT tidemark_rewind('s', 'logs', 'source=b', 0, 'x') FROM t");
  db_exec(db, "COMMIT");
  assert_text(db, "1 2", "SELECT x FROM t");
  ck_assert_int_eq(log_count(), 3);
  end();
}
END_TEST

/* Each line that left, in the order of file names, in which logs.g1/ comes before logs/. */
static const char *shipped(void) {
  archive_read(db, folder);
  return db_text(db, "SELECT json ->> 'body' FROM temp.line ORDER BY object, rowid");
}

START_TEST(rewound_rows_are_shipped_again_into_a_folder_of_their_own) {
  begin_shipped();
  ck_assert_str_eq(tick("rows"), "0"); /* remembered as idle, and caught up in every partition */
  ck_assert_str_eq(tick("rows"), "0");
  assert_int(db, 5, "SELECT caught_up FROM tidemark_sink_state");
  assert_text(db, answer, REWIND("1"));
  ck_assert_str_eq(tick("rows"), "2");
  ck_assert_str_eq(tick("rows"), "0");
  assert_text(db, "1|1|4|2", "SELECT generation, since, until, rows FROM tidemark_export_log ORDER BY id DESC LIMIT 1");
  assert_text(db, "1", "SELECT object LIKE 'logs.g1/source=a/%%' FROM tidemark_export_log ORDER BY id DESC LIMIT 1");
  ck_assert_str_eq(shipped(), "2 4 1 2 4 3 5");
  /* what comes later stays in the new folder, and other partitions in theirs */
  db_exec(db, "INSERT INTO logs VALUES ('a', '6'), ('b', '7')");
  ck_assert_str_eq(tick("rows"), "2");
  assert_text(db, "source=a|1 source=b|0", "SELECT partition, generation FROM tidemark_watermark ORDER BY 1");
  /* by another connection, which this one has to notice */
  ck_assert_str_eq(tick("rows"), "0");
  sqlite3 *other = db_open(scratch_path("db"), NULL);
  db_exec(other, "SELECT tidemark_rewind('s', 'logs', 'source=b', 3, 'again')");
  db_close(other);
  ck_assert_str_eq(tick("rows"), "2");
  ck_assert_str_eq(tick("rows"), "0");
  end();
}
END_TEST

/* Sum of the log and what is still to do: what was written, through every rewind. */
START_TEST(sums_hold_through_rewinds) {
  begin_shipped();
  static const char sums[] =
      "SELECT l.partition, (SELECT sum(CASE kind WHEN 'rewind' THEN -rows ELSE rows + skipped + dead END)"
      " FROM tidemark_export_log e WHERE e.partition = l.partition) + l.rows - s.written"
      " FROM tidemark_lag l JOIN tidemark_stat s USING (dataset, partition) ORDER BY 1";
  db_exec(db, "%s", REWIND("1"));
  assert_text(db, "source=a|0 source=b|0", "%s", sums);
  db_exec(db, "INSERT INTO logs VALUES ('a', '6'); SELECT tidemark_flush('logs')");
  ck_assert_str_eq(tick("rows"), "3");
  db_exec(db, "%s", REWIND("0"));
  assert_text(db, "source=a|0 source=b|0", "%s", sums);
  ck_assert_str_eq(tick("rows"), "4");
  db_exec(db, "DELETE FROM logs WHERE since = 4; %s", REWIND("2"));
  assert_text(db, "source=a|0 source=b|0", "%s", sums); /* 4 was delivered, and is not given back */
  assert_int(db, 1, "SELECT rows FROM tidemark_lag WHERE partition = 'source=a'");
  db_exec(db, "DELETE FROM logs WHERE since = 6");
  assert_text(db, "source=a|-1 source=b|0", "%s", sums); /* given back, then deleted: between the bounds */
  end();
}
END_TEST

START_TEST(rewind_below_what_is_left_stops_there_and_says_so) {
  begin_shipped();
  db_exec(db, "SELECT tidemark_flush('logs');"
              "UPDATE logs_segment SET pruned = 2 WHERE last_since = 4;"
              "UPDATE logs_partition SET pruned = 2, pruned_upto = 3 WHERE name = 'source=a'");
  static const char stopped[] = "{\"sink\":\"s\",\"dataset\":\"logs\",\"partition\":\"source=a\",\"generation\":1,"
                                "\"since\":4,\"until\":3,\"rows\":1,\"stopped\":true,"
                                "\"note\":\"rows up to 3 are gone: the rewind stopped there\"}";
  assert_text(db, stopped, REWIND("0"));
  assert_text(db, stopped, REWIND("0"));
  ck_assert_int_eq(log_count(), 3);
  db_refuses(db, SQLITE_ERROR, "stands at since 3 in partition 'source=a', and rows up to 3 are gone",
             "SELECT tidemark_rewind('s', 'logs', 'source=a', 0, 'another')");
  ck_assert_str_eq(tick("rows"), "1");
  end();
}
END_TEST

START_TEST(names_may_have_their_schema) {
  begin_shipped();
  db_exec(db,
          "ATTACH '%s' AS aux; CREATE VIRTUAL TABLE aux.logs USING tidemark(body TEXT);"
          "INSERT INTO aux.logs VALUES ('x'), ('y'); INSERT INTO aux.tidemark_sink(sink, dataset) VALUES ('s', 'logs');"
          "INSERT INTO aux.tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES"
          " ('s', 'logs', '', 0, 2, 2)",
          scratch_path("aux.db"));
  db_refuses(db, SQLITE_ERROR, "write one as", REWIND("1"));
  assert_text(db, "|2|1|1",
              "SELECT j ->> 'partition', j ->> 'since', j ->> 'until', j ->> 'rows' FROM"
              " (SELECT tidemark_rewind('aux.s', 'AUX.Logs', '', 1, 'x') AS j)");
  assert_text(db, "logs", "SELECT tidemark_rewind('s', 'main.LOGS', 'source=a', 1, 'x') ->> 'dataset'");
  assert_int(db, 2, "SELECT count(*) FROM aux.tidemark_export_log");
  ck_assert_int_eq(db_int(db, "SELECT count(*) FROM main.tidemark_export_log"), 3);
  end();
}
END_TEST

START_TEST(names_and_reasons_in_utf16) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db,
          "PRAGMA encoding = 'UTF-16le'; CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, partition_by=source);"
          "INSERT INTO logs VALUES ('\xc3\xa4'); INSERT INTO tidemark_sink(sink, dataset) VALUES ('\xc3\xb6', 'logs')");
  const char *partition = db_text(db, "SELECT partition FROM tidemark_stat");
  db_exec(db, "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
              " SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag");
  for (int i = 0; i < 2; i++)
    assert_int(db, 1, "SELECT tidemark_rewind('\xc3\xb6', 'logs', %Q, 0, 'noch einmal, \xc3\xa4hnlich') ->> 'rows'",
               partition);
  assert_text(db, "- noch einmal, \xc3\xa4hnlich", "SELECT reason FROM tidemark_export_log ORDER BY id");
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {what_cannot_be_rewound_is_refused_in_words,
                                open_batch_is_ended_first,
                                second_call_answers_as_the_first_and_writes_nothing,
                                rewind_follows_its_transaction,
                                rewound_rows_are_shipped_again_into_a_folder_of_their_own,
                                sums_hold_through_rewinds,
                                rewind_below_what_is_left_stops_there_and_says_so,
                                names_may_have_their_schema,
                                names_and_reasons_in_utf16,
                                NULL};
  return unit_main("rewind", tests);
}
