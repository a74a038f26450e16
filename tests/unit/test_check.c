/* tidemark_check: a healthy dataset in every shape is 'ok', and each kind of damage, done by SQL to the shadow tables,
 * is the line that says so. */
#define _GNU_SOURCE
#include "engine/check.h"
#include "integrity.h"
#include "random.h"
#include "segment/format.h"
#include "shim_vfs.h"
#include "sql_db.h"
#include "unit.h"

static sqlite3 *db;

static void open_fresh(void) {
  static bool registered;
  if (!registered)
    shim_register();
  registered = true;
  shim.now_ms = INT64_C(1767225600000);
  scratch_open();
  db = db_open(scratch_path("db"), "shim");
}

/* Numbers and chunk ids that the damages below count on: 5 chunk ids a segment, of since, ingested_at, source (not
 * stored), n and x.
 *
 *   partition 1, source=a  segments 1 to 3 (chunks 1 to 5) and 4 to 6 (chunks 6 to 10), tail 9; 2 is deleted
 *   partition 2, source=b  segment 7 to 8 (chunks 11 to 15), tail 10 to 11; 10 is deleted
 *   partition 3, source=c  tail 12
 *   sink s                 has log rows 1 and 2 (source=a, to 3 and to 6), 3 (source=b, to 8)
 *   sink t                 has batches 1 (source=a) and 2 (source=b) open, none of source=c */
static void begin(void) {
  open_fresh();
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n INTEGER NOT NULL, x ANY, partition_by=source);"
              "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs'), ('t', 'logs');"
              "INSERT INTO logs VALUES ('a', 1, 'one'), ('a', 2, 2.5), ('a', 3, x'03');"
              "SELECT tidemark_flush('logs');"
              "INSERT INTO logs VALUES ('a', 4, 'four'), ('a', 5, 5), ('a', 6, NULL); SELECT tidemark_flush('logs');"
              "INSERT INTO logs VALUES ('b', 7, 7), ('b', 8, 8); SELECT tidemark_flush('logs');"
              "INSERT INTO logs VALUES ('a', 9, 'nine'), ('b', 10, 10), ('b', 11, 11);"
              "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES"
              " ('s', 'logs', 'source=a', 0, 3, 3), ('s', 'logs', 'source=a', 3, 6, 3), ('s', 'logs', 'source=b', 0, "
              "8, 2);"
              "DELETE FROM logs WHERE since IN (2, 10); SELECT tidemark_claim('t', 'logs');"
              "INSERT INTO logs VALUES ('c', 12, 'twelve')");
}

static void end(void) {
  db_close(db);
}

static const char *check(void) {
  return db_text(db, "SELECT tidemark_check('logs')");
}

/* ---- damage ---- */

struct damage {
  const char *sql;
  const char *lines;
};

#define NO_RULE(name) "DROP TRIGGER tidemark_" name ";"
#define FLIP(table, column, where)                                                                                     \
  "UPDATE " table " SET " column " = CAST(substr(" column ", 1, length(" column ") - 1)"                               \
  " || iif(substr(" column ", -1) = x'00', x'01', x'00') AS BLOB) WHERE " where
#define FLIP_FIRST(table, column, where)                                                                               \
  "UPDATE " table " SET " column " = CAST(x'7f' || substr(" column ", 2) AS BLOB) WHERE " where

/* Each on a dataset of its own. */
static void say_each(const struct damage *damages, size_t count) {
  for (size_t i = 0; i < count; i++) {
    begin();
    ck_assert_str_eq(check(), "ok");
    db_exec(db, "%s", damages[i].sql);
    ck_assert_msg(strcmp(check(), damages[i].lines) == 0, "%s\nsays: %s\nnot:  %s", damages[i].sql, check(),
                  damages[i].lines);
    end();
  }
}
#define assert_each(damages) say_each(damages, sizeof(damages) / sizeof *(damages))

START_TEST(catalog) {
  static const struct damage damages[] = {
      {"UPDATE logs_config SET value = -1 WHERE key = 'seals'", "dataset logs: logs_config has no valid seals"},
      {"UPDATE logs_config SET value = 15 WHERE key = 'segment_rows'",
       "dataset logs: logs_config has no valid segment_rows"},
      {"UPDATE logs_config SET value = 'x' WHERE key = 'log_id'", "dataset logs: logs_config has no valid log_id"},
      {"UPDATE logs_column SET type = 'NUMBER' WHERE ordinal = 1", "dataset logs: logs_column row 1 is not a column"},
      {"DELETE FROM logs_column", "dataset logs: logs_column is empty"},
      {"DROP TABLE logs_deleted", "dataset logs: table logs_deleted is missing"},
      {"DROP TABLE logs_chunk", "dataset logs: table logs_chunk is missing"},
      {"DROP TABLE tidemark_export_total", "dataset logs: table tidemark_export_total is missing"}};
  assert_each(damages);
}
END_TEST

START_TEST(partitions) {
  static const struct damage damages[] = {
      {"UPDATE logs_partition SET name = 'source' WHERE id = 3",
       "logs_partition (id 3, 'source'): 'source' is no partition of this dataset: expected 'source=...', "
       "percent-encoded"},
      {"UPDATE logs_partition SET name = 'source=%63' WHERE id = 3",
       "logs_partition (id 3, 'source=%63'): 'source=%63' is no partition of this dataset: expected 'source=...', "
       "percent-encoded"},
      {"UPDATE logs_partition SET written = -1 WHERE id = 3",
       "dataset logs: logs_partition row (id 3) contradicts itself"},
      {"UPDATE logs_partition SET deleted = -1 WHERE id = 1",
       "dataset logs: logs_partition row (id 1) contradicts itself"},
      {"UPDATE logs_partition SET written = 7 WHERE id = 1",
       "logs_partition (id 1, 'source=a'): written 7, 1 more in the tail, less deleted 1 and pruned 0 are 7 rows, but "
       "6 are there"},
      {"UPDATE logs_partition SET deleted = 0 WHERE id = 2",
       "logs_partition (id 2, 'source=b'): written 2, 2 more in the tail, less deleted 0 and pruned 0 are 4 rows, but "
       "3 are there"},
      {"UPDATE logs_partition SET pruned = 1 WHERE id = 2",
       "logs_partition (id 2, 'source=b'): written 2, 2 more in the tail, less deleted 1 and pruned 1 are 2 rows, but "
       "3 are there"},
      {"UPDATE tidemark_sink_state SET from_first = 0; UPDATE logs_partition SET pruned_upto = 13, pruned = 1"
       " WHERE id = 3",
       "logs_partition (id 3, 'source=c'): its pruned_upto is 13, above the 12 of its newest row"},
      {"UPDATE logs_config SET value = 7 WHERE key = 'sealed_since'",
       "logs_partition (id 2, 'source=b'): its last_since is 8, above the 7 of sealed_since in logs_config"},
      {"UPDATE logs_partition SET last_since = 5 WHERE id = 1",
       "logs_segment (partition 'source=a', last_since 6): it ends above 5, the last_since of its partition"}};
  assert_each(damages);
}
END_TEST

