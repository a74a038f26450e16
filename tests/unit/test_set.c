/* tidemark_set: what it takes, what it refuses, and that every connection goes by it at once. */
#define _GNU_SOURCE
#include "prune_db.h"

/* The options as one line: segment_rows zstd_level autoflush age rows bytes by. */
static const char *options(sqlite3 *connection) {
  return db_text(connection,
                 "SELECT group_concat(coalesce(value, '-'), ' ') FROM (SELECT c.value FROM json_each("
                 "'[\"segment_rows\",\"zstd_level\",\"autoflush\",\"retention_age\",\"retention_rows\","
                 "\"retention_bytes\",\"retention_by\"]') k LEFT JOIN logs_config c ON c.key = k.value ORDER BY k.id)");
}

START_TEST(every_option) {
  begin();
  assert_text(db, "logs|16|3|1|-|-|-|-",
              "SELECT j ->> 'dataset', j ->> 'segment_rows', j ->> 'zstd_level',"
              " j ->> 'autoflush', j ->> 'retention_age', j ->> 'retention_rows',"
              " j ->> 'retention_bytes', j ->> 'retention_by'"
              " FROM (SELECT tidemark_set('logs', 'segment_rows', 16) AS j)");
  db_exec(db,
          "SELECT tidemark_set('logs', 'segment_rows', 1000), tidemark_set('logs', 'ZSTD_level', '19'),"
          " tidemark_set('logs', 'autoflush', 0), tidemark_set('logs', 'retention_age', '1.5 min'),"
          " tidemark_set('logs', 'retention_rows', 0), tidemark_set('logs', 'retention_bytes', 9223372036854775807),"
          " tidemark_set('logs', 'retention_by', 'TS')");
  assert_text(db, "1000|19|0|90|0|9223372036854775807|ts",
              "SELECT j ->> 'segment_rows', j ->> 'zstd_level', j ->> 'autoflush', j ->> 'retention_age',"
              " j ->> 'retention_rows', j ->> 'retention_bytes', j ->> 'retention_by'"
              " FROM (SELECT tidemark_set('logs', 'autoflush', 0) AS j)");
  assert_text(db, "1.500", "SELECT tidemark_set('logs', 'retention_age', 1.5) -> 'retention_age'");
  assert_text(db, "0.001", "SELECT tidemark_set('logs', 'retention_age', '1 ms') -> 'retention_age'");
  assert_text(db, "90", "SELECT tidemark_set('logs', 'retention_age', 90) -> 'retention_age'");
  assert_text(db, "null|null|null|null",
              "SELECT tidemark_set('logs', 'retention_age', NULL) -> 'retention_age',"
              " tidemark_set('logs', 'retention_rows', NULL) -> 'retention_rows',"
              " tidemark_set('logs', 'retention_bytes', NULL) -> 'retention_bytes',"
              " tidemark_set('logs', 'retention_by', NULL) -> 'retention_by'");
  end();
}
END_TEST

