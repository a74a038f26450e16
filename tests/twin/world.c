#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- saying and failing ---- */

void note(struct world *world, const struct pair *pair, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = sqlite3_vmprintf(format, args);
  va_end(args);
  char **slot = &world->history[world->nhistory++ % HISTORY];
  sqlite3_free(*slot);
  *slot = sqlite3_mprintf("%d: %z", (int)(pair - world->pairs) + 1, text);
}

_Noreturn void fail(struct world *world, const char *format, ...) {
  va_list args;
  fprintf(stderr, "seed %llu, schema %s, journal %s%s\n%s\n", (unsigned long long)world->seed, world->schema,
          world->journal, world->utf16 ? ", UTF-16" : "", world->create != NULL ? world->create : "");
  const size_t from = world->nhistory > HISTORY ? world->nhistory - HISTORY : 0;
  for (size_t i = from; i < world->nhistory; i++)
    fprintf(stderr, "  %.1500s\n", world->history[i % HISTORY]);
  fprintf(stderr, "FAILED: ");
  va_start(args, format);
  char *text = sqlite3_vmprintf(format, args);
  va_end(args);
  fprintf(stderr, "%s\nagain with seed %llu; files in %s\n", text, (unsigned long long)world->seed, world->dir);
  fflush(stderr);
  _Exit(1);
}

/* ---- statements ---- */

char *expand(const struct world *world, bool twin, const char *sql) {
  sqlite3_str *out = sqlite3_str_new(NULL);
  for (const char *at = sql; *at != '\0'; at++) {
    if (at[0] == '@' && at[1] == 'T')
      sqlite3_str_appendall(out, twin ? "t" : world->table);
    else if (at[0] == '@' && at[1] == 'F')
      sqlite3_str_appendf(out, "%s.feed", twin ? "main" : world->schema);
    else if (at[0] == '@' && at[1] == 'S')
      sqlite3_str_appendall(out, world->schema);
    else if (at[0] == '@' && at[1] == 'V')
      sqlite3_str_appendf(out, "%s.seen", twin ? "main" : world->schema);
    else if (at[0] == '@' && at[1] == 'B')
      sqlite3_str_appendf(out, "%s.bump", twin ? "main" : world->schema);
    else {
      sqlite3_str_appendchar(out, 1, *at);
      continue;
    }
    at++;
  }
  return sqlite3_str_finish(out);
}

static int run(struct world *world, sqlite3 *db, bool twin, const char *sql) {
  char *text = expand(world, twin, sql);
  const int rc = sqlite3_exec(db, text, NULL, NULL, NULL);
  sqlite3_free(text);
  return rc;
}

int run_log(struct world *world, struct pair *pair, const char *sql) {
  return run(world, pair->log, false, sql);
}

int run_twin(struct world *world, struct pair *pair, const char *sql) {
  return run(world, pair->twin, true, sql);
}

int64_t twin_int(struct world *world, struct pair *pair, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  if (sqlite3_prepare_v2(pair->twin, sql, -1, &stmt, NULL) == SQLITE_ERROR)
    fail(world, "%s: %s", sql, sqlite3_errmsg(pair->twin));
  const int64_t value = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
  sqlite3_finalize(stmt); /* locked: 0 */
  return value;
}

