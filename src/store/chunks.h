/* Column chunks: _chunk(id, data), immutable, an id is never given twice. */
#ifndef TIDE_STORE_CHUNKS_H
#define TIDE_STORE_CHUNKS_H

#include "base/buf.h"
#include "base/sqlite.h"
#include "segment/segment.h"
#include "store/names.h"

/* Stores an encoded segment of a partition: its chunks from id `chunk` on, and its row. */
struct tide_chunks_place {
  int64_t partition;
  int64_t chunk;
  int64_t revision;
  int64_t level; /* it was compressed at */
};
void tide_chunks_store(sqlite3 *db, struct tide_names names, const struct tide_chunks_place *place,
                       const struct tide_segment_out *segment, struct tide_err *err);

/* Adds up what the chunks of each segment column take: sizes[i] of those of column i in all segments. SQLITE_CORRUPT_VTAB
 * for a segment that has more than n. */
void tide_chunks_sizes(sqlite3 *db, struct tide_names names, int64_t *sizes, size_t n, struct tide_err *err);

/* Reads parts of chunks through one blob handle, which moves from chunk to chunk. All zero is closed; it opens at
 * first use. */
struct tide_chunk_reader {
  sqlite3 *db;
  struct tide_names names;
  int64_t first_chunk; /* id of the chunk of segment column 0 */
  sqlite3_blob *blob;
  int64_t blob_id; /* the chunk that the handle is on */
};

/* A source for tide_segment_open; the reader must stay where it is, with first_chunk set to the segment being read. */
struct tide_chunk_source tide_chunk_reader_source(struct tide_chunk_reader *reader);
void tide_chunk_reader_close(struct tide_chunk_reader *reader);

#endif
