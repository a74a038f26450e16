/* What a Parquet file says about a column chunk, as thrift structures: ColumnMetaData in the footer, ColumnIndex and
 * OffsetIndex before it (apache/parquet-format, parquet.thrift and PageIndex.md). */
#ifndef TIDE_SINK_PARQUET_META_H
#define TIDE_SINK_PARQUET_META_H

#include "sink/parquet_page.h"

/* What is known of a column over a chunk or a file. All zero is of no pages. */
struct tide_parquet_totals {
  struct tide_parquet_bounds bounds;
  int64_t nulls;
};
void tide_parquet_totals_add(struct tide_parquet_totals *totals, enum tide_parquet_type type,
                             const struct tide_parquet_page *pages, size_t npages);

/* A chunk that is in the file, `leaf` not yet reset. */
struct tide_parquet_chunk {
  const struct tide_parquet_leaf *leaf;
  int64_t dict_at; /* of the dictionary's page in the file; its size, 0: there is none */
  size_t dict_size;
  int64_t data_at; /* of the first data page */
};

/* A ColumnMetaData, a ColumnIndex and an OffsetIndex: each one whole struct. There is no ColumnIndex, and nothing
 * is appended, when a page has no bounds for one. */
void tide_parquet_put_column_meta(const struct tide_parquet_chunk *chunk, const struct tide_parquet_node *nodes,
                                  size_t node, struct tide_buf *out, struct tide_err *err);
void tide_parquet_put_column_index(const struct tide_parquet_chunk *chunk, struct tide_buf *out, struct tide_err *err);
void tide_parquet_put_offset_index(const struct tide_parquet_chunk *chunk, struct tide_buf *out, struct tide_err *err);

#endif
