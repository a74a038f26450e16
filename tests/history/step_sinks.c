#include <stdio.h>
#include <string.h>

#include "objects.h"
#include "observe.h"
#include "steps.h"

/* ---- literals; each is good until the fourth call after it ---- */

static const char *literal(int64_t value) {
  static char texts[4][24];
  static int at;
  char *text = texts[at++ % 4];
  if (value == NONE)
    snprintf(text, sizeof texts[0], "NULL");
  else
    snprintf(text, sizeof texts[0], "%lld", (long long)value);
  return text;
}

static const char *quoted(const char *value) {
  static char texts[4][160];
  static int at;
  return sqlite3_snprintf(sizeof texts[0], texts[at++ % 4], value != NULL ? "%Q" : "NULL", value);
}

static const char *columns_of(const struct sink *sink) {
  return sink->narrow ? "[\"since\", \"v\"]" : "[\"since\", \"v\", \"body\", \"partition\"]";
}

static const char *duration(int64_t ms) {
  static char text[40];
  if (ms == NONE)
    return "NULL";
  return sqlite3_snprintf(sizeof text, text, "'%lld ms'", (long long)ms);
}

/* ---- registering ---- */

static int64_t random_cap(void) {
  return one_in(3) ? NONE : (int64_t)pick(one_in(3) ? 4 : 40);
}

static int64_t random_age(void) {
  return one_in(2) ? NONE : 1000 * (int64_t)(1 + pick(600));
}

static void choose_sink(struct world *world, int at, struct sink *sink) {
  const bool goes_on = world->steps > 0 && one_in(3);
  *sink = (struct sink){.registered = true,
                        .target = one_in(2) ? 'a' : 'b',
                        .filter = at == 1 || sink_kinds[at] == BY_HAND ? (enum filter)pick(FILTERS) : FILTER_NONE,
                        .narrow = one_in(3),
                        .hold = !one_in(4),
                        .hold_rows = NONE,
                        .hold_age_ms = one_in(4) ? random_age() : NONE,
                        .max_rows = one_in(6) ? NONE : 2 + (int64_t)pick(12)};
  if (one_in(3))
    sink->hold_rows = random_cap();
  if (goes_on)
    sink->start = one_in(2) ? model_newest(&world->model) : (int64_t)pick((size_t)model_newest(&world->model) + 5);
  snprintf(sink->prefix, sizeof sink->prefix, "%s", world->model.dataset);
}

void step_register(struct world *world, int at) {
  struct sink sink;
  const bool by_file = sink_kinds[at] == BY_FILE;
  char target[160] = "NULL";
  choose_sink(world, at, &sink);
  if (world->model.sinks[at].registered)
    return;
  if (by_file)
    sqlite3_snprintf(sizeof target, target, "'file://%s'", folder_of(world, at, sink.target));
  const char *start = literal(sink.start);
  if (sink.start == 0 && one_in(2))
    start = "'earliest'";
  else if (sink.start == model_newest(&world->model) && one_in(2))
    start = "'latest'";
  const int rc =
      run(world,
          "INSERT INTO tidemark_sink(sink, dataset, target, format, columns, filter, start, hold, hold_rows, hold_age,"
          " max_rows) VALUES ('%s', '%s', %s, %s, %s, %s, %s, %d, %s, %s, %s)",
          sink_names[at], world->model.dataset, target, by_file ? "'ndjson'" : "NULL",
          by_file ? quoted(columns_of(&sink)) : "NULL", quoted(filter_sql[sink.filter]), start, sink.hold,
          literal(sink.hold_rows), duration(sink.hold_age_ms), literal(sink.max_rows));
  if (rc != SQLITE_OK)
    fail(world, "sink %s cannot be registered: %d, %s", sink_names[at], rc, sqlite3_errmsg(world->dbs[world->acting]));
  world->model.sinks[at] = sink;
}

/* Only what can have left nothing behind is given up. */
static bool may_give_up(const struct world *world, int sink) {
  for (int part = 0; part < PARTS; part++) {
    if (batch_has_arrived(world, sink, part))
      return false;
  }
  return true;
}

void step_unregister(struct world *world) {
  struct model *model = &world->model;
  const int sink = (int)pick(SINKS);
  if (!model->sinks[sink].registered || !may_give_up(world, sink))
    return;
  must(world, "DELETE FROM tidemark_sink WHERE sink = '%s' AND dataset = '%s'", sink_names[sink], model->dataset);
  model->sinks[sink].registered = false;
  model->sinks[sink].start = 0;
  for (int part = 0; part < PARTS; part++)
    model->batches[sink][part].open = false;
}

void step_give_up(struct world *world) {
  struct model *model = &world->model;
  const int sink = (int)pick(SINKS);
  const int part = (int)pick(PARTS);
  struct batch *batch = &model->batches[sink][part];
  if (!batch->open || batch_has_arrived(world, sink, part))
    return;
  must(world, "DELETE FROM tidemark_batch WHERE batch = %lld", (long long)batch->number);
  batch->open = false;
}

/* ---- changing ---- */

