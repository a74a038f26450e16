/* Counting the rows of a range of one partition (engine/stats.h), against an ordinary table with the same rows. */
#define _GNU_SOURCE
#include "engine/stats.h"
#include "oom.h"
#include "random.h"
#include "sql_db.h"
#include "unit.h"

static sqlite3 *db;
static struct tide_conn *conn;
static struct tide_dataset *ds;
static struct tide_stat partition_a;

/* 30,000 rows, every third of them in source=a, in two segments (of frames of 4096 and 404 rows) and
 * the tail; `plain` has source=a too. */
static void begin(void) {
  scratch_open();
  db = db_open(scratch_path("db"), NULL);
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, partition_by=source, segment_rows=4500);"
              "CREATE TABLE plain(since INTEGER PRIMARY KEY);");
  for (int i = 0; i < 2; i++)
    db_exec(db, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 13500)"
                " INSERT INTO logs SELECT iif(n %% 3 = 0, 'a', 'b') FROM c");
  db_exec(db, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3000)"
              " INSERT INTO logs SELECT iif(n %% 3 = 0, 'a', 'b') FROM c;"
              "INSERT INTO plain SELECT since FROM logs WHERE source = 'a'");
  assert_text(db, "2|1000", "SELECT segments, tail_rows FROM tidemark_stat WHERE partition = 'source=a'");
}

/* The handle that the counts below are asked of. */
static void open_handle(void) {
  struct tide_err err = {0};
  conn = tide_conn_create(db, &err);
  ds = tide_dataset_acquire(conn, "main", "logs", &err);
  ck_assert(tide_stats_one(ds, "source=a", 8, &partition_a, &err));
  ck_assert_msg(!tide_err_is_set(&err), "%s", err.msg);
}

static void close_handle(void) {
  tide_dataset_release(ds);
  tide_conn_unref(conn);
}

static struct tide_range count(int64_t above, int64_t upto, int64_t max_rows, struct tide_err *err) {
  struct tide_range range = {0};
  tide_stats_range(ds, &partition_a, above, upto, max_rows, &range, err);
  return range;
}

/* "rows until last", as the plain table has it. */
static const char *expected(int64_t above, int64_t upto, int64_t max_rows) {
  return db_text(db,
                 "SELECT count(*), iif(count(*) < %lld, %lld, max(since)), coalesce(max(since), 0) FROM"
                 " (SELECT since FROM plain WHERE since > %lld AND since <= %lld ORDER BY since LIMIT %lld)",
                 (long long)max_rows, (long long)upto, (long long)above, (long long)upto, (long long)max_rows);
}

static void compare(int64_t above, int64_t upto, int64_t max_rows) {
  struct tide_err err = {0};
  char got[80];
  const struct tide_range range = count(above, upto, max_rows, &err);
  ck_assert_msg(!tide_err_is_set(&err), "%s", err.msg);
  snprintf(got, sizeof got, "%lld|%lld|%lld", (long long)range.rows, (long long)range.until, (long long)range.last);
  const char *wanted = expected(above, upto, max_rows);
  ck_assert_msg(strcmp(got, wanted) == 0, "above %lld, up to %lld, %lld rows: %s, not %s", (long long)above,
                (long long)upto, (long long)max_rows, got, wanted);
}

/* At the ends of segments (since 13,500 and 27,000) and frames (12,288 and 25,788), and anywhere. */
static void compare_all(void) {
  static const int64_t ends[] = {0,     1,     2,     3,     4,     12287, 12288, 12289, 12291, 13499,
                                 13500, 13501, 13503, 25788, 25789, 26999, 27000, 27003, 29999, 30000};
  const size_t n = sizeof ends / sizeof *ends;
  open_handle();
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n; j++)
      compare(ends[i], ends[j], INT64_MAX);
  for (int i = 0; i < 300; i++) {
    const int64_t above = (int64_t)(next_random() % 30000);
    compare(above, above + 1 + (int64_t)(next_random() % (uint64_t)(30000 - above)),
            1 + (int64_t)(next_random() % 12000));
  }
  close_handle();
}

START_TEST(ranges_are_those_of_a_table) {
  begin();
  compare_all();
  db_close(db);
}
END_TEST

