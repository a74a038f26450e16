/* Many partitions of a few rows: what is done costs as much as the rows it is done to, however many partitions they are
 * in, and what has nothing to do does not look at them. Costs are counted, never timed: the steps that SQLite's machine
 * runs for all statements of the connection, and what it asks its authorizer while it compiles them. */
#define _GNU_SOURCE
#include "effort.h"
#include "export_db.h"

enum { ROWS_EACH = 5 };

struct cost {
  int64_t steps;
  int64_t compiling;
};

static struct cost spent;

static int count_steps(unsigned event, void *context, void *stmt, void *time) {
  (void)event, (void)context, (void)time;
  spent.steps += sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 1);
  return 0;
}

static int count_compiling(void *context, int action, const char *a, const char *b, const char *c, const char *d) {
  (void)context, (void)action, (void)a, (void)b, (void)c, (void)d;
  spent.compiling++;
  return SQLITE_OK;
}

static void watch(sqlite3 *of) {
  sqlite3_trace_v2(of, SQLITE_TRACE_PROFILE, count_steps, NULL);
  sqlite3_set_authorizer(of, count_compiling, NULL);
}

static int few(void) {
  return (int)effort(400, 10000);
}

static int many(void) {
  return 10 * few();
}

/* Each partition's rows lie far apart. */
static void append_all(int partitions, int first, int last) {
  db_exec(db,
          "WITH RECURSIVE c(n) AS (SELECT %d UNION ALL SELECT n + 1 FROM c WHERE n < %d)"
          " INSERT INTO logs SELECT 'p' || (n * 7919 %% %d), 'row ' || n FROM c",
          first, last, partitions);
}

static void begin_with(int partitions) {
  begin();
  db_exec(db, "PRAGMA synchronous = off; DELETE FROM tidemark_sink");
  append_all(partitions, 1, partitions * ROWS_EACH);
  assert_int(db, partitions, "SELECT count(*) FROM logs_partition");
}

/* ---- what the rows cost ---- */

static void in_one_transaction(int partitions) {
  append_all(partitions, 1, partitions * ROWS_EACH);
}

static void in_transactions_of_a_hundred(int partitions) {
  for (int first = 1; first <= partitions * ROWS_EACH; first += 100)
    append_all(partitions, first, first + 99);
}

static void count_all(int partitions) {
  assert_int(db, partitions * ROWS_EACH, "SELECT count(body) FROM logs");
}

static void seal(int partitions) {
  assert_int(db, partitions, "SELECT json_extract(tidemark_flush('logs'), '$.segments')");
}

static void compact(int partitions) {
  assert_int(db, partitions, "SELECT json_extract(tidemark_compact('logs'), '$.runs')");
}

static void prune(int partitions) {
  assert_int(db, 3 * partitions, "SELECT json_extract(tidemark_prune('logs'), '$.rows')");
}

static void prune_nothing(int partitions) {
  (void)partitions;
  assert_int(db, 0, "SELECT json_extract(tidemark_prune('logs'), '$.rows')");
}

static void maintain(int partitions) {
  for (int left = partitions; left > 0; left -= 10000)
    assert_int(db, left < 10000 ? left : 10000,
               "SELECT json_extract(tidemark_maintain('logs'), '$.datasets[0].sealed.partitions')");
}

static void delete_range(int partitions) {
  const int half = partitions * ROWS_EACH / 2;
  db_exec(db, "DELETE FROM logs WHERE since > %d", half);
  assert_int(db, partitions * ROWS_EACH - half, "SELECT changes()");
}

static void delete_list(int partitions) {
  db_exec(db, "DELETE FROM logs WHERE since IN (SELECT value FROM generated)");
  assert_int(db, partitions, "SELECT changes()");
}

static void read_lag(int partitions) {
  assert_int(db, partitions * ROWS_EACH, "SELECT sum(rows) FROM tidemark_lag");
}

static void claim_nothing(int partitions) {
  (void)partitions;
  assert_int(db, 0, "SELECT tidemark_claim('plain', 'logs')");
}

static void commit_lag(int partitions) {
  db_exec(db, "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
              " SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE rows > 0");
  assert_int(db, partitions, "SELECT count(*) FROM tidemark_export_log");
}

