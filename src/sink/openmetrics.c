#include "sink/openmetrics.h"

#include "sink/text.h"

enum amount { NUMBER, TIME }; /* TIME: milliseconds, written as seconds */

struct family {
  const char *name;
  const char *type;
  const char *unit; /* NULL: none; else the end of the name */
  const char *help;
  enum amount amount;
  bool zero_is_none; /* no sample */
};

static const struct family of_dataset[TIDE_METRICS_OF_DATASET] = {
    [TIDE_METRICS_ROWS] = {"tidemark_dataset_rows", "gauge", NULL, "Rows that are there."},
    [TIDE_METRICS_WRITTEN] = {"tidemark_dataset_written_rows", "counter", NULL, "Rows ever written."},
    [TIDE_METRICS_DELETED] = {"tidemark_dataset_deleted_rows", "counter", NULL, "Rows that DELETE took."},
    [TIDE_METRICS_PRUNED] = {"tidemark_dataset_pruned_rows", "counter", NULL, "Rows that retention took."},
    [TIDE_METRICS_PARTITIONS] = {"tidemark_dataset_partitions", "gauge", NULL, "Partitions, empty ones included."},
    [TIDE_METRICS_SEGMENTS] = {"tidemark_dataset_segments", "gauge", NULL, "Compressed segments."},
    [TIDE_METRICS_TAIL_ROWS] = {"tidemark_dataset_tail_rows", "gauge", NULL, "Rows not yet sealed into segments."},
    [TIDE_METRICS_RAW_BYTES] = {"tidemark_dataset_raw_bytes", "gauge", "bytes", "Size before compression."},
    [TIDE_METRICS_STORED_BYTES] = {"tidemark_dataset_stored_bytes", "gauge", "bytes", "Size as stored."},
};

static const struct family of_sink[TIDE_METRICS_OF_SINK] = {
    [TIDE_METRICS_LAG_ROWS] = {"tidemark_sink_lag_rows", "gauge", NULL, "Rows that the sink has not had."},
    [TIDE_METRICS_LAG_BYTES] = {"tidemark_sink_lag_bytes", "gauge", "bytes", "About their size before compression."},
    [TIDE_METRICS_LAG_MS] = {"tidemark_sink_lag_seconds", "gauge", "seconds",
                             "Age of the oldest row that the sink has not had.", TIME},
    [TIDE_METRICS_LAG_PARTITIONS] = {"tidemark_sink_lag_partitions", "gauge", NULL,
                                     "Partitions with rows that the sink has not had."},
    [TIDE_METRICS_LAG_WORST] = {"tidemark_sink_lag_worst_partition_rows", "gauge", NULL,
                                "Rows that the sink has not had in the partition with most of them."},
    [TIDE_METRICS_HELD] = {"tidemark_sink_held_rows", "gauge", NULL,
                           "Rows past the limits of retention that wait for the sink."},
    [TIDE_METRICS_OPEN] = {"tidemark_sink_open_batches", "gauge", NULL, "Batches claimed and not acknowledged."},
    [TIDE_METRICS_FAILING] = {"tidemark_sink_failing_batches", "gauge", NULL, "Open batches whose last try failed."},
    [TIDE_METRICS_ATTEMPTS] = {"tidemark_sink_batch_attempts", "gauge", NULL,
                               "Failed tries of the open batch that has most of them."},
    [TIDE_METRICS_NEXT_TRY] = {"tidemark_sink_next_try_timestamp_seconds", "gauge", "seconds",
                               "When the sink tries again what failed.", TIME, true},
    [TIDE_METRICS_LAST_COMMIT] = {"tidemark_sink_last_commit_timestamp_seconds", "gauge", "seconds",
                                  "When the last batch of the log was committed.", TIME, true},
    [TIDE_METRICS_BATCHES] = {"tidemark_sink_batches", "counter", NULL, "Batches committed."},
    [TIDE_METRICS_EXPORTED] = {"tidemark_sink_exported_rows", "counter", NULL, "Rows delivered."},
    [TIDE_METRICS_SKIPPED] = {"tidemark_sink_skipped_rows", "counter", NULL, "Rows that failed the filter."},
    [TIDE_METRICS_DEAD] = {"tidemark_sink_dead_rows", "counter", NULL, "Rows that the receiver refused, set aside."},
    [TIDE_METRICS_GAP] = {"tidemark_sink_gap_rows", "counter", NULL, "Rows that were gone before the sink had them."},
    [TIDE_METRICS_REWOUND] = {"tidemark_sink_rewound_rows", "counter", NULL, "Rows that rewinds gave back."},
    [TIDE_METRICS_EXPORTED_BYTES] = {"tidemark_sink_exported_bytes", "counter", "bytes", "Bytes delivered, encoded."},
};

/* ---- labels ---- */

static void put_value(struct tide_buf *out, const char *text, struct tide_err *err) {
  const unsigned char *at = (const unsigned char *)text;
  const unsigned char *end = at + strlen(text);
  while (at < end) {
    const int size = tide_text_sequence(at, end);
    if (size < 0)
      for (int i = 0; i < -size; i++)
        tide_buf_printf(out, err, "\\\\x%02x", at[i]);
    else if (*at == '\n')
      tide_buf_put_string(out, "\\n", err);
    else if (*at == '\\' || *at == '"')
      tide_buf_printf(out, err, "\\%c", *at);
    else
      tide_buf_put(out, at, (size_t)size, err);
    at += size < 0 ? -size : size;
  }
}

static void put_label(struct tide_buf *out, const char *between, const char *name, const char *value,
                      struct tide_err *err) {
  tide_buf_printf(out, err, "%s%s=\"", between, name);
  put_value(out, value, err);
  tide_buf_put_u8(out, '"', err);
}

