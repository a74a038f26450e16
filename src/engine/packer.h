/* Packs rows into segments of the dataset's size, of which it holds one frame's rows and what is encoded. Sealing and
 * compaction share it. Life: init, then for each partition
 * start, add rows ascending in since any number of times and finish; clear at any time. */
#ifndef TIDE_ENGINE_PACKER_H
#define TIDE_ENGINE_PACKER_H

#include "codec/chunk.h"
#include "engine/dataset.h"
#include "model/batch.h"
#include "segment/segment.h"

enum { TIDE_PACKER_SEGMENT_BYTES = 8 << 20 }; /* a segment with more raw bytes is full, as one with segment_rows rows */

struct tide_packer {
  struct tide_dataset *ds;
  int64_t partition;
  int64_t level;    /* zstd's */
  int64_t revision; /* of the segments made */
  int64_t next_chunk;
  int64_t format;                     /* the dataset's, as stored */
  struct tide_frame_encoder *shared;  /* of the same level, to use instead of its own; NULL: none */
  struct tide_frame_encoder *encoder; /* its own, made when it is needed, as the next one */
  struct tide_segment_writer *own;
  struct tide_segment_writer *writer; /* has the rows of the next segment: its own or another's */
  int64_t segments;                   /* made since start, as the next two */
  int64_t rows;
  int64_t stored_bytes;
};

/* A write transaction is open, and stays. On failure only clear is left. */
int tide_packer_init(struct tide_packer *packer, struct tide_dataset *ds, int64_t level, struct tide_err *err);
/* Forgets rows that are not written yet. */
void tide_packer_start(struct tide_packer *packer, int64_t partition, int64_t revision);
/* The same, to go on with a writer that has the first rows already. It is not the packer's, and must live until the
 * next start or clear. */
void tide_packer_start_with(struct tide_packer *packer, int64_t partition, int64_t revision,
                            struct tide_segment_writer *writer);

/* How many of a batch's rows first to end - 1 go into the segment that a writer has at hand, and whether they fill
 * it. */
size_t tide_packer_fits(const struct tide_options *options, const struct tide_segment_writer *writer,
                        const struct tide_batch *rows, size_t first, size_t end, bool *ret_full);

/* Adds the rows first to end - 1 of a batch whose live[row] is not 0 (all columns but the partition's decoded). */
void tide_packer_add(struct tide_packer *packer, const struct tide_batch *rows, const uint8_t *live, size_t first,
                     size_t end, struct tide_err *err);

/* The same in two steps, for who must do something before a segment is written: adds rows from *first on until the
 * segment at hand is full, then gives true with *first behind the last row added; false at the end and on error. */
bool tide_packer_fill(struct tide_packer *packer, const struct tide_batch *rows, const uint8_t *live, size_t *first,
                      size_t end, struct tide_err *err);
/* Writes the segment at hand; nothing when it has no rows. */
void tide_packer_write(struct tide_packer *packer, struct tide_err *err);

/* Writes what is left; then the handle's config has the next chunk's number and one more seal, which the caller
 * stores (tide_catalog_store_counters). */
void tide_packer_finish(struct tide_packer *packer, struct tide_err *err);
void tide_packer_clear(struct tide_packer *packer);

#endif
