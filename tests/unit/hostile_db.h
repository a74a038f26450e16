/* A dataset with rows in every place and sinks, in a file that is then changed by a connection without the extension,
 * as one who hands it over can change it. Define _GNU_SOURCE before all else. */
#ifndef TIDE_TESTS_HOSTILE_DB_H
#define TIDE_TESTS_HOSTILE_DB_H

#include "sql_db.h"
#include "unit.h"

static sqlite3 *db;

/* What no statement on so small a file takes: a walk that does not end is noticed by it. */
enum { HOSTILE_STEPS_EACH = 1000, HOSTILE_STEPS_MAX = 5000 };

static long hostile_steps;

static inline int hostile_count(void *data) {
  (void)data;
  return ++hostile_steps > HOSTILE_STEPS_MAX;
}

static inline void hostile_reopen(void) {
  db = db_open(scratch_path("db"), NULL);
  hostile_steps = 0;
  sqlite3_progress_handler(db, HOSTILE_STEPS_EACH, hostile_count, NULL);
}

/*   partition 1, source=a  segments 1 to 3 and 4 to 6, tail 9
 *   partition 2, source=b  segment 7 to 8, tail 10 to 11
 *   partition 3, source=c  tail 12
 *   sink s has a log row of source=a up to 3; sink t has open batches of source=a and source=b */
static inline void begin(void) {
  scratch_open();
  hostile_reopen();
  db_exec(db, "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, n INTEGER NOT NULL, x ANY, partition_by=source,"
              " autoflush=0);"
              "INSERT INTO tidemark_sink(sink, dataset) VALUES ('s', 'logs'), ('t', 'logs');"
              "INSERT INTO logs VALUES ('a', 1, 'one'), ('a', 2, 2.5), ('a', 3, x'03'); SELECT tidemark_flush('logs');"
              "INSERT INTO logs VALUES ('a', 4, 'four'), ('a', 5, 5), ('a', 6, NULL); SELECT tidemark_flush('logs');"
              "INSERT INTO logs VALUES ('b', 7, 7), ('b', 8, 8); SELECT tidemark_flush('logs');"
              "INSERT INTO logs VALUES ('a', 9, 'nine'), ('b', 10, 10), ('b', 11, 11);"
              "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows) VALUES"
              " ('s', 'logs', 'source=a', 0, 3, 3); SELECT tidemark_claim('t', 'logs');"
              "INSERT INTO logs VALUES ('c', 12, 'twelve')");
}

static inline void end(void) {
  db_close(db);
}

/* Closes, runs SQL that works without the extension, and opens again. Gives SQLite's words when it did not work; the
 * caller frees them with sqlite3_free. */
static inline char *try_damage(const char *sql) {
  sqlite3 *plain = NULL;
  char *words = NULL;
  db_close(db);
  ck_assert_int_eq(sqlite3_open(scratch_path("db"), &plain), SQLITE_OK);
  sqlite3_db_config(plain, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_exec(plain, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL);
  sqlite3_exec(plain, sql, NULL, NULL, &words);
  sqlite3_close(plain);
  hostile_reopen();
  return words;
}

/* The same, and it works. */
static inline void damage(const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  const char *words = try_damage(sql);
  ck_assert_msg(words == NULL, "%s\n%s", sql, words);
  sqlite3_free(sql);
}

/* Columns of that table hold values of any type from now on: it is not STRICT any more, and its columns have no types. */
static inline void loosen(const char *table) {
  damage(
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(replace(replace(replace(replace(sql,"
      " ') STRICT, WITHOUT', ') WITHOUT'), ') STRICT', ')'), ' INTEGER NOT NULL', ' BLOB'), ' TEXT NOT NULL', ' BLOB'),"
      " ' BLOB NOT NULL', ' BLOB') WHERE name = '%s'",
      table);
}

#endif
