#include "observe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"

/* ---- log rows ---- */

static void judge_object(struct world *world, struct entry *entry, const struct sink *by) {
  char object[160], path[320];
  size_t size = 0;
  if (entry->rows == 0) {
    if (entry->object[0] != '\0')
      fail(world, "log row %lld has no rows and the object %s", (long long)entry->id, entry->object);
    return;
  }
  object_name(world, by, entry->part, entry->generation, entry->since, entry->until, object, sizeof object);
  if (strcmp(entry->object, object) != 0)
    fail(world, "log row %lld names %s, expected %s", (long long)entry->id, entry->object, object);
  snprintf(path, sizeof path, "%s/%s", folder_of(world, entry->sink, by->target), object);
  char *have = machine_read(path, &size);
  char *want = object_lines(world, entry, by);
  if (have == NULL || strcmp(have, want) != 0)
    fail(world, "log row %lld: %s holds\n%s\nexpected\n%s", (long long)entry->id, path,
         have != NULL ? have : "(no file)", want);
  if (entry->bytes != (int64_t)size)
    fail(world, "log row %lld says %lld bytes, its file has %lld", (long long)entry->id, (long long)entry->bytes,
         (long long)size);
  entry->target = by->target;
  entry->hash = hash_of(have, size);
  sqlite3_free(want);
  free(have);
}

/* Rows kept and skipped are what the filter says of the rows that are there. */
static void judge_counts(struct world *world, const struct entry *entry, const struct sink *by) {
  const struct model *model = &world->model;
  int64_t kept = 0;
  int64_t live = 0;
  for (size_t i = model_above(model, entry->since); i < model->nrows && model->rows[i].since <= entry->until; i++) {
    const struct row *row = &model->rows[i];
    if (row->part != entry->part || row->fate != LIVE)
      continue;
    live++;
    kept += filter_keeps(by->filter, row);
  }
  if (entry->rows != kept || entry->skipped != live - kept || entry->dead != 0)
    fail(world, "log row %lld of sink %s says %lld rows, %lld skipped, %lld dead; expected %lld, %lld, 0",
         (long long)entry->id, sink_names[entry->sink], (long long)entry->rows, (long long)entry->skipped,
         (long long)entry->dead, (long long)kept, (long long)(live - kept));
}

static void judge_batch_entry(struct world *world, struct entry *entry) {
  struct batch *batch = &world->model.batches[entry->sink][entry->part];
  const struct sink *by = batch->open ? &batch->by : &world->claiming[entry->sink];
  const enum sink_kind kind = sink_kinds[entry->sink];
  if (world->doing != (kind == BY_FILE ? DOING_TICK : kind == BY_SQL ? DOING_COPY : DOING_ACK))
    fail(world, "log row %lld: sink %s delivered by itself", (long long)entry->id, sink_names[entry->sink]);
  if (batch->open && (batch->since != entry->since || batch->until != entry->until))
    fail(world, "log row %lld ends batch %lld (%lld to %lld) as %lld to %lld", (long long)entry->id,
         (long long)batch->number, (long long)batch->since, (long long)batch->until, (long long)entry->since,
         (long long)entry->until);
  judge_counts(world, entry, by);
  if (kind != BY_SQL && by->max_rows != NONE && entry->rows + entry->skipped > by->max_rows)
    fail(world, "log row %lld has more than max_rows %lld", (long long)entry->id, (long long)by->max_rows);
  if (kind == BY_FILE)
    judge_object(world, entry, by);
  batch->open = false;
}

static void judge_gap(struct world *world, const struct entry *entry) {
  for (int i = 0; i < world->ngaps; i++) {
    struct gap *gap = &world->gaps[i];
    if (gap->sink != entry->sink || gap->part != entry->part)
      continue;
    /* rows that were deleted right behind the last one may go along */
    if (gap->found || gap->since != entry->since || gap->rows != entry->rows || entry->until < gap->until ||
        model_live(&world->model, entry->part, gap->until, entry->until) > 0 || entry->skipped != 0 || entry->dead != 0)
      fail(world, "log row %lld: sink %s has a gap of %lld rows from %lld to %lld, expected %lld from %lld to %lld",
           (long long)entry->id, sink_names[entry->sink], (long long)entry->rows, (long long)entry->since,
           (long long)entry->until, (long long)gap->rows, (long long)gap->since, (long long)gap->until);
    gap->found = true;
    world->model.batches[entry->sink][entry->part].open = false;
    return;
  }
  fail(world, "log row %lld: sink %s has a gap in %s though nothing it lacked is gone", (long long)entry->id,
       sink_names[entry->sink], part_text(world, entry->part));
}