void compare_codes(struct world *world, struct pair *pair, int log, int twin, const char *sql) {
  const bool exact = log == SQLITE_BUSY_SNAPSHOT || twin == SQLITE_BUSY_SNAPSHOT;
  if (exact ? log == twin : (log & 0xff) == (twin & 0xff))
    return;
  /* A virtual table that connects within a transaction reads its tables: a snapshot earlier than the twin's. */
  if (log == SQLITE_BUSY_SNAPSHOT && !sqlite3_get_autocommit(pair->log)) {
    sqlite3_exec(pair->log, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_exec(pair->twin, "ROLLBACK", NULL, NULL, NULL);
    return;
  }
  fail(world, "%s\ngives %d (%s), the twin %d", sql, log, sqlite3_errmsg(pair->log), twin);
}

int run_both(struct world *world, struct pair *pair, const char *sql) {
  note(world, pair, "%s", sql);
  const int twin = run_twin(world, pair, sql);
  const int log = run_log(world, pair, sql);
  compare_codes(world, pair, log, twin, sql);
  return log;
}

char *row_text(sqlite3_stmt *stmt) {
  sqlite3_str *out = sqlite3_str_new(NULL);
  for (int i = 0; i < sqlite3_column_count(stmt); i++) {
    const int type = sqlite3_column_type(stmt, i);
    sqlite3_str_appendf(out, "%s%d:", i > 0 ? " " : "", type);
    if (type == SQLITE_FLOAT) {
      sqlite3_str_appendf(out, "%!.17g", sqlite3_column_double(stmt, i) + 0.0);
    } else if (type == SQLITE_INTEGER) {
      sqlite3_str_appendf(out, "%lld", (long long)sqlite3_column_int64(stmt, i));
    } else if (type != SQLITE_NULL) {
      const unsigned char *bytes = type == SQLITE_TEXT ? sqlite3_column_text(stmt, i) : sqlite3_column_blob(stmt, i);
      const int size = sqlite3_column_bytes(stmt, i);
      for (int at = 0; at < size; at++) {
        if (bytes[at] > ' ' && bytes[at] < 0x7f)
          sqlite3_str_appendchar(out, 1, (char)bytes[at]);
        else
          sqlite3_str_appendf(out, "\\%02x", bytes[at]);
      }
    }
  }
  sqlite3_str_appendchar(out, 1, ' ');
  return sqlite3_str_finish(out);
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

struct rows fetch(struct world *world, struct pair *pair, bool twin, const char *sql, bool ordered) {
  struct rows rows = {0};
  sqlite3_stmt *stmt = NULL;
  size_t cap = 0;
  char *text = expand(world, twin, sql);
  rows.rc = sqlite3_prepare_v2(twin ? pair->twin : pair->log, text, -1, &stmt, NULL);
  if ((rows.rc & 0xff) == SQLITE_ERROR)
    fail(world, "%s: %s", text, sqlite3_errmsg(twin ? pair->twin : pair->log));
  sqlite3_free(text);
  while (rows.rc == SQLITE_OK || rows.rc == SQLITE_ROW) {
    rows.rc = sqlite3_step(stmt);
    if (rows.rc != SQLITE_ROW)
      break;
    if (rows.n == cap) {
      cap = cap * 2 + 16;
      rows.row = realloc(rows.row, cap * sizeof *rows.row);
      rows.first = realloc(rows.first, cap * sizeof *rows.first);
    }
    rows.first[rows.n] = sqlite3_column_int64(stmt, 0);
    rows.row[rows.n++] = row_text(stmt);
  }
  sqlite3_finalize(stmt);
  if (!ordered && rows.n > 1)
    qsort(rows.row, rows.n, sizeof *rows.row, by_text);
  return rows;
}

void free_rows(struct rows *rows) {
  for (size_t i = 0; i < rows->n; i++)
    sqlite3_free(rows->row[i]);
  free(rows->row);
  free(rows->first);
  *rows = (struct rows){0};
}

size_t compare_query(struct world *world, struct pair *pair, const char *sql, bool ordered) {
  struct rows want = fetch(world, pair, true, sql, ordered);
  struct rows have = fetch(world, pair, false, sql, ordered);
  compare_codes(world, pair, have.rc, want.rc, sql);
  for (size_t i = 0; i < want.n || i < have.n; i++) {
    if (i >= want.n || i >= have.n || strcmp(want.row[i], have.row[i]) != 0)
      fail(world, "%s\nrow %d of %d, of the twin %d:\n%.1000s\nof the twin:\n%.1000s", sql, (int)i, (int)have.n,
           (int)want.n, i < have.n ? have.row[i] : "(none)", i < want.n ? want.row[i] : "(none)");
  }
  const size_t rows = want.n;
  free_rows(&want);
  free_rows(&have);
  return rows;
}

/* ---- making a world ---- */

/* One part of a partition's text, as DESIGN.md says it. */
static void hive(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  const char *name = (const char *)sqlite3_value_text(argv[0]);
  const unsigned char *value = sqlite3_value_text(argv[1]);
  const int size = sqlite3_value_bytes(argv[1]);
  const char *none = "__HIVE_DEFAULT_PARTITION__";
  if (value == NULL) {
    sqlite3_result_text(context, sqlite3_mprintf("%s=%s", name, none), -1, sqlite3_free);
    return;
  }
  sqlite3_str *out = sqlite3_str_new(NULL);
  sqlite3_str_appendf(out, "%s=", name);
  for (int i = 0; i < size; i++) {
    const bool plain = strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~", value[i]) != NULL;
    const bool set_apart = i == 0 && (size_t)size == strlen(none) && memcmp(value, none, (size_t)size) == 0;
    sqlite3_str_appendf(out, plain && value[i] != 0 && !set_apart ? "%c" : "%%%02X", value[i]);
  }
  sqlite3_result_text(context, sqlite3_str_finish(out), -1, sqlite3_free);
}

struct column world_new_column(size_t at) {
  static const struct column kinds[] = {{.type = "INTEGER", .strict = "INTEGER"},
                                        {.type = "REAL", .strict = "REAL"},
                                        {.type = "TEXT", .strict = "TEXT"},
                                        {.type = "BLOB", .strict = "BLOB"},
                                        {.type = "ANY", .strict = "ANY"},
                                        {.type = "", .strict = "ANY"},
                                        {.type = "JSON", .strict = "TEXT"},
                                        {.type = "BOOLEAN", .strict = "INTEGER"},
                                        {.type = "TIMESTAMP_MS", .strict = "INTEGER"}};
  static const char *const names[COLUMNS_MAX] = {"k", "l", "c2", "select", "c 4"};
  struct column column = PICK(kinds);
  column.name = names[at];
  return column;
}

static void choose_columns(struct world *world) {
  world->npartition = pick(3);
  world->ncolumns = 2 + pick(COLUMNS_MAX - 1);
  for (size_t i = 0; i < world->ncolumns; i++) {
    world->columns[i] = world_new_column(i);
    if (i < world->npartition) {
      world->columns[i].type = world->columns[i].strict = one_in(2) ? "TEXT" : "INTEGER";
      world->columns[i].in_partition = true;
    }
    world->columns[i].not_null = one_in(4);
  }
  const size_t swap = pick(2);
  for (size_t i = 0; i < world->npartition; i++)
    world->partition[i] = world->npartition == 2 ? i ^ swap : i;
}

static void choose_unique(struct world *world) {
  struct column *column = &world->columns[pick(world->ncolumns)];
  column->unique = one_in(2) && strcmp(column->type, "BOOLEAN") != 0 && (!column->in_partition || one_in(4));
}

static void write_schema(struct world *world) {
  sqlite3_str *log = sqlite3_str_new(NULL);
  sqlite3_str *twin = sqlite3_str_new(NULL);
  sqlite3_str *list = sqlite3_str_new(NULL);
  static const int segment_rows[] = {16, 17, 32, 64, 1000};
  sqlite3_str_appendf(log, "CREATE VIRTUAL TABLE %s USING tidemark(", world->table);
  sqlite3_str_appendall(twin, "CREATE TABLE t(since INTEGER PRIMARY KEY AUTOINCREMENT");
  for (size_t i = 0; i < world->ncolumns; i++) {
    const struct column *column = &world->columns[i];
    const char *not_null = column->not_null ? " NOT NULL" : "";
    sqlite3_str_appendf(log, "\"%w\" %s%s, ", column->name, column->type, not_null);
    sqlite3_str_appendf(twin, ", \"%w\" %s%s%s", column->name, column->strict, not_null,
                        column->unique ? " UNIQUE" : "");
    if (strcmp(column->type, "BOOLEAN") == 0)
      sqlite3_str_appendf(twin, " CHECK(\"%w\" IN (0, 1))", column->name);
    if (column->in_partition)
      sqlite3_str_appendf(twin, " CHECK(length(hive('%s', \"%w\")) <= 255)", column->name, column->name);
    sqlite3_str_appendf(list, "%s\"%w\"", i > 0 ? ", " : "", column->name);
  }
  sqlite3_str_appendall(twin, ", \"partition\" TEXT AS (''");
  for (size_t i = 0; i < world->npartition; i++) {
    const char *name = world->columns[world->partition[i]].name;
    sqlite3_str_appendf(twin, " || '%s' || hive('%s', \"%w\")", i > 0 ? "/" : "", name, name);
    sqlite3_str_appendf(log, i > 0 ? ", %s" : "partition_by=(%s", name);
  }
  sqlite3_str_appendall(twin, ")) STRICT");
  sqlite3_str_appendall(log, world->npartition > 0 ? "), " : "");
  for (size_t i = 0; i < world->ncolumns; i++) {
    if (world->columns[i].unique)
      sqlite3_str_appendf(log, "unique=\"%w\", ", world->columns[i].name);
  }
  sqlite3_str_appendf(log, "segment_rows=%d, zstd_level=%d, autoflush=%d)", PICK(segment_rows),
                      one_in(10) ? 19 : 1 + (int)pick(4), (int)pick(2));
  world->create = sqlite3_str_finish(log);
  world->create_twin = sqlite3_str_finish(twin);
  world->list = sqlite3_str_finish(list);
}

static void must(struct world *world, sqlite3 *db, char *sql) {
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
    fail(world, "%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_free(sql);
}

static void open_pair(struct world *world, struct pair *pair) {
  char file[128];
  const bool attached = strcmp(world->schema, "aux") == 0;
  const char *encoding = world->utf16 ? "UTF-16le" : "UTF-8";
  snprintf(file, sizeof file, "%s/log", world->dir);
  if (sqlite3_open(attached ? ":memory:" : file, &pair->log) != SQLITE_OK ||
      sqlite3_tidemark_init(pair->log, NULL, NULL) != SQLITE_OK)
    fail(world, "cannot open %s", file);
  must(world, pair->log, sqlite3_mprintf("PRAGMA encoding='%s'", encoding));
  if (attached)
    must(world, pair->log, sqlite3_mprintf("ATTACH %Q AS aux", file));
  if (strcmp(world->journal, "WAL") == 0) /* the other one is what a new file has */
    must(world, pair->log, sqlite3_mprintf("PRAGMA %s.journal_mode=WAL", world->schema));
  must(world, pair->log, sqlite3_mprintf("PRAGMA synchronous=OFF; PRAGMA recursive_triggers=ON"));
  snprintf(file, sizeof file, "%s/twin", world->dir);
  sqlite3_open(file, &pair->twin);
  must(world, pair->twin, sqlite3_mprintf("PRAGMA encoding='%s'; PRAGMA synchronous=OFF", encoding));
  if (strcmp(world->journal, "WAL") == 0)
    must(world, pair->twin, sqlite3_mprintf("PRAGMA journal_mode=WAL"));
  sqlite3_create_function(pair->twin, "hive", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, hive,
                          NULL, NULL);
  sqlite3_extended_result_codes(pair->log, 1);
  sqlite3_extended_result_codes(pair->twin, 1);
  pair->changes = CHANGES_UNKNOWN;
}

/* An ordinary table whose rows go on into the dataset; its last column says how the trigger ends. */
static void create_feed(struct world *world, struct pair *pair) {
  sqlite3_str *columns = sqlite3_str_new(NULL);
  sqlite3_str *values = sqlite3_str_new(NULL);
  for (size_t i = 0; i < world->ncolumns; i++) {
    sqlite3_str_appendf(columns, "x%d, ", (int)i);
    sqlite3_str_appendf(values, "%snew.x%d", i > 0 ? ", " : "", (int)i);
  }
  char *names = sqlite3_str_finish(columns);
  char *news = sqlite3_str_finish(values);
  const bool temp = strcmp(world->schema, "temp") == 0;
  for (int twin = 0; twin < 2; twin++) {
    sqlite3 *db = twin ? pair->twin : pair->log;
    const char *table = twin ? "t" : "\"my log\"";
    char *schema = twin ? sqlite3_mprintf("") : sqlite3_mprintf("%s.", world->schema);
    must(world, db, sqlite3_mprintf("CREATE TABLE %sfeed(%sfate)", schema, names));
    must(
        world, db,
        sqlite3_mprintf(
            "CREATE %s TRIGGER %sfeed_in AFTER INSERT ON feed BEGIN INSERT INTO %s(%s) VALUES(%s);"
            " SELECT RAISE(ABORT, 'fate') WHERE new.fate = 'abort'; SELECT RAISE(FAIL, 'fate') WHERE new.fate = 'fail';"
            " SELECT RAISE(ROLLBACK, 'fate') WHERE new.fate = 'rollback'; SELECT RAISE(IGNORE) WHERE new.fate = "
            "'ignore';"
            " INSERT INTO %s(%s) SELECT %s WHERE new.fate = 'twice'; END",
            temp && !twin ? "TEMP" : "", temp ? "" : schema, table, world->list, news, table, world->list, news));
    sqlite3_free(schema);
  }
  sqlite3_free(names);
  sqlite3_free(news);
}

void world_create_view(struct world *world, struct pair *pair) {
  for (int twin = 0; twin < 2; twin++) {
    char *sql = sqlite3_mprintf(
        "DROP VIEW IF EXISTS @V; CREATE VIEW @V AS SELECT since, %s, \"partition\" FROM %s WHERE since %% 5 <> 0",
        world->list, twin ? "t" : "\"my log\"");
    must(world, twin ? pair->twin : pair->log, expand(world, twin, sql));
    sqlite3_free(sql);
  }
}

void world_open(struct world *world, uint64_t seed, bool unique) {
  static const char *const schemas[] = {"main", "main", "aux", "temp"};
  *world = (struct world){.seed = seed};
  /* in memory where that is possible */
  snprintf(world->dir, sizeof world->dir, "%s/tidemark-twin-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  chance_seed(seed);
  if (mkdtemp(world->dir) == NULL)
    fail(world, "no temporary folder");
  world->schema = PICK(schemas);
  world->journal = one_in(3) ? "DELETE" : "WAL";
  world->utf16 = one_in(5);
  world->npairs = strcmp(world->schema, "temp") == 0 ? 1 : CONNECTIONS;
  world->table = sqlite3_mprintf("%s.\"my log\"", world->schema);
  choose_columns(world);
  if (unique)
    choose_unique(world);
  write_schema(world);
  open_pair(world, &world->pairs[0]);
  must(world, world->pairs[0].log, sqlite3_mprintf("%s", world->create));
  must(world, world->pairs[0].twin, sqlite3_mprintf("%s", world->create_twin));
  for (int twin = 0; twin < 2; twin++)
    must(world, twin ? world->pairs[0].twin : world->pairs[0].log,
         expand(world, twin, "CREATE TABLE @B(n); INSERT INTO @B VALUES(0)"));
  create_feed(world, &world->pairs[0]);
  world_create_view(world, &world->pairs[0]);
  sqlite3_set_last_insert_rowid(world->pairs[0].log, 0);
  sqlite3_set_last_insert_rowid(world->pairs[0].twin, 0);
  for (size_t i = 1; i < world->npairs; i++) {
    open_pair(world, &world->pairs[i]);
    world_connect(world, &world->pairs[i]);
  }
}

static void close_pair(struct world *world, struct pair *pair) {
  sqlite3_finalize(pair->insert);
  pair->insert = NULL;
  if (sqlite3_close(pair->log) != SQLITE_OK)
    fail(world, "close: %s", sqlite3_errmsg(pair->log));
  sqlite3_close(pair->twin);
  pair->log = NULL;
  pair->twin = NULL;
}

void world_reopen(struct world *world, struct pair *pair) {
  close_pair(world, pair);
  open_pair(world, pair);
  world_connect(world, pair);
}

void world_connect(struct world *world, struct pair *pair) {
  run_log(world, pair, "SELECT 1 FROM @T WHERE false");
}

void world_close(struct world *world) {
  static const char *const files[] = {"log",  "log-wal",  "log-shm",  "log-journal",
                                      "twin", "twin-wal", "twin-shm", "twin-journal"};
  char file[128];
  for (size_t i = 0; i < world->npairs; i++)
    close_pair(world, &world->pairs[i]);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    snprintf(file, sizeof file, "%s/%s", world->dir, files[i]);
    unlink(file);
  }
  rmdir(world->dir);
  for (size_t i = 0; i < HISTORY; i++)
    sqlite3_free(world->history[i]);
  sqlite3_free(world->table);
  sqlite3_free(world->create);
  sqlite3_free(world->create_twin);
  sqlite3_free(world->list);
}