START_TEST(segment_rows) {
  static const struct damage damages[] = {
      {"UPDATE logs_segment SET rows = 4 WHERE last_since = 6",
       "dataset logs: logs_segment row (partition 1, last_since 6) contradicts itself"},
      {"UPDATE logs_segment SET rows = 2 WHERE last_since = 6",
       "logs_segment (partition 'source=a', last_since 6): its description does not fit its row"},
      {"UPDATE logs_segment SET first_since = 3 WHERE last_since = 6",
       "logs_segment (partition 'source=a', last_since 6): it begins at 3, not above 3, where the segment before it "
       "ends\n"
       "logs_segment (partition 'source=a', last_since 6): its description does not fit its row"},
      {"UPDATE logs_segment SET meta = x'00' WHERE last_since = 6",
       "logs_segment (partition 'source=a', last_since 6): the segment's meta does not begin as one"},
      {FLIP("logs_segment", "meta", "last_since = 3"),
       "logs_segment (partition 'source=a', last_since 3): the segment's meta fails its checksum"},
      {"UPDATE logs_segment SET meta = (SELECT meta FROM logs_segment WHERE last_since = 3) WHERE last_since = 6",
       "logs_segment (partition 'source=a', last_since 6): its description does not fit its row"},
      {"UPDATE logs_segment SET level = 0 WHERE last_since = 8",
       "logs_segment (partition 'source=b', last_since 8): its level is 0, expected 1 to 19"},
      {"UPDATE logs_segment SET newest_at = 5 WHERE last_since = 8",
       "logs_segment (partition 'source=b', last_since 8): its newest_at is 5, the highest ingested_at is "
       "1767225600000"},
      {"UPDATE logs_segment SET deleted = 2 WHERE last_since = 3",
       "logs_segment (partition 'source=a', last_since 3): its deleted are 2, logs_deleted has 1 of its rows"},
      {"UPDATE logs_segment SET pruned = 1 WHERE last_since = 6",
       "logs_segment (partition 'source=a', last_since 6): its pruned are 1, 0 of its rows are at or below pruned_upto "
       "and not deleted"},
      {"UPDATE logs_segment SET chunks = 4 WHERE last_since = 6",
       "logs_segment (partition 'source=a', last_since 6): it has 4 chunk ids, its description needs 5\n"
       "logs_chunk 10 is of no segment"},
      {"UPDATE logs_config SET value = 15 WHERE key = 'next_chunk'",
       "logs_segment (partition 'source=b', last_since 8): it has chunk ids up to 15, but the next one to be given is "
       "15"},
      {"UPDATE logs_segment SET partition = 99 WHERE last_since = 8",
       "logs_partition (id 2, 'source=b'): written 2, 2 more in the tail, less deleted 1 and pruned 0 are 3 rows, but "
       "1 are there\n"
       "logs_segment (partition 99, last_since 8): its partition is not there"}};
  assert_each(damages);
}
END_TEST

START_TEST(stored_bytes) {
  char line[200];
  begin();
  const int64_t bytes = db_int(db, "SELECT stored_bytes FROM logs_segment WHERE last_since = 6");
  assert_int(db, bytes,
             "SELECT length(meta) + (SELECT sum(length(data)) FROM logs_chunk WHERE id BETWEEN 6 AND 10)"
             " FROM logs_segment WHERE last_since = 6");
  db_exec(db, "UPDATE logs_segment SET stored_bytes = stored_bytes + 1 WHERE last_since = 6");
  snprintf(line, sizeof line,
           "logs_segment (partition 'source=a', last_since 6): its stored_bytes are %d, description and chunks have %d",
           (int)bytes + 1, (int)bytes);
  ck_assert_str_eq(check(), line);
  end();
}
END_TEST

START_TEST(chunks) {
  static const struct damage damages[] = {
      {FLIP("logs_chunk", "data", "id = 1"),
       "logs_segment (partition 'source=a', last_since 3): column since, frame 0: the frame fails its checksum"},
      {FLIP("logs_chunk", "data", "id = 2"),
       "logs_segment (partition 'source=a', last_since 3): column ingested_at, frame 0: the frame fails its checksum"},
      {FLIP("logs_chunk", "data", "id IN (4, 15)"),
       "logs_segment (partition 'source=a', last_since 3): column n, frame 0: the frame fails its checksum\n"
       "logs_segment (partition 'source=b', last_since 8): column x, frame 0: the frame fails its checksum"},
      {FLIP_FIRST("logs_chunk", "data", "id = 4"),
       "logs_segment (partition 'source=a', last_since 3): column n, frame 0: the chunk's header fails its checksum"},
      {"DELETE FROM logs_chunk WHERE id = 4",
       "logs_segment (partition 'source=a', last_since 3): column n: logs_chunk has no chunk 4"},
      {"DELETE FROM logs_chunk WHERE id = 11",
       "logs_segment (partition 'source=b', last_since 8): column since: logs_chunk has no chunk 11"},
      {"UPDATE logs_chunk SET data = x'0102' WHERE id = 11;"
       "UPDATE logs_chunk SET data = CAST(data || x'00' AS BLOB) WHERE id = 11",
       "logs_segment (partition 'source=b', last_since 8): column since: chunk 11 has 3 bytes, expected "},
      {"INSERT INTO logs_chunk VALUES (3, x'00')",
       "logs_segment (partition 'source=a', last_since 3): column source: it is not stored, yet logs_chunk has chunk "
       "3"},
      {"INSERT INTO logs_chunk VALUES (99, x'00')", "logs_chunk 99 is of no segment"},
      {"INSERT INTO logs_chunk VALUES (-5, x'00'), (16, x'00'), (17, x'00'), (19, x'00')",
       "logs_chunk -5 is of no segment\nlogs_chunk 16 to 17 are of no segment\nlogs_chunk 19 is of no segment"}};
  char with_size[200];
  begin();
  const int64_t size = db_int(db, "SELECT length(data) FROM logs_chunk WHERE id = 11");
  end();
  struct damage copy[sizeof damages / sizeof *damages];
  memcpy(copy, damages, sizeof damages);
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    if (strstr(damages[i].lines, "expected ") == NULL)
      continue;
    snprintf(with_size, sizeof with_size, "%s%d", damages[i].lines, (int)size);
    copy[i].lines = with_size;
  }
  assert_each(copy);
}
END_TEST