static struct cost cost_of(void (*work)(int partitions), const char *before, int partitions, bool empty) {
  if (empty)
    begin();
  else
    begin_with(partitions);
  db_exec(db,
          "PRAGMA synchronous = off; CREATE TABLE generated(value INTEGER PRIMARY KEY);"
          "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d)"
          " INSERT INTO generated SELECT n * %d FROM c",
          partitions, ROWS_EACH);
  db_exec(db, "%s", before);
  db_exec(db, "SELECT count(*) FROM logs WHERE since > 1000000000");
  watch(db);
  spent = (struct cost){0};
  work(partitions);
  const struct cost cost = spent;
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  end();
  scratch_close();
  return cost;
}

/* What a row costs in ten times as many partitions is not twice what it costs. */
static void grows_with_rows(void (*work)(int partitions), const char *before, bool empty) {
  const struct cost less = cost_of(work, before, few(), empty);
  const struct cost more = cost_of(work, before, many(), empty);
  ck_assert_int_gt(less.steps, 0);
  ck_assert_msg(more.steps <= 20 * less.steps, "%d partitions: %lld steps; %d: %lld", few(), (long long)less.steps,
                many(), (long long)more.steps);
  ck_assert_msg(more.compiling <= 20 * less.compiling, "%d partitions: %lld of compiling; %d: %lld", few(),
                (long long)less.compiling, many(), (long long)more.compiling);
}

START_TEST(appending) {
  grows_with_rows(in_one_transaction, "", true);
  grows_with_rows(in_transactions_of_a_hundred, "", true);
}
END_TEST

START_TEST(reading) {
  grows_with_rows(count_all, "", false);
  grows_with_rows(count_all, "SELECT tidemark_flush('logs')", false);
}
END_TEST

START_TEST(sealing) {
  grows_with_rows(seal, "", false);
  grows_with_rows(maintain, "", false);
}
END_TEST

START_TEST(compacting) {
  grows_with_rows(compact, "SELECT tidemark_flush('logs')", false);
}
END_TEST

START_TEST(pruning) {
  grows_with_rows(prune, "SELECT tidemark_set('logs', 'retention_rows', 2)", false);
  grows_with_rows(prune, "SELECT tidemark_set('logs', 'retention_rows', 2), tidemark_flush('logs')", false);
  grows_with_rows(prune_nothing, "SELECT tidemark_set('logs', 'retention_rows', 9)", false);
}
END_TEST

START_TEST(deleting) {
  grows_with_rows(delete_range, "", false);
  grows_with_rows(delete_range, "SELECT tidemark_flush('logs')", false);
  grows_with_rows(delete_list, "", false);
  grows_with_rows(delete_list, "SELECT tidemark_flush('logs')", false);
}
END_TEST

static const char plain_sink[] = "INSERT INTO tidemark_sink(sink, dataset) VALUES ('plain', 'logs')";

START_TEST(plain_sink_reads_and_commits) {
  grows_with_rows(read_lag, plain_sink, false);
  grows_with_rows(commit_lag, plain_sink, false);
}
END_TEST

/* ---- statements are compiled for the pass, not for the partition ---- */

static void compiles_once(void (*work)(int partitions), const char *before) {
  const struct cost less = cost_of(work, before, 100, false);
  const struct cost more = cost_of(work, before, 900, false);
  ck_assert_msg(more.compiling <= less.compiling + 100, "100 partitions: %lld of compiling; 900: %lld",
                (long long)less.compiling, (long long)more.compiling);
}

START_TEST(compiled_once) {
  compiles_once(count_all, "");
  compiles_once(seal, "");
  compiles_once(compact, "SELECT tidemark_flush('logs')");
  compiles_once(prune, "SELECT tidemark_set('logs', 'retention_rows', 2)");
  compiles_once(delete_list, "");
  compiles_once(claim_nothing, "INSERT INTO tidemark_sink(sink, dataset, start) VALUES ('plain', 'logs', 'latest')");
}
END_TEST

/* ---- nothing to do ---- */