static void judge_rewind(struct world *world, const struct entry *entry) {
  const struct rewind *asked = &world->rewind;
  if (world->doing != DOING_REWIND || asked->sink != entry->sink || asked->part != entry->part)
    fail(world, "log row %lld: sink %s was rewound by itself", (long long)entry->id, sink_names[entry->sink]);
  const int64_t rows = model_live(&world->model, entry->part, entry->until, entry->since);
  if (entry->until < asked->to || entry->until >= entry->since ||
      model_live(&world->model, entry->part, asked->to, entry->until) > 0 || entry->rows != rows || entry->skipped != 0)
    fail(world, "log row %lld: rewound from %lld to %lld with %lld rows; asked for %lld, which gives %lld back",
         (long long)entry->id, (long long)entry->since, (long long)entry->until, (long long)entry->rows,
         (long long)asked->to, (long long)rows);
}

static void judge_entry(struct world *world, struct entry *entry) {
  struct model *model = &world->model;
  const int64_t since = model_watermark(model, entry->sink, entry->part);
  const int64_t generation = model_generation(model, entry->sink, entry->part) + (entry->kind == REWIND);
  if (entry->since != since || entry->generation != generation)
    fail(world, "log row %lld of sink %s in %s is generation %lld from %lld, expected %lld from %lld",
         (long long)entry->id, sink_names[entry->sink], part_text(world, entry->part), (long long)entry->generation,
         (long long)entry->since, (long long)generation, (long long)since);
  if (entry->until > model_newest_of(model, entry->part))
    fail(world, "log row %lld goes beyond the newest row of %s", (long long)entry->id, part_text(world, entry->part));
  if (entry->kind == REWIND)
    judge_rewind(world, entry);
  else if (entry->kind == GAP)
    judge_gap(world, entry);
  else
    judge_batch_entry(world, entry);
  if (model_last(model, entry->sink, entry->part) == NULL && entry->since != 0)
    model->lost[entry->sink][entry->part] = true;
  model_add_entry(model, entry);
}

static enum entry_kind kind_of(struct world *world, const char *text) {
  for (int kind = BATCH; kind <= REWIND; kind++) {
    if (text != NULL && strcmp(entry_kinds[kind], text) == 0)
      return (enum entry_kind)kind;
  }
  fail(world, "a log row of kind '%s'", text);
}

static void observe_log(struct world *world) {
  const struct model *model = &world->model;
  const int64_t last = model->nlog > 0 ? model->log[model->nlog - 1].id : 0;
  sqlite3_stmt *stmt = query(world,
                             "SELECT id, sink, partition, generation, kind, since, until, rows, skipped, dead, bytes,"
                             " object FROM tidemark_export_log WHERE id > %lld AND dataset = %Q ORDER BY id",
                             (long long)last, model->dataset);
  while (next(world, stmt)) {
    struct entry entry = {.id = sqlite3_column_int64(stmt, 0),
                          .sink = sink_of(world, (const char *)sqlite3_column_text(stmt, 1)),
                          .part = part_of(world, (const char *)sqlite3_column_text(stmt, 2)),
                          .generation = sqlite3_column_int64(stmt, 3),
                          .kind = kind_of(world, (const char *)sqlite3_column_text(stmt, 4)),
                          .since = sqlite3_column_int64(stmt, 5),
                          .until = sqlite3_column_int64(stmt, 6),
                          .rows = sqlite3_column_int64(stmt, 7),
                          .skipped = sqlite3_column_int64(stmt, 8),
                          .dead = sqlite3_column_int64(stmt, 9),
                          .bytes = sqlite3_column_int64(stmt, 10)};
    const char *object = (const char *)sqlite3_column_text(stmt, 11);
    snprintf(entry.object, sizeof entry.object, "%s", object != NULL ? object : "");
    judge_entry(world, &entry);
  }
}

void observe_trimmed(struct world *world) {
  struct model *model = &world->model;
  size_t at = 0;
  sqlite3_stmt *stmt =
      query(world, "SELECT id FROM tidemark_export_log WHERE dataset = %Q ORDER BY id", model->dataset);
  while (next(world, stmt)) {
    for (; at < model->nlog && model->log[at].id < sqlite3_column_int64(stmt, 0); at++)
      model->log[at].trimmed = true;
    at++;
  }
  for (size_t i = 0; i < model->nlog; i++) {
    const struct entry *entry = &model->log[i];
    if (entry->trimmed && entry == model_last(model, entry->sink, entry->part))
      fail(world, "log row %lld is gone, though it is the last of its partition", (long long)entry->id);
  }
}

