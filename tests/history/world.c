#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- saying and failing ---- */

void note(struct world *world, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = sqlite3_vmprintf(format, args);
  va_end(args);
  char **slot = &world->history[world->nhistory++ % HISTORY];
  sqlite3_free(*slot);
  *slot = sqlite3_mprintf("%d%s: %z", world->acting + 1, in_transaction(world) ? " in a transaction" : "", text);
}

_Noreturn void fail(struct world *world, const char *format, ...) {
  va_list args;
  fprintf(stderr, "seed %llu, step %d, journal %s\n%s\n", (unsigned long long)world->seed, (int)world->steps,
          world->wal ? "WAL" : "DELETE", world->create != NULL ? world->create : "");
  const size_t from = world->nhistory > HISTORY ? world->nhistory - HISTORY : 0;
  for (size_t i = from; i < world->nhistory; i++)
    fprintf(stderr, "  %.600s\n", world->history[i % HISTORY]);
  va_start(args, format);
  char *text = sqlite3_vmprintf(format, args);
  va_end(args);
  fprintf(stderr, "FAILED: %s\nagain with: history %llu; files in %s\n", text, (unsigned long long)world->seed,
          world->dir);
  fflush(stderr);
  _Exit(1);
}

/* ---- statements ---- */

static sqlite3 *db_of(const struct world *world) {
  return world->dbs[world->acting];
}

/* The progress handler's countdown. */
static int interrupt(void *data) {
  int *left = data;
  return --*left == 0;
}

/* The transaction may be gone by an error. */
static void follow(struct world *world) {
  if (!in_transaction(world) || !sqlite3_get_autocommit(db_of(world)))
    return;
  note(world, "(it rolled the transaction back)");
  go_back(world, 0);
  forget_saved(world, 0);
}

static int run_text(struct world *world, const char *sql) {
  note(world, "%s%s", sql, world->interrupt_at > 0 ? " (to be interrupted)" : "");
  if (world->interrupt_at > 0)
    sqlite3_progress_handler(db_of(world), 5, interrupt, &world->interrupt_at);
  const int rc = sqlite3_exec(db_of(world), sql, NULL, NULL, NULL);
  sqlite3_progress_handler(db_of(world), 0, NULL, NULL);
  if (rc == SQLITE_INTERRUPT)
    note(world, "(it was)");
  world->interrupt_at = 0;
  if (rc != SQLITE_OK)
    follow(world);
  return rc;
}

int run(struct world *world, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  const int rc = run_text(world, sql);
  sqlite3_free(sql);
  return rc;
}

void must(struct world *world, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  const int rc = run_text(world, sql);
  if (rc != SQLITE_OK)
    fail(world, "%s\n%d: %s", sql, rc, sqlite3_errmsg(db_of(world)));
  sqlite3_free(sql);
}

void must_refuse(struct world *world, int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  const int rc = run_text(world, sql);
  if ((rc & 0xff) != code)
    fail(world, "%s\ngives %d (%s), expected %d", sql, rc, sqlite3_errmsg(db_of(world)), code);
  sqlite3_free(sql);
}

sqlite3_stmt *query(struct world *world, const char *format, ...) {
  sqlite3_stmt *stmt = NULL;
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  if (sqlite3_prepare_v2(db_of(world), sql, -1, &stmt, NULL) != SQLITE_OK)
    fail(world, "%s\n%s", sql, sqlite3_errmsg(db_of(world)));
  sqlite3_free(sql);
  return stmt;
}

bool next(struct world *world, sqlite3_stmt *stmt) {
  const int rc = sqlite3_step(stmt);
  if (rc == SQLITE_ROW)
    return true;
  if (rc != SQLITE_DONE)
    fail(world, "%s\n%d: %s", sqlite3_sql(stmt), rc, sqlite3_errmsg(db_of(world)));
  sqlite3_finalize(stmt);
  return false;
}

int64_t ask(struct world *world, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  sqlite3_stmt *stmt = query(world, "%s", sql);
  int64_t value = 0;
  while (next(world, stmt))
    value = sqlite3_column_int64(stmt, 0);
  sqlite3_free(sql);
  return value;
}

