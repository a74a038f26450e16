#include "sink/metrics.h"

#include <string.h>

#include "base/mem.h"
#include "engine/retention.h"
#include "engine/stats.h"
#include "store/durable.h"
#include "store/exportlog.h"
#include "store/sink_row.h"
#include "store/sink_totals.h"
#include "store/sinks.h"

/* A dataset being read: what is found goes into the last dataset of the metrics and the sinks behind `first_sink`. */
struct reading {
  struct tide_metrics *metrics;
  struct tide_dataset *ds;
  struct tide_sink_list sinks;
  size_t first_sink;
  int64_t now_ms;
};

static void add_to(int64_t *sum, int64_t value) {
  *sum = value < INT64_MAX - *sum ? *sum + value : INT64_MAX;
}

/* ---- the lists ---- */

static void add_dataset(struct tide_metrics *metrics, const char *schema, const char *name, struct tide_err *err) {
  void *datasets = metrics->datasets;
  if (tide_grow(&datasets, &metrics->datasets_cap, metrics->ndatasets + 1, sizeof *metrics->datasets, err) != 0)
    return;
  metrics->datasets = datasets;
  metrics->datasets[metrics->ndatasets++] =
      (struct tide_metrics_dataset){.schema = tide_copy_string(schema, err), .dataset = tide_copy_string(name, err)};
}

static void add_sink(struct tide_metrics *metrics, const struct tide_sink *sink, struct tide_err *err) {
  void *sinks = metrics->sinks;
  if (tide_grow(&sinks, &metrics->sinks_cap, metrics->nsinks + 1, sizeof *metrics->sinks, err) != 0)
    return;
  metrics->sinks = sinks;
  metrics->sinks[metrics->nsinks++] = (struct tide_metrics_sink){.dataset = metrics->ndatasets - 1,
                                                                 .sink = tide_copy_string(sink->sink, err),
                                                                 .state = tide_copy_string(sink->state, err)};
}

static void drop_sinks(struct tide_metrics *metrics, size_t first) {
  while (metrics->nsinks > first) {
    struct tide_metrics_sink *sink = &metrics->sinks[--metrics->nsinks];
    tide_free(sink->sink);
    tide_free(sink->state);
  }
}

void tide_metrics_clear(struct tide_metrics *metrics) {
  drop_sinks(metrics, 0);
  for (size_t i = 0; i < metrics->ndatasets; i++) {
    tide_free(metrics->datasets[i].schema);
    tide_free(metrics->datasets[i].dataset);
    tide_free(metrics->datasets[i].error);
  }
  tide_free(metrics->sinks);
  tide_free(metrics->datasets);
  *metrics = (struct tide_metrics){0};
}

/* ---- a dataset ---- */

/* Rows past the limits that each sink keeps in a partition. */
static void add_held(const struct reading *reading, const struct tide_stat *stat, struct tide_err *err) {
  struct tide_retention retention = {0};
  struct tide_holds holds = {0};
  struct tide_metrics *metrics = reading->metrics;
  tide_retention_look(reading->ds, stat, reading->now_ms, &holds, &retention, err);
  for (size_t i = 0; i < retention.nheld && !tide_err_is_set(err); i++) {
    for (size_t j = reading->first_sink; j < metrics->nsinks; j++) {
      if (strcmp(metrics->sinks[j].sink, holds.items[i].sink) == 0)
        add_to(&metrics->sinks[j].figures[TIDE_METRICS_HELD], retention.held_rows[i]);
    }
  }
  tide_retention_clear(&retention);
  tide_holds_clear(&holds);
}

static void read_partitions(const struct reading *reading, struct tide_err *err) {
  struct tide_stat stat;
  struct tide_stats_sum sum = {0};
  int64_t *figures = reading->metrics->datasets[reading->metrics->ndatasets - 1].figures;
  struct tide_stats *stats = tide_stats_open(reading->ds, NULL, 0, 0, err);
  while (stats != NULL && tide_stats_next(stats, &stat, err)) {
    add_to(&figures[TIDE_METRICS_PARTITIONS], 1);
    add_to(&figures[TIDE_METRICS_ROWS], stat.rows);
    add_to(&figures[TIDE_METRICS_WRITTEN], stat.written);
    add_to(&figures[TIDE_METRICS_DELETED], stat.deleted);
    add_to(&figures[TIDE_METRICS_PRUNED], stat.pruned);
    if (reading->metrics->nsinks > reading->first_sink)
      add_held(reading, &stat, err);
  }
  tide_stats_close(stats);
  tide_stats_sum(reading->ds, &sum, err);
  figures[TIDE_METRICS_SEGMENTS] = sum.segments;
  figures[TIDE_METRICS_TAIL_ROWS] = sum.tail_rows;
  figures[TIDE_METRICS_RAW_BYTES] = sum.raw_bytes;
  figures[TIDE_METRICS_STORED_BYTES] = sum.stored_bytes;
}

/* ---- a sink ---- */

/* What the sink has still to do in one partition. */
static void add_lag(const struct reading *reading, const struct tide_stat *stat, int64_t above, int64_t *figures,
                    struct tide_err *err) {
  struct tide_range range = {0};
  struct tide_stats_row oldest;
  if (above >= stat->last_since)
    return;
  tide_stats_range(reading->ds, stat, above, stat->last_since, INT64_MAX, &range, err);
  if (range.rows == 0 || tide_err_is_set(err))
    return;
  figures[TIDE_METRICS_LAG_PARTITIONS]++;
  add_to(&figures[TIDE_METRICS_LAG_ROWS], range.rows);
  add_to(&figures[TIDE_METRICS_LAG_BYTES], range.raw_bytes);
  if (range.rows > figures[TIDE_METRICS_LAG_WORST])
    figures[TIDE_METRICS_LAG_WORST] = range.rows;
  int64_t age = 0;
  if (tide_stats_first(reading->ds, stat->text, stat->text_size, above, &oldest, err) &&
      !__builtin_sub_overflow(reading->now_ms, oldest.ingested_at, &age) && age > figures[TIDE_METRICS_LAG_MS])
    figures[TIDE_METRICS_LAG_MS] = age;
}

