/* A host may switch triggers off (SQLITE_DBCONFIG_ENABLE_TRIGGER), and triggers keep the rules of sinks: what needs them
 * says so and does nothing, the rest works. */
#define _GNU_SOURCE
#include "export_db.h"

static void switch_triggers(bool on) {
  int now = -1;
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, (int)on, &now);
  ck_assert_int_eq(now, (int)on);
}

/* What the sinks' tables hold. */
static const char *sinks_hold(void) {
  return db_text(db, "SELECT 'log', id, sink, dataset, partition, kind, since, until, rows FROM tidemark_export_log"
                     " UNION ALL SELECT 'batch', batch, sink, dataset, partition, generation, since, until, rows"
                     " FROM tidemark_batch UNION ALL SELECT 'sink', 0, sink, dataset, state, start, hold, 0, 0"
                     " FROM tidemark_sink ORDER BY 1, 2, 3");
}

static void begin_with_sinks(void) {
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset) VALUES ('own', 'logs'), ('lazy', 'logs');"
              "UPDATE tidemark_sink SET hold = 0 WHERE sink = 'lazy';"
              "INSERT INTO logs VALUES ('web', 'one'), ('db', 'two'), ('web', 'three')");
  db_exec(db, "SELECT tidemark_claim('own', 'logs')");
}

START_TEST(what_writes_for_sinks_is_refused) {
  static const char *const calls[] = {"SELECT tidemark_export('s')",
                                      "SELECT tidemark_export()",
                                      "SELECT tidemark_claim('own', 'logs')",
                                      "SELECT tidemark_ack(1)",
                                      "SELECT tidemark_fork('s')",
                                      "SELECT tidemark_requeue('s')",
                                      "SELECT tidemark_rewind('lazy', 'logs', 'source=web', 0, 'again')"};
  begin_with_sinks();
  db_exec(db, "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
              " VALUES ('lazy', 'logs', 'source=web', 0, 1, 1)");
  char before[8192];
  snprintf(before, sizeof before, "%s", sinks_hold());
  switch_triggers(false);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    db_refuses(db, SQLITE_MISUSE, "SQLITE_DBCONFIG_ENABLE_TRIGGER is off on this connection: switch it on first", "%s",
               calls[i]);
    ck_assert_str_eq(sinks_hold(), before);
  }
  ck_assert_int_eq(files_below(folder, true), 0);
  assert_int(db, 3, "SELECT json_extract(tidemark_peek('s'), '$.sinks[0].rows')");
  switch_triggers(true);
  assert_int(db, 3, "SELECT json_extract(tidemark_export('s'), '$.rows')");
  check_archive();
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  end();
}
END_TEST

START_TEST(a_prune_that_overtakes_a_sink_is_refused_whole) {
  begin();
  db_exec(db, "INSERT INTO tidemark_sink(sink, dataset, hold) VALUES ('lazy', 'logs', 0);"
              "INSERT INTO logs VALUES ('web', 'one'), ('web', 'two'), ('web', 'three')");
  db_exec(db, "SELECT tidemark_export('s'); SELECT tidemark_set('logs', 'retention_rows', 1)");
  switch_triggers(false);
  db_refuses(db, SQLITE_MISUSE, "switch it on first", "SELECT tidemark_prune('logs')");
  assert_int(db, 3, "SELECT count(*) FROM logs");
  db_exec(db,
          "SELECT tidemark_flush('logs'); DELETE FROM logs WHERE since = 2; INSERT INTO logs VALUES ('db', 'four')");
  db_exec(db, "SELECT tidemark_compact('logs')");
  switch_triggers(true);
  db_exec(db, "DELETE FROM tidemark_sink WHERE sink = 'lazy'; SELECT tidemark_export('s')");
  switch_triggers(false);
  assert_int(db, 1, "SELECT json_extract(tidemark_prune('logs'), '$.rows')"); /* nobody is overtaken */
  assert_text(db, "3|three 4|four", "SELECT since, body FROM logs ORDER BY since");
  switch_triggers(true);
  assert_text(db, "ok", "SELECT tidemark_check('logs')");
  end();
}
END_TEST

/* A dataset's own rows need none, and its sinks follow a RENAME and a DROP all the same. */
START_TEST(sinks_follow_their_dataset) {
  begin_with_sinks();
  switch_triggers(false);
  db_exec(db, "ALTER TABLE logs RENAME TO events");
  assert_text(db, "events|lazy events|own events|s", "SELECT dataset, sink FROM tidemark_sink ORDER BY 1, 2");
  switch_triggers(true);
  assert_text(db, "ok", "SELECT tidemark_check('events')");
  assert_int(db, 3, "SELECT json_extract(tidemark_export('s'), '$.rows')");
  switch_triggers(false);
  db_exec(db, "DROP TABLE events");
  assert_text(db, "0|0|0|0|0",
              "SELECT (SELECT count(*) FROM tidemark_sink), (SELECT count(*) FROM tidemark_batch),"
              " (SELECT count(*) FROM tidemark_export_log), (SELECT count(*) FROM tidemark_sink_state),"
              " (SELECT count(*) FROM tidemark_export_total)");
  end();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {what_writes_for_sinks_is_refused, a_prune_that_overtakes_a_sink_is_refused_whole,
                                sinks_follow_their_dataset, NULL};
  return unit_main("without triggers", tests);
}
