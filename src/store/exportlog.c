#include "store/exportlog.h"

#include "base/host.h"
#include "base/mem.h"
#include "base/stmt.h"
#include "base/stmt_pool.h"
#include "store/catalog.h"
#include "store/durable.h"

/* ---- watermarks ---- */

sqlite3_stmt *tide_watermark_prepare(sqlite3 *db, struct tide_names names, const char *sink, struct tide_err *err) {
  sqlite3_stmt *stmt =
      tide_stmt_pool_take(names.pool, db, err,
                          "SELECT until, generation, ?2, %Q FROM \"%w\".tidemark_export_log"
                          " WHERE sink = ?2 AND dataset = %Q AND partition = ?1 ORDER BY id DESC LIMIT 1",
                          names.dataset, names.schema, names.dataset);
  tide_stmt_bind_texts(stmt, 2, &sink, 1, err);
  if (!tide_err_is_set(err))
    return stmt;
  tide_stmt_pool_give(names.pool, stmt);
  return NULL;
}

/* One that was read as 0 would have all rows go out again. While a row is inserted it has no generation yet. */
static void check_watermark(sqlite3_stmt *stmt, struct tide_watermark found, const char *partition, size_t size,
                            struct tide_err *err) {
  const bool inserting = sqlite3_column_type(stmt, 1) == SQLITE_NULL;
  if (!tide_stmt_are_ints(stmt, 0, inserting ? 1 : 2) || !tide_catalog_is_count(found.since) ||
      !tide_catalog_is_count(found.generation))
    tide_err_set(err, SQLITE_CORRUPT_VTAB,
                 "tidemark_export_log, sink %s, dataset %s, partition '%.*s': until or generation of the last row is no"
                 " number that there can be",
                 sqlite3_column_text(stmt, 2), sqlite3_column_text(stmt, 3), (int)size, partition);
}

struct tide_watermark tide_watermark_get(sqlite3_stmt *stmt, const char *partition, size_t size, int64_t start,
                                         struct tide_err *err) {
  struct tide_watermark watermark = {.since = start};
  if (tide_err_is_set(err))
    return watermark;
  sqlite3_bind_text64(stmt, 1, partition, size, SQLITE_STATIC, SQLITE_UTF8);
  if (tide_stmt_row(stmt, err)) {
    watermark.since = sqlite3_column_int64(stmt, 0);
    watermark.generation = sqlite3_column_int64(stmt, 1);
    check_watermark(stmt, watermark, partition, size, err);
    sqlite3_reset(stmt);
  }
  return watermark;
}

/* One look at the log's key, however many rows it has. */
static bool has_log(sqlite3 *db, struct tide_names names, const char *sink, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err, "SELECT 1 FROM \"%w\".tidemark_export_log WHERE sink = ?1 AND dataset = %Q LIMIT 1",
      names.schema, names.dataset);
  tide_stmt_bind_texts(stmt, 1, &sink, 1, err);
  const bool has = tide_stmt_row(stmt, err);
  tide_stmt_pool_give(names.pool, stmt);
  return has;
}

int64_t tide_watermark_least(sqlite3 *db, struct tide_names names, const struct tide_sink *sink, struct tide_err *err) {
  return sink->start > sink->caught_up && !has_log(db, names, sink->sink, err) ? sink->start : sink->caught_up;
}

/* ---- batches ---- */

bool tide_batch_is_abandoned(const char *owner, int64_t lease_until, int64_t now_ms) {
  return owner == NULL || lease_until <= now_ms || lease_until - now_ms > 2 * TIDE_BATCH_LEASE_MS ||
         tide_host_owner_is_dead(owner);
}

sqlite3_stmt *tide_batch_prepare(sqlite3 *db, const char *schema, int64_t above, const char *sink, const char *dataset,
                                 struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, err,
      "SELECT sink, dataset, partition, key, object, config, owner, batch, generation, since, until, rows, lease_until,"
      " attempts, not_before FROM \"%w\".tidemark_batch"
      " WHERE batch > ?1 AND (?2 IS NULL OR sink = ?2) AND (?3 IS NULL OR dataset = ?3) ORDER BY batch",
      schema);
  if (stmt != NULL) {
    sqlite3_bind_int64(stmt, 1, above);
    sqlite3_bind_text(stmt, 2, sink, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(stmt, 3, dataset, -1, SQLITE_TRANSIENT);
  }
  return stmt;
}