START_TEST(chunks_of_two_segments) {
  begin();
  db_exec(db, "UPDATE logs_segment SET chunk = 1 WHERE last_since = 8");
  ck_assert_ptr_nonnull(strstr(check(),
                               "\nlogs_segment (partition 2, last_since 8): its chunk ids from 1 on are another"
                               " segment's as well\nlogs_chunk 11 to 12 are of no segment"));
  end();
}
END_TEST

/* Writes the description of a segment anew, with its checksum, after an edit of the zone of column x. */
static void edit_zone(int64_t last_since, void (*edit)(struct tide_zone *zone)) {
  struct tide_err err = {0};
  struct tide_format_meta meta;
  struct tide_buf out = {0};
  sqlite3_stmt *stmt = NULL;
  sqlite3_prepare_v2(db, "SELECT meta FROM logs_segment WHERE last_since = ?1", -1, &stmt, NULL);
  sqlite3_bind_int64(stmt, 1, last_since);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
  tide_format_read_meta(sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0), 3, &meta, &err);
  assert_ok(err);
  edit(&meta.zones[2]);
  tide_format_put_meta(&meta, &out, &err);
  tide_format_meta_clear(&meta);
  sqlite3_finalize(stmt);
  assert_ok(err);
  sqlite3_prepare_v2(db,
                     "UPDATE logs_segment SET meta = ?2, stored_bytes = stored_bytes - length(meta) + length(?2)"
                     " WHERE last_since = ?1",
                     -1, &stmt, NULL);
  sqlite3_bind_int64(stmt, 1, last_since);
  sqlite3_bind_blob64(stmt, 2, out.data, out.len, SQLITE_STATIC);
  ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
  sqlite3_finalize(stmt);
  tide_buf_clear(&out);
}

static void without_real(struct tide_zone *zone) {
  zone->types &= (uint8_t) ~(1u << TIDE_VAL_REAL);
  zone->min = tide_val_text("one", 3);
}

static void with_higher_min(struct tide_zone *zone) {
  zone->min = tide_val_int(8);
}

static void with_lower_max(struct tide_zone *zone) {
  zone->max = tide_val_int(7);
}

static void with_wide_bounds(struct tide_zone *zone) {
  zone->min = tide_val_int(INT64_MIN);
  zone->max = tide_val_int(8);
  zone->types |= 1u << TIDE_VAL_NULL;
}

START_TEST(zones) {
  static const struct {
    int64_t last_since;
    void (*edit)(struct tide_zone *zone);
    const char *lines;
  } edits[] = {
      {3, without_real,
       "logs_segment (partition 'source=a', last_since 3): column x: its zone leaves out a value that is there"},
      {8, with_higher_min,
       "logs_segment (partition 'source=b', last_since 8): column x: its zone leaves out a value that is there"},
      {8, with_lower_max,
       "logs_segment (partition 'source=b', last_since 8): column x: its zone leaves out a value that is there"},
      {8, with_wide_bounds, "ok"}};
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    begin();
    edit_zone(edits[i].last_since, edits[i].edit);
    ck_assert_str_eq(check(), edits[i].lines);
    end();
  }
}
END_TEST

START_TEST(types) {
  static const struct damage damages[] = {
      {"UPDATE logs_column SET not_null = 1 WHERE name = 'x'",
       "logs_segment (partition 'source=a', last_since 6): column x: it is ANY NOT NULL and holds NULL"},
      {"UPDATE logs_column SET type = 'INTEGER' WHERE name = 'x'",
       "logs_segment (partition 'source=a', last_since 3): column x: it is INTEGER and holds REAL\n"
       "logs_segment (partition 'source=a', last_since 6): column x: it is INTEGER and holds TEXT\n"
       "logs_tail row 9, column x: it is INTEGER and holds TEXT\n"
       "logs_tail row 12, column x: it is INTEGER and holds TEXT"}};
  assert_each(damages);
}
END_TEST

START_TEST(tail) {
  static const struct damage damages[] = {
      {FLIP("logs_tail", "data", "last_since = 12"), "dataset logs: logs_tail row 12 is damaged"},
      {"UPDATE logs_tail SET rows = 2 WHERE last_since = 12", "dataset logs: logs_tail row 12 is damaged"},
      {"UPDATE logs_tail SET rows = 9223372036854775807 WHERE last_since = 11",
       "dataset logs: logs_tail row 11 is damaged"},
      {"UPDATE logs_tail SET last_since = 13 WHERE last_since = 12", "dataset logs: logs_tail row 13 is damaged"},
      {"UPDATE logs_tail SET first_since = 5 WHERE last_since = 9",
       "logs_tail row 9 begins at 5, not above 6, where the rows of partition 'source=a' before it end\n"
       "dataset logs: logs_tail row 9 is damaged"},
      {"UPDATE logs_partition SET last_since = 9 WHERE id = 1; UPDATE logs_config SET value = 9"
       " WHERE key = 'sealed_since'",
       "logs_tail row 9 begins at 9, not above 9, where the rows of partition 'source=a' before it end"},
      {"UPDATE logs_tail SET partition = 99 WHERE last_since = 12",
       "logs_tail row 12 is of partition 99, which is not there"},
      {"UPDATE logs_tail SET partition = -1 WHERE last_since = 12",
       "logs_tail row 12 is of partition -1, which is not there"}};
  assert_each(damages);
}
END_TEST

START_TEST(deleted_rows) {
  static const struct damage damages[] = {
      {"INSERT INTO logs_deleted VALUES (100, 1), (0, 1)",
       "logs_deleted: since 0 is no row of partition 1\nlogs_deleted: since 100 is no row of partition 1"},
      {"INSERT INTO logs_deleted VALUES (4, 2)", "logs_deleted: since 4 is no row of partition 2"},
      {"INSERT INTO logs_deleted VALUES (50, 99)", "logs_deleted: since 50 is no row of partition 99"},
      {"INSERT INTO logs_deleted VALUES (50, -1)", "logs_deleted: since 50 is no row of partition -1"},
      {"DELETE FROM logs_deleted WHERE since = 2",
       "logs_segment (partition 'source=a', last_since 3): its deleted are 1, logs_deleted has 0 of its rows\n"
       "logs_partition (id 1, 'source=a'): written 6, 1 more in the tail, less deleted 1 and pruned 0 are 6 rows, but "
       "7 are there"},
      {"DELETE FROM logs_deleted WHERE since = 10",
       "logs_partition (id 2, 'source=b'): written 2, 2 more in the tail, less deleted 1 and pruned 0 are 3 rows, but "
       "4 are there"}};
  assert_each(damages);
}
END_TEST

