#include "model.h"

#include <stdlib.h>
#include <string.h>

const char *const sink_names[SINKS] = {"all", "some", "late", "copy", "hand"};
const enum sink_kind sink_kinds[SINKS] = {BY_FILE, BY_FILE, BY_FILE, BY_SQL, BY_HAND};
const char *const filter_sql[FILTERS] = {NULL, "v % 3 <> 0", "v < 500 AND body LIKE 'row %'"};
const char *const state_names[STATES] = {"active", "paused", "disabled", "blocked"};
const char *const entry_kinds[] = {"batch", "gap", "rewind"};

bool filter_keeps(enum filter filter, const struct row *row) {
  return filter == FILTER_NONE || (filter == FILTER_THIRDS ? row->value % 3 != 0 : row->value < 500);
}

bool sink_holds(const struct sink *sink) {
  return sink->registered && sink->hold && sink->state != DISABLED;
}

/* ---- life ---- */

static void *copy_of(const void *from, size_t size) {
  void *copy = malloc(size + 1);
  if (size > 0)
    memcpy(copy, from, size);
  return copy;
}

void model_copy(struct model *to, const struct model *from) {
  *to = *from;
  to->rows = copy_of(from->rows, from->nrows * sizeof *from->rows);
  to->rows_cap = from->nrows;
  to->log = copy_of(from->log, from->nlog * sizeof *from->log);
  to->log_cap = from->nlog;
}

void model_clear(struct model *model) {
  free(model->rows);
  free(model->log);
  *model = (struct model){0};
}

void model_add_row(struct model *model, const struct row *row) {
  if (model->nrows >= model->rows_cap) {
    model->rows_cap = model->nrows * 2 + 64;
    model->rows = realloc(model->rows, model->rows_cap * sizeof *model->rows);
  }
  model->rows[model->nrows++] = *row;
}

void model_add_entry(struct model *model, const struct entry *entry) {
  if (model->nlog >= model->log_cap) {
    model->log_cap = model->nlog * 2 + 64;
    model->log = realloc(model->log, model->log_cap * sizeof *model->log);
  }
  model->log[model->nlog++] = *entry;
}

/* ---- rows ---- */

int64_t model_newest(const struct model *model) {
  return model->nrows > 0 ? model->rows[model->nrows - 1].since : 0;
}

int64_t model_newest_of(const struct model *model, int part) {
  for (size_t i = model->nrows; i > 0; i--) {
    if (model->rows[i - 1].part == part)
      return model->rows[i - 1].since;
  }
  return 0;
}

size_t model_above(const struct model *model, int64_t since) {
  size_t low = 0;
  size_t high = model->nrows;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (model->rows[middle].since <= since)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

struct row *model_find(const struct model *model, int64_t since) {
  const size_t at = model_above(model, since - 1);
  return at < model->nrows && model->rows[at].since == since ? &model->rows[at] : NULL;
}

int64_t model_live(const struct model *model, int part, int64_t above, int64_t upto) {
  int64_t count = 0;
  for (size_t i = model_above(model, above); i < model->nrows && model->rows[i].since <= upto; i++)
    count += model->rows[i].part == part && model->rows[i].fate == LIVE;
  return count;
}

/* ---- the log ---- */

const struct entry *model_last(const struct model *model, int sink, int part) {
  for (size_t i = model->nlog; i > 0; i--) {
    if (model->log[i - 1].sink == sink && model->log[i - 1].part == part)
      return &model->log[i - 1];
  }
  return NULL;
}

int64_t model_watermark(const struct model *model, int sink, int part) {
  const struct entry *last = model_last(model, sink, part);
  return last != NULL ? last->until : model->sinks[sink].start;
}

int64_t model_generation(const struct model *model, int sink, int part) {
  const struct entry *last = model_last(model, sink, part);
  return last != NULL ? last->generation : 0;
}
