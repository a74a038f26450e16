#include "retain.h"

static int64_t less(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* ---- the cut ---- */

static int64_t age_of(const struct model *model, const struct row *row, int64_t now) {
  return now - (model->options.by_ts && row->ts != NONE ? row->ts : row->at);
}

/* The longest prefix in which every row is past a limit; `newer` counts the row itself and those above it. */
static struct reach cut(const struct model *model, int part, int64_t now) {
  const struct options *limits = &model->options;
  int64_t newer = model_live(model, part, 0, INT64_MAX);
  struct reach reach = {.held_by = NONE};
  bool all_must = true;
  bool all_may = true;
  for (size_t i = 0; i < model->nrows; i++) {
    const struct row *row = &model->rows[i];
    if (row->part != part || row->fate != LIVE)
      continue;
    const bool past = (limits->rows != NONE && newer > limits->rows) ||
                      (limits->age_ms != NONE && age_of(model, row, now) >= limits->age_ms);
    all_must = all_must && (past || limits->bytes == 0);
    all_may = all_may && (past || limits->bytes != NONE);
    newer--;
    if (all_must)
      reach.least = row->since;
    if (all_may)
      reach.most = row->since;
  }
  return reach;
}

/* ---- what sinks hold ---- */

/* How far the caps of a sink let retention go beyond its watermark. */
static int64_t capped(const struct model *model, const struct sink *sink, int part, int64_t watermark, int64_t now) {
  int64_t newer = model_live(model, part, watermark, INT64_MAX);
  int64_t upto = watermark;
  for (size_t i = model_above(model, watermark); i < model->nrows; i++) {
    const struct row *row = &model->rows[i];
    if (row->part != part || row->fate != LIVE)
      continue;
    if (!(sink->hold_rows != NONE && newer > sink->hold_rows) &&
        !(sink->hold_age_ms != NONE && now - row->at >= sink->hold_age_ms))
      break;
    newer--;
    upto = row->since;
  }
  return upto;
}

/* Nobody works on it any more. A lease that is out in a future that the clock was set back from is none. */
static bool is_abandoned(const struct batch *batch, int64_t now) {
  return batch->free || !batch->ours || batch->lease_until <= now || batch->lease_until > now + 120000;
}

/* The rows of an open batch are held whatever its sink, unless nobody works on it and caps are past all of them. */
static int64_t held(const struct model *model, int at, int part, int64_t now) {
  const struct sink *sink = &model->sinks[at];
  const struct batch *batch = &model->batches[at][part];
  const int64_t upto = capped(model, sink, part, model_watermark(model, at, part), now);
  const int64_t reach = sink_holds(sink) ? upto : INT64_MAX;
  if (batch->open && (!is_abandoned(batch, now) || model_live(model, part, upto, batch->until) > 0))
    return less(reach, batch->since);
  return reach;
}

int retain_cut_batch(const struct model *model, int part, int64_t upto) {
  for (int sink = 0; sink < SINKS; sink++) {
    const struct batch *batch = &model->batches[sink][part];
    if (batch->open && model_live(model, part, batch->since, less(upto, batch->until)) > 0 && upto < batch->until &&
        model_live(model, part, upto, batch->until) > 0)
      return sink;
  }
  return NONE;
}

/* A batch goes whole or not at all. */
static int64_t whole(const struct model *model, int part, int64_t upto) {
  int sink;
  while ((sink = retain_cut_batch(model, part, upto)) != NONE)
    upto = model->batches[sink][part].since;
  return upto;
}

struct reach retain_reach(const struct model *model, int part, int64_t now) {
  struct reach reach = cut(model, part, now);
  reach.cut = reach.most;
  for (int sink = 0; sink < SINKS; sink++) {
    const int64_t bound = held(model, sink, part, now);
    reach.least = less(reach.least, bound);
    if (bound < reach.most) {
      reach.most = bound;
      reach.held_by = sink;
    }
  }
  reach.least = whole(model, part, reach.least);
  reach.most = whole(model, part, reach.most);
  return reach;
}
