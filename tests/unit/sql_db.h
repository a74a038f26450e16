/* A scratch folder with a database that has Tidemark, and SQL in one line each. It goes when the process ends, but
 * stays for a test that failed. Whoever includes it defines _GNU_SOURCE before all else, for nftw. */
#ifndef TIDE_TESTS_SQL_DB_H
#define TIDE_TESTS_SQL_DB_H

#include <check.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "tidemark.h"

static char scratch[64]; /* the folder's path */
static pid_t scratch_owner;

static inline int scratch_remove(const char *path, const struct stat *st, int type, struct FTW *where) {
  (void)st, (void)type, (void)where;
  return remove(path);
}

static inline void scratch_close(void) {
  if (getpid() == scratch_owner) /* not in a child that was forked */
    nftw(scratch, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* The second call in a process takes a new folder and removes the one before. */
static inline void scratch_open(void) {
  if (scratch_owner == 0)
    atexit(scratch_close);
  else
    scratch_close();
  /* in memory where that is possible: syncs cost nothing there, and are not what is tested */
  strcpy(scratch, access("/dev/shm", W_OK) == 0 ? "/dev/shm/tidemark.XXXXXX" : "/tmp/tidemark.XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(scratch));
  scratch_owner = getpid();
}

/* A path in the folder; good until the fourth call after it. */
static inline const char *scratch_path(const char *name) {
  static char paths[4][256];
  static int at;
  char *path = paths[at++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
  return path;
}

/* vfs NULL: SQLite's own. */
static inline sqlite3 *db_open(const char *path, const char *vfs) {
  sqlite3 *db = NULL;
  const int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs);
  ck_assert_msg(rc == SQLITE_OK, "%s: %s", path, sqlite3_errmsg(db));
  sqlite3_busy_timeout(db, 5000);
  ck_assert_int_eq(sqlite3_tidemark_init(db, NULL, NULL), SQLITE_OK);
  return db;
}

static inline void db_close(sqlite3 *db) {
  ck_assert_msg(sqlite3_close(db) == SQLITE_OK, "%s", sqlite3_errmsg(db)); /* nothing of ours is left open */
}

/* The rest are sqlite3_mprintf formats. */

static inline void db_exec(sqlite3 *db, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  const int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
  ck_assert_msg(rc == SQLITE_OK, "%s\n%d: %s", sql, rc, sqlite3_errmsg(db));
  sqlite3_free(sql);
}

/* All rows, columns with "|" and rows with a space between, NULL as "-"; good until the fourth call after it. */
static inline const char *db_text(sqlite3 *db, const char *format, ...) {
  static char texts[4][8192];
  static int at;
  char *text = texts[at++ % 4];
  size_t used = 0;
  sqlite3_stmt *stmt = NULL;
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s\n%s", sql, sqlite3_errmsg(db));
  int rc;
  text[0] = '\0';
  while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
      const char *value = (const char *)sqlite3_column_text(stmt, i);
      used += (size_t)snprintf(text + used, sizeof texts[0] - used, "%s%s",
                               i > 0      ? "|"
                               : used > 0 ? " "
                                          : "",
                               value != NULL ? value : "-");
      ck_assert_uint_lt(used, sizeof texts[0]);
    }
  }
  ck_assert_msg(rc == SQLITE_DONE, "%s\n%d: %s", sql, rc, sqlite3_errmsg(db));
  sqlite3_finalize(stmt);
  sqlite3_free(sql);
  return text;
}

static inline int64_t db_int(sqlite3 *db, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  const int64_t value = strtoll(db_text(db, "%s", sql), NULL, 10);
  sqlite3_free(sql);
  return value;
}

/* Expects a refusal whose message holds the words, with that primary code (0: any), and that no transaction is left
 * open by it. */
static inline void db_refuses(sqlite3 *db, int code, const char *words, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  const int autocommit = sqlite3_get_autocommit(db);
  const int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
  ck_assert_msg(rc != SQLITE_OK, "accepted: %s", sql);
  ck_assert_msg(strstr(sqlite3_errmsg(db), words) != NULL, "%s\nsays: %s\nnot:  %s", sql, sqlite3_errmsg(db), words);
  ck_assert_msg(code == 0 || (rc & 0xff) == code, "%s\ngives %d, not %d: %s", sql, rc, code, sqlite3_errmsg(db));
  ck_assert_int_eq(sqlite3_get_autocommit(db), autocommit);
  sqlite3_free(sql);
}

#define assert_text(db, expected, ...) ck_assert_str_eq(db_text(db, __VA_ARGS__), expected)
#define assert_int(db, expected, ...) ck_assert_int_eq(db_int(db, __VA_ARGS__), expected)

#endif
