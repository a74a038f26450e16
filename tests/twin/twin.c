/* Random statements on a dataset and an ordinary table, which must agree:  twin [seed [worlds]]
 * A seed repeats one world. TIDE_TEST_LONG=1 runs for minutes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/effort.h"
#include "cursors.h"
#include "gen.h"
#include "world.h"

enum { WORLDS = 24, WORLDS_LONG = 3000, STEPS = 150, STEPS_CHECK = 8, MANY_ROWS = 400 };

/* ---- comparing ---- */

static void compare_state(struct world *world, struct pair *pair) {
  if (sqlite3_get_autocommit(pair->log) != sqlite3_get_autocommit(pair->twin))
    fail(world, "autocommit is %d, of the twin %d", sqlite3_get_autocommit(pair->log),
         sqlite3_get_autocommit(pair->twin));
  if (sqlite3_last_insert_rowid(pair->log) != sqlite3_last_insert_rowid(pair->twin))
    fail(world, "last_insert_rowid() is %lld, of the twin %lld", (long long)sqlite3_last_insert_rowid(pair->log),
         (long long)sqlite3_last_insert_rowid(pair->twin));
  if (pair->changes != CHANGES_UNKNOWN && pair->changes != sqlite3_changes(pair->log))
    fail(world, "changes() is %d, expected %d", sqlite3_changes(pair->log), pair->changes);
}

/* A scan that is not ordered still ascends inside each partition. */
static void compare_unordered(struct world *world, struct pair *pair) {
  sqlite3_stmt *stmt = NULL;
  char *sql = sqlite3_mprintf("SELECT since, \"partition\" FROM %s", world->table);
  char last_text[600] = "?";
  int64_t last = 0;
  sqlite3_prepare_v2(pair->log, sql, -1, &stmt, NULL);
  while (sqlite3_step(stmt) == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(stmt, 1);
    const int64_t since = sqlite3_column_int64(stmt, 0);
    if (strcmp(text, last_text) == 0 && since <= last)
      fail(world, "%s: in partition '%s', %lld comes after %lld", sql, text, (long long)since, (long long)last);
    last = since;
    sqlite3_snprintf(sizeof last_text, last_text, "%s", text);
  }
  sqlite3_finalize(stmt);
  sqlite3_free(sql);
}

static void compare_counts(struct world *world, struct pair *pair, const char *of_log, const char *of_twin) {
  struct rows want = fetch(world, pair, true, of_twin, false);
  struct rows have = fetch(world, pair, false, of_log, false);
  for (size_t i = 0; i < want.n || i < have.n; i++) {
    if (i >= want.n || i >= have.n || strcmp(want.row[i], have.row[i]) != 0)
      fail(world, "%s\ngives %s, counted were %s", of_log, i < have.n ? have.row[i] : "nothing",
           i < want.n ? want.row[i] : "nothing");
  }
  free_rows(&want);
  free_rows(&have);
}

/* What the status tables count, and the highest number ever given. */
static void compare_status(struct world *world, struct pair *pair) {
  compare_counts(world, pair, "SELECT rows, last_since FROM @S.tidemark_dataset",
                 "SELECT count(*), coalesce((SELECT seq FROM sqlite_sequence WHERE name = 't'), 0) FROM t");
  compare_counts(world, pair, "SELECT partition, rows FROM @S.tidemark_stat WHERE rows > 0",
                 "SELECT \"partition\", count(*) FROM t GROUP BY 1");
}

/* The dataset says of itself that all is well, with what the open transaction has written. The twin reads as well, for
 * the locks. */
static void check(struct world *world, struct pair *pair) {
  sqlite3_stmt *stmt = NULL;
  char *sql = sqlite3_mprintf("SELECT tidemark_check('%s.my log')", world->schema);
  int rc = sqlite3_prepare_v2(pair->log, sql, -1, &stmt, NULL);
  if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW &&
      strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0)
    fail(world, "%s: %s", sql, (const char *)sqlite3_column_text(stmt, 0));
  rc = sqlite3_finalize(stmt);
  if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY)
    fail(world, "%s: %d (%s)", sql, rc, sqlite3_errmsg(pair->log));
  run_twin(world, pair, "SELECT count(*) FROM t");
  sqlite3_free(sql);
}

