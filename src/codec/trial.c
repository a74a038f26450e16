#include "codec/trial.h"

#include <string.h>

enum { LEVEL = 1, GAIN = 16 };

int tide_trial_init(struct tide_trial *trial, struct tide_err *err) {
  *trial = (struct tide_trial){.press = tide_zpress_create(LEVEL, err)};
  return err->rc;
}

void tide_trial_clear(struct tide_trial *trial) {
  tide_zpress_destroy(trial->press);
  tide_buf_clear(&trial->packed);
  *trial = (struct tide_trial){0};
}

size_t tide_trial_size(struct tide_trial *trial, const void *bytes, size_t size, struct tide_err *err) {
  tide_buf_reset(&trial->packed);
  if (tide_zpress_frame(trial->press, bytes, size, &trial->packed, err) != 0)
    return size;
  return trial->packed.len < size ? trial->packed.len : size;
}

void tide_trial_keep_better(struct tide_trial *trial, struct tide_buf *out, size_t start, size_t middle, size_t *best,
                            struct tide_err *err) {
  size_t size = out->len - middle;
  size_t packed = tide_trial_size(trial, out->data + middle, size, err);
  if (packed >= *best - *best / GAIN || tide_err_is_set(err)) {
    out->len = middle;
    return;
  }
  memmove(out->data + start, out->data + middle, size);
  out->len = start + size;
  *best = packed;
}
