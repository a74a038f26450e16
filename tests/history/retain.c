#include "retain.h"

static int64_t less(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t more(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* ---- the cut ---- */

static int64_t age_of(const struct model *model, const struct row *row, int64_t now) {
  return now - (model->options.by_ts && row->ts != NONE ? row->ts : row->at);
}

/* The longest prefix in which every row is past a limit; `newer` counts the row itself and those above it. */
static struct reach cut(const struct model *model, int part, int64_t now) {
  const struct options *limits = &model->options;
  int64_t newer = model_live(model, part, 0, INT64_MAX);
  struct reach reach = {0, 0};
  bool all_must = true;
  bool all_may = true;
  for (size_t i = 0; i < model->nrows; i++) {
    const struct row *row = &model->rows[i];
    if (row->part != part || row->fate != LIVE)
      continue;
    const bool by_rows = limits->rows != NONE && newer > limits->rows;
    const int64_t age = age_of(model, row, now);
    all_must = all_must && (by_rows || limits->bytes == 0 || (limits->age_ms != NONE && age > limits->age_ms));
    all_may = all_may && (by_rows || limits->bytes != NONE || (limits->age_ms != NONE && age >= limits->age_ms));
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
static struct reach caps(const struct model *model, const struct sink *sink, int part, int64_t watermark, int64_t now) {
  int64_t newer = model_live(model, part, watermark, INT64_MAX);
  struct reach reach = {watermark, watermark};
  bool all_must = true;
  bool all_may = true;
  for (size_t i = model_above(model, watermark); i < model->nrows; i++) {
    const struct row *row = &model->rows[i];
    if (row->part != part || row->fate != LIVE)
      continue;
    const bool by_rows = sink->hold_rows != NONE && newer > sink->hold_rows;
    all_must = all_must && (by_rows || (sink->hold_age_ms != NONE && now - row->at > sink->hold_age_ms));
    all_may = all_may && (by_rows || (sink->hold_age_ms != NONE && now - row->at >= sink->hold_age_ms));
    newer--;
    if (all_must)
      reach.least = row->since;
    if (all_may)
      reach.most = row->since;
  }
  return reach;
}

static bool owner_lives(const struct batch *batch, int64_t now) {
  return !batch->free && batch->ours && batch->lease_until > now;
}

static struct reach held(const struct model *model, int sink_at, int part, int64_t now) {
  const struct sink *sink = &model->sinks[sink_at];
  const struct batch *batch = &model->batches[sink_at][part];
  struct reach reach = {INT64_MAX, INT64_MAX};
  if (sink_holds(sink))
    reach = caps(model, sink, part, model_watermark(model, sink_at, part), now);
  if (batch->open && owner_lives(batch, now))
    reach = (struct reach){batch->since, batch->since};
  return reach;
}

struct reach retain_reach(const struct model *model, int part, int64_t now) {
  struct reach reach = cut(model, part, now);
  for (int sink = 0; sink < SINKS; sink++) {
    const struct reach bound = held(model, sink, part, now);
    reach.least = less(reach.least, more(bound.least, 0));
    reach.most = less(reach.most, more(bound.most, 0));
  }
  return reach;
}