/* ---- open batches ---- */

static void judge_claim(struct world *world, int sink, int part, const struct batch *batch) {
  const struct model *model = &world->model;
  const struct sink *by = &world->claiming[sink];
  if (world->doing != (sink_kinds[sink] == BY_FILE ? DOING_TICK : DOING_ACK))
    fail(world, "batch %lld of sink %s was claimed by itself", (long long)batch->number, sink_names[sink]);
  const int64_t rows = model_live(model, part, batch->since, batch->until);
  if (batch->since != model_watermark(model, sink, part) || batch->generation != model_generation(model, sink, part) ||
      batch->until > model_newest_of(model, part) || batch->rows != rows || rows == 0 ||
      (by->max_rows != NONE && rows > by->max_rows))
    fail(world, "batch %lld of sink %s in %s: generation %lld, from %lld to %lld, %lld rows; there are %lld",
         (long long)batch->number, sink_names[sink], part_text(world, part), (long long)batch->generation,
         (long long)batch->since, (long long)batch->until, (long long)batch->rows, (long long)rows);
}

/* An object that may be in the folder though no log row names it, should the batch never be acked. */
static void note_object(struct world *world, int sink, int part, const struct batch *batch, const char *object) {
  char name[160], line[200];
  if (sink_kinds[sink] != BY_FILE)
    return;
  object_name(world, &batch->by, part, batch->generation, batch->since, batch->until, name, sizeof name);
  if (object == NULL || strcmp(object, name) != 0)
    fail(world, "batch %lld is to be %s, expected %s", (long long)batch->number, object, name);
  snprintf(line, sizeof line, "\n%s/%c/%s\n", sink_names[sink], batch->by.target, name);
  if (strstr(world->seen, line) == NULL)
    world->seen = sqlite3_mprintf("%z%s", world->seen, line + 1);
}

static void observe_batches(struct world *world) {
  bool there[SINKS][PARTS] = {{false}};
  char pid[24];
  snprintf(pid, sizeof pid, ":%d:", machine_process());
  sqlite3_stmt *stmt = query(world,
                             "SELECT batch, sink, partition, since, until, generation, rows, lease_until, owner, object"
                             " FROM tidemark_batch WHERE dataset = %Q ORDER BY batch",
                             world->model.dataset);
  while (next(world, stmt)) {
    const int sink = sink_of(world, (const char *)sqlite3_column_text(stmt, 1));
    const int part = part_of(world, (const char *)sqlite3_column_text(stmt, 2));
    const char *owner = (const char *)sqlite3_column_text(stmt, 8);
    struct batch *known = &world->model.batches[sink][part];
    struct batch batch = {.open = true,
                          .number = sqlite3_column_int64(stmt, 0),
                          .since = sqlite3_column_int64(stmt, 3),
                          .until = sqlite3_column_int64(stmt, 4),
                          .generation = sqlite3_column_int64(stmt, 5),
                          .rows = sqlite3_column_int64(stmt, 6),
                          .lease_until = sqlite3_column_int64(stmt, 7),
                          .free = owner == NULL,
                          .ours = owner != NULL && strstr(owner, pid) != NULL,
                          .by = known->open ? known->by : world->claiming[sink]};
    if (!known->open)
      judge_claim(world, sink, part, &batch);
    else if (known->since != batch.since || known->until != batch.until || known->generation != batch.generation ||
             known->rows != batch.rows || known->number > batch.number)
      fail(world, "batch %lld of sink %s is no longer what it was", (long long)batch.number, sink_names[sink]);
    note_object(world, sink, part, &batch, (const char *)sqlite3_column_text(stmt, 9));
    *known = batch;
    there[sink][part] = true;
  }
  for (int sink = 0; sink < SINKS; sink++) {
    for (int part = 0; part < PARTS; part++) {
      if (world->model.batches[sink][part].open && !there[sink][part])
        fail(world, "batch %lld of sink %s is gone without a log row",
             (long long)world->model.batches[sink][part].number, sink_names[sink]);
    }
  }
}

void observe(struct world *world) {
  observe_log(world);
  observe_batches(world);
}
