#include "store/sink_count.h"

#include <string.h>

#include "base/host.h"
#include "base/mem.h"
#include "base/stmt.h"
#include "base/stmt_pool.h"

void tide_sink_count_read(sqlite3 *db, const struct tide_sink_place *place, struct tide_sink_count *ret_count,
                          struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, err,
      "SELECT tick, token, previous, marked, attempts, not_before, refused FROM \"%w\".tidemark_sink_count"
      " WHERE sink = %Q AND dataset = %Q AND place = %Q",
      place->schema, place->sink, place->dataset, place->place);
  *ret_count = (struct tide_sink_count){0};
  const bool there = tide_stmt_row(stmt, err);
  if (there && !tide_stmt_are_ints(stmt, 0, 7))
    tide_err_set(err, SQLITE_CORRUPT_VTAB,
                 "tidemark_sink_count is damaged: a count of sink %s, dataset %s is no number", place->sink,
                 place->dataset);
  else if (there)
    *ret_count = (struct tide_sink_count){.tick = sqlite3_column_int64(stmt, 0),
                                          .token = sqlite3_column_int64(stmt, 1),
                                          .previous = sqlite3_column_int64(stmt, 2),
                                          .marked = sqlite3_column_int64(stmt, 3),
                                          .attempts = sqlite3_column_int64(stmt, 4),
                                          .not_before = sqlite3_column_int64(stmt, 5),
                                          .refused = sqlite3_column_int64(stmt, 6)};
  sqlite3_finalize(stmt);
}

void tide_sink_count_next(sqlite3 *db, const struct tide_sink_place *place, struct tide_err *err) {
  tide_stmt_exec(db, err,
                 "INSERT INTO \"%w\".tidemark_sink_count(sink, dataset, place, tick, token, previous)"
                 " SELECT %Q, %Q, %Q, coalesce(max(tick), 1), coalesce(token, random()), coalesce(previous, 0)"
                 " FROM \"%w\".tidemark_sink_count WHERE sink = %Q AND dataset = %Q"
                 " ON CONFLICT DO UPDATE SET tick = tick + 1, previous = token, token = random() WHERE tick = marked",
                 place->schema, place->sink, place->dataset, place->place, place->schema, place->sink, place->dataset);
}

void tide_sink_count_mark(sqlite3 *db, struct tide_stmt_pool *pool, const struct tide_sink_place *place, int64_t tick,
                          int64_t refused, struct tide_err *err) {
  const int64_t numbers[] = {tick, refused};
  const char *const texts[] = {place->sink, place->dataset, place->place};
  sqlite3_stmt *stmt =
      tide_stmt_pool_take(pool, db, err,
                          "UPDATE \"%w\".tidemark_sink_count SET marked = max(marked, ?1), attempts = 0,"
                          " not_before = 0, refused = ?2 WHERE sink = ?3 AND dataset = ?4 AND place = ?5"
                          " AND (marked < ?1 OR attempts > 0 OR refused <> ?2)",
                          place->schema);
  tide_stmt_bind_ints(stmt, numbers, 2);
  tide_stmt_bind_texts(stmt, 3, texts, 3, err);
  tide_stmt_run(stmt, err);
  tide_stmt_pool_give(pool, stmt);
}

void tide_sink_count_wait(sqlite3 *db, const struct tide_sink_place *place, int64_t not_before, struct tide_err *err) {
  tide_stmt_exec(
      db, err,
      "UPDATE \"%w\".tidemark_sink_count SET attempts = min(attempts, 9223372036854775806) + 1, not_before = %lld"
      " WHERE sink = %Q AND dataset = %Q AND place = %Q",
      place->schema, (long long)not_before, place->sink, place->dataset, place->place);
}

char *tide_sink_log_id(sqlite3 *db, struct tide_names names, const char *sink, const char *of_dataset,
                       struct tide_err *err) {
  char *log_id = NULL;
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err, "SELECT log_id FROM \"%w\".tidemark_sink_fork WHERE sink = ?1 AND dataset = %Q",
      names.schema, names.dataset);
  tide_stmt_bind_texts(stmt, 1, &sink, 1, err);
  if (tide_stmt_row(stmt, err))
    log_id = tide_stmt_copy_text(stmt, 0, err);
  tide_stmt_pool_give(names.pool, stmt);
  if (log_id != NULL && !tide_host_is_id(log_id, strlen(log_id))) {
    tide_err_set(err, SQLITE_CORRUPT, "tidemark_sink_fork is damaged: sink %s has no valid log_id", sink);
    tide_free(log_id);
    return NULL;
  }
  return log_id != NULL || tide_err_is_set(err) ? log_id : tide_copy_string(of_dataset, err);
}

int64_t tide_sink_fork(sqlite3 *db, const char *schema, const char *sink, const char *dataset, const char *log_id,
                       struct tide_err *err) {
  tide_stmt_exec(db, err, "INSERT OR REPLACE INTO \"%w\".tidemark_sink_fork VALUES(%Q, %Q, %Q)", schema, sink, dataset,
                 log_id);
  tide_stmt_exec(db, err, "DELETE FROM \"%w\".tidemark_sink_count WHERE sink = %Q AND dataset = %Q", schema, sink,
                 dataset);
  tide_stmt_exec(db, err, "DELETE FROM \"%w\".tidemark_batch WHERE sink = %Q AND dataset = %Q", schema, sink, dataset);
  return tide_err_is_set(err) ? 0 : sqlite3_changes64(db);
}

bool tide_sink_has_state(sqlite3 *db, struct tide_names names, const char *sink, const char *state,
                         struct tide_err *err) {
  const char *const texts[] = {sink, state};
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err, "SELECT 1 FROM \"%w\".tidemark_sink WHERE sink = ?1 AND dataset = %Q AND state = ?2",
      names.schema, names.dataset);
  tide_stmt_bind_texts(stmt, 1, texts, 2, err);
  const bool has = tide_stmt_row(stmt, err);
  tide_stmt_pool_give(names.pool, stmt);
  return has;
}

void tide_sink_set_state(sqlite3 *db, const char *schema, const char *sink, const char *dataset, const char *expected,
                         const char *state, struct tide_err *err) {
  tide_stmt_exec(db, err, "UPDATE \"%w\".tidemark_sink SET state = %Q WHERE sink = %Q AND dataset = %Q AND state = %Q",
                 schema, state, sink, dataset, expected);
}
