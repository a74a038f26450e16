/* The table that filters see: "row", an eponymous read-only virtual table over rows of one batch. Its columns are
 * the dataset's, with the affinities they have there, and since, partition, ingested_at. */
#ifndef TIDE_SINK_FILTER_ROW_H
#define TIDE_SINK_FILTER_ROW_H

#include "base/sqlite.h"
#include "model/batch.h"
#include "model/spec.h"

#define TIDE_FILTER_ROW "row"

/* The bytes that a text or blob may have which an expression makes of a row: so many, and twice those of the row's
 * columns that it reads, together. A value itself is as long as it is. */
enum { TIDE_FILTER_MADE_MAX = 1 << 20 };

/* What the table reads, by whoever runs a statement over it. */
struct tide_filter_row {
  const struct tide_spec *spec;
  const struct tide_batch *batch; /* NULL: no rows */
  const uint8_t *keep;            /* one byte a row: those with 0 are not in the table */
  const char *partition;
  const struct tide_val *partition_values;
  size_t at;                                                 /* the row the one cursor is at */
  size_t size_read;                                          /* of its columns that were read, each once */
  bool is_read[TIDE_SPEC_COLUMNS_MAX + TIDE_HIDDEN_COLUMNS]; /* of those, the texts and blobs */
};

/* Makes the table known to a connection, and connects it at once: that runs a CREATE TABLE, which later an authorizer
 * would see. row outlives the connection and has its spec. */
void tide_filter_row_register(sqlite3 *db, struct tide_filter_row *row, struct tide_err *err);

#endif
