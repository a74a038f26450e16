/* The figures of datasets and sinks that an operator watches, read for the text of sink/openmetrics.h. A schema is read
 * in one snapshot. One pass over the partitions of each dataset, and one for each of its sinks over the partitions that
 * it has not all rows of. */
#ifndef TIDE_SINK_METRICS_H
#define TIDE_SINK_METRICS_H

#include "engine/dataset.h"

/* Figures of a dataset. Bytes, rows and numbers of things are whole numbers. */
enum tide_metrics_of_dataset {
  TIDE_METRICS_ROWS,
  TIDE_METRICS_WRITTEN,
  TIDE_METRICS_DELETED,
  TIDE_METRICS_PRUNED,
  TIDE_METRICS_PARTITIONS,
  TIDE_METRICS_SEGMENTS,
  TIDE_METRICS_TAIL_ROWS,
  TIDE_METRICS_RAW_BYTES,
  TIDE_METRICS_STORED_BYTES,
  TIDE_METRICS_OF_DATASET
};

/* Figures of a sink and dataset. */
enum tide_metrics_of_sink {
  TIDE_METRICS_LAG_ROWS,
  TIDE_METRICS_LAG_BYTES,
  TIDE_METRICS_LAG_MS, /* how long ago the oldest row that it has not was ingested; 0: it has all */
  TIDE_METRICS_LAG_PARTITIONS,
  TIDE_METRICS_LAG_WORST, /* rows of the partition that has most */
  TIDE_METRICS_HELD,      /* rows past the limits of retention that it keeps there */
  TIDE_METRICS_OPEN,
  TIDE_METRICS_FAILING,
  TIDE_METRICS_ATTEMPTS,
  TIDE_METRICS_NEXT_TRY,    /* ms since 1970; 0: nothing waits */
  TIDE_METRICS_LAST_COMMIT, /* ms since 1970; 0: never */
  TIDE_METRICS_BATCHES,
  TIDE_METRICS_EXPORTED,
  TIDE_METRICS_SKIPPED,
  TIDE_METRICS_DEAD,
  TIDE_METRICS_GAP,
  TIDE_METRICS_REWOUND,
  TIDE_METRICS_EXPORTED_BYTES,
  TIDE_METRICS_OF_SINK
};

struct tide_metrics_dataset {
  char *schema;
  char *dataset;
  char *error; /* NULL: all of it was read; else why not, and neither it nor its sinks have figures */
  int64_t figures[TIDE_METRICS_OF_DATASET];
};

struct tide_metrics_sink {
  size_t dataset; /* its place in the list */
  char *sink;
  char *state;
  int64_t figures[TIDE_METRICS_OF_SINK];
};

/* All zero is empty. */
struct tide_metrics {
  struct tide_metrics_dataset *datasets;
  size_t ndatasets;
  size_t datasets_cap;
  struct tide_metrics_sink *sinks; /* in the order of their datasets */
  size_t nsinks;
  size_t sinks_cap;
};

/* Adds the figures of a schema that has sink tables. Damage of a dataset, or a format that this Tidemark does not know,
 * is entered with it and does not keep the others' from being read; any other error ends the call. */
void tide_metrics_add_schema(struct tide_metrics *metrics, struct tide_conn *conn, const char *schema,
                             struct tide_err *err);
void tide_metrics_clear(struct tide_metrics *metrics);

#endif
