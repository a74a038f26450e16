/* The bytes of a segment, format version 1. This file and format.c alone know where things lie.
 *
 * A segment is one meta and, for each segment column (0 since, 1 ingested_at, 2 + i the dataset's column i), one chunk
 * or none. Numbers are little-endian; varint and zigzag as in base/buf.h; XXH3 is XXH3_64bits of xxHash 0.8.
 *
 * META
 *   0      4  'T' 'S' 'E' 'G'
 *   4      1  format version                                  these three lie here in every version
 *   5      8  XXH3 of bytes 13 to the end, seed = version
 *   13        varint rows, 1 to 1,048,576
 *             zigzag first since
 *             varint last since - first since                 at least rows - 1; 0 for one row
 *             varint dataset columns n
 *             2 + n times a chunk's entry
 *                 varint size of the chunk                    0: there is none
 *                 varint size of its header                   these two only when there is one
 *                 u64 checksum of its header                  ties the chunk to this meta
 *             n times a zone
 *                 u8 types, bit (1 << enum tide_val_type)     0: not stored (a partition column)
 *                 u8 1: bounds follow, 0: none
 *                 value min, value max
 *             and nothing behind it
 *   value  u8 1 INT   zigzag
 *          u8 2 REAL  u64 bits
 *          u8 3 TEXT  u8 size (0 to 32), bytes                the same for u8 4 BLOB
 *
 * A column that is NULL in all rows has no chunk: its types are 1. A column that is not stored has none either: its
 * types are 0.
 *
 * CHUNK
 *   0      1  format version
 *   1      8  XXH3 of bytes 9 to the end of the header, seed = version
 *   9         for each frame (TIDE_SEGMENT_FRAME_ROWS rows, fewer in the last)
 *                 varint size of the frame
 *                 u32 low half of the XXH3 of its bytes
 *             in the chunk of since, for each frame but the first
 *                 varint its first since - the one of the frame before
 *   header's end: the frames (codec/chunk.h), one behind the other, to the end of the chunk */
#ifndef TIDE_SEGMENT_FORMAT_H
#define TIDE_SEGMENT_FORMAT_H

#include "segment/segment.h"

enum { TIDE_FORMAT_VERSION = 1 };

struct tide_format_entry {
  uint64_t chunk_size; /* 0: no chunk */
  uint64_t header_size;
  uint64_t checksum; /* of the header */
};

struct tide_format_meta {
  size_t rows;
  int64_t first_since;
  int64_t last_since;
  size_t ncolumns;                   /* of the dataset */
  struct tide_format_entry *entries; /* 2 + ncolumns */
  struct tide_zone *zones;           /* ncolumns; types 0 is a column that is not stored; texts are views */
};

/* Room for the entries and zones of ncolumns columns, all zero. clear frees them. */
int tide_format_meta_init(struct tide_format_meta *meta, size_t ncolumns, struct tide_err *err);
void tide_format_meta_clear(struct tide_format_meta *meta); /* all zero is fine */

void tide_format_put_meta(const struct tide_format_meta *meta, struct tide_buf *out, struct tide_err *err);

/* Parses and checks meta of at most max_columns columns. The zones' texts are views into bytes. *ret_meta is all zero
 * on failure. */
int tide_format_read_meta(const void *bytes, size_t size, size_t max_columns, struct tide_format_meta *ret_meta,
                          struct tide_err *err);

/* offsets: where each frame begins in the chunk when read, behind the header when written; the last one is the end. */
struct tide_format_directory {
  size_t nframes;
  uint64_t *offsets;                               /* nframes + 1 */
  uint32_t *hashes;                                /* nframes */
  int64_t *first_since;                            /* nframes; NULL when read from another chunk than that of since */
  size_t offsets_cap, hashes_cap, first_since_cap; /* of one that grows */
};

static inline size_t tide_format_frames(size_t rows) {
  return (rows + TIDE_SEGMENT_FRAME_ROWS - 1) / TIDE_SEGMENT_FRAME_ROWS;
}
size_t tide_format_frame_rows(size_t rows, size_t frame);

int tide_format_directory_init(struct tide_format_directory *directory, size_t nframes, bool is_since,
                               struct tide_err *err);
void tide_format_directory_clear(struct tide_format_directory *directory); /* all zero is fine */

/* Enters the next frame of a chunk that is being written, into a directory that began as all zero. */
void tide_format_directory_add(struct tide_format_directory *directory, const void *frame, size_t size,
                               int64_t first_since, struct tide_err *err);

uint32_t tide_format_hash(const void *frame, size_t size);

/* Appends a chunk's header and says in ret_entry what meta has to know of it and of the frames that follow. */
void tide_format_put_header(const struct tide_format_directory *directory, bool is_since, struct tide_buf *out,
                            struct tide_format_entry *ret_entry, struct tide_err *err);

/* Parses and checks the header of a chunk of a segment: entry->header_size bytes. is_since: the chunk of since. */
int tide_format_read_header(const void *bytes, const struct tide_format_meta *meta,
                            const struct tide_format_entry *entry, bool is_since,
                            struct tide_format_directory *ret_directory, struct tide_err *err);

#endif