static size_t compare_rows(struct world *world, struct pair *pair) {
  char *sql = sqlite3_mprintf("SELECT since, %s, \"partition\" FROM @T ORDER BY since", world->list);
  world->rows = compare_query(world, pair, sql, true);
  sqlite3_free(sql);
  compare_unordered(world, pair);
  compare_status(world, pair);
  return world->rows;
}

static void step_query(struct world *world, struct pair *pair) {
  bool ordered;
  char *sql = gen_query(world, &ordered);
  note(world, pair, "%s", sql);
  compare_query(world, pair, sql, ordered);
  sqlite3_free(sql);
}

/* ---- INSERT: the twin's, row by row ---- */

enum conflict { ABORT, IGNORE, REPLACE, FAIL, ROLLBACK, CONFLICTS };
static const char *const conflict_sql[CONFLICTS] = {"", "OR IGNORE", "OR REPLACE", "OR FAIL", "OR ROLLBACK"};

static sqlite3_stmt *prepare_insert(struct world *world, sqlite3 *db, const char *conflict, const char *table) {
  sqlite3_stmt *stmt = NULL;
  static const char *const parameters[] = {"", "?", "?, ?", "?, ?, ?", "?, ?, ?, ?", "?, ?, ?, ?, ?"};
  char *sql =
      sqlite3_mprintf("INSERT %s INTO %s(%s) VALUES(%s)", conflict, table, world->list, parameters[world->ncolumns]);
  sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL);
  sqlite3_free(sql);
  return stmt;
}

/* The values of a query's rows, one after another. */
static sqlite3_value **gather(struct world *world, struct pair *pair, const char *query, size_t *ret_rows) {
  sqlite3_stmt *stmt = NULL;
  sqlite3_value **values = NULL;
  size_t rows = 0;
  char *sql = expand(world, true, query);
  if (sqlite3_prepare_v2(pair->twin, sql, -1, &stmt, NULL) != SQLITE_OK)
    fail(world, "%s: %s", sql, sqlite3_errmsg(pair->twin));
  for (; sqlite3_step(stmt) == SQLITE_ROW; rows++) {
    values = realloc(values, (rows + 1) * world->ncolumns * sizeof(sqlite3_value *));
    for (size_t i = 0; i < world->ncolumns; i++)
      values[rows * world->ncolumns + i] = sqlite3_value_dup(sqlite3_column_value(stmt, (int)i));
  }
  if (sqlite3_finalize(stmt) != SQLITE_OK)
    fail(world, "%s: %s", sql, sqlite3_errmsg(pair->twin));
  sqlite3_free(sql);
  *ret_rows = rows;
  return values;
}

/* NOT NULL and UNIQUE are what a conflict clause is for; a value of another type, BOOLEAN's among them, and a
 * partition's name that is too long end the statement under each of them. */
static bool obeys_conflict_clause(int rc) {
  return rc == SQLITE_CONSTRAINT_NOTNULL || rc == SQLITE_CONSTRAINT_UNIQUE;
}

/* The rows of a source as they were before the first one of them was inserted. */
static int twin_rows(struct world *world, struct pair *pair, const char *source, enum conflict conflict,
                     int *ret_inserted) {
  size_t rows;
  sqlite3_value **values = gather(world, pair, source, &rows);
  sqlite3_stmt *insert = prepare_insert(world, pair->twin, "", "t");
  int rc = SQLITE_OK;
  for (size_t row = 0; row < rows && rc == SQLITE_OK; row++) {
    for (size_t i = 0; i < world->ncolumns; i++)
      sqlite3_bind_value(insert, (int)i + 1, values[row * world->ncolumns + i]);
    sqlite3_step(insert);
    rc = sqlite3_reset(insert);
    if (rc == SQLITE_OK)
      ++*ret_inserted;
    else if (obeys_conflict_clause(rc) && conflict == IGNORE)
      rc = SQLITE_OK;
  }
  for (size_t i = 0; i < rows * world->ncolumns; i++)
    sqlite3_value_free(values[i]);
  free(values);
  sqlite3_finalize(insert);
  return rc;
}

