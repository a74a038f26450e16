/* One segment: its row, its description, its chunks, and, unless the check is quick, every value of every column. */
#ifndef TIDE_ENGINE_CHECK_SEGMENT_H
#define TIDE_ENGINE_CHECK_SEGMENT_H

#include "engine/check_deleted.h"
#include "engine/check_report.h"

/* The partition that is walked. */
struct tide_check_partition {
  int64_t id;
  const char *text;
  bool known; /* its counts can be; pruned_upto and last_since are 0 otherwise */
  int64_t pruned_upto;
  int64_t last_since;
  int64_t end;  /* the highest since met so far */
  int64_t live; /* rows met that are there, */
  bool counted; /* unless some could not be read */
};

/* Appends what is wrong to the report, and counts its rows into the partition. sizes is tide_checks_chunk_size's
 * statement. The row's views must live as long. */
void tide_check_segment(struct tide_check *check, struct tide_check_partition *partition,
                        struct tide_check_deleted *deleted, sqlite3_stmt *sizes, const struct tide_segment_row *row,
                        struct tide_err *err);

#endif
