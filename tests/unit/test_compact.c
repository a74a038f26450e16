/* Compaction through SQL: what it must leave as it was, what must be gone after it, and what stops it. */
#define _GNU_SOURCE
#include <math.h>

#include "export_db.h"

static const char *compact(const char *what) {
  return db_text(db, "SELECT json_extract(tidemark_compact('logs'), '$.%s')", what);
}

/* n small segments of 'web', of `rows` rows each, at different times. */
static void seal_many(int n, int rows) {
  for (int i = 0; i < n; i++) {
    shim.now_ms += 1000;
    append_many(rows, 10 + i);
    db_exec(db, "SELECT tidemark_flush('logs')");
  }
}

/* Keeps what a dataset holds, in SQLite's own words and an ordinary table. */
static void remember(const char *dataset, const char *columns) {
  db_exec(db, "DROP TABLE IF EXISTS temp.before; CREATE TEMP TABLE before AS SELECT %s FROM %s", columns, dataset);
}

static void check_same(const char *dataset, const char *columns) {
  assert_text(db, "0|0",
              "SELECT (SELECT count(*) FROM (SELECT %s FROM %s EXCEPT SELECT * FROM temp.before)),"
              " (SELECT count(*) FROM (SELECT * FROM temp.before EXCEPT SELECT %s FROM %s))",
              columns, dataset, columns, dataset);
  assert_int(db, db_int(db, "SELECT count(*) FROM temp.before"), "SELECT count(*) FROM %s", dataset);
}

static const char logs_columns[] = "since, ingested_at, partition, source, body";

/* ---- what stays ---- */

static const char types_columns[] =
    "since, ingested_at, partition, quote(p), typeof(i), quote(i), typeof(r), quote(r), typeof(t), quote(t), typeof(b),"
    " quote(b), typeof(x), quote(x), quote(o), quote(j), quote(ts)";

static void make_types(void) {
  db_exec(db, "CREATE VIRTUAL TABLE d USING tidemark(p TEXT, i INTEGER, r REAL, t TEXT, b BLOB, x, o BOOLEAN, j JSON,"
              " ts TIMESTAMP_NS, partition_by=p)");
  for (int i = 0; i < 12; i++) {
    shim.now_ms += 777;
    db_exec(db,
            "INSERT INTO d VALUES ('a', %d, %d.25, printf('%%.*c', %d, 'y'), zeroblob(%d), %d, %d, '{}', NULL),"
            " ('b', 9223372036854775807, 9e999, '', x'', 'text', NULL, NULL, -1),"
            " ('a', -9223372036854775808, -1e-300, char(0x1f600) || 'x', x'00ff', x'00', 1, '[1', 0),"
            " (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),"
            " ('a', 0, 5e-324, 'a' || char(0) || 'b', randomblob(50), 9007199254740993.0, 0, 'null', %d),"
            " ('b', 1, 2, CAST(x'ff41' AS TEXT), x'61', '9007199254740993', 1, '\"', 5)",
            i, i, i * 20000, i * 10000, i % 3, i % 2, i);
    if (i % 2 == 1)
      db_exec(db, "SELECT tidemark_flush('d')");
  }
}

START_TEST(every_value_with_its_type_number_and_time) {
  begin();
  make_types();
  remember("d", types_columns);
  assert_text(db, "3|18|3",
              "SELECT j ->> 'runs', j ->> 'segments_in', j ->> 'segments_out'"
              " FROM (SELECT tidemark_compact('d') AS j)");
  check_same("d", types_columns);
  assert_text(db, "3|1", "SELECT count(*), max(revision) FROM tidemark_segment WHERE dataset = 'd'");
  end();
}
END_TEST