/* A segment of source=a once more, as one of source=c: two partitions have 4 to 6. */
START_TEST(since_given_twice) {
  begin();
  db_exec(db, "UPDATE tidemark_sink_state SET from_first = 0;"
              "INSERT INTO logs_chunk SELECT id + 10, data FROM logs_chunk WHERE id BETWEEN 6 AND 10;"
              "INSERT INTO logs_segment SELECT 3, last_since, first_since, rows, deleted, pruned, revision, level, 16,"
              " chunks, raw_bytes, stored_bytes, newest_at, meta FROM logs_segment WHERE last_since = 6;"
              "UPDATE logs_partition SET written = 3, last_since = 6 WHERE id = 3;"
              "UPDATE logs_config SET value = 21 WHERE key = 'next_chunk'");
  ck_assert_ptr_null(strstr(check(), "logs_chunk"));
  for (int since = 4; since <= 6; since++) {
    char line[100];
    snprintf(line, sizeof line, "dataset logs: since %d is given twice, once of them in partition 'source=", since);
    ck_assert_ptr_nonnull(strstr(check(), line));
  }
  ck_assert_ptr_nonnull(strstr(check(), "dataset logs: 15 rows were written, but the highest since is 12"));
  end();
}
END_TEST

/* Above 64 partitions they are not merged; their counts say that numbers were given twice. */
START_TEST(since_given_twice_among_many) {
  open_fresh();
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(k INTEGER, partition_by=k);"
              "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100)"
              " INSERT INTO logs SELECT i FROM c; SELECT tidemark_flush('logs')");
  ck_assert_str_eq(check(), "ok");
  db_exec(db, "UPDATE logs_partition SET written = 3, deleted = 2 WHERE id = 7");
  ck_assert_str_eq(check(), "dataset logs: 102 rows were written, but the highest since is 100");
  end();
}
END_TEST

START_TEST(export_log) {
  static const struct damage damages[] = {
      {NO_RULE("export_log_update") "UPDATE tidemark_export_log SET since = 4 WHERE id = 2",
       "tidemark_export_log row 2, sink 's', partition 'source=a': it begins at 4, the one before ends at 3"},
      {NO_RULE("export_log_update") "UPDATE tidemark_export_log SET generation = 1 WHERE id = 2",
       "tidemark_export_log row 2, sink 's', partition 'source=a': its generation is 1, expected 0"},
      {NO_RULE("export_log_update") "UPDATE tidemark_export_log SET generation = NULL WHERE id = 3",
       "tidemark_export_log row 3, sink 's', partition 'source=b': its generation is -1, expected 0"},
      {NO_RULE("export_log_update")
           NO_RULE("export_log_delete") "UPDATE tidemark_export_log SET since = 6, until = 6 WHERE id = 2;"
                                        "DELETE FROM tidemark_export_log WHERE id = 1; DELETE FROM "
                                        "tidemark_export_total; UPDATE tidemark_sink_state SET from_first = 0",
       "tidemark_export_log row 2, sink 's', partition 'source=a': it goes from 6 to 6"},
      {NO_RULE("export_log_insert") "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until)"
                                    " VALUES ('s', 'logs', 'source=z', 0, 5)",
       "tidemark_export_log, sink 's': dataset logs has no partition 'source=z'"},
      {"DELETE FROM tidemark_export_log WHERE id = 1; UPDATE tidemark_export_total SET until = 2",
       "tidemark_export_log row 2, sink 's', partition 'source=a': it begins at 3, the one before ends at 2"},
      {NO_RULE("export_log_update") "UPDATE tidemark_export_log SET generation = 9223372036854775807 WHERE id = 1;"
                                    "UPDATE tidemark_export_log SET generation = 1, kind = 'rewind', since = 3,"
                                    " until = 2, rows = 0 WHERE id = 2",
       "tidemark_export_log row 1, sink 's', partition 'source=a': its generation is 9223372036854775807, expected 0\n"
       "sink 's', partition 'source=a': its log accounts for 3 rows and 5 are still to come, but 7 were written and 1 "
       "deleted"},
      {"DELETE FROM tidemark_export_log WHERE id = 1; UPDATE tidemark_export_total SET generation = "
       "9223372036854775807",
       "tidemark_export_total, sink 's', partition 'source=a': its last generation or until is no number that there "
       "can be"},
      {"DELETE FROM tidemark_export_log WHERE id = 1; UPDATE tidemark_export_total SET generation = 1",
       "tidemark_export_log row 2, sink 's', partition 'source=a': its generation is 0, expected 1"},
      {NO_RULE("export_log_update") "UPDATE tidemark_export_log SET until = 100 WHERE id = 3;"
                                    "UPDATE tidemark_sink_state SET from_first = 0",
       "sink 's', partition 'source=b': its watermark is 100, the newest row is 11"},
      {NO_RULE("export_log_update") "UPDATE tidemark_export_log SET generation = 2 WHERE id = 3",
       "tidemark_export_log row 3, sink 's', partition 'source=b': its generation is 2, expected 0"},
      {"DELETE FROM tidemark_sink_state WHERE sink = 's'", "tidemark_sink_state has no row of sink 's', dataset logs"},
      {"UPDATE tidemark_sink_state SET caught_up = 8 WHERE sink = 't'",
       "tidemark_sink_state, sink 't': caught_up is 8, but partition 'source=a' has rows up to it above the watermark "
       "0\n"
       "tidemark_sink_state, sink 't': caught_up is 8, but partition 'source=b' has rows up to it above the watermark "
       "0"}};
  assert_each(damages);
}
END_TEST

