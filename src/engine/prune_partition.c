#include "engine/prune_partition.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "store/deleted.h"
#include "store/exportlog.h"
#include "store/unique.h"

static struct tide_range range_of(const struct tide_pruning *pruning, int64_t above, int64_t upto, int64_t max_rows,
                                  struct tide_err *err) {
  struct tide_range range = {.until = upto};
  if (above < upto && !tide_err_is_set(err))
    tide_stats_range(pruning->ds, &pruning->stat, above, upto, max_rows, &range, err);
  return range;
}

/* ---- looking ---- */

bool tide_pruning_look(struct tide_pruning *pruning, struct tide_err *err) {
  tide_retention_clear(&pruning->retention);
  if (!tide_stats_one(pruning->ds, tide_pruning_text(pruning), tide_pruning_text_size(pruning), &pruning->stat, err) ||
      pruning->stat.rows == 0)
    return false;
  tide_retention_look(pruning->ds, &pruning->stat, pruning->now_ms, &pruning->holds, &pruning->retention, err);
  return !tide_err_is_set(err);
}

static void add_held(struct tide_prune_result *result, const char *sink, int64_t rows, struct tide_err *err) {
  size_t i = 0;
  while (i < result->nheld && strcmp(result->held[i].sink, sink) != 0)
    i++;
  if (i == result->nheld) {
    void *held = result->held;
    if (tide_grow(&held, &result->held_cap, result->nheld + 1, sizeof *result->held, err) != 0)
      return;
    result->held = held;
    char *copy = tide_copy_string(sink, err);
    if (copy == NULL)
      return;
    result->held[result->nheld++] = (struct tide_prune_held){.sink = copy};
  }
  result->held[i].rows += rows;
  result->held[i].partitions++;
}

void tide_pruning_tell_staying(struct tide_pruning *pruning, struct tide_err *err) {
  struct tide_prune_result *result = pruning->result;
  const struct tide_retention *retention = &pruning->retention;
  result->held_rows += retention->cut.rows - retention->free_rows;
  for (size_t i = 0; i < retention->nheld && !tide_err_is_set(err); i++) {
    if (retention->held_rows[i] > 0)
      add_held(result, pruning->holds.items[i].sink, retention->held_rows[i], err);
  }
  if (!retention->cut.has_future || tide_err_is_set(err))
    return;
  if (result->nfuture < TIDE_PRUNE_FUTURE_LISTED) {
    char *partition = tide_copy_text(tide_pruning_text(pruning), tide_pruning_text_size(pruning), err);
    if (partition == NULL)
      return;
    result->future[result->nfuture] =
        (struct tide_prune_future){partition, retention->cut.future_since, retention->cut.future_at};
  }
  result->nfuture++;
}

/* ---- taking away ---- */

/* Sums stop at the highest number: a damaged table may name any size. */
static int64_t add_bytes(int64_t sum, int64_t bytes) {
  return bytes < INT64_MAX - sum ? sum + bytes : INT64_MAX;
}

/* How far one piece goes: to the end of what is free, or of the last whole segment within its bytes and of a batch that
 * it would cut. It has a live row: segments whose rows were all deleted go with those behind them. */
static int64_t end_of_piece(struct tide_pruning *pruning, struct tide_err *err) {
  struct tide_segment_row row;
  const int64_t free_upto = pruning->retention.free_upto;
  const int64_t left = pruning->request->max_bytes - pruning->result->stored_bytes;
  const int64_t most = left < TIDE_PRUNE_PIECE_BYTES ? left : TIDE_PRUNE_PIECE_BYTES;
  int64_t bytes = 0;
  int64_t live = 0;
  int64_t upto = 0;
  sqlite3_stmt *stmt = tide_catalog_segments_prepare(pruning->ds->conn->db, pruning->names, err);
  if (stmt != NULL)
    tide_catalog_segments_seek(stmt, pruning->id, pruning->stat.pruned_upto);
  while ((bytes < most || live == 0) && tide_catalog_segments_next(stmt, pruning->names, &row, err) &&
         row.last_since <= free_upto) {
    bytes = add_bytes(bytes, row.stored_bytes);
    live += tide_segment_row_live(&row);
    upto = row.last_since;
  }
  tide_stmt_pool_give(pruning->ds->pool, stmt);
  if (bytes < most || live == 0)
    return free_upto;
  upto = tide_retention_whole(pruning->ds, &pruning->stat, &pruning->holds, upto, TIDE_RETENTION_UP, err);
  return upto < free_upto ? upto : free_upto;
}