START_TEST(negative_zero_and_nan_like_text) {
  begin();
  db_exec(db, "CREATE VIRTUAL TABLE d USING tidemark(x)");
  sqlite3_stmt *stmt = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(db, "INSERT INTO d VALUES (?1)", -1, &stmt, NULL), SQLITE_OK);
  for (int i = 0; i < 2; i++) {
    sqlite3_bind_double(stmt, 1, -0.0);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_reset(stmt);
    db_exec(db, "SELECT tidemark_flush('d')");
  }
  sqlite3_finalize(stmt);
  assert_int(db, 2, "SELECT json_extract(tidemark_compact('d'), '$.segments_in')");
  ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT x FROM d", -1, &stmt, NULL), SQLITE_OK);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_type(stmt, 0), SQLITE_FLOAT);
    ck_assert(signbit(sqlite3_column_double(stmt, 0)));
  }
  sqlite3_finalize(stmt);
  end();
}
END_TEST

START_TEST(counts_and_lag_stay) {
  static const char figures[] = "SELECT partition, rows, written, deleted, first_since, last_since, oldest_at,"
                                " newest_at FROM tidemark_stat UNION ALL"
                                " SELECT partition, since, until, rows, oldest_at, state, NULL, NULL FROM tidemark_lag";
  begin();
  seal_many(5, 10);
  db_exec(db, "INSERT INTO logs VALUES ('db', 'x'); DELETE FROM logs WHERE since IN (3, 4, 50)");
  const char *before = db_text(db, figures);
  assert_text(db, "5|1|47|3",
              "SELECT j ->> 'segments_in', j ->> 'segments_out', j ->> 'rows', j ->> 'dropped'"
              " FROM (SELECT tidemark_compact('logs') AS j)");
  ck_assert_str_eq(db_text(db, figures), before);
  assert_text(db, "1|49|47|0|1|9", "SELECT first_since, last_since, rows, deleted, revision, level FROM logs_segment");
  end();
}
END_TEST

/* The batch is claimed and cannot be shipped, for the folder is away; another sink has shipped the same rows before. */
START_TEST(a_batch_ships_the_same_bytes_after_it) {
  begin();
  char other[150];
  snprintf(other, sizeof other, "%s.other", folder);
  ck_assert_int_eq(mkdir(other, 0755), 0);
  db_exec(db,
          "UPDATE tidemark_sink SET columns = '[\"since\", \"ingested_at\", \"partition\", \"body\"]', format = "
          "'ndjson.zst';"
          "INSERT INTO tidemark_sink(sink, dataset, target, format, columns)"
          " SELECT 'early', dataset, 'file://%s', format, columns FROM tidemark_sink",
          other);
  seal_many(6, 20);
  db_exec(db, "DELETE FROM logs WHERE since %% 7 = 0; SELECT tidemark_export('early')");
  ck_assert_int_eq(rmdir(folder), 0);
  db_exec(db, "SELECT tidemark_export('s')");
  assert_int(db, 1, "SELECT count(*) FROM tidemark_batch WHERE sink = 's'");
  ck_assert_str_eq(compact("segments_out"), "1");
  seal_many(1, 20);
  ck_assert_str_eq(compact("segments_out"), "1");
  ck_assert_int_eq(mkdir(folder, 0755), 0);
  db_exec(db, "SELECT tidemark_export('s', 'now', 'max_batches=1')");
  assert_text(db, "103|1|1",
              "SELECT max(rows), count(DISTINCT hash || bytes || rows || until), count(DISTINCT substr(object, -60))"
              " FROM tidemark_export_log WHERE since = 0");
  assert_int(db, 2, "SELECT count(*) FROM tidemark_export_log WHERE since = 0");
  end();
}
END_TEST

/* ---- what goes ---- */

static bool file_has(const void *bytes, size_t size) {
  struct tide_buf file = {0};
  archive_read_file(scratch_path("db"), &file);
  const bool has = memmem(file.data, file.len, bytes, size) != NULL;
  tide_buf_clear(&file);
  return has;
}

