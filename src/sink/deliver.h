/* One batch from its target's hands to the log: shipped, and by the answer acked, split, set aside, or kept for
 * later. */
#ifndef TIDE_SINK_DELIVER_H
#define TIDE_SINK_DELIVER_H

#include "sink/outlet.h"
#include "sink/runner.h"

/* What the batches of one tick of one sink share. */
struct tide_deliveries {
  struct tide_runner *runner;
  const struct tide_sink *sink; /* its row, read in the snapshot in which the tick's work was found */
  struct tide_dataset *ds;
  struct tide_tick *tick;
  struct tide_outlet outlet;
  int64_t newest;     /* the dataset's at the start */
  bool noted;         /* that the sink has all up to newest */
  bool stopped;       /* its target takes nothing more in this tick */
  int64_t most_rows;  /* of a batch that the target lately took or refused; 0: any */
  int64_t never_more; /* rows of a batch than so, in this tick: half of one that was too large; 0: any */
};
void tide_deliveries_clear(struct tide_deliveries *deliveries); /* but for runner, tick and sink */

/* How a batch is shipped. */
enum {
  TIDE_DELIVER_AGAIN = 1,     /* it was open before this tick */
  TIDE_DELIVER_CATCHES_UP = 2 /* when it reaches `upto`, the sink has all there was at the tick's start */
};

/* Ships a batch that is ours and brings it to an end, or leaves it open with the reason on its row. A batch that was
 * split is another afterwards: *row is then the part that was shipped. false when it failed, or nothing more is to be
 * sent; err is set only when that ends the call. */
bool tide_deliver(struct tide_deliveries *deliveries, struct tide_batch_row *row, unsigned how, int64_t upto,
                  struct tide_err *err);

/* How many rows a batch of this tick should have at the most; 0: any. */
int64_t tide_deliveries_most_rows(const struct tide_deliveries *deliveries);

/* Within a transaction: notes that the sink has all up to `newest`. */
void tide_deliveries_note(struct tide_deliveries *deliveries, struct tide_err *err);

/* Puts a failure into the tick. row NULL: no batch was claimed. */
void tide_deliveries_report(struct tide_tick *tick, const struct tide_batch_row *row, const char *message,
                            int64_t retry_at, struct tide_err *err);

/* A dataset that is renamed or dropped under a tick looks as if its tables were lost: says what it is instead. sink:
 * its row as the tick found it; a dataset that was not registered then has lost something. */
void tide_deliveries_explain(const struct tide_runner *runner, const struct tide_sink *sink, struct tide_err *failure);

/* What ends a whole call, rather than one batch. */
bool tide_deliveries_concerns_all(const struct tide_err *err);

#endif
