/* Where pages and row groups of a Parquet file end, what a dictionary is worth, and how pages are compressed: all
 * that decides its bytes, besides its rows, the level and the zstd at hand. A batch that is shipped again must give
 * the same ones, so that a layout never changes: a better one is a new version, and a batch keeps the one it was
 * claimed with. */
#ifndef TIDE_SINK_PARQUET_LAYOUT_H
#define TIDE_SINK_PARQUET_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TIDE_PARQUET_LAYOUT_NEWEST = 2 };

struct tide_parquet_layout {
  const char *created_by; /* of the layout, not of a build */
  size_t page_rows;
  size_t page_bytes; /* of entries before they are laid out */
  size_t group_rows;
  size_t group_bytes;  /* that a row group holds in memory, by content; pages before compression */
  size_t index_weight; /* a byte of an index weighs as much as so many of a byte string: packed bits hardly shrink */
  bool long_matches;   /* byte strings may go to the compressor that looks for long matches alone */
};

/* The layout of a version that is known; 0: the newest. */
const struct tide_parquet_layout *tide_parquet_layout_find(int64_t version);

#endif
