#include "engine/pick.h"

#include <string.h>

#include "base/mem.h"

void tide_pick_init(struct tide_pick *pick, const struct tide_pick_rules *rules) {
  *pick = (struct tide_pick){.rules = *rules, .window = pick->window, .cap = pick->cap};
}

void tide_pick_clear(struct tide_pick *pick) {
  tide_free(pick->window);
  *pick = (struct tide_pick){0};
}

/* ---- gathering ---- */

/* raw_bytes * live / rows, which could be too big to multiply. */
static int64_t raw_share(const struct tide_segment_row *row) {
  const int64_t live = tide_segment_row_live(row);
  return row->raw_bytes / row->rows * live + row->raw_bytes % row->rows * live / row->rows;
}

static struct tide_pick_sum weigh(const struct tide_segment_row *row) {
  return (struct tide_pick_sum){.live = tide_segment_row_live(row), .raw = raw_share(row), .stored = row->stored_bytes};
}

/* Written so that no sum is made that is too big: only the first of a gathering can exceed a bound. */
static bool fits(const struct tide_pick *pick, const struct tide_pick_sum *more) {
  const struct tide_pick_sum *sum = &pick->sum;
  return pick->gathered == pick->head ||
         (more->live <= pick->rules.segment_rows - sum->live && more->raw <= pick->rules.segment_bytes - sum->raw &&
          more->stored <= TIDE_PICK_STORED_MAX - sum->stored && pick->gathered - pick->head < TIDE_PICK_SEGMENTS_MAX);
}

static void gather(struct tide_pick *pick) {
  while (pick->gathered < pick->count) {
    const struct tide_pick_sum more = weigh(&pick->window[pick->gathered]);
    if (!fits(pick, &more))
      return;
    pick->sum.live += more.live;
    pick->sum.raw += more.raw;
    pick->sum.stored += more.stored;
    pick->gathered++;
  }
}

static void skip_head(struct tide_pick *pick) {
  const struct tide_pick_sum less = weigh(&pick->window[pick->head]);
  pick->sum.live -= less.live;
  pick->sum.raw -= less.raw;
  pick->sum.stored -= less.stored;
  pick->head++;
}

static int keep(struct tide_pick *pick, const struct tide_segment_row *segment, struct tide_err *err) {
  if (pick->head > 0) {
    pick->count -= pick->head;
    pick->gathered -= pick->head;
    memmove(pick->window, pick->window + pick->head, pick->count * sizeof *pick->window);
    pick->head = 0;
  }
  void *window = pick->window;
  if (tide_grow(&window, &pick->cap, pick->count + 1, sizeof *pick->window, err) != 0)
    return err->rc;
  pick->window = window;
  pick->window[pick->count] = *segment;
  pick->window[pick->count].meta = NULL;
  pick->window[pick->count++].meta_size = 0;
  return 0;
}

/* ---- deciding ---- */

static bool is_dead(const struct tide_segment_row *row) {
  return tide_segment_row_live(row) == 0;
}

/* Of the gathered ones, how many from head on are dead. */
static size_t dead_in_front(const struct tide_pick *pick) {
  size_t end = pick->head;
  while (end < pick->gathered && is_dead(&pick->window[end]))
    end++;
  return end - pick->head;
}

/* How many from head to the last one that is live. */
static size_t span(const struct tide_pick *pick) {
  size_t end = pick->gathered;
  while (end > pick->head && is_dead(&pick->window[end - 1]))
    end--;
  return end - pick->head;
}

static bool merge_is_due(const struct tide_pick *pick) {
  const struct tide_pick_sum first = weigh(&pick->window[pick->head]);
  return pick->rules.eager || (first.live <= pick->sum.live - first.live && first.raw <= pick->sum.raw - first.raw);
}

/* alone: its newer neighbour does not fit into one segment with it. */
static bool is_settled(const struct tide_pick *pick, bool alone) {
  const struct tide_pick_sum first = weigh(&pick->window[pick->head]);
  return (alone && pick->gathered < pick->count) || first.live >= pick->rules.segment_rows - first.live ||
         first.raw >= pick->rules.segment_bytes - first.raw;
}

static bool single_is_due(const struct tide_pick *pick, bool alone) {
  const struct tide_segment_row *row = &pick->window[pick->head];
  if (row->deleted > 0 || (row->pruned > 0 && (pick->rules.eager || 4 * row->pruned >= row->rows)))
    return true;
  return row->level < pick->rules.level && (pick->rules.eager || is_settled(pick, alone));
}

/* How many segments from head on are due; nothing more is gathered from there. 0: none. */
static size_t due_at_head(const struct tide_pick *pick) {
  const size_t dead = dead_in_front(pick);
  if (dead > 0)
    return dead;
  const size_t spanned = span(pick);
  if (spanned > 1 && merge_is_due(pick))
    return spanned;
  return single_is_due(pick, spanned == 1) ? 1 : 0;
}

static struct tide_pick_run make_run(const struct tide_pick *pick, size_t count) {
  struct tide_pick_run run = {.segments = pick->window + pick->head, .count = count};
  for (size_t i = 0; i < count; i++) {
    const struct tide_segment_row *row = &run.segments[i];
    run.live += tide_segment_row_live(row);
    run.stored_bytes += row->stored_bytes;
    if (row->revision > run.revision)
      run.revision = row->revision;
  }
  return run;
}

bool tide_pick_add(struct tide_pick *pick, const struct tide_segment_row *segment, struct tide_pick_run *ret_run,
                   struct tide_err *err) {
  if (tide_err_is_set(err) || (segment != NULL && keep(pick, segment, err) != 0))
    return false;
  for (gather(pick); pick->head < pick->count && (segment == NULL || pick->gathered < pick->count); gather(pick)) {
    const size_t due = due_at_head(pick);
    if (due > 0) {
      *ret_run = make_run(pick, due);
      return true;
    }
    skip_head(pick);
  }
  return false;
}