static void set_sink(struct world *world, int sink, const char *column, const char *value) {
  must(world, "UPDATE tidemark_sink SET %s = %s WHERE sink = '%s' AND dataset = '%s'", column, value, sink_names[sink],
       world->model.dataset);
}

void step_caps(struct world *world) {
  const int at = (int)pick(SINKS);
  struct sink *sink = &world->model.sinks[at];
  if (!sink->registered)
    return;
  switch (pick(4)) {
  case 0:
    sink->hold = !sink->hold;
    set_sink(world, at, "hold", literal(sink->hold));
    break;
  case 1:
    sink->hold_rows = random_cap();
    set_sink(world, at, "hold_rows", literal(sink->hold_rows));
    break;
  case 2:
    sink->hold_age_ms = random_age();
    set_sink(world, at, "hold_age", duration(sink->hold_age_ms));
    break;
  default:
    sink->state = one_in(2) ? ACTIVE : (enum state)pick(STATES);
    set_sink(world, at, "state", quoted(state_names[sink->state]));
    break;
  }
}

void step_settings(struct world *world) {
  const int at = (int)pick(SINKS);
  struct sink *sink = &world->model.sinks[at];
  if (!sink->registered)
    return;
  switch (pick(5)) {
  case 0:
    sink->max_rows = one_in(6) ? NONE : 1 + (int64_t)pick(20);
    set_sink(world, at, "max_rows", literal(sink->max_rows));
    break;
  case 1:
    sink->min_rows = one_in(2) ? 0 : (int64_t)pick(8);
    set_sink(world, at, "min_rows", literal(sink->min_rows));
    break;
  case 2:
    if (sink_kinds[at] == BY_SQL)
      return;
    sink->filter = (enum filter)pick(FILTERS);
    set_sink(world, at, "filter", quoted(filter_sql[sink->filter]));
    break;
  case 3:
    if (sink_kinds[at] != BY_FILE)
      return;
    sink->target = sink->target == 'a' ? 'b' : 'a';
    char target[160];
    sqlite3_snprintf(sizeof target, target, "file://%s", folder_of(world, at, sink->target));
    set_sink(world, at, "target", quoted(target));
    break;
  default:
    if (sink_kinds[at] != BY_FILE)
      return;
    sink->narrow = !sink->narrow;
    set_sink(world, at, "columns", quoted(columns_of(sink)));
    break;
  }
}

/* ---- the log ---- */

/* All but the last row of a sink and partition may go. */
void step_trim(struct world *world) {
  struct model *model = &world->model;
  if (model->nlog == 0)
    return;
  const int64_t below = one_in(3) ? INT64_MAX : model->log[pick(model->nlog)].id;
  must(world,
       "DELETE FROM tidemark_export_log WHERE id < %lld AND dataset = '%s' AND id NOT IN"
       " (SELECT max(id) FROM tidemark_export_log GROUP BY sink, dataset, partition)",
       (long long)below, model->dataset);
  for (size_t i = 0; i < model->nlog; i++) {
    struct entry *entry = &model->log[i];
    entry->trimmed = entry->trimmed || (entry->id < below && entry != model_last(model, entry->sink, entry->part));
  }
}

static void rewind_by_hand(struct world *world) {
  const struct rewind *rewind = &world->rewind;
  const struct model *model = &world->model;
  const int64_t watermark = model_watermark(model, rewind->sink, rewind->part);
  must(world,
       "INSERT INTO tidemark_export_log(sink, dataset, partition, kind, since, until, reason)"
       " VALUES ('%s', '%s', %Q, 'rewind', %lld, %lld, 'by hand')",
       sink_names[rewind->sink], model->dataset, part_text(world, rewind->part), (long long)watermark,
       (long long)rewind->to);
}

void step_rewind(struct world *world) {
  struct model *model = &world->model;
  const int sink = (int)pick(SINKS);
  const int part = (int)pick((size_t)world->nparts);
  const int64_t watermark = model_watermark(model, sink, part);
  if (!model->sinks[sink].registered || watermark == 0 || model_last(model, sink, part) == NULL ||
      (in_transaction(world) && one_in(2)))
    return;
  world->rewind = (struct rewind){sink, part, (int64_t)pick((size_t)watermark)};
  const int64_t floor = ask(world, "SELECT pruned_upto FROM tidemark_stat WHERE dataset = '%s' AND partition = %Q",
                            model->dataset, part_text(world, part));
  const bool refused = model->batches[sink][part].open;
  world->doing = DOING_REWIND;
  if (!one_in(4)) {
    const int rc = run(world, "SELECT tidemark_rewind('%s', '%s', %Q, %lld, 'a replay')", sink_names[sink],
                       model->dataset, part_text(world, part), (long long)world->rewind.to);
    if ((rc == SQLITE_OK) == refused && floor < watermark)
      fail(world, "the rewind gives %d (%s)", rc, sqlite3_errmsg(world->dbs[world->acting]));
  } else if (floor < watermark && !refused) {
    if (world->rewind.to < floor)
      world->rewind.to = floor;
    rewind_by_hand(world);
  }
  observe(world);
  world->doing = DOING_OTHER;
}
