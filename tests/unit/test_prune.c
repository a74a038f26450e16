/* What a prune takes away and what it leaves, beside everything else that a connection does: transactions, other
 * connections, open reads, DELETE, damage, other schemas. */
#define _GNU_SOURCE
#include "engine/prune.h"
#include "prune_db.h"

static const char all[] = "SELECT group_concat(since) FROM (SELECT since FROM logs ORDER BY since)";
/* rows written deleted segments tail_rows of each partition */
static const char stat_of_a[] = "SELECT rows, written, deleted, segments, tail_rows FROM tidemark_stat WHERE partition"
                                " = 'source=a'";

/* ---- figures ---- */

START_TEST(figures_are_right_at_once) {
  begin_with_40();
  limit("retention_rows", "12");
  ck_assert_str_eq(prune("rows partitions segments"), "28|1|1");
  assert_text(db, "12|40|0|1|8", stat_of_a);
  assert_text(db, "29|40", "SELECT first_since, last_since FROM tidemark_stat");
  assert_text(db, "12|40", "SELECT rows, written FROM tidemark_dataset");
  assert_text(db, "17|32", "SELECT first_since, last_since FROM tidemark_segment");
  assert_text(db, "29,30,31,32,33,34,35,36,37,38,39,40", all);
  assert_text(db, "", "SELECT since FROM logs WHERE since <= 28");
  assert_text(db, "",
              "SELECT id FROM logs_chunk WHERE NOT EXISTS (SELECT 1 FROM logs_segment"
              " WHERE id BETWEEN chunk AND chunk + chunks - 1)");
  limit("retention_rows", "3");
  ck_assert_str_eq(prune("rows segments"), "9|1");
  assert_text(db, "3|40|0|0|8", stat_of_a); /* the batch that the cut falls into stays stored */
  assert_text(db, "38,39,40", all);
  db_exec(db, "SELECT tidemark_flush('logs')");
  assert_text(db, "3|40|0|1|0", stat_of_a);
  assert_text(db, "38|40|3", "SELECT first_since, last_since, rows FROM tidemark_segment");
  limit("retention_rows", "0");
  ck_assert_str_eq(prune("rows segments"), "3|1");
  assert_text(db, "0|40|0|0|0", stat_of_a);
  assert_text(db, "-", all);
  assert_text(db, "0|0", "SELECT (SELECT count(*) FROM logs_chunk), (SELECT count(*) FROM logs_tail)");
  end();
}
END_TEST

START_TEST(deleted_rows_are_not_pruned_nor_lost) {
  begin_with_40();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, hold) VALUES ('s', 'logs', 0);"
              "DELETE FROM logs WHERE since IN (2, 20, 21, 35)");
  limit("retention_rows", "14"); /* 26 to 40 less 35 */
  ck_assert_str_eq(prune("rows gap_rows"), "22|22");
  assert_text(db, "14|40|4|1|8", stat_of_a);
  db_exec(db, "DELETE FROM logs WHERE since IN (3, 22, 26, 36)"); /* the first two are gone already */
  assert_text(db, "12|40|6|1|8", stat_of_a);
  assert_text(db, "27,28,29,30,31,32,33,34,37,38,39,40", all);
  check_logs();
  limit("retention_rows", "3");
  ck_assert_str_eq(prune("rows gap_rows segments"), "9|9|1");
  assert_text(db, "3|40|6|0|8", stat_of_a);
  check_logs();
  limit("retention_rows", "0");
  ck_assert_str_eq(prune("rows gap_rows"), "3|3");
  assert_text(db, "0|40|6|0|0", stat_of_a);
  assert_int(db, 0, "SELECT count(*) FROM logs_deleted");
  check_logs();
  end();
}
END_TEST

