/* A Parquet file being written: a schema, row groups of column chunks, page indexes, footer (apache/parquet-format).
 *
 *   "PAR1"
 *   row groups: for each leaf its chunk: [dictionary page] data pages
 *   ColumnIndexes of all chunks, then OffsetIndexes of all chunks
 *   FileMetaData, its size (4 bytes, little-endian), "PAR1"
 *
 * Life: create; entries into each leaf (parquet_page.h), as many rows into one as into the others, then end_rows,
 * again and again; finish, or destroy at any time. After a failure only destroy is left.
 *
 * Pages and row groups end only within end_rows, by what the leaves then hold: who calls it after the same rows gets
 * the same bytes. Call it often enough that what comes between two calls is small beside a page.
 *
 * A small file of nested columns, one row {add: {path: "x", tags: NULL}} of the schema in parquet_schema.h:
 *
 *   struct tide_parquet_file *file = tide_parquet_file_create(nodes, nnodes, tide_parquet_layout_find(2), 3, err);
 *   tide_parquet_put_bytes(tide_parquet_file_leaf(file, 1), 0, "x", 1, err);        // path: its highest level
 *   for (size_t i = 0; i < nleaves; i++)                                            // reserve before put_number,
 *     tide_parquet_leaf_reserve(tide_parquet_file_leaf(file, i), 1, err);           // put_null; may fail
 *   if (!tide_err_is_set(err)) {
 *     tide_parquet_put_number(tide_parquet_file_leaf(file, 0), 0, 7);               // id
 *     tide_parquet_put_null(tide_parquet_file_leaf(file, 2), 0, 1);                 // tags.key_value.key: add is there,
 *     tide_parquet_put_null(tide_parquet_file_leaf(file, 3), 0, 1);                 // ... tags is not; value likewise
 *   }
 *   tide_parquet_file_end_rows(file, &out, err);
 *   tide_parquet_file_finish(file, NULL, 0, &out, hash, err); */
#ifndef TIDE_SINK_PARQUET_FILE_H
#define TIDE_SINK_PARQUET_FILE_H

#include "sink/parquet_meta.h"

struct tide_parquet_key_value {
  const char *key;
  const char *value;
};

struct tide_parquet_file;

/* The nodes and their names outlive the file. There is at least one leaf. */
struct tide_parquet_file *tide_parquet_file_create(const struct tide_parquet_node *nodes, size_t nnodes,
                                                   const struct tide_parquet_layout *layout, int zstd_level,
                                                   struct tide_err *err);
void tide_parquet_file_destroy(struct tide_parquet_file *file); /* NULL is fine */

/* The leaf of that number in the order of the schema, from 0. Owned by the file. */
struct tide_parquet_leaf *tide_parquet_file_leaf(struct tide_parquet_file *file, size_t leaf);

/* All leaves hold the same whole rows: ends the pages that are full, and the row group when it is, which alone appends
 * to `out`. The caller takes bytes out of `out` as it likes. Returns 0 or the code. */
int tide_parquet_file_end_rows(struct tide_parquet_file *file, struct tide_buf *out, struct tide_err *err);

/* Ends the row group, appends indexes and footer, and gives the file's hash: of the digests of all pages in the order
 * of the file, as text, and of FileMetaData's bytes from its start to the end of the schema. It depends on values,
 * schema and layout, and not on zstd. Nothing but totals and destroy after it. */
int tide_parquet_file_finish(struct tide_parquet_file *file, const struct tide_parquet_key_value *metadata,
                             size_t nmetadata, struct tide_buf *out, char ret_hash[TIDE_HASH_DIGITS_SIZE],
                             struct tide_err *err);

/* After finish: rows, and what is known of a leaf's values, over the whole file. */
int64_t tide_parquet_file_rows(const struct tide_parquet_file *file);
const struct tide_parquet_totals *tide_parquet_file_totals(const struct tide_parquet_file *file, size_t leaf);

#endif
