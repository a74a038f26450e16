/* since IN (...) and DELETE by numbers, against an ordinary table: rows of segments of several frames, of the tail, and
 * deleted ones, in partitions whose numbers run through each other. */
#define _GNU_SOURCE
#include "random.h"
#include "sql_db.h"
#include "unit.h"

enum { ROWS = 12000, PARTITIONS = 5 };

static sqlite3 *db;

static int64_t chance(int n) {
  return (int64_t)(next_random() % (uint64_t)n);
}

static void begin(void) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "PRAGMA synchronous = off;"
              "CREATE VIRTUAL TABLE logs USING tidemark(source INTEGER, body TEXT, partition_by=source);"
              "CREATE TABLE plain(since INTEGER PRIMARY KEY, source INTEGER, body TEXT); CREATE TABLE list(n)");
  static const char append[] = "WITH RECURSIVE c(n) AS (SELECT %d UNION ALL SELECT n + 1 FROM c WHERE n < %d)"
                               " INSERT INTO %s(source, body) SELECT n * n %% %d, 'row ' || n FROM c";
  static const char *const tables[] = {"logs", "plain"};
  for (int i = 0; i < 2; i++) {
    db_exec(db, append, 1, ROWS - 2000, tables[i], PARTITIONS);
    if (i == 0) /* partitions 0, 1 and 4: two or three frames each */
      db_exec(db, "SELECT tidemark_flush('logs')");
    db_exec(db, append, ROWS - 1999, ROWS - 500, tables[i], PARTITIONS);
    if (i == 0)
      db_exec(db, "SELECT tidemark_flush('logs')");
    db_exec(db, append, ROWS - 499, ROWS, tables[i], PARTITIONS);
    db_exec(db, "DELETE FROM %s WHERE since %% 3 = 0", tables[i]);
  }
}

static void end(void) {
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  db_close(db);
}

static void fill_list(int count, int spread) {
  const int64_t from = chance(ROWS);
  db_exec(db, "DELETE FROM list");
  for (int i = 0; i < count; i++)
    db_exec(db, "INSERT INTO list VALUES (%lld)", (long long)(from + chance(spread)));
}

static void same(const char *where) {
  db_exec(db,
          "CREATE TEMP TABLE got AS SELECT since, source, body FROM logs WHERE %s;"
          "CREATE TEMP TABLE expected AS SELECT since, source, body FROM plain WHERE %s",
          where, where);
  assert_int(db, 0, "SELECT count(*) FROM (SELECT * FROM got EXCEPT SELECT * FROM expected)");
  assert_int(db, 0, "SELECT count(*) FROM (SELECT * FROM expected EXCEPT SELECT * FROM got)");
  ck_assert_int_eq(db_int(db, "SELECT count(*) FROM got"), db_int(db, "SELECT count(*) FROM expected"));
  db_exec(db, "DROP TABLE got; DROP TABLE expected");
}

START_TEST(rows_are_those_of_a_table) {
  begin();
  for (int i = 0; i < 40; i++) {
    fill_list(1 + (int)chance(60), i % 2 == 0 ? ROWS : 200);
    same("since IN (SELECT n FROM list)");
    same("since IN (SELECT n FROM list) AND source IN (0, 4)");
    same("since IN (SELECT n FROM list) AND since > 6000");
    same("rowid IN (SELECT n FROM list) AND since IN (SELECT n + 1 FROM list)");
    same("since NOT IN (SELECT n FROM list) AND since < 50");
  }
  end();
}
END_TEST

START_TEST(values_compare_as_an_integer_column_does) {
  begin();
  same("since IN (5, '7', 8.0, 10.5, NULL, 'x', x'0b', 11, 11, 1e300, -1, 9223372036854775807)");
  same("since IN (SELECT NULL)");
  same("since IN (SELECT n FROM list)"); /* which is empty */
  ck_assert_str_eq(db_text(db, "SELECT since FROM logs WHERE since IN (11500, 4, 11, 7001) ORDER BY since DESC"),
                   "11500 7001 11 4");
  end();
}
END_TEST

/* One statement that finds the rows of all partitions, then takes them one by one. */
START_TEST(deleted_are_those_of_a_table) {
  begin();
  for (int i = 0; i < 20; i++) {
    fill_list(1 + (int)chance(200), i % 2 == 0 ? ROWS : 300);
    static const char *const wheres[] = {"since IN (SELECT n FROM list)",
                                         "since > (SELECT min(n) FROM list) AND "
                                         "since % 7 = 1 AND since < 9000",
                                         "source = 4 AND since IN (SELECT n FROM list)"};
    db_exec(db, "DELETE FROM logs WHERE %s; DELETE FROM plain WHERE %s", wheres[i % 3], wheres[i % 3]);
    same("true");
    if (i % 6 == 5)
      db_exec(db, "SELECT tidemark_compact('logs')");
  }
  end();
}
END_TEST

/* A savepoint's rollback forgets where rows were found. */
START_TEST(deleted_after_a_rollback) {
  begin();
  static const char *const tables[] = {"logs", "plain"};
  for (int i = 0; i < 2; i++)
    db_exec(db,
            "BEGIN; DELETE FROM %s WHERE since IN (1, 2, 11999, 11998, 5000); SAVEPOINT s;"
            "DELETE FROM %s WHERE since IN (4, 5, 7, 11000); ROLLBACK TO s; DELETE FROM %s WHERE since IN (5, 10000);"
            "COMMIT",
            tables[i], tables[i], tables[i]);
  same("true");
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {rows_are_those_of_a_table, values_compare_as_an_integer_column_does,
                                deleted_are_those_of_a_table, deleted_after_a_rollback, NULL};
  return unit_main("since list", tests);
}
