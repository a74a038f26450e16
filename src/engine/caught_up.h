/* How far a sink's log has the rows of every partition (caught_up in store/sink_row.h), found out for sinks that nobody
 * ticks: a tick notes it as it goes, a sink in plain SQL has nobody who could. */
#ifndef TIDE_ENGINE_CAUGHT_UP_H
#define TIDE_ENGINE_CAUGHT_UP_H

#include "engine/dataset.h"

/* For each sink of the dataset that has all there is of every partition, notes the dataset's newest since. Looks at the
 * partitions with rows above what was noted before, until one is behind. Writes nothing when there is nothing new to
 * note. A partition that is damaged leaves its sink as it is. */
void tide_caught_up_note(struct tide_dataset *ds, const char *what, struct tide_err *err);

#endif