/* The steps of a tick with nothing new, by the connection that shipped all before and by one that opens the file. */
static void idle_steps(int partitions, int64_t *ret_same, int64_t *ret_other) {
  begin();
  db_exec(db, "PRAGMA synchronous = off");
  append_all(partitions, 1, partitions);
  ck_assert_int_eq(db_int(db, "SELECT json_extract(tidemark_export('s'), '$.batches')"), partitions);
  db_exec(db, "SELECT tidemark_flush('logs')");
  ck_assert_str_eq(tick("batches"), "0");
  watch(db);
  spent = (struct cost){0};
  ck_assert_str_eq(tick("batches"), "0");
  *ret_same = spent.steps;
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  watch(other);
  spent = (struct cost){0};
  ck_assert_int_eq(db_int(other, "SELECT json_extract(tidemark_export('s'), '$.batches')"), 0);
  *ret_other = spent.steps;
  db_close(other);
  end();
  scratch_close();
}

START_TEST(an_idle_tick_looks_at_no_partition) {
  int64_t same[2];
  int64_t other[2];
  idle_steps(200, &same[0], &other[0]);
  idle_steps(getenv("TIDE_TEST_LONG") != NULL ? 10000 : 600, &same[1], &other[1]);
  ck_assert_int_eq(same[0], same[1]);
  ck_assert_msg(other[1] <= other[0] + 20, "200 partitions: %lld steps; more: %lld", (long long)other[0],
                (long long)other[1]);
}
END_TEST

static int64_t one_partition_steps(int partitions) {
  begin_with(partitions);
  db_exec(db, "SELECT tidemark_flush('logs')");
  assert_int(db, ROWS_EACH, "SELECT count(body) FROM logs WHERE source = 'p7'");
  watch(db);
  spent = (struct cost){0};
  assert_int(db, ROWS_EACH, "SELECT count(body) FROM logs WHERE source = 'p7'");
  const int64_t steps = spent.steps;
  end();
  scratch_close();
  return steps;
}

START_TEST(one_partition_by_its_values) {
  ck_assert_int_le(one_partition_steps(many()), one_partition_steps(few()) + 20);
}
END_TEST

/* The text of a partition whose rows are all newer is damaged, and then its segment contradicts itself. */
START_TEST(a_number_opens_no_partition_of_newer_rows) {
  begin();
  db_exec(db, "INSERT INTO logs VALUES ('old', 'a'), ('old', 'b'), ('new', 'c'), ('new', 'd');"
              "SELECT tidemark_flush('logs')");
  db_exec(db, "UPDATE logs_partition SET name = 'no=partition' WHERE name = 'source=new'");
  assert_text(db, "b", "SELECT body FROM logs WHERE since = 2");
  db_refuses(db, SQLITE_CORRUPT, "no=partition", "SELECT body FROM logs WHERE since = 3");
  db_exec(db, "UPDATE logs_partition SET name = 'source=new' WHERE name = 'no=partition';"
              "UPDATE logs_segment SET first_since = 9 WHERE last_since = 4");
  db_refuses(db, SQLITE_CORRUPT, "last_since 4) contradicts itself",
             "SELECT body FROM logs WHERE since BETWEEN 1 AND 2");
  db_close(db);
}
END_TEST

/* Where the values name no partition, the scan is that of all: never one that leaves rows out. */
START_TEST(values_compare_as_in_a_table) {
  static const char *const wheres[] = {"a = 5",
                                       "a = 5 AND b = 'x'",
                                       "a = '5' AND b = 'x'",
                                       "a = 5.0 AND b = 'x'",
                                       "a = 5.5 AND b = 'x'",
                                       "a = 5 AND b = 7",
                                       "a = 5 AND b = '7'",
                                       "a IS NULL AND b = 'x'",
                                       "a IS 5 AND b IS 'x'",
                                       "a = NULL AND b = 'x'",
                                       "a = 5 AND b = 'x' AND a = 6",
                                       "a = 5 AND b = 'x' COLLATE NOCASE",
                                       "b = 'x' AND a IN (5, '6', 6.0, NULL)",
                                       "b = 'X' AND a = 5",
                                       "b = 'a/b=%2F' AND a = 5",
                                       "b = '' AND a = 5",
                                       "b = printf('%.400c', 'x') AND a = 5",
                                       "b = 'none' AND a = 5"};
  begin();
  db_exec(db, "CREATE VIRTUAL TABLE d USING tidemark(a INTEGER, b TEXT, n, partition_by=(b, a));"
              "CREATE TABLE t(a INTEGER, b TEXT, n)");
  db_exec(db, "INSERT INTO t SELECT a.value, b.value, row_number() OVER () FROM json_each('[5, 6, null]') a,"
              " json_each('[\"x\", \"X\", \"7\", \"a/b=%%2F\", \"\", null]') b; INSERT INTO d SELECT * FROM t");
  for (size_t i = 0; i < sizeof wheres / sizeof *wheres; i++) {
    const char *expected =
        db_text(db, "SELECT count(*), group_concat(n) FROM (SELECT n FROM t WHERE %s ORDER BY n)", wheres[i]);
    ck_assert_str_eq(
        db_text(db, "SELECT count(*), group_concat(n) FROM (SELECT n FROM d WHERE %s ORDER BY n)", wheres[i]),
        expected);
  }
  end();
}
END_TEST

