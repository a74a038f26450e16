/* The module `tidemark_status`: the read-only tables tidemark_dataset, tidemark_stat, tidemark_segment and
 * tidemark_lag of one schema. CREATE VIRTUAL TABLE tidemark_lag USING tidemark_status(lag). Columns are in
 * sql/REFERENCE.md. */
#ifndef TIDE_EXT_VTAB_STATUS_H
#define TIDE_EXT_VTAB_STATUS_H

#include "engine/dataset.h"

int tide_vtab_status_register(struct tide_conn *conn);

#endif
