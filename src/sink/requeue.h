/* Sending rows that were set aside once more. */
#ifndef TIDE_SINK_REQUEUE_H
#define TIDE_SINK_REQUEUE_H

#include "sink/runner.h"

/* What became of them. */
struct tide_requeue {
  int64_t sent;
  int64_t delivered; /* gone from tidemark_dead */
  int64_t refused;   /* they stay there, with the reason of today */
  char *failure;     /* what ended it before the last row; NULL: nothing. For tide_free */
};

/* Sends every dead row of a sink by itself, the oldest first, as it was encoded, under a key of its own that names the
 * same row to a receiver that gets it twice: <log id>/<sink>/<dataset>/dead/<id>-<at>. The attempt is counted, durably,
 * before a byte leaves. It ends at the first answer that is not about the row. */
void tide_requeue(struct tide_runner *runner, const struct tide_sink *sink, struct tide_requeue *ret_requeue,
                  struct tide_err *err);

#endif
