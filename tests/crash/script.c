#define _GNU_SOURCE
#include "script.h"

#include "disk_log.h"
#include "outside.h"
#include "sql_db.h"

/* Pieces between semicolons: SQL; +tag n, so many rows of that tag; ?tag n, the same sent again; @name, what is done by
 * hand. twin: the same in ordinary tables; NULL: it is the same; "": nothing changes. */
struct step {
  const char *sql, *twin;
};

#define KEEP_12                                                                                                        \
  "DELETE FROM logs WHERE since <= (SELECT since FROM held) AND since IN (SELECT since FROM (SELECT since,"            \
  " row_number() OVER (PARTITION BY source ORDER BY since DESC) AS place FROM logs) WHERE place > 12)"
#define HELD "UPDATE held SET since = (SELECT seq FROM sqlite_sequence WHERE name = 'logs')"

/* clang-format off */
static const struct step steps[] = {
    {"+b 20", NULL},
    {"BEGIN;+c 3;SAVEPOINT one;+lost 20;ROLLBACK TO one;RELEASE one;DELETE FROM logs WHERE id = 'c 2';+d 4;COMMIT", NULL},
    {"@lines", ""},
    {"+e 5", NULL},
    {"@hand", ""},
    {"@copy", ""},
    {"BEGIN;+never 30;ROLLBACK", ""},
    {"SELECT tidemark_flush('logs')", ""},
    {"DELETE FROM logs WHERE id IN ('b 1', 'b 2', 'e 5')", NULL},
    {"SELECT tidemark_compact('logs')", ""},
    {"@lines;@cells;@lake;@hand;@copy", HELD},
    {"SELECT tidemark_add_column('logs', 'trace TEXT DEFAULT ''then''')",
     "ALTER TABLE logs ADD COLUMN trace TEXT DEFAULT 'then'"},
    {"+f 25", NULL},
    {"?e 5", NULL},
    {"?f 30", NULL},
    {"@lines", ""},
    {"SELECT tidemark_set('logs', 'retention_rows', 12)", ""},
    {"SELECT tidemark_prune('logs')", KEEP_12},
    {"CREATE VIRTUAL TABLE web USING tidemark_partition(logs, source='web')", ""},
    {"INSERT INTO web(id, body, trace) VALUES ('w 1', 'through its own table', NULL), ('w 2', 'too', 'x')",
     "INSERT INTO logs(source, id, body, trace) VALUES ('web', 'w 1', 'through its own table', NULL),"
     " ('web', 'w 2', 'too', 'x')"},
    {"SELECT tidemark_rewind('lines', 'logs', 'source=web', 70, 'a disk was lost')", ""},
    {"@lines", ""},
    {"BEGIN;CREATE VIRTUAL TABLE other USING tidemark(n INTEGER, segment_rows=16);INSERT INTO other VALUES (1), (2);COMMIT",
     "CREATE TABLE other(since INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER);INSERT INTO other(n) VALUES (1), (2)"},
    {"INSERT INTO tidemark_sink(sink, dataset) VALUES ('rest', 'other')", ""},
    {"ALTER TABLE other RENAME TO renamed", NULL},
    {"SELECT tidemark_claim('rest', 'renamed')", ""},
    {"INSERT INTO renamed(n) SELECT since FROM logs ORDER BY since LIMIT 20", NULL},
    {"DROP TABLE renamed", NULL},
    {"CREATE VIRTUAL TABLE other USING tidemark(n INTEGER)",
     "CREATE TABLE other(since INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER)"},
    {"@reopen", ""},
    {"INSERT INTO other(n) VALUES (3)", NULL},
    {"SELECT tidemark_maintain()", KEEP_12},
    {"@cells", ""},
    {"+g 70", NULL},
    {"SELECT tidemark_flush('logs')", ""},
    {"DELETE FROM logs WHERE id LIKE 'g _'", NULL},
    {"@lines;@cells;@lake;@hand;@copy", HELD},
    {"SELECT tidemark_maintain('logs')", KEEP_12},
    {"VACUUM", ""},
    {"+h 3", NULL},
    {"@lines", ""},
};
/* clang-format on */

enum { STEPS = sizeof steps / sizeof *steps };

static struct {
  const char *folder; /* of the database under way; NULL: the twin */
  char *after[STEPS + 1], *gone_on[STEPS + 1];
} script;

int script_steps(void) {
  return STEPS;
}

const char *script_step(int step) {
  return step < STEPS ? steps[step].sql : "(the end)";
}

/* ---- a step ---- */

/* A NULL for trace, where there is that column: an INSERT that leaves a column out gives an ordinary table its DEFAULT.
 * Rows that are there are passed over; in an ordinary table OR IGNORE would use up a number for each. */