/* Its numbers begin at that column, in the order of tide_batch_next. A batch that is nobody's has no lease, and one
 * that never failed has no time of its next try. */
static bool has_numbers(sqlite3_stmt *stmt, int at) {
  enum { BATCH_TO_ROWS = 5, LEASE_UNTIL = BATCH_TO_ROWS, ATTEMPTS, NOT_BEFORE };
  static const int may_lack[] = {LEASE_UNTIL, NOT_BEFORE};
  for (size_t i = 0; i < sizeof may_lack / sizeof *may_lack; i++) {
    if (sqlite3_column_type(stmt, at + may_lack[i]) != SQLITE_NULL && !tide_stmt_are_ints(stmt, at + may_lack[i], 1))
      return false;
  }
  return tide_stmt_are_ints(stmt, at, BATCH_TO_ROWS) && tide_stmt_are_ints(stmt, at + ATTEMPTS, 1);
}

bool tide_batch_next(sqlite3_stmt *stmt, struct tide_batch_row *ret_row, struct tide_err *err) {
  if (!tide_stmt_row(stmt, err))
    return false;
  struct tide_batch_row row = {0};
  char **const texts[] = {&row.sink, &row.dataset, &row.partition, &row.key, &row.object, &row.config, &row.owner};
  int64_t *const numbers[] = {&row.batch, &row.generation,  &row.since,    &row.until,
                              &row.rows,  &row.lease_until, &row.attempts, &row.not_before};
  const int ntexts = (int)(sizeof texts / sizeof *texts);
  for (int i = 0; i < ntexts; i++)
    *texts[i] = tide_stmt_copy_text(stmt, i, err);
  for (int i = 0; i < (int)(sizeof numbers / sizeof *numbers); i++)
    *numbers[i] = sqlite3_column_int64(stmt, ntexts + i);
  if (!has_numbers(stmt, ntexts))
    tide_err_set(
        err, SQLITE_CORRUPT_VTAB,
        "tidemark_batch is damaged: batch %lld has no number where it needs one (generation, since, until, rows,"
        " lease_until, attempts or not_before)",
        (long long)row.batch);
  if (row.sink == NULL || row.dataset == NULL || row.partition == NULL || row.key == NULL || row.config == NULL)
    tide_err_set(err, SQLITE_CORRUPT,
                 "tidemark_batch is damaged: batch %lld lacks its sink, dataset, partition, key or config",
                 (long long)row.batch);
  if (tide_err_is_set(err)) {
    tide_batch_row_clear(&row);
    return false;
  }
  *ret_row = row;
  return true;
}

void tide_batch_row_clear(struct tide_batch_row *row) {
  char *const texts[] = {row->sink, row->dataset, row->partition, row->key, row->object, row->config, row->owner};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    tide_free(texts[i]);
  *row = (struct tide_batch_row){0};
}

int64_t tide_batch_last(sqlite3 *db, const char *schema, struct tide_stmt_pool *pool, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(pool, db, err, "SELECT max(batch) FROM \"%w\".tidemark_batch", schema);
  const int64_t last = tide_stmt_row(stmt, err) ? sqlite3_column_int64(stmt, 0) : 0;
  tide_stmt_pool_give(pool, stmt);
  return last;
}

bool tide_batch_is_open(sqlite3 *db, struct tide_names names, const char *sink, const char *partition,
                        struct tide_err *err) {
  const char *const texts[] = {sink, partition};
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err, "SELECT 1 FROM \"%w\".tidemark_batch WHERE sink = ?1 AND dataset = %Q AND partition = ?2",
      names.schema, names.dataset);
  tide_stmt_bind_texts(stmt, 1, texts, 2, err);
  const bool open = tide_stmt_row(stmt, err);
  tide_stmt_pool_give(names.pool, stmt);
  return open;
}

