#include "store/sink_row.h"

#include "base/mem.h"
#include "base/stmt.h"
#include "base/stmt_pool.h"
#include "model/duration.h"

sqlite3_stmt *tide_sink_take(sqlite3 *db, const char *schema, struct tide_stmt_pool *pool, const char *sink,
                             const char *dataset, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      pool, db, err,
      "SELECT s.sink, s.dataset, s.target, s.format, s.columns, s.filter, s.options, s.state, t.folder, t.prefix,"
      " s.start, s.max_rows, s.max_bytes, s.min_rows, s.max_delay, t.caught_up, t.epoch,"
      " EXISTS(SELECT 1 FROM \"%w\".tidemark_registry WHERE dataset = s.dataset)"
      " FROM \"%w\".tidemark_sink s JOIN \"%w\".tidemark_sink_state t ON t.sink = s.sink AND t.dataset = s.dataset"
      " WHERE (?1 IS NULL OR s.sink = ?1) AND (?2 IS NULL OR s.dataset = ?2 COLLATE NOCASE) ORDER BY s.sink, s.dataset",
      schema, schema, schema);
  if (stmt != NULL) {
    sqlite3_bind_text(stmt, 1, sink, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(stmt, 2, dataset, -1, SQLITE_TRANSIENT);
  }
  return stmt;
}

sqlite3_stmt *tide_sink_prepare(sqlite3 *db, const char *schema, const char *sink, const char *dataset,
                                struct tide_err *err) {
  return tide_sink_take(db, schema, NULL, sink, dataset, err);
}

int64_t tide_sink_duration(sqlite3_stmt *stmt, int column, const char *what, struct tide_err *err) {
  int64_t ms = -1;
  struct tide_val value = tide_val_null();
  switch (sqlite3_column_type(stmt, column)) {
  case SQLITE_INTEGER:
    value = tide_val_int(sqlite3_column_int64(stmt, column));
    break;
  case SQLITE_FLOAT:
    value = tide_val_real(sqlite3_column_double(stmt, column));
    break;
  case SQLITE_NULL:
    return -1;
  default:
    value.type = TIDE_VAL_TEXT;
    value.p = tide_stmt_text(stmt, column, &value.n, err);
  }
  tide_duration_parse(&value, what, &ms, err);
  return ms;
}

static void check_texts(const struct tide_sink *sink, struct tide_err *err) {
  const char *lost = sink->sink == NULL      ? "tidemark_sink.sink"
                     : sink->dataset == NULL ? "tidemark_sink.dataset"
                     : sink->state == NULL   ? "tidemark_sink.state"
                     : sink->prefix == NULL  ? "tidemark_sink_state.prefix"
                                             : NULL;
  if (lost != NULL)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "%s is NULL for sink %Q of dataset %Q", lost, sink->sink, sink->dataset);
}

/* max_rows, max_bytes and min_rows may be NULL. */
static void check_numbers(sqlite3_stmt *stmt, int at, const struct tide_sink *sink, struct tide_err *err) {
  static const struct {
    const char *name;
    int column;
    bool may_lack;
  } numbers[] = {{"tidemark_sink.start", 0, false},           {"tidemark_sink.max_rows", 1, true},
                 {"tidemark_sink.max_bytes", 2, true},        {"tidemark_sink.min_rows", 3, true},
                 {"tidemark_sink_state.caught_up", 5, false}, {"tidemark_sink_state.epoch", 6, false}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    const int column = at + numbers[i].column;
    if (!tide_stmt_are_ints(stmt, column, 1) &&
        !(numbers[i].may_lack && sqlite3_column_type(stmt, column) == SQLITE_NULL))
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "%s is no whole number for sink %s of dataset %s", numbers[i].name,
                   sink->sink, sink->dataset);
  }
}

