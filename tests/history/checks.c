#include "checks.h"

#include <stdio.h>
#include <string.h>

#include "retain.h"

/* ---- rows ---- */

/* The next live row of the model; NULL at the end. */
static const struct row *next_live(const struct model *model, size_t *at) {
  while (*at < model->nrows && model->rows[*at].fate != LIVE)
    ++*at;
  return *at < model->nrows ? &model->rows[(*at)++] : NULL;
}

void check_rows(struct world *world) {
  const struct row *row;
  size_t at = 0;
  sqlite3_stmt *stmt =
      query(world, "SELECT since, partition, v, body, ts, ingested_at FROM %s ORDER BY since", world->model.dataset);
  while (next(world, stmt)) {
    char body[32];
    const int64_t since = sqlite3_column_int64(stmt, 0);
    row = next_live(&world->model, &at);
    if (row == NULL || since != row->since)
      fail(world, "row %lld comes where %lld is expected", (long long)since, row != NULL ? (long long)row->since : -1);
    snprintf(body, sizeof body, "row %lld", (long long)row->value);
    const bool null_ts = sqlite3_column_type(stmt, 4) == SQLITE_NULL;
    if (strcmp((const char *)sqlite3_column_text(stmt, 1), part_text(world, row->part)) != 0 ||
        sqlite3_column_int64(stmt, 2) != row->value || strcmp((const char *)sqlite3_column_text(stmt, 3), body) != 0 ||
        null_ts != (row->ts == NONE) || (!null_ts && sqlite3_column_int64(stmt, 4) != row->ts) ||
        sqlite3_column_int64(stmt, 5) != row->at)
      fail(world, "row %lld is %s, %lld, %s, %lld, at %lld", (long long)since, sqlite3_column_text(stmt, 1),
           (long long)sqlite3_column_int64(stmt, 2), sqlite3_column_text(stmt, 3),
           (long long)sqlite3_column_int64(stmt, 4), (long long)sqlite3_column_int64(stmt, 5));
  }
  if ((row = next_live(&world->model, &at)) != NULL)
    fail(world, "row %lld is not there", (long long)row->since);
  const int part = (int)pick((size_t)world->nparts);
  const int64_t above = (int64_t)pick((size_t)model_newest(&world->model) + 1);
  const int64_t upto = above + (int64_t)pick(60);
  const int64_t count = ask(world, "SELECT count(*) FROM %s WHERE partition = %Q AND since > %lld AND since <= %lld",
                            world->model.dataset, part_text(world, part), (long long)above, (long long)upto);
  if (count != model_live(&world->model, part, above, upto))
    fail(world, "%lld rows above %lld up to %lld of %s", (long long)count, (long long)above, (long long)upto,
         part_text(world, part));
}

/* ---- what the status tables count ---- */

struct counts {
  int64_t written;
  int64_t live;
  int64_t deleted;
  int64_t newest;
  int64_t oldest_at; /* NONE: of no row */
};

static struct counts count_rows(const struct model *model, int part, int64_t above) {
  struct counts counts = {.oldest_at = NONE};
  for (size_t i = model_above(model, above); i < model->nrows; i++) {
    const struct row *row = &model->rows[i];
    if (row->part != part)
      continue;
    counts.written++;
    counts.live += row->fate == LIVE;
    counts.deleted += row->fate == DELETED;
    counts.newest = row->since;
    if (row->fate == LIVE && counts.oldest_at == NONE)
      counts.oldest_at = row->at;
  }
  return counts;
}

static int64_t nullable(sqlite3_stmt *stmt, int column) {
  return sqlite3_column_type(stmt, column) == SQLITE_NULL ? NONE : sqlite3_column_int64(stmt, column);
}

/* The row of a statement, for a message. */
static const char *row_text(sqlite3_stmt *stmt) {
  static char text[600];
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < sqlite3_column_count(stmt) && used < sizeof text; i++) {
    const char *value = (const char *)sqlite3_column_text(stmt, i);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%s", i > 0 ? ", " : "",
                             sqlite3_column_name(stmt, i), value != NULL ? value : "NULL");
  }
  return text;
}

static int parts_with_rows(const struct world *world) {
  int parts = 0;
  for (int part = 0; part < world->nparts; part++)
    parts += model_newest_of(&world->model, part) > 0;
  return parts;
}

