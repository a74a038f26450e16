/* The rows of one partition in a range of since, frame after frame: its segments, then its tail. The part of a scan
 * that knows where rows lie. */
#ifndef TIDE_ENGINE_STREAM_H
#define TIDE_ENGINE_STREAM_H

#include "engine/dataset.h"
#include "engine/plan.h"
#include "segment/segment.h"
#include "store/chunks.h"

/* What all streams of one scan share. */
struct tide_stream_shared {
  struct tide_dataset *ds;
  struct tide_spec *spec;
  struct tide_scan_request request;
  int64_t epoch;                /* the dataset's when `tail` was copied */
  struct tide_tail_entry *tail; /* those in range, ordered by partition, then last since */
  size_t ntail;
  size_t tail_cap;
  sqlite3_stmt *segments_stmt;
  sqlite3_stmt *tail_stmt;
  sqlite3_stmt *deleted_stmt;
  sqlite3_stmt *text_stmt;
};

/* Copies the tail's index, in range and of the partition asked for. Also prepares nothing. */
void tide_stream_shared_look(struct tide_stream_shared *shared, int64_t partition, struct tide_err *err);
void tide_stream_shared_clear(struct tide_stream_shared *shared);

struct tide_stream {
  struct tide_stream_shared *shared;
  int64_t partition;
  struct tide_buf text;
  struct tide_val values[TIDE_SPEC_PARTITION_MAX];
  struct tide_buf value_bytes;
  int64_t pos; /* rows at or below it are done */
  bool in_tail;
  size_t tail_at;
  struct tide_segment *segment; /* open, frames from `frame` on are still to be read */
  struct tide_spec *segment_spec;
  size_t frame;
  int64_t segment_last; /* of the frame at hand; 0: from the tail */
  bool segment_deletes;
  struct tide_chunk_reader reader;
  struct tide_batch batch; /* the frame at hand */
  uint8_t *decoded;        /* for each column, and one more for ingested_at: 1 when the batch has it for this frame */
  uint8_t *live;
  size_t live_cap;
  size_t first; /* rows first to end - 1 are in range */
  size_t end;
};

int tide_stream_init(struct tide_stream *stream, struct tide_stream_shared *shared, struct tide_err *err);
void tide_stream_clear(struct tide_stream *stream);

/* Goes to a partition's first row in range. false when its values rule out every row of it, and on error. */
bool tide_stream_start(struct tide_stream *stream, int64_t partition, struct tide_err *err);

/* Loads the next frame that has rows in range: false at the end and on error. */
bool tide_stream_next_frame(struct tide_stream *stream, struct tide_err *err);

/* Forgets the frame at hand and finds anew what is above pos, wherever that is now; nothing when a rollback took the
 * partition. Look with tide_stream_shared_look first. */
void tide_stream_again(struct tide_stream *stream, int64_t pos, struct tide_err *err);

/* Decodes a column of the frame at hand, once; spec->ncolumns: ingested_at. */
int tide_stream_decode(struct tide_stream *stream, size_t column, struct tide_err *err);

#endif
