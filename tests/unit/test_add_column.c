/* tidemark_add_column: what old and new rows read, who sees the column and when, what is refused, and that a rollback
 * takes it back everywhere. */
#define _GNU_SOURCE
#include "archive.h"
#include "prune_db.h"

static void add_to(sqlite3 *connection, const char *definition) {
  assert_text(connection, "1", "SELECT tidemark_add_column('logs', %Q) ->> 'added'", definition);
}

/* Rows 1 to 3 of the partition a: sealed, in the tail, and in the memory of an open transaction. */
static void begin_with_3(void) {
  begin();
  append("a", 1);
  db_exec(db, "SELECT tidemark_flush('logs')");
  append("a", 1);
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', NULL, 'row 1')");
}

START_TEST(old_rows_read_the_default_wherever_they_lie) {
  static const struct {
    const char *definition;
    const char *value; /* its quote() */
  } cases[] = {{"x", "NULL"},
               {"x TEXT", "NULL"},
               {"x TEXT DEFAULT NULL", "NULL"},
               {"x TEXT DEFAULT 'it''s'", "'it''s'"},
               {"x TEXT DEFAULT ''", "''"},
               {"x TEXT DEFAULT 5", "'5'"},
               {"x INTEGER DEFAULT '5'", "5"},
               {"x INTEGER NOT NULL DEFAULT -9223372036854775808", "-9223372036854775808"},
               {"x REAL DEFAULT 3", "3.0"},
               {"x DEFAULT 3", "3"},
               {"x ANY DEFAULT 1.5", "1.5"},
               {"x BLOB DEFAULT x'00ff'", "X'00FF'"},
               {"x BOOLEAN NOT NULL DEFAULT TRUE", "1"},
               {"x TIMESTAMP_US DEFAULT 0x10", "16"},
               {"x JSON DEFAULT '[]'", "'[]'"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char expected[100];
    sqlite3_snprintf((int)sizeof expected, expected, "1|%s 2|%s 3|%s", cases[i].value, cases[i].value, cases[i].value);
    begin_with_3();
    add_to(db, cases[i].definition);
    assert_text(db, expected, "SELECT since, quote(x) FROM logs");
    assert_int(db, 3, "SELECT count(*) FROM logs WHERE x IS %s", cases[i].value);
    assert_int(db, 0, "SELECT count(*) FROM logs WHERE x IS NOT %s", cases[i].value);
    db_exec(db, "COMMIT; SELECT tidemark_compact('logs')");
    assert_text(db, expected, "SELECT since, quote(x) FROM logs");
    db_exec(db, "SELECT tidemark_flush('logs'), tidemark_compact('logs')");
    assert_int(db, 0, "SELECT tail_rows FROM tidemark_stat");
    assert_text(db, expected, "SELECT since, quote(x) FROM logs");
    end();
  }
}
END_TEST

START_TEST(nothing_is_rewritten) {
  begin();
  append("a", 100);
  append("b", 3);
  const int64_t before = db_int(db, "SELECT sum(length(data)) FROM logs_chunk");
  const char *stored = "SELECT (SELECT count(*) || ' ' || total(revision) || ' ' || max(chunk) FROM logs_segment)"
                       " || ' ' || (SELECT count(*) || ' ' || total(length(data)) FROM logs_tail)";
  char shape[200];
  strcpy(shape, db_text(db, "%s", stored));
  add_to(db, "x TEXT NOT NULL DEFAULT 'then'");
  assert_int(db, before, "SELECT sum(length(data)) FROM logs_chunk");
  assert_text(db, shape, "%s", stored);
  end();
}
END_TEST

START_TEST(new_rows_have_what_they_are_given) {
  begin_with_3();
  add_to(db, "x TEXT DEFAULT 'then'");
  add_to(db, "n INTEGER NOT NULL DEFAULT 7");
  db_exec(db, "INSERT INTO logs VALUES ('a', NULL, 'b', 'now', 8); INSERT INTO logs(source) VALUES ('a'); COMMIT");
  /* SQLite does not tell a column left out from NULL, so that only NOT NULL can mean its DEFAULT */
  assert_text(db, "1|then|7 2|then|7 3|then|7 4|now|8 5|-|7", "SELECT since, x, n FROM logs");
  db_exec(db, "SELECT tidemark_flush('logs')");
  assert_text(db, "1|then|7 2|then|7 3|then|7 4|now|8 5|-|7", "SELECT since, x, n FROM logs");
  db_refuses(db, SQLITE_CONSTRAINT, "cannot store TEXT value in INTEGER column logs.n",
             "INSERT INTO logs(n) VALUES ('z')");
  end();
}
END_TEST

START_TEST(every_connection_sees_it_in_its_next_statement) {
  begin();
  append("a", 1);
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  sqlite3_stmt *own = NULL, *stmt = NULL;
  assert_int(other, 1, "SELECT count(*) FROM logs");
  sqlite3_prepare_v2(db, "SELECT * FROM logs", -1, &own, NULL);
  sqlite3_prepare_v2(other, "SELECT * FROM logs", -1, &stmt, NULL);
  ck_assert_int_eq(sqlite3_step(own), SQLITE_ROW); /* a reader in the middle of its rows keeps the columns it has */
  add_to(db, "x TEXT DEFAULT 'then'");
  ck_assert_int_eq(sqlite3_step(own), SQLITE_DONE);
  ck_assert_int_eq(sqlite3_column_count(own), 3);
  sqlite3_reset(own);
  ck_assert_int_eq(sqlite3_step(own), SQLITE_ROW);
  ck_assert_int_eq(sqlite3_column_count(own), 4);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  ck_assert_int_eq(sqlite3_column_count(stmt), 4);
  ck_assert_str_eq((const char *)sqlite3_column_text(stmt, 3), "then");
  sqlite3_finalize(own);
  sqlite3_finalize(stmt);
  assert_text(other, "source ts body x", "SELECT name FROM pragma_table_info('logs')");
  db_exec(other, "INSERT INTO logs(source, x) VALUES ('b', 'now')");
  assert_text(db, "then now", "SELECT x FROM logs");
  db_close(other);
  end();
}
END_TEST

/* Functions work on the connection's handle, without a statement that would tell it of the new schema. */
START_TEST(functions_of_other_connections_see_it) {
  begin();
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  db_exec(other, "INSERT INTO logs VALUES ('a', NULL, 'one')");
  add_to(db, "x TEXT DEFAULT 'then'");
  db_exec(db, "INSERT INTO logs VALUES ('a', NULL, 'two', 'now')");
  assert_int(other, 2, "SELECT tidemark_flush('logs') ->> 'rows'");
  assert_text(other, "ok", "SELECT tidemark_check('logs')");
  add_to(db, "y");
  db_exec(db, "INSERT INTO logs VALUES ('a', NULL, 'three', 'now', 3); SELECT tidemark_flush('logs')");
  assert_int(other, 3, "SELECT tidemark_compact('logs') ->> 'rows'");
  assert_text(other, "one|then|- two|now|- three|now|3", "SELECT body, x, y FROM logs");
  db_close(other);
  end();
}
END_TEST

START_TEST(a_rollback_takes_it_back) {
  begin_with_3();
  add_to(db, "x TEXT");
  db_exec(db, "INSERT INTO logs VALUES ('a', NULL, 'b', 'x'); ROLLBACK");
  assert_text(db, "1|a|-|row 1 2|a|-|row 1", "SELECT since, * FROM logs");
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', NULL, 'b'); SAVEPOINT s");
  add_to(db, "x TEXT");
  db_exec(db, "INSERT INTO logs VALUES ('a', NULL, 'b', 'x'); ROLLBACK TO s; INSERT INTO logs VALUES ('a', 1, 'c');"
              "COMMIT");
  assert_text(db, "1|a|-|row 1 2|a|-|row 1 3|a|-|b 4|a|1|c", "SELECT since, * FROM logs");
  assert_text(db, "source ts body", "SELECT name FROM pragma_table_info('logs')");
  end();
}
END_TEST

/* The schema's version goes back with a rollback, and others may bring it to the same number by other means. */
START_TEST(a_rollback_is_not_hidden_by_changes_of_others) {
  begin();
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  for (int changes = 1; changes <= 4; changes++) {
    db_exec(db, "BEGIN");
    add_to(db, "x TEXT DEFAULT 'then'");
    assert_int(db, 4, "SELECT count(*) FROM pragma_table_info('logs')");
    db_exec(db, "ROLLBACK");
    for (int i = 0; i < changes; i++)
      db_exec(other, "CREATE TABLE t%d_%d(x)", changes, i);
    assert_int(db, 3, "SELECT count(*) FROM pragma_table_info('logs')");
    db_exec(db, "INSERT INTO logs VALUES ('a', 1, 'b')");
  }
  db_close(other);
  end();
}
END_TEST

START_TEST(what_is_refused) {
  static const struct {
    const char *definition;
    const char *words;
  } cases[] = {{"", "expected a column's name, found the end"},
               {"body TEXT NOT NULL DEFAULT ''", "dataset logs has a column \"body\" already, which is not the same"},
               {"BODY TEXT", "dataset logs has a column \"body\" already"},
               {"since INTEGER", "column \"since\" clashes with a hidden column"},
               {"oid", "column \"oid\" clashes with a name of the rowid"},
               {"x TEXT NOT NULL", "column \"x\" is NOT NULL: rows that are there need a DEFAULT that is not NULL"},
               {"x TEXT NOT NULL DEFAULT NULL", "column \"x\" is NOT NULL"},
               {"x VARCHAR(3)", "unknown type \"VARCHAR(3)\""},
               {"x INTEGER DEFAULT 'five'", "cannot store TEXT value in INTEGER column logs.x"},
               {"x BOOLEAN DEFAULT 2", "cannot store 2 in BOOLEAN column logs.x: expected 0 or 1"},
               {"x DEFAULT (1)", "expected a constant behind DEFAULT"},
               {"x DEFAULT random()", "expected a constant behind DEFAULT"},
               {"x TEXT UNIQUE", "UNIQUE is not supported: only NOT NULL and DEFAULT are"},
               {"x TEXT, y TEXT", "unexpected \",\""},
               {"partition_by=source", "unexpected \"=\""}};
  begin_with_3();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    db_refuses(db, 0, cases[i].words, "SELECT tidemark_add_column('logs', %Q)", cases[i].definition);
  db_refuses(db, SQLITE_ERROR, "has 1025 bytes: at most 1024 are kept",
             "SELECT tidemark_add_column('logs', 'x TEXT DEFAULT ''' || printf('%%.1025c', 'a') || '''')");
  db_refuses(db, SQLITE_ERROR, "takes a dataset and a column", "SELECT tidemark_add_column('logs', NULL)");
  db_refuses(db, SQLITE_ERROR, "no such dataset: none", "SELECT tidemark_add_column('none', 'x')");
  db_exec(db, "CREATE TABLE t(x)");
  db_refuses(db, SQLITE_LOCKED, "call it in a SELECT of its own",
             "INSERT INTO t SELECT tidemark_add_column('logs', 'x')");
  db_exec(db, "COMMIT");
  assert_text(db, "1|a|-|row 1 2|a|-|row 1 3|a|-|row 1", "SELECT since, * FROM logs");
  end();
}
END_TEST

/* Rows that a scan has still to read may be sealed with a column that it does not know. */
START_TEST(a_reader_goes_on_when_its_rows_are_sealed) {
  sqlite3_stmt *stmt = NULL;
  begin();
  append("a", 2);
  append("b", 2);
  ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT since, body FROM logs", -1, &stmt, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  add_to(db, "x");
  db_exec(db, "INSERT INTO logs(source, x) VALUES ('a', 'new'); SELECT tidemark_flush('logs')");
  for (int since = 2; since <= 4; since++) {
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int(stmt, 0), since);
    ck_assert_int_eq(sqlite3_column_type(stmt, 1), SQLITE_TEXT);
  }
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
  sqlite3_finalize(stmt);
  end();
}
END_TEST

