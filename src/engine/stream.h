/* The rows of one partition in a range of since, window after window: its segments, then its tail, or the other way
 * round. The part of a scan that knows where rows lie. */
#ifndef TIDE_ENGINE_STREAM_H
#define TIDE_ENGINE_STREAM_H

#include "engine/stream_shared.h"
#include "engine/window.h"
#include "store/chunks.h"

struct tide_stream {
  struct tide_stream_shared *shared;
  int64_t partition;
  struct tide_buf text;
  struct tide_val values[TIDE_SPEC_PARTITION_MAX];
  struct tide_buf value_bytes;
  int64_t above; /* rows with above < since <= upto are still to be read; the window's are not among them once it is */
  int64_t upto;  /* numbered */
  bool turned;   /* the one of segments and tail that is read first is done */
  bool tail_known;
  size_t tail_first; /* places in the shared tail still to be read */
  size_t tail_end;
  struct tide_segment *segment; /* open; frames frame_first to frame_end - 1 are still to be read */
  struct tide_spec *segment_spec;
  size_t frame_first;
  size_t frame_end;
  size_t whole_first; /* frames whole_first to whole_end - 1 lie in range with all rows */
  size_t whole_end;
  int64_t segment_start; /* its first and last since */
  int64_t segment_last;
  bool segment_deletes;
  bool segment_stays; /* no rollback of the open transaction can take it back */
  struct tide_chunk_reader reader;
  struct tide_window window;
};

int tide_stream_init(struct tide_stream *stream, struct tide_stream_shared *shared, struct tide_err *err);
void tide_stream_clear(struct tide_stream *stream);

/* Goes to a partition. false when its values rule out every row of it, and on error. */
bool tide_stream_start(struct tide_stream *stream, int64_t partition, struct tide_err *err);

/* Loads the next window with rows in range: false at the end and on error. Its since is decoded, unless the request
 * leaves that to who asks. */
bool tide_stream_next(struct tide_stream *stream, struct tide_err *err);

/* Forgets the window at hand and finds anew what is to be read after it, wherever that is now; nothing when a rollback
 * took the partition. from: what of the window was read. Look with tide_stream_shared_look first. */
enum tide_stream_from { TIDE_STREAM_AT_ROW, TIDE_STREAM_BEHIND_ROW, TIDE_STREAM_BEHIND_WINDOW };
void tide_stream_again(struct tide_stream *stream, enum tide_stream_from from, struct tide_err *err);

/* Decode since, or a column, of the window at hand, once; spec->ncolumns: ingested_at. */
int tide_stream_number(struct tide_stream *stream, struct tide_err *err);
int tide_stream_decode(struct tide_stream *stream, size_t column, struct tide_err *err);

#endif