START_TEST(numbers_never_come_again) {
  begin();
  limit("retention_rows", "0");
  append("a", 5); /* in the tail alone */
  ck_assert_str_eq(prune("rows"), "5");
  append("b", 1);
  assert_text(db, "6", all);
  append("a", 40); /* the last rows are sealed */
  ck_assert_str_eq(prune("rows"), "41");
  db_exec(db, "VACUUM");
  db_close(db);
  db = db_open(scratch_path("db"), "shim");
  append("a", 1);
  assert_text(db, "47", all);
  db_exec(db, "DELETE FROM logs");
  ck_assert_str_eq(prune("rows"), "0");
  append("a", 1);
  assert_text(db, "48", all);
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', 1, 'x'), ('a', 2, 'y')");
  ck_assert_str_eq(prune("rows"), "3");
  db_exec(db, "INSERT INTO logs VALUES ('a', 1, 'z'); COMMIT");
  assert_text(db, "51", all);
  end();
}
END_TEST

/* ---- transactions and connections ---- */

START_TEST(follows_the_transaction_it_is_in) {
  begin_with_40();
  limit("retention_rows", "4");
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', 1, 'new'), ('b', 1, 'new')");
  ck_assert_str_eq(prune("rows partitions"), "37|1");
  assert_text(db, "38,39,40,41,42", all);
  assert_int(db, 42, "SELECT last_insert_rowid()");
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  assert_int(other, 40, "SELECT count(*) FROM logs");
  db_exec(db, "SAVEPOINT s; INSERT INTO logs VALUES ('a', 1, 'more'); SELECT tidemark_prune('logs')");
  assert_text(db, "39,40,41,42,43", all);
  db_exec(db, "ROLLBACK TO s");
  assert_text(db, "38,39,40,41,42", all);
  db_exec(db, "COMMIT");
  assert_text(other, "38,39,40,41,42", all);
  assert_text(other, "4|41|0|0|9", stat_of_a);
  append("a", 1);
  assert_text(db, "38,39,40,41,42,43", all);
  assert_text(other, "38,39,40,41,42,43", all);
  db_close(other);
  end();
}
END_TEST

START_TEST(other_connection_reads_its_snapshot) {
  begin_with_40();
  limit("retention_rows", "4");
  sqlite3 *other = db_open(scratch_path("db"), "shim");
  sqlite3_stmt *read = NULL;
  sqlite3_prepare_v2(other, "SELECT since FROM logs ORDER BY since", -1, &read, NULL);
  for (int since = 1; since <= 40; since++) {
    ck_assert_int_eq(sqlite3_step(read), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int(read, 0), since);
    if (since == 3)
      ck_assert_str_eq(prune("rows"), "36");
    if (since == 20)
      assert_int(other, 40, "SELECT count(*) FROM logs");
  }
  ck_assert_int_eq(sqlite3_step(read), SQLITE_DONE);
  sqlite3_finalize(read);
  assert_text(other, "37,38,39,40", all);
  db_close(other);
  end();
}
END_TEST

START_TEST(open_cursor_of_the_connection_locks) {
  begin_with_40();
  limit("retention_rows", "4");
  sqlite3_stmt *read = NULL;
  sqlite3_prepare_v2(db, "SELECT since FROM logs", -1, &read, NULL);
  ck_assert_int_eq(sqlite3_step(read), SQLITE_ROW);
  db_refuses(db, SQLITE_LOCKED, "a statement of this connection is reading dataset logs",
             "SELECT tidemark_prune('logs')");
  sqlite3_reset(read);
  db_refuses(db, SQLITE_LOCKED, "is reading", "SELECT since, tidemark_prune('logs') FROM logs");
  db_refuses(db, SQLITE_BUSY, "inside a statement that writes",
             "INSERT INTO logs SELECT 'a', 1, tidemark_prune('logs')");
  assert_int(db, 40, "SELECT count(*) FROM logs");
  assert_int(db, 36, "SELECT tidemark_prune(dataset) ->> 'rows' FROM tidemark_dataset");
  sqlite3_finalize(read);
  end();
}
END_TEST

