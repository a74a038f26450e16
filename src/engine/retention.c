#include "engine/retention.h"

#include "base/mem.h"
#include "store/exportlog.h"

/* One partition being looked at. */
struct looking {
  struct tide_dataset *ds;
  const struct tide_stat *stat;
  int64_t now_ms;
};

static int64_t count_rows(const struct looking *looking, int64_t above, int64_t upto, struct tide_err *err) {
  struct tide_range range = {0};
  if (above < upto && !tide_err_is_set(err))
    tide_stats_range(looking->ds, looking->stat, above, upto, INT64_MAX, &range, err);
  return range.rows;
}

/* The since up to which a sink's caps let rows go that it has not committed; its watermark when they let none go. */
static int64_t capped_upto(const struct looking *looking, const struct tide_hold *hold, struct tide_err *err) {
  const struct tide_stat *stat = looking->stat;
  int64_t upto = hold->watermark;
  int64_t cut = 0;
  if (hold->hold_rows >= 0) {
    struct tide_range range = {0};
    const int64_t over = count_rows(looking, hold->watermark, stat->last_since, err) - hold->hold_rows;
    if (over > 0 && !tide_err_is_set(err)) {
      tide_stats_range(looking->ds, stat, hold->watermark, stat->last_since, over, &range, err);
      upto = range.until;
    }
  }
  if (hold->hold_age_ms >= 0 && !__builtin_sub_overflow(looking->now_ms, hold->hold_age_ms, &cut) &&
      !tide_err_is_set(err)) {
    const int64_t aged = tide_cut_by_ingest(looking->ds, stat, upto, cut, err);
    upto = aged > upto ? aged : upto;
  }
  return upto;
}

/* The since up to which a sink lets rows go. */
static int64_t free_of(const struct looking *looking, const struct tide_hold *hold, struct tide_err *err) {
  const int64_t capped = capped_upto(looking, hold, err);
  const int64_t upto = hold->holds ? capped : INT64_MAX;
  const bool batch_may_go =
      hold->batch == 0 || (tide_batch_is_abandoned(hold->batch_owner, hold->lease_until, looking->now_ms) &&
                           count_rows(looking, capped, hold->batch_until, err) == 0);
  return batch_may_go || hold->batch_since > upto ? upto : hold->batch_since;
}

/* Whether rows of the sink's open batch lie on both sides of a since. */
static bool cuts_batch(const struct looking *looking, const struct tide_hold *hold, int64_t upto,
                       struct tide_err *err) {
  return hold->batch != 0 && hold->batch_since < upto && upto < hold->batch_until &&
         count_rows(looking, upto, hold->batch_until, err) > 0 && count_rows(looking, hold->batch_since, upto, err) > 0;
}

int64_t tide_retention_whole(struct tide_dataset *ds, const struct tide_stat *stat, const struct tide_holds *holds,
                             int64_t upto, enum tide_retention_way way, struct tide_err *err) {
  const struct looking looking = {ds, stat, 0};
  for (size_t i = 0; i < holds->count && !tide_err_is_set(err); i++) {
    const struct tide_hold *hold = &holds->items[i];
    if (!cuts_batch(&looking, hold, upto, err))
      continue;
    upto = way == TIDE_RETENTION_UP ? hold->batch_until : hold->batch_since;
    i = (size_t)-1; /* the new place may be inside another's */
  }
  return upto;
}

/* What each sink holds back, and with it how far rows are free. */
static void look_at_holds(const struct looking *looking, const struct tide_holds *holds,
                          struct tide_retention *retention, struct tide_err *err) {
  const int64_t cut = retention->cut.upto;
  for (size_t i = 0; i < holds->count && !tide_err_is_set(err); i++) {
    const struct tide_hold *hold = &holds->items[i];
    if ((!hold->holds && hold->batch == 0) || hold->watermark >= cut)
      continue;
    const int64_t upto = free_of(looking, hold, err);
    retention->held_rows[i] = count_rows(looking, upto, cut, err);
    if (upto < retention->free_upto)
      retention->free_upto = upto;
  }
  retention->free_upto =
      tide_retention_whole(looking->ds, looking->stat, holds, retention->free_upto, TIDE_RETENTION_DOWN, err);
  for (size_t i = 0; i < holds->count && !tide_err_is_set(err); i++) {
    const struct tide_hold *hold = &holds->items[i];
    if (hold->batch != 0 && hold->batch_since == retention->free_upto)
      retention->held_rows[i] = count_rows(looking, retention->free_upto, cut, err);
  }
}

static void read_holds(const struct looking *looking, struct tide_holds *holds, struct tide_err *err) {
  const struct tide_stat *stat = looking->stat;
  sqlite3_stmt *stmt = tide_holds_prepare(looking->ds->conn->db, tide_dataset_names(looking->ds), err);
  tide_holds_read(stmt, stat->text, stat->text_size, holds, err);
  tide_stmt_pool_give(looking->ds->pool, stmt);
}

void tide_retention_look(struct tide_dataset *ds, const struct tide_stat *stat, int64_t now_ms,
                         struct tide_holds *holds, struct tide_retention *ret_retention, struct tide_err *err) {
  const struct looking looking = {ds, stat, now_ms};
  struct tide_retention retention = {0};
  tide_holds_clear(holds);
  tide_cut_find(ds, stat, now_ms, &retention.cut, err);
  retention.free_upto = retention.cut.upto;
  retention.free_rows = retention.cut.rows;
  if (retention.cut.rows > 0 && !tide_err_is_set(err))
    read_holds(&looking, holds, err);
  if (holds->count > 0)
    retention.held_rows = tide_alloc_zero(holds->count, sizeof *retention.held_rows, err);
  if (retention.held_rows != NULL) {
    retention.nheld = holds->count;
    look_at_holds(&looking, holds, &retention, err);
  }
  if (retention.free_upto < stat->pruned_upto)
    retention.free_upto = stat->pruned_upto;
  if (retention.free_upto < retention.cut.upto)
    retention.free_rows = count_rows(&looking, stat->pruned_upto, retention.free_upto, err);
  if (tide_err_is_set(err))
    tide_retention_clear(&retention);
  else
    *ret_retention = retention;
}

void tide_retention_clear(struct tide_retention *retention) {
  tide_free(retention->held_rows);
  *retention = (struct tide_retention){0};
}