/* Random bytes are stored as they are. */
START_TEST(deleted_bytes_are_gone_after_vacuum) {
  unsigned char secret[64];
  begin();
  sqlite3_randomness(sizeof secret, secret);
  db_exec(db, "CREATE VIRTUAL TABLE d USING tidemark(x)");
  for (int i = 0; i < 3; i++) {
    sqlite3_stmt *stmt = NULL;
    ck_assert_int_eq(sqlite3_prepare_v2(db, "INSERT INTO d VALUES (?1), (randomblob(300))", -1, &stmt, NULL),
                     SQLITE_OK);
    sqlite3_bind_blob(stmt, 1, secret, sizeof secret, SQLITE_STATIC);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
    if (i == 1)
      db_exec(db, "DELETE FROM d WHERE length(x) = 64 AND since > 2"); /* in the tail */
    if (i < 2)
      db_exec(db, "SELECT tidemark_flush('d')");
  }
  db_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)");
  ck_assert(file_has(secret, sizeof secret));
  db_exec(db, "DELETE FROM d WHERE length(x) = 64");
  assert_text(db, "2|2|4|3",
              "SELECT j ->> 'runs', j ->> 'dropped', j ->> 'rows', j ->> '$.now.rows' FROM"
              " (SELECT tidemark_compact('d') AS j)");
  db_exec(db, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  ck_assert(!file_has(secret, sizeof secret));
  assert_text(db, "3|0", "SELECT count(*), (SELECT count(*) FROM d_deleted) FROM d");
  end();
}
END_TEST

/* Of the tail only the partitions that DELETE took rows of are sealed; none is a second time. */
START_TEST(tail_is_sealed_where_rows_were_deleted) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('a', '1'), ('b', '2'), ('a', '3'), ('b', '4'), ('c', '5'), ('b', '6')");
  db_exec(db, "INSERT INTO logs VALUES ('a', '7'), ('b', '8'), ('c', '9')");
  db_exec(db, "DELETE FROM logs WHERE since IN (5, 8, 9)");
  static const char tails[] = "SELECT group_concat(rows || ' ' || tail_rows, ', ')"
                              " FROM (SELECT * FROM tidemark_stat ORDER BY partition)";
  static const char call[] = "SELECT j ->> 'runs', j ->> 'rows', j ->> 'dropped', j ->> 'more' FROM"
                             " (SELECT tidemark_compact('logs', %d) AS j)";
  assert_text(db, "1|0|2|1", call, 1); /* c comes first, and is all that the budget has */
  assert_text(db, "3 3, 3 4, 0 0", tails);
  assert_text(db, "2|6|1|0", call, 1 << 20); /* what was b's tail is compressed harder at once */
  assert_text(db, "3 3, 3 0, 0 0", tails);
  assert_text(db, "0|0|0|0", call, 1 << 20);
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  end();
}
END_TEST

START_TEST(a_segment_of_deleted_rows_goes_whole) {
  begin();
  seal_many(3, 10);
  db_exec(db, "DELETE FROM logs WHERE since BETWEEN 11 AND 20 OR since > 25");
  remember("logs", logs_columns);
  ck_assert_str_eq(compact("dropped"), "15");
  check_same("logs", logs_columns);
  db_exec(db, "DELETE FROM logs");
  assert_text(db, "1|1|0|0",
              "SELECT j ->> 'runs', j ->> 'segments_in', j ->> 'segments_out', j ->> 'rows'"
              " FROM (SELECT tidemark_compact('logs') AS j)");
  assert_text(db, "0|0|0",
              "SELECT (SELECT count(*) FROM logs_segment), (SELECT count(*) FROM logs_chunk),"
              " (SELECT count(*) FROM logs_deleted)");
  db_exec(db, "INSERT INTO logs VALUES ('web', 'next')");
  assert_int(db, 31, "SELECT since FROM logs");
  end();
}
END_TEST

