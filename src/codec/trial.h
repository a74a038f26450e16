/* How many bytes a section will take once its frame is compressed: measured, at zstd's fastest level, so that an
 * encoder with more than one way to lay out its numbers can take the one that compresses best. */
#ifndef TIDE_CODEC_TRIAL_H
#define TIDE_CODEC_TRIAL_H

#include "codec/zframe.h"

/* Below so many bytes a layout that compresses better gains nothing worth a trial. */
enum { TIDE_TRIAL_MIN = 64 };

struct tide_trial {
  struct tide_zpress *press;
  struct tide_buf packed; /* reused from trial to trial */
};

int tide_trial_init(struct tide_trial *trial, struct tide_err *err);
void tide_trial_clear(struct tide_trial *trial); /* all zero is fine */

/* The smaller of size and its compressed size; size when err is set. */
size_t tide_trial_size(struct tide_trial *trial, const void *bytes, size_t size, struct tide_err *err);

/* out holds two layouts of one section: [start, middle), which takes *best bytes when compressed, and [middle, len).
 * Keeps the second one, and puts its size into *best, when it saves a sixteenth (what is laid out in bits decodes
 * faster); otherwise the first. */
void tide_trial_keep_better(struct tide_trial *trial, struct tide_buf *out, size_t start, size_t middle, size_t *best,
                            struct tide_err *err);

#endif
