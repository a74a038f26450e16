/* The module `tidemark_guard`, which the triggers of tidemark_sink read: a table-valued function that checks a
 * sink's row, in the schema it was created in, and gives the place its target names (NULL for a sink one drives
 * oneself). A bad row is an error in words. */
#ifndef TIDE_EXT_VTAB_GUARD_H
#define TIDE_EXT_VTAB_GUARD_H

#include "shared.h"

int tide_vtab_guard_register(struct tide_shared *shared);

#endif
