/* The SQL functions: tidemark_flush, tidemark_check, tidemark_claim, tidemark_ack, tidemark_export, tidemark_version. What reaches
 * files is SQLITE_DIRECTONLY, so that no view or trigger of a file from elsewhere can call it. */
#ifndef TIDE_EXT_FUNCTIONS_H
#define TIDE_EXT_FUNCTIONS_H

#include "engine/dataset.h"

int tide_functions_register(struct tide_conn *conn);

#endif
