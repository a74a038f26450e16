/* A segment: an immutable run of rows of one partition, ascending in since, one chunk of bytes a column. This header is
 * what the engine sees; format.h draws the bytes.
 *
 * Columns of a segment are numbered: 0 since, 1 ingested_at, 2 + i the dataset's column i. Each is cut into frames of
 * TIDE_SEGMENT_FRAME_ROWS rows that decode by themselves. Partition columns hold one value in a whole segment and are
 * not stored. */
#ifndef TIDE_SEGMENT_SEGMENT_H
#define TIDE_SEGMENT_SEGMENT_H

#include "base/buf.h"
#include "codec/chunk.h"
#include "model/batch.h"
#include "model/options.h"
#include "model/pred.h"
#include "model/spec.h"

enum {
  TIDE_SEGMENT_FRAME_ROWS = 4096,
  TIDE_SEGMENT_COLUMN_SINCE = 0,
  TIDE_SEGMENT_COLUMN_INGESTED = 1,
  TIDE_SEGMENT_COLUMN_FIRST = 2
};

/* ---- writing (seg_writer.c) ---- */

struct tide_segment_out {
  struct tide_buf meta;    /* the segment's description: rows, first and last since, per column chunk size, zone map */
  struct tide_buf *chunks; /* nchunks of them, by segment column; len 0: nothing to store (a partition
                              column, or one that is NULL in all rows) */
  size_t nchunks;
  size_t rows;
  int64_t first_since;
  int64_t last_since;
  int64_t newest_at;     /* the largest ingested_at */
  uint64_t raw_bytes;    /* of the rows, counted as tide_batch does */
  uint64_t stored_bytes; /* meta and chunks */
};
void tide_segment_out_clear(struct tide_segment_out *out);

/* Encodes rows as they come: it holds those of one frame at the most, and what it has encoded. Life: create; any number
 * of times add rows and finish, or reset to forget them; destroy at any time. The same rows and level give the same
 * bytes, however they were added. */
struct tide_segment_writer;

/* spec and encoder, which any number of writers may share, must live as long. */
struct tide_segment_writer *tide_segment_writer_create(const struct tide_spec *spec, struct tide_frame_encoder *encoder,
                                                       struct tide_err *err);
void tide_segment_writer_destroy(struct tide_segment_writer *writer); /* NULL is fine */

/* Adds rows first to first + rows - 1 of a batch, all columns but the partition's decoded. Since must ascend strictly
 * through all rows added, and they must be TIDE_OPTIONS_SEGMENT_ROWS_MAX at the most: both are asserted. A whole frame
 * of rows is not copied. Returns 0 or the code; after a failure only reset and destroy are left. */
int tide_segment_writer_add(struct tide_segment_writer *writer, const struct tide_batch *batch, size_t first,
                            size_t rows, struct tide_err *err);

size_t tide_segment_writer_rows(const struct tide_segment_writer *writer); /* since the last finish or reset */
uint64_t tide_segment_writer_raw_bytes(const struct tide_segment_writer *writer);
size_t tide_segment_writer_memory(const struct tide_segment_writer *writer); /* what it holds, about, in bytes */

/* Gives the segment of the rows added, at least one, and begins anew. ret_out is all zero or was cleared before; on
 * failure it is cleared. Returns 0 or the code. */
int tide_segment_writer_finish(struct tide_segment_writer *writer, struct tide_segment_out *ret_out,
                               struct tide_err *err);
void tide_segment_writer_reset(struct tide_segment_writer *writer);

/* All rows of a batch in one go. */
int tide_segment_write(const struct tide_spec *spec, const struct tide_batch *batch, struct tide_frame_encoder *encoder,
                       struct tide_segment_out *ret_out, struct tide_err *err);

/* ---- reading (seg_reader.c): hostile input welcome ---- */

/* Where chunk bytes come from: fills `into` with `size` bytes at `offset` of the chunk of a segment column. size and
 * offset are within the chunk size that meta states; a chunk that is shorter or missing is the source's error. Returns
 * 0 or the code. */
struct tide_chunk_source {
  int (*read)(void *context, size_t column, uint64_t offset, size_t size, void *into, struct tide_err *err);
  void *context;
};

struct tide_segment; /* opaque: an open segment and what it has cached */

/* Parses meta (copied). Damage, or what contradicts itself, is SQLITE_CORRUPT_VTAB. A segment may have fewer columns
 * than the spec (columns added later read their dflt_value). decoder: one that any number of segments may share, NULL:
 * it makes its own. Spec and decoder must live as long. */
struct tide_segment *tide_segment_open(const struct tide_spec *spec, const void *meta, size_t size,
                                       struct tide_chunk_source source, struct tide_frame_decoder *decoder,
                                       struct tide_err *err);
void tide_segment_close(struct tide_segment *segment); /* NULL is fine */

size_t tide_segment_rows(const struct tide_segment *segment);
size_t tide_segment_frames(const struct tide_segment *segment);
int64_t tide_segment_first_since(const struct tide_segment *segment);
int64_t tide_segment_last_since(const struct tide_segment *segment);

/* How many segment columns it describes; how many bytes the chunk of one of them has, 0: there is none. */
size_t tide_segment_columns(const struct tide_segment *segment);
uint64_t tide_segment_chunk_size(const struct tide_segment *segment, size_t column);

/* The zone of a dataset column in the whole segment. Views live as long as the segment and its spec. Partition columns:
 * types 0xff and not bounded (nothing known). */
void tide_segment_zone(const struct tide_segment *segment, size_t column, struct tide_zone *ret_zone);

/* The zone of a dataset column in one frame, from the chunk's header, which is read when first needed; what is known of
 * the whole segment where frames have no zones of their own. Views live as long as the segment and its spec. Returns 0
 * or the code. */
int tide_segment_frame_zone(struct tide_segment *segment, size_t frame, size_t column, struct tide_zone *ret_zone,
                            struct tide_err *err);

/* Rows of frame f: TIDE_SEGMENT_FRAME_ROWS in all but the last one. */
size_t tide_segment_frame_rows(const struct tide_segment *segment, size_t frame);

/* Decodes since (and only it) of a frame into batch->since and sets batch->rows; then, as needed, ingested_at or one
 * dataset column of the same frame into the batch, which must have the spec's number of columns and was reset before
 * the frame's first call. Checks the frame's checksum, all counts and offsets, and for since that it ascends strictly
 * within [first, last]. Damage is SQLITE_CORRUPT_VTAB with "column <name>, frame <n>" in the message; the caller adds
 * table and segment. A decoded TEXT or BLOB lies in memory of the batch. For a partition column: do not call it, the
 * value is the partition's. wanted, by row: 0 where no value is asked for, which may then come out as any number, or
 * empty; NULL: all are asked for. Returns 0 or the code. */
int tide_segment_read_since(struct tide_segment *segment, size_t frame, struct tide_batch *batch, struct tide_err *err);
int tide_segment_read_ingested(struct tide_segment *segment, size_t frame, struct tide_batch *batch,
                               struct tide_err *err);
int tide_segment_read_column(struct tide_segment *segment, size_t frame, size_t column, const uint8_t *wanted,
                             struct tide_batch *batch, struct tide_err *err);

/* Which frame may hold the first row whose since is above `since`, from what the segment knows without decoding every
 * frame (it may decode the chunk's directory): tide_segment_frames() when none can. */
int tide_segment_seek(struct tide_segment *segment, int64_t since, size_t *ret_frame, struct tide_err *err);

#endif
