/* How far the limits of retention reach: the arithmetic by itself, and over real partitions against a model of plain
 * rows in an array. */
#define _GNU_SOURCE
#include "engine/cut.h"
#include "random.h"
#include "shim_vfs.h"
#include "sql_db.h"
#include "unit.h"

static const int64_t T0 = 1767225600000; /* 2026-01-01 */

/* ---- the arithmetic ---- */

START_TEST(a_time_in_each_unit) {
  static const struct {
    enum tide_type type;
    int64_t ms;
    int64_t expected;
  } cases[] = {
      {TIDE_TYPE_TIMESTAMP_S, 0, 0},
      {TIDE_TYPE_TIMESTAMP_S, 999, 0},
      {TIDE_TYPE_TIMESTAMP_S, 1000, 1},
      {TIDE_TYPE_TIMESTAMP_S, -1, -1},
      {TIDE_TYPE_TIMESTAMP_S, -1000, -1},
      {TIDE_TYPE_TIMESTAMP_S, -1001, -2},
      {TIDE_TYPE_TIMESTAMP_S, INT64_MAX, 9223372036854775},
      {TIDE_TYPE_TIMESTAMP_S, INT64_MIN, -9223372036854776},
      {TIDE_TYPE_TIMESTAMP_MS, -1001, -1001},
      {TIDE_TYPE_TIMESTAMP_MS, INT64_MAX, INT64_MAX},
      {TIDE_TYPE_TIMESTAMP_US, -1001, -1001000},
      {TIDE_TYPE_TIMESTAMP_US, 9223372036854775, 9223372036854775000},
      {TIDE_TYPE_TIMESTAMP_US, 9223372036854776, INT64_MAX},
      {TIDE_TYPE_TIMESTAMP_US, -9223372036854776, INT64_MIN},
      {TIDE_TYPE_TIMESTAMP_NS, 1767225600000, 1767225600000000000},
      {TIDE_TYPE_TIMESTAMP_NS, 9223372036854, 9223372036854000000},
      {TIDE_TYPE_TIMESTAMP_NS, 9223372036855, INT64_MAX},
      {TIDE_TYPE_TIMESTAMP_NS, -9223372036854, -9223372036854000000},
      {TIDE_TYPE_TIMESTAMP_NS, -9223372036855, INT64_MIN},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert_msg(tide_cut_in_unit(cases[i].ms, cases[i].type) == cases[i].expected, "case %zu", i);
}
END_TEST

START_TEST(rows_past_a_limit_of_bytes) {
  static const struct tide_cut_part three[] = {{10, 100, 10}, {4, 80, 8}, {5, 10, 5}}; /* 100, 40 and 10 bytes */
  static const struct {
    int64_t limit;
    int64_t expected;
  } cases[] = {{0, 19},  {1, 19}, {2, 18},  {9, 15},  {10, 14}, {19, 14},  {20, 13},      {50, 10},
               {59, 10}, {60, 9}, {149, 1}, {150, 0}, {151, 0}, {1000, 0}, {INT64_MAX, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert_msg(tide_cut_rows_past_bytes(three, 3, cases[i].limit) == cases[i].expected, "limit %lld gives %lld",
                  (long long)cases[i].limit, (long long)tide_cut_rows_past_bytes(three, 3, cases[i].limit));
  ck_assert_int_eq(tide_cut_rows_past_bytes(NULL, 0, 0), 0);
}
END_TEST

START_TEST(rows_past_bytes_is_exact) {
  /* 1 / 49.0 * 49 is below 1 */
  ck_assert_int_eq(tide_cut_rows_past_bytes((struct tide_cut_part[]){{49, 49, 49}}, 1, 1), 48);
  /* 7 of 16 rows of 1000 bytes take 437.5 */
  ck_assert_int_eq(tide_cut_rows_past_bytes((struct tide_cut_part[]){{7, 1000, 16}}, 1, 437), 1);
  ck_assert_int_eq(tide_cut_rows_past_bytes((struct tide_cut_part[]){{7, 1000, 16}}, 1, 438), 0);
  const int64_t most = INT64_C(1) << 62;
  const struct tide_cut_part big[] = {{most, most, most}, {3, most, 3}};
  ck_assert_int_eq(tide_cut_rows_past_bytes(big, 2, most - 1), most + 1);
  ck_assert_int_eq(tide_cut_rows_past_bytes(big, 2, most), most);
  ck_assert_int_eq(tide_cut_rows_past_bytes(big, 2, most + 5), most - 5);
  /* empty parts, and parts without bytes */
  ck_assert_int_eq(tide_cut_rows_past_bytes((struct tide_cut_part[]){{5, 50, 5}, {0, 100, 9}}, 2, 9), 5);
  ck_assert_int_eq(tide_cut_rows_past_bytes((struct tide_cut_part[]){{5, 0, 5}, {5, 50, 5}}, 2, 0), 10);
  ck_assert_int_eq(tide_cut_rows_past_bytes((struct tide_cut_part[]){{5, 50, 5}, {5, 0, 5}}, 2, 0), 5);
}
END_TEST

/* ---- against the model ---- */

enum { PARTITIONS = 3, ROWS_MAX = 4000 };

static struct row {
  int source;
  bool live;
  bool timed;
  int64_t ts; /* in the column's unit */
  int64_t at;
} rows[ROWS_MAX + 1]; /* by since */

static struct {
  sqlite3 *db;
  int last;                 /* since */
  int type;                 /* of ts */
  int64_t age, rows, bytes; /* -1: none */
  bool by_column;
} world;

static const char *const type_names[] = {"TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_US", "TIMESTAMP_NS"};

static int below(int n) {
  return (int)(next_random() % (uint64_t)n);
}

/* A time about the clock, off by some seconds, in the unit of ts, with digits below the millisecond. */
static int64_t random_time(void) {
  const int64_t ms = shim.now_ms - 6000 + below(7000);
  switch (world.type) {
  case 0:
    return ms / 1000;
  case 1:
    return ms;
  case 2:
    return ms * 1000 + below(1000);
  default:
    return ms * 1000000 + below(1000000);
  }
}

/* Whether a time of ts is at or before a moment in ms. */
static bool is_upto(int64_t ts, int64_t ms) {
  switch (world.type) {
  case 0:
    return ts * 1000 <= ms;
  case 1:
    return ts <= ms;
  case 2:
    return ts <= ms * 1000;
  default:
    return ts <= ms * 1000000;
  }
}

static void insert_rows(int n) {
  char sql[4096] = "INSERT INTO logs VALUES ";
  for (int i = 0; i < n; i++) {
    struct row *row = &rows[++world.last];
    *row = (struct row){.source = below(PARTITIONS), .live = true, .at = shim.now_ms, .timed = below(6) > 0};
    row->ts = random_time();
    const size_t used = strlen(sql);
    char ts[24] = "NULL";
    if (row->timed)
      snprintf(ts, sizeof ts, "%lld", (long long)row->ts);
    snprintf(sql + used, sizeof sql - used, "%s('%c', %s, '%.*s')", i > 0 ? ", " : "", 'a' + row->source, ts, below(30),
             "abcdefghijklmnopqrstuvwxyz0123");
  }
  db_exec(world.db, "%s", sql);
  ck_assert_int_eq(sqlite3_last_insert_rowid(world.db), world.last);
}

static void delete_rows(int from, int n) {
  db_exec(world.db, "DELETE FROM logs WHERE since BETWEEN %d AND %d", from, from + n - 1);
  for (int since = from; since < from + n && since <= world.last; since++)
    rows[since].live = false;
}

/* Whether the model's row has no more than `bytes` with the newer ones: parts are what SQL shows of the storage. */
static bool fits(int since, int64_t bytes) {
  sqlite3_stmt *stmt = NULL;
  sqlite3_prepare_v2(world.db,
                     "SELECT first_since, last_since, rows, stored_bytes FROM tidemark_segment WHERE partition = ?1"
                     " UNION ALL SELECT first_since, t.last_since, rows, length(data)"
                     " FROM logs_tail t JOIN logs_partition p ON p.id = t.partition WHERE p.name = ?1",
                     -1, &stmt, NULL);
  char partition[16];
  snprintf(partition, sizeof partition, "source=%c", 'a' + rows[since].source);
  sqlite3_bind_text(stmt, 1, partition, -1, SQLITE_STATIC);
  bool found = false;
  while (sqlite3_step(stmt) == SQLITE_ROW) {
    const int64_t first = sqlite3_column_int64(stmt, 0), last = sqlite3_column_int64(stmt, 1);
    const int64_t count = sqlite3_column_int64(stmt, 2), stored = sqlite3_column_int64(stmt, 3);
    int64_t newer = 0;
    for (int64_t i = first > since ? first : since; i <= last; i++)
      newer += rows[i].live && rows[i].source == rows[since].source;
    if (first <= since && since <= last)
      found = true;
    if (last >= since)
      bytes -= (newer * stored + count - 1) / count;
  }
  sqlite3_finalize(stmt);
  ck_assert_msg(found, "row %d is nowhere", since);
  return bytes >= 0;
}

static bool is_past(int since, int newer) {
  const struct row *row = &rows[since];
  const int64_t cut = shim.now_ms - world.age;
  if (world.rows >= 0 && newer >= world.rows)
    return true;
  if (world.bytes >= 0 && !fits(since, world.bytes))
    return true;
  return world.age >= 0 && (world.by_column && row->timed ? is_upto(row->ts, cut) : row->at <= cut);
}

/* Takes the longest prefix of the partition in which every row is past. Whether the row that then comes is of the
 * future. */
static bool model_prune(int source) {
  int live = 0;
  for (int since = 1; since <= world.last; since++)
    live += rows[since].live && rows[since].source == source;
  int gone = 0, since = 1;
  bool goes[ROWS_MAX + 1] = {false};
  for (; since <= world.last; since++) {
    if (!rows[since].live || rows[since].source != source)
      continue;
    if (!is_past(since, live - gone - 1))
      break;
    goes[since] = true;
    gone++;
  }
  for (int i = 1; i <= world.last; i++)
    rows[i].live = rows[i].live && !goes[i];
  if (since > world.last || world.age < 0)
    return false;
  return world.by_column && rows[since].timed ? !is_upto(rows[since].ts, shim.now_ms) : rows[since].at > shim.now_ms;
}

static void check_rows(const char *when) {
  sqlite3_stmt *stmt = NULL;
  sqlite3_prepare_v2(world.db, "SELECT since FROM logs ORDER BY since", -1, &stmt, NULL);
  for (int since = 1; since <= world.last; since++) {
    if (!rows[since].live)
      continue;
    ck_assert_msg(sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0) == since,
                  "%s: %d is not there, but %d", when, since, sqlite3_column_int(stmt, 0));
  }
  ck_assert_msg(sqlite3_step(stmt) == SQLITE_DONE, "%s: %d is there", when, sqlite3_column_int(stmt, 0));
  sqlite3_finalize(stmt);
  assert_text(world.db, "0|0",
              "SELECT (SELECT coalesce(sum(rows), 0) FROM tidemark_stat) - (SELECT count(*) FROM logs),"
              " (SELECT coalesce(sum(rows), 0) FROM tidemark_dataset) - (SELECT count(*) FROM logs)");
}

static void set(const char *option, int64_t value) {
  if (value < 0)
    db_exec(world.db, "SELECT tidemark_set('logs', %Q, NULL)", option);
  else
    db_exec(world.db, "SELECT tidemark_set('logs', %Q, %lld)", option, (long long)value);
}

static int64_t live_rows(void) {
  int64_t live = 0;
  for (int since = 1; since <= world.last; since++)
    live += rows[since].live;
  return live;
}

static void choose_limits(void) {
  world.rows = below(3) == 0 ? below(60) : -1;
  world.bytes = below(3) == 0 ? below(2500) : -1;
  world.age = below(3) > 0 ? below(9000) : -1;
  world.by_column = below(2) == 0;
  set("retention_rows", world.rows);
  set("retention_bytes", world.bytes);
  if (world.age < 0)
    set("retention_age", -1);
  else
    db_exec(world.db, "SELECT tidemark_set('logs', 'retention_age', '%lld ms')", (long long)world.age);
  db_exec(world.db, "SELECT tidemark_set('logs', 'retention_by', %Q)", world.by_column ? "ts" : NULL);
}

static void prune_and_compare(void) {
  static const char report[] = "SELECT json_remove(tidemark_prune('logs', %Q), '$.dry_run', '$.now')";
  char before[8192];
  int64_t future = 0;
  choose_limits();
  const int64_t live = live_rows();
  snprintf(before, sizeof before, "%s", db_text(world.db, report, "dry-run"));
  for (int source = 0; source < PARTITIONS; source++)
    future += model_prune(source);
  const char *after = db_text(world.db, report, NULL);
  check_rows(after);
  ck_assert_str_eq(before, after);
  assert_int(world.db, live - live_rows(), "SELECT %Q ->> 'rows'", after);
  assert_int(world.db, future, "SELECT coalesce(%Q ->> 'future_partitions', 0)", after);
  assert_int(world.db, 0, "SELECT tidemark_prune('logs') ->> 'rows'");
}

static void act(void) {
  shim.now_ms += below(10) == 0 ? -below(3000) : below(700);
  switch (below(9)) {
  case 0:
    if (world.last > 0)
      delete_rows(1 + below(world.last), 1 + below(12));
    break;
  case 1:
    db_exec(world.db, "SELECT tidemark_flush('logs')");
    break;
  case 2:
    db_exec(world.db, "SELECT tidemark_compact('logs')");
    break;
  case 3:
    prune_and_compare();
    break;
  default:
    insert_rows(1 + below(14));
  }
}

START_TEST(cuts_are_the_models) {
  const int rounds = getenv("TIDE_TEST_LONG") != NULL ? 200 : 8;
  shim_register();
  for (int round = 0; round < rounds; round++) {
    scratch_open();
    random_seed = (uint64_t)round;
    shim.now_ms = T0;
    world.db = db_open(scratch_path("db"), "shim");
    world.last = 0;
    world.type = round % 4;
    db_exec(world.db,
            "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, ts %s, body TEXT, partition_by=source,"
            " segment_rows=16)",
            type_names[world.type]);
    for (int i = 0; i < 150; i++)
      act();
    ck_assert_int_le(world.last, ROWS_MAX);
    check_rows("at the end");
    assert_text(world.db, "ok", "SELECT tidemark_check('logs')");
    db_close(world.db);
  }
}
END_TEST

START_TEST(first_time_of_all_is_not_past_what_lies_before_it) {
  scratch_open();
  shim_register();
  shim.now_ms = T0;
  sqlite3 *db = db_open(scratch_path("db"), "shim");
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(ts TIMESTAMP_NS, segment_rows=16, retention_by=ts,"
              " retention_age='365000 days'); INSERT INTO logs VALUES (-9223372036854775807 - 1)"); /* the year 1677 */
  assert_int(db, 0, "SELECT tidemark_prune('logs') ->> 'rows'");
  db_exec(db, "SELECT tidemark_flush('logs')");
  assert_int(db, 0, "SELECT tidemark_prune('logs') ->> 'rows'");
  db_exec(db, "SELECT tidemark_set('logs', 'retention_age', '36500 days')");
  assert_int(db, 1, "SELECT tidemark_prune('logs') ->> 'rows'");
  db_close(db);
}
END_TEST

/* ---- what need not be read ---- */

/* Five segments of 16 rows: ingest and ts are 100 ms later from one to the next, the first 1000 ms ago. Then the chunks
 * of those from `from` to `to` are no more what they were. */
static void begin_damaged(const char *ts, const char *options, int from, int to) {
  scratch_open();
  shim_register();
  world.db = db_open(scratch_path("db"), "shim");
  db_exec(world.db, "CREATE VIRTUAL TABLE logs USING tidemark(ts TIMESTAMP_MS, body TEXT, segment_rows=16%s)", options);
  for (int segment = 0; segment < 5; segment++) {
    shim.now_ms = T0 + 100 * segment;
    db_exec(world.db,
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 16)"
            " INSERT INTO logs SELECT %s, 'x' FROM c",
            ts);
    shim.now_ms = T0;
  }
  assert_text(world.db, "1|16 17|32 33|48 49|64 65|80", "SELECT first_since, last_since FROM tidemark_segment");
  db_exec(world.db,
          "UPDATE logs_chunk SET data = zeroblob(length(data)) WHERE EXISTS (SELECT 1 FROM logs_segment s"
          " WHERE logs_chunk.id BETWEEN chunk AND chunk + chunks - 1 AND last_since / 16 BETWEEN %d AND %d)",
          from, to);
  shim.now_ms = T0 + 1000;
}

static const char *prune_by(const char *option, const char *value) {
  db_exec(world.db, "SELECT tidemark_set('logs', %Q, %Q)", option, value);
  return db_text(world.db, "SELECT (j ->> 'rows') || ' in ' || (j ->> 'segments') || ', failed '"
                           " || coalesce(j ->> '$.failures[0].error', '-') FROM (SELECT tidemark_prune('logs') AS j)");
}

START_TEST(age_of_ingest_reads_the_segment_of_the_cut_alone) {
  begin_damaged("0", "", 1, 2);
  ck_assert_str_eq(prune_by("retention_age", "850 ms"), "32 in 2, failed -");
  assert_int(world.db, 33, "SELECT min(since) FROM logs");
  db_close(world.db);
}
END_TEST

START_TEST(age_of_a_column_reads_the_segment_of_the_cut_alone) {
  begin_damaged("1767225600000 + 100 * (SELECT count(*) FROM logs) / 16", ", retention_by=ts", 1, 2);
  ck_assert_str_eq(prune_by("retention_age", "850 ms"), "32 in 2, failed -");
  db_close(world.db);
}
END_TEST

START_TEST(column_of_nulls_goes_by_ingest_unread) {
  begin_damaged("NULL", ", retention_by=ts", 1, 5);
  ck_assert_str_eq(prune_by("retention_age", "600 ms"), "80 in 5, failed -");
  db_close(world.db);
}
END_TEST

START_TEST(column_of_the_partition_is_not_read) {
  begin_damaged("1767225600000", ", partition_by=ts, retention_by=ts", 1, 5);
  ck_assert_str_eq(prune_by("retention_age", "1000 ms"), "80 in 5, failed -");
  db_close(world.db);
  begin_damaged("NULL", ", partition_by=ts, retention_by=ts", 1, 2);
  ck_assert_str_eq(prune_by("retention_age", "850 ms"), "32 in 2, failed -");
  db_close(world.db);
}
END_TEST

START_TEST(rows_and_bytes_read_the_segment_of_the_cut_alone) {
  begin_damaged("0", "", 1, 3);
  ck_assert_str_eq(prune_by("retention_rows", "20"), "60 in 3, failed -");
  db_close(world.db);
  begin_damaged("0", "", 1, 3);
  const int64_t two = db_int(world.db, "SELECT sum(stored_bytes) FROM tidemark_segment WHERE first_since > 48");
  char limit[24];
  snprintf(limit, sizeof limit, "%lld", (long long)two - 1);
  ck_assert_str_eq(prune_by("retention_bytes", limit), "49 in 3, failed -");
  db_close(world.db);
}
END_TEST

/* Its description still counts a deleted row: the segment itself is read, those behind it are not. */
START_TEST(segment_with_a_deleted_young_row_is_read_alone) {
  begin_damaged("iif(n = 7 AND NOT EXISTS(SELECT 1 FROM logs WHERE since > 15), 1767225602000, 1767225600000)",
                ", retention_by=ts", 2, 5);
  db_exec(world.db, "DELETE FROM logs WHERE since = 7");
  ck_assert_str_eq(prune_by("retention_age", "999 ms"), "79 in 5, failed -");
  db_close(world.db);
}
END_TEST

START_TEST(cut_within_a_damaged_segment_is_an_error) {
  begin_damaged("0", "", 3, 3);
  ck_assert_str_eq(prune_by("retention_rows", "40"),
                   "0 in 0, failed dataset logs, segment of partition '' up to since 48: column since, frame 0: the"
                   " chunk's header fails its checksum");
  assert_int(world.db, 80, "SELECT rows FROM tidemark_dataset");
  db_close(world.db);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_time_in_each_unit,
                                rows_past_a_limit_of_bytes,
                                rows_past_bytes_is_exact,
                                cuts_are_the_models,
                                first_time_of_all_is_not_past_what_lies_before_it,
                                age_of_ingest_reads_the_segment_of_the_cut_alone,
                                age_of_a_column_reads_the_segment_of_the_cut_alone,
                                column_of_nulls_goes_by_ingest_unread,
                                column_of_the_partition_is_not_read,
                                rows_and_bytes_read_the_segment_of_the_cut_alone,
                                segment_with_a_deleted_young_row_is_read_alone,
                                cut_within_a_damaged_segment_is_an_error,
                                NULL};
  return unit_main("cut", tests);
}
