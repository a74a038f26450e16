/* Wide rows and big values: 1,000 columns, values of 10 MB, and the host's limit on the length of one. */
#define _GNU_SOURCE
#include "base/buf.h"
#include "export_db.h"

enum { COLUMNS = 1000, BIG = 10000000, SMALL_LIMIT = 2000000 };

/* ---- 1,000 columns ---- */

/* "c0 <type>, c1 ...": each third column is REAL, TEXT or without a type. */
static void put_columns(struct tide_buf *sql, bool types) {
  struct tide_err err = {0};
  static const char *const names[] = {" INTEGER", " TEXT", ""};
  for (int i = 0; i < COLUMNS; i++)
    tide_buf_printf(sql, &err, "%sc%d%s", i > 0 ? ", " : "", i, types ? names[i % 3] : "");
  ck_assert(!tide_err_is_set(&err));
}

/* Row n: n * i, a text, a blob; NULL in every seventh. */
static void put_values(struct tide_buf *sql) {
  struct tide_err err = {0};
  static const char *const values[] = {"n * %d", "'t' || (n * %d)", "CAST(n * %d AS BLOB)"};
  for (int i = 0; i < COLUMNS; i++) {
    tide_buf_put_string(sql, i > 0 ? ", iif((n + " : "iif((n + ", &err);
    tide_buf_printf(sql, &err, "%d) %% 7 = 0, NULL, ", i);
    tide_buf_printf(sql, &err, values[i % 3], i);
    tide_buf_put_string(sql, ")", &err);
  }
  ck_assert(!tide_err_is_set(&err));
}

static const char *text_of(struct tide_buf *sql) {
  struct tide_err err = {0};
  tide_buf_put_u8(sql, 0, &err);
  return (const char *)sql->data;
}

static void check_wide(void) {
  assert_int(db, 60, "SELECT count(*) FROM (SELECT * FROM wide INTERSECT SELECT * FROM twin)");
  assert_int(db, 0, "SELECT count(*) FROM (SELECT * FROM wide EXCEPT SELECT * FROM twin)");
  assert_text(db, db_text(db, "SELECT c999 FROM twin WHERE c3 = 30 ORDER BY 1"),
              "SELECT c999 FROM wide WHERE c3 = 30 ORDER BY 1");
  assert_text(db, "ok", "SELECT tidemark_check('wide')");
}

START_TEST(thousand_columns_are_columns) {
  struct tide_buf columns = {0};
  struct tide_buf names = {0};
  struct tide_buf values = {0};
  begin();
  put_columns(&columns, true);
  put_columns(&names, false);
  put_values(&values);
  db_exec(db, "CREATE VIRTUAL TABLE wide USING tidemark(%s, segment_rows=32)", text_of(&columns));
  db_exec(db, "CREATE TABLE twin(%s)", text_of(&names));
  for (int from = 0; from < 60; from += 20) {
    db_exec(db,
            "WITH RECURSIVE c(n) AS (SELECT %d UNION ALL SELECT n + 1 FROM c WHERE n < %d) INSERT INTO twin SELECT %s"
            " FROM c",
            from, from + 19, text_of(&values));
    db_exec(db, "INSERT INTO wide SELECT * FROM twin WHERE rowid > %d ORDER BY rowid", from);
  }
  check_wide();
  assert_int(db, COLUMNS, "SELECT count(*) FROM pragma_table_info('wide')");
  db_exec(db, "SELECT tidemark_flush('wide')");
  check_wide();
  db_exec(db, "SELECT tidemark_compact('wide')");
  db_close(db);
  db = db_open(scratch_path("db"), "shim");
  check_wide();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('w', 'wide', 'file://%s', 'ndjson')",
          folder);
  assert_int(db, 60, "SELECT tidemark_export('w') ->> 'rows'");
  archive_read(db, folder);
  assert_int(db, 60 * COLUMNS, "SELECT count(*) FROM temp.line, json_each(line.json)");
  assert_int(db, 0,
             "SELECT count(*) FROM (SELECT c0, c1, c999 FROM twin EXCEPT"
             " SELECT json ->> 'c0', json ->> 'c1', json ->> 'c999' FROM temp.line)");
  tide_buf_clear(&columns);
  tide_buf_clear(&names);
  tide_buf_clear(&values);
  end();
}
END_TEST

/* ---- values of 10 MB ---- */

static void check_big(int rows) {
  assert_int(db, rows, "SELECT count(*) FROM logs l JOIN twin t ON t.id = l.since AND t.body IS l.body");
  assert_text(db, db_text(db, "SELECT typeof(body), length(body) FROM twin ORDER BY id"),
              "SELECT typeof(body), length(body) FROM logs ORDER BY since");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
}

/* Texts and blobs in turn; what cannot be compressed and what can. */
static void fill_twin(int rows) {
  db_exec(db, "CREATE TABLE twin(id INTEGER PRIMARY KEY, body)");
  for (int i = 1; i <= rows; i++)
    db_exec(db, "INSERT INTO twin VALUES (%d, %s)", i,
            i % 3 == 0   ? "printf('%.*c', 10000000, 'x')"
            : i % 3 == 1 ? "randomblob(10000000)"
                         : "replace(hex(zeroblob(2500000)), '00', 'é\n')");
}

