/* The rows of a dataset: its partitions by id, each with its segments, its tail and its deleted rows, and what the
 * shadow tables count of them. */
#ifndef TIDE_ENGINE_CHECK_ROWS_H
#define TIDE_ENGINE_CHECK_ROWS_H

#include "engine/check_report.h"

/* Appends what is wrong to the report, and sets what the check has for its other parts. */
void tide_check_rows(struct tide_check *check, struct tide_err *err);

/* That no since is given twice over all partitions: by an ordered scan, or, for so many partitions that it would hold
 * too much at once, by their counts. Rows are checked before. */
void tide_check_unique(struct tide_check *check, struct tide_err *err);

#endif
