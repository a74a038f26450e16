/* Rows of a big transaction that are encoded while it goes on: what is in memory, in the tail and in segments is each
 * row once and in order, through reads, savepoints and rollbacks, and takes little memory. */
#define _GNU_SOURCE
#include "engine/packing.h"

#include "engine/txn.h"
#include "sql_db.h"
#include "unit.h"

static sqlite3 *db;

/* A dataset and an ordinary table that has the same rows. */
static void begin(const char *options) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db,
          "PRAGMA journal_mode = wal; PRAGMA synchronous = off;"
          "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n INTEGER, body TEXT, partition_by=source%s)",
          options);
  db_exec(db, "CREATE TABLE twin(since INTEGER PRIMARY KEY, source TEXT, n INTEGER, body TEXT)");
}

static void end(void) {
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  db_close(db);
}

/* Rows of about 170 bytes, which 4,096 of make more than TIDE_PACKING_FROM, over partitions in turn. */
static void append(int rows, int partitions) {
  static const char row[] = "INSERT INTO %s(source, n, body) WITH RECURSIVE c(i) AS"
                            " (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < %d - 1)"
                            " SELECT 'p' || (i %% %d), i * 7919, printf('%%.150c%%d', 'x', i * 31) FROM c";
  db_exec(db, row, "twin", rows, partitions);
  db_exec(db, row, "logs", rows, partitions);
}

static void assert_same(void) {
  assert_text(db, "0|0",
              "SELECT (SELECT count(*) FROM (SELECT * FROM twin EXCEPT SELECT since, * FROM logs)),"
              " (SELECT count(*) FROM (SELECT since, * FROM logs EXCEPT SELECT * FROM twin))");
  assert_int(db, db_int(db, "SELECT count(*) FROM twin"), "SELECT count(*) FROM logs");
}

static const char segments[] = "SELECT rows FROM tidemark_segment ORDER BY partition, first_since";

START_TEST(segments_are_full) {
  begin(", segment_rows=10000");
  db_exec(db, "BEGIN");
  append(35000, 1);
  db_exec(db, "COMMIT");
  assert_text(db, "10000 10000 10000 5000", segments);
  assert_same();
  end();
}
END_TEST

START_TEST(segments_of_fewer_rows_than_a_frame) {
  begin(", segment_rows=1000");
  append(9500, 2);
  assert_text(db, "1000 1000 1000 1000 1000 1000 1000 1000", segments); /* the rest is in the tail */
  assert_same();
  end();
}
END_TEST

START_TEST(rows_of_the_tail_come_first) {
  begin("");
  append(20, 2);
  append(20000, 2);
  assert_same();
  assert_text(db, "source=p0|1 source=p1|2",
              "SELECT partition, min(first_since) FROM tidemark_segment GROUP BY partition");
  end();
}
END_TEST

START_TEST(read_in_the_middle) {
  begin("");
  db_exec(db, "BEGIN");
  append(10000, 2);
  assert_same();
  append(10000, 2);
  db_exec(db, "DELETE FROM logs WHERE n %% 5 = 0; DELETE FROM twin WHERE n %% 5 = 0");
  append(10000, 2);
  db_exec(db, "COMMIT");
  assert_same();
  end();
}
END_TEST

START_TEST(statement_that_reads_what_it_writes_to) {
  begin("");
  append(9000, 1);
  db_exec(db, "INSERT INTO logs SELECT source, n, body FROM logs;"
              "INSERT INTO twin(source, n, body) SELECT source, n, body FROM twin ORDER BY since");
  assert_same();
  end();
}
END_TEST

START_TEST(rolled_back_in_part) {
  begin("");
  db_exec(db, "BEGIN");
  append(10000, 2);
  db_exec(db, "SAVEPOINT s");
  append(10000, 2);
  db_exec(db, "ROLLBACK TO s");
  append(10000, 2);
  db_exec(db, "RELEASE s; COMMIT");
  assert_same();
  end();
}
END_TEST

