#include "store/holds.h"

#include "base/mem.h"
#include "base/stmt.h"
#include "base/stmt_pool.h"
#include "store/sink_row.h"

enum {
  COLUMN_SINK,
  COLUMN_REGISTERED,
  COLUMN_HOLDS,
  COLUMN_WATERMARK,
  COLUMN_HOLD_ROWS,
  COLUMN_HOLD_AGE,
  COLUMN_BATCH,
  COLUMN_BATCH_SINCE,
  COLUMN_BATCH_UNTIL,
  COLUMN_OWNER,
  COLUMN_LEASE_UNTIL,
  COLUMN_DATASET
};

/* tidemark_sink_state keeps a row for every sink that ever was. What cannot be read stays NULL here: neither 0 nor another
 * number may stand for it. */
sqlite3_stmt *tide_holds_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err) {
  return tide_stmt_pool_take(
      names.pool, db, err,
      "SELECT t.sink, s.sink IS NOT NULL, s.sink IS NOT NULL AND s.hold = 1 AND s.state <> 'disabled',"
      " CASE WHEN l.id IS NULL THEN s.start ELSE l.until END, coalesce(s.hold_rows, -1), s.hold_age, b.batch, b.since, "
      "b.until, b.owner,"
      " b.lease_until, t.dataset FROM \"%w\".tidemark_sink_state t"
      " LEFT JOIN \"%w\".tidemark_sink s ON s.sink = t.sink AND s.dataset = t.dataset"
      " LEFT JOIN \"%w\".tidemark_export_log l ON l.id = (SELECT max(id) FROM \"%w\".tidemark_export_log"
      " WHERE sink = t.sink AND dataset = t.dataset AND partition = ?1)"
      " LEFT JOIN \"%w\".tidemark_batch b ON b.sink = t.sink AND b.dataset = t.dataset AND b.partition = ?1"
      " WHERE t.dataset = %Q AND (s.sink IS NOT NULL OR l.id IS NOT NULL) ORDER BY t.sink",
      names.schema, names.schema, names.schema, names.schema, names.schema, names.dataset);
}

/* A start may be any number from 0 on. */
static bool has_numbers(sqlite3_stmt *stmt) {
  const bool in_flight = sqlite3_column_type(stmt, COLUMN_BATCH) != SQLITE_NULL ||
                         sqlite3_column_type(stmt, COLUMN_BATCH_SINCE) != SQLITE_NULL ||
                         sqlite3_column_type(stmt, COLUMN_BATCH_UNTIL) != SQLITE_NULL;
  const bool leased = sqlite3_column_type(stmt, COLUMN_LEASE_UNTIL) != SQLITE_NULL;
  return tide_stmt_are_ints(stmt, COLUMN_REGISTERED, COLUMN_HOLD_ROWS - COLUMN_REGISTERED + 1) &&
         sqlite3_column_int64(stmt, COLUMN_WATERMARK) >= 0 &&
         (!in_flight || tide_stmt_are_ints(stmt, COLUMN_BATCH, COLUMN_BATCH_UNTIL - COLUMN_BATCH + 1)) &&
         (!leased || tide_stmt_are_ints(stmt, COLUMN_LEASE_UNTIL, 1));
}

static void fill(sqlite3_stmt *stmt, struct tide_hold *hold, struct tide_err *err) {
  *hold = (struct tide_hold){.sink = tide_stmt_copy_text(stmt, COLUMN_SINK, err),
                             .registered = sqlite3_column_int(stmt, COLUMN_REGISTERED) != 0,
                             .holds = sqlite3_column_int(stmt, COLUMN_HOLDS) != 0,
                             .watermark = sqlite3_column_int64(stmt, COLUMN_WATERMARK),
                             .hold_rows = sqlite3_column_int64(stmt, COLUMN_HOLD_ROWS),
                             .hold_age_ms = tide_sink_duration(stmt, COLUMN_HOLD_AGE, "hold_age", err),
                             .batch = sqlite3_column_int64(stmt, COLUMN_BATCH),
                             .batch_since = sqlite3_column_int64(stmt, COLUMN_BATCH_SINCE),
                             .batch_until = sqlite3_column_int64(stmt, COLUMN_BATCH_UNTIL),
                             .batch_owner = tide_stmt_copy_text(stmt, COLUMN_OWNER, err),
                             .lease_until = sqlite3_column_int64(stmt, COLUMN_LEASE_UNTIL)};
  if (hold->sink == NULL)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "tidemark_sink_state.sink is NULL for a row of dataset %s",
                 sqlite3_column_text(stmt, COLUMN_DATASET));
  else if (!has_numbers(stmt))
    tide_err_set(err, SQLITE_CORRUPT_VTAB,
                 "sink %s of dataset %s: what it holds cannot be read: tidemark_sink, tidemark_export_log or "
                 "tidemark_batch has no"
                 " number where it needs one",
                 hold->sink, sqlite3_column_text(stmt, COLUMN_DATASET));
}

/* Keeps the array for the next partition. */
static void empty(struct tide_holds *holds) {
  for (size_t i = 0; i < holds->count; i++) {
    tide_free(holds->items[i].sink);
    tide_free(holds->items[i].batch_owner);
  }
  holds->count = 0;
}

void tide_holds_read(sqlite3_stmt *stmt, const char *partition, size_t size, struct tide_holds *holds,
                     struct tide_err *err) {
  empty(holds);
  if (tide_err_is_set(err))
    return;
  sqlite3_bind_text64(stmt, 1, partition, size, SQLITE_STATIC, SQLITE_UTF8);
  while (tide_stmt_row(stmt, err)) {
    void *items = holds->items;
    if (tide_grow(&items, &holds->cap, holds->count + 1, sizeof *holds->items, err) != 0)
      break;
    holds->items = items;
    fill(stmt, &holds->items[holds->count++], err);
  }
  sqlite3_reset(stmt);
  sqlite3_clear_bindings(stmt);
  if (tide_err_is_set(err))
    empty(holds);
}

void tide_holds_clear(struct tide_holds *holds) {
  empty(holds);
  tide_free(holds->items);
  *holds = (struct tide_holds){0};
}
