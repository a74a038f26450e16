/* The sinks that a call of tidemark_export is about, and for which of them nothing is due: found out in one snapshot,
 * by a few looks at numbers that a handle keeps, however many partitions there are. Most ticks of a poll end here. */
#ifndef TIDE_SINK_DUE_H
#define TIDE_SINK_DUE_H

#include <stdbool.h>

#include "engine/dataset.h"
#include "store/sink_row.h"

struct tide_due {
  struct tide_sink_list list;
  bool *idle; /* one for each: a tick of it would find nothing. false too where only the tick can tell */
};

/* The sinks of a schema of that name and dataset (NULL: any), in order; none where there is no dataset. */
void tide_due_read(struct tide_conn *conn, const char *schema, const char *sink, const char *dataset,
                   struct tide_due *ret_due, struct tide_err *err);
void tide_due_clear(struct tide_due *due);

#endif