START_TEST(rolled_back) {
  begin("");
  append(10, 2);
  db_exec(db, "BEGIN");
  append(20000, 2);
  db_exec(db, "ROLLBACK");
  assert_same();
  append(10000, 2);
  assert_same();
  end();
}
END_TEST

START_TEST(columns_and_level_change_in_the_middle) {
  begin("");
  db_exec(db, "BEGIN");
  append(10000, 2);
  db_exec(db, "SELECT tidemark_set('logs', 'zstd_level', 1), tidemark_add_column('logs', 'more TEXT');"
              "ALTER TABLE twin ADD COLUMN more TEXT");
  append(10000, 2);
  db_exec(db, "COMMIT");
  assert_same();
  end();
}
END_TEST

START_TEST(nothing_is_sealed_without_autoflush) {
  begin(", autoflush=0");
  append(20000, 2);
  assert_int(db, 0, "SELECT count(*) FROM tidemark_segment");
  assert_same();
  end();
}
END_TEST

START_TEST(memory_of_a_big_transaction) {
  enum { ROWS = 150000, PARTITIONS = 16, BESIDE = 10 << 20 }; /* 26 MB of rows */
  begin("");
  db_exec(db, "PRAGMA cache_size = -1000; BEGIN");
  const int64_t before = sqlite3_memory_used();
  sqlite3_memory_highwater(1);
  append(ROWS, PARTITIONS);
  db_exec(db, "COMMIT");
  ck_assert_int_lt(sqlite3_memory_highwater(1) - before, TIDE_TXN_MEMORY_BYTES + BESIDE);
  assert_int(db, ROWS, "SELECT count(*) FROM logs");
  assert_int(db, PARTITIONS, "SELECT count(*) FROM tidemark_stat WHERE segments > 0");
  end();
}
END_TEST

/* Values so big that a frame of them would be all of memory. */
START_TEST(memory_of_big_values) {
  begin("");
  db_exec(db, "PRAGMA cache_size = -1000; BEGIN");
  const int64_t before = sqlite3_memory_used();
  sqlite3_memory_highwater(1);
  db_exec(db, "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 499)"
              " INSERT INTO logs SELECT 'p' || (i %% 4), i, hex(randomblob(100000)) FROM c; COMMIT");
  ck_assert_int_lt(sqlite3_memory_highwater(1) - before, 60 << 20);
  assert_text(db, "500|200000", "SELECT count(*), max(length(body)) FROM logs");
  end();
}
END_TEST

/* The seventeenth row finds its run full, which becomes a segment, and then its value taken. */
START_TEST(a_refused_row_behind_a_segment_changes_no_rowid) {
  begin(", unique=n, segment_rows=16");
  db_exec(db, "BEGIN");
  for (int n = 1; n <= 16; n++)
    db_exec(db, "INSERT INTO logs VALUES ('a', %d, '')", n);
  assert_int(db, 0, "SELECT count(*) FROM logs_segment");
  db_refuses(db, SQLITE_CONSTRAINT, "UNIQUE", "INSERT INTO logs VALUES ('a', 3, '')");
  ck_assert_int_eq(sqlite3_last_insert_rowid(db), 16);
  assert_int(db, 1, "SELECT count(*) FROM logs_segment");
  db_exec(db, "COMMIT");
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {segments_are_full,
                                segments_of_fewer_rows_than_a_frame,
                                rows_of_the_tail_come_first,
                                read_in_the_middle,
                                statement_that_reads_what_it_writes_to,
                                rolled_back_in_part,
                                rolled_back,
                                columns_and_level_change_in_the_middle,
                                nothing_is_sealed_without_autoflush,
                                memory_of_a_big_transaction,
                                memory_of_big_values,
                                a_refused_row_behind_a_segment_changes_no_rowid,
                                NULL};
  return unit_main("packing", tests);
}
