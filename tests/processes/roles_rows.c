/* Writers, producers and readers. */
#define _GNU_SOURCE
#include "../unit/sql_db.h"
#include "chance.h"
#include "processes.h"

enum { RESENT_MAX = 30, SENT_MAX = 40 };

static int64_t see(const int64_t *what) {
  return __atomic_load_n(what, __ATOMIC_SEQ_CST);
}

/* In this order, as the program has it: this process may die between any two. */
static void show(int64_t *what, int64_t value) {
  __atomic_store_n(what, value, __ATOMIC_SEQ_CST);
}

static void raise_to(int64_t *what, int64_t value) {
  int64_t seen = see(what);
  while (seen < value && !__atomic_compare_exchange_n(what, &seen, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    continue;
}

/* ---- writers ---- */

#define ALL_ROWS "(SELECT since, writer, n FROM copy UNION SELECT since, writer, n FROM logs)"

/* What it wrote before is what it knows, or all of the transaction whose COMMIT was not answered. */
static int64_t find_own(sqlite3 *db, int writer) {
  const int64_t n = db_int(db, "SELECT coalesce(max(n), 0) FROM " ALL_ROWS " WHERE writer = %d", writer);
  const int64_t committed = see(&shared->writers[writer].committed);
  const int64_t pending = see(&shared->writers[writer].pending);
  ck_assert_msg(n == committed || n == pending, "writer %d has %lld, not %lld or %lld", writer, (long long)n,
                (long long)committed, (long long)pending);
  return n;
}

/* Through the partition's own table where there is one and all rows go there. */
static void append(sqlite3 *db, int writer, int64_t from, int64_t upto) {
  const bool one = one_in(3);
  const bool own = one && db_int(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'part'") > 0;
  db_exec(db,
          "WITH RECURSIVE c(i) AS (SELECT %lld UNION ALL SELECT i + 1 FROM c WHERE i < %lld)"
          " INSERT INTO %s(source, writer, n, body) SELECT %s, %d, i, printf('%%.*c', i %% 60, 'x') FROM c",
          (long long)from, (long long)upto, own ? "part" : "logs", one ? "'p0'" : "'p' || ((i * 7) % 4)", writer);
  ck_assert_int_eq(sqlite3_changes(db), (int)(upto - from + 1));
}

void step_write(sqlite3 *db, int writer) {
  static const int sizes[] = {1, 1, 1, 2, 5, 20, 40, 150};
  insist(db, "BEGIN IMMEDIATE");
  const int64_t from = find_own(db, writer);
  const int64_t upto = from + PICK(sizes);
  const int64_t between = from + 1 + (int64_t)pick((size_t)(upto - from));
  const bool roll_back = one_in(10);
  show(&shared->writers[writer].committed, from);
  show(&shared->writers[writer].pending, roll_back ? from : upto);
  append(db, writer, from + 1, between);
  if (one_in(4)) {
    db_exec(db, "SAVEPOINT junk");
    append(db, JUNK_WRITER, 1, 30);
    db_exec(db, "ROLLBACK TO junk; RELEASE junk");
  }
  if (between < upto)
    append(db, writer, between + 1, upto);
  if (roll_back)
    db_exec(db, "ROLLBACK");
  else if (commit(db, one_in(2)))
    show(&shared->writers[writer].committed, upto);
  show(&shared->writers[writer].pending, see(&shared->writers[writer].committed));
}

/* ---- producers ---- */

/* Sends what some producer was told is there, and more, in any partition. What is new is noted in an ordinary table by
 * the same transaction. Ids are noted as sent before they can be there. */
void step_produce(sqlite3 *db, int number) {
  (void)number;
  insist(db, "BEGIN IMMEDIATE");
  const char *events = events_name(db);
  const int64_t known = see(&shared->produced);
  const int64_t from = known > RESENT_MAX ? known - (int64_t)pick(RESENT_MAX) : 0;
  const int64_t upto = from + 1 + (int64_t)pick(SENT_MAX);
  const int64_t there = db_int(db, "SELECT count(*) FROM seen WHERE id > %lld AND id <= %lld", from, upto);
  raise_to(&shared->sent, upto);
  db_exec(db,
          "WITH RECURSIVE c(i) AS (SELECT %lld UNION ALL SELECT i + 1 FROM c WHERE i < %lld)"
          " INSERT OR IGNORE INTO %s(source, id, body) SELECT 'e' || abs(random() %% %d), i, hex(i) FROM c",
          from + 1, upto, events, EVENT_PARTITIONS);
  ck_assert_int_eq(sqlite3_changes(db), (int)(upto - from - there));
  db_exec(db,
          "INSERT INTO seen SELECT since, partition, id FROM %s WHERE since > (SELECT coalesce(max(since), 0)"
          " FROM seen)",
          events);
  ck_assert_int_eq(sqlite3_changes(db), (int)(upto - from - there));
  if (one_in(10))
    db_exec(db, "ROLLBACK");
  else if (commit(db, one_in(2)))
    raise_to(&shared->produced, upto);
  __atomic_fetch_add(&shared->known, there, __ATOMIC_RELAXED);
}

/* ---- readers ---- */

/* In one snapshot: numbers ascend in the order of since, which is that of the commits, and each writer's without a
 * hole; what was copied and what is in the dataset are the same rows. */
static void check_order(sqlite3 *db) {
  int64_t last[WRITERS] = {0};
  int64_t since = 0;
  sqlite3_stmt *stmt = NULL;
  const int rc = sqlite3_prepare_v2(db, "SELECT since, writer, n FROM " ALL_ROWS " ORDER BY since", -1, &stmt, NULL);
  ck_assert_msg(rc == SQLITE_OK, "%s", sqlite3_errmsg(db));
  while (sqlite3_step(stmt) == SQLITE_ROW) {
    const int writer = sqlite3_column_int(stmt, 1);
    const int64_t n = sqlite3_column_int64(stmt, 2);
    ck_assert_msg(sqlite3_column_int64(stmt, 0) > since, "since %lld is there twice", (long long)since);
    since = sqlite3_column_int64(stmt, 0);
    ck_assert_msg(writer >= 0 && writer < WRITERS && n == last[writer] + 1, "since %lld: %lld of writer %d",
                  (long long)since, (long long)n, writer);
    last[writer] = n;
  }
  ck_assert_msg(sqlite3_finalize(stmt) == SQLITE_OK, "%s", sqlite3_errmsg(db));
}

static void check_partitions(sqlite3 *db) {
  for (int i = 0; i < PARTITIONS; i++)
    assert_int(db, 0,
               "SELECT count(*) FROM (SELECT since, lag(since, 1, 0) OVER () AS before FROM logs"
               " WHERE source = 'p%d') WHERE since <= before",
               i);
  assert_text(db, "",
              "SELECT source, count(*) FROM logs GROUP BY 1 EXCEPT SELECT substr(partition, 8), rows FROM"
              " tidemark_stat WHERE dataset = 'logs'");
  if (db_int(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'part'") > 0)
    assert_text(db, "",
                "SELECT since, writer, n FROM logs WHERE source = 'p0' EXCEPT SELECT since, writer, n FROM part");
  assert_int(db, db_int(db, "SELECT count(*) FROM copy"),
             "SELECT total(rows) FROM tidemark_export_log WHERE sink = 'copy'");
}

static void check_events(sqlite3 *db) {
  const char *events = events_name(db);
  assert_text(db, "", "SELECT since, partition, id FROM %s EXCEPT SELECT since, partition, id FROM seen", events);
  assert_int(db, db_int(db, "SELECT coalesce(max(since), 0) FROM seen"), "SELECT coalesce(max(since), 0) FROM %s",
             events);
}

void step_read(sqlite3 *db, int number) {
  (void)number;
  db_exec(db, "BEGIN");
  insist(db, "SELECT count(*) FROM logs"); /* a snapshot is had from here on */
  check_order(db);
  check_partitions(db);
  check_events(db);
  if (one_in(5))
    assert_text(db, "ok", "SELECT tidemark_check('logs')");
  if (one_in(5))
    assert_text(db, "ok", "SELECT tidemark_check(%Q)", events_name(db));
  insist(db, "COMMIT");
}