/* The floor stands within the second segment. */
START_TEST(pruned_rows_are_dropped) {
  begin();
  seal_many(3, 10);
  db_exec(db, "DELETE FROM logs WHERE since = 12; UPDATE tidemark_sink SET hold = 0;"
              "SELECT tidemark_set('logs', 'retention_rows', 15), tidemark_prune('logs')");
  assert_text(db, "10|1|4 10|0|0", "SELECT rows, deleted, pruned FROM logs_segment");
  assert_int(db, 15, "SELECT count(*) FROM logs");
  remember("logs", logs_columns);
  assert_text(db, "2|1|15|5",
              "SELECT j ->> 'segments_in', j ->> 'segments_out', j ->> 'rows', j ->> 'dropped'"
              " FROM (SELECT tidemark_compact('logs') AS j)");
  check_same("logs", logs_columns);
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  assert_text(db, "16|30|15|0|0", "SELECT first_since, last_since, rows, deleted, pruned FROM logs_segment");
  assert_text(db, "15|0", "SELECT rows, (SELECT count(*) FROM logs_deleted) FROM tidemark_stat");
  end();
}
END_TEST

START_TEST(chunk_ids_are_never_given_again) {
  begin();
  int64_t last = 0;
  for (int i = 0; i < 4; i++) {
    seal_many(2, 10);
    ck_assert_int_gt(db_int(db, "SELECT min(chunk) FROM logs_segment WHERE revision = 0"), last);
    last = db_int(db, "SELECT max(chunk + chunks - 1) FROM logs_segment");
    db_exec(db, "SELECT tidemark_compact('logs')");
    ck_assert_int_gt(db_int(db, "SELECT min(id) FROM logs_chunk"), last);
    last = db_int(db, "SELECT max(chunk + chunks - 1) FROM logs_segment");
    if (i % 2 == 1)
      db_exec(db, "DELETE FROM logs; SELECT tidemark_compact('logs')");
  }
  end();
}
END_TEST

/* ---- how much ---- */

START_TEST(nothing_due_writes_nothing) {
  begin();
  seal_many(3, 10);
  db_exec(db, "INSERT INTO logs VALUES ('db', 'in the tail')");
  ck_assert_str_eq(compact("runs"), "1");
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  const int64_t version = db_int(other, "PRAGMA data_version");
  const long changes = shim.changes;
  const int total = sqlite3_total_changes(db);
  assert_text(db,
              "{\"dataset\":\"logs\",\"runs\":0,\"segments_in\":0,\"segments_out\":0,\"rows\":0,\"dropped\":0,"
              "\"stored_in\":0,\"stored_out\":0,\"more\":false}",
              "SELECT json_remove(tidemark_compact('logs'), '$.now')");
  ck_assert_int_eq(shim.changes, changes);
  ck_assert_int_eq(sqlite3_total_changes(db), total);
  ck_assert_int_eq(db_int(other, "PRAGMA data_version"), version);
  db_close(other);
  end();
}
END_TEST

START_TEST(max_bytes_bounds_a_call) {
  static const char call[] =
      "SELECT j ->> 'runs', j ->> 'segments_in', j ->> 'more' FROM (SELECT tidemark_compact('logs',"
      " %lld) AS j)";
  begin();
  seal_many(3, 10);
  db_exec(db, "INSERT INTO logs SELECT 'p' || (since %% 3), body FROM logs; SELECT tidemark_flush('logs')");
  assert_text(db, "1|3|1", call, 1LL);
  assert_text(db, "1|1|1", call, 1LL); /* recompressed */
  const int64_t two = db_int(db, "SELECT sum(stored_bytes) FROM logs_segment WHERE revision = 0");
  assert_text(db, "1|1|1", call, (long long)two - 1);
  assert_text(db, "1|1|0", call, (long long)two);
  assert_text(db, "0|0|0", call, 1LL);
  end();
}
END_TEST

/* Their live rows seem to fit into one segment, by their share, and do not; the first of what they become ends at the
 * same row as one of them. */
