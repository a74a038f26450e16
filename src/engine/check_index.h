/* The index of unique= against the rows: each that is there with a value has its entry, and no entry is of another. */
#ifndef TIDE_ENGINE_CHECK_INDEX_H
#define TIDE_ENGINE_CHECK_INDEX_H

#include "engine/check_report.h"

/* Appends what is wrong to the report; nothing without the option. Rows are checked before. quick: counts alone. */
void tide_check_index(struct tide_check *check, struct tide_err *err);

#endif
