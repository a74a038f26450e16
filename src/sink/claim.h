/* Choosing and freezing a batch: which rows, under which name, by which configuration. */
#ifndef TIDE_SINK_CLAIM_H
#define TIDE_SINK_CLAIM_H

#include "sink/registry.h"
#include "sink/runner.h"

enum tide_claim_outcome {
  TIDE_CLAIM_MADE,
  TIDE_CLAIM_NOTHING, /* no row above the watermark, up to the tick's newest */
  TIDE_CLAIM_WAITS    /* rows, but too few yet; or the partition has an open batch */
};

/* Claims the next batch of one partition: rows above its watermark and up to `newest` (not beyond the partition's
 * newest row), as many as max_rows and max_bytes allow. The batch row is committed and durable when this returns
 * TIDE_CLAIM_MADE; *ret_row is then the caller's to clear. config is the sink's row decoded, ds its dataset. */
enum tide_claim_outcome tide_claim_next(struct tide_runner *runner, const struct tide_sink *sink,
                                        const struct tide_sink_config *config, struct tide_dataset *ds,
                                        int64_t partition, int64_t newest, struct tide_batch_row *ret_row,
                                        struct tide_err *err);

/* What tide_claim_next would find, without claiming. */
enum tide_claim_outcome tide_claim_look(struct tide_runner *runner, const struct tide_sink *sink,
                                        struct tide_dataset *ds, int64_t partition, int64_t newest,
                                        struct tide_err *err);

#endif