START_TEST(nothing_to_do_writes_nothing) {
  begin_with_40();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs')");
  deliver("s", "source=a", 0, 20, 20);
  ck_assert_str_eq(prune("rows held_rows"), "0|0"); /* no limit */
  limit("retention_rows", "1");
  long changes = shim.changes;
  assert_text(db, "20|19|true|0",
              "SELECT j ->> 'rows', j ->> 'held_rows', j -> 'dry_run', j ->> 'gaps'"
              " FROM (SELECT tidemark_prune('logs', 'dry-run') AS j)");
  ck_assert_int_eq(shim.changes, changes);
  ck_assert_str_eq(prune("rows"), "20");
  ck_assert_int_gt(shim.changes, changes);
  changes = shim.changes;
  ck_assert_str_eq(prune("rows held_rows"), "0|19");
  db_exec(db, "BEGIN; SELECT tidemark_prune('logs'); COMMIT; SELECT tidemark_prune('logs', 'dry-run')");
  ck_assert_int_eq(shim.changes, changes);
  end();
}
END_TEST

START_TEST(dry_run_says_what_then_happens) {
  static const char report[] = "SELECT json_remove(tidemark_prune('logs', %Q), '$.dry_run', '$.now')";
  begin_with_40();
  append("b", 50);
  append("c", 3);
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, hold_rows) VALUES ('s', 'logs', 13);"
              "INSERT INTO tidemark_sink(sink, dataset, hold) VALUES ('lax', 'logs', 0);"
              /* segments without a live row: before the cut, behind it, and last of all */
              "DELETE FROM logs WHERE since BETWEEN 10 AND 35 OR since BETWEEN 57 AND 72 OR since = 93");
  for (int rows = 30; rows >= 0; rows -= 6) {
    db_exec(db, "SELECT tidemark_set('logs', 'retention_rows', %d)", rows);
    char before[2048];
    snprintf(before, sizeof before, "%s", db_text(db, report, "dry-run"));
    ck_assert_str_eq(db_text(db, report, NULL), before);
  }
  check_logs();
  limit("retention_age", "0");
  db_exec(db, "DELETE FROM tidemark_sink WHERE sink = 's'");
  char before[2048];
  snprintf(before, sizeof before, "%s", db_text(db, report, "dry-run"));
  ck_assert_str_eq(db_text(db, report, NULL), before);
  assert_int(db, 0, "SELECT count(*) FROM logs");
  end();
}
END_TEST

START_TEST(dry_run_counts_segments_without_live_rows_as_a_prune_does) {
  static const char report[] = "SELECT j ->> 'rows', j ->> 'segments' FROM (SELECT tidemark_prune('logs', %Q) AS j)";
  begin();
  append("a", 16);
  append("a", 16);
  shim.now_ms = T0 + 1000;
  append("a", 16);
  append("a", 16);
  db_exec(db, "DELETE FROM logs WHERE since BETWEEN 17 AND 32 OR since > 48");
  limit("retention_age", "1"); /* the cut lies behind the second segment, the last row that goes before it */
  assert_text(db, "16|1", report, "dry-run");
  assert_text(db, "16|1", report, NULL);
  limit("retention_age", NULL);
  limit("retention_rows", "0"); /* nothing is left, so the deleted rows at both ends go along */
  assert_text(db, "16|3", report, "dry-run");
  assert_text(db, "16|3", report, NULL);
  end();
}
END_TEST

/* ---- pieces ---- */

START_TEST(much_goes_in_pieces_whose_gaps_meet) {
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, hold) VALUES ('s', 'logs', 0)");
  for (int i = 0; i < 22; i++) /* a segment each, of about 3.7 MB */
    db_exec(db, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 16)"
                " INSERT INTO logs SELECT 'a', n, hex(randomblob(230000)) FROM c");
  append("a", 3);
  assert_text(db, "22|18", "SELECT count(*), 1 + (64 << 20) / max(stored_bytes) FROM tidemark_segment");
  limit("retention_rows", "1");
  ck_assert_str_eq(prune("rows segments gaps gap_rows more"), "354|22|2|354|0");
  ck_assert_str_eq(log_of("s"), "gap 0 288 288, gap 288 354 66");
  assert_text(db, "355", all);
  check_logs();
  end();
}
END_TEST

