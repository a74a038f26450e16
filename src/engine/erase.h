/* DELETE: notes a row's number as deleted and counts it where the row lies. Rows come one by one, by their since
 * alone and mostly in the order of a scan, so the frame in which the last one was found is kept, and counts are
 * written when it changes and at each flush. */
#ifndef TIDE_ENGINE_ERASE_H
#define TIDE_ENGINE_ERASE_H

#include "base/err.h"
#include "base/sqlite.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tide_dataset;

struct tide_erase {
  bool busy;    /* one of the statements is being run: an error that rolls back calls tide_erase_drop from within it */
  bool dropped; /* that happened */
  sqlite3_stmt *add_stmt;   /* into _deleted */
  sqlite3_stmt *guard_stmt; /* open batches over a since */
  int64_t epoch;            /* the dataset's when the frame was found: another one, and it must be found again */
  int64_t partition;
  int64_t segment_last; /* the segment's last since; 0: the rows lie in the tail */
  int64_t *since;       /* of the frame's rows, ascending */
  size_t count;
  size_t cap;
  int64_t pending; /* rows deleted in that segment and partition that are not counted there yet */
};

/* Deletes the row with that number. A row of an open batch is refused (SQLITE_CONSTRAINT) with a sentence that names
 * batch and sink; one that is not there, or was deleted before, is nothing. */
void tide_erase_row(struct tide_dataset *ds, int64_t since, struct tide_err *err);

/* Writes the counts that are pending. */
void tide_erase_flush(struct tide_dataset *ds, struct tide_err *err);

/* Forgets everything, statements too. */
void tide_erase_drop(struct tide_erase *erase);

#endif