START_TEST(a_run_that_does_not_fit_is_split) {
  begin();
  for (int i = 0; i < 3; i++)
    db_exec(
        db,
        "INSERT INTO logs VALUES ('web', ''), ('web', CAST(zeroblob(5 << 20) AS TEXT)); SELECT tidemark_flush('logs')");
  db_exec(db, "DELETE FROM logs WHERE body = ''");
  assert_text(db, "3|2|3",
              "SELECT j ->> 'segments_in', j ->> 'segments_out', j ->> 'rows'"
              " FROM (SELECT tidemark_compact('logs') AS j)");
  assert_text(db, "2|4|2 6|6|1", "SELECT first_since, last_since, rows FROM logs_segment");
  assert_text(db, "2|5242880 4|5242880 6|5242880", "SELECT since, length(CAST(body AS BLOB)) FROM logs");
  end();
}
END_TEST

START_TEST(a_lowered_target_holds_for_what_is_rewritten) {
  begin();
  seal_many(1, 100);
  db_exec(db, "SELECT tidemark_compact('logs'), tidemark_set('logs', 'segment_rows', 16); SELECT "
              "tidemark_compact('logs')");
  assert_text(db, "100", "SELECT rows FROM logs_segment");
  db_exec(db, "DELETE FROM logs WHERE since = 50");
  remember("logs", logs_columns);
  assert_text(db, "1|7|99",
              "SELECT j ->> 'segments_in', j ->> 'segments_out', j ->> 'rows'"
              " FROM (SELECT tidemark_compact('logs') AS j)");
  check_same("logs", logs_columns);
  ck_assert_str_eq(compact("runs"), "0");
  end();
}
END_TEST