/* Prunes through the engine, at most so many stored bytes. Gives "rows segments more". */
static const char *prune_at_most(int64_t max_bytes) {
  static char text[64];
  struct tide_err err = {0};
  struct tide_prune_result result = {0};
  const struct tide_prune_request request = {.max_bytes = max_bytes};
  struct tide_conn *conn = tide_conn_create(db, &err);
  struct tide_dataset *ds = tide_dataset_acquire(conn, "main", "logs", &err);
  tide_prune(ds, &request, &result, &err);
  ck_assert_msg(!tide_err_is_set(&err), "%s", err.msg);
  snprintf(text, sizeof text, "%d %d %d", (int)result.rows, (int)result.segments, result.more);
  tide_prune_result_clear(&result);
  tide_dataset_release(ds);
  tide_conn_unref(conn);
  return text;
}

/* They may be all that a piece has bytes for, and would stop the prune there for ever. */
START_TEST(segments_of_deleted_rows_in_front_stop_nothing) {
  begin();
  for (int i = 0; i < 4; i++)
    append("a", 16);
  limit("retention_rows", "20");
  db_exec(db, "DELETE FROM logs WHERE since <= 32");
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, hold) VALUES ('s', 'logs', 0)");
  ck_assert_str_eq(prune_at_most(1), "12 2 0"); /* the cut is within the third */
  ck_assert_str_eq(log_of("s"), "gap 0 44 12");
  db_exec(db, "DELETE FROM logs WHERE since <= 48");
  append("a", 16);
  append("a", 16);
  ck_assert_str_eq(prune_at_most(1), "16 2 1");
  ck_assert_str_eq(prune_at_most(1), "12 0 0");
  check_logs();
  end();
}
END_TEST

/* Two sizes that the catalog lets in, and whose sum is no number. */
START_TEST(sizes_that_cannot_be_do_not_overflow) {
  begin();
  for (int i = 0; i < 3; i++)
    append("a", 16);
  db_exec(db, "UPDATE logs_segment SET stored_bytes = 1 << 62 WHERE last_since < 48");
  limit("retention_rows", "3");
  ck_assert_str_eq(prune_at_most(INT64_MAX), "32 2 1"); /* so many bytes that it stops */
  ck_assert_str_eq(prune_at_most(INT64_MAX), "13 0 0");
  assert_text(db, "46,47,48", all);
  end();
}
END_TEST

/* ---- future ---- */

START_TEST(row_of_the_future_keeps_what_is_behind_it) {
  begin();
  db_exec(db, "SELECT tidemark_set('logs', 'retention_by', 'ts'), tidemark_set('logs', 'retention_age', 10)");
  db_exec(db,
          "INSERT INTO logs VALUES ('a', %lld, 'old'), ('a', %lld, 'future'), ('a', %lld, 'old'), ('b', 0, 'old'),"
          " ('b', %lld, 'young'), ('b', 0, 'old')",
          T0 - 10000, T0 + 1, T0 - 20000, T0);
  ck_assert_str_eq(prune("rows future_partitions future"),
                   "2|1|[{\"partition\":\"source=a\",\"since\":2,\"time\":1767225600001}]");
  assert_text(db, "2,3,5,6", all);
  db_exec(db, "DELETE FROM logs WHERE since = 2");
  ck_assert_str_eq(prune("rows future"), "1|-");
  assert_text(db, "5,6", all);
  shim.now_ms -= 3600000; /* the clock steps back: what was ingested is of the future now, unless it is old enough */
  limit("retention_by", NULL);
  ck_assert_str_eq(prune("rows future[0].since future[0].time"), "0|5|1767225600000");
  end();
}
END_TEST

/* ---- damage ---- */

/* A prune counts a batch of the tail by its row, and with that removes one whose rows nobody can read. */
START_TEST(damaged_batch_of_the_tail_is_pruned_unread) {
  begin_with_40();
  append("b", 32);
  append("b", 8); /* rows 73 to 80 */
  db_exec(db, "UPDATE logs_tail SET data = zeroblob(length(data)) WHERE last_since = 80");
  limit("retention_rows", "12");
  ck_assert_str_eq(prune("rows failed"), "56|-");
  db_refuses(db, SQLITE_CORRUPT, "logs_tail row 80 is damaged", "SELECT * FROM logs WHERE source = 'b'");
  append("b", 7);
  limit("retention_rows", "4");
  ck_assert_str_eq(prune("rows failed"), "23|-");
  assert_text(db, "84 85 86 87", "SELECT since FROM logs WHERE source = 'b'");
  end();
}
END_TEST