/* source=a: 7 written, 1 deleted, and s, which was delivered 6, has 1 still to get. */
START_TEST(account) {
  static const char less[] = NO_RULE("export_log_update") "UPDATE tidemark_export_log SET rows = rows - 1 WHERE id = 1";
  static const struct damage damages[] = {
      {less, "ok"}, /* as if 2 had been deleted before it was delivered */
      {NO_RULE("export_log_update") "UPDATE tidemark_export_log SET rows = rows - 2 WHERE id = 1",
       "sink 's', partition 'source=a': its log accounts for 4 rows and 1 are still to come, but 7 were written and 1 "
       "deleted"},
      {NO_RULE("export_log_update") "UPDATE tidemark_export_log SET rows = rows - 2 WHERE id = 1;"
                                    "UPDATE tidemark_sink_state SET from_first = 0 WHERE sink = 's'",
       "ok"},
      {NO_RULE("export_log_update") "UPDATE tidemark_export_log SET skipped = 1 WHERE id = 2",
       "sink 's', partition 'source=a': its log accounts for 7 rows and 1 are still to come, but 7 were written and 1 "
       "deleted"},
      {NO_RULE("export_log_update") "UPDATE tidemark_export_log SET rows = 9223372036854775807;",
       "sink 's', partition 'source=a': its log accounts for 9223372036854775807 rows and 1 are still to come, but 7"
       " were written and 1 deleted\n"
       "sink 's', partition 'source=b': its log accounts for 9223372036854775807 rows and 1 are still to come, but 4"
       " were written and 1 deleted"},
      {"DELETE FROM tidemark_export_log WHERE id = 1", "ok"}, /* tidemark_export_total has it */
      {"DELETE FROM tidemark_export_log WHERE id = 1; UPDATE tidemark_export_total SET rows = 1",
       "sink 's', partition 'source=a': its log accounts for 4 rows and 1 are still to come, but 7 were written and 1 "
       "deleted"},
      {"DELETE FROM tidemark_export_log WHERE id = 1; UPDATE tidemark_export_total SET gap_rows = 2",
       "sink 's', partition 'source=a': its log accounts for 8 rows and 1 are still to come, but 7 were written and 1 "
       "deleted"},
      /* retention took 12, and no sink has a gap for it */
      {"UPDATE logs_partition SET pruned = 1, pruned_upto = 12 WHERE id = 3",
       "sink 's', partition 'source=c': its log accounts for 0 rows and 0 are still to come, but 1 were written and 0"
       " deleted\n"
       "sink 't', partition 'source=c': its log accounts for 0 rows and 0 are still to come, but 1 were written and 0"
       " deleted"}};
  assert_each(damages);
}
END_TEST

START_TEST(batches) {
  static const struct damage damages[] = {
      {NO_RULE("batch_update") "UPDATE tidemark_batch SET since = 3 WHERE batch = 1",
       "tidemark_batch 1: it begins at 3 of generation 0, sink 't' stands at 0 of generation 0 in partition "
       "'source=a'"},
      {NO_RULE("batch_update") "UPDATE tidemark_batch SET generation = 2 WHERE batch = 2",
       "tidemark_batch 2: it begins at 0 of generation 2, sink 't' stands at 0 of generation 0 in partition "
       "'source=b'"},
      {NO_RULE("batch_update") "UPDATE tidemark_batch SET until = 13 WHERE batch = 2",
       "tidemark_batch 2: it goes from 0 to 13, the newest row of partition 'source=b' is 11"},
      {NO_RULE("batch_update") "UPDATE tidemark_batch SET until = 0 WHERE batch = 2",
       "tidemark_batch 2: it goes from 0 to 0, the newest row of partition 'source=b' is 11"},
      {NO_RULE("batch_update") "UPDATE tidemark_batch SET partition = 'source=z' WHERE batch = 2",
       "tidemark_batch 2: it goes from 0 to 11, the newest row of partition 'source=z' is 0"},
      {NO_RULE("sink_delete") "DELETE FROM tidemark_sink WHERE sink = 't'; DELETE FROM tidemark_batch WHERE batch = 2",
       "tidemark_batch 1: its sink 't' is not registered"}};
  assert_each(damages);
}
END_TEST

/* ---- the report ---- */

START_TEST(report_keeps_the_first_hundred_lines) {
  begin();
  db_exec(db, "WITH RECURSIVE c(i) AS (SELECT 101 UNION ALL SELECT i + 1 FROM c WHERE i < 250)"
              " INSERT INTO logs_deleted SELECT i, 4 FROM c");
  const char *text = check();
  int lines = 1;
  for (const char *at = text; *at != '\0'; at++)
    lines += *at == '\n';
  ck_assert_int_eq(lines, TIDE_CHECK_LINES + 1);
  ck_assert_ptr_nonnull(strstr(text, "since 200 is no row of partition 4\nand 50 more"));
  end();
}
END_TEST

START_TEST(a_name_that_is_no_dataset_is_an_error) {
  begin();
  db_refuses(db, SQLITE_ERROR, "no such dataset: other", "SELECT tidemark_check('other')");
  db_refuses(db, SQLITE_ERROR, "expected the name of a dataset", "SELECT tidemark_check(NULL)");
  db_exec(db, "CREATE VIEW v AS SELECT tidemark_check('logs')");
  db_refuses(db, SQLITE_ERROR, "unsafe use", "SELECT * FROM v");
  end();
}
END_TEST

static int interrupt_at; /* opcodes to go */

static int count_down(void *data) {
  (void)data;
  return --interrupt_at == 0;
}

START_TEST(interrupt_is_an_error) {
  begin();
  int interrupted = 0;
  for (int at = 1; at < 100000; at += 7) {
    interrupt_at = at;
    sqlite3_progress_handler(db, 1, count_down, NULL);
    const int rc = sqlite3_exec(db, "SELECT tidemark_check('logs')", NULL, NULL, NULL);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    ck_assert_msg(rc == SQLITE_OK || rc == SQLITE_INTERRUPT, "%d: %s", rc, sqlite3_errmsg(db));
    interrupted += rc == SQLITE_INTERRUPT;
    if (interrupt_at > 0)
      break;
  }
  ck_assert_int_gt(interrupted, 50);
  ck_assert_str_eq(check(), "ok");
  end();
}
END_TEST

/* ---- health ---- */

static void fill_all_types(const char *table) {
  db_exec(
      db,
      "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100) INSERT INTO %s"
      " SELECT i, i / 3.0, 'text ' || i || char(0, 233, 128512), zeroblob(i %% 5),"
      " CASE i %% 5 WHEN 0 THEN NULL WHEN 1 THEN i WHEN 2 THEN -i / 7.0 WHEN 3 THEN hex(randomblob(i)) ELSE x'ff' END,"
      " i %% 2, '{}', i * 1000 FROM c",
      table);
}

#define ALL_TYPES "i INTEGER, r REAL, t TEXT, b BLOB, a ANY, o BOOLEAN, j JSON, at TIMESTAMP_MS"

