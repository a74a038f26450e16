/* The option unique: a value of its column is there once in the dataset, over all partitions. Each row that is written
 * enters its value in the shadow table at once, for SQLite's rollback to take out again what it takes back; DELETE and
 * prune take out those of the rows that go. NULLs are free. */
#ifndef TIDE_ENGINE_ONCE_H
#define TIDE_ENGINE_ONCE_H

#include <stdint.h>

#include "engine/dataset.h"

/* Enters the value of a row that is about to be appended: values has one entry a column. SQLITE_CONSTRAINT_UNIQUE, in
 * SQLite's words, when another row has it. Nothing without the option. Returns 0 or the code. */
int tide_once_enter(struct tide_dataset *ds, const struct tide_val *values, int64_t partition, int64_t since,
                    struct tide_err *err);

/* Takes out the value of a row that goes, if it has one. */
void tide_once_leave(struct tide_dataset *ds, int64_t partition, int64_t since, struct tide_err *err);

#endif
