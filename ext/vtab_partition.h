/* The module `tidemark_partition`: one partition of a dataset as a table of its own,
 *   CREATE VIRTUAL TABLE web USING tidemark_partition(logs, source='web')
 * It has no tables behind it and keeps nothing: its CREATE statement says all, and its rows are the dataset's, through
 * the same handle. The dataset is in the table's own schema; a TEMP table may name another. */
#ifndef TIDE_EXT_VTAB_PARTITION_H
#define TIDE_EXT_VTAB_PARTITION_H

#include "engine/dataset.h"

/* Registers the module; it keeps a reference to the connection. */
int tide_vtab_partition_register(struct tide_conn *conn);

#endif