/* What a piece takes away. */
struct piece {
  int64_t until; /* the last row; the partition's newest since when nothing is left, deleted rows at the end gone too */
  int64_t rows;  /* live ones */
};

/* Nothing goes by counts that are wrong: they say how much is past a limit. */
static void check_counts(struct tide_pruning *pruning, struct tide_err *err) {
  const struct tide_stat *stat = &pruning->stat;
  const int64_t rows = range_of(pruning, stat->pruned_upto, stat->last_since, INT64_MAX, err).rows;
  if (rows != stat->rows)
    tide_err_set(err, SQLITE_CORRUPT_VTAB, "dataset %s: partition '%s' has %lld rows, its counts say %lld",
                 pruning->ds->name, tide_pruning_text(pruning), (long long)rows, (long long)stat->rows);
}

static struct piece piece_upto(struct tide_pruning *pruning, int64_t upto, struct tide_err *err) {
  const struct tide_stat *stat = &pruning->stat;
  struct piece piece = {.until = stat->last_since};
  check_counts(pruning, err);
  const struct tide_range range = range_of(pruning, stat->pruned_upto, upto, INT64_MAX, err);
  piece.rows = range.rows;
  if (piece.rows < stat->rows)
    piece.until = range.last;
  return piece;
}

/* Sinks that have not had all the rows up to `until` are told so in their log. */
static void write_gaps(struct tide_pruning *pruning, int64_t until, struct tide_err *err) {
  struct tide_dataset *ds = pruning->ds;
  for (size_t i = 0; i < pruning->holds.count && !tide_err_is_set(err); i++) {
    const struct tide_hold *hold = &pruning->holds.items[i];
    const int64_t lost = range_of(pruning, hold->watermark, until, INT64_MAX, err).rows;
    if (lost == 0 || tide_err_is_set(err))
      continue;
    const struct tide_gap gap = {.sink = hold->sink,
                                 .dataset = ds->name,
                                 .partition = tide_pruning_text(pruning),
                                 .since = hold->watermark,
                                 .until = until,
                                 .rows = lost,
                                 .reason = !hold->registered ? "taken by retention: the sink is not registered"
                                           : hold->holds ? "taken by retention: past the sink's hold_rows or hold_age"
                                                         : "taken by retention: the sink does not hold it",
                                 .ends_batch = hold->batch != 0 && hold->batch_since < until};
    if (!pruning->request->dry_run) /* which only counts them */
      tide_exportlog_gap(ds->conn->db, ds->schema, &gap, err);
    pruning->result->gaps++;
    pruning->result->gap_rows += lost;
  }
}

/* What was removed of segments. */
struct removed {
  int64_t segments;
  int64_t rows; /* live ones, in those that went whole */
  int64_t stored_bytes;
  int64_t first_since;
  int64_t last_since; /* of what went whole; 0: nothing */
};

