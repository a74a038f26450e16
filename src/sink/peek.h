/* What the next tick of a sink would do. */
#ifndef TIDE_SINK_PEEK_H
#define TIDE_SINK_PEEK_H

#include "sink/runner.h"

/* Appends a JSON object:
 *   sink, dataset, state, target; retry_at when the target as a whole is left alone until then
 *   batches: the first batch of every partition that has something, in the order in which they would be shipped, each
 *     with partition, since, until, rows, object, (an open one) batch, attempts, target and retry_at, and does:
 *       "export"  claim and ship it          "retry"   ship an open one again
 *       "later"   an open one, not before retry_at      "leave"   an open one that another process works on
 *       "wait"    for company (min_rows, max_delay), or for the partition's open batch
 *   rows: of those that would be shipped; more: there are batches that are not listed (beyond TIDE_PEEK_BATCHES_MAX)
 * A sink that is not active would do nothing: its batches are what it would do if it were. It writes nothing. */
enum { TIDE_PEEK_BATCHES_MAX = 1000 };
void tide_peek(struct tide_runner *runner, const struct tide_sink *sink, struct tide_buf *json, struct tide_err *err);

#endif
