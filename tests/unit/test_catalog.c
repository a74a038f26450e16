/* Shadow tables that somebody changed: numbers that cannot be are named, never counted with. */
#define _GNU_SOURCE
#include "sql_db.h"
#include "unit.h"

static sqlite3 *db;

/* "logs" with the segments 1 to 3 and 4 to 6 of source=a, 7 to 8 of source=b, and a sink that has seen none. */
static void begin(void) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, body TEXT, partition_by=source);"
              "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs');"
              "INSERT INTO logs VALUES ('a', '1'), ('a', '2'), ('a', '3'); SELECT tidemark_flush('logs');"
              "INSERT INTO logs VALUES ('a', '4'), ('a', '5'), ('a', '6'); SELECT tidemark_flush('logs');"
              "INSERT INTO logs VALUES ('b', '7'), ('b', '8'); SELECT tidemark_flush('logs')");
}

static void end(void) {
  db_close(db);
}

START_TEST(segment_row_that_cannot_be) {
  static const char *const changes[] = {"deleted = 5000",
                                        "deleted = 4",
                                        "deleted = -1",
                                        "rows = 0",
                                        "rows = 4",
                                        "rows = -9223372036854775808",
                                        "rows = 9223372036854775807",
                                        "last_since = 90000000, rows = 80000000",
                                        "first_since = 0",
                                        "first_since = -9223372036854775808",
                                        "first_since = 9223372036854775807",
                                        "chunk = 0",
                                        "chunk = 4611686018427387905",
                                        "raw_bytes = -1",
                                        "raw_bytes = 4611686018427387905"};
  begin();
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    db_exec(db, "BEGIN; UPDATE logs_segment SET %s WHERE last_since = 3", changes[i]);
    db_refuses(db, SQLITE_CORRUPT, "contradicts itself", "SELECT body FROM logs");
    db_refuses(db, SQLITE_CORRUPT, "contradicts itself", "SELECT rows FROM tidemark_lag");
    db_exec(db, "ROLLBACK");
  }
  db_exec(db, "UPDATE logs_segment SET deleted = 5000 WHERE last_since = 6");
  db_refuses(db, SQLITE_CORRUPT, "dataset logs: logs_segment row (partition 1, last_since 6) contradicts itself",
             "SELECT rows FROM tidemark_lag");
  db_refuses(db, SQLITE_CORRUPT, "dataset logs: logs_segment row (partition 1, last_since 6) contradicts itself",
             "SELECT body FROM logs");
  assert_text(db, "1 2 3", "SELECT body FROM logs WHERE since <= 3 AND partition = 'source=a'");
  end();
}
END_TEST

START_TEST(partition_row_that_cannot_be) {
  static const char *const changes[] = {"written = -1",
                                        "written = 4611686018427387905",
                                        "written = 5, deleted = 6",
                                        "deleted = -1",
                                        "deleted = 4611686018427387905",
                                        "pruned = -1",
                                        "written = 5, deleted = 3, pruned = 3",
                                        "pruned_upto = -1",
                                        "pruned_upto = 4611686018427387905",
                                        "last_since = -1",
                                        "last_since = 4611686018427387905"};
  static const char words[] = "dataset logs: logs_partition row (id 1) contradicts itself";
  begin();
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    db_exec(db, "BEGIN; UPDATE logs_partition SET %s WHERE id = 1", changes[i]);
    db_refuses(db, SQLITE_CORRUPT, words, "SELECT rows FROM tidemark_stat WHERE partition = 'source=a'");
    db_refuses(db, SQLITE_CORRUPT, words, "SELECT rows FROM tidemark_lag WHERE partition = 'source=a'");
    db_exec(db, "ROLLBACK");
  }
  db_exec(db, "UPDATE logs_partition SET deleted = 7 WHERE id = 1");
  db_refuses(db, SQLITE_CORRUPT, words, "SELECT rows FROM tidemark_stat");
  db_refuses(db, SQLITE_CORRUPT, words, "SELECT rows FROM tidemark_dataset");
  end();
}
END_TEST