/* Drops the segments up to `until`; a segment that only begins there has its front counted as pruned. */
static void remove_segments(struct tide_pruning *pruning, int64_t until, int64_t rows, struct removed *removed,
                            struct tide_err *err) {
  struct tide_segment_row row;
  sqlite3 *db = pruning->ds->conn->db;
  sqlite3_stmt *stmt = tide_catalog_segments_prepare(db, pruning->names, err);
  bool found = stmt != NULL;
  while (found && !tide_err_is_set(err)) {
    tide_catalog_segments_seek(stmt, pruning->id, removed->last_since);
    found = tide_catalog_segments_next(stmt, pruning->names, &row, err) && row.first_since <= until;
    sqlite3_reset(stmt);
    if (found && row.last_since > until) {
      tide_catalog_segment_count_pruned(db, pruning->names, &row, rows - removed->rows, err);
      break;
    }
    if (found) {
      tide_catalog_segment_drop(db, pruning->names, &row, err);
      if (removed->segments++ == 0)
        removed->first_since = row.first_since;
      removed->rows += tide_segment_row_live(&row);
      removed->stored_bytes = add_bytes(removed->stored_bytes, row.stored_bytes);
      removed->last_since = row.last_since;
    }
  }
  tide_stmt_pool_give(pruning->ds->pool, stmt);
}

static void remove_rows(struct tide_pruning *pruning, int64_t until, int64_t rows, struct tide_err *err) {
  struct tide_dataset *ds = pruning->ds;
  sqlite3 *db = ds->conn->db;
  struct tide_tail_gone tail;
  struct removed removed = {0};
  tide_dataset_touched(ds);
  remove_segments(pruning, until, rows, &removed, err);
  tide_tail_index_delete_upto(&ds->tail, db, pruning->names, pruning->id, until, &tail, err);
  const int64_t dropped_upto = tail.last_since > 0 ? tail.last_since : removed.last_since;
  if (dropped_upto > 0)
    tide_deleted_forget(db, pruning->names, pruning->id, removed.first_since > 0 ? removed.first_since - 1 : 0,
                        dropped_upto, err);
  if (pruning->names.unique)
    tide_unique_forget(db, pruning->names, pruning->id, until, err);
  const struct tide_partition_change change = {
      .written = tail.rows, .pruned = rows, .pruned_upto = until, .last_since = tail.last_since};
  tide_catalog_partition_change(db, pruning->names, pruning->id, &change, err);
  if (tail.last_since > ds->config.sealed_since)
    ds->config.sealed_since = tail.last_since;
  ds->config.seals++;
  tide_catalog_store_counters(db, pruning->names, &ds->config, err);
  ds->epoch++;
  pruning->result->segments += removed.segments;
  pruning->result->stored_bytes = add_bytes(pruning->result->stored_bytes, removed.stored_bytes);
}

bool tide_pruning_take(struct tide_pruning *pruning, struct tide_err *err) {
  if (!tide_pruning_look(pruning, err) || pruning->retention.free_rows == 0)
    return false;
  const int64_t upto = end_of_piece(pruning, err);
  const struct piece piece = piece_upto(pruning, upto, err);
  if (tide_err_is_set(err) || piece.rows == 0)
    return false;
  write_gaps(pruning, piece.until, err);
  if (!tide_err_is_set(err))
    remove_rows(pruning, piece.until, piece.rows, err);
  if (tide_err_is_set(err))
    return false;
  pruning->result->rows += piece.rows;
  pruning->took = true;
  return upto < pruning->retention.free_upto;
}

/* ---- telling ---- */

void tide_pruning_tell_going(struct tide_pruning *pruning, struct tide_err *err) {
  struct tide_segment_row row;
  struct tide_prune_result *result = pruning->result;
  const struct tide_prune_result before = *result;
  const struct piece piece = piece_upto(pruning, pruning->retention.free_upto, err);
  write_gaps(pruning, piece.until, err);
  sqlite3_stmt *stmt = tide_catalog_segments_prepare(pruning->ds->conn->db, pruning->names, err);
  if (stmt != NULL)
    tide_catalog_segments_seek(stmt, pruning->id, 0);
  while (tide_catalog_segments_next(stmt, pruning->names, &row, err) && row.last_since <= piece.until) {
    result->segments++;
    result->stored_bytes = add_bytes(result->stored_bytes, row.stored_bytes);
  }
  tide_stmt_pool_give(pruning->ds->pool, stmt);
  if (tide_err_is_set(err)) {
    *result = before;
    return;
  }
  result->rows += piece.rows;
  pruning->took = true;
}