/* What was pruned is what is not above pruned_upto. */
static void check_floor(struct world *world, int part, int64_t floor) {
  const struct model *model = &world->model;
  for (size_t i = 0; i < model->nrows; i++) {
    const struct row *row = &model->rows[i];
    if (row->part == part && row->fate != DELETED && (row->fate == PRUNED) != (row->since <= floor))
      fail(world, "%s: row %lld is %s, and pruned_upto is %lld", part_text(world, part), (long long)row->since,
           row->fate == PRUNED ? "gone" : "there", (long long)floor);
  }
  if (floor > model_newest_of(model, part))
    fail(world, "%s: pruned_upto is %lld, beyond every row", part_text(world, part), (long long)floor);
}

/* Rows past the limits that sinks keep. */
static void check_held(struct world *world, int part, int64_t held) {
  const struct model *model = &world->model;
  const struct reach reach = retain_reach(model, part, machine_now());
  const int64_t free = reach.most < reach.cut ? reach.most : reach.cut;
  const int64_t expected = model_live(model, part, 0, reach.cut) - model_live(model, part, 0, free);
  if (held != expected && model->options.bytes == NONE)
    fail(world, "%s: held_rows is %lld, expected %lld (sink %s)", part_text(world, part), (long long)held,
         (long long)expected, reach.held_by == NONE ? "none" : sink_names[reach.held_by]);
}

void check_stat(struct world *world) {
  int parts = 0;
  int64_t live = 0;
  sqlite3_stmt *stmt = query(world,
                             "SELECT partition, rows, written, deleted, last_since, oldest_at, newest_at,"
                             " pruned_upto, held_rows FROM tidemark_stat WHERE dataset = %Q",
                             world->model.dataset);
  while (next(world, stmt)) {
    const int part = part_of(world, (const char *)sqlite3_column_text(stmt, 0));
    const struct counts counts = count_rows(&world->model, part, 0);
    parts++;
    live += counts.live;
    if (sqlite3_column_int64(stmt, 1) != counts.live || sqlite3_column_int64(stmt, 2) != counts.written ||
        sqlite3_column_int64(stmt, 3) != counts.deleted || sqlite3_column_int64(stmt, 4) != counts.newest ||
        nullable(stmt, 5) != counts.oldest_at)
      fail(world,
           "tidemark_stat says %s; expected %lld rows, %lld written, %lld deleted, the last %lld, the oldest %lld",
           row_text(stmt), (long long)counts.live, (long long)counts.written, (long long)counts.deleted,
           (long long)counts.newest, (long long)counts.oldest_at);
    check_floor(world, part, sqlite3_column_int64(stmt, 7));
    check_held(world, part, sqlite3_column_int64(stmt, 8));
  }
  if (parts != parts_with_rows(world))
    fail(world, "tidemark_stat has %d partitions, expected %d", parts, parts_with_rows(world));
  stmt = query(world, "SELECT dataset, rows, last_since, partitions, written FROM tidemark_dataset WHERE dataset = %Q",
               world->model.dataset);
  while (next(world, stmt)) {
    if (strcmp((const char *)sqlite3_column_text(stmt, 0), world->model.dataset) != 0 ||
        sqlite3_column_int64(stmt, 1) != live || sqlite3_column_int64(stmt, 2) != model_newest(&world->model) ||
        sqlite3_column_int64(stmt, 3) != parts || sqlite3_column_int64(stmt, 4) != (int64_t)world->model.nrows)
      fail(world, "tidemark_dataset says %s; expected %lld rows, the last %lld", row_text(stmt), (long long)live,
           (long long)model_newest(&world->model));
  }
}

