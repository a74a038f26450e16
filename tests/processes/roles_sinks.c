/* Ticks of the sinks that reach outside, and the one in plain SQL. */
#define _GNU_SOURCE
#include "../unit/sql_db.h"
#include "chance.h"
#include "processes.h"

/* A process that was stopped for longer than its lease finds its batch with another, and says so; the other ships it.
 * A dataset may be renamed under a tick. Nothing else may fail. */
static void check_report(const char *report) {
#define LOST "'%%taken over by another process%%'"
#define RENAMED "'dataset %% was renamed or dropped during the tick%%'"
#define FAILURES "FROM json_tree(%Q) WHERE type = 'object' AND value ->> 'error' IS NOT NULL AND value ->> 'error'"
  static sqlite3 *reader; /* takes no lock of the file's */
  if (reader == NULL)
    reader = db_open(":memory:", NULL);
  assert_text(reader, "",
              "SELECT value ->> 'error' " FAILURES " NOT LIKE " LOST " AND value ->> 'error' NOT LIKE " RENAMED,
              report);
  __atomic_fetch_add(&shared->taken_over, db_int(reader, "SELECT count(*) " FAILURES " LIKE " LOST, report),
                     __ATOMIC_RELAXED);
}

void step_tick(sqlite3 *db, int number) {
  static const char *const calls[] = {
      "SELECT tidemark_export()",
      "SELECT tidemark_export()",
      "SELECT tidemark_export('archive')",
      "SELECT tidemark_export('archive', 'max_batches=2')",
      "SELECT tidemark_export('archive', 'now')",
      "SELECT tidemark_export('sheet', 'now')",
      "SELECT tidemark_export('mail', 'now')",
      "SELECT tidemark_export('lake', 'now')",
      "SELECT tidemark_export('lake', 'max_batches=3')",
  };
  (void)number;
  char *report = NULL;
  const char *call = PICK(calls);
  for (size_t tries = 1 + pick(30); tries > 0 && report == NULL; tries--) {
    if (attempt_text(db, call, &report))
      check_report(report);
    ck_assert_int_eq(sqlite3_txn_state(db, NULL), SQLITE_TXN_NONE);
  }
  free(report);
}

void step_copy(sqlite3 *db, int number) {
  (void)number;
  insist(db, "BEGIN IMMEDIATE");
  db_exec(db,
          "INSERT INTO copy(since, writer, n) SELECT l.since, l.writer, l.n FROM tidemark_lag w CROSS JOIN logs l"
          " ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until"
          " WHERE w.sink = 'copy' AND w.rows > 0;"
          "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
          " SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'copy' AND rows > 0");
  if (one_in(8))
    db_exec(db, "ROLLBACK");
  else
    commit(db, one_in(2));
}