static int keep_text(void *data, int count, char **values, char **names) {
  (void)names;
  char **text = data;
  sqlite3_free(*text);
  *text = sqlite3_mprintf("%s", count > 0 && values[0] != NULL ? values[0] : "");
  return 0;
}

char *ask_text(struct world *world, int *ret_rc, const char *format, ...) {
  va_list args;
  char *text = NULL;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  note(world, "%s%s", sql, world->interrupt_at > 0 ? " (to be interrupted)" : "");
  if (world->interrupt_at > 0)
    sqlite3_progress_handler(db_of(world), 5, interrupt, &world->interrupt_at);
  *ret_rc = sqlite3_exec(db_of(world), sql, keep_text, &text, NULL);
  sqlite3_progress_handler(db_of(world), 0, NULL, NULL);
  world->interrupt_at = 0;
  if (*ret_rc != SQLITE_OK) {
    note(world, "(%d: %s)", *ret_rc, sqlite3_errmsg(db_of(world)));
    follow(world);
    sqlite3_free(text);
    text = NULL;
  } else {
    note(world, "  %.200s", text != NULL ? text : "(no row)");
  }
  sqlite3_free(sql);
  return text;
}

/* ---- transactions ---- */

void save(struct world *world, const char *name) {
  struct saved *saved = &world->saved[world->nsaved++];
  snprintf(saved->name, sizeof saved->name, "%s", name);
  model_copy(&saved->model, &world->model);
}

void go_back(struct world *world, int to) {
  model_clear(&world->model);
  model_copy(&world->model, &world->saved[to].model);
  forget_saved(world, to + 1);
}

void forget_saved(struct world *world, int from) {
  while (world->nsaved > from)
    model_clear(&world->saved[--world->nsaved].model);
}

/* ---- names ---- */

const char *part_text(const struct world *world, int part) {
  static const char *const texts[PARTS] = {"p=web", "p=d%20b", "p=__HIVE_DEFAULT_PARTITION__", "p=x"};
  return world->partitioned ? texts[part] : "";
}

const char *part_value(int part) {
  static const char *const values[PARTS] = {"'web'", "'d b'", "NULL", "'x'"};
  return values[part];
}

int part_of(struct world *world, const char *text) {
  for (int part = 0; part < world->nparts; part++) {
    if (text != NULL && strcmp(part_text(world, part), text) == 0)
      return part;
  }
  fail(world, "a partition '%s'", text);
}

int sink_of(struct world *world, const char *name) {
  for (int sink = 0; sink < SINKS; sink++) {
    if (name != NULL && strcmp(sink_names[sink], name) == 0)
      return sink;
  }
  fail(world, "a sink '%s'", name);
}