void tide_batch_insert(sqlite3 *db, struct tide_names names, struct tide_batch_row *row, int64_t now_ms,
                       struct tide_err *err) {
  sqlite3_stmt *stmt =
      tide_stmt_pool_take(names.pool, db, err,
                          "INSERT INTO \"%w\".tidemark_batch(sink, dataset, partition, key, object, config, owner, "
                          "generation, since, until, rows,"
                          " lease_until, claimed_at) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                          names.schema);
  if (stmt == NULL)
    return;
  const char *const texts[] = {row->sink, row->dataset, row->partition, row->key, row->object, row->config, row->owner};
  const int64_t numbers[] = {row->generation, row->since, row->until, row->rows, row->lease_until, now_ms};
  const int ntexts = (int)(sizeof texts / sizeof *texts);
  tide_stmt_bind_texts(stmt, 1, texts, ntexts, err);
  for (int i = 0; i < (int)(sizeof numbers / sizeof *numbers); i++)
    sqlite3_bind_int64(stmt, ntexts + i + 1, numbers[i]);
  if (row->owner == NULL)
    sqlite3_bind_null(stmt, ntexts + 5);
  tide_stmt_run(stmt, err);
  tide_stmt_pool_give(names.pool, stmt);
  if (!tide_err_is_set(err))
    row->batch = sqlite3_last_insert_rowid(db);
}

bool tide_batch_take(sqlite3 *db, const char *schema, struct tide_batch_row *row, const char *owner,
                     int64_t lease_until, struct tide_err *err) {
  /* AUTOINCREMENT numbers only what is inserted, so the next number is taken from its table and put back raised. */
  const int64_t last =
      tide_stmt_int(db, 0, err,
                    "SELECT max(seq) FROM (SELECT seq FROM \"%w\".sqlite_sequence"
                    " WHERE name = 'tidemark_batch' UNION ALL SELECT max(batch) FROM \"%w\".tidemark_batch)",
                    schema, schema);
  if (last == INT64_MAX)
    tide_err_set(err, SQLITE_FULL, "tidemark_batch in schema %s: every number of a batch was given", schema);
  if (tide_err_is_set(err))
    return false;
  const int64_t next = last + 1;
  tide_stmt_exec(db, err,
                 "UPDATE \"%w\".tidemark_batch SET batch = %lld, owner = %Q, lease_until = %lld WHERE batch = %lld",
                 schema, (long long)next, owner, (long long)lease_until, (long long)row->batch);
  if (tide_err_is_set(err) || sqlite3_changes(db) == 0)
    return false;
  tide_stmt_exec(db, err, "UPDATE \"%w\".sqlite_sequence SET seq = %lld WHERE name = 'tidemark_batch'", schema,
                 (long long)next);
  row->batch = next;
  return !tide_err_is_set(err);
}

void tide_batch_own(sqlite3 *db, const char *schema, int64_t batch, const char *owner, int64_t lease_until,
                    struct tide_err *err) {
  tide_stmt_exec(db, err, "UPDATE \"%w\".tidemark_batch SET owner = %Q, lease_until = %lld WHERE batch = %lld", schema,
                 owner, (long long)lease_until, (long long)batch);
}

void tide_batch_pass_number(sqlite3 *db, const char *schema, struct tide_err *err) {
  tide_stmt_exec(db, err, "UPDATE \"%w\".sqlite_sequence SET seq = seq + 1 WHERE name = 'tidemark_batch'", schema);
  if (!tide_err_is_set(err) && sqlite3_changes(db) == 0)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "sqlite_sequence is damaged: it has no row of tidemark_batch");
}

bool tide_batch_is_known(sqlite3 *db, const char *schema, int64_t batch, const char *object, struct tide_err *err) {
  return tide_stmt_int(db, 0, err, "SELECT 1 FROM \"%w\".tidemark_batch WHERE batch = %lld OR object = %Q LIMIT 1",
                       schema, (long long)batch, object) != 0;
}

bool tide_batch_give_up(sqlite3 *db, const char *schema, int64_t batch, struct tide_err *err) {
  tide_stmt_exec(db, err, "DELETE FROM \"%w\".tidemark_batch WHERE batch = %lld", schema, (long long)batch);
  return !tide_err_is_set(err) && sqlite3_changes(db) > 0;
}

