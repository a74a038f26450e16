/* Changes an option of a dataset, for all connections: each sees it at its next look at the file. */
#ifndef TIDE_ENGINE_CONFIGURE_H
#define TIDE_ENGINE_CONFIGURE_H

#include "engine/dataset.h"

/* Sets an option to a value as a user wrote it (model/options.h); nothing is written when it has that value already.
 * Refuses (SQLITE_ERROR) with a sentence: an option that there is not, or that cannot change; a value out of its
 * range. Returns 0 or the code. */
int tide_configure(struct tide_dataset *ds, const char *option, const struct tide_val *value, struct tide_err *err);

#endif
