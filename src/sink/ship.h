/* Shipping a frozen batch: read its range, and nothing else, encode it, put it. */
#ifndef TIDE_SINK_SHIP_H
#define TIDE_SINK_SHIP_H

#include "sink/registry.h"
#include "sink/runner.h"

/* What was shipped. */
struct tide_shipment {
  int64_t rows;
  int64_t skipped; /* by the filter */
  int64_t altered;
  int64_t bytes; /* of the object as stored */
  char hash[TIDE_ENCODER_HASH_SIZE];
};

/* Ships a batch by its own frozen configuration. Without rows left by the filter nothing is written. An object of
 * the same name is success when its rows hash the same, and otherwise an error that says so. The batch's lease is
 * renewed on the way. again: it was open before this tick, and may have left something at its target. */
void tide_ship(struct tide_runner *runner, const struct tide_batch_row *row, bool again,
               struct tide_shipment *ret_shipment, struct tide_err *err);

/* How much of a range fits: encodes rows above `above` up to `upto` without keeping the bytes, and gives the since
 * of the last row with which they are at most max_bytes, at least one row. */
int64_t tide_ship_measure(struct tide_dataset *ds, const struct tide_sink_config *config, const char *partition,
                          int64_t above, int64_t upto, int64_t max_bytes, struct tide_err *err);

/* Counts the rows of a range that pass the filter (config->filter not NULL), and those that do not. */
void tide_ship_count(struct tide_dataset *ds, const struct tide_sink_config *config, const char *partition,
                     int64_t above, int64_t upto, int64_t *ret_rows, int64_t *ret_skipped, struct tide_err *err);

#endif