static int twin_insert(struct world *world, struct pair *pair, const char *source, enum conflict conflict,
                       int *ret_inserted) {
  sqlite3 *db = pair->twin;
  const bool alone = sqlite3_get_autocommit(db);
  *ret_inserted = 0;
  sqlite3_exec(db, "SAVEPOINT statement", NULL, NULL, NULL);
  int rc = run_twin(world, pair, "UPDATE @B SET n = n WHERE false"); /* the write lock, before anything is read */
  if (rc == SQLITE_OK)
    rc = twin_rows(world, pair, source, conflict, ret_inserted);
  if ((rc & 0xff) == SQLITE_CONSTRAINT && !obeys_conflict_clause(rc)) {
    if (conflict != ABORT && conflict != REPLACE)
      rc = SQLITE_MISMATCH;
    conflict = ABORT;
  }
  if (rc != SQLITE_OK && (alone ? conflict != FAIL : conflict == ROLLBACK && obeys_conflict_clause(rc))) {
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
  }
  if (rc != SQLITE_OK && conflict != FAIL)
    sqlite3_exec(db, "ROLLBACK TO statement", NULL, NULL, NULL);
  const int released = sqlite3_exec(db, "RELEASE statement", NULL, NULL, NULL);
  if (released != SQLITE_OK && alone)
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
  return released != SQLITE_OK ? released : rc;
}

/* What both say after an INSERT. */
static void inserted(struct world *world, struct pair *pair, const char *sql, int log, int twin, enum conflict conflict,
                     int rows) {
  compare_codes(world, pair, log, twin, sql);
  pair->changes = log == SQLITE_OK || (obeys_conflict_clause(log) && conflict == FAIL) ? rows : CHANGES_UNKNOWN;
  if (log != SQLITE_OK)
    cursors_rolled_back(world, pair);
  /* What failed may have left pages written on one side only, which others would see at the commit. */
  if (log != SQLITE_OK && sqlite3_txn_state(pair->log, world->schema) == SQLITE_TXN_WRITE) {
    run_both(world, pair, "UPDATE @B SET n = n + 1");
    pair->changes = 1;
  }
}

static void step_insert(struct world *world, struct pair *pair) {
  const enum conflict conflict = one_in(2) ? ABORT : (enum conflict)pick(CONFLICTS);
  int rows;
  char *source = gen_source(world, one_in(4));
  char *sql = sqlite3_mprintf("INSERT %s INTO @T(%s) %s", conflict_sql[conflict], world->list, source);
  note(world, pair, "%s", sql);
  const int twin = twin_insert(world, pair, source, conflict, &rows);
  const int log = run_log(world, pair, sql);
  inserted(world, pair, sql, log, twin, conflict, rows);
  sqlite3_free(sql);
  sqlite3_free(source);
}

/* One prepared statement, bound again and again. */
static void step_insert_bound(struct world *world, struct pair *pair) {
  if (pair->insert == NULL) {
    pair->insert_ignores = one_in(2);
    pair->insert = prepare_insert(world, pair->log, pair->insert_ignores ? "OR IGNORE" : "", world->table);
  }
  const enum conflict conflict = pair->insert_ignores ? IGNORE : ABORT;
  if (pair->insert == NULL)
    return; /* locked by the other connection */
  for (size_t n = 1 + pick(4); n > 0; n--) {
    sqlite3_stmt *values = NULL;
    int rows;
    char *source = sqlite3_mprintf("VALUES(%z)", gen_row(world, one_in(8)));
    note(world, pair, "bound%s: %s", pair->insert_ignores ? ", or ignored" : "", source);
    sqlite3_prepare_v2(pair->twin, source, -1, &values, NULL);
    sqlite3_step(values);
    for (int i = 0; i < (int)world->ncolumns; i++)
      sqlite3_bind_value(pair->insert, i + 1, sqlite3_column_value(values, i));
    sqlite3_finalize(values);
    const int twin = twin_insert(world, pair, source, conflict, &rows);
    sqlite3_step(pair->insert);
    const int log = sqlite3_reset(pair->insert);
    inserted(world, pair, source, log, twin, conflict, rows);
    sqlite3_free(source);
  }
}

/* A statement that FAILs does not get to note AUTOINCREMENT's last number, so it is noted here; then both sides have
 * written. */
