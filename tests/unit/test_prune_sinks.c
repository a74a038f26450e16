/* What keeps rows from retention, and what it tells those that it overtakes: holds, caps, open batches, gaps. */
#define _GNU_SOURCE
#include "prune_db.h"

/* ---- who holds ---- */

START_TEST(who_holds_and_who_does_not) {
  static const struct {
    const char *state;
    int hold;
    bool holds;
  } cases[] = {{"active", 1, true},    {"paused", 1, true},   {"blocked", 1, true},  {"diverged", 1, true},
               {"active", 0, false},   {"paused", 0, false},  {"blocked", 0, false}, {"diverged", 0, false},
               {"disabled", 1, false}, {"disabled", 0, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    begin_with_40();
    db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, hold) VALUES ('s', 'logs', %d)", cases[i].hold);
    deliver("s", "source=a", 0, 20, 20);
    db_exec(db, "UPDATE tidemark_sink SET state = %Q", cases[i].state);
    limit("retention_rows", "0");
    const char *report = prune("rows gaps gap_rows held_rows held[0].sink held[0].rows held[0].partitions");
    ck_assert_msg(strcmp(report, cases[i].holds ? "20|0|0|20|s|20|1" : "40|1|20|0|-|-|-") == 0, "%s %d: %s",
                  cases[i].state, cases[i].hold, report);
    ck_assert_str_eq(log_of("s"), cases[i].holds ? "batch 0 20 20" : "batch 0 20 20, gap 20 40 20");
    check_logs();
    end();
  }
}
END_TEST

START_TEST(lowest_of_several_wins) {
  begin_with_40();
  append("b", 4);
  db_exec(db,
          "INSERT INTO tidemark_sink(sink, dataset) VALUES ('ten', 'logs'), ('thirty', 'logs'), ('twenty', 'logs')");
  deliver("ten", "source=a", 0, 10, 10);
  deliver("twenty", "source=a", 0, 20, 20);
  deliver("thirty", "source=a", 0, 30, 30);
  deliver("ten", "source=b", 0, 44, 4);
  deliver("twenty", "source=b", 0, 44, 4);
  deliver("thirty", "source=b", 0, 43, 3);
  limit("retention_rows", "5"); /* b has 4 */
  ck_assert_str_eq(prune("rows held_rows held"), "10|25|[{\"sink\":\"ten\",\"rows\":25,\"partitions\":1},"
                                                 "{\"sink\":\"thirty\",\"rows\":5,\"partitions\":1},"
                                                 "{\"sink\":\"twenty\",\"rows\":15,\"partitions\":1}]");
  limit("retention_rows", "0");
  ck_assert_str_eq(prune("rows held_rows held[0].rows held[1].rows held[1].partitions held[2].rows"),
                   "3|31|30|11|2|20");
  assert_text(db, "11|40 44|44", "SELECT min(since), max(since) FROM logs GROUP BY source");
  end();
}
END_TEST

START_TEST(sink_at_latest_misses_nothing_that_was_before_it) {
  begin_with_40();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, start, hold) VALUES ('s', 'logs', 'latest', 0),"
              " ('t', 'logs', 35, 0)");
  limit("retention_rows", "0");
  ck_assert_str_eq(prune("rows gaps gap_rows"), "40|1|5");
  ck_assert_ptr_null(strstr(log_of("s"), "gap"));
  ck_assert_str_eq(log_of("t"), "gap 35 40 5");
  end();
}
END_TEST

/* ---- caps ---- */

START_TEST(hold_rows_is_exact) {
  static const struct {
    int rows;
    const char *expected; /* rows, gap */
    const char *log;
  } cases[] = {{0, "39|19|0", "batch 0 20 20, gap 20 40 19"},
               {1, "38|18|1", "batch 0 20 20, gap 20 39 18"},
               {7, "32|12|7", "batch 0 20 20, gap 20 32 12"},
               {18, "21|1|18", "batch 0 20 20, gap 20 21 1"},
               {19, "20|0|19", "batch 0 20 20"},
               {20, "20|0|19", "batch 0 20 20"},
               {1000000, "20|0|19", "batch 0 20 20"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    begin_with_40();
    db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, hold_rows) VALUES ('s', 'logs', %d)", cases[i].rows);
    deliver("s", "source=a", 0, 20, 20);
    db_exec(db, "DELETE FROM logs WHERE since = 34"); /* counts nowhere */
    limit("retention_rows", "0");
    ck_assert_str_eq(prune("rows gap_rows held_rows"), cases[i].expected);
    ck_assert_str_eq(log_of("s"), cases[i].log);
    check_logs();
    end();
  }
}
END_TEST

