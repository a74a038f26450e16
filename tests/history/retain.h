/* How far a prune may go in a partition, and how far it has to, by DESIGN section 6: the longest prefix past the cut,
 * less what sinks hold. The two differ only where a limit counts bytes, which the model does not know. */
#ifndef TIDE_TESTS_HISTORY_RETAIN_H
#define TIDE_TESTS_HISTORY_RETAIN_H

#include "model.h"

struct reach {
  int64_t least; /* every row up to this since has to go */
  int64_t most;  /* no row above this one may go */
  int64_t cut;   /* no row above this one may go, whatever sinks hold */
  int held_by;   /* the sink that keeps more from going; NONE: none does */
};

struct reach retain_reach(const struct model *model, int part, int64_t now);

/* The sink with an open batch that has rows up to a since, and others above it; NONE: there is no such batch. */
int retain_cut_batch(const struct model *model, int part, int64_t upto);

#endif
