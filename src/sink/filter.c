#include "sink/filter.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "sink/filter_row.h"
#include "sink/filter_rules.h"
#include "store/interrupt.h"

enum {
  SQL_LENGTH_MAX = 1000000,
  PATTERN_MAX = 1000,
  STEPS_BETWEEN_ASKS = 4000 /* of SQLite's machine: each may call a function that makes TIDE_FILTER_MADE_MAX bytes */
};

struct tide_filter {
  sqlite3 *db; /* private; it lives as long as the filter */
  sqlite3_stmt *stmt;
  struct tide_filter_row row;
  struct tide_filter_rules rules;
  char *expression;
  sqlite3_stmt *interrupt; /* of the host's connection; NULL: nobody is asked */
  struct tide_err ended;   /* what that said, when it ended a run */
};

/* An expression is put between parentheses that it could close and open again, "1) OR (1". So it must compile in two
 * places. In the first, the text up to a parenthesis closed early would have to be an expression; in the second, an
 * expression with " AS type" behind it; no text is both. The second also stands in WHERE, where an aggregate is
 * refused. Line breaks keep a "--" comment from swallowing what follows.
 *
 * The first one runs: it gives 0 or 1 for each row of the table in order, and tests AND and OR from left to right as
 * they are written, where WHERE would move the cheap terms to the front: json_valid(x) AND x ->> 'a' = 1. */
static const char run_form[] = "SELECT CASE WHEN (\n%s\n) THEN 1 ELSE 0 END FROM \"" TIDE_FILTER_ROW "\"";
static const char check_form[] = "SELECT 1 FROM \"" TIDE_FILTER_ROW "\" WHERE CAST(\n%s\n AS INTEGER)";

/* ---- create ---- */

/* Nothing else can be reached from the connection; a word in double quotes that is no column is not a string. */
static void restrict_connection(sqlite3 *db) {
  static const struct {
    int option;
    int value;
  } options[] = {{SQLITE_DBCONFIG_DQS_DML, 0},     {SQLITE_DBCONFIG_DQS_DDL, 0},
                 {SQLITE_DBCONFIG_DEFENSIVE, 1},   {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                 {SQLITE_DBCONFIG_ENABLE_VIEW, 0}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                 {SQLITE_DBCONFIG_ENABLE_FKEY, 0}, {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    sqlite3_db_config(db, options[i].option, options[i].value, (int *)NULL);
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, SQL_LENGTH_MAX);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, TIDE_FILTER_MADE_MAX);
  sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_MAX);
  sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 1);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
  sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
}

static sqlite3 *open_connection(struct tide_err *err) {
  sqlite3 *db = NULL;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int rc = sqlite3_open_v2(":memory:", &db, flags, NULL);
  if (rc != SQLITE_OK) {
    tide_err_set(err, rc, "cannot open a connection for the filter: %s", sqlite3_errmsg(db));
    sqlite3_close(db);
    return NULL;
  }
  restrict_connection(db);
  return db;
}

static void refuse(const struct tide_filter *filter, const char *words, struct tide_err *err) {
  tide_err_set(err, SQLITE_ERROR, "filter \"%!.150s\" %s", filter->expression, words);
}

/* Prepares the expression in one of the forms. */
static sqlite3_stmt *compile(struct tide_filter *filter, const char *form, struct tide_err *err) {
  sqlite3_stmt *stmt = NULL;
  const char *tail = NULL;
  char *sql = tide_printf(err, form, filter->expression);
  if (sql == NULL)
    return NULL;
  filter->rules.selects = 0;
  int rc = sqlite3_prepare_v3(filter->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, &tail);
  if (rc == SQLITE_NOMEM)
    tide_err_nomem(err);
  else if (tide_err_is_set(&filter->rules.refused))
    refuse(filter, filter->rules.refused.msg, err);
  else if (rc != SQLITE_OK)
    tide_err_set(err, SQLITE_ERROR, "filter \"%!.150s\" does not compile: %s", filter->expression,
                 sqlite3_errmsg(filter->db));
  else if (stmt == NULL || *tail != '\0' || filter->rules.selects != 1)
    refuse(filter, "is more than one expression", err);
  else if (sqlite3_bind_parameter_count(stmt) > 0)
    refuse(filter, "has a parameter, which nothing would give a value: expected one expression without", err);
  tide_free(sql);
  if (tide_err_is_set(err)) {
    sqlite3_finalize(stmt);
    stmt = NULL;
  }
  return stmt;
}

