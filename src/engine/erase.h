/* DELETE: notes a row's number as deleted and counts it where the row lies. Rows come one by one, by their since
 * alone and mostly in the order of a scan, which goes to and fro between partitions, so the frames in which the last
 * ones were found are kept, and counts are written when another is needed and at each flush. */
#ifndef TIDE_ENGINE_ERASE_H
#define TIDE_ENGINE_ERASE_H

#include "base/err.h"
#include "base/sqlite.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tide_dataset;

/* How many frames are kept at the most; beyond TIDE_ERASE_FRAMES_MIN no more than have so many rows in all. */
enum { TIDE_ERASE_FRAMES_MIN = 64, TIDE_ERASE_FRAMES_MAX = 1024, TIDE_ERASE_NUMBERS = 1 << 20 };

struct tide_erase_frame {
  int64_t partition;
  int64_t segment_last; /* the segment's last since; 0: the rows lie in the tail */
  int64_t *since;       /* of the frame's rows, ascending */
  size_t count;
  size_t cap;
  int64_t pending; /* rows deleted in that segment and partition that are not counted there yet */
};

/* Rows of one partition that a scan of the open transaction gave by number one after another: DELETE finds them all
 * before it takes the first, and by the number alone a row may be in any partition. */
struct tide_erase_hint {
  int64_t partition;
  int64_t first;
  int64_t last;
};
enum { TIDE_ERASE_HINTS_MAX = 1 << 20 };

struct tide_erase {
  int64_t epoch; /* the dataset's when the frames were found: another one, and they must be found again */
  struct tide_erase_frame *frames;
  size_t nframes;
  size_t frames_cap;
  size_t numbers; /* rows of the kept frames, as they were kept first */
  size_t at;      /* the one that had the last row */
  size_t oldest;  /* the one that gives way when no more are kept */
  struct tide_erase_hint *hints;
  size_t nhints;
  size_t hints_cap;
  size_t hint;  /* the one that had the last row */
  bool hinting; /* a scan gave a row after the last one was deleted */
};

/* Deletes the row with that number. A row of an open batch is refused (SQLITE_CONSTRAINT) with a sentence that names
 * batch and sink; one that is not there, or was deleted before, is nothing. */
void tide_erase_row(struct tide_dataset *ds, int64_t since, struct tide_err *err);

/* A scan of the open transaction gives that row. Without memory, and beyond TIDE_ERASE_HINTS_MAX, it is not noted. */
void tide_erase_hint(struct tide_erase *erase, int64_t since, int64_t partition);

/* Writes the counts that are pending. */
void tide_erase_flush(struct tide_dataset *ds, struct tide_err *err);

/* Forgets everything. */
void tide_erase_drop(struct tide_erase *erase);

#endif