/* Segments of a partition follow each other, and each has the rows of its range. */
void check_segments(struct world *world) {
  int64_t last[PARTS] = {0};
  sqlite3_stmt *stmt = query(world,
                             "SELECT partition, first_since, last_since, rows - deleted - pruned AS live, rows, deleted"
                             " FROM tidemark_segment WHERE dataset = %Q ORDER BY partition, first_since",
                             world->model.dataset);
  while (next(world, stmt)) {
    const int part = part_of(world, (const char *)sqlite3_column_text(stmt, 0));
    const int64_t first = sqlite3_column_int64(stmt, 1);
    const int64_t live = model_live(&world->model, part, first - 1, sqlite3_column_int64(stmt, 2));
    if (first <= last[part] || sqlite3_column_int64(stmt, 3) != live ||
        model_live(&world->model, part, last[part], first - 1) != 0)
      fail(world, "tidemark_segment says %s; the one before ends at %lld, and it has %lld rows", row_text(stmt),
           (long long)last[part], (long long)live);
    last[part] = sqlite3_column_int64(stmt, 2);
  }
}

void check_lag(struct world *world) {
  const struct model *model = &world->model;
  int found = 0;
  int registered = 0;
  sqlite3_stmt *stmt = query(world,
                             "SELECT sink, partition, since, until, rows, oldest_at, state, dataset"
                             " FROM tidemark_lag WHERE dataset = %Q",
                             model->dataset);
  while (next(world, stmt)) {
    const int sink = sink_of(world, (const char *)sqlite3_column_text(stmt, 0));
    const int part = part_of(world, (const char *)sqlite3_column_text(stmt, 1));
    const int64_t watermark = model_watermark(model, sink, part);
    const struct counts counts = count_rows(model, part, watermark);
    const int64_t until = counts.newest > watermark ? counts.newest : watermark;
    found++;
    if (!model->sinks[sink].registered || sqlite3_column_int64(stmt, 2) != watermark ||
        sqlite3_column_int64(stmt, 3) != until || sqlite3_column_int64(stmt, 4) != counts.live ||
        nullable(stmt, 5) != counts.oldest_at ||
        strcmp((const char *)sqlite3_column_text(stmt, 6), state_names[model->sinks[sink].state]) != 0)
      fail(world, "tidemark_lag says %s; expected %lld rows from %lld to %lld, the oldest %lld", row_text(stmt),
           (long long)counts.live, (long long)watermark, (long long)until, (long long)counts.oldest_at);
  }
  for (int sink = 0; sink < SINKS; sink++)
    registered += model->sinks[sink].registered;
  if (found != registered * parts_with_rows(world))
    fail(world, "tidemark_lag has %d rows, expected %d", found, registered * parts_with_rows(world));
}

/* ---- the log ---- */

void check_log(struct world *world) {
  const struct model *model = &world->model;
  size_t at = 0;
  sqlite3_stmt *stmt = query(world,
                             "SELECT id, since, until, rows, skipped, generation, kind, dataset"
                             " FROM tidemark_export_log WHERE dataset = %Q ORDER BY id",
                             model->dataset);
  while (next(world, stmt)) {
    while (at < model->nlog && model->log[at].trimmed)
      at++;
    const struct entry *entry = at < model->nlog ? &model->log[at++] : NULL;
    if (entry == NULL || entry->id != sqlite3_column_int64(stmt, 0) || entry->since != sqlite3_column_int64(stmt, 1) ||
        entry->until != sqlite3_column_int64(stmt, 2) || entry->rows != sqlite3_column_int64(stmt, 3) ||
        entry->skipped != sqlite3_column_int64(stmt, 4) || entry->generation != sqlite3_column_int64(stmt, 5) ||
        strcmp((const char *)sqlite3_column_text(stmt, 6), entry_kinds[entry->kind]) != 0 ||
        strcmp((const char *)sqlite3_column_text(stmt, 7), model->dataset) != 0)
      fail(world, "the export log has %s, which it had not", row_text(stmt));
  }
  for (; at < model->nlog; at++) {
    if (!model->log[at].trimmed)
      fail(world, "log row %lld is gone", (long long)model->log[at].id);
  }
  stmt = query(world, "SELECT sink, partition, generation, since FROM tidemark_watermark WHERE dataset = %Q",
               model->dataset);
  while (next(world, stmt)) {
    const struct entry *last = model_last(model, sink_of(world, (const char *)sqlite3_column_text(stmt, 0)),
                                          part_of(world, (const char *)sqlite3_column_text(stmt, 1)));
    if (last == NULL || last->generation != sqlite3_column_int64(stmt, 2) ||
        last->until != sqlite3_column_int64(stmt, 3))
      fail(world, "tidemark_watermark says %s", row_text(stmt));
  }
}