static void keep_sequence(struct world *world, struct pair *pair) {
  if (twin_int(world, pair, "SELECT max(since) > coalesce((SELECT seq FROM sqlite_sequence), 0) FROM t") == 0)
    return;
  run_twin(world, pair, "DELETE FROM sqlite_sequence; INSERT INTO sqlite_sequence SELECT 't', max(since) FROM t");
  run_log(world, pair, "UPDATE @B SET n = n + 1");
}

/* Through the trigger of an ordinary table: SQLite itself says what has to happen. */
static void step_feed(struct world *world, struct pair *pair) {
  static const char *const fates[] = {"", "", "", "abort", "fail", "rollback", "ignore", "twice"};
  sqlite3_str *out = sqlite3_str_new(NULL);
  sqlite3_str_appendall(out, "INSERT INTO @F VALUES");
  for (size_t n = 1 + pick(4); n > 0; n--)
    sqlite3_str_appendf(out, "(%z, '%s')%s", gen_row(world, one_in(8)), PICK(fates), n > 1 ? ", " : "");
  char *sql = sqlite3_str_finish(out);
  const int rc = run_both(world, pair, sql);
  pair->changes = rc == SQLITE_OK ? sqlite3_changes(pair->twin) : CHANGES_UNKNOWN;
  if (rc != SQLITE_OK) {
    if ((rc & 0xff) == SQLITE_CONSTRAINT)
      keep_sequence(world, pair);
    sqlite3_set_last_insert_rowid(pair->twin, sqlite3_last_insert_rowid(pair->log));
    cursors_rolled_back(world, pair);
  }
  sqlite3_free(sql);
}

/* ---- other statements ---- */

/* The rows are found before the first of them goes: SQLite's own DELETE may ask a subquery of the table when some are
 * gone already. */
static int twin_delete(struct world *world, struct pair *pair, const char *where, int *ret_deleted) {
  const bool alone = sqlite3_get_autocommit(pair->twin);
  sqlite3_exec(pair->twin, "SAVEPOINT statement", NULL, NULL, NULL);
  int rc = run_twin(world, pair, "UPDATE @B SET n = n WHERE false");
  char *sql = sqlite3_mprintf("SELECT since FROM @T WHERE %s", where);
  struct rows rows = {0};
  if (rc == SQLITE_OK)
    rows = fetch(world, pair, true, sql, true);
  for (size_t i = 0; i < rows.n; i++) {
    char *one = sqlite3_mprintf("DELETE FROM t WHERE since = %lld", (long long)rows.first[i]);
    run_twin(world, pair, one);
    sqlite3_free(one);
  }
  *ret_deleted = (int)rows.n;
  cursors_deleted(pair, &rows);
  free_rows(&rows);
  sqlite3_free(sql);
  const int released = sqlite3_exec(pair->twin, "RELEASE statement", NULL, NULL, NULL);
  if (released != SQLITE_OK && alone)
    sqlite3_exec(pair->twin, "ROLLBACK", NULL, NULL, NULL);
  return rc != SQLITE_OK ? rc : released;
}

static void step_delete(struct world *world, struct pair *pair, bool many) {
  char *where;
  if (many || one_in(5))
    where = sqlite3_mprintf("since <= (SELECT max(since) FROM @T) - %d", (int)pick(300));
  else if (one_in(4))
    where = sqlite3_mprintf("since = %d", (int)pick(world->rows + 20));
  else if (one_in(4))
    where = sqlite3_mprintf("since IN (SELECT since FROM @T ORDER BY since DESC LIMIT %d)", (int)pick(20));
  else
    where = one_in(15) ? sqlite3_mprintf("1") : gen_where(world, "");
  char *sql =
      strcmp(where, "1") == 0 ? sqlite3_mprintf("DELETE FROM @T") : sqlite3_mprintf("DELETE FROM @T WHERE %s", where);
  int deleted;
  note(world, pair, "%s", sql);
  const int twin = twin_delete(world, pair, where, &deleted);
  const int log = run_log(world, pair, sql);
  compare_codes(world, pair, log, twin, sql);
  pair->changes = log == SQLITE_OK ? deleted : CHANGES_UNKNOWN;
  sqlite3_free(sql);
  sqlite3_free(where);
}