START_TEST(damaged_partition_does_not_stop_the_others) {
  static const struct {
    const char *damage; /* to source=b, partition 2: rows 41 to 80, the tail from 73 */
    const char *words;
  } cases[] = {
      {"UPDATE logs_segment SET meta = zeroblob(length(meta)) WHERE partition = 2 AND last_since = 72",
       "segment of partition 'source=b' up to since 72"},
      {"UPDATE logs_segment SET meta = x'' WHERE partition = 2", "segment of partition 'source=b'"},
      {"UPDATE logs_segment SET deleted = 17 WHERE partition = 2 AND last_since = 56",
       "logs_segment row (partition 2, last_since 56) contradicts itself"},
      {"UPDATE logs_segment SET deleted = 1 WHERE partition = 2 AND last_since = 56", "its counts say"},
      {"UPDATE logs_segment SET first_since = 50 WHERE partition = 2 AND last_since = 72", "does not fit its row"},
      {"UPDATE logs_chunk SET data = zeroblob(length(data)) WHERE id IN (SELECT chunk FROM logs_segment"
       " WHERE partition = 2 AND last_since = 72)",
       "up to since 72: column since"},
      {"DELETE FROM logs_chunk WHERE id IN (SELECT chunk FROM logs_segment WHERE partition = 2)", "up to since 72"},
      {"UPDATE logs_partition SET written = written + 1 WHERE id = 2", "its counts say 41"},
      {"UPDATE logs_partition SET written = written - 1 WHERE id = 2", "its counts say 39"},
      {"UPDATE logs_partition SET written = 5 WHERE id = 2", "its counts say 13"},
      {"UPDATE logs_partition SET pruned = 99 WHERE id = 2", "contradicts itself"},
      {"UPDATE logs_partition SET deleted = -1 WHERE id = 2", "contradicts itself"},
      {"DELETE FROM logs_segment WHERE partition = 2 AND last_since = 72", "its counts say"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    begin_with_40();
    db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, hold) VALUES ('s', 'logs', 0)");
    append("b", 32);
    append("b", 8);
    append("c", 8);
    db_exec(db, "%s", cases[i].damage);
    db_close(db);
    db = db_open(scratch_path("db"), "shim");
    limit("retention_rows", "12");
    if (strstr(cases[i].damage, "meta") != NULL) /* who only counts reads no description */
      db_exec(db, "SELECT tidemark_set('logs', 'retention_by', 'ts'), tidemark_set('logs', 'retention_age', '100 d')");
    char dry[2048];
    snprintf(dry, sizeof dry, "%s",
             db_text(db, "SELECT json_remove(tidemark_prune('logs', 'dry-run'), '$.dry_run', '$.now')"));
    const char *report = db_text(db, "SELECT json_remove(tidemark_prune('logs'), '$.dry_run', '$.now')");
    ck_assert_str_eq(dry, report);
    assert_text(db, "28|28|1|source=b",
                "SELECT j ->> 'rows', j ->> 'gap_rows', j ->> 'failed', j ->>"
                " '$.failures[0].partition' FROM (SELECT %Q AS j)",
                report);
    ck_assert_msg(strstr(report, cases[i].words) != NULL, "%s\n%s", cases[i].damage, report);
    assert_text(db, "gap 0 28 28",
                "SELECT kind || ' ' || since || ' ' || until || ' ' || rows FROM"
                " tidemark_export_log");
    assert_text(db, "0|0",
                "SELECT pruned_upto, (SELECT pruned FROM logs_segment WHERE partition = 2)"
                " FROM logs_partition WHERE id = 2");
    db_close(db);
  }
}
END_TEST

START_TEST(damage_never_takes_what_a_sink_holds) {
  begin_with_40();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs')");
  deliver("s", "source=a", 0, 20, 20);
  db_exec(db, "UPDATE logs_partition SET written = 12"); /* 20 rows, as many as are free */
  limit("retention_age", "0");
  ck_assert_str_eq(prune("rows failed"), "0|1");
  assert_int(db, 40, "SELECT count(*) FROM logs");
  db_close(db);
}
END_TEST