START_TEST(hold_age_is_exact) {
  static const struct {
    const char *age;
    const char *cap; /* hold_rows */
    int rows;
  } cases[] = {{"3001 ms", NULL, 5},  {"3000 ms", NULL, 10}, {"1001 ms", NULL, 20},
               {"1000 ms", NULL, 30}, {"1 ms", NULL, 30},    {"0", NULL, 40},
               {"3001 ms", "12", 28}, {"1500 ms", "12", 28}, {"1000 ms", "12", 30}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    begin();
    for (int step = 0; step < 4; step++) {
      shim.now_ms = T0 + 1000 * step;
      append("a", 10);
    }
    db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, hold_age, hold_rows) VALUES ('s', 'logs', %Q, %s)",
            cases[i].age, cases[i].cap != NULL ? cases[i].cap : "NULL");
    deliver("s", "source=a", 0, 5, 5);
    limit("retention_rows", "0");
    const int64_t rows = strtoll(prune("rows"), NULL, 10);
    ck_assert_msg(rows == cases[i].rows, "%s: %d", cases[i].age, (int)rows);
    assert_int(db, cases[i].rows - 5, "SELECT total(rows) FROM tidemark_export_log WHERE kind = 'gap'");
    check_logs();
    end();
  }
}
END_TEST

/* ---- open batches ---- */

START_TEST(open_batch_holds_whatever_its_sink) {
  static const char *const sinks[] = {"hold = 0", "state = 'disabled'", "hold = 0, hold_rows = 3", "hold_rows = 0"};
  for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) {
    begin_with_40();
    db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, max_rows) VALUES ('s', 'logs', 12)");
    deliver("s", "source=a", 0, 6, 6);
    assert_int(db, 1, "SELECT tidemark_claim('s', 'logs')");
    db_exec(db, "UPDATE tidemark_sink SET %s", sinks[i]);
    limit("retention_rows", "0");
    ck_assert_str_eq(prune("rows gaps held[0].sink held[0].rows"), "6|0|s|34");
    const int64_t batch = db_int(db, "SELECT batch FROM tidemark_batch");
    db_exec(db, "SELECT tidemark_ack(%lld)", (long long)batch);
    ck_assert_str_eq(prune("rows gaps gap_rows"), "34|1|22");
    ck_assert_str_eq(log_of("s"), "batch 0 6 6, batch 6 18 12, gap 18 40 22");
    check_logs();
    end();
  }
}
END_TEST

/* What becomes of an open batch up to 12 whose sink has the caps, when its owner is that. */
static const char *prune_over_batch(const char *caps, const char *owner) {
  begin_with_40();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, max_rows) VALUES ('s', 'logs', 12)");
  db_exec(db, "SELECT tidemark_claim('s', 'logs')");
  db_exec(db, "UPDATE tidemark_sink SET %s; UPDATE tidemark_batch SET %s", caps, owner);
  limit("retention_rows", "0");
  static char text[200];
  snprintf(text, sizeof text, "%s", prune("rows held_rows"));
  snprintf(text + strlen(text), sizeof text - strlen(text), ", %s, batches %s", log_of("s"),
           db_text(db, "SELECT count(*) FROM tidemark_batch"));
  check_logs();
  return text;
}

static const char dead[] = "owner = substr(owner, 1, instr(owner, ':')) || '999999999:1'";
static const char lease_out[] = "lease_until = 1767225600000";
static const char failed[] = "owner = NULL, lease_until = NULL, attempts = 1, error = 'disk full'";

START_TEST(cap_turns_an_abandoned_batch_into_the_gap) {
  const char *const owners[] = {dead, lease_out, failed};
  for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
    ck_assert_str_eq(prune_over_batch("hold_rows = 5", owners[i]), "35|5, gap 0 35 35, batches 0");
    db_refuses(db, 0, "not open", "SELECT tidemark_ack(1)");
    assert_int(db, 1, "SELECT tidemark_claim('s', 'logs')");
    assert_text(db, "35|40|5", "SELECT since, until, rows FROM tidemark_batch");
    end();
    ck_assert_str_eq(prune_over_batch("hold_rows = 28", owners[i]), "12|28, gap 0 12 12, batches 0");
    end();
    ck_assert_str_eq(prune_over_batch("hold_age = 0", owners[i]), "40|0, gap 0 40 40, batches 0");
    end();
    ck_assert_str_eq(prune_over_batch("hold = 0, hold_rows = 5", owners[i]), "40|0, gap 0 40 40, batches 0");
    end();
  }
}
END_TEST