START_TEST(healthy_in_every_shape) {
  open_fresh();
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(" ALL_TYPES ", segment_rows=16, autoflush=0)");
  ck_assert_str_eq(check(), "ok"); /* empty */
  fill_all_types("logs");
  ck_assert_str_eq(check(), "ok"); /* the tail alone */
  db_exec(db, "DELETE FROM logs WHERE since %% 9 = 0");
  ck_assert_str_eq(check(), "ok"); /* deleted rows there */
  db_exec(db, "SELECT tidemark_flush('logs')");
  ck_assert_str_eq(check(), "ok"); /* sealed */
  fill_all_types("logs");
  db_exec(db, "DELETE FROM logs WHERE since %% 7 = 0 OR since BETWEEN 10 AND 40");
  ck_assert_str_eq(check(), "ok"); /* both, with deleted rows in both */
  db_exec(db, "DELETE FROM logs");
  ck_assert_str_eq(check(), "ok"); /* none left */
  db_exec(db, "SELECT tidemark_flush('logs')");
  ck_assert_str_eq(check(), "ok");
  end();
}
END_TEST

START_TEST(healthy_with_frames_and_partitions) {
  open_fresh();
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(k INTEGER, t TEXT, partition_by=(k, t));"
              "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 30000)"
              " INSERT INTO logs SELECT nullif(i %% 3, 0), iif(i %% 2, '', 'a/b=c') FROM c;"
              "SELECT tidemark_flush('logs'); DELETE FROM logs WHERE since %% 1000 < 3");
  ck_assert_str_eq(check(), "ok"); /* segments of several frames */
  db_exec(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300)"
              " INSERT INTO logs SELECT i, 't' FROM c");
  ck_assert_str_eq(check(), "ok"); /* too many to merge */
  end();
}
END_TEST

START_TEST(healthy_inside_a_transaction) {
  begin();
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('d', 13, 13), ('a', 14, 14); DELETE FROM logs WHERE since = 13");
  ck_assert_str_eq(check(), "ok");
  db_exec(db, "UPDATE logs_partition SET deleted = 0 WHERE name = 'source=d'");
  ck_assert_str_eq(check(), "logs_partition (id 4, 'source=d'): written 0, 1 more in the tail, less deleted 0 and "
                            "pruned 0 are 1 rows, but 0 are there"); /* it sees the transaction's rows */
  db_exec(db, "ROLLBACK");
  ck_assert_str_eq(check(), "ok");
  end();
}
END_TEST

START_TEST(healthy_in_other_places) {
  open_fresh();
  db_exec(db, "CREATE TEMP TABLE t(x); ATTACH %Q AS aux", scratch_path("aux"));
  static const char *const schemas[] = {"main", "aux", "temp"};
  for (size_t i = 0; i < 3; i++) {
    db_exec(db, "CREATE VIRTUAL TABLE %s.\"my log\" USING tidemark(" ALL_TYPES ", partition_by=o, segment_rows=32)",
            schemas[i]);
    char table[40];
    snprintf(table, sizeof table, "%s.\"my log\"", schemas[i]);
    fill_all_types(table);
    db_exec(db, "INSERT INTO %s.tidemark_sink(sink, dataset) VALUES ('s', 'my log'); DELETE FROM %s WHERE since = 5",
            schemas[i], table);
    assert_text(db, "ok", "SELECT tidemark_check('%s.my log')", schemas[i]);
    db_exec(db, "UPDATE %s.\"my log_partition\" SET written = written + 1 WHERE id = 1", schemas[i]);
    ck_assert_ptr_nonnull(strstr(db_text(db, "SELECT tidemark_check('%s.my log')", schemas[i]),
                                 "my log_partition (id 1, 'o=1'): written"));
  }
  end();
}
END_TEST

START_TEST(healthy_in_utf16) {
  open_fresh();
  db_exec(db, "PRAGMA encoding = 'UTF-16le'; CREATE VIRTUAL TABLE logs USING tidemark(" ALL_TYPES
              ", s TEXT, partition_by=s, segment_rows=32); INSERT INTO tidemark_sink(sink, dataset) VALUES (char(233), "
              "'logs')");
  db_exec(db, "CREATE TABLE rows(" ALL_TYPES ")");
  fill_all_types("rows");
  db_exec(db, "INSERT INTO logs SELECT *, char(233 + i %% 2) FROM rows");
  db_exec(db, "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
              " SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag");
  ck_assert_str_eq(check(), "ok");
  db_exec(db, "INSERT INTO logs_deleted VALUES (-1, 1)");
  ck_assert_str_eq(check(), "logs_deleted: since -1 is no row of partition 1");
  end();
}
END_TEST

START_TEST(healthy_sinks) {
  begin();
  db_exec(db, "SELECT tidemark_rewind('s', 'logs', 'source=a', 2, 'replay')");
  ck_assert_str_eq(check(), "ok");
  db_exec(db, "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows, skipped) VALUES"
              " ('s', 'logs', 'source=a', 2, 9, 3, 2)");
  db_exec(db, "SELECT tidemark_rewind('s', 'logs', 'source=a', 0, 'again')");
  ck_assert_str_eq(check(), "ok");
  db_exec(db, "DELETE FROM tidemark_export_log WHERE id <= 2");
  ck_assert_str_eq(check(), "ok"); /* trimmed */
  db_exec(db, "DELETE FROM tidemark_export_log WHERE id = 4; DELETE FROM tidemark_export_log WHERE id = 5");
  ck_assert_str_eq(check(), "ok"); /* to the last row, a rewind */
  db_exec(db, "DELETE FROM tidemark_sink WHERE sink = 's'");
  ck_assert_str_eq(check(), "ok"); /* not registered any more */
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, start) VALUES ('s', 'logs', 'latest'), ('u', 'logs', 4)");
  ck_assert_str_eq(check(), "ok");
  end();
}
END_TEST

/* All of source=a and source=b but their last row goes; neither sink holds it. */
static void prune(void) {
  db_exec(db, "DELETE FROM tidemark_batch; UPDATE tidemark_sink SET hold = 0;"
              "SELECT tidemark_set('logs', 'retention_rows', 1), tidemark_prune('logs')");
  assert_text(db, "9 11 12", "SELECT since FROM logs ORDER BY since");
  assert_text(db, "source=a|0|6|5 source=b|0|8|2",
              "SELECT partition, since, until, rows FROM tidemark_export_log"
              " WHERE sink = 't' AND kind = 'gap' ORDER BY partition");
}