struct tide_filter *tide_filter_create(const struct tide_spec *spec, const char *expression, struct tide_err *err) {
  struct tide_filter *filter = tide_alloc_zero(1, sizeof *filter, err);
  if (filter == NULL)
    return NULL;
  filter->row.spec = spec;
  filter->expression = tide_copy_string(expression, err);
  if (!tide_err_is_set(err))
    filter->db = open_connection(err);
  if (!tide_err_is_set(err))
    tide_filter_row_register(filter->db, &filter->row, err);
  if (!tide_err_is_set(err))
    tide_filter_rules_impose(filter->db, &filter->rules, spec, err);
  if (!tide_err_is_set(err))
    filter->stmt = compile(filter, run_form, err);
  if (!tide_err_is_set(err))
    sqlite3_finalize(compile(filter, check_form, err));
  if (tide_err_is_set(err)) {
    tide_filter_destroy(filter);
    return NULL;
  }
  return filter;
}

void tide_filter_destroy(struct tide_filter *filter) {
  if (filter == NULL)
    return;
  sqlite3_finalize(filter->stmt);
  sqlite3_close(filter->db);
  tide_filter_rules_clear(&filter->rules);
  tide_free(filter->expression);
  tide_free(filter);
}

/* ---- run ---- */

static int is_to_end(void *context) {
  struct tide_filter *filter = context;
  return tide_interrupt_is_pending(filter->interrupt, &filter->ended);
}

void tide_filter_heed(struct tide_filter *filter, sqlite3_stmt *interrupt) {
  filter->interrupt = interrupt;
  /* NULL in the table of a SQLite built with SQLITE_OMIT_PROGRESS_CALLBACK, as better-sqlite3's is: there a run ends
   * by itself. */
  void (*set_handler)(sqlite3 *, int, int (*)(void *), void *) = sqlite3_progress_handler;
  if (set_handler != NULL)
    set_handler(filter->db, STEPS_BETWEEN_ASKS, is_to_end, filter);
}

static void run_rows(struct tide_filter *filter, uint8_t *keep, struct tide_err *err) {
  int rc;
  const struct tide_filter_row *row = &filter->row;
  while ((rc = sqlite3_step(filter->stmt)) == SQLITE_ROW) {
    assert(row->at < row->batch->rows);
    keep[row->at] = (uint8_t)sqlite3_column_int(filter->stmt, 0);
  }
  if (rc == SQLITE_NOMEM)
    tide_err_nomem(err);
  else if (tide_err_is_set(&filter->ended))
    tide_err_set(err, filter->ended.rc, "%s", filter->ended.msg);
  else if (rc == SQLITE_TOOBIG && row->at < row->batch->rows)
    tide_err_set(err, SQLITE_ERROR,
                 "filter \"%!.150s\" fails on the row with since %lld: string or blob too big: expected at most %d "
                 "bytes and twice those that it reads of the row",
                 filter->expression, (long long)row->batch->since[row->at], (int)TIDE_FILTER_MADE_MAX);
  else if (rc != SQLITE_DONE && row->at < row->batch->rows)
    tide_err_set(err, rc, "filter \"%!.150s\" fails on the row with since %lld: %s", filter->expression,
                 (long long)row->batch->since[row->at], sqlite3_errmsg(filter->db));
  else if (rc != SQLITE_DONE)
    tide_stmt_error(filter->db, rc, err);
}

int tide_filter_run(struct tide_filter *filter, const struct tide_batch *batch, const char *partition,
                    const struct tide_val *partition_values, uint8_t *keep, struct tide_err *err) {
  filter->row.batch = batch;
  filter->row.keep = keep;
  filter->row.at = batch->rows;
  filter->row.partition = partition;
  filter->row.partition_values = partition_values;
  tide_err_clear(&filter->ended);
  run_rows(filter, keep, err);
  sqlite3_reset(filter->stmt);
  sqlite3_limit(filter->db, SQLITE_LIMIT_LENGTH, TIDE_FILTER_MADE_MAX);
  filter->row.batch = NULL;
  filter->row.keep = NULL;
  return err->rc;
}

bool tide_filter_reads(const struct tide_filter *filter, size_t column) {
  return filter->rules.reads[column];
}
