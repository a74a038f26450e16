/* The hash of a Parquet file that parquet_file.h wrote, from its stored bytes, in one pass from front to back: the one
 * that tide_parquet_file_finish gave. Each page is decompressed and held against its size and its CRC; the indexes
 * and the footer are walked through, so that a file that was cut anywhere is noticed.
 *
 * Anything that is not such a file is SQLITE_CORRUPT. Memory is bounded by pieces of 64 KiB and zstd's window, whatever
 * the bytes claim. `read` fills up to size bytes and gives their number, 0 at the end, -1 with err. */
#ifndef TIDE_SINK_PARQUET_HASH_H
#define TIDE_SINK_PARQUET_HASH_H

#include "base/err.h"
#include "sink/hash.h"

int tide_parquet_hash(long (*read)(void *context, void *into, size_t size, struct tide_err *err), void *context,
                      char ret_hash[TIDE_HASH_DIGITS_SIZE], struct tide_err *err);

#endif