static void insert_rows(sqlite3 *db, const char *tag, int rows, bool again) {
  const bool trace = db_int(db, "SELECT count(*) FROM pragma_table_info('logs') WHERE name = 'trace'") > 0;
  const bool twin = db_int(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'ever'") > 0;
  db_exec(db,
          "WITH RECURSIVE c(n, id) AS (SELECT 1, '%s 1' UNION ALL SELECT n + 1, '%s ' || (n + 1) FROM c WHERE n < %d)"
          " INSERT %s INTO logs(source, id, body%s) SELECT iif(n %% 5 = 4, 'quiet', iif(n %% 3, 'web', 'db')), id,"
          " printf('%%s: %%.*c', id, 20 + n %% 60, 'x')%s FROM c %s",
          tag, tag, rows, again && !twin ? "OR IGNORE" : "", trace ? ", trace" : "", trace ? ", NULL" : "",
          again && twin ? "WHERE id NOT IN (SELECT id FROM logs)" : "");
}

static sqlite3 *open_database(const char *folder, const struct script_mode *mode) {
  char path[300];
  snprintf(path, sizeof path, "%s/db", folder);
  sqlite3 *db = db_open(path, NULL);
  db_exec(db, "PRAGMA journal_mode = %s; PRAGMA synchronous = %s; PRAGMA wal_autocheckpoint = 24", mode->journal,
          mode->synchronous);
  if (mode->cache_pages > 0)
    db_exec(db, "PRAGMA cache_size = %d", mode->cache_pages);
  return db;
}

static void by_hand(sqlite3 **db, const char *name, const struct script_mode *mode) {
  if (strcmp(name, "hand") == 0) {
    outside_ship_by_hand(*db, script.folder);
  } else if (strcmp(name, "copy") == 0) {
    outside_copy(*db);
  } else if (strcmp(name, "reopen") == 0) {
    db_close(*db);
    *db = open_database(script.folder, mode);
  } else {
    outside_export(*db, name);
  }
}

static void take(sqlite3 **db, const char *sql, const struct script_mode *mode) {
  char *copy = strdup(sql), *rest = copy;
  for (char *piece; (piece = strsep(&rest, ";")) != NULL;) {
    char tag[16];
    int rows;
    if (sscanf(piece, "+%15s %d", tag, &rows) == 2)
      insert_rows(*db, tag, rows, false);
    else if (sscanf(piece, "?%15s %d", tag, &rows) == 2)
      insert_rows(*db, tag, rows, true);
    else if (piece[0] == '@')
      by_hand(db, piece + 1, mode);
    else
      db_exec(*db, "%s", piece);
  }
  free(copy);
}

void script_make(const char *folder, const struct script_mode *mode) {
  script.folder = folder;
  sqlite3 *db = open_database(folder, mode);
  db_exec(db,
          "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT, id TEXT, body TEXT, partition_by=source, unique=id,"
          " segment_rows=16)");
  outside_make(db, folder);
  insert_rows(db, "a", 30, false);
  db_close(db);
}

void script_run(const char *folder, const struct script_mode *mode) {
  script.folder = folder;
  sqlite3 *db = open_database(folder, mode);
  for (int step = 0; step < STEPS; step++) {
    recorder_mark(step);
    take(&db, steps[step].sql, mode);
  }
  recorder_mark(STEPS);
  db_close(db);
}

void script_go_on(sqlite3 *db) {
  db_exec(db, "BEGIN");
  insert_rows(db, "b", 20, true);
  insert_rows(db, "h", 3, true);
  insert_rows(db, "new", 6, true);
  db_exec(db, "COMMIT");
}

void script_end(sqlite3 *db) {
  insert_rows(db, "end", 4, false);
}

/* ---- what there is ---- */

static int write_value(void *file, int count, char **values, char **names) {
  (void)names;
  for (int i = 0; i < count; i++)
    fprintf(file, "%s%s", values[i] != NULL ? values[i] : "NULL", i + 1 < count ? "|" : "\n");
  return 0;
}

static void write_rows(FILE *file, sqlite3 *db, const char *table) {
  char *columns = strdup(db_text(db,
                                 "SELECT group_concat(format('\"%%w\"', name)) FROM pragma_table_info(%Q)"
                                 " WHERE name <> 'since'",
                                 table));
  char *sql = sqlite3_mprintf("SELECT since, %s FROM %s ORDER BY since", columns, table);
  fprintf(file, "%s(%s)\n", table, columns);
  ck_assert_msg(sqlite3_exec(db, sql, write_value, file, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_free(sql);
  free(columns);
}

char *script_state(sqlite3 *db) {
  static const char *const tables[] = {"logs", "other", "renamed"};
  char *text;
  size_t size;
  FILE *file = open_memstream(&text, &size);
  for (int i = 0; i < 3; i++)
    if (db_int(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = %Q", tables[i]) > 0)
      write_rows(file, db, tables[i]);
  fclose(file);
  return text;
}

/* ---- the twin ---- */

const char *script_twin(const char *twins, int steps_done) {
  static char path[300];
  snprintf(path, sizeof path, "%s/twin-%d", twins, steps_done);
  return path;
}

static char *go_on_elsewhere(sqlite3 *twin, const char *path) {
  sqlite3 *copy;
  db_exec(twin, "VACUUM INTO %Q", path);
  copy = db_open(path, NULL);
  script_go_on(copy);
  char *state = script_state(copy);
  script_end(copy);
  db_close(copy);
  return state;
}

void script_learn(const char *twins) {
  static const struct script_mode none;
  sqlite3 *twin = db_open(":memory:", NULL);
  db_exec(twin, "CREATE TABLE logs(since INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT, id TEXT UNIQUE, body TEXT);"
                "CREATE TABLE ever(since INTEGER, body TEXT);"
                "CREATE TABLE held(since INTEGER); INSERT INTO held VALUES (0);"
                "CREATE TRIGGER remember AFTER INSERT ON logs BEGIN"
                " INSERT INTO ever VALUES (new.since, new.body); END");
  insert_rows(twin, "a", 30, false);
  for (int done = 0;; done++) {
    free(script.after[done]);
    free(script.gone_on[done]);
    script.after[done] = script_state(twin);
    script.gone_on[done] = go_on_elsewhere(twin, script_twin(twins, done));
    if (done == STEPS)
      break;
    take(&twin, steps[done].twin != NULL ? steps[done].twin : steps[done].sql, &none);
  }
  db_close(twin);
}

const char *script_expected(int steps_done) {
  return script.after[steps_done];
}

const char *script_expected_gone_on(int steps_done) {
  return script.gone_on[steps_done];
}