START_TEST(deleted_rows_do_not_count) {
  begin();
  db_exec(db, "DELETE FROM logs WHERE source = 'a' AND (since %% 7 = 0 OR since BETWEEN 12000 AND 13000);"
              "DELETE FROM plain WHERE since %% 7 = 0 OR since BETWEEN 12000 AND 13000");
  compare_all();
  db_close(db);
}
END_TEST

START_TEST(pruned_rows_do_not_count) {
  begin();
  db_exec(db, "SELECT tidemark_set('logs', 'retention_rows', 6000), tidemark_prune('logs');"
              "DELETE FROM plain WHERE since NOT IN (SELECT since FROM logs WHERE source = 'a')");
  assert_int(db, 6000, "SELECT count(*) FROM plain");
  compare_all();
  db_close(db);
}
END_TEST

/* Of the batches in the tail that are another partition's, all but the newest say that they are this one's: who looks
 * at them counts their rows. */
START_TEST(a_count_in_the_tail_looks_at_the_batches_of_its_partition) {
  begin();
  for (int i = 0; i < 4; i++)
    db_exec(db, "INSERT INTO logs VALUES ('%s')", i == 1 ? "a" : "b");
  db_exec(db, "INSERT INTO plain VALUES (30002)");
  open_handle();
  compare(30000, 30004, INT64_MAX);
  for (size_t i = 0; i < ds->tail.places; i++) {
    struct tide_tail_entry *entry = &ds->tail.entries[i];
    if (entry->last_since < 30004 && entry->last_since != 30000 && entry->last_since != 30002)
      entry->partition = partition_a.partition;
  }
  compare(30000, 30004, INT64_MAX);
  compare(29000, 30003, INT64_MAX);
  compare(29000, 30003, 334);
  close_handle();
  db_close(db);
}
END_TEST

/* The last byte of the first segment's numbers is another, in its second frame: who counts from or to a place in that
 * meets it, a count of the whole segment or of a part of the first frame does not. */
START_TEST(only_the_frames_of_both_ends_are_read) {
  struct tide_err err = {0};
  begin();
  db_exec(db, "UPDATE logs_chunk SET data = CAST(substr(data, 1, length(data) - 1) || x'5a' AS BLOB) WHERE id ="
              " (SELECT chunk FROM logs_segment s JOIN logs_partition p ON p.id = s.partition"
              " WHERE p.name = 'source=a' AND s.last_since = 13500)");
  open_handle();
  compare(0, 13500, INT64_MAX);
  compare(0, 5000, INT64_MAX);
  compare(300, 12000, INT64_MAX);
  count(0, 13400, INT64_MAX, &err);
  ck_assert_int_eq(err.rc, SQLITE_CORRUPT_VTAB);
  ck_assert_str_eq(err.msg, "dataset logs, segment of partition 'source=a' up to since 13500: column since, frame 1: "
                            "the frame fails its checksum");
  close_handle();
  db_close(db);
}
END_TEST

/* Within segments, and from the tail. */
START_TEST(count_without_memory_is_an_error) {
  static const int64_t ranges[][3] = {{5000, 20000, 5000}, {28000, 30000, 667}};
  oom_install();
  begin();
  open_handle();
  for (int i = 0; i < 2; i++) {
    for (int n = 1;; n++) {
      struct tide_err err = {0};
      oom_fail_at(n);
      const struct tide_range range = count(ranges[i][0], ranges[i][1], INT64_MAX, &err);
      if (!oom_has_failed()) {
        ck_assert_int_eq(range.rows, ranges[i][2]);
        break;
      }
      ck_assert_int_eq(err.rc & 0xff, SQLITE_NOMEM);
    }
  }
  oom_fail_at(0);
  close_handle();
  db_close(db);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {ranges_are_those_of_a_table,
                                deleted_rows_do_not_count,
                                pruned_rows_do_not_count,
                                a_count_in_the_tail_looks_at_the_batches_of_its_partition,
                                only_the_frames_of_both_ends_are_read,
                                count_without_memory_is_an_error,
                                NULL};
  return unit_main("range", tests);
}
