/* Shipping a frozen batch: read its range, and nothing else, encode it, put it. */
#ifndef TIDE_SINK_SHIP_H
#define TIDE_SINK_SHIP_H

#include "sink/outlet.h"
#include "sink/rows.h"
#include "sink/runner.h"

/* What became of a batch. */
struct tide_shipment {
  int64_t rows; /* that the filter let through */
  int64_t skipped;
  int64_t altered;
  int64_t bytes; /* of the object as stored */
  char hash[TIDE_ENCODER_HASH_SIZE];
  bool may_have_arrived;     /* it came so far that its object may be at the target */
  struct tide_answer answer; /* tide_answer_clear; TIDE_VERDICT_TAKEN also without rows */
};

/* Ships a batch by its own frozen configuration to the outlet. Without rows left by the filter nothing is written. An
 * object of the same name is success when its rows hash the same, and otherwise an error that says so. The batch's
 * lease is renewed on the way. again: it was open before this tick, and may have left something at its target.
 * *ret_shipment is written in any case; with a failure in err nobody knows what became of the batch, but for a verdict
 * that says that nothing was sent. */
void tide_ship(struct tide_runner *runner, const struct tide_batch_row *row, bool again, struct tide_outlet *outlet,
               struct tide_shipment *ret_shipment, struct tide_err *err);

/* The encoder of a config. row and frozen say what the object says of itself; NULL: nothing that matters. */
struct tide_encoder *tide_ship_encoder(const struct tide_sink_config *config, const struct tide_rows *rows,
                                       const struct tide_batch_row *row, const struct tide_frozen *frozen,
                                       struct tide_err *err);

/* How much of a range fits: measures rows above `above` up to `upto`, without making an object of them, and gives the
 * since of the last row with which they are at most max_bytes, at least one row. */
int64_t tide_ship_measure(struct tide_dataset *ds, const struct tide_sink_config *config, const char *partition,
                          int64_t above, int64_t upto, int64_t max_bytes, struct tide_err *err);

/* Counts the rows of a range that pass the filter (config->filter not NULL), and those that do not. */
void tide_ship_count(struct tide_dataset *ds, const struct tide_sink_config *config, const char *partition,
                     int64_t above, int64_t upto, int64_t *ret_rows, int64_t *ret_skipped, struct tide_err *err);

#endif