bool tide_batch_renew(sqlite3 *db, const char *schema, int64_t batch, int64_t lease_until, struct tide_err *err) {
  tide_stmt_exec(db, err, "UPDATE \"%w\".tidemark_batch SET lease_until = %lld WHERE batch = %lld", schema,
                 (long long)lease_until, (long long)batch);
  return !tide_err_is_set(err) && sqlite3_changes(db) > 0;
}

bool tide_batch_fail(sqlite3 *db, const char *schema, int64_t batch, const char *message, int64_t not_before,
                     struct tide_err *err) {
  tide_stmt_exec(db, err,
                 "UPDATE \"%w\".tidemark_batch SET attempts = min(attempts, 9223372036854775806) + 1, error = %Q, "
                 "not_before = %lld, owner = NULL,"
                 " lease_until = NULL WHERE batch = %lld",
                 schema, message, (long long)not_before, (long long)batch);
  return !tide_err_is_set(err) && sqlite3_changes(db) > 0;
}

/* ---- acks ---- */

void tide_exportlog_ack(sqlite3 *db, struct tide_names names, const struct tide_batch_row *row,
                        const struct tide_ack *ack, struct tide_err *err) {
  const int64_t numbers[] = {row->batch, ack->rows, ack->skipped, ack->dead, ack->bytes};
  const char *const texts[] = {ack->object, ack->hash, ack->reason};
  const int nnumbers = (int)(sizeof numbers / sizeof *numbers);
  sqlite3_stmt *stmt = tide_stmt_pool_take(
      names.pool, db, err,
      "INSERT INTO \"%w\".tidemark_export_log(sink, dataset, partition, generation, since, until, rows, skipped,"
      " dead, bytes, object, hash, reason)"
      " SELECT sink, dataset, partition, generation, since, until, ?2, ?3, ?4, ?5, ?6, ?7, ?8"
      " FROM \"%w\".tidemark_batch WHERE batch = ?1",
      names.schema, names.schema);
  tide_stmt_bind_ints(stmt, numbers, nnumbers);
  tide_stmt_bind_texts(stmt, nnumbers + 1, texts, (int)(sizeof texts / sizeof *texts), err);
  tide_stmt_run(stmt, err);
  tide_stmt_pool_give(names.pool, stmt);
  if (!tide_err_is_set(err) && sqlite3_changes(db) == 0)
    tide_err_set(err, SQLITE_CONSTRAINT,
                 "batch %lld is not open any more: another process has taken it over, or it was given up",
                 (long long)row->batch);
}

/* ---- gaps ---- */

static const char log_table[] = "tidemark_export_log";

void tide_exportlog_gap(sqlite3 *db, const char *schema, const struct tide_gap *gap, struct tide_err *err) {
  tide_durable_check_rules(db, log_table, err);
  if (gap->ends_batch)
    tide_stmt_exec(db, err, "DELETE FROM \"%w\".tidemark_batch WHERE sink = %Q AND dataset = %Q AND partition = %Q",
                   schema, gap->sink, gap->dataset, gap->partition);
  tide_stmt_exec(db, err,
                 "INSERT INTO \"%w\".tidemark_export_log(sink, dataset, partition, kind, since, until, rows, reason)"
                 " VALUES(%Q, %Q, %Q, 'gap', %lld, %lld, %lld, %Q)",
                 schema, gap->sink, gap->dataset, gap->partition, (long long)gap->since, (long long)gap->until,
                 (long long)gap->rows, gap->reason);
}

/* ---- rewinds ---- */

