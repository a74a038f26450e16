#include "store/sink_totals.h"

#include <stdbool.h>

#include "base/stmt.h"

/* A sum of what a table has in a file from elsewhere, cut to 64 bits; NULL is 0. */
static int64_t count(sqlite3_stmt *stmt, int column, const char *table, struct tide_err *err) {
  const int64_t value = sqlite3_column_int64(stmt, column);
  if (value < 0)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "tidemark_%s: %s adds up to %lld", table, sqlite3_column_name(stmt, column),
                 (long long)value);
  return value;
}

/* The columns have the order of the structure's first members, in both tables; behind them is how many rows have
 * something else than a number there, which a sum passes over: tables of a file from elsewhere may not be STRICT. */
static void add(sqlite3_stmt *stmt, const char *table, struct tide_sink_totals *totals, struct tide_err *err) {
  int64_t *const sums[] = {&totals->batches,  &totals->rows,         &totals->skipped, &totals->dead,
                           &totals->gap_rows, &totals->rewound_rows, &totals->bytes};
  const int n = (int)(sizeof sums / sizeof *sums);
  if (tide_stmt_row(stmt, err)) {
    const int64_t strange = count(stmt, n, table, err);
    if (strange > 0)
      tide_err_set(err, SQLITE_CORRUPT_VTAB, "tidemark_%s: rows with a number that is none: %lld", table,
                   (long long)strange);
    for (int i = 0; i < n; i++) {
      const int64_t value = count(stmt, i, table, err);
      *sums[i] = value < INT64_MAX - *sums[i] ? *sums[i] + value : INT64_MAX;
    }
    totals->committed_at = sqlite3_column_count(stmt) > n + 1 ? count(stmt, n + 1, table, err) : totals->committed_at;
  }
  sqlite3_finalize(stmt);
}

/* A schema of an early Tidemark that nothing was written to since has no such table. */
static bool has_table(sqlite3 *db, const char *schema, const char *table, struct tide_err *err) {
  return tide_stmt_int(db, 0, err, "SELECT count(*) FROM \"%w\".sqlite_schema WHERE type = 'table' AND name = %Q",
                       schema, table) > 0;
}

static void add_log(sqlite3 *db, const char *schema, const char *sink, const char *dataset,
                    struct tide_sink_totals *totals, struct tide_err *err) {
  add(tide_stmt_prepare(
          db, err,
          "SELECT total(kind = 'batch') AS batches, total(iif(kind = 'batch', rows, 0)) AS rows,"
          " total(iif(kind = 'rewind', 0, skipped)) AS skipped, total(iif(kind = 'rewind', 0, dead)) AS dead,"
          " total(iif(kind = 'gap', rows, 0)) AS gap_rows, total(iif(kind = 'rewind', rows, 0)) AS rewound_rows,"
          " total(bytes) AS bytes, total(typeof(rows) <> 'integer' OR typeof(skipped) <> 'integer'"
          " OR typeof(dead) <> 'integer' OR typeof(bytes) <> 'integer' OR typeof(committed_at) <> 'integer') AS "
          "strange,"
          " max(iif(kind = 'batch', committed_at, NULL)) AS committed_at"
          " FROM \"%w\".tidemark_export_log WHERE sink = %Q AND dataset = %Q",
          schema, sink, dataset),
      "export_log", totals, err);
  if (!has_table(db, schema, "tidemark_export_total", err) || tide_err_is_set(err))
    return;
  add(tide_stmt_prepare(
          db, err,
          "SELECT total(batches) AS batches, total(rows) AS rows, total(skipped) AS skipped, total(dead) AS dead,"
          " total(gap_rows) AS gap_rows, total(rewound_rows) AS rewound_rows, total(bytes) AS bytes,"
          " total(typeof(batches) <> 'integer' OR typeof(rows) <> 'integer' OR typeof(skipped) <> 'integer'"
          " OR typeof(dead) <> 'integer' OR typeof(gap_rows) <> 'integer' OR typeof(rewound_rows) <> 'integer'"
          " OR typeof(bytes) <> 'integer') AS strange"
          " FROM \"%w\".tidemark_export_total WHERE sink = %Q AND dataset = %Q",
          schema, sink, dataset),
      "export_total", totals, err);
}

static void read_batches(sqlite3 *db, const char *schema, const char *sink, const char *dataset,
                         struct tide_sink_totals *totals, struct tide_err *err) {
  sqlite3_stmt *stmt =
      tide_stmt_prepare(db, err,
                        "SELECT count(*) AS batches, count(error) AS errors, max(attempts) AS attempts,"
                        " min(iif(error IS NULL, NULL, not_before)) AS not_before"
                        " FROM \"%w\".tidemark_batch WHERE sink = %Q AND dataset = %Q",
                        schema, sink, dataset);
  if (tide_stmt_row(stmt, err)) {
    totals->open = count(stmt, 0, "batch", err);
    totals->failing = count(stmt, 1, "batch", err);
    totals->attempts = count(stmt, 2, "batch", err);
    totals->not_before = count(stmt, 3, "batch", err);
  }
  sqlite3_finalize(stmt);
  if (!has_table(db, schema, "tidemark_sink_count", err) || tide_err_is_set(err))
    return;
  const int64_t asked = tide_stmt_int(
      db, 0, err,
      "SELECT max(c.not_before) FROM \"%w\".tidemark_sink_count c JOIN \"%w\".tidemark_sink_state t"
      " ON t.sink = c.sink AND t.dataset = c.dataset AND t.folder = c.place WHERE c.sink = %Q AND c.dataset = %Q",
      schema, schema, sink, dataset);
  totals->not_before = asked > 0 ? asked : totals->not_before;
}

void tide_sink_totals_read(sqlite3 *db, const char *schema, const char *sink, const char *dataset,
                           struct tide_sink_totals *ret_totals, struct tide_err *err) {
  struct tide_sink_totals totals = {0};
  add_log(db, schema, sink, dataset, &totals, err);
  read_batches(db, schema, sink, dataset, &totals, err);
  if (!tide_err_is_set(err))
    *ret_totals = totals;
}
