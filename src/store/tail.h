/* The tail: the newest rows of a dataset, not yet in segments.
 *
 *   _tail(last_since INTEGER PRIMARY KEY, partition, first_since, rows, data)
 *
 * A transaction adds one row here for each partition it wrote: a run of rows, row after row, for a single-row commit is
 * one insert into one table and nothing else. `data`:
 *
 *   u8      version: 1, plain, or 2, packed (since format 2 of the dataset)
 *   varint  rows
 *   varint  columns stored (the dataset's columns at that time less the partition columns, in their order)
 *   plain:  the rows
 *   packed: varint  size of the rows, 1 to 4 MiB
 *           u32     size of the frame
 *           one zstd frame of the rows
 *           zeros, when the whole would have fewer than 512 bytes
 *   u64     XXH3 (64 bits, seed last_since) of all before it
 *
 * and the rows, each:
 *
 *   varint  since less the one before (the first row: less first_since, so 0)
 *   zigzag  ingested_at less the one before (the first row: less 0)
 *   columns times:
 *     u8      type (enum tide_val_type)
 *     zigzag of an INT; u64 bits of a REAL, no NaN; varint size and the bytes of a TEXT or BLOB; nothing for NULL
 *
 * varint, zigzag, u32 and u64 are those of base/buf.h. */
#ifndef TIDE_STORE_TAIL_H
#define TIDE_STORE_TAIL_H

#include "base/buf.h"
#include "base/rd.h"
#include "base/sqlite.h"
#include "model/batch.h"
#include "model/spec.h"
#include "store/names.h"
#include "store/tail_index.h"
#include "store/tail_press.h"

/* ---- a run of rows being written ---- */

struct tide_tail_run {
  int64_t partition;
  int64_t first_since;
  int64_t last_since;
  int64_t last_ingested;
  int64_t rows;
  unsigned unpacked;     /* how many times in a row packing was of no use */
  unsigned pause;        /* how many times it is not tried for that */
  struct tide_buf bytes; /* the rows, behind TIDE_TAIL_FRONT_MAX bytes for what is before them in the table */
};

/* Appends a row; since ascends. values has spec->ncolumns entries. On failure the run is as before. Returns 0 or the
 * code. */
int tide_tail_run_append(struct tide_tail_run *run, const struct tide_spec *spec, int64_t since, int64_t ingested_at,
                         const struct tide_val *values, struct tide_err *err);
/* Whether it may be packed in the table: the dataset has to be of a format of which that is part (store/catalog.h). */
static inline bool tide_tail_run_may_be_packed(const struct tide_tail_run *run) {
  return run->bytes.len >= TIDE_TAIL_FRONT_MAX + TIDE_TAIL_PACKED_FROM && run->pause == 0 &&
         run->bytes.len <= TIDE_TAIL_FRONT_MAX + TIDE_TAIL_PACKED_MAX;
}
/* Inserts the run as one row of the tail, packed when it may be, names has a press and it is worth it; enters it in the
 * index, and leaves it empty (memory kept). Nothing to do when it has no rows. */
void tide_tail_run_store(struct tide_tail_run *run, sqlite3 *db, struct tide_names names, const struct tide_spec *spec,
                         struct tide_tail_index *index, struct tide_err *err);
/* Appends the run's rows to a batch. */
void tide_tail_run_decode(const struct tide_tail_run *run, const struct tide_spec *spec, struct tide_batch *batch,
                          struct tide_err *err);
/* The same in pieces: each call appends the next rows, rows_max at the most, and gives how many; 0 at the end and when
 * err is set. The run stays as it is meanwhile. */
struct tide_tail_walk {
  struct tide_rd rd;
  int64_t since;
  int64_t last_since;
  int64_t ingested_at;
  uint64_t row; /* the next one */
  uint64_t rows;
  uint64_t columns; /* that are stored of each */
};
struct tide_tail_walk tide_tail_run_walk(const struct tide_tail_run *run, const struct tide_spec *spec);
size_t tide_tail_walk_next(struct tide_tail_walk *walk, const struct tide_spec *spec, size_t rows_max,
                           struct tide_batch *batch, struct tide_err *err);
static inline void tide_tail_run_reset(struct tide_tail_run *run) {
  run->rows = 0;
  tide_buf_reset(&run->bytes);
}

/* ---- reading ---- */

/* SELECT of the data of one entry: bind last_since as ?1. */
sqlite3_stmt *tide_tail_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* The rows of an entry with above < since <= upto. */
struct tide_tail_part {
  const struct tide_tail_entry *entry;
  int64_t above;
  int64_t upto;
};
static inline struct tide_tail_part tide_tail_whole(const struct tide_tail_entry *entry) {
  return (struct tide_tail_part){.entry = entry, .above = INT64_MIN, .upto = INT64_MAX};
}

/* Appends the rows of a part to a batch. false when the tail has no such entry any more (it was sealed). Damage up to
 * the part's end is SQLITE_CORRUPT_VTAB naming table and entry. */
bool tide_tail_read(sqlite3_stmt *stmt, struct tide_names names, const struct tide_spec *spec,
                    const struct tide_tail_part *part, struct tide_batch *batch, struct tide_err *err);

#endif
