/* The target of a tick: opened when there is a first byte for it, told of the tick before that, and kept for the
 * batches that follow. */
#ifndef TIDE_SINK_OUTLET_H
#define TIDE_SINK_OUTLET_H

#include "engine/dataset.h"
#include "sink/delta.h"
#include "sink/registry.h"
#include "store/sink_count.h"

/* All zero is closed. */
struct tide_outlet {
  struct tide_target *target;
  struct tide_delta *delta;         /* what is known of the target's table; NULL: nothing yet */
  char *url;                        /* what it was opened with */
  char *options;                    /* likewise; NULL: none */
  char *place;                      /* of its config */
  const struct tide_scheme *scheme; /* likewise */
  char *log_id;                     /* which it was told of; NULL: none yet */
  struct tide_sink_count count;
};

/* What is to go out, and for whom. */
struct tide_outlet_call {
  sqlite3 *db;
  struct tide_sink_place place;
  const char *log_id;
  const char *dataset; /* its name outside */
  int64_t batch;
  const struct tide_patience *patience;
};

/* Makes the outlet one for that config, the options in their frozen words. A target that keeps objects is told the
 * count of ticks, once for each log id, and rid of what was left under way by batches that are no more. What keeps
 * the rows from being sent there is in err: SQLITE_CANTOPEN when it is not the place that the sink wrote to. false:
 * nothing may be sent, for the target was told of ticks that this database knows nothing of; *ret_tick is the last. */
bool tide_outlet_open(struct tide_outlet *outlet, const struct tide_outlet_call *call, struct tide_sink_config *config,
                      const char *options, int64_t *ret_tick, struct tide_err *err);
void tide_outlet_close(struct tide_outlet *outlet);

/* Whether a failure is the place's, and not of what was to go there: it could not be opened or told of the tick, or it
 * is elsewhere and does not answer as it should. */
bool tide_outlet_is_to_blame(const struct tide_outlet *outlet, const struct tide_err *failure);

/* Says that a target was told of a tick that this database knows nothing of. what: its place, or what stands for it
 * where a URL may hold what is not to be told. */
void tide_outlet_refuse_ahead(const char *what, const char *sink, int64_t tick, struct tide_err *err);

#endif
