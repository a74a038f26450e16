/* What a sink has still to do: batches that are open, and partitions with rows above what it has everywhere. */
#ifndef TIDE_SINK_BACKLOG_H
#define TIDE_SINK_BACKLOG_H

#include "sink/runner.h"

/* A partition whose newest since, when it was looked, is above the sink's watermark. */
struct tide_backlog_part {
  int64_t partition;
  int64_t newest;
};

/* All zero is empty. */
struct tide_backlog {
  struct tide_sink sink; /* its row */
  int64_t newest;        /* the dataset's last since */
  struct tide_backlog_part *parts;
  size_t nparts;
  size_t cap;
};

/* Reads it in one snapshot; sink: which one. false when the sink is gone or, where only_active, in another state; and
 * on error. */
bool tide_backlog_read(struct tide_backlog *ret_backlog, struct tide_runner *runner, struct tide_dataset *ds,
                       const struct tide_sink *sink, bool only_active, struct tide_err *err);
void tide_backlog_clear(struct tide_backlog *backlog);

/* The next open batch of the sink above a number: read anew for each, since no statement stays open while one is
 * shipped. false when there is none. */
bool tide_backlog_next_open(const struct tide_backlog *backlog, const struct tide_runner *runner, int64_t above,
                            struct tide_batch_row *ret_row, struct tide_err *err);

/* Whether a batch is nobody's but ours to ship. */
bool tide_backlog_may_take(const struct tide_runner *runner, const struct tide_batch_row *row, int64_t now_ms);

/* Until when the target as a whole asked to be left alone, ms since 1970; 0: it did not. */
int64_t tide_backlog_not_before(const struct tide_backlog *backlog, const struct tide_runner *runner,
                                struct tide_err *err);

#endif