START_TEST(the_same_column_again_is_nothing) {
  begin();
  add_to(db, "\"a b\" INTEGER NOT NULL DEFAULT 0");
  const int64_t version = db_int(db, "PRAGMA schema_version");
  assert_text(db, "{\"dataset\":\"logs\",\"column\":\"a b\",\"type\":\"INTEGER\",\"added\":false}",
              "SELECT tidemark_add_column('logs', '[a b] integer default 0 not null')");
  assert_int(db, version, "PRAGMA schema_version");
  db_refuses(db, SQLITE_ERROR, "which is not the same", "SELECT tidemark_add_column('logs', '\"a b\" INTEGER')");
  end();
}
END_TEST

START_TEST(as_many_columns_as_the_host_takes) {
  begin();
  sqlite3_limit(db, SQLITE_LIMIT_COLUMN, 20);
  for (int i = 4; i <= 17; i++) {
    char name[8];
    sqlite3_snprintf((int)sizeof name, name, "c%d", i);
    add_to(db, name);
  }
  db_refuses(db, SQLITE_ERROR, "dataset logs has 17 columns and can have no more",
             "SELECT tidemark_add_column('logs', 'c18')");
  assert_int(db, 0, "SELECT count(*) FROM logs WHERE c17 = 1");
  end();
}
END_TEST