bool tide_exportlog_last_rewind(sqlite3 *db, struct tide_names names, const char *sink, const char *partition,
                                struct tide_rewind_row *ret_row, struct tide_err *err) {
  struct tide_rewind_row row = {0};
  sqlite3_stmt *stmt = tide_stmt_prepare(
      db, err,
      "SELECT generation, since, until, rows, reason FROM \"%w\".tidemark_export_log WHERE kind = 'rewind' AND id ="
      " (SELECT max(id) FROM \"%w\".tidemark_export_log WHERE sink = %Q AND dataset = %Q AND partition = %Q)",
      names.schema, names.schema, sink, names.dataset, partition);
  const bool found = tide_stmt_row(stmt, err);
  if (found) {
    row.generation = sqlite3_column_int64(stmt, 0);
    row.since = sqlite3_column_int64(stmt, 1);
    row.until = sqlite3_column_int64(stmt, 2);
    row.rows = sqlite3_column_int64(stmt, 3);
    row.reason = tide_stmt_copy_text(stmt, 4, err);
    if (!tide_stmt_are_ints(stmt, 0, 4) || row.reason == NULL)
      tide_err_set(
          err, SQLITE_CORRUPT_VTAB,
          "tidemark_export_log, sink %s, dataset %s, partition '%s': the last row, a rewind, lacks a number or its"
          " reason",
          sink, names.dataset, partition);
  }
  sqlite3_finalize(stmt);
  if (!found || tide_err_is_set(err)) {
    tide_rewind_row_clear(&row);
    return false;
  }
  *ret_row = row;
  return true;
}

void tide_rewind_row_clear(struct tide_rewind_row *row) {
  tide_free(row->reason);
  *row = (struct tide_rewind_row){0};
}

void tide_exportlog_rewind(sqlite3 *db, struct tide_names names, const char *sink, const char *partition, int64_t since,
                           int64_t until, const char *reason, struct tide_err *err) {
  tide_durable_check_rules(db, log_table, err);
  tide_stmt_exec(db, err,
                 "INSERT INTO \"%w\".tidemark_export_log(sink, dataset, partition, kind, since, until, reason)"
                 " VALUES(%Q, %Q, %Q, 'rewind', %lld, %lld, %Q)",
                 names.schema, sink, names.dataset, partition, (long long)since, (long long)until, reason);
}

/* ---- trimming ---- */

/* A newer row of the same sink and partition: without one it is the last. */
#define IS_SUCCEEDED                                                                                                   \
  "EXISTS(SELECT 1 FROM \"%w\".tidemark_export_log n WHERE n.sink = e.sink AND n.dataset = e.dataset"                  \
  " AND n.partition = e.partition AND n.id > e.id)"

/* The id of the last row to go; 0: none. */
static int64_t trim_upto(sqlite3 *db, struct tide_names names, int64_t before_ms, int64_t max_rows, int64_t *ret_rows,
                         struct tide_err *err) {
  int64_t upto = 0;
  int64_t rows = 0;
  sqlite3_stmt *stmt = tide_stmt_prepare(db, err,
                                         "SELECT id, committed_at, dataset = %Q AND " IS_SUCCEEDED
                                         " FROM \"%w\".tidemark_export_log e ORDER BY id",
                                         names.dataset, names.schema, names.schema);
  while (rows < max_rows && tide_stmt_row(stmt, err) && sqlite3_column_int64(stmt, 1) < before_ms) {
    if (sqlite3_column_int(stmt, 2) == 0)
      continue;
    upto = sqlite3_column_int64(stmt, 0);
    rows++;
  }
  sqlite3_finalize(stmt);
  *ret_rows = rows;
  return upto;
}

int64_t tide_exportlog_trimmable(sqlite3 *db, struct tide_names names, int64_t before_ms, int64_t max_rows,
                                 struct tide_err *err) {
  int64_t rows = 0;
  trim_upto(db, names, before_ms, max_rows, &rows, err);
  return rows;
}

int64_t tide_exportlog_trim(sqlite3 *db, struct tide_names names, int64_t before_ms, int64_t max_rows,
                            struct tide_err *err) {
  int64_t rows = 0;
  const int64_t upto = trim_upto(db, names, before_ms, max_rows, &rows, err);
  if (upto == 0 || tide_err_is_set(err))
    return 0;
  tide_durable_check_rules(db, log_table, err);
  tide_stmt_exec(db, err,
                 "DELETE FROM \"%w\".tidemark_export_log AS e WHERE id <= %lld AND dataset = %Q AND " IS_SUCCEEDED,
                 names.schema, (long long)upto, names.dataset, names.schema);
  return tide_err_is_set(err) ? 0 : rows;
}
