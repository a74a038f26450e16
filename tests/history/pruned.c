#include <stdlib.h>

#include "observe.h"
#include "retain.h"

/* Live rows that the dataset no longer has, ascending. */
struct gone {
  size_t *at; /* indexes into the model's rows */
  size_t n;
};

static void add_gone(const struct model *model, struct gone *gone, size_t from, size_t end) {
  for (size_t i = from; i < end; i++) {
    if (model->rows[i].fate == LIVE)
      gone->at[gone->n++] = i;
  }
}

static struct gone find_gone(struct world *world) {
  const struct model *model = &world->model;
  struct gone gone = {.at = calloc(model->nrows + 1, sizeof *gone.at)};
  size_t from = 0;
  sqlite3_stmt *stmt = query(world, "SELECT since FROM %s ORDER BY since", model->dataset);
  while (next(world, stmt)) {
    const int64_t since = sqlite3_column_int64(stmt, 0);
    const struct row *row = model_find(model, since);
    if (row == NULL || row->fate != LIVE)
      fail(world, "row %lld is there and should not be", (long long)since);
    add_gone(model, &gone, from, (size_t)(row - model->rows));
    from = (size_t)(row - model->rows) + 1;
  }
  add_gone(model, &gone, from, model->nrows);
  return gone;
}

static int64_t last_gone(const struct model *model, const struct gone *gone, int part) {
  for (size_t i = gone->n; i > 0; i--) {
    if (model->rows[gone->at[i - 1]].part == part)
      return model->rows[gone->at[i - 1]].since;
  }
  return 0;
}

static int64_t count_gone(const struct model *model, const struct gone *gone, int part) {
  int64_t count = 0;
  for (size_t i = 0; i < gone->n; i++)
    count += model->rows[gone->at[i]].part == part;
  return count;
}

static void judge_part(struct world *world, const struct gone *gone, int part, bool complete) {
  const struct model *model = &world->model;
  const int64_t last = last_gone(model, gone, part);
  const struct reach reach = retain_reach(model, part, machine_now());
  if (count_gone(model, gone, part) != model_live(model, part, 0, last))
    fail(world, "%s: rows up to %lld were pruned, but not all of them", part_text(world, part), (long long)last);
  if (last > reach.most)
    fail(world, "%s: rows up to %lld were pruned, allowed was up to %lld (sink %s)", part_text(world, part),
         (long long)last, (long long)reach.most, reach.held_by == NONE ? "none" : sink_names[reach.held_by]);
  if (last > 0 && retain_cut_batch(model, part, last) != NONE)
    fail(world, "%s: rows up to %lld were pruned, in the middle of a batch of sink %s", part_text(world, part),
         (long long)last, sink_names[retain_cut_batch(model, part, last)]);
  if (complete && model_live(model, part, last, reach.least) > 0)
    fail(world, "%s: rows up to %lld were pruned, expected was up to %lld (sink %s)", part_text(world, part),
         (long long)last, (long long)reach.least, reach.held_by == NONE ? "none" : sink_names[reach.held_by]);
}

/* What each overtaken sink must be told. */
static void expect_gaps(struct world *world, int part, int64_t last) {
  struct model *model = &world->model;
  for (int sink = 0; sink < SINKS; sink++) {
    const bool known = model->sinks[sink].registered || model_last(model, sink, part) != NULL;
    const int64_t watermark = known ? model_watermark(model, sink, part) : 0;
    const int64_t rows = model_live(model, part, watermark, last);
    if (rows == 0)
      continue;
    if (known)
      world->gaps[world->ngaps++] = (struct gap){sink, part, watermark, last, rows, false};
    else
      model->lost[sink][part] = true;
  }
}

void observe_pruned(struct world *world, bool complete) {
  const enum doing doing = world->doing;
  struct gone gone = find_gone(world);
  world->ngaps = 0;
  for (int part = 0; part < world->nparts; part++) {
    judge_part(world, &gone, part, complete);
    expect_gaps(world, part, last_gone(&world->model, &gone, part));
  }
  for (size_t i = 0; i < gone.n; i++)
    world->model.rows[gone.at[i]].fate = PRUNED;
  if (gone.n > 0)
    note(world, "  (%d rows went)", (int)gone.n);
  free(gone.at);
  world->doing = DOING_PRUNE;
  observe(world);
  world->doing = doing;
  for (int i = 0; i < world->ngaps; i++) {
    if (!world->gaps[i].found)
      fail(world, "sink %s was overtaken in %s and has no gap", sink_names[world->gaps[i].sink],
           part_text(world, world->gaps[i].part));
  }
  world->ngaps = 0;
}