/* A sink in plain SQL has nobody who notes how far it is, but for maintenance. */
static int64_t idle_lag_steps(int partitions) {
  begin_with(partitions);
  db_exec(db, "%s", plain_sink);
  commit_lag(partitions);
  db_exec(db, "SELECT tidemark_flush('logs'), tidemark_maintain('logs')");
  assert_int(db, partitions * ROWS_EACH, "SELECT caught_up FROM tidemark_sink_state WHERE sink = 'plain'");
  append_all(partitions, 1, 3);
  assert_int(db, 3, "SELECT total(rows) FROM tidemark_lag WHERE rows > 0");
  watch(db);
  spent = (struct cost){0};
  assert_int(db, 3, "SELECT total(rows) FROM tidemark_lag WHERE rows > 0");
  const int64_t steps = spent.steps;
  end();
  scratch_close();
  return steps;
}

START_TEST(plain_sink_looks_at_what_is_new) {
  ck_assert_int_le(idle_lag_steps(many()), idle_lag_steps(few()) + 20);
}
END_TEST

START_TEST(a_sink_that_is_behind_is_not_noted) {
  begin_with(3);
  db_exec(db, "%s", plain_sink);
  commit_lag(3);
  db_exec(db, "INSERT INTO logs VALUES ('p1', 'new')");
  db_exec(db, "SELECT tidemark_maintain('logs')");
  assert_int(db, 0, "SELECT caught_up FROM tidemark_sink_state WHERE sink = 'plain'");
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, start) VALUES ('late', 'logs', 'latest')");
  db_exec(db, "SELECT tidemark_maintain('logs')");
  assert_int(db, 16, "SELECT caught_up FROM tidemark_sink_state WHERE sink = 'late'");
  const int64_t changes = db_int(db, "SELECT total_changes()");
  db_exec(db, "SELECT tidemark_maintain('logs')");
  assert_int(db, changes, "SELECT total_changes()");
  end();
}
END_TEST

/* ---- memory ---- */

static int64_t highest_memory(void) {
  sqlite3_int64 now = 0;
  sqlite3_int64 highest = 0;
  sqlite3_status64(SQLITE_STATUS_MEMORY_USED, &now, &highest, 1);
  return highest;
}

/* An index entry and a number or two for each partition, beside what a page cache and one segment take. */
START_TEST(memory_is_that_of_a_list_of_partitions) {
  begin_with(many());
  db_exec(db, "SELECT tidemark_set('logs', 'retention_rows', 2)");
  static void (*const works[])(int) = {count_all, prune, seal, compact};
  for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
    highest_memory();
    works[i](many());
    const int64_t highest = highest_memory();
    ck_assert_msg(highest < (16 << 20) + 400 * (int64_t)many(), "work %d: %lld bytes", (int)i, (long long)highest);
  }
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {appending,
                                reading,
                                sealing,
                                compacting,
                                pruning,
                                deleting,
                                plain_sink_reads_and_commits,
                                compiled_once,
                                an_idle_tick_looks_at_no_partition,
                                one_partition_by_its_values,
                                a_number_opens_no_partition_of_newer_rows,
                                values_compare_as_in_a_table,
                                plain_sink_looks_at_what_is_new,
                                a_sink_that_is_behind_is_not_noted,
                                memory_is_that_of_a_list_of_partitions,
                                NULL};
  return unit_main("many", tests);
}
