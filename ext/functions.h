/* The SQL functions (function_call.h lists them by file). All but tidemark_version are SQLITE_DIRECTONLY, so that no
 * view or trigger of a file from elsewhere can call them. */
#ifndef TIDE_EXT_FUNCTIONS_H
#define TIDE_EXT_FUNCTIONS_H

#include "shared.h"

int tide_functions_register(struct tide_shared *shared);

#endif
