/* How many rows lie where: the figures of the status tables, and the ranges that sinks take. Nothing here writes;
 * rows in memory are flushed first, so that a transaction sees its own. */
#ifndef TIDE_ENGINE_STATS_H
#define TIDE_ENGINE_STATS_H

#include "engine/dataset.h"

/* One partition. */
struct tide_stat {
  int64_t partition;
  const char *text; /* a view, until the iterator moves */
  size_t text_size;
  int64_t written; /* rows ever */
  int64_t deleted;
  int64_t pruned;
  int64_t pruned_upto;
  int64_t rows;
  int64_t tail_rows;
  int64_t tail_bytes; /* as stored */
  int64_t tail_raw_bytes;
  int64_t last_since;
};

/* The partitions whose newest since is above `above`, at a cost of as many as there are; or the one with that text
 * alone (NULL: all). */
struct tide_stats;
struct tide_stats *tide_stats_open(struct tide_dataset *ds, const char *text, size_t text_size, int64_t above,
                                   struct tide_err *err);
bool tide_stats_next(struct tide_stats *stats, struct tide_stat *ret_stat, struct tide_err *err);
void tide_stats_close(struct tide_stats *stats); /* NULL is fine */

/* One partition by its text, which ret_stat then has as its own; false when there is none. */
bool tide_stats_one(struct tide_dataset *ds, const char *text, size_t text_size, struct tide_stat *ret_stat,
                    struct tide_err *err);

/* The whole dataset, at a look at each partition's and segment's row. */
struct tide_stats_sum {
  int64_t rows;
  int64_t segments;
  int64_t tail_rows;
  int64_t raw_bytes;    /* the tail's too, as the next */
  int64_t stored_bytes;
};
void tide_stats_sum(struct tide_dataset *ds, struct tide_stats_sum *ret_sum, struct tide_err *err);

/* What lies in a range of one partition. */
struct tide_range {
  int64_t rows;
  int64_t until;     /* the since of the last row counted, or the range's end when all were */
  int64_t last;      /* of the last row counted in any case; 0: none was */
  int64_t raw_bytes; /* of those rows, about: whole segments as measured, parts in proportion */
};

/* Counts the live rows of a partition with above < since <= upto, at most max_rows of them. Whole segments are
 * counted by their row. stat: the partition as the connection sees it now. */
void tide_stats_range(struct tide_dataset *ds, const struct tide_stat *stat, int64_t above, int64_t upto,
                      int64_t max_rows, struct tide_range *ret_range, struct tide_err *err);

/* The first live row of a partition above a since; false when there is none. */
struct tide_stats_row {
  int64_t since;
  int64_t ingested_at; /* ms since 1970 */
};
bool tide_stats_first(struct tide_dataset *ds, const char *text, size_t text_size, int64_t above,
                      struct tide_stats_row *ret_row, struct tide_err *err);
/* The last live row of a partition; false when there is none. */
bool tide_stats_last(struct tide_dataset *ds, const struct tide_stat *stat, struct tide_stats_row *ret_row,
                     struct tide_err *err);

#endif