START_TEST(healthy_after_upkeep) {
  begin();
  db_exec(db, "INSERT INTO logs SELECT 'a', n, x FROM logs WHERE source = 'a'; SELECT tidemark_flush('logs')");
  ck_assert_str_eq(check(), "ok");
  db_exec(db, "DELETE FROM tidemark_batch; UPDATE tidemark_sink SET hold = 0;"
              "SELECT tidemark_set('logs', 'retention_rows', 3), tidemark_prune('logs')");
  assert_int(db, 4, "SELECT pruned FROM logs_segment WHERE partition = 1"); /* 9, 13, 14, 15 of 9 to 18 */
  ck_assert_str_eq(check(), "ok");                                          /* the cut lies within a segment */
  db_exec(db, "DELETE FROM logs WHERE since = (SELECT max(since) FROM logs); SELECT tidemark_compact('logs')");
  assert_int(db, 0, "SELECT sum(pruned + deleted) FROM logs_segment");
  ck_assert_str_eq(check(), "ok");
  db_exec(db, "DELETE FROM tidemark_sink WHERE sink = 't'; SELECT tidemark_set('logs', 'retention_rows', 0),"
              " tidemark_prune('logs')");
  assert_int(db, 0, "SELECT count(*) FROM logs");
  ck_assert_str_eq(check(), "ok");
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('t', 'logs'); INSERT INTO logs VALUES ('a', 1, 1)");
  ck_assert_str_eq(check(), "ok");
  end();
}
END_TEST

START_TEST(after_a_prune) {
  static const struct {
    const char *sql;
    const char *words;
  } damages[] = {
      {"SELECT 1", "ok"},
      {"UPDATE logs_partition SET pruned = 4 WHERE id = 1", "less deleted 1 and pruned 4 are 2 rows, but 1 are there"},
      {"UPDATE logs_partition SET pruned_upto = 9 WHERE id = 1",
       "less deleted 1 and pruned 5 are 1 rows, but 0 are there"},
      {NO_RULE("export_log_update") "UPDATE tidemark_export_log SET rows = 4 WHERE sink = 't' AND rows = 5",
       "sink 't', partition 'source=a': its log accounts for 4 rows and 1 are still to come, but 7 were written and 1"
       " deleted"},
      {NO_RULE("export_log_delete") "DELETE FROM tidemark_export_log WHERE sink = 't' AND partition = 'source=b';"
                                    "DELETE FROM tidemark_export_total",
       "sink 't', partition 'source=b': its log accounts for 0 rows and 1 are still to come, but 4 were written and 1"
       " deleted"}};
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    begin();
    prune();
    db_exec(db, "%s", damages[i].sql);
    ck_assert_msg(strstr(check(), damages[i].words) != NULL, "%s\nsays %s", damages[i].sql, check());
    end();
  }
}
END_TEST

START_TEST(healthy_and_read_only) {
  char path[256];
  begin();
  snprintf(path, sizeof path, "%s", scratch_path("db"));
  end();
  ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
  ck_assert_int_eq(sqlite3_tidemark_init(db, NULL, NULL), SQLITE_OK);
  ck_assert_str_eq(check(), "ok");
  assert_int(db, 0, "SELECT total_changes()");
  db_close(db);
  db = db_open(path, NULL);
  FILE *before = fopen(path, "rb");
  fseek(before, 24, SEEK_SET); /* the header's change counter */
  const int counter = fgetc(before) << 24 | fgetc(before) << 16 | fgetc(before) << 8 | fgetc(before);
  ck_assert_str_eq(check(), "ok");
  fseek(before, 24, SEEK_SET);
  ck_assert_int_eq(fgetc(before) << 24 | fgetc(before) << 16 | fgetc(before) << 8 | fgetc(before), counter);
  fclose(before);
  end();
}
END_TEST

/* ---- random damage ---- */

static char *copy_rows(void) {
  char *sql = sqlite3_mprintf("SELECT since, source, n, quote(x), ingested_at FROM logs ORDER BY since");
  sqlite3_stmt *stmt = NULL;
  sqlite3_str *out = sqlite3_str_new(NULL);
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    for (int i = 0; i < 5; i++)
      sqlite3_str_appendf(out, "%s|", (const char *)sqlite3_column_text(stmt, i));
    rc = SQLITE_OK;
  }
  sqlite3_finalize(stmt);
  sqlite3_free(sql);
  char *text = sqlite3_str_finish(out);
  if (rc == SQLITE_DONE)
    return text;
  sqlite3_free(text);
  return NULL; /* unreadable */
}

/* One bit of every byte of a column of a table's rows, byte after byte, is flipped and put back. */
static void flip_each(const char *table, const char *column, const char *key, const char *rows) {
  sqlite3_stmt *list = NULL;
  sqlite3_stmt *put = NULL;
  char *sql = sqlite3_mprintf("SELECT %s, %s FROM %s", key, column, table);
  ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &list, NULL), SQLITE_OK);
  sqlite3_free(sql);
  sql = sqlite3_mprintf("UPDATE %s SET %s = ?2 WHERE %s = ?1", table, column, key);
  ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &put, NULL), SQLITE_OK);
  sqlite3_free(sql);
  int64_t keys[40];
  struct tide_buf blobs[40] = {0};
  struct tide_err err = {0};
  size_t count = 0;
  while (sqlite3_step(list) == SQLITE_ROW) {
    keys[count] = sqlite3_column_int64(list, 0);
    tide_buf_put(&blobs[count++], sqlite3_column_blob(list, 1), (size_t)sqlite3_column_bytes(list, 1), &err);
  }
  sqlite3_finalize(list);
  ck_assert_uint_gt(count, 2);
  for (size_t i = 0; i < count; i++) {
    struct tide_buf *blob = &blobs[i];
    sqlite3_bind_int64(put, 1, keys[i]);
    for (size_t at = 0; at <= blob->len; at++) { /* the last time whole again */
      const unsigned char bit = (unsigned char)(1u << next_random() % 8);
      if (at < blob->len)
        blob->data[at] ^= bit;
      sqlite3_bind_blob64(put, 2, blob->data, blob->len, SQLITE_STATIC);
      ck_assert_int_eq(sqlite3_step(put), SQLITE_DONE);
      sqlite3_reset(put);
      const bool ok = strcmp(check(), "ok") == 0;
      ck_assert_msg(at < blob->len || ok, "%s", check());
      if (ok) {
        char *now = copy_rows();
        ck_assert_msg(now != NULL && strcmp(now, rows) == 0, "%s %d, byte %d: ok", table, (int)keys[i], (int)at);
        sqlite3_free(now);
      }
      if (at < blob->len)
        blob->data[at] ^= bit;
    }
    tide_buf_clear(blob);
  }
  sqlite3_finalize(put);
}

START_TEST(no_flipped_bit_is_ok_or_an_error) {
  begin();
  char *rows = copy_rows();
  db_exec(db, "PRAGMA journal_mode = MEMORY");
  flip_each("logs_chunk", "data", "id", rows);
  flip_each("logs_segment", "meta", "last_since", rows);
  flip_each("logs_tail", "data", "last_since", rows);
  sqlite3_free(rows);
  end();
}
END_TEST

