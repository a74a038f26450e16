#define _GNU_SOURCE
#include <sched.h>

#include "../unit/sql_db.h"
#include "processes.h"

static int moments = -1;

void listen_to_moments(int write_end) {
  moments = write_end;
}

void tell_moment(void) {
  if (moments >= 0) /* when the pipe is full, there is enough to hear */
    (void)!write(moments, "", 1);
}

/* SQLite says PROTOCOL of a WAL whose lock was held for long: by a process that was stopped. */
static bool is_in_the_way(int rc) {
  return (rc & 0xff) == SQLITE_BUSY || rc == SQLITE_PROTOCOL;
}

/* A call of ours never says that another transaction is newer: waiting for that is no use. */
bool attempt_text(sqlite3 *db, const char *sql, char **ret_text) {
  sqlite3_stmt *stmt = NULL;
  char *text = NULL;
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  if (rc == SQLITE_OK) {
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && text == NULL) {
      const char *value = (const char *)sqlite3_column_text(stmt, 0);
      text = strdup(value != NULL ? value : "");
    }
  }
  ck_assert_msg(rc == SQLITE_DONE || is_in_the_way(rc), "%s: %d, %s", sql, rc, sqlite3_errmsg(db));
  if (rc != SQLITE_DONE && strstr(sql, "tidemark_") != NULL && strncmp(sql, "SELECT", 6) == 0)
    ck_assert_msg(sqlite3_extended_errcode(db) != SQLITE_BUSY_SNAPSHOT, "%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_finalize(stmt);
  if (rc == SQLITE_DONE && ret_text != NULL)
    *ret_text = text;
  else
    free(text);
  if (rc != SQLITE_DONE) {
    __atomic_fetch_add(&shared->busy, 1, __ATOMIC_RELAXED);
    tell_moment();
  }
  return rc == SQLITE_DONE;
}

bool attempt(sqlite3 *db, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  const bool done = attempt_text(db, sql, NULL);
  sqlite3_free(sql);
  return done;
}

void insist(sqlite3 *db, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  while (!attempt_text(db, sql, NULL))
    sched_yield();
  sqlite3_free(sql);
}

char *insist_text(sqlite3 *db, const char *sql) {
  char *text = NULL;
  while (!attempt_text(db, sql, &text))
    sched_yield();
  return text;
}

bool commit(sqlite3 *db, bool give_up) {
  for (size_t tries = 0; !attempt(db, "COMMIT"); tries++) {
    ck_assert_int_eq(sqlite3_get_autocommit(db), 0);
    if (give_up && tries > 3) {
      insist(db, "ROLLBACK");
      return false;
    }
    sched_yield();
  }
  return true;
}

const char *events_name(sqlite3 *db) {
  return db_text(db, "SELECT dataset FROM tidemark_sink WHERE sink = 'mail'");
}
