/* What all streams of one scan share: what is asked for, the part of the tail that it concerns, statements. */
#ifndef TIDE_ENGINE_STREAM_SHARED_H
#define TIDE_ENGINE_STREAM_SHARED_H

#include "codec/chunk.h"
#include "engine/dataset.h"
#include "engine/plan.h"

struct tide_stream_shared {
  struct tide_dataset *ds;
  struct tide_spec *spec;
  struct tide_scan_request request;
  bool merged;                       /* several streams are read at once, by their rows' numbers */
  struct tide_known_partition known; /* the one partition that is asked for by its text; id 0: none is */
  struct tide_buf known_text;
  int64_t epoch;                /* the dataset's when `tail` was copied */
  struct tide_tail_entry *tail; /* those in range, ordered by partition, then last since */
  size_t ntail;
  size_t tail_cap;
  sqlite3_stmt *segments_stmt; /* in the request's order; these are NULL until they are needed */
  sqlite3_stmt *tail_stmt;
  sqlite3_stmt *deleted_stmt;
  sqlite3_stmt *text_stmt;
  struct tide_frame_decoder *decoder; /* of all their segments */
};

/* Takes references, holds the dataset's statements, and takes the request over. clear gives them back. */
void tide_stream_shared_init(struct tide_stream_shared *shared, struct tide_dataset *ds,
                             struct tide_scan_request *request);
void tide_stream_shared_clear(struct tide_stream_shared *shared);

/* Copies the tail's index, in range and of the partition asked for (0: of all). Also prepares nothing. */
void tide_stream_shared_look(struct tide_stream_shared *shared, int64_t partition, struct tide_err *err);

/* The places in `tail` of a partition's entries that may have rows in (above, upto]: from *ret_first to the one before
 * *ret_end. */
void tide_stream_shared_tail(const struct tide_stream_shared *shared, int64_t partition, int64_t above, int64_t upto,
                             size_t *ret_first, size_t *ret_end);

/* One of its statements, prepared at its first use. NULL when err is set. */
typedef sqlite3_stmt *tide_stream_prepare(sqlite3 *db, struct tide_names names, struct tide_err *err);
sqlite3_stmt *tide_stream_shared_need(struct tide_stream_shared *shared, sqlite3_stmt **stmt,
                                      tide_stream_prepare *prepare, struct tide_err *err);

/* The decoder, made at its first use. NULL when err is set. */
struct tide_frame_decoder *tide_stream_shared_decoder(struct tide_stream_shared *shared, struct tide_err *err);

#endif
