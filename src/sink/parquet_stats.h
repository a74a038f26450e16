/* What is known of a Parquet file's columns, as the statistics of a Delta Lake add action (delta-io/delta, PROTOCOL.md,
 * "Per-file Statistics"):
 *
 *   {"numRecords":2,"minValues":{"id":1},"maxValues":{"id":7},"nullCount":{"id":0}}
 *
 *   INT64, also as nanoseconds   numbers (Delta has no nanoseconds: they are long)
 *   DOUBLE                       numbers; no bound that is infinite, and none beside a NaN
 *   String, JSON                 strings, long ones cut as in the file's own statistics, the greatest rounded up; none
 *                                where it cannot be
 *   milli- and microseconds      "2026-01-01T00:00:00.000Z", microseconds rounded away from what is between; none
 *                                outside the years 0000 to 9999
 *   others                       none
 *
 * Every column has its nullCount. */
#ifndef TIDE_SINK_PARQUET_STATS_H
#define TIDE_SINK_PARQUET_STATS_H

#include "sink/parquet_meta.h"

struct tide_parquet_stats_column {
  const char *name;
  enum tide_parquet_type type;
  enum tide_parquet_logical logical;
  const struct tide_parquet_totals *totals;
};

/* Appends the JSON object. Sticky in err. */
void tide_parquet_put_stats(int64_t rows, const struct tide_parquet_stats_column *columns, size_t ncolumns,
                            struct tide_buf *out, struct tide_err *err);

#endif
