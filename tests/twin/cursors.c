#include "cursors.h"

#include <stdlib.h>
#include <string.h>

#include "gen.h"

struct expected {
  char *row;
  bool seen;
  bool may_miss;
  bool may_differ;
};

struct cursor {
  sqlite3_stmt *log;
  sqlite3_stmt *twin; /* holds the same snapshot and locks */
  char *sql;
  int order;  /* 1 upwards, -1 downwards, 0 any */
  bool loose; /* since a rollback: numbers not expected may come */
  size_t n;
  int64_t *since; /* ascending */
  struct expected *expected;
  int64_t last;
};

bool cursors_any(const struct pair *pair) {
  for (size_t i = 0; i < CURSORS; i++) {
    if (pair->cursors[i] != NULL)
      return true;
  }
  return false;
}

static void close_cursor(struct cursor **at) {
  struct cursor *cursor = *at;
  if (cursor == NULL)
    return;
  sqlite3_finalize(cursor->log);
  sqlite3_finalize(cursor->twin);
  for (size_t i = 0; i < cursor->n; i++)
    sqlite3_free(cursor->expected[i].row);
  free(cursor->expected);
  free(cursor->since);
  sqlite3_free(cursor->sql);
  free(cursor);
  *at = NULL;
}

void cursors_close(struct pair *pair) {
  for (size_t i = 0; i < CURSORS; i++)
    close_cursor(&pair->cursors[i]);
}

static struct expected *find(struct cursor *cursor, int64_t since) {
  for (size_t i = 0; i < cursor->n; i++) {
    if (cursor->since[i] == since)
      return &cursor->expected[i];
  }
  return NULL;
}

static void take_row(struct world *world, struct cursor *cursor) {
  const int64_t since = sqlite3_column_int64(cursor->log, 0);
  struct expected *expected = find(cursor, since);
  if (expected == NULL && !cursor->loose)
    fail(world, "open cursor %s: row %lld was not there when it began", cursor->sql, (long long)since);
  if (cursor->order != 0 && cursor->last != 0 && (since <= cursor->last) == (cursor->order > 0))
    fail(world, "open cursor %s: row %lld after %lld", cursor->sql, (long long)since, (long long)cursor->last);
  cursor->last = since;
  if (expected == NULL)
    return;
  char *row = row_text(cursor->log);
  if (expected->seen && !expected->may_differ)
    fail(world, "open cursor %s: row %lld comes twice", cursor->sql, (long long)since);
  if (!expected->may_differ && strcmp(row, expected->row) != 0)
    fail(world, "open cursor %s: row\n%s\nwas\n%s", cursor->sql, row, expected->row);
  expected->seen = true;
  sqlite3_free(row);
}

static void take_end(struct world *world, struct cursor *cursor) {
  for (size_t i = 0; i < cursor->n; i++) {
    if (!cursor->expected[i].seen && !cursor->expected[i].may_miss)
      fail(world, "open cursor %s: ended without row %lld", cursor->sql, (long long)cursor->since[i]);
  }
}

static void step(struct world *world, struct cursor **at, size_t rows) {
  for (struct cursor *cursor = *at; rows > 0; rows--) {
    const int rc = sqlite3_step(cursor->log);
    if (rc == SQLITE_ROW) {
      take_row(world, cursor);
      continue;
    }
    if (rc == SQLITE_DONE)
      take_end(world, cursor);
    else if ((rc & 0xff) != SQLITE_ABORT || !cursor->loose)
      fail(world, "open cursor %s: %d (%s)", cursor->sql, rc, sqlite3_errmsg(sqlite3_db_handle(cursor->log)));
    close_cursor(at);
    return;
  }
}

void cursor_open(struct world *world, struct pair *pair) {
  struct cursor **at = &pair->cursors[pick(CURSORS)];
  close_cursor(at);
  char *where = one_in(2) ? gen_where(world, "") : sqlite3_mprintf("1");
  if (strstr(where, "FROM @T") != NULL) { /* SQLite runs a subquery when it first needs it, on rows as they are then */
    sqlite3_free(where);
    where = sqlite3_mprintf("1");
  }
  char *expected =
      sqlite3_mprintf("SELECT since, %s, \"partition\" FROM @T WHERE %s ORDER BY since", world->list, where);
  struct rows rows = fetch(world, pair, true, expected, true);
  if (rows.rc == SQLITE_DONE) {
    struct cursor *cursor = *at = calloc(1, sizeof *cursor);
    cursor->order = one_in(2) ? 0 : one_in(2) ? 1 : -1;
    cursor->sql = sqlite3_mprintf("SELECT since, %s, \"partition\" FROM @T WHERE %s%s", world->list, where,
                                  cursor->order == 0  ? ""
                                  : cursor->order > 0 ? " ORDER BY since"
                                                      : " ORDER BY since DESC");
    cursor->n = rows.n;
    cursor->since = calloc(rows.n + 1, sizeof *cursor->since);
    cursor->expected = calloc(rows.n + 1, sizeof *cursor->expected);
    for (size_t i = 0; i < rows.n; i++) {
      cursor->since[i] = rows.first[i];
      cursor->expected[i].row = sqlite3_mprintf("%s", rows.row[i]);
    }
    note(world, pair, "open cursor %s", cursor->sql);
    char *log = expand(world, false, cursor->sql);
    char *twin = expand(world, true, cursor->sql);
    sqlite3_prepare_v2(pair->twin, twin, -1, &cursor->twin, NULL);
    sqlite3_step(cursor->twin);
    if (sqlite3_prepare_v2(pair->log, log, -1, &cursor->log, NULL) != SQLITE_OK)
      fail(world, "%s: %s", log, sqlite3_errmsg(pair->log));
    sqlite3_free(log);
    sqlite3_free(twin);
    step(world, at, 1 + pick(4));
  }
  free_rows(&rows);
  sqlite3_free(expected);
  sqlite3_free(where);
}

void cursor_step(struct world *world, struct pair *pair) {
  struct cursor **at = &pair->cursors[pick(CURSORS)];
  if (*at == NULL)
    return;
  note(world, pair, "step cursor %s", (*at)->sql);
  step(world, at, one_in(4) ? SIZE_MAX : 1 + pick(8));
}

void cursors_deleted(struct pair *pair, const struct rows *rows) {
  for (size_t i = 0; i < CURSORS; i++) {
    for (size_t row = 0; pair->cursors[i] != NULL && row < rows->n; row++) {
      struct expected *expected = find(pair->cursors[i], rows->first[row]);
      if (expected != NULL)
        expected->may_miss = true;
    }
  }
}

void cursors_rolled_back(struct world *world, struct pair *pair) {
  if (!cursors_any(pair))
    return;
  char *sql = sqlite3_mprintf("SELECT since, %s, \"partition\" FROM @T ORDER BY since", world->list);
  struct rows rows = fetch(world, pair, true, sql, true);
  for (size_t i = 0; i < CURSORS; i++) {
    struct cursor *cursor = pair->cursors[i];
    for (size_t at = 0, row = 0; cursor != NULL && at < cursor->n; at++) {
      while (row < rows.n && rows.first[row] < cursor->since[at])
        row++;
      const bool same =
          row < rows.n && rows.first[row] == cursor->since[at] && strcmp(rows.row[row], cursor->expected[at].row) == 0;
      cursor->expected[at].may_miss |= !same;
      cursor->expected[at].may_differ |= !same;
    }
    if (cursor != NULL)
      cursor->loose = true;
  }
  free_rows(&rows);
  sqlite3_free(sql);
}