/* ---- other schemas ---- */

START_TEST(other_schemas_and_names) {
  begin_with_40();
  db_exec(db, "ATTACH %Q AS aux", scratch_path("aux"));
  static const char *const schemas[] = {"aux", "temp"};
  for (int i = 0; i < 2; i++) {
    db_exec(db,
            "CREATE VIRTUAL TABLE %s.other USING tidemark(x, retention_rows=2); INSERT INTO %s.other VALUES"
            " (1), (2), (3); INSERT INTO %s.tidemark_sink(sink, dataset, hold) VALUES ('s', 'other', 0)",
            schemas[i], schemas[i], schemas[i]);
    assert_text(db, "1|other|1",
                "SELECT j ->> 'rows', j ->> 'dataset', j ->> 'gaps' FROM"
                " (SELECT tidemark_prune('%s.other') AS j)",
                schemas[i]);
    assert_text(db, "0|1|1", "SELECT since, until, rows FROM %s.tidemark_export_log", schemas[i]);
    assert_int(db, 2, "SELECT count(*) FROM %s.other", schemas[i]);
  }
  assert_int(db, 0, "SELECT count(*) FROM main.tidemark_export_log");
  db_exec(db, "ALTER TABLE aux.other RENAME TO renamed; INSERT INTO aux.renamed VALUES (4)");
  assert_int(db, 1, "SELECT tidemark_prune('renamed') ->> 'rows'");
  assert_text(db, "0|1|renamed 1|2|renamed", "SELECT since, until, dataset FROM aux.tidemark_export_log");
  end();
}
END_TEST

START_TEST(name_in_other_letters_finds_the_sinks_that_hold) {
  begin_with_40();
  limit("retention_rows", "0");
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs')");
  deliver("s", "source=a", 0, 20, 20);
  db_close(db);
  db = db_open(scratch_path("db"), "shim");
  assert_text(db, "logs|20|20",
              "SELECT j ->> 'dataset', j ->> 'rows', j ->> 'held_rows' FROM"
              " (SELECT tidemark_prune('MAIN.Logs') AS j)");
  end();
}
END_TEST

START_TEST(utf16) {
  begin();
  db_close(db);
  db = db_open(scratch_path("sixteen"), "shim");
  db_exec(db, "PRAGMA encoding = 'UTF-16le'; CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, ts TIMESTAMP_MS,"
              " body TEXT, partition_by=source, segment_rows=16); INSERT INTO tidemark_sink(sink, dataset, hold)"
              " VALUES ('søk', 'logs', 0)");
  append("blå", 20);
  append("blå", 4);
  limit("retention_rows", "5");
  ck_assert_str_eq(prune("rows gaps"), "19|1");
  assert_text(db, "søk|source=bl%C3%A5|0|19|19", "SELECT sink, partition, since, until, rows FROM tidemark_export_log");
  assert_text(db, "20,21,22,23,24", all);
  check_logs();
  end();
}
END_TEST

START_TEST(read_only_database) {
  begin_with_40();
  limit("retention_rows", "5");
  db_close(db);
  ck_assert_int_eq(sqlite3_open_v2(scratch_path("db"), &db, SQLITE_OPEN_READONLY, "shim"), SQLITE_OK);
  ck_assert_int_eq(sqlite3_tidemark_init(db, NULL, NULL), SQLITE_OK);
  assert_int(db, 35, "SELECT tidemark_prune('logs', 'dry-run') ->> 'rows'");
  db_refuses(db, SQLITE_READONLY, "opened read-only", "SELECT tidemark_prune('logs')");
  db_refuses(db, SQLITE_READONLY, "opened read-only", "SELECT tidemark_set('logs', 'retention_rows', 1)");
  assert_int(db, 40, "SELECT count(*) FROM logs");
  end();
}
END_TEST