static void live_with_big_values(const char *options) {
  const int rows = 4;
  begin();
  db_exec(db, "DROP TABLE logs; CREATE VIRTUAL TABLE logs USING tidemark(body, %s)", options);
  fill_twin(rows);
  db_exec(db, "INSERT INTO logs SELECT body FROM twin ORDER BY id");
  check_big(rows);
  db_exec(db, "SELECT tidemark_flush('logs')");
  check_big(rows);
  db_exec(db, "DELETE FROM logs WHERE since = 1; DELETE FROM twin WHERE id = 1; SELECT tidemark_compact('logs')");
  check_big(rows - 1);
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, target, format) VALUES ('s', 'logs', 'file://%s', 'ndjson')",
          folder);
  ck_assert_str_eq(tick("rows"), "3");
  archive_read(db, folder);
  /* base64: 4 characters for 3 bytes; a line is {"body":"..."} with two characters for a line's end */
  assert_text(db, "7500011 10000011 13333347", "SELECT length(json) FROM temp.line ORDER BY 1");
  assert_int(db, 2, "SELECT count(*) FROM temp.line JOIN twin ON typeof(body) = 'text' AND body = json ->> 'body'");
  end();
}

START_TEST(values_of_10_mb_through_the_tail) {
  live_with_big_values("autoflush=0");
}
END_TEST

START_TEST(values_of_10_mb_go_to_segments) {
  live_with_big_values("segment_rows=16");
}
END_TEST

/* 200 MB in one transaction, then out again: memory holds a few values, never all of them. */
START_TEST(memory_is_bounded_beside_big_values) {
  begin();
  db_exec(db, "UPDATE tidemark_sink SET format = 'ndjson.zst'");
  const sqlite3_int64 before = sqlite3_memory_used();
  sqlite3_memory_highwater(1);
  db_exec(db, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100)"
              " INSERT INTO logs SELECT 'web', printf('%%08d%%.*c', n, 1999992, 'x') FROM c");
  const sqlite3_int64 written = sqlite3_memory_highwater(1) - before;
  assert_int(db, 100, "SELECT count(*) FROM logs WHERE length(body) = %d", BIG / 5);
  const sqlite3_int64 read = sqlite3_memory_highwater(1) - before;
  db_exec(db, "SELECT tidemark_compact('logs')");
  const sqlite3_int64 compacted = sqlite3_memory_highwater(1) - before;
  ck_assert_str_eq(tick("rows"), "100");
  const sqlite3_int64 exported = sqlite3_memory_highwater(1) - before;
  printf("%lld MB to write, %lld to read, %lld to compact, %lld to export\n", (long long)written / 1000000,
         (long long)read / 1000000, (long long)compacted / 1000000, (long long)exported / 1000000);
  ck_assert_int_lt(written, 15 * BIG);
  ck_assert_int_lt(read, 15 * BIG);
  ck_assert_int_lt(compacted, 15 * BIG);
  ck_assert_int_lt(exported, 15 * BIG);
  end();
}
END_TEST

/* ---- the host's limit ---- */

/* A value is stored with a few bytes of our own around it: one that then is above the limit is refused with a sentence,
 * and nothing of it stays. */
static void refuse_at_the_limit(const char *options, int around) {
  begin();
  db_exec(db, "DROP TABLE logs; CREATE VIRTUAL TABLE logs USING tidemark(body, %s)", options);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, SMALL_LIMIT);
  db_exec(db, "INSERT INTO logs VALUES (randomblob(%d))", SMALL_LIMIT - 200);
  db_refuses(db, SQLITE_TOOBIG, "too big", "INSERT INTO logs VALUES (randomblob(%d))", SMALL_LIMIT + 1);
  for (int under = 0; under <= around; under += 2)
    db_refuses(db, SQLITE_TOOBIG, "limit", "INSERT INTO logs VALUES (randomblob(%d))", SMALL_LIMIT - under);
  db_refuses(db, SQLITE_TOOBIG, "limit", "INSERT INTO logs VALUES ('with it'), (randomblob(%d))", SMALL_LIMIT - 2);
  assert_int(db, 1, "SELECT count(*) FROM logs");
  db_exec(db, "INSERT INTO logs VALUES ('small')");
  assert_text(db, "1|1999800 2|5", "SELECT since, length(body) FROM logs ORDER BY since");
  db_exec(db, "SELECT tidemark_flush('logs'); SELECT tidemark_compact('logs')");
  assert_text(db, "1|1999800 2|5", "SELECT since, length(body) FROM logs ORDER BY since");
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  end();
}

START_TEST(value_at_the_limit_is_refused_in_the_tail) {
  refuse_at_the_limit("autoflush=0", 30);
}
END_TEST

START_TEST(value_at_the_limit_is_refused_in_a_segment) {
  refuse_at_the_limit("segment_rows=16", 10);
}
END_TEST

/* Stored by a host with a higher limit. */
START_TEST(value_above_the_readers_limit_is_an_error) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('web', hex(randomblob(2000000))), ('web', 'small')");
  for (int sealed = 0; sealed < 2; sealed++) {
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, SMALL_LIMIT);
    db_refuses(db, SQLITE_TOOBIG, "too big", "SELECT body FROM logs");
    assert_text(db, "1|web 2|web", "SELECT since, source FROM logs ORDER BY since");
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1000000000);
    assert_text(db, "4000000 5", "SELECT length(body) FROM logs ORDER BY since");
    db_exec(db, "SELECT tidemark_flush('logs')");
  }
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {thousand_columns_are_columns,
                                values_of_10_mb_through_the_tail,
                                values_of_10_mb_go_to_segments,
                                memory_is_bounded_beside_big_values,
                                value_at_the_limit_is_refused_in_the_tail,
                                value_at_the_limit_is_refused_in_a_segment,
                                value_above_the_readers_limit_is_an_error,
                                NULL};
  return unit_main("big", tests);
}