static void step_transaction(struct world *world, struct pair *pair) {
  static const char *const outside[] = {"BEGIN", "BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT a", "SAVEPOINT b"};
  static const char *const inside[] = {"COMMIT",        "COMMIT",        "COMMIT",        "ROLLBACK",
                                       "SAVEPOINT a",   "SAVEPOINT a",   "SAVEPOINT b",   "RELEASE a",
                                       "ROLLBACK TO a", "ROLLBACK TO a", "ROLLBACK TO b", "RELEASE b"};
  const char *sql = sqlite3_get_autocommit(pair->log) ? PICK(outside) : PICK(inside);
  run_both(world, pair, sql);
  if (strncmp(sql, "ROLLBACK", 8) == 0)
    cursors_rolled_back(world, pair);
}

static bool other_is_busy(const struct world *world, const struct pair *pair) {
  for (size_t i = 0; i < world->npairs; i++) {
    if (&world->pairs[i] != pair && (!sqlite3_get_autocommit(world->pairs[i].log) || cursors_any(&world->pairs[i])))
      return true;
  }
  return false;
}

/* tidemark_flush and tidemark_compact change no row; when one wrote, the twin writes as well, for the locks. */
static void step_upkeep(struct world *world, struct pair *pair) {
  const bool free_to_write = !other_is_busy(world, pair) && !cursors_any(pair) && sqlite3_get_autocommit(pair->log);
  const bool flush = one_in(2);
  char *sql = sqlite3_mprintf("SELECT tidemark_%s('%s.my log')", flush ? "flush" : "compact", world->schema);
  sqlite3_stmt *stmt = NULL;
  bool wrote = false, damaged = false;
  note(world, pair, "%s", sql);
  int rc = sqlite3_prepare_v2(pair->log, sql, -1, &stmt, NULL);
  if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
    const char *answer = (const char *)sqlite3_column_text(stmt, 0);
    wrote = strstr(answer, flush ? "\"partitions\":0" : "\"runs\":0") == NULL;
    damaged = strstr(answer, "\"failures\"") != NULL;
  }
  rc = sqlite3_finalize(stmt);
  const bool locked = (rc & 0xff) == SQLITE_LOCKED && !flush && cursors_any(pair);
  if (damaged || (rc != SQLITE_OK && !locked && ((rc & 0xff) != SQLITE_BUSY || free_to_write)))
    fail(world, "%s: %d (%s)%s", sql, rc, sqlite3_errmsg(pair->log), damaged ? " found damage" : "");
  if (wrote || rc != SQLITE_OK)
    pair->changes = CHANGES_UNKNOWN;
  const int twin = run_twin(world, pair, wrote ? "UPDATE @B SET n = n + 1" : "SELECT count(*) FROM t");
  if (rc == SQLITE_OK && twin != SQLITE_OK)
    fail(world, "%s: the twin gives %d", sql, twin);
  sqlite3_free(sql);
}

static void step_refused(struct world *world, struct pair *pair) {
  static const char *const hidden[] = {"since", "rowid", "\"partition\"", "ingested_at"};
  const bool update = one_in(2);
  char *sql = update ? sqlite3_mprintf("UPDATE @T SET \"k\" = \"k\" WHERE since = (SELECT max(since) FROM @T)")
                     : sqlite3_mprintf("INSERT INTO @T(%s, %s) VALUES(5, %z)", PICK(hidden), world->list,
                                       gen_row(world, false));
  if (!other_is_busy(world, pair) && (!update || compare_rows(world, pair) > 0)) {
    note(world, pair, "%s", sql);
    const int twin = run_twin(world, pair, "UPDATE @B SET n = n WHERE false");
    const int log = run_log(world, pair, sql);
    compare_codes(world, pair, log, twin != SQLITE_OK ? twin : update ? SQLITE_READONLY : SQLITE_CONSTRAINT, sql);
    pair->changes = CHANGES_UNKNOWN;
  }
  sqlite3_free(sql);
}