START_TEST(tail_row_that_cannot_be) {
  static const char *const changes[] = {"rows = 0",
                                        "rows = 3",
                                        "first_since = 0",
                                        "first_since = 11",
                                        "last_since = 9223372036854775806, rows = 9223372036854775797",
                                        "last_since = 1009, rows = 1000"};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    begin();
    db_exec(db, "INSERT INTO logs VALUES ('b', '9'), ('b', '10'); UPDATE logs_tail SET %s", changes[i]);
    db_close(db);
    db = db_open(scratch_path("db"), NULL); /* one that has not read it before */
    db_refuses(db, SQLITE_CORRUPT, "contradicts itself", "SELECT body FROM logs");
    db_refuses(db, SQLITE_CORRUPT, "contradicts itself", "INSERT INTO logs VALUES ('b', 'x')");
    end();
  }
}
END_TEST

/* Names that SQLite cannot declare: it would not connect the table, and so never drop it. */
START_TEST(column_names_that_cannot_be) {
  static const char *const names[] = {"BODY", "since"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    begin();
    db_exec(db, "UPDATE logs_column SET name = '%s' WHERE ordinal = 0", names[i]);
    db_close(db);
    db = db_open(scratch_path("db"), NULL);
    db_refuses(db, SQLITE_CORRUPT, "has the name of another column", "SELECT body FROM logs");
    db_exec(db, "DROP TABLE logs");
    assert_int(db, 0, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'logs%%'");
    end();
  }
}
END_TEST

START_TEST(sums_that_cannot_be) {
  begin();
  db_exec(db, "BEGIN; UPDATE logs_partition SET written = 4611686018427387904");
  assert_text(db, "4611686018427387904 4611686018427387904", "SELECT written FROM tidemark_stat");
  db_refuses(db, SQLITE_CORRUPT, "logs_partition counts more rows than there can be",
             "SELECT written FROM tidemark_dataset");
  db_exec(db, "ROLLBACK");
  static const char *const changes[] = {"raw_bytes = -1000000", "raw_bytes = 4611686018427387904",
                                        "stored_bytes = -1000000", "stored_bytes = 9223372036854775807"};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    db_exec(db, "BEGIN; UPDATE logs_segment SET %s WHERE partition = 1", changes[i]);
    db_refuses(db, SQLITE_CORRUPT, "dataset logs: logs_segment rows of partition 1 contradict themselves",
               "SELECT stored_bytes FROM tidemark_stat");
    db_exec(db, "ROLLBACK");
  }
  end();
}
END_TEST

START_TEST(estimate_of_bytes_stops_at_the_highest_number) {
  begin();
  db_exec(db, "UPDATE logs_segment SET raw_bytes = 4611686018427387904 WHERE partition = 1");
  assert_text(db, "6|9223372036854775807", "SELECT rows, bytes FROM tidemark_lag WHERE partition = 'source=a'");
  end();
}
END_TEST

START_TEST(config_that_cannot_be) {
  begin();
  static const char *const keys[] = {"next_chunk", "seals"};
  for (size_t i = 0; i < 2; i++) {
    const int64_t before = db_int(db, "SELECT value FROM logs_config WHERE key = %Q", keys[i]);
    db_exec(db, "UPDATE logs_config SET value = 4611686018427387905 WHERE key = %Q", keys[i]);
    db_refuses(db, SQLITE_CORRUPT, keys[i], "SELECT body FROM logs");
    db_refuses(db, SQLITE_CORRUPT, keys[i], "SELECT tidemark_flush('logs')");
    db_exec(db, "UPDATE logs_config SET value = %lld WHERE key = %Q", (long long)before, keys[i]);
    assert_int(db, 8, "SELECT count(*) FROM logs");
  }
  end();
}
END_TEST

/* Within a transaction the handle has read the config before; what a seal is given is looked at again. */
START_TEST(chunk_number_is_checked_when_it_is_taken) {
  begin();
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', '9'); SELECT count(*) FROM logs;"
              "UPDATE logs_config SET value = 9223372036854775807 WHERE key = 'next_chunk'");
  db_refuses(db, SQLITE_CORRUPT, "next_chunk",
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)"
             " INSERT INTO logs SELECT 'a', i FROM n; COMMIT");
  db_exec(db, "ROLLBACK");
  assert_int(db, 8, "SELECT count(*) FROM logs");
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {segment_row_that_cannot_be,
                                partition_row_that_cannot_be,
                                tail_row_that_cannot_be,
                                column_names_that_cannot_be,
                                sums_that_cannot_be,
                                estimate_of_bytes_stops_at_the_highest_number,
                                config_that_cannot_be,
                                chunk_number_is_checked_when_it_is_taken,
                                NULL};
  return unit_main("catalog", tests);
}
