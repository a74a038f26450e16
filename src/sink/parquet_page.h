/* One leaf column of a Parquet file on its way: its entries wait until they make a page, its pages wait until the row
 * group ends and they are a column chunk. It knows nothing of rows by column or of where they come from.
 *
 * An entry is a definition level, a repetition level and, when the definition level is the leaf's highest, a value. A
 * flat OPTIONAL column has an entry a row: level 1 with its value, or 0 for NULL. Levels are written only when their
 * highest is above 0. An entry with repetition level 0 begins a row.
 *
 * Pages are of version 1: [page header][zstd frame of: repetition levels, definition levels, values], the levels each
 * as 4 bytes of length and a hybrid run, the values as parquet_values.h has them. Every page before compression
 * depends on the entries and on where pages end alone, never on zstd. */
#ifndef TIDE_SINK_PARQUET_PAGE_H
#define TIDE_SINK_PARQUET_PAGE_H

#include "codec/zframe.h"
#include "sink/hash.h"
#include "sink/parquet_bounds.h"
#include "sink/parquet_values.h"

struct tide_parquet_page {
  unsigned char *bytes; /* header and frame; owned by the leaf, NULL once they are in the file */
  size_t at;            /* of them, behind the chunk's first data page */
  size_t size;          /* header and frame */
  size_t first_row;     /* within the chunk */
  size_t nulls;         /* entries without a value */
  enum tide_parquet_encoding encoding;
  struct tide_parquet_bounds bounds;
  char digest[TIDE_HASH_DIGITS_SIZE];
};

struct tide_parquet_leaf {
  const struct tide_parquet_layout *layout;
  enum tide_parquet_type type;
  bool text; /* byte strings that are well-formed UTF-8 */
  unsigned max_def;
  unsigned max_rep;

  /* what waits to become a page */
  size_t entries;
  size_t rows;
  size_t values;
  struct tide_buf def;   /* a byte an entry, when max_def is above 0 */
  struct tide_buf rep;   /* likewise */
  struct tide_buf bytes; /* the byte strings, one behind the other */
  int64_t *numbers;      /* values: integers, the bits of doubles, the sizes of byte strings */
  size_t numbers_cap;

  /* the chunk so far */
  struct tide_parquet_dict dict;
  bool dict_refused; /* in this chunk: its pages are from now on without */
  struct tide_parquet_page *pages;
  size_t npages;
  size_t pages_cap;
  size_t chunk_entries;
  size_t chunk_rows;
  size_t packed_size; /* of the data pages, header and frame */
  size_t plain_size;  /* of the pages before compression, with their headers */
  size_t body_size;   /* of the data pages before compression, without: the same whatever zstd makes of them */
  size_t bare_size;   /* likewise of those without the dictionary */
  bool dict_used;     /* by one of its pages */
  bool takes_long;    /* its data pages go to zstd_long, as the first one of the chunk was tried */
};

/* What all leaves of a file share while pages are made. */
struct tide_parquet_press {
  struct tide_zpress *zstd;
  struct tide_zpress *zstd_long; /* zframe.h; NULL: not at this level */
  struct tide_parquet_crc_table crc_table;
  struct tide_buf body;
  struct tide_buf header;
  struct tide_buf frame;
  struct tide_parquet_scratch scratch;
};

void tide_parquet_leaf_init(struct tide_parquet_leaf *leaf, const struct tide_parquet_node *node,
                            const struct tide_parquet_layout *layout, const struct tide_parquet_place *place);
void tide_parquet_leaf_clear(struct tide_parquet_leaf *leaf);

int tide_parquet_press_init(struct tide_parquet_press *press, int zstd_level, struct tide_err *err);
void tide_parquet_press_clear(struct tide_parquet_press *press);

/* ---- entries; each of these is sticky in err ---- */

/* Room for `count` more entries (numbers and levels; byte strings grow by themselves), so that put_number and put_null
 * that many times cannot fail. */
void tide_parquet_leaf_reserve(struct tide_parquet_leaf *leaf, size_t count, struct tide_err *err);

/* After tide_parquet_leaf_reserve. A value; its definition level is the highest. */
static inline void tide_parquet_put_number(struct tide_parquet_leaf *leaf, unsigned rep, int64_t number) {
  if (leaf->max_def > 0)
    leaf->def.data[leaf->def.len++] = (unsigned char)leaf->max_def;
  if (leaf->max_rep > 0)
    leaf->rep.data[leaf->rep.len++] = (unsigned char)rep;
  leaf->numbers[leaf->values++] = number;
  leaf->entries++;
  leaf->rows += rep == 0;
}

/* After tide_parquet_leaf_reserve. No value: NULL, an empty list, or nothing at a level above; def is below the
 * highest. */
static inline void tide_parquet_put_null(struct tide_parquet_leaf *leaf, unsigned rep, unsigned def) {
  leaf->def.data[leaf->def.len++] = (unsigned char)def;
  if (leaf->max_rep > 0)
    leaf->rep.data[leaf->rep.len++] = (unsigned char)rep;
  leaf->entries++;
  leaf->rows += rep == 0;
}

/* A byte string; room is made here. */
void tide_parquet_put_bytes(struct tide_parquet_leaf *leaf, unsigned rep, const void *bytes, size_t size,
                            struct tide_err *err);

/* n entries of a leaf of a top-level column that is no group: each a row, with a value where present is 1, and NULL
 * where it is 0 (in an OPTIONAL column). Byte strings are in leaf->bytes by then, and their sizes are the numbers. */
void tide_parquet_put_flat(struct tide_parquet_leaf *leaf, const uint8_t *present, const int64_t *numbers, size_t n,
                           struct tide_err *err);

/* ---- pages and the chunk ---- */

/* Bytes that wait as entries, and what the chunk takes in memory, by its content alone: pages as if they did not
 * shrink. Those without a dictionary count twice, for a row group that ends early costs them nothing, and the bytes
 * that shrink least, which stand once here and once in the caller's buffer, are theirs. */
size_t tide_parquet_leaf_waiting(const struct tide_parquet_leaf *leaf);
size_t tide_parquet_leaf_weight(const struct tide_parquet_leaf *leaf);

/* Makes a page of what waits; nothing when nothing does. */
void tide_parquet_leaf_end_page(struct tide_parquet_leaf *leaf, struct tide_parquet_press *press, struct tide_err *err);

/* Appends the dictionary's page, header and frame, for a chunk with entries that use it (ret_digest is its digest),
 * and gives its size; 0 when there is none. The data pages follow it in the file. */
size_t tide_parquet_leaf_put_dict(struct tide_parquet_leaf *leaf, struct tide_parquet_press *press,
                                  struct tide_buf *out, char ret_digest[TIDE_HASH_DIGITS_SIZE], struct tide_err *err);

/* Appends the data pages, each of which is given up when it is there. */
void tide_parquet_leaf_put_pages(struct tide_parquet_leaf *leaf, struct tide_buf *out, struct tide_err *err);

/* Forgets the chunk; what one value needed alone is freed. */
void tide_parquet_leaf_reset(struct tide_parquet_leaf *leaf);

/* ---- the digest of a page ---- */

enum tide_parquet_page_type { TIDE_PARQUET_DATA_PAGE = 0, TIDE_PARQUET_DICTIONARY_PAGE = 2 };

/* Begins a page's digest: of its type, encoding and number of entries, 4 bytes each, then of its bytes before
 * compression, which the caller adds. The same for whoever reads the page again. */
void tide_parquet_digest_begin(struct tide_hash *hash, uint32_t page_type, uint32_t encoding, uint32_t entries);

#endif
