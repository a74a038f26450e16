/* Carries a sink's rows out: claim committed -> encode -> put -> ack. Nothing of SQLite's is open while a target
 * works; after a crash anywhere the next tick ships the recorded batch again, under the same name, with the same
 * bytes. */
#ifndef TIDE_SINK_RUNNER_H
#define TIDE_SINK_RUNNER_H

#include "base/buf.h"
#include "engine/dataset.h"
#include "sink/scheme.h"
#include "sink/terms.h"
#include "store/exportlog.h"
#include "store/sink_row.h"

/* One call's work on one schema. */
struct tide_runner {
  struct tide_conn *conn;
  const struct tide_schemes *schemes;
  const char *schema;
  const char *owner; /* this connection, as batches name it */
  const struct tide_patience *patience;
  struct tide_terms *terms; /* of the batch that was shipped last, while a tick is */
  bool now;                 /* ignore min_rows, max_delay and not_before */
  int64_t batches_left;     /* how many more may be shipped */
  /* Renews the lease of the batch under way, when it is time; called now and then in long waits. NULL: none is. */
  void (*renew)(void *context, struct tide_err *err);
  void *renew_context;
  bool told; /* the target was told of this tick: claims count no other */
};

/* What a tick of one sink did. */
struct tide_tick {
  int64_t batches;
  int64_t rows;
  int64_t skipped;
  int64_t dead;    /* rows set aside */
  int64_t altered; /* rows with a value that the format could not hold exactly */
  int64_t bytes;
  int64_t failed;
  int64_t waiting;          /* partitions that wait for company, for their next try, or for another process */
  int64_t stopped;          /* sinks that are blocked or diverged: nothing goes on until somebody does something */
  const char *state;        /* that the sink came to in this tick, a constant; NULL: the one it had */
  bool more;                /* stopped at max_batches */
  struct tide_buf failures; /* JSON objects with commas between, the first TIDE_TICK_FAILURES_MAX */
};
enum { TIDE_TICK_FAILURES_MAX = 100 };
void tide_tick_clear(struct tide_tick *tick);

/* Exports what the sink has not had, up to the newest since at its start. A partition's failure goes on its batch
 * row and into the tick; err is set only by what concerns them all (no memory, interrupt, a database that is locked
 * or cannot be read). */
void tide_runner_tick(struct tide_runner *runner, const struct tide_sink *sink, struct tide_tick *ret_tick,
                      struct tide_err *err);

/* For a sink that its user drives: claims a batch for every partition that has rows and no open batch, and gives how
 * many are open. */
int64_t tide_runner_claim(struct tide_runner *runner, const struct tide_sink *sink, struct tide_err *err);

/* Acks a batch of such a sink. */
void tide_runner_ack(struct tide_runner *runner, const struct tide_batch_row *row, const char *object, int64_t bytes,
                     struct tide_ack *ret_ack, struct tide_err *err);

#endif
