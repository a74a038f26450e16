/* The rows of a frozen range of one partition, frame by frame, with the sink's columns decoded and its filter
 * applied. It holds a snapshot only between a call of tide_rows_next and tide_rows_pause, and goes on where it was:
 * the rows of an open batch cannot be deleted or pruned, so several snapshots give what one would. */
#ifndef TIDE_SINK_ROWS_H
#define TIDE_SINK_ROWS_H

#include "engine/scan.h"
#include "sink/filter.h"
#include "sink/registry.h"

struct tide_rows {
  struct tide_dataset *ds;
  struct tide_spec *spec; /* the dataset's at open; filter and encoder look at it as long as the rows are open */
  const struct tide_sink_config *config;
  const char *partition;
  struct tide_val values[TIDE_SPEC_PARTITION_MAX]; /* of the partition columns */
  struct tide_buf value_bytes;
  int64_t at; /* rows up to it were given */
  int64_t upto;
  struct tide_filter *filter;
  sqlite3_stmt *interrupt; /* for the filter */
  sqlite3_stmt *snapshot;
  struct tide_scan *scan;
  uint8_t *keep;
  size_t keep_cap;
};

/* Rows with above < since <= upto. ds, config and partition must live as long. On failure clear it all the same. */
int tide_rows_open(struct tide_rows *rows, struct tide_dataset *ds, const struct tide_sink_config *config,
                   const char *partition, int64_t above, int64_t upto, struct tide_err *err);
void tide_rows_clear(struct tide_rows *rows);

/* The next rows: those of the batch from first to end - 1 with keep 1. live counts the rows in the range that were
 * not deleted, kept those that the filter lets through. false at the end and on error. */
struct tide_rows_slice {
  const struct tide_batch *batch;
  size_t first;
  size_t end;
  const uint8_t *keep;
  int64_t live;
  int64_t kept;
};
bool tide_rows_next(struct tide_rows *rows, struct tide_rows_slice *ret_slice, struct tide_err *err);

/* Lets the snapshot go; slices given are not valid any more. */
void tide_rows_pause(struct tide_rows *rows);

#endif
