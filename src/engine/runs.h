/* The rows of the open transaction that are in memory: a run for each partition it wrote. A run whose rows have gone
 * out stays, empty, so that its partition is known again, also to the next transaction: whoever learns that another
 * connection may have written, or that something was rolled back, forgets those. All zero is none. */
#ifndef TIDE_ENGINE_RUNS_H
#define TIDE_ENGINE_RUNS_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/spec.h"
#include "model/val.h"
#include "segment/segment.h"
#include "store/tail.h"

enum {
  TIDE_RUNS_MAX = 1 << 17,       /* more partitions than that go out */
  TIDE_RUNS_KEPT = 1 << 8,       /* and more than that are not kept when they are empty, nor */
  TIDE_RUNS_KEPT_BYTES = 4 << 10 /* is the memory of one that has more of it */
};

struct tide_run {
  struct tide_run *next; /* of the same hash bucket */
  struct tide_run *next_of_all;
  uint64_t hash; /* of the key */
  size_t key_size;
  struct tide_tail_run rows;
  struct tide_segment_writer *writer; /* has the rows before those, encoded (engine/packing.h); NULL: there are none */
  size_t writer_memory;               /* what it held when it was last asked */
  int64_t packed_first;               /* the first and the last since in it */
  int64_t packed_last;
  unsigned char key[]; /* the partition's values, as tide_runs_find writes them */
};

struct tide_runs {
  struct tide_run **buckets;
  size_t nbuckets;      /* a power of two, at least as many as runs */
  struct tide_run *all; /* those without rows among them */
  size_t count;
  size_t filled;         /* that have rows */
  size_t bytes;          /* of memory that the rows of all take */
  struct tide_run *last; /* the one found last */
  struct tide_buf key;   /* of the row at hand */
};

/* The run of the partition that a row belongs to: values has one entry a column. NULL when there is none yet, or when
 * err is set; tide_runs_add then makes it, empty, of the partition with that id. */
struct tide_run *tide_runs_find(struct tide_runs *runs, const struct tide_spec *spec, const struct tide_val *values,
                                struct tide_err *err);
struct tide_run *tide_runs_add(struct tide_runs *runs, int64_t partition, struct tide_err *err);

static inline bool tide_run_is_empty(const struct tide_run *run) {
  return run->rows.rows == 0 && run->writer == NULL;
}

/* Appends a row, as tide_tail_run_append does. */
int tide_runs_append(struct tide_runs *runs, struct tide_run *run, const struct tide_spec *spec, int64_t since,
                     int64_t ingested_at, const struct tide_val *values, struct tide_err *err);

/* The runs with rows, ascending in last since. The caller frees the array. NULL when there are none, and on failure. */
struct tide_run **tide_runs_sorted(const struct tide_runs *runs, size_t *ret_count, struct tide_err *err);

/* Rows of a run were encoded, in its writer: those from `first` up to and with `last`. */
void tide_runs_packed(struct tide_runs *runs, struct tide_run *run, int64_t first, int64_t last);
/* All rows of a run that were not encoded are now, or have gone out with what was. */
void tide_runs_rows_packed(struct tide_runs *runs, struct tide_run *run);
/* What is encoded of a run has gone out. */
void tide_runs_packed_went_out(struct tide_runs *runs, struct tide_run *run);

/* The rows of a run, or of all, have gone out. */
void tide_runs_went_out(struct tide_runs *runs, struct tide_run *run);
void tide_runs_all_went_out(struct tide_runs *runs);

/* Forgets the runs without rows; those with rows were found by this transaction, which is sure of them. */
void tide_runs_forget(struct tide_runs *runs);
/* Frees everything, rows included. */
void tide_runs_clear(struct tide_runs *runs);

#endif