/* The settings of careful hosts, a view that is broken, and a schema that is being written by hand. */
START_TEST(works_in_any_host) {
  int on = 0;
  begin();
  db_exec(db, "CREATE VIEW broken AS SELECT * FROM nowhere; PRAGMA writable_schema = ON");
  add_to(db, "x");
  assert_int(db, 1, "PRAGMA writable_schema");
  db_exec(db, "PRAGMA writable_schema = OFF");
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, &on);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, &on);
  add_to(db, "y DEFAULT 1");
  db_exec(db, "INSERT INTO logs(y) VALUES (2); CREATE VIEW v AS SELECT tidemark_add_column('logs', 'z')");
  db_refuses(db, SQLITE_ERROR, "unsafe use of tidemark_add_column()", "SELECT * FROM v");
  assert_text(db, "-|2", "SELECT x, y FROM logs");
  end();
}
END_TEST

/* An open batch has the columns that it was claimed with, the next one has the new column too; a columns list and a
 * filter may name it at once. */
START_TEST(exports_follow_from_the_next_batch_on) {
  begin();
  mkdir(scratch_path("archive"), 0755);
  mkdir(scratch_path("narrow"), 0755);
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('f', 'logs', 'file://%s', 'ndjson');"
          "INSERT INTO tidemark_sink(sink, dataset) VALUES ('mine', 'logs')",
          scratch_path("archive"));
  append("a", 1);
  assert_int(db, 1, "SELECT tidemark_export('f') ->> 'batches'");
  assert_int(db, 1, "SELECT tidemark_claim('mine', 'logs')");
  add_to(db, "x TEXT DEFAULT 'then'");
  db_exec(db,
          "INSERT INTO logs VALUES ('b', NULL, 'row 2', 'now');"
          "INSERT INTO tidemark_sink(sink, dataset, target, format, columns, filter)"
          " VALUES ('narrow', 'logs', 'file://%s', 'ndjson', '[\"x\"]', 'x = ''then''')",
          scratch_path("narrow"));
  assert_int(db, 1, "SELECT tidemark_export('f') ->> 'batches'");
  assert_int(db, 2, "SELECT tidemark_export('narrow') ->> 'batches'");
  assert_int(db, 2, "SELECT tidemark_claim('mine', 'logs')");
  assert_text(db, "source=a|[\"source\",\"ts\",\"body\"] source=b|[\"source\",\"ts\",\"body\",\"x\"]",
              "SELECT partition, config ->> 'columns' FROM tidemark_batch ORDER BY batch");
  archive_read(db, scratch_path("archive"));
  assert_text(db,
              "{\"source\":\"a\",\"ts\":null,\"body\":\"row 1\"}"
              " {\"source\":\"b\",\"ts\":null,\"body\":\"row 2\",\"x\":\"now\"}",
              "SELECT json FROM temp.line ORDER BY json");
  archive_read(db, scratch_path("narrow"));
  assert_text(db, "{\"x\":\"then\"}", "SELECT json FROM temp.line");
  end();
}
END_TEST

START_TEST(a_default_that_cannot_be_is_damage) {
  begin();
  append("a", 1);
  add_to(db, "x INTEGER DEFAULT 5");
  db_exec(db, "UPDATE logs_column SET dflt_value = 'five' WHERE name = 'x'");
  db_close(db);
  db = db_open(scratch_path("db"), "shim");
  db_refuses(db, SQLITE_CORRUPT, "dataset logs: logs_column row 3: dflt_value is not of the column's type",
             "SELECT * FROM logs");
  db_close(db);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {old_rows_read_the_default_wherever_they_lie,
                                nothing_is_rewritten,
                                new_rows_have_what_they_are_given,
                                every_connection_sees_it_in_its_next_statement,
                                functions_of_other_connections_see_it,
                                a_rollback_takes_it_back,
                                a_rollback_is_not_hidden_by_changes_of_others,
                                what_is_refused,
                                a_reader_goes_on_when_its_rows_are_sealed,
                                the_same_column_again_is_nothing,
                                as_many_columns_as_the_host_takes,
                                works_in_any_host,
                                exports_follow_from_the_next_batch_on,
                                a_default_that_cannot_be_is_damage,
                                NULL};
  return unit_main("add_column", tests);
}
