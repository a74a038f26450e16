/* The sinks of a dataset: their export log, where they stand, their open batches, and whether the log accounts for the
 * rows that were written. */
#ifndef TIDE_ENGINE_CHECK_LOG_H
#define TIDE_ENGINE_CHECK_LOG_H

#include "engine/check_report.h"

/* Appends what is wrong to the report. Rows are checked before: where they could not be read or counted, nothing is
 * said of what depends on that. */
void tide_check_log(struct tide_check *check, struct tide_err *err);

#endif