START_TEST(refused_values_change_nothing) {
  static const struct {
    const char *arguments;
    const char *words;
  } cases[] = {
      {"'segment_rows', 15", "segment_rows is 15: expected an integer from 16 to 1048576"},
      {"'segment_rows', 1048577", "segment_rows is 1048577"},
      {"'segment_rows', NULL", "segment_rows is a NULL value"},
      {"'segment_rows', 16.5", "segment_rows is a REAL value"},
      {"'segment_rows', x'3136'", "segment_rows is a BLOB value"},
      {"'segment_rows', '16 '", "segment_rows is \"16 \""},
      {"'segment_rows', ''", "segment_rows is \"\""},
      {"'zstd_level', 0", "zstd_level is 0: expected an integer from 1 to 19"},
      {"'zstd_level', 20", "zstd_level is 20"},
      {"'autoflush', 2", "autoflush is 2: expected an integer from 0 to 1"},
      {"'autoflush', 'yes'", "autoflush is \"yes\""},
      {"'autoflush', NULL", "autoflush is a NULL value"},
      {"'retention_age', -1", "retention_age is -1"},
      {"'retention_age', '3 fortnights'", "retention_age is '3 fortnights'"},
      {"'retention_age', 9223372036854775807", "retention_age is 9223372036854775807"},
      {"'retention_age', x'00'", "retention_age is a BLOB"},
      {"'retention_rows', -1", "retention_rows is -1: expected an integer from 0 on, or NULL for no limit"},
      {"'retention_rows', 'many'", "retention_rows is \"many\""},
      {"'retention_bytes', 1.0", "retention_bytes is a REAL value"},
      {"'retention_by', 'body'", "retention_by is \"body\": expected the name of a TIMESTAMP column"},
      {"'retention_by', 'nowhere'", "retention_by is \"nowhere\""},
      {"'retention_by', 1", "retention_by is 1"},
      {"'partition_by', 'body'", "partition_by is part of the columns and does not change"},
      {"'unique', 'body'", "unique is given by CREATE VIRTUAL TABLE and does not change"},
      {"'UNIQUE', NULL", "unique is given by CREATE VIRTUAL TABLE and does not change"},
      {"'colour', 'red'", "there is no option \"colour\""},
      {"'log_id', 'x'", "there is no option \"log_id\""},
      {"'', 1", "there is no option \"\""},
      {"NULL, 1", "takes a dataset, the name of an option and its value"},
      {"'segment_rows'", "number of arguments"},
  };
  begin();
  db_exec(db, "SELECT tidemark_set('logs', 'retention_by', 'ts')");
  char before[200];
  snprintf(before, sizeof before, "%s", options(db));
  ck_assert_str_eq(before, "16 3 1 -1 -1 -1 1");
  const long changes = shim.changes;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    db_refuses(db, SQLITE_ERROR, cases[i].words, "SELECT tidemark_set('logs', %s)", cases[i].arguments);
    ck_assert_str_eq(options(db), before);
  }
  db_refuses(db, SQLITE_ERROR, "nowhere", "SELECT tidemark_set('nowhere', 'autoflush', 0)");
  db_refuses(db, SQLITE_ERROR, "", "SELECT tidemark_set(NULL, 'autoflush', 0)");
  ck_assert_int_eq(shim.changes, changes);
  assert_text(db, "ts", "SELECT tidemark_set('logs', 'autoflush', 1) ->> 'retention_by'");
  end();
}
END_TEST

START_TEST(same_value_writes_nothing) {
  begin();
  db_exec(db, "SELECT tidemark_set('logs', 'retention_age', '2 h')");
  const long changes = shim.changes;
  db_exec(db,
          "SELECT tidemark_set('logs', 'retention_age', '120 min'), tidemark_set('logs', 'segment_rows', '16'),"
          " tidemark_set('logs', 'retention_by', NULL); BEGIN; SELECT tidemark_set('logs', 'autoflush', 1); COMMIT");
  ck_assert_int_eq(shim.changes, changes);
  db_exec(db, "SELECT tidemark_set('logs', 'retention_age', '121 min')");
  ck_assert_int_gt(shim.changes, changes);
  end();
}
END_TEST

START_TEST(follows_the_transaction_it_is_in) {
  begin();
  append("a", 8);
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  db_exec(db, "BEGIN; SELECT tidemark_set('logs', 'retention_rows', 3)");
  ck_assert_str_eq(options(other), "16 3 1 -1 -1 -1 -1");
  assert_int(other, 0, "SELECT tidemark_prune('logs', 'dry-run') ->> 'rows'");
  assert_int(db, 5, "SELECT tidemark_prune('logs', 'dry-run') ->> 'rows'");
  db_exec(db, "SAVEPOINT s; SELECT tidemark_set('logs', 'retention_rows', 1)");
  assert_int(db, 7, "SELECT tidemark_prune('logs', 'dry-run') ->> 'rows'");
  db_exec(db, "ROLLBACK TO s");
  assert_int(db, 5, "SELECT tidemark_prune('logs', 'dry-run') ->> 'rows'");
  db_exec(db, "ROLLBACK");
  assert_int(db, 0, "SELECT tidemark_prune('logs') ->> 'rows'");
  db_exec(db, "BEGIN; SELECT tidemark_set('logs', 'retention_rows', 3); COMMIT");
  assert_int(other, 5, "SELECT tidemark_prune('logs') ->> 'rows'");
  db_close(other);
  end();
}
END_TEST

