/* What the sinks' tables have of one sink of one dataset in all: what its log adds up to, and its open batches. One
 * pass over its rows of the log, which maintenance keeps short. */
#ifndef TIDE_STORE_SINK_TOTALS_H
#define TIDE_STORE_SINK_TOTALS_H

#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"

struct tide_sink_totals {
  int64_t batches; /* that are done, those that were trimmed off the log included, as the next six */
  int64_t rows;
  int64_t skipped;
  int64_t dead;
  int64_t gap_rows;
  int64_t rewound_rows;
  int64_t bytes;
  int64_t committed_at; /* of the last batch, ms since 1970; 0: the log has none */
  int64_t open;         /* batches in flight */
  int64_t failing;      /* of those, the ones with an error */
  int64_t attempts;     /* the most that one of them has had */
  int64_t not_before;   /* ms since 1970 of the next try: when the target wants to be asked again, or else the first of
                           the failing batches is due; 0: nothing waits */
};

/* SQLITE_CORRUPT_VTAB for sums that cannot be. */
void tide_sink_totals_read(sqlite3 *db, const char *schema, const char *sink, const char *dataset,
                           struct tide_sink_totals *ret_totals, struct tide_err *err);

#endif
