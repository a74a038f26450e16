/* The count of a sink's ticks at its target, as a small object "_tidemark/<log id>.<sink>" that holds
 *
 *   {"tick":12,"token":"00c0ffee00c0ffee"}
 *
 * and a line end. It is compared with the database's count and written before the first byte of a tick, so that a
 * database that was restored from a backup, one that lives twice, and a target that is not the one written to are
 * noticed at the cost of one small read, however large the archive. */
#ifndef TIDE_SINK_MARKER_H
#define TIDE_SINK_MARKER_H

#include "sink/target.h"
#include "store/sink_count.h"

enum tide_marker_verdict {
  TIDE_MARKER_OURS,     /* it has the present tick, or the one before it, or there is none and never was */
  TIDE_MARKER_ANOTHERS, /* there is none and never was, but one of another sink of the same log */
  TIDE_MARKER_AHEAD,    /* it was told a tick that this database knows nothing of */
  TIDE_MARKER_MISSING,  /* there is none, though ticks were marked: not the place that this sink wrote to */
  TIDE_MARKER_BEHIND    /* it has an older one: an old copy of that place */
};

/* Reads the marker of a sink; *ret_tick is the one that it has, 0 for none. */
enum tide_marker_verdict tide_marker_look(struct tide_target *target, const char *log_id, const char *sink,
                                          const struct tide_sink_count *count, int64_t *ret_tick, struct tide_err *err);

/* Writes the present tick. token: of a batch, to tell temporary names apart. */
void tide_marker_write(struct tide_target *target, const char *log_id, const char *sink,
                       const struct tide_sink_count *count, int64_t token, struct tide_err *err);

#endif
