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

/* What of a partition may be claimed. */
struct tide_claim_reach {
  int64_t partition;
  int64_t newest;    /* its newest since at the tick's start */
  int64_t most_rows; /* 0: any */
};

/* Appends what all keys of a sink begin with: <log id>/<sink>/<dataset>, as names outside are encoded. */
void tide_claim_put_key_head(const struct tide_sink *sink, const char *log_id, struct tide_buf *key,
                             struct tide_err *err);

/* Claims the next batch of one partition: rows above its watermark and up to `newest` (not beyond the partition's
 * newest row), as many as max_rows and max_bytes allow. The batch row is committed and durable when this returns
 * TIDE_CLAIM_MADE; *ret_row is then the caller's to clear. config is the sink's row decoded, ds its dataset. */
enum tide_claim_outcome tide_claim_next(struct tide_runner *runner, const struct tide_sink *sink,
                                        const struct tide_sink_config *config, struct tide_dataset *ds,
                                        const struct tide_claim_reach *reach, struct tide_batch_row *ret_row,
                                        struct tide_err *err);

/* Replaces an open batch of a sink that forwards, of which nothing has arrived, by one of its first rows, at most
 * max_rows (at least one; fewer than it has), with the configuration that it has; committed and durable. false when it
 * is no longer there under its number, or on error; *row is the new one otherwise. */
bool tide_claim_split(struct tide_runner *runner, struct tide_dataset *ds, struct tide_batch_row *row, int64_t max_rows,
                      struct tide_err *err);

/* What tide_claim_next would claim. */
struct tide_claim_view {
  int64_t since;
  int64_t until;
  int64_t rows;
  char *partition; /* its text; tide_claim_view_clear, as object */
  char *object;    /* NULL: config has no format */
};
void tide_claim_view_clear(struct tide_claim_view *view);

/* What tide_claim_next would find, without claiming. ret_view NULL: only whether; config may then be NULL. Otherwise it
 * is written, but for its object, also with TIDE_CLAIM_WAITS. */
enum tide_claim_outcome tide_claim_look(struct tide_runner *runner, const struct tide_sink *sink,
                                        const struct tide_sink_config *config, struct tide_dataset *ds,
                                        const struct tide_claim_reach *reach, struct tide_claim_view *ret_view,
                                        struct tide_err *err);

#endif
