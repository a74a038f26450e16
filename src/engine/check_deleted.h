/* The deleted rows of a dataset, walked beside its rows: both by partition, then since. What is passed over without
 * being met points at no row, and is reported. */
#ifndef TIDE_ENGINE_CHECK_DELETED_H
#define TIDE_ENGINE_CHECK_DELETED_H

#include "engine/check_report.h"

struct tide_check_deleted {
  sqlite3_stmt *stmt;
  bool there; /* the one at hand is */
  int64_t partition;
  int64_t since;
};

/* To the first one. */
void tide_check_deleted_open(struct tide_check_deleted *deleted, struct tide_check *check, struct tide_err *err);
void tide_check_deleted_close(struct tide_check_deleted *deleted);

/* Goes to the first one at or behind a place and reports those before it. */
void tide_check_deleted_pass(struct tide_check_deleted *deleted, struct tide_check *check, int64_t partition,
                             int64_t since, struct tide_err *err);

/* Passes to a row that is there: whether it is deleted. */
bool tide_check_deleted_meet(struct tide_check_deleted *deleted, struct tide_check *check, int64_t partition,
                             int64_t since, struct tide_err *err);

/* Takes those of a partition up to a since without a word, for its rows cannot be known: how many there were. */
int64_t tide_check_deleted_skip(struct tide_check_deleted *deleted, struct tide_check *check, int64_t partition,
                                int64_t upto, struct tide_err *err);

#endif