START_TEST(sealing_obeys_at_once_on_every_connection) {
  begin();
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  assert_int(other, 0, "SELECT count(*) FROM logs");
  append("a", 15);
  db_exec(db, "SELECT tidemark_set('logs', 'autoflush', 0)");
  append("a", 5);
  db_exec(other, "INSERT INTO logs VALUES ('a', 1, 'x')");
  assert_text(other, "0|21", "SELECT segments, tail_rows FROM tidemark_stat");
  db_exec(other, "SELECT tidemark_set('logs', 'autoflush', 1), tidemark_set('logs', 'segment_rows', 23)");
  append("a", 1);
  assert_text(db, "0|22", "SELECT segments, tail_rows FROM tidemark_stat");
  append("a", 1);
  assert_text(db, "1|0", "SELECT segments, tail_rows FROM tidemark_stat");
  db_exec(db, "SELECT tidemark_set('logs', 'segment_rows', 20)");
  db_exec(other, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 41)"
                 " INSERT INTO logs SELECT 'a', n, 'x' FROM c");
  assert_text(db, "23 20 20", "SELECT group_concat(rows, ' ') FROM tidemark_segment");
  db_exec(db, "BEGIN; SELECT tidemark_set('logs', 'segment_rows', 16)");
  append("a", 16);
  db_exec(db, "ROLLBACK");
  append("a", 16);
  assert_text(db, "3|17", "SELECT segments, tail_rows FROM tidemark_stat");
  db_exec(other, "SELECT tidemark_set('logs', 'zstd_level', 9), tidemark_flush('logs')");
  assert_text(db, "3|9", "SELECT min(level), max(level) FROM logs_segment");
  db_close(other);
  end();
}
END_TEST

START_TEST(value_by_another_hand_is_checked) {
  static const struct {
    const char *key;
    const char *value;
  } cases[] = {{"retention_by", "7"}, {"retention_by", "2"}, {"retention_by", "-2"},  {"segment_rows", "15"},
               {"zstd_level", "'x'"}, {"autoflush", "2"},    {"retention_age", "-2"}, {"retention_rows", "1.5"},
               {"unique", "3"},       {"unique", "-2"}};
  begin();
  append("a", 3);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    db_exec(db, "BEGIN; UPDATE logs_config SET value = %s WHERE key = %Q; COMMIT", cases[i].value, cases[i].key);
    sqlite3 *other = db_open(scratch_path("db"), "shim");
    db_refuses(other, SQLITE_CORRUPT, cases[i].key, "SELECT tidemark_prune('logs')");
    db_close(other);
    db_refuses(db, SQLITE_CORRUPT, cases[i].key, "SELECT tidemark_prune('logs')");
    db_exec(db,
            "UPDATE logs_config SET value = CASE key WHEN 'segment_rows' THEN 16 WHEN 'zstd_level' THEN 3"
            " WHEN 'autoflush' THEN 1 ELSE -1 END WHERE key = %Q",
            cases[i].key);
    assert_int(db, 3, "SELECT count(*) FROM logs");
  }
  end();
}
END_TEST

START_TEST(within_other_statements) {
  begin();
  append("a", 3);
  assert_text(db, "20 20 20", "SELECT tidemark_set('logs', 'segment_rows', 20) ->> 'segment_rows' FROM logs");
  db_refuses(db, SQLITE_BUSY, "inside a statement that writes",
             "INSERT INTO logs SELECT 'a', 1, tidemark_set('logs', 'segment_rows', 30)");
  db_exec(db, "ALTER TABLE logs RENAME TO renamed");
  assert_text(db, "renamed|17|5",
              "SELECT j ->> 'dataset', i ->> 'segment_rows', j ->> 'retention_rows' FROM"
              " (SELECT tidemark_set('main.renamed', 'segment_rows', 17) AS i,"
              " tidemark_set('renamed', 'retention_rows', 5) AS j)");
  db_exec(db, "ATTACH %Q AS aux; CREATE VIRTUAL TABLE aux.logs USING tidemark(x, retention_rows=1)",
          scratch_path("aux"));
  assert_int(db, 4, "SELECT tidemark_set('aux.logs', 'retention_rows', 4) ->> 'retention_rows'");
  assert_text(db, "5|4",
              "SELECT (SELECT value FROM renamed_config WHERE key = 'retention_rows'),"
              " (SELECT value FROM aux.logs_config WHERE key = 'retention_rows')");
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {every_option,
                                refused_values_change_nothing,
                                same_value_writes_nothing,
                                follows_the_transaction_it_is_in,
                                sealing_obeys_at_once_on_every_connection,
                                value_by_another_hand_is_checked,
                                within_other_statements,
                                NULL};
  return unit_main("set", tests);
}
