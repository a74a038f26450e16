/* Upkeep, and those who change what is there: names, columns, tables, where sinks stand. */
#define _GNU_SOURCE
#include "../unit/sql_db.h"
#include "chance.h"
#include "processes.h"

/* ---- upkeep ---- */

static const char *const upkeep[] = {"SELECT tidemark_flush('logs')",
                                     "SELECT tidemark_prune('logs')",
                                     "SELECT tidemark_compact('logs', 1)",
                                     "SELECT tidemark_compact('logs')",
                                     "SELECT tidemark_maintain('logs')",
                                     "SELECT tidemark_maintain()",
                                     "SELECT tidemark_set('logs', 'retention_rows', abs(random() % 60))",
                                     "SELECT tidemark_set('logs', 'zstd_level', 1 + abs(random() % 9))",
                                     "SELECT tidemark_set('logs', 'segment_rows', 16 + abs(random() % 60))"};

/* Some of the rows that all sinks have. */
static const char delete_some[] =
    "DELETE FROM logs WHERE since IN (SELECT l.since FROM logs l WHERE l.n % 7 = 0 AND l.since <="
    " (SELECT iif(count(*) = 3, min(w.since), 0) FROM tidemark_watermark w WHERE w.dataset = 'logs' AND"
    " w.partition = l.partition))";

/* Several in a transaction, which may have read before another process's commit; then BUSY is for good. */
static void upkeep_in_transaction(sqlite3 *db) {
  bool going_on = attempt(db, one_in(2) ? "BEGIN IMMEDIATE" : "BEGIN");
  for (size_t i = 1 + pick(3); going_on && i > 0; i--) {
    if (one_in(3))
      going_on = attempt(db, "SELECT count(*) FROM logs");
    going_on = going_on && attempt(db, "%s", PICK(upkeep));
  }
  if (going_on && !one_in(4))
    commit(db, true);
  else if (!sqlite3_get_autocommit(db))
    insist(db, "ROLLBACK");
}

/* Under a lock, so that it has the name that it is called by. */
static void upkeep_of_events(sqlite3 *db) {
  static const char *const calls[] = {"flush", "prune", "compact", "maintain"};
  if (!attempt(db, "BEGIN IMMEDIATE"))
    return;
  db_exec(db, "SELECT tidemark_%s(%Q)", PICK(calls), events_name(db));
  commit(db, true);
}

static void check_one(sqlite3 *db) {
  char *text = insist_text(db, "SELECT tidemark_check('logs')");
  ck_assert_str_eq(text, "ok");
  free(text);
}

void step_upkeep(sqlite3 *db, int number) {
  (void)number;
  const size_t dice = pick(24);
  if (dice < 11)
    attempt(db, "%s", PICK(upkeep));
  else if (dice < 14)
    attempt(db, "%s", delete_some);
  else if (dice < 17)
    upkeep_in_transaction(db);
  else if (dice < 21)
    upkeep_of_events(db);
  else if (dice < 22)
    attempt(db, "VACUUM");
  else if (dice < 23)
    attempt(db, "PRAGMA wal_checkpoint(TRUNCATE)");
  else
    check_one(db);
}

/* ---- meddling ---- */

static void rename_events(sqlite3 *db) {
  const char *name = events_name(db);
  db_exec(db, "ALTER TABLE %s RENAME TO %s", name, strcmp(name, "events") == 0 ? "happenings" : "events");
  __atomic_fetch_add(&shared->renames, 1, __ATOMIC_RELAXED);
}

static void make_or_drop_partition_table(sqlite3 *db) {
  if (db_int(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'part'") > 0)
    db_exec(db, "DROP TABLE part");
  else
    db_exec(db, "CREATE VIRTUAL TABLE part USING tidemark_partition(logs, source='p0')");
}

static void add_column(sqlite3 *db) {
  const char *dataset = one_in(2) ? "logs" : events_name(db);
  const int64_t there = db_int(db, "SELECT count(*) FROM pragma_table_info(%Q)", dataset);
  if (there < 4 + COLUMNS_MAX)
    db_exec(db, "SELECT tidemark_add_column(%Q, 'more%lld INTEGER DEFAULT %lld')", dataset, there, there);
}

/* Takes an outside sink back to somewhere below where it stands, and notes which rows it is to ship once more. */
static void rewind_some(sqlite3 *db) {
  static const char where[] = "sink = %Q AND dataset = %Q AND partition = %Q";
  const char *found =
      db_text(db, "SELECT w.sink || ' ' || w.dataset || ' ' || w.partition || ' ' || w.since FROM tidemark_watermark w"
                  " WHERE w.sink <> 'copy' AND NOT EXISTS (SELECT 1 FROM tidemark_batch b WHERE b.sink = w.sink AND"
                  " b.partition = w.partition) AND w.since > 0 ORDER BY random() LIMIT 1");
  char sink[32], dataset[32], partition[32];
  long long left = 0;
  if (sscanf(found, "%31s %31s %31s %lld", sink, dataset, partition, &left) != 4)
    return;
  const int64_t back = left - 1 - (int64_t)pick(left < 60 ? (size_t)left : 60);
  char *place = sqlite3_mprintf(where, sink, dataset, partition);
  sqlite3_stmt *stmt = NULL;
  char *sql = sqlite3_mprintf("SELECT tidemark_rewind(%Q, %Q, %Q, %lld, 'rewind %ld')", sink, dataset, partition, back,
                              shared->rewinds);
  ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
  const int rc = sqlite3_step(stmt);
  const bool none_left = rc == SQLITE_ERROR && strstr(sqlite3_errmsg(db), "none is left to rewind to") != NULL;
  ck_assert_msg(rc == SQLITE_ROW || none_left, "%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_finalize(stmt);
  if (!none_left)
    db_exec(db,
            "INSERT INTO again SELECT %Q, since FROM %s WHERE partition = %Q AND since <= %lld AND since >"
            " (SELECT since FROM tidemark_watermark WHERE %s)",
            sink, dataset, partition, left, place);
  __atomic_fetch_add(&shared->rewinds, !none_left, __ATOMIC_RELAXED);
  sqlite3_free(sql);
  sqlite3_free(place);
}

void step_meddle(sqlite3 *db, int number) {
  static void (*const deeds[])(sqlite3 *) = {rename_events, rename_events, make_or_drop_partition_table,
                                             add_column,    rewind_some,   rewind_some};
  (void)number;
  insist(db, "BEGIN IMMEDIATE");
  PICK(deeds)(db);
  if (one_in(5))
    db_exec(db, "ROLLBACK");
  else
    commit(db, true);
}