/* Every number of every row set to another: it is found, or every row still reads as it was. Which rows are deleted is
 * said by logs_deleted alone. */
START_TEST(numbers_at_random_are_never_an_error) {
  static const char *const places[] = {"logs_partition SET written",
                                       "logs_partition SET deleted",
                                       "logs_partition SET pruned",
                                       "logs_partition SET pruned_upto",
                                       "logs_partition SET last_since",
                                       "logs_partition SET id",
                                       "logs_segment SET last_since",
                                       "logs_segment SET first_since",
                                       "logs_segment SET rows",
                                       "logs_segment SET deleted",
                                       "logs_segment SET pruned",
                                       "logs_segment SET chunk",
                                       "logs_segment SET chunks",
                                       "logs_segment SET partition",
                                       "logs_segment SET stored_bytes",
                                       "logs_tail SET first_since",
                                       "logs_tail SET rows",
                                       "logs_tail SET partition",
                                       "logs_tail SET last_since",
                                       "logs_chunk SET id",
                                       "logs_deleted SET since",
                                       "logs_deleted SET partition",

                                       "tidemark_export_log SET until",
                                       "tidemark_export_log SET since",
                                       "tidemark_export_log SET rows",
                                       "tidemark_batch SET until",
                                       "tidemark_batch SET since",
                                       "tidemark_sink_state SET caught_up"};
  static const int64_t numbers[] = {0, 1, 2, 3, 5, 7, 9, 12, 13, 99, -1, INT64_MIN, INT64_MAX, INT64_C(1) << 62};
  begin();
  db_exec(db, NO_RULE("export_log_update") NO_RULE("batch_update") "PRAGMA journal_mode = MEMORY");
  char *rows = copy_rows();
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
      char *sql = sqlite3_mprintf("BEGIN; UPDATE OR IGNORE %s = %lld", places[i], (long long)numbers[n]);
      db_exec(db, "%s", sql);
      if (strcmp(check(), "ok") == 0) {
        char *now = copy_rows();
        ck_assert_msg(now != NULL && (strcmp(now, rows) == 0 || strcmp(places[i], "logs_deleted SET since") == 0),
                      "%s: ok", sql);
        sqlite3_free(now);
      }
      db_exec(db, "ROLLBACK");
      sqlite3_free(sql);
    }
  }
  sqlite3_free(rows);
  ck_assert_str_eq(check(), "ok");
  end();
}
END_TEST

/* ---- integrity_check ---- */

/* As SQLite calls it. */
static char *integrity(int flags) {
  struct tide_err err = {0};
  char *message = NULL;
  struct tide_conn *conn = tide_conn_create(db, &err);
  struct tide_dataset *ds = tide_dataset_acquire(conn, "main", "logs", &err);
  ck_assert_int_eq(tide_integrity_check(ds, flags, &message), SQLITE_OK);
  tide_dataset_release(ds);
  tide_conn_unref(conn);
  return message;
}

START_TEST(integrity_gives_what_is_wrong) {
  begin();
  ck_assert_ptr_null(integrity(0));
  ck_assert_ptr_null(integrity(1));
  db_exec(db, "INSERT INTO logs_chunk VALUES (99, x'00')");
  for (int flags = 0; flags < 2; flags++) {
    char *message = integrity(flags);
    ck_assert_str_eq(message, "logs_chunk 99 is of no segment");
    sqlite3_free(message);
  }
  end();
}
END_TEST

/* quick_check looks at all but the bytes of chunks. */
START_TEST(quick_integrity_decodes_no_chunk) {
  begin();
  db_exec(db, FLIP("logs_chunk", "data", "id = 1"));
  ck_assert_ptr_null(integrity(1));
  char *message = integrity(0);
  ck_assert_ptr_nonnull(strstr(message, "column since, frame 0: the frame fails its checksum"));
  sqlite3_free(message);
  db_exec(db, "DELETE FROM logs_chunk WHERE id = 4; UPDATE logs_segment SET deleted = 2 WHERE last_since = 3;"
              "UPDATE logs_segment SET pruned = 1 WHERE last_since = 6");
  message = integrity(1);
  ck_assert_str_eq(
      message,
      "logs_segment (partition 'source=a', last_since 3): its deleted are 2, logs_deleted has 1 of its rows\n"
      "logs_segment (partition 'source=a', last_since 3): column n: logs_chunk has no chunk 4\n"
      "logs_segment (partition 'source=a', last_since 6): its pruned are 1, 0 of its rows are at or below pruned_upto "
      "and not deleted");
  sqlite3_free(message);
  end();
}
END_TEST

START_TEST(integrity_of_a_dataset_that_is_not_entered) {
  begin();
  db_exec(db, "DELETE FROM tidemark_registry");
  char *message = integrity(0);
  ck_assert_str_eq(message, "dataset logs: it is not in tidemark_registry");
  sqlite3_free(message);
  end();
}
END_TEST

/* Before 3.44 SQLite has no way to ask, and its own check is as it was. */
START_TEST(pragma_asks_where_the_host_can) {
  begin();
  assert_text(db, "ok", "PRAGMA integrity_check");
  assert_text(db, "ok", "PRAGMA quick_check");
  db_exec(db, "INSERT INTO logs_chunk VALUES (99, x'00')");
  const bool asks = sqlite3_libversion_number() >= TIDE_INTEGRITY_HOST;
  assert_text(db, asks ? "logs_chunk 99 is of no segment" : "ok", "PRAGMA integrity_check");
  assert_text(db, asks ? "logs_chunk 99 is of no segment" : "ok", "PRAGMA quick_check");
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {catalog,
                                partitions,
                                segment_rows,
                                stored_bytes,
                                chunks,
                                chunks_of_two_segments,
                                zones,
                                types,
                                tail,
                                deleted_rows,
                                since_given_twice,
                                since_given_twice_among_many,
                                export_log,
                                account,
                                batches,
                                report_keeps_the_first_hundred_lines,
                                a_name_that_is_no_dataset_is_an_error,
                                interrupt_is_an_error,
                                healthy_in_every_shape,
                                healthy_with_frames_and_partitions,
                                healthy_inside_a_transaction,
                                healthy_in_other_places,
                                healthy_in_utf16,
                                healthy_sinks,
                                healthy_after_upkeep,
                                after_a_prune,
                                healthy_and_read_only,
                                no_flipped_bit_is_ok_or_an_error,
                                numbers_at_random_are_never_an_error,
                                integrity_gives_what_is_wrong,
                                quick_integrity_decodes_no_chunk,
                                integrity_of_a_dataset_that_is_not_entered,
                                pragma_asks_where_the_host_can,
                                NULL};
  return unit_main("check", tests);
}