/* Sealing goes by the option, compaction by 9 or the option when it is above. */
START_TEST(levels_of_sealing_and_compaction) {
  static const struct {
    int option;
    const char *expected;
  } cases[] = {{3, "3 9"}, {9, "9 9"}, {15, "15 15"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    begin();
    db_exec(db, "SELECT tidemark_set('logs', 'zstd_level', %d)", cases[i].option);
    seal_many(1, 100);
    const int64_t sealed = db_int(db, "SELECT level FROM logs_segment");
    compact("runs");
    assert_text(db, cases[i].expected, "SELECT %lld || ' ' || level FROM logs_segment", (long long)sealed);
    end();
  }
}
END_TEST

START_TEST(memory_is_bounded_by_a_segment) {
  begin();
  for (int i = 0; i < 64; i++) /* of a megabyte */
    append_many(64, 16000);
  db_exec(db, "SELECT tidemark_flush('logs'), tidemark_compact('logs')");
  db_exec(db, "UPDATE logs_segment SET level = 1");
  const sqlite3_int64 before = sqlite3_memory_used();
  sqlite3_memory_highwater(1);
  ck_assert_int_ge(db_int(db, "SELECT json_extract(tidemark_compact('logs'), '$.segments_in')"), 7);
  ck_assert_int_lt(sqlite3_memory_highwater(0) - before, 32 << 20);
  ck_assert_int_lt(sqlite3_memory_used() - before, 4 << 20);
  end();
}
END_TEST

/* ---- transactions ---- */

START_TEST(locked_under_an_open_cursor) {
  begin();
  seal_many(3, 10);
  sqlite3_stmt *read = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT since FROM logs", -1, &read, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_step(read), SQLITE_ROW);
  db_refuses(db, SQLITE_LOCKED, "tidemark_compact: a statement of this connection is reading dataset logs",
             "SELECT tidemark_compact('logs')");
  ck_assert_int_eq(sqlite3_step(read), SQLITE_ROW);
  sqlite3_finalize(read);
  db_refuses(db, SQLITE_LOCKED, "is reading dataset logs", "SELECT tidemark_compact('logs') FROM logs");
  ck_assert_str_eq(compact("runs"), "1");
  end();
}
END_TEST

START_TEST(follows_the_transaction_it_is_in) {
  begin();
  seal_many(3, 10);
  db_exec(db, "DELETE FROM logs WHERE since = 5");
  remember("logs", logs_columns);
  char *segments = strdup(db_text(db, "SELECT * FROM tidemark_segment"));
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('web', 'new'); DELETE FROM logs WHERE since IN (6, 11)");
  ck_assert_str_eq(compact("dropped"), "3");
  db_exec(db, "INSERT INTO logs VALUES ('web', 'newer'); DELETE FROM logs WHERE since = 7");
  assert_text(db, "28|32|1|30",
              "SELECT count(*), max(since), (SELECT count(*) FROM logs_segment), (SELECT last_since FROM logs_segment)"
              " FROM logs");
  db_exec(db, "ROLLBACK");
  check_same("logs", logs_columns);
  ck_assert_str_eq(db_text(db, "SELECT * FROM tidemark_segment"), segments);
  free(segments);
  db_exec(db, "BEGIN; SAVEPOINT s; SELECT tidemark_compact('logs'); ROLLBACK TO s; DELETE FROM logs WHERE since = 6;"
              "SELECT tidemark_compact('logs'); COMMIT");
  assert_text(db, "28|1|28|0",
              "SELECT count(*), (SELECT count(*) FROM logs_segment), (SELECT rows FROM logs_segment),"
              " (SELECT count(*) FROM logs_deleted) FROM logs");
  end();
}
END_TEST

/* The frame in which the last deleted row was found is not the one it is in now. */
START_TEST(deletes_go_on_in_the_same_transaction) {
  begin();
  seal_many(2, 10);
  db_exec(db,
          "BEGIN; DELETE FROM logs WHERE since = 3; SELECT tidemark_compact('logs'); DELETE FROM logs WHERE since = 4;"
          "DELETE FROM logs WHERE since = 3; COMMIT");
  assert_text(db, "19|1|18|2", "SELECT s.rows, s.deleted, t.rows, t.deleted FROM logs_segment s, tidemark_stat t");
  ck_assert_str_eq(compact("dropped"), "1");
  assert_int(db, 18, "SELECT count(*) FROM logs");
  end();
}
END_TEST

START_TEST(other_connections_notice) {
  begin();
  seal_many(3, 10);
  db_exec(db, "INSERT INTO logs VALUES ('web', 'tail'); DELETE FROM logs WHERE since = 2");
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  sqlite3_stmt *read = NULL;
  ck_assert_int_eq(sqlite3_prepare_v2(other, "SELECT since FROM logs ORDER BY since", -1, &read, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_step(read), SQLITE_ROW);
  ck_assert_str_eq(compact("segments_in"), "3");
  int rows = 1;
  while (sqlite3_step(read) == SQLITE_ROW)
    rows++;
  ck_assert_int_eq(rows, 30);
  sqlite3_finalize(read);
  assert_int(other, 30, "SELECT count(*) FROM logs");
  db_exec(other,
          "DELETE FROM logs WHERE since = 3; INSERT INTO logs VALUES ('web', 'x'); SELECT tidemark_flush('logs')");
  assert_int(other, 2, "SELECT json_extract(tidemark_compact('logs'), '$.segments_in')");
  assert_text(db, "30|32|1", "SELECT count(*), max(since), (SELECT count(*) FROM logs_segment) FROM logs");
  db_close(other);
  end();
}
END_TEST

/* ---- trouble ---- */

START_TEST(damage_in_one_partition_stops_no_other) {
  begin();
  for (int i = 0; i < 2; i++)
    db_exec(db, "INSERT INTO logs VALUES ('a', 'a%d'), ('b', 'b%d'), ('c', 'c%d'); SELECT tidemark_flush('logs')", i, i,
            i);
  db_exec(db, "UPDATE logs_chunk SET data = zeroblob(length(data)) WHERE id IN (SELECT chunk + 3 FROM logs_segment"
              " JOIN logs_partition ON id = partition WHERE name = 'source=b')");
  db_exec(db, "UPDATE logs_segment SET deleted = 1 WHERE last_since = 4"); /* which nobody did */
  db_exec(db, "BEGIN");
  assert_text(db, "2|2",
              "SELECT j ->> 'runs', json_array_length(j, '$.failures') FROM (SELECT tidemark_compact('logs') AS j)");
  db_exec(db, "ROLLBACK");
  assert_text(db,
              "2|source=a|source=b|1|"
              "dataset logs: segments of partition 'source=a' from since 4 to 4 have 1 live rows, logs_segment says 0",
              "SELECT j ->> 'runs', j ->> '$.failures[0].partition', j ->> '$.failures[1].partition',"
              " j ->> '$.failures[1].error' LIKE '%%source=b%%column body%%', j ->> '$.failures[0].error'"
              " FROM (SELECT tidemark_compact('logs') AS j)");
  assert_text(db, "source=a|2 source=b|2 source=c|1", "SELECT partition, segments FROM tidemark_stat ORDER BY 1");
  assert_text(db, "c0 c1", "SELECT body FROM logs WHERE source = 'c'");
  db_exec(db, "UPDATE logs_segment SET deleted = 0");
  ck_assert_str_eq(compact("segments_in"), "2");
  end();
}
END_TEST

static int countdown;

static int stop(void *data) {
  (void)data;
  return countdown-- == 0;
}

/* At whatever moment it is stopped, all rows are there once, and what was done is done. */
START_TEST(interrupted_anywhere) {
  begin();
  seal_many(4, 10);
  db_exec(db,
          "INSERT INTO logs SELECT 'p' || (since %% 3), body FROM logs; SELECT tidemark_flush('logs');"
          "DELETE FROM logs WHERE since %% 5 = 0; VACUUM INTO %Q",
          scratch_path("copy"));
  db_close(db);
  int stops = 0;
  for (int at = 0, done = 0; !done; at += 7) {
    char command[600];
    snprintf(command, sizeof command, "rm -f %s*; cp %s %s", scratch_path("db"), scratch_path("copy"),
             scratch_path("db"));
    ck_assert_int_eq(system(command), 0);
    db = db_open(scratch_path("db"), "shim");
    remember("logs", logs_columns);
    countdown = at;
    sqlite3_progress_handler(db, 5, stop, NULL);
    const int rc = sqlite3_exec(db, "SELECT tidemark_compact('logs')", NULL, NULL, NULL);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    ck_assert_msg(rc == SQLITE_OK || rc == SQLITE_INTERRUPT, "%d: %s", rc, sqlite3_errmsg(db));
    ck_assert(sqlite3_get_autocommit(db));
    check_same("logs", logs_columns);
    done = rc == SQLITE_OK;
    stops += !done;
    db_exec(db, "SELECT tidemark_compact('logs')");
    check_same("logs", logs_columns);
    assert_text(db, "4|0|ok",
                "SELECT count(*), (SELECT count(*) FROM logs_deleted), tidemark_check('logs') FROM logs_segment");
    db_close(db);
  }
  ck_assert_int_gt(stops, 20);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {every_value_with_its_type_number_and_time,
                                negative_zero_and_nan_like_text,
                                counts_and_lag_stay,
                                a_batch_ships_the_same_bytes_after_it,
                                deleted_bytes_are_gone_after_vacuum,
                                tail_is_sealed_where_rows_were_deleted,
                                a_segment_of_deleted_rows_goes_whole,
                                pruned_rows_are_dropped,
                                chunk_ids_are_never_given_again,
                                nothing_due_writes_nothing,
                                max_bytes_bounds_a_call,
                                a_run_that_does_not_fit_is_split,
                                a_lowered_target_holds_for_what_is_rewritten,
                                levels_of_sealing_and_compaction,
                                memory_is_bounded_by_a_segment,
                                locked_under_an_open_cursor,
                                follows_the_transaction_it_is_in,
                                deletes_go_on_in_the_same_transaction,
                                other_connections_notice,
                                damage_in_one_partition_stops_no_other,
                                interrupted_anywhere,
                                NULL};
  return unit_main("compact", tests);
}
