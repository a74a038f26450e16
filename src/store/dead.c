#include "store/dead.h"

#include "base/mem.h"
#include "base/stmt.h"

void tide_dead_row_clear(struct tide_dead_row *row) {
  char *const texts[] = {row->sink, row->dataset, row->partition, row->payload, row->reason};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    tide_free(texts[i]);
  *row = (struct tide_dead_row){0};
}

void tide_dead_insert(sqlite3 *db, const char *schema, const struct tide_dead_row *row, int64_t now_ms,
                      struct tide_err *err) {
  tide_stmt_exec(db, err,
                 "INSERT INTO \"%w\".tidemark_dead(sink, dataset, partition, since, payload, reason, at)"
                 " VALUES(%Q, %Q, %Q, %lld, %Q, %Q, %lld)",
                 schema, row->sink, row->dataset, row->partition, (long long)row->since, row->payload, row->reason,
                 (long long)now_ms);
}

bool tide_dead_next(sqlite3 *db, const char *schema, const char *sink, const char *dataset, int64_t above, int64_t upto,
                    struct tide_dead_row *ret_row, struct tide_err *err) {
  struct tide_dead_row row = {0};
  char **const texts[] = {&row.sink, &row.dataset, &row.partition, &row.payload, &row.reason};
  static const char *const names[] = {"sink", "dataset", "partition", "payload", "reason"};
  const int ntexts = (int)(sizeof texts / sizeof *texts);
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, err,
      "SELECT sink, dataset, partition, payload, reason, id, since, attempts, at FROM \"%w\".tidemark_dead"
      " WHERE sink = %Q AND dataset = %Q AND id > %lld AND id <= %lld ORDER BY id LIMIT 1",
      schema, sink, dataset, (long long)above, (long long)upto);
  const bool found = tide_stmt_row(stmt, err);
  if (found) {
    for (int i = 0; i < ntexts; i++)
      *texts[i] = tide_stmt_copy_text(stmt, i, err);
    row.id = sqlite3_column_int64(stmt, ntexts);
    row.since = sqlite3_column_int64(stmt, ntexts + 1);
    row.attempts = sqlite3_column_int64(stmt, ntexts + 2);
    row.at = sqlite3_column_int64(stmt, ntexts + 3);
    if (!tide_stmt_are_ints(stmt, ntexts, 4))
      tide_err_set(
          err, SQLITE_CORRUPT_VTAB,
          "tidemark_dead is damaged: id, since, attempts or at of row %lld of sink %s, dataset %s is no number",
          (long long)row.id, sink, dataset);
    for (int i = 0; i < ntexts; i++) {
      if (*texts[i] == NULL)
        tide_err_set(err, SQLITE_CORRUPT_VTAB, "tidemark_dead.%s is NULL for row %lld, of sink %Q of dataset %Q",
                     names[i], (long long)row.id, sink, dataset);
    }
  }
  sqlite3_finalize(stmt);
  if (tide_err_is_set(err))
    tide_dead_row_clear(&row);
  *ret_row = row;
  return found && !tide_err_is_set(err);
}

int64_t tide_dead_last(sqlite3 *db, const char *schema, struct tide_err *err) {
  return tide_stmt_int(db, 0, err, "SELECT max(id) FROM \"%w\".tidemark_dead", schema);
}

bool tide_dead_attempt(sqlite3 *db, const char *schema, int64_t id, struct tide_err *err) {
  tide_stmt_exec(db, err,
                 "UPDATE \"%w\".tidemark_dead SET attempts = min(attempts, 9223372036854775806) + 1 WHERE id = %lld",
                 schema, (long long)id);
  return !tide_err_is_set(err) && sqlite3_changes(db) > 0;
}

void tide_dead_refuse(sqlite3 *db, const char *schema, int64_t id, const char *reason, struct tide_err *err) {
  tide_stmt_exec(db, err, "UPDATE \"%w\".tidemark_dead SET reason = %Q WHERE id = %lld", schema, reason, (long long)id);
}

void tide_dead_delete(sqlite3 *db, const char *schema, int64_t id, struct tide_err *err) {
  tide_stmt_exec(db, err, "DELETE FROM \"%w\".tidemark_dead WHERE id = %lld", schema, (long long)id);
}
