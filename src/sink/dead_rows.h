/* Rows of a batch that its receiver will not take, as they are to be set aside. */
#ifndef TIDE_SINK_DEAD_ROWS_H
#define TIDE_SINK_DEAD_ROWS_H

#include "sink/ship.h"
#include "store/dead.h"

/* All zero has none. */
struct tide_dead_rows {
  struct tide_dead_row *list; /* sink, dataset and partition are the batch's own and not set here */
  size_t count;
};

/* Encodes those rows of an open batch anew, each by itself: refused[].row counts the rows that its filter lets through.
 * SQLITE_IOERR when there is no such row: what the receiver has is not known then. */
int tide_dead_rows_collect(struct tide_dead_rows *ret_rows, struct tide_runner *runner,
                           const struct tide_batch_row *batch, const struct tide_refused_row *refused, size_t nrefused,
                           struct tide_err *err);
void tide_dead_rows_clear(struct tide_dead_rows *rows);

/* Within the transaction of the ack. */
void tide_dead_rows_insert(const struct tide_dead_rows *rows, struct tide_runner *runner,
                           const struct tide_batch_row *batch, int64_t now_ms, struct tide_err *err);

#endif
