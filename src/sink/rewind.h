/* A replay on purpose: a sink goes back to a lower since of one partition, into a generation of its own, so that what
 * it ships again has new names and keys. */
#ifndef TIDE_SINK_REWIND_H
#define TIDE_SINK_REWIND_H

#include "engine/dataset.h"
#include "store/exportlog.h"

struct tide_rewind {
  const char *sink;
  const char *partition;
  int64_t since; /* to go back to: rows above it are shipped again */
  const char *reason;
};

/* What was done. Cleared with tide_rewind_row_clear(&row). */
struct tide_rewound {
  struct tide_rewind_row row;
  int64_t pruned_upto; /* rows up to it are gone */
  bool stopped;        /* there, though a lower since was asked for */
};

/* Writes one log row, in a transaction of its own or in the one that is open. Writes nothing when the partition's last
 * log row is this very rewind (to there, with that reason): it is what the call gives then. Refused in words: an
 * unknown sink or partition, a since that is not below where the sink stands, an open batch. */
void tide_rewind(struct tide_dataset *ds, const struct tide_rewind *rewind, struct tide_rewound *ret_rewound,
                 struct tide_err *err);

#endif