/* Its rows may have arrived: the sink must not be given some of them again, under another name. */
START_TEST(abandoned_batch_goes_whole_or_not_at_all) {
  ck_assert_str_eq(prune_over_batch("hold_rows = 29", dead), "0|40, -, batches 1");
  end();
  begin_with_40();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, max_rows, hold_rows) VALUES ('s', 'logs', 12, 0)");
  db_exec(db, "SELECT tidemark_claim('s', 'logs'); UPDATE tidemark_batch SET %s", dead);
  limit("retention_rows", "30"); /* the limit, too, lies inside */
  ck_assert_str_eq(prune("rows held_rows held[0].sink held[0].rows"), "0|10|s|10");
  limit("retention_rows", "28");
  ck_assert_str_eq(prune("rows held_rows"), "12|0");
  ck_assert_str_eq(log_of("s"), "gap 0 12 12");
  check_logs();
  end();
}
END_TEST

START_TEST(batch_stays_without_a_cap_or_with_somebody_at_work) {
  const char *const owners[] = {dead, lease_out, failed};
  for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
    ck_assert_str_eq(prune_over_batch("hold = 0", owners[i]), "0|40, -, batches 1");
    end();
    ck_assert_str_eq(prune_over_batch("hold_rows = 40, hold_age = 1", owners[i]), "0|40, -, batches 1");
    end();
  }
  ck_assert_str_eq(prune_over_batch("hold_rows = 0, hold_age = 0", "attempts = 0"), "0|40, -, batches 1");
  db_exec(db, "SELECT tidemark_ack(%d)", (int)db_int(db, "SELECT batch FROM tidemark_batch"));
  ck_assert_str_eq(prune("rows"), "40");
  ck_assert_str_eq(log_of("s"), "batch 0 12 12, gap 12 40 28");
  end();
}
END_TEST

/* ---- gaps ---- */

/* Sinks of all kinds that do not hold, each in front of 40 rows of source=a and 20 of source=b. */
static void begin_with_sinks(void) {
  begin_with_40();
  append("b", 20);
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, state, hold, filter, start) VALUES"
              " ('off', 'logs', 'active', 1, NULL, 0), ('lax', 'logs', 'active', 0, 'body = ''row 3''', 0),"
              " ('gone', 'logs', 'active', 1, NULL, 0), ('never', 'logs', 'active', 1, NULL, 0),"
              " ('ahead', 'logs', 'active', 0, NULL, 0)");
  deliver("off", "source=a", 0, 7, 7);
  deliver("gone", "source=a", 0, 25, 25);
  deliver("ahead", "source=a", 0, 40, 40);
  deliver("ahead", "source=b", 0, 60, 20);
  db_exec(db, "DELETE FROM tidemark_sink WHERE sink IN ('gone', 'never');"
              "UPDATE tidemark_sink SET state = 'disabled' WHERE sink = 'off';"
              "DELETE FROM logs WHERE since IN (3, 10, 30, 60)");
  limit("retention_rows", "2");
}

static const char *state(void) {
  return db_text(db, "SELECT (SELECT group_concat(since || source) FROM (SELECT since, source FROM logs"
                     " ORDER BY since)), (SELECT group_concat(id || kind || sink) FROM tidemark_export_log),"
                     " (SELECT group_concat(partition || rows || '/' || written || '/' || deleted || '/' || segments"
                     " || '/' || tail_rows || '/' || stored_bytes) FROM tidemark_stat)");
}

START_TEST(everyone_who_is_overtaken_is_told) {
  begin_with_sinks();
  ck_assert_str_eq(prune("rows gaps gap_rows held_rows"), "52|5|110|0");
  /* a: rows up to 38 go, 3, 10, 30 were deleted; b: rows up to 57 go */
  ck_assert_str_eq(log_of("off"), "batch 0 7 7, gap 7 38 29, gap 0 57 17");
  ck_assert_str_eq(log_of("lax"), "gap 0 38 35, gap 0 57 17");
  ck_assert_str_eq(log_of("gone"), "batch 0 25 25, gap 25 38 12");
  ck_assert_str_eq(log_of("never"), "-");
  ck_assert_str_eq(log_of("ahead"), "batch 0 40 40, batch 0 60 20");
  assert_text(db, "5|2",
              "SELECT count(*), count(DISTINCT reason) FROM tidemark_export_log WHERE kind = 'gap' AND reason > ''");
  assert_text(db, "lax|source=a|2 lax|source=b|2 off|source=a|2 off|source=b|2",
              "SELECT sink, partition, rows FROM tidemark_lag WHERE rows > 0 ORDER BY sink, partition");
  check_logs();
  end();
}
END_TEST

