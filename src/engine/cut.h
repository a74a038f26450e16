/* How far the limits of retention reach into a partition: the longest prefix in which every row is past one of them.
 * A row is past
 *   retention_rows   when so many rows or more are newer
 *   retention_bytes  when the newer rows and it take more bytes as stored; a row takes an equal share of the bytes of
 *                    its segment, or of its batch in the tail, so that the share is the same whatever else goes; what
 *                    the rows of one take together counts as whole bytes, rounded up
 *   retention_age    when its time (retention_by's column; where that is NULL, its ingest) is so long ago or longer
 * Rows that DELETE took count nowhere. */
#ifndef TIDE_ENGINE_CUT_H
#define TIDE_ENGINE_CUT_H

#include "engine/stats.h"

struct tide_cut {
  int64_t upto; /* every row up to it is past the limits; below the first row when none is */
  int64_t rows; /* so many: live ones above the partition's pruned_upto */
  /* A row whose time lies in the future keeps what is behind it. */
  bool has_future;
  int64_t future_since;
  int64_t future_at; /* in its column's unit; ms when it is the time of ingest */
};

/* now_ms: the time that ages count from. */
void tide_cut_find(struct tide_dataset *ds, const struct tide_stat *stat, int64_t now_ms, struct tide_cut *ret_cut,
                   struct tide_err *err);

/* The end of the longest run of rows above `above` that were all ingested at or before a time; `above` when the first
 * one was not. */
int64_t tide_cut_by_ingest(struct tide_dataset *ds, const struct tide_stat *stat, int64_t above, int64_t upto_ms,
                           struct tide_err *err);

/* ---- pure ---- */

/* How many rows, from the oldest on, must go so that the others take at most `limit` bytes: parts are in the order of
 * their rows. Exact for all numbers that the catalog lets in. */
struct tide_cut_part {
  int64_t rows;
  int64_t bytes; /* of `of` rows, the part's among them, all alike */
  int64_t of;    /* above 0, and not below rows */
};
int64_t tide_cut_rows_past_bytes(const struct tide_cut_part *parts, size_t count, int64_t limit);

/* A time in a TIMESTAMP type's unit, rounded down, at the ends of 64 bits when it is beyond them. A time above
 * INT64_MIN ms gives INT64_MIN only when it is before all that the type can say. */
int64_t tide_cut_in_unit(int64_t ms, enum tide_type type);

#endif
