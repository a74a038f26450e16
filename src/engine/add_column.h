/* Adds a column behind the others: one row of _column and nothing else, however many rows there are. What was written
 * before reads the column's dflt_value, until compaction writes it out. */
#ifndef TIDE_ENGINE_ADD_COLUMN_H
#define TIDE_ENGINE_ADD_COLUMN_H

#include "engine/dataset.h"

/* Other connections, and this one, see the column in their next statement. *ret_added is false, and nothing is written,
 * when the dataset has that very column already. Refuses with a sentence (SQLITE_ERROR) a name that is taken, one
 * column too many, and NOT NULL without a value for old rows; SQLITE_LOCKED while a statement of this connection
 * writes. The one failure after which the column is there says so: this connection could not be made to see it. */
int tide_add_column(struct tide_dataset *ds, const struct tide_column *column, bool *ret_added, struct tide_err *err);

#endif
