/* Now and then the state of a Delta table is saved as a whole: a checkpoint for readers, with "_last_checkpoint" to
 * find it by, and the kept copy for ourselves. */
#ifndef TIDE_SINK_DELTA_SAVE_H
#define TIDE_SINK_DELTA_SAVE_H

#include "sink/delta_table.h"
#include "sink/target.h"

/* Saves the state when that is due; the table is then the one that was saved, or cleared when another has replaced the
 * kept copy meanwhile. On failure it is of no use. `object` says whose objects they are; the version is in the log.
 * Returns 0 or the code. */
int tide_delta_save(struct tide_target *target, const struct tide_object *object, const char *folder,
                    struct tide_delta_table *table, struct tide_err *err);

#endif
