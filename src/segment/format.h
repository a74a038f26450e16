/* The bytes of a segment, format versions 1 and 2. This file, format.c and zonemap.h alone know where things lie.
 *
 * A segment is one meta and, for each segment column (0 since, 1 ingested_at, 2 + i the dataset's column i), one chunk
 * or none. Numbers are little-endian; varint and zigzag as in base/buf.h; XXH3 is XXH3_64bits of xxHash 0.8. Segments
 * are written in version 2; one of version 1 has chunks and frames of version 1.
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
 *             n times a zone (zonemap.h)                      types 0: not stored (a partition column)
 *             and nothing behind it
 *
 * A column that is NULL in all rows has no chunk: its types are 1. A column that is not stored has none either: its
 * types are 0.
 *
 * CHUNK
 *   0      1  format version
 *   1      8  XXH3 of bytes 9 to the end of the header, seed = version
 *   9         from version 2 on
 *                 varint size of the templates                0: there are none
 *                 u32 low half of the XXH3 of their bytes     only when there are some
 *             for each frame (TIDE_SEGMENT_FRAME_ROWS rows, fewer in the last)
 *                 varint size of the frame
 *                 u32 low half of the XXH3 of its bytes
 *             in the chunk of since, for each frame but the first
 *                 varint its first since - the one of the frame before
 *             in chunks of dataset columns, from version 2 on, for each frame
 *                 its zone (zonemap.h), types not 0
 *   header's end: the templates, then the frames (codec/chunk.h), one behind the other, to the end of the chunk
 *
 * What frames of version 2 may hold and those of version 1 never do: codec/chunk.h and the headers it names. */
#ifndef TIDE_SEGMENT_FORMAT_H
#define TIDE_SEGMENT_FORMAT_H

#include "segment/segment.h"

enum { TIDE_FORMAT_VERSION = 2 };

struct tide_format_entry {
  uint64_t chunk_size; /* 0: no chunk */
  uint64_t header_size;
  uint64_t checksum; /* of the header */
};

struct tide_format_meta {
  unsigned version; /* when read */
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

/* offsets: where each frame begins in the chunk when read, behind the header and templates when written; the last one
 * is the end. */
struct tide_format_directory {
  size_t nframes;
  uint64_t *offsets;       /* nframes + 1 */
  uint32_t *hashes;        /* nframes */
  int64_t *first_since;    /* nframes; NULL when read from another chunk than that of since */
  struct tide_zone *zones; /* nframes; NULL when the chunk has none, and when written */
  unsigned char *zone_bytes;
  uint64_t templates_at; /* when read: where in the chunk */
  uint64_t templates_size;
  uint32_t templates_hash;
  size_t offsets_cap, hashes_cap, first_since_cap; /* when written, as the next one */
  struct tide_buf zones_put;
};

static inline size_t tide_format_frames(size_t rows) {
  return (rows + TIDE_SEGMENT_FRAME_ROWS - 1) / TIDE_SEGMENT_FRAME_ROWS;
}
size_t tide_format_frame_rows(size_t rows, size_t frame);

int tide_format_directory_init(struct tide_format_directory *directory, size_t nframes, bool is_since,
                               struct tide_err *err);
void tide_format_directory_clear(struct tide_format_directory *directory); /* all zero is fine */

/* Enters the next frame of a chunk that is being written, into a directory that began as all zero; zone: of a dataset
 * column, else NULL. reset empties it for another chunk. */
void tide_format_directory_add(struct tide_format_directory *directory, const void *frame, size_t size,
                               int64_t first_since, const struct tide_zone *zone, struct tide_err *err);
void tide_format_directory_reset(struct tide_format_directory *directory);

uint32_t tide_format_hash(const void *frame, size_t size);

/* Appends a chunk's header and says in ret_entry what meta has to know of it and of the templates (as encoded, or none)
 * and the frames that follow. */
void tide_format_put_header(const struct tide_format_directory *directory, bool is_since,
                            const struct tide_buf *templates, struct tide_buf *out, struct tide_format_entry *ret_entry,
                            struct tide_err *err);

/* Parses and checks the header of the chunk of a segment column: entry->header_size bytes. */
int tide_format_read_header(const void *bytes, const struct tide_format_meta *meta, size_t column,
                            struct tide_format_directory *ret_directory, struct tide_err *err);

#endif