/* What the log, what went of it, and the lag say of each sink and partition together: rule 2 of DESIGN section 8. */
static void read_sums(struct world *world, int64_t sums[SINKS][PARTS]) {
  sqlite3_stmt *stmt =
      query(world,
            "SELECT sink, partition, sum(rows) FROM ("
            "SELECT dataset, sink, partition, CASE kind WHEN 'rewind' THEN -rows ELSE rows + skipped + dead END AS rows"
            " FROM tidemark_export_log"
            " UNION ALL SELECT dataset, sink, partition, rows + skipped + dead + gap_rows - rewound_rows"
            " FROM tidemark_export_total UNION ALL SELECT dataset, sink, partition, rows FROM tidemark_lag)"
            " WHERE dataset = %Q GROUP BY 1, 2",
            world->model.dataset);
  while (next(world, stmt))
    sums[sink_of(world, (const char *)sqlite3_column_text(stmt, 0))]
        [part_of(world, (const char *)sqlite3_column_text(stmt, 1))] = sqlite3_column_int64(stmt, 2);
}

static void read_from_first(struct world *world, bool from_first[SINKS]) {
  sqlite3_stmt *stmt =
      query(world, "SELECT sink, from_first FROM tidemark_sink_state WHERE dataset = %Q", world->model.dataset);
  while (next(world, stmt))
    from_first[sink_of(world, (const char *)sqlite3_column_text(stmt, 0))] = sqlite3_column_int(stmt, 1) != 0;
}

/* A sink that began with the first row, and lost none without a gap since, has accounts of every row that nobody
 * deleted. */
static void judge_sum(struct world *world, int sink, int part, int64_t sum, bool from_first) {
  const struct model *model = &world->model;
  const struct counts counts = count_rows(model, part, 0);
  const bool lost = model->lost[sink][part] || (model_last(model, sink, part) == NULL && model->sinks[sink].start != 0);
  if (lost && from_first)
    fail(world, "sink %s is said to have missed no row, but did in %s", sink_names[sink], part_text(world, part));
  if (sum > counts.written || (!lost && sum < counts.written - counts.deleted))
    fail(world, "sink %s in %s: the log and the lag sum up to %lld rows, written were %lld, deleted %lld",
         sink_names[sink], part_text(world, part), (long long)sum, (long long)counts.written,
         (long long)counts.deleted);
}

void check_sums(struct world *world) {
  int64_t sums[SINKS][PARTS] = {{0}};
  bool from_first[SINKS] = {false};
  read_sums(world, sums);
  read_from_first(world, from_first);
  for (int sink = 0; sink < SINKS; sink++) {
    for (int part = 0; part < world->nparts && world->model.sinks[sink].registered; part++)
      judge_sum(world, sink, part, sums[sink][part], from_first[sink]);
  }
}

void check_added(struct world *world) {
  const struct model *model = &world->model;
  if (ask(world, "SELECT count(*) FROM pragma_table_info('%s') WHERE name LIKE 'added%%'", model->dataset) !=
      model->added)
    fail(world, "%d columns were added, others are there", model->added);
  for (int i = 0; i < model->added; i++) {
    if (ask(world, "SELECT count(*) FROM %s WHERE added%d IS NOT iif(since <= %lld, 'then', NULL)", model->dataset, i,
            (long long)model->added_at[i]) != 0)
      fail(world, "the column added%d is not 'then' up to row %lld and NULL behind it", i,
           (long long)model->added_at[i]);
  }
}

/* ---- all of it ---- */

void check_damage(struct world *world) {
  int rc = SQLITE_OK;
  char *text = ask_text(world, &rc, "PRAGMA integrity_check");
  if (rc != SQLITE_OK || strcmp(text, "ok") != 0)
    fail(world, "integrity_check: %d %s", rc, text);
  sqlite3_free(text);
  text = ask_text(world, &rc, "SELECT group_concat(DISTINCT tidemark_check(column1)) FROM (VALUES ('%s'), ('noise'))",
                  world->model.dataset);
  if (rc != SQLITE_OK || strcmp(text, "ok") != 0)
    fail(world, "tidemark_check: %d %s", rc, text);
  sqlite3_free(text);
}
