#include "sink/backlog.h"

#include <string.h>

#include "base/mem.h"
#include "engine/stats.h"
#include "store/durable.h"
#include "store/exportlog.h"
#include "store/sink_count.h"

/* For who watches: how many rows there are to ship. Damage is left to the claim of that partition, which names it and
 * lets the others go on. */
static void expect_rows(struct tide_dataset *ds, const struct tide_stat *stat, int64_t above, struct tide_err *err) {
  struct tide_range range = {0};
  struct tide_err failure = {0};
  if (!ds->conn->progress.active || tide_err_is_set(err))
    return;
  tide_stats_range(ds, stat, above, stat->last_since, INT64_MAX, &range, &failure);
  if (!tide_err_is_set(&failure))
    tide_progress_expect(&ds->conn->progress, range.rows);
  else if ((failure.rc & 0xff) != SQLITE_CORRUPT)
    *err = failure;
}

static void add_part(struct tide_backlog *backlog, const struct tide_stat *stat, struct tide_err *err) {
  void *parts = backlog->parts;
  if (tide_grow(&parts, &backlog->cap, backlog->nparts + 1, sizeof *backlog->parts, err) != 0)
    return;
  backlog->parts = parts;
  backlog->parts[backlog->nparts++] = (struct tide_backlog_part){stat->partition, stat->last_since};
}

bool tide_backlog_read(struct tide_backlog *ret_backlog, struct tide_runner *runner, struct tide_dataset *ds,
                       const struct tide_sink *sink, bool only_active, struct tide_err *err) {
  struct tide_stat stat;
  struct tide_backlog backlog = {0};
  tide_stmt_pool_hold_lasting(ds->pool);
  sqlite3_stmt *snapshot = tide_read_take(runner->conn->db, runner->schema, ds->pool, err);
  sqlite3_stmt *stmt = tide_sink_take(runner->conn->db, runner->schema, ds->pool, sink->sink, sink->dataset, err);
  const bool found =
      tide_sink_next(stmt, &backlog.sink, err) && (!only_active || strcmp(backlog.sink.state, "active") == 0);
  tide_stmt_pool_give(ds->pool, stmt);
  sqlite3_stmt *watermark =
      found ? tide_watermark_prepare(runner->conn->db, tide_dataset_names(ds), sink->sink, err) : NULL;
  const int64_t least =
      watermark != NULL ? tide_watermark_least(runner->conn->db, tide_dataset_names(ds), &backlog.sink, err) : 0;
  struct tide_stats *stats = watermark != NULL ? tide_stats_open(ds, NULL, 0, least, err) : NULL;
  backlog.newest = stats != NULL ? tide_dataset_last_since(ds) : 0;
  while (stats != NULL && tide_stats_next(stats, &stat, err)) {
    const int64_t above = tide_watermark_get(watermark, stat.text, stat.text_size, backlog.sink.start, err).since;
    if (above >= stat.last_since)
      continue;
    add_part(&backlog, &stat, err);
    expect_rows(ds, &stat, above, err);
  }
  tide_stats_close(stats);
  tide_stmt_pool_give(ds->pool, watermark);
  tide_stmt_pool_give(ds->pool, snapshot);
  tide_stmt_pool_release_lasting(ds->pool);
  if (found && !tide_err_is_set(err))
    *ret_backlog = backlog;
  else
    tide_backlog_clear(&backlog);
  return found && !tide_err_is_set(err);
}

void tide_backlog_clear(struct tide_backlog *backlog) {
  tide_sink_clear(&backlog->sink);
  tide_free(backlog->parts);
  *backlog = (struct tide_backlog){0};
}

bool tide_backlog_next_open(const struct tide_backlog *backlog, const struct tide_runner *runner, int64_t above,
                            struct tide_batch_row *ret_row, struct tide_err *err) {
  sqlite3_stmt *stmt =
      tide_batch_prepare(runner->conn->db, runner->schema, above, backlog->sink.sink, backlog->sink.dataset, err);
  const bool found = tide_batch_next(stmt, ret_row, err);
  sqlite3_finalize(stmt);
  return found;
}

bool tide_backlog_may_take(const struct tide_runner *runner, const struct tide_batch_row *row, int64_t now_ms) {
  return tide_batch_is_abandoned(row->owner, row->lease_until, now_ms) || strcmp(row->owner, runner->owner) == 0;
}

int64_t tide_backlog_not_before(const struct tide_backlog *backlog, const struct tide_runner *runner,
                                struct tide_err *err) {
  struct tide_sink_count count = {0};
  const struct tide_sink *sink = &backlog->sink;
  const struct tide_sink_place place = {runner->schema, sink->sink, sink->dataset, sink->folder};
  if (place.place != NULL)
    tide_sink_count_read(runner->conn->db, &place, &count, err);
  return count.not_before;
}