START_TEST(gaps_are_of_the_prunes_transaction) {
  char before[4096];
  begin_with_sinks();
  snprintf(before, sizeof before, "%s", state());
  db_exec(db, "BEGIN");
  ck_assert_str_eq(prune("rows gaps"), "52|5");
  ck_assert_str_ne(state(), before);
  db_exec(db, "ROLLBACK");
  ck_assert_str_eq(state(), before);
  db_exec(db, "BEGIN; INSERT INTO logs VALUES ('a', 1, 'new'); SAVEPOINT s");
  ck_assert_str_eq(prune("rows gaps"), "53|5");
  db_exec(db, "ROLLBACK TO s; COMMIT");
  ck_assert_str_eq(log_of("lax"), "-");
  ck_assert_str_eq(prune("rows gaps"), "53|5");
  /* a gap that the log refuses leaves the rows */
  db_exec(db, "CREATE TRIGGER veto BEFORE INSERT ON tidemark_export_log WHEN NEW.partition = 'source=b' BEGIN"
              " SELECT RAISE(ABORT, 'not now'); END; INSERT INTO logs VALUES ('b', 1, 'new'), ('a', 1, 'new')");
  snprintf(before, sizeof before, "%s", db_text(db, "SELECT group_concat(since) FROM logs WHERE source = 'b'"));
  db_refuses(db, SQLITE_CONSTRAINT, "not now", "SELECT tidemark_prune('logs')");
  ck_assert_str_eq(db_text(db, "SELECT group_concat(since) FROM logs WHERE source = 'b'"), before);
  check_logs();
  end();
}
END_TEST

START_TEST(sink_that_comes_back_goes_on_behind_its_gap) {
  begin_with_sinks();
  prune("rows");
  db_exec(db, "UPDATE tidemark_sink SET state = 'active'; INSERT INTO tidemark_sink(sink, dataset) VALUES"
              " ('gone', 'logs'), ('never', 'logs')");
  append("a", 3);
  assert_text(db, "38|63|5 57|60|2",
              "SELECT since, until, rows FROM tidemark_lag WHERE sink = 'off'"
              " ORDER BY partition");
  assert_text(db, "38|63|5 0|60|2",
              "SELECT since, until, rows FROM tidemark_lag WHERE sink = 'gone'"
              " ORDER BY partition");
  assert_text(db, "0|63|5 0|60|2",
              "SELECT since, until, rows FROM tidemark_lag WHERE sink = 'never'"
              " ORDER BY partition");
  static const char *const sinks[] = {"off", "gone", "never", "lax"};
  for (int i = 0; i < 4; i++) {
    assert_int(db, 2, "SELECT tidemark_claim(%Q, 'logs')", sinks[i]);
    for (int batch = 0; batch < 2; batch++)
      db_exec(db, "SELECT tidemark_ack(%d)", (int)db_int(db, "SELECT min(batch) FROM tidemark_batch"));
  }
  ck_assert_str_eq(log_of("gone"), "batch 0 25 25, gap 25 38 12, batch 38 63 5, batch 0 60 2");
  check_logs();
  limit("retention_rows", "0");
  ck_assert_str_eq(prune("rows gaps"), "7|1"); /* "ahead" stood at 40 */
  check_logs();
  end();
}
END_TEST

START_TEST(rewound_sink_is_told_what_it_will_not_get_again) {
  begin_with_40();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, hold) VALUES ('s', 'logs', 0)");
  deliver("s", "source=a", 0, 40, 40);
  limit("retention_rows", "10");
  ck_assert_str_eq(prune("rows gaps"), "30|0");
  db_exec(db, "SELECT tidemark_rewind('s', 'logs', 'source=a', 0, 'again')");
  limit("retention_rows", "4");
  ck_assert_str_eq(prune("rows gap_rows"), "6|6");
  ck_assert_str_eq(log_of("s"), "batch 0 40 40, rewind 40 30 10, gap 30 36 6");
  check_logs();
  end();
}
END_TEST

START_TEST(gap_where_only_deleted_rows_are_left_is_none) {
  begin_with_40();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, hold) VALUES ('s', 'logs', 0)");
  deliver("s", "source=a", 0, 30, 30);
  db_exec(db, "DELETE FROM logs WHERE since > 30");
  limit("retention_rows", "0");
  ck_assert_str_eq(prune("rows gaps"), "30|0");
  append("a", 1);
  assert_text(db, "30|41|1", "SELECT since, until, rows FROM tidemark_lag");
  check_logs();
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {who_holds_and_who_does_not,
                                lowest_of_several_wins,
                                sink_at_latest_misses_nothing_that_was_before_it,
                                hold_rows_is_exact,
                                hold_age_is_exact,
                                open_batch_holds_whatever_its_sink,
                                cap_turns_an_abandoned_batch_into_the_gap,
                                abandoned_batch_goes_whole_or_not_at_all,
                                batch_stays_without_a_cap_or_with_somebody_at_work,
                                everyone_who_is_overtaken_is_told,
                                gaps_are_of_the_prunes_transaction,
                                sink_that_comes_back_goes_on_behind_its_gap,
                                rewound_sink_is_told_what_it_will_not_get_again,
                                gap_where_only_deleted_rows_are_left_is_none,
                                NULL};
  return unit_main("prune sinks", tests);
}
