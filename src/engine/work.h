/* One piece of housekeeping on a dataset: a transaction of its own, or a savepoint inside the user's, which it then
 * follows. A call does its work in such pieces, so that what was done stays when a later one fails. */
#ifndef TIDE_ENGINE_WORK_H
#define TIDE_ENGINE_WORK_H

#include "engine/dataset.h"
#include "store/durable.h"

struct tide_work {
  struct tide_dataset *ds;
  struct tide_unit unit;
};

/* Begins, flushes what is in memory and makes the cache right. Who takes rows away or rewrites them asks
 * tide_dataset_check_unread before. what: the function's name, for messages. */
void tide_work_begin(struct tide_dataset *ds, const char *what, struct tide_work *ret_work, struct tide_err *err);
/* Commits, or undoes the piece when err is set (also by the commit). */
void tide_work_end(struct tide_work *work, struct tide_err *err);

/* ---- what failed ---- */

/* Partitions that could not be worked on because they are damaged; the others were. All zero is none. */
enum { TIDE_FAILURES_LISTED = 10 };
struct tide_failure {
  char *partition;
  char message[TIDE_ERR_MSG_SIZE];
};
struct tide_failures {
  int64_t count;
  struct tide_failure list[TIDE_FAILURES_LISTED]; /* the first of them */
};

/* Takes an error that is damage (SQLITE_CORRUPT) out of err and enters it; leaves any other, which ends the call. */
void tide_failures_take(struct tide_failures *failures, const char *partition, size_t size, struct tide_err *err);
void tide_failures_clear(struct tide_failures *failures);

#endif