static void put_dataset_labels(struct tide_buf *out, const struct tide_metrics_dataset *dataset, struct tide_err *err) {
  put_label(out, "{", "schema", dataset->schema, err);
  put_label(out, ",", "dataset", dataset->dataset, err);
}

/* ---- families ---- */

static void put_head(struct tide_buf *out, const struct family *family, struct tide_err *err) {
  tide_buf_printf(out, err, "# TYPE %s %s\n", family->name, family->type);
  if (family->unit != NULL)
    tide_buf_printf(out, err, "# UNIT %s %s\n", family->name, family->unit);
  tide_buf_printf(out, err, "# HELP %s %s\n", family->name, family->help);
}

static void begin_sample(struct tide_buf *out, const struct family *family, struct tide_err *err) {
  tide_buf_printf(out, err, "%s%s", family->name, strcmp(family->type, "counter") == 0 ? "_total" : "");
}

static void end_sample(struct tide_buf *out, const struct family *family, int64_t value, struct tide_err *err) {
  if (family->amount == TIME)
    tide_buf_printf(out, err, "} %lld.%03d\n", (long long)(value / 1000), (int)(value % 1000));
  else
    tide_buf_printf(out, err, "} %lld\n", (long long)value);
}

static void put_dataset_family(const struct tide_metrics *metrics, int figure, struct tide_buf *out,
                               struct tide_err *err) {
  const struct family *family = &of_dataset[figure];
  put_head(out, family, err);
  for (size_t i = 0; i < metrics->ndatasets; i++) {
    const struct tide_metrics_dataset *dataset = &metrics->datasets[i];
    if (dataset->error != NULL)
      continue;
    begin_sample(out, family, err);
    put_dataset_labels(out, dataset, err);
    end_sample(out, family, dataset->figures[figure], err);
  }
}

static void put_sink_family(const struct tide_metrics *metrics, int figure, struct tide_buf *out,
                            struct tide_err *err) {
  const struct family *family = &of_sink[figure];
  put_head(out, family, err);
  for (size_t i = 0; i < metrics->nsinks; i++) {
    const struct tide_metrics_sink *sink = &metrics->sinks[i];
    if (family->zero_is_none && sink->figures[figure] == 0)
      continue;
    begin_sample(out, family, err);
    put_dataset_labels(out, &metrics->datasets[sink->dataset], err);
    put_label(out, ",", "sink", sink->sink, err);
    end_sample(out, family, sink->figures[figure], err);
  }
}

static void put_readable(const struct tide_metrics *metrics, struct tide_buf *out, struct tide_err *err) {
  static const struct family readable = {.name = "tidemark_dataset_readable",
                                         .type = "gauge",
                                         .help = "1; 0 when the dataset cannot be read, and has no other figures."};
  static const struct family error = {
      .name = "tidemark_dataset_error_info", .type = "gauge", .help = "Why a dataset cannot be read."};
  put_head(out, &readable, err);
  for (size_t i = 0; i < metrics->ndatasets; i++) {
    begin_sample(out, &readable, err);
    put_dataset_labels(out, &metrics->datasets[i], err);
    end_sample(out, &readable, metrics->datasets[i].error == NULL, err);
  }
  put_head(out, &error, err);
  for (size_t i = 0; i < metrics->ndatasets; i++) {
    if (metrics->datasets[i].error == NULL)
      continue;
    begin_sample(out, &error, err);
    put_dataset_labels(out, &metrics->datasets[i], err);
    put_label(out, ",", "error", metrics->datasets[i].error, err);
    end_sample(out, &error, 1, err);
  }
}

/* A sample for each state that there is, 1 for the sink's own. */
static void put_states(const struct tide_metrics *metrics, struct tide_buf *out, struct tide_err *err) {
  static const char *const states[] = {"active", "paused", "disabled", "blocked", "diverged"};
  static const struct family family = {
      .name = "tidemark_sink_state", .type = "gauge", .help = "1 for the state that the sink is in, 0 for the others."};
  put_head(out, &family, err);
  for (size_t i = 0; i < metrics->nsinks; i++) {
    const struct tide_metrics_sink *sink = &metrics->sinks[i];
    for (size_t j = 0; j < sizeof states / sizeof *states; j++) {
      begin_sample(out, &family, err);
      put_dataset_labels(out, &metrics->datasets[sink->dataset], err);
      put_label(out, ",", "sink", sink->sink, err);
      put_label(out, ",", "state", states[j], err);
      end_sample(out, &family, strcmp(sink->state, states[j]) == 0, err);
    }
  }
}

static void put_build(const char *version, struct tide_buf *out, struct tide_err *err) {
  static const struct family family = {
      .name = "tidemark_build_info", .type = "gauge", .help = "Versions of Tidemark and SQLite."};
  put_head(out, &family, err);
  begin_sample(out, &family, err);
  put_label(out, "{", "version", version, err);
  put_label(out, ",", "sqlite", sqlite3_libversion(), err);
  end_sample(out, &family, 1, err);
}

void tide_openmetrics_put(const struct tide_metrics *metrics, const char *version, struct tide_buf *out,
                          struct tide_err *err) {
  put_build(version, out, err);
  put_readable(metrics, out, err);
  for (int i = 0; i < TIDE_METRICS_OF_DATASET; i++)
    put_dataset_family(metrics, i, out, err);
  put_states(metrics, out, err);
  for (int i = 0; i < TIDE_METRICS_OF_SINK; i++)
    put_sink_family(metrics, i, out, err);
  tide_buf_put_string(out, "# EOF", err);
}