const char *folder_of(const struct world *world, int sink, char target) {
  static char paths[4][128];
  static int at;
  char *path = paths[at++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s%s%c", world->dir, sink_names[sink], target != '\0' ? "/" : "", target);
  return path;
}

/* ---- life ---- */

void world_connect(struct world *world) {
  char path[128];
  const int acting = world->acting;
  snprintf(path, sizeof path, "%s/db", world->dir);
  for (int i = 0; i < CONNECTIONS; i++) {
    world->acting = i;
    if (sqlite3_open_v2(path, &world->dbs[i], SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, MACHINE_VFS) != SQLITE_OK ||
        sqlite3_tidemark_init(world->dbs[i], NULL, NULL) != SQLITE_OK)
      fail(world, "cannot open %s", path);
    sqlite3_extended_result_codes(world->dbs[i], 1);
    if (sqlite3_exec(world->dbs[i], world->wal ? "PRAGMA journal_mode = wal" : "SELECT 1", NULL, NULL, NULL) !=
        SQLITE_OK)
      fail(world, "journal_mode: %s", sqlite3_errmsg(world->dbs[i]));
    sqlite3_exec(world->dbs[i], one_in(2) ? "PRAGMA synchronous = normal" : "PRAGMA synchronous = full", NULL, NULL,
                 NULL);
    if (one_in(2))
      sqlite3_exec(world->dbs[i], "PRAGMA wal_autocheckpoint = 20; PRAGMA cache_size = 20", NULL, NULL, NULL);
  }
  world->acting = acting;
}

void world_disconnect(struct world *world) {
  for (int i = 0; i < CONNECTIONS; i++) {
    if (sqlite3_close(world->dbs[i]) != SQLITE_OK)
      fail(world, "close: %s", sqlite3_errmsg(world->dbs[i]));
    world->dbs[i] = NULL;
  }
}

static char *create_sql(const struct world *world) {
  static const int segment_rows[] = {16, 16, 17, 32, 100};
  const struct options *options = &world->model.options;
  sqlite3_str *out = sqlite3_str_new(NULL);
  sqlite3_str_appendf(out,
                      "CREATE VIRTUAL TABLE logs USING tidemark(p TEXT, v INTEGER NOT NULL, body TEXT, ts TIMESTAMP_MS,"
                      "%s%s segment_rows=%d, zstd_level=%d, autoflush=%d",
                      world->partitioned ? " partition_by=p," : "", world->unique ? " unique=v," : "",
                      PICK(segment_rows), 1 + (int)pick(3), !one_in(4));
  if (options->rows != NONE)
    sqlite3_str_appendf(out, ", retention_rows=%lld", (long long)options->rows);
  if (options->age_ms != NONE)
    sqlite3_str_appendf(out, ", retention_age='%lld ms'", (long long)options->age_ms);
  if (options->by_ts)
    sqlite3_str_appendall(out, ", retention_by=ts");
  sqlite3_str_appendall(out, ")");
  return sqlite3_str_finish(out);
}

/* A dataset beside it, with partitions and sinks of the same names. */
static void create_noise(struct world *world) {
  char folder[100];
  snprintf(folder, sizeof folder, "%s/noise", world->dir);
  mkdir(folder, 0755);
  must(world, "CREATE VIRTUAL TABLE noise USING tidemark(p TEXT, v INTEGER, %s segment_rows=16, retention_rows=20)",
       world->partitioned ? "partition_by=p," : "");
  must(world,
       "INSERT INTO tidemark_sink(sink, dataset, target, format, max_rows, hold_rows) VALUES"
       " ('all', 'noise', 'file://%s', 'ndjson', 9, 10), ('copy', 'noise', NULL, NULL, NULL, 10)",
       folder);
}

void world_open(struct world *world, uint64_t seed) {
  *world = (struct world){.seed = seed};
  chance_seed(seed);
  if (!machine_new_folder(world->dir, sizeof world->dir))
    fail(world, "no temporary folder");
  machine_set_now(INT64_C(1767225600000));
  world->wal = !one_in(4);
  world->nparts = one_in(5) ? 1 : 2 + (int)pick(PARTS - 1);
  world->partitioned = world->nparts > 1 || one_in(2);
  world->unique = one_in(2);
  world->seen = sqlite3_mprintf("\n");
  world_connect(world);
  snprintf(world->model.dataset, sizeof world->model.dataset, "logs");
  world->model.options = (struct options){NONE, NONE, NONE, one_in(4)};
  if (one_in(2))
    world->model.options.rows = 5 + (int64_t)pick(60);
  if (one_in(3))
    world->model.options.age_ms = 1000 * (int64_t)(5 + pick(600));
  world->create = create_sql(world);
  must(world, "%s", world->create);
  create_noise(world);
  must(world, "CREATE TABLE copied(generation, part, since, v)");
  sqlite3_stmt *stmt = query(world, "SELECT log_id FROM tidemark_dataset WHERE dataset = 'logs'");
  while (next(world, stmt))
    snprintf(world->log_id, sizeof world->log_id, "%s", (const char *)sqlite3_column_text(stmt, 0));
  static const char targets[] = {'\0', 'a', 'b'};
  for (int sink = 0; sink < SINKS; sink++) {
    for (size_t i = 0; sink_kinds[sink] == BY_FILE && i < sizeof targets; i++)
      mkdir(folder_of(world, sink, targets[i]), 0755);
  }
}

void world_close(struct world *world) {
  world_disconnect(world);
  machine_remove(world->dir);
  for (size_t i = 0; i < HISTORY; i++)
    sqlite3_free(world->history[i]);
  forget_saved(world, 0);
  model_clear(&world->model);
  sqlite3_free(world->create);
  sqlite3_free(world->seen);
}
