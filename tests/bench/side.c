#include "side.h"

#include <string.h>
#include <unistd.h>

#include "die.h"

const char *const side_names[SIDES] = {"tidemark", "table"};

static const char *module_path;

static const char *const create_table[SIDES] = {
    "CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, ts TIMESTAMP_MS, level TEXT, component TEXT,"
    " status INTEGER, bytes INTEGER, duration REAL, body TEXT, attrs JSON, partition_by=source)",
    "CREATE TABLE logs(since INTEGER PRIMARY KEY, source TEXT NOT NULL, ts INTEGER, level TEXT, component TEXT,"
    " status INTEGER, bytes INTEGER, duration REAL, body TEXT, attrs TEXT);"
    "CREATE INDEX logs_source ON logs(source, since)",
};

void side_use_module(const char *path) {
  module_path = path;
}

static void check(struct side *side, int rc, const char *what) {
  if (rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE)
    die("%s: %s: %s", side_names[side->kind], what, sqlite3_errmsg(side->db));
}

static void open_file(struct side *side, enum side_kind kind, const char *folder, const char *name) {
  *side = (struct side){.kind = kind};
  snprintf(side->path, sizeof side->path, "%s/%s.%s.db", folder, name, side_names[kind]);
}

static void connect_to_file(struct side *side) {
  check(side, sqlite3_open(side->path, &side->db), side->path);
  sqlite3_enable_load_extension(side->db, 1);
  char *message = NULL;
  if (side->kind == SIDE_TIDEMARK && sqlite3_load_extension(side->db, module_path, NULL, &message) != SQLITE_OK)
    die("cannot load %s: %s", module_path, message);
  side_exec(side, "PRAGMA journal_mode=wal; PRAGMA synchronous=normal");
}

void side_create(struct side *side, enum side_kind kind, const char *folder, const char *name) {
  open_file(side, kind, folder, name);
  const char *const suffixes[] = {"", "-wal", "-shm"};
  for (int i = 0; i < 3; i++) {
    char path[520];
    snprintf(path, sizeof path, "%s%s", side->path, suffixes[i]);
    unlink(path);
  }
  connect_to_file(side);
  side_exec(side, "%s", create_table[kind]);
}

void side_open(struct side *side, enum side_kind kind, const char *folder, const char *name) {
  open_file(side, kind, folder, name);
  if (access(side->path, R_OK) != 0)
    die("%s is not there", side->path);
  connect_to_file(side);
}

void side_close(struct side *side) {
  sqlite3_finalize(side->insert);
  check(side, sqlite3_close(side->db), "closing");
  side->db = NULL;
  side->insert = NULL;
}

void side_exec(struct side *side, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = need(sqlite3_vmprintf(format, args));
  va_end(args);
  check(side, sqlite3_exec(side->db, sql, NULL, NULL, NULL), sql);
  sqlite3_free(sql);
}

char *side_text(struct side *side, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = need(sqlite3_vmprintf(format, args));
  va_end(args);
  sqlite3_stmt *stmt = side_prepare(side, sql);
  check(side, sqlite3_step(stmt), sql);
  const char *value = (const char *)sqlite3_column_text(stmt, 0);
  char *text = need(sqlite3_mprintf("%s", value != NULL ? value : ""));
  check(side, sqlite3_finalize(stmt), sql);
  sqlite3_free(sql);
  return text;
}

int64_t side_int(struct side *side, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *sql = need(sqlite3_vmprintf(format, args));
  va_end(args);
  char *text = side_text(side, "%s", sql);
  const int64_t value = strtoll(text, NULL, 10);
  sqlite3_free(text);
  sqlite3_free(sql);
  return value;
}

sqlite3_stmt *side_prepare(struct side *side, const char *sql) {
  sqlite3_stmt *stmt = NULL;
  check(side, sqlite3_prepare_v3(side->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL), sql);
  return stmt;
}

static void bind_number(sqlite3_stmt *stmt, int at, int64_t number) {
  if (number < 0)
    sqlite3_bind_null(stmt, at);
  else
    sqlite3_bind_int64(stmt, at, number);
}

static void bind_row(sqlite3_stmt *stmt, const struct row *row) {
  sqlite3_bind_text(stmt, 1, row->source, -1, SQLITE_STATIC);
  sqlite3_bind_int64(stmt, 2, row->ts);
  sqlite3_bind_text(stmt, 3, row->level, -1, SQLITE_STATIC);
  sqlite3_bind_text(stmt, 4, row->component, -1, SQLITE_STATIC);
  bind_number(stmt, 5, row->status);
  bind_number(stmt, 6, row->bytes);
  if (row->duration < 0)
    sqlite3_bind_null(stmt, 7);
  else
    sqlite3_bind_double(stmt, 7, row->duration);
  sqlite3_bind_text(stmt, 8, row->body, row->body_length, SQLITE_STATIC);
  sqlite3_bind_text(stmt, 9, row->attrs, row->attrs_length, SQLITE_STATIC); /* NULL binds NULL */
}

void side_insert(struct side *side, const struct block *block, size_t from, size_t to) {
  if (side->insert == NULL)
    side->insert =
        side_prepare(side, "INSERT INTO logs(source, ts, level, component, status, bytes, duration, body, attrs)"
                           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  for (size_t i = from; i < to; i++) {
    bind_row(side->insert, &block->rows[i]);
    sqlite3_step(side->insert);
    check(side, sqlite3_reset(side->insert), "inserting");
  }
}

static uint64_t number_of(sqlite3_stmt *stmt, int column) {
  switch (sqlite3_column_type(stmt, column)) {
  case SQLITE_INTEGER:
    return (uint64_t)sqlite3_column_int64(stmt, column);
  case SQLITE_FLOAT:
    return (uint64_t)(int64_t)(sqlite3_column_double(stmt, column) * 1000);
  case SQLITE_NULL:
    return 0;
  default: {
    const unsigned char *text = sqlite3_column_text(stmt, column);
    const int length = sqlite3_column_bytes(stmt, column);
    return (uint64_t)length + (length > 0 ? text[length - 1] : 0);
  }
  }
}

struct answer side_drain(sqlite3_stmt *stmt) {
  struct answer answer = {0};
  const int columns = sqlite3_column_count(stmt);
  while (sqlite3_step(stmt) == SQLITE_ROW) {
    answer.rows++;
    for (int i = 0; i < columns; i++)
      answer.sum += number_of(stmt, i);
  }
  if (sqlite3_reset(stmt) != SQLITE_OK)
    die("%s: %s", sqlite3_sql(stmt), sqlite3_errmsg(sqlite3_db_handle(stmt)));
  return answer;
}

void side_checkpoint(struct side *side) {
  check(side, sqlite3_wal_checkpoint_v2(side->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL), "checkpoint");
}

int64_t side_table_bytes(struct side *side) {
  return side_int(side, "SELECT sum(pgsize) FROM dbstat('main', 1) WHERE name IN"
                        " (SELECT name FROM sqlite_schema WHERE tbl_name GLOB 'logs*')");
}
