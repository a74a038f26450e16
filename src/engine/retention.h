/* What may go of a partition: the rows past the dataset's limits (engine/cut.h), as far as no sink holds them.
 *
 * A sink holds the rows that it has not committed when it is registered, hold is 1 and its state is not disabled. With
 * hold_rows it holds its newest so many rows at most, with hold_age those at most that were ingested within it. The
 * rows of an open batch are held whatever its sink, unless these caps are past all of them and nobody works on the
 * batch any more: then the batch may go, but only whole. Its rows may have arrived although nobody acked them, so the
 * sink must not be given a part of them again. */
#ifndef TIDE_ENGINE_RETENTION_H
#define TIDE_ENGINE_RETENTION_H

#include "engine/cut.h"
#include "store/holds.h"

struct tide_retention {
  struct tide_cut cut;
  int64_t free_upto; /* rows up to it may go; pruned_upto of the partition when none may */
  int64_t free_rows;
  /* For each sink of the list: rows past the limits that it holds back by itself. */
  int64_t *held_rows;
  size_t nheld;
};

/* stat's rows are what the connection sees now; holds gets the partition's sinks as they are, or stays empty when no
 * row is past the limits. */
void tide_retention_look(struct tide_dataset *ds, const struct tide_stat *stat, int64_t now_ms,
                         struct tide_holds *holds, struct tide_retention *ret_retention, struct tide_err *err);

/* Of what is to go up to a since, how far to go so that no batch of the list is cut in two: the nearest end of one
 * (up) or begin (down). */
enum tide_retention_way { TIDE_RETENTION_UP, TIDE_RETENTION_DOWN };
int64_t tide_retention_whole(struct tide_dataset *ds, const struct tide_stat *stat, const struct tide_holds *holds,
                             int64_t upto, enum tide_retention_way way, struct tide_err *err);

void tide_retention_clear(struct tide_retention *retention);

#endif