/* The file's last pages move at a commit that frees others: say that they are roots, which cannot be. */
static void damage_last_pages(const char *path) {
  enum { PAGE = 4096, ENTRY = 5, ROOT = 1 }; /* the second page has an entry for each one behind it */
  FILE *file = fopen(path, "r+b");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
  const long pages = ftell(file) / PAGE;
  for (long page = pages - 2; page <= pages; page++) {
    ck_assert_int_eq(fseek(file, PAGE + ENTRY * (page - 3), SEEK_SET), 0);
    ck_assert_int_eq(fputc(ROOT, file), ROOT);
  }
  ck_assert_int_eq(fclose(file), 0);
}

/* It is no partition's damage, and each is tried by itself once. */
START_TEST(a_commit_that_finds_damage_ends_the_call) {
  for (int partitions = 1; partitions <= 3; partitions++) {
    scratch_open();
    db = db_open(scratch_path("db"), NULL);
    db_exec(db, "PRAGMA page_size = 4096; PRAGMA auto_vacuum = FULL;"
                "CREATE VIRTUAL TABLE logs USING tidemark(p INTEGER, body, partition_by=p, retention_rows=1);"
                "CREATE TABLE last(x)");
    for (int i = 0; i < 3; i++)
      db_exec(db,
              "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100)"
              " INSERT INTO logs SELECT n %% %d, randomblob(100) FROM c; SELECT tidemark_flush('logs')",
              partitions);
    db_exec(db, "INSERT INTO last VALUES(randomblob(20000))");
    db_close(db);
    damage_last_pages(scratch_path("db"));
    db = db_open(scratch_path("db"), NULL);
    assert_int(db, 10 * partitions,
               "WITH result(json) AS MATERIALIZED (SELECT tidemark_prune('logs'))"
               " SELECT (json ->> 'rows') + 10 * (json ->> 'failed') FROM result");
    assert_int(db, 300, "SELECT count(*) FROM logs");
    db_close(db);
  }
}
END_TEST

START_TEST(bad_arguments) {
  begin_with_40();
  limit("retention_rows", "5");
  db_refuses(db, SQLITE_ERROR, "\"Dry-Run\" is not 'dry-run'", "SELECT tidemark_prune('logs', 'Dry-Run')");
  db_refuses(db, SQLITE_ERROR, "\"1\" is not 'dry-run'", "SELECT tidemark_prune('logs', 1)");
  db_refuses(db, SQLITE_ERROR, "nowhere", "SELECT tidemark_prune('nowhere')");
  db_refuses(db, SQLITE_ERROR, "tidemark_lag", "SELECT tidemark_prune('tidemark_lag')");
  db_refuses(db, SQLITE_ERROR, "dataset", "SELECT tidemark_prune(NULL)");
  db_refuses(db, SQLITE_ERROR, "dataset", "SELECT tidemark_prune('')");
  db_refuses(db, SQLITE_ERROR, "number of arguments", "SELECT tidemark_prune()");
  db_refuses(db, SQLITE_ERROR, "number of arguments", "SELECT tidemark_prune('logs', 'dry-run', 1)");
  assert_int(db, 40, "SELECT count(*) FROM logs");
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {figures_are_right_at_once,
                                deleted_rows_are_not_pruned_nor_lost,
                                numbers_never_come_again,
                                follows_the_transaction_it_is_in,
                                other_connection_reads_its_snapshot,
                                open_cursor_of_the_connection_locks,
                                nothing_to_do_writes_nothing,
                                dry_run_says_what_then_happens,
                                dry_run_counts_segments_without_live_rows_as_a_prune_does,
                                much_goes_in_pieces_whose_gaps_meet,
                                segments_of_deleted_rows_in_front_stop_nothing,
                                sizes_that_cannot_be_do_not_overflow,
                                row_of_the_future_keeps_what_is_behind_it,
                                damaged_batch_of_the_tail_is_pruned_unread,
                                damaged_partition_does_not_stop_the_others,
                                damage_never_takes_what_a_sink_holds,
                                other_schemas_and_names,
                                name_in_other_letters_finds_the_sinks_that_hold,
                                utf16,
                                read_only_database,
                                a_commit_that_finds_damage_ends_the_call,
                                bad_arguments,
                                NULL};
  return unit_main("prune", tests);
}