static void read_lag(const struct reading *reading, const struct tide_sink *sink, int64_t *figures,
                     struct tide_err *err) {
  struct tide_stat stat;
  sqlite3_stmt *watermarks =
      tide_watermark_prepare(reading->ds->conn->db, tide_dataset_names(reading->ds), sink->sink, err);
  struct tide_stats *stats = tide_stats_open(reading->ds, NULL, 0, sink->caught_up, err);
  while (stats != NULL && tide_stats_next(stats, &stat, err)) {
    const int64_t above = tide_watermark_get(watermarks, stat.text, stat.text_size, sink->start, err).since;
    if (!tide_err_is_set(err))
      add_lag(reading, &stat, above, figures, err);
  }
  tide_stats_close(stats);
  tide_stmt_pool_give(reading->ds->pool, watermarks);
}

static void read_sink(const struct reading *reading, const struct tide_sink *sink, int64_t *figures,
                      struct tide_err *err) {
  struct tide_sink_totals totals = {0};
  read_lag(reading, sink, figures, err);
  tide_sink_totals_read(reading->ds->conn->db, reading->ds->schema, sink->sink, sink->dataset, &totals, err);
  figures[TIDE_METRICS_OPEN] = totals.open;
  figures[TIDE_METRICS_FAILING] = totals.failing;
  figures[TIDE_METRICS_ATTEMPTS] = totals.attempts;
  figures[TIDE_METRICS_NEXT_TRY] = totals.not_before;
  figures[TIDE_METRICS_LAST_COMMIT] = totals.committed_at;
  figures[TIDE_METRICS_BATCHES] = totals.batches;
  figures[TIDE_METRICS_EXPORTED] = totals.rows;
  figures[TIDE_METRICS_SKIPPED] = totals.skipped;
  figures[TIDE_METRICS_DEAD] = totals.dead;
  figures[TIDE_METRICS_GAP] = totals.gap_rows;
  figures[TIDE_METRICS_REWOUND] = totals.rewound_rows;
  figures[TIDE_METRICS_EXPORTED_BYTES] = totals.bytes;
}

/* ---- a schema ---- */

static void read_dataset(struct reading *reading, struct tide_err *err) {
  struct tide_metrics *metrics = reading->metrics;
  struct tide_sink_list *sinks = &reading->sinks;
  const struct tide_dataset *ds = reading->ds;
  reading->now_ms = tide_dataset_now_ms(ds);
  tide_sink_list_read(ds->conn->db, ds->schema, NULL, NULL, ds->name, sinks, err);
  for (size_t i = 0; i < sinks->count && !tide_err_is_set(err); i++)
    add_sink(metrics, &sinks->sinks[i], err);
  if (!tide_err_is_set(err))
    read_partitions(reading, err);
  for (size_t i = 0; i < sinks->count && !tide_err_is_set(err); i++)
    read_sink(reading, &sinks->sinks[i], metrics->sinks[reading->first_sink + i].figures, err);
}

/* Enters damage, and takes back what was read before it was met. One that cannot be opened at all, as when a newer
 * Tidemark made it, is entered as well. */
static void take_damage(struct reading *reading, struct tide_err *err) {
  const struct tide_err damage = *err;
  struct tide_metrics_dataset *dataset = &reading->metrics->datasets[reading->metrics->ndatasets - 1];
  const bool unopened = reading->ds == NULL && damage.rc == SQLITE_ERROR;
  if ((damage.rc & 0xff) != SQLITE_CORRUPT && !unopened)
    return;
  tide_err_clear(err);
  drop_sinks(reading->metrics, reading->first_sink);
  dataset->error = tide_copy_string(damage.msg, err);
}

static void add_and_read(struct tide_metrics *metrics, struct tide_conn *conn, const char *schema, const char *name,
                         struct tide_err *err) {
  struct reading reading = {.metrics = metrics, .first_sink = metrics->nsinks};
  add_dataset(metrics, schema, name, err);
  if (tide_err_is_set(err))
    return;
  reading.ds = tide_dataset_acquire(conn, schema, name, err);
  if (reading.ds != NULL) {
    tide_stmt_pool_hold(reading.ds->pool);
    read_dataset(&reading, err);
    tide_stmt_pool_release(reading.ds->pool);
  }
  take_damage(&reading, err);
  tide_sink_list_clear(&reading.sinks);
  tide_dataset_release(reading.ds);
}

void tide_metrics_add_schema(struct tide_metrics *metrics, struct tide_conn *conn, const char *schema,
                             struct tide_err *err) {
  sqlite3_stmt *snapshot = tide_read_begin(conn->db, schema, err);
  char *name = snapshot != NULL ? tide_sinks_next_dataset(conn->db, schema, NULL, err) : NULL;
  while (name != NULL && !tide_err_is_set(err)) {
    add_and_read(metrics, conn, schema, name, err);
    char *next = tide_err_is_set(err) ? NULL : tide_sinks_next_dataset(conn->db, schema, name, err);
    tide_free(name);
    name = next;
  }
  tide_free(name);
  sqlite3_finalize(snapshot);
}