static void step_vacuum(struct world *world, struct pair *pair) {
  if (strcmp(world->schema, "temp") == 0)
    return;
  note(world, pair, "VACUUM");
  char *sql = sqlite3_mprintf("VACUUM %s", world->schema);
  const int twin = run_twin(world, pair, "VACUUM");
  const int log = run_log(world, pair, sql);
  compare_codes(world, pair, log, twin, sql);
  sqlite3_set_last_insert_rowid(pair->log, 0);
  sqlite3_set_last_insert_rowid(pair->twin, 0);
  for (size_t i = 0; i < world->npairs && log == SQLITE_OK; i++) {
    if (sqlite3_get_autocommit(world->pairs[i].log))
      world_connect(world, &world->pairs[i]);
  }
  sqlite3_free(sql);
}

static void step_reopen(struct world *world, struct pair *pair) {
  if (strcmp(world->schema, "temp") == 0 || other_is_busy(world, pair))
    return;
  note(world, pair, "reopen");
  cursors_close(pair);
  world_reopen(world, pair);
}

/* ---- a world's life ---- */

static void step_write(struct world *world, struct pair *pair) {
  const size_t dice = pick(100);
  if (dice < 34)
    step_insert(world, pair);
  else if (dice < 44)
    step_insert_bound(world, pair);
  else if (dice < 52)
    step_feed(world, pair);
  else if (dice < 60)
    step_delete(world, pair, world->rows > MANY_ROWS);
  else if (dice < 78)
    step_transaction(world, pair);
  else if (dice < 86)
    step_upkeep(world, pair);
  else if (dice < 89)
    cursor_open(world, pair);
  else if (dice < 95)
    cursor_step(world, pair);
  else if (dice < 97)
    step_refused(world, pair);
  else if (dice < 98)
    step_vacuum(world, pair);
  else if (one_in(2))
    step_reopen(world, pair);
}

static void end_transactions(struct world *world) {
  for (size_t i = 0; i < world->npairs; i++) {
    struct pair *pair = &world->pairs[i];
    while (cursors_any(pair))
      cursor_step(world, pair);
    if (!sqlite3_get_autocommit(pair->log))
      run_both(world, pair, "ROLLBACK");
  }
}

static void drop(struct world *world) {
  struct pair *pair = &world->pairs[0];
  char *sql = sqlite3_mprintf("DROP TABLE %s", world->table);
  if (sqlite3_exec(pair->log, sql, NULL, NULL, NULL) != SQLITE_OK)
    fail(world, "%s: %s", sql, sqlite3_errmsg(pair->log));
  sqlite3_free(sql);
  sql = sqlite3_mprintf("SELECT count(*) FROM %s.sqlite_schema WHERE name LIKE 'my log%%'", world->schema);
  sqlite3_stmt *stmt = NULL;
  sqlite3_prepare_v2(pair->log, sql, -1, &stmt, NULL);
  if (sqlite3_step(stmt) != SQLITE_ROW || sqlite3_column_int(stmt, 0) != 0)
    fail(world, "DROP left tables");
  sqlite3_finalize(stmt);
  sqlite3_free(sql);
}

static void run_world(uint64_t seed) {
  struct world world;
  world_open(&world, seed, true);
  for (size_t i = 0; i < STEPS; i++) {
    struct pair *pair = &world.pairs[one_in(5) ? pick(world.npairs) : 0];
    step_write(&world, pair);
    compare_state(&world, pair);
    if (one_in(3))
      compare_rows(&world, pair);
    for (size_t n = pick(3); n > 0; n--)
      step_query(&world, pair);
    if (i % STEPS_CHECK == 0)
      check(&world, pair);
    compare_state(&world, pair);
  }
  end_transactions(&world);
  compare_rows(&world, &world.pairs[0]);
  check(&world, &world.pairs[0]);
  for (size_t i = 0; i < world.npairs; i++)
    cursors_close(&world.pairs[i]);
  drop(&world);
  world_close(&world);
}

int main(int argc, char **argv) {
  const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  size_t worlds = argc > 1 ? 1 : (size_t)effort(WORLDS, WORLDS_LONG);
  if (argc > 2)
    worlds = strtoull(argv[2], NULL, 10);
  for (size_t i = 0; i < worlds; i++)
    run_world(seed + i);
  printf("%zu worlds agree\n", worlds);
  return 0;
}