bool tide_sink_next(sqlite3_stmt *stmt, struct tide_sink *ret_sink, struct tide_err *err) {
  if (!tide_stmt_row(stmt, err))
    return false;
  struct tide_sink sink = {0};
  char **const texts[] = {&sink.sink,   &sink.dataset, &sink.target, &sink.format, &sink.columns,
                          &sink.filter, &sink.options, &sink.state,  &sink.folder, &sink.prefix};
  const int ntexts = (int)(sizeof texts / sizeof *texts);
  for (int i = 0; i < ntexts; i++)
    *texts[i] = tide_stmt_copy_text(stmt, i, err);
  sink.start = sqlite3_column_int64(stmt, ntexts);
  sink.max_rows = sqlite3_column_int64(stmt, ntexts + 1);
  sink.max_bytes = sqlite3_column_int64(stmt, ntexts + 2);
  sink.min_rows = sqlite3_column_int64(stmt, ntexts + 3);
  sink.max_delay_ms = tide_sink_duration(stmt, ntexts + 4, "max_delay", err);
  sink.caught_up = sqlite3_column_int64(stmt, ntexts + 5);
  sink.epoch = sqlite3_column_int64(stmt, ntexts + 6);
  sink.registered = sqlite3_column_int(stmt, ntexts + 7) != 0;
  check_texts(&sink, err);
  check_numbers(stmt, ntexts, &sink, err);
  if (tide_err_is_set(err)) {
    tide_sink_clear(&sink);
    return false;
  }
  *ret_sink = sink;
  return true;
}

void tide_sink_clear(struct tide_sink *sink) {
  char *const texts[] = {sink->sink,   sink->dataset, sink->target, sink->format, sink->columns,
                         sink->filter, sink->options, sink->state,  sink->folder, sink->prefix};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    tide_free(texts[i]);
  *sink = (struct tide_sink){0};
}

void tide_sink_list_clear(struct tide_sink_list *list) {
  for (size_t i = 0; i < list->count; i++)
    tide_sink_clear(&list->sinks[i]);
  tide_free(list->sinks);
  *list = (struct tide_sink_list){0};
}

void tide_sink_list_read(sqlite3 *db, const char *schema, struct tide_stmt_pool *pool, const char *sink,
                         const char *dataset, struct tide_sink_list *ret_list, struct tide_err *err) {
  struct tide_sink_list list = {0};
  struct tide_sink row;
  sqlite3_stmt *stmt = tide_sink_take(db, schema, pool, sink, dataset, err);
  while (tide_sink_next(stmt, &row, err)) {
    void *sinks = list.sinks;
    if (tide_grow(&sinks, &list.cap, list.count + 1, sizeof *list.sinks, err) != 0) {
      tide_sink_clear(&row);
      continue; /* which ends with the error */
    }
    list.sinks = sinks;
    list.sinks[list.count++] = row;
  }
  tide_stmt_pool_give(pool, stmt);
  if (tide_err_is_set(err))
    tide_sink_list_clear(&list);
  *ret_list = list;
}

sqlite3_stmt *tide_sink_datasets_prepare(sqlite3 *db, const char *schema, const char *dataset, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, err, "SELECT dataset FROM \"%w\".tidemark_registry WHERE ?1 IS NULL OR dataset = ?1", schema);
  if (stmt != NULL)
    sqlite3_bind_text(stmt, 1, dataset, -1, SQLITE_TRANSIENT);
  return stmt;
}

char *tide_sink_folder_user(sqlite3 *db, const char *schema, const char *sink, const char *dataset, const char *folder,
                            struct tide_err *err) {
  char *user = NULL;
  sqlite3_stmt *stmt = tide_stmt_prepare(db, err,
                                         "SELECT t.sink FROM \"%w\".tidemark_sink_state t JOIN \"%w\".tidemark_sink s"
                                         " ON s.sink = t.sink AND s.dataset = t.dataset"
                                         " WHERE (t.folder = ?3 AND t.prefix = ?2 AND t.dataset <> ?2)"
                                         " OR (t.sink IS NOT ?1 AND t.dataset = ?2 AND (t.folder = ?3"
                                         " OR (substr(?3, 1, length(t.folder) + 1) = t.folder || '/'"
                                         " OR substr(t.folder, 1, length(?3) + 1) = ?3 || '/'))) LIMIT 1",
                                         schema, schema);
  if (stmt != NULL) {
    sqlite3_bind_text(stmt, 1, sink, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(stmt, 2, dataset, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(stmt, 3, folder, -1, SQLITE_TRANSIENT);
  }
  if (tide_stmt_row(stmt, err))
    user = tide_stmt_copy_text(stmt, 0, err);
  sqlite3_finalize(stmt);
  return user;
}

void tide_sink_set_caught_up(sqlite3 *db, const char *schema, const struct tide_sink *sink, int64_t since,
                             struct tide_err *err) {
  tide_stmt_exec(db, err,
                 "UPDATE \"%w\".tidemark_sink_state SET caught_up = %lld"
                 " WHERE sink = %Q AND dataset = %Q AND epoch = %lld AND caught_up < %lld",
                 schema, (long long)since, sink->sink, sink->dataset, (long long)sink->epoch, (long long)since);
}
