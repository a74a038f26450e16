#include "sink/parquet_meta.h"

#include "codec/bitpack.h"

/* Field numbers and values of parquet.thrift. */
enum {
  META_TYPE = 1,
  META_ENCODINGS = 2,
  META_PATH = 3,
  META_CODEC = 4,
  META_VALUES = 5,
  META_PLAIN_SIZE = 6,
  META_PACKED_SIZE = 7,
  META_DATA_AT = 9,
  META_DICT_AT = 11,
  META_STATISTICS = 12,
  META_ENCODING_STATS = 13,
  CODEC_ZSTD = 6,

  STATISTICS_NULLS = 3,
  STATISTICS_MAX = 5,
  STATISTICS_MIN = 6,
  STATISTICS_MAX_EXACT = 7,
  STATISTICS_MIN_EXACT = 8,
  STATISTICS_NANS = 9,

  ENCODING_STATS_TYPE = 1,
  ENCODING_STATS_ENCODING = 2,
  ENCODING_STATS_COUNT = 3,

  INDEX_NULL_PAGES = 1,
  INDEX_MIN = 2,
  INDEX_MAX = 3,
  INDEX_ORDER = 4,
  INDEX_NULLS = 5,
  INDEX_NANS = 8,
  ORDER_NONE = 0,
  ORDER_ASCENDING = 1,
  ORDER_DESCENDING = 2,

  OFFSETS_PAGES = 1,
  LOCATION_OFFSET = 1,
  LOCATION_SIZE = 2,
  LOCATION_FIRST_ROW = 3
};

/* ---- ColumnMetaData ---- */

void tide_parquet_totals_add(struct tide_parquet_totals *totals, enum tide_parquet_type type,
                             const struct tide_parquet_page *pages, size_t npages) {
  for (size_t i = 0; i < npages; i++) {
    tide_parquet_bounds_merge(&totals->bounds, type, &pages[i].bounds);
    totals->nulls += (int64_t)pages[i].nulls;
  }
}

static void put_statistics(struct tide_thrift *thrift, const struct tide_parquet_leaf *leaf) {
  struct tide_parquet_totals totals = {0};
  tide_parquet_totals_add(&totals, leaf->type, leaf->pages, leaf->npages);
  const struct tide_parquet_bounds *bounds = &totals.bounds;
  const bool has_max = bounds->any && !bounds->unlimited;
  tide_thrift_begin_field(thrift, META_STATISTICS);
  tide_thrift_i64(thrift, STATISTICS_NULLS, totals.nulls);
  if (has_max)
    tide_thrift_binary(thrift, STATISTICS_MAX, bounds->max.bytes, bounds->max.size);
  if (bounds->any)
    tide_thrift_binary(thrift, STATISTICS_MIN, bounds->min.bytes, bounds->min.size);
  if (has_max)
    tide_thrift_bool(thrift, STATISTICS_MAX_EXACT, bounds->max.exact);
  if (bounds->any)
    tide_thrift_bool(thrift, STATISTICS_MIN_EXACT, bounds->min.exact);
  if (leaf->type == TIDE_PARQUET_DOUBLE)
    tide_thrift_i64(thrift, STATISTICS_NANS, bounds->nans);
  tide_thrift_end(thrift);
}

enum { ENCODINGS = TIDE_PARQUET_RLE_DICTIONARY + 1 };

static void put_encoding_stats(struct tide_thrift *thrift, enum tide_parquet_page_type type,
                               enum tide_parquet_encoding encoding, size_t count) {
  tide_thrift_begin(thrift);
  tide_thrift_i32(thrift, ENCODING_STATS_TYPE, (int32_t)type);
  tide_thrift_i32(thrift, ENCODING_STATS_ENCODING, (int32_t)encoding);
  tide_thrift_i32(thrift, ENCODING_STATS_COUNT, (int32_t)count);
  tide_thrift_end(thrift);
}

static void put_encodings(struct tide_thrift *thrift, const struct tide_parquet_chunk *chunk,
                          const size_t pages[ENCODINGS], bool stats) {
  bool used[ENCODINGS] = {[TIDE_PARQUET_PLAIN] = chunk->dict_size > 0, [TIDE_PARQUET_RLE] = chunk->leaf->max_def > 0};
  size_t count = 0;
  if (stats) {
    count = chunk->dict_size > 0;
    for (int i = 0; i < ENCODINGS; i++)
      count += pages[i] > 0;
    tide_thrift_list(thrift, META_ENCODING_STATS, TIDE_THRIFT_STRUCT, count);
    if (chunk->dict_size > 0)
      put_encoding_stats(thrift, TIDE_PARQUET_DICTIONARY_PAGE, TIDE_PARQUET_PLAIN, 1);
    for (int i = 0; i < ENCODINGS; i++) {
      if (pages[i] > 0)
        put_encoding_stats(thrift, TIDE_PARQUET_DATA_PAGE, (enum tide_parquet_encoding)i, pages[i]);
    }
    return;
  }
  for (int i = 0; i < ENCODINGS; i++) {
    used[i] = used[i] || pages[i] > 0;
    count += used[i];
  }
  tide_thrift_list(thrift, META_ENCODINGS, TIDE_THRIFT_I32, count);
  for (int i = 0; i < ENCODINGS; i++) {
    if (used[i])
      tide_thrift_element_int(thrift, i);
  }
}

void tide_parquet_put_column_meta(const struct tide_parquet_chunk *chunk, const struct tide_parquet_node *nodes,
                                  size_t node, struct tide_buf *out, struct tide_err *err) {
  const struct tide_parquet_leaf *leaf = chunk->leaf;
  size_t pages[ENCODINGS] = {0};
  struct tide_thrift thrift;
  for (size_t i = 0; i < leaf->npages; i++)
    pages[leaf->pages[i].encoding]++;
  tide_thrift_init(&thrift, out, err);
  tide_thrift_begin(&thrift);
  tide_thrift_i32(&thrift, META_TYPE, (int32_t)leaf->type);
  put_encodings(&thrift, chunk, pages, false);
  tide_parquet_put_path(&thrift, META_PATH, nodes, node);
  tide_thrift_i32(&thrift, META_CODEC, CODEC_ZSTD);
  tide_thrift_i64(&thrift, META_VALUES, (int64_t)leaf->chunk_entries);
  tide_thrift_i64(&thrift, META_PLAIN_SIZE, (int64_t)leaf->plain_size);
  tide_thrift_i64(&thrift, META_PACKED_SIZE, (int64_t)(chunk->dict_size + leaf->packed_size));
  tide_thrift_i64(&thrift, META_DATA_AT, chunk->data_at);
  if (chunk->dict_size > 0)
    tide_thrift_i64(&thrift, META_DICT_AT, chunk->dict_at);
  put_statistics(&thrift, leaf);
  put_encodings(&thrift, chunk, pages, true);
  tide_thrift_end(&thrift);
}

/* ---- ColumnIndex ---- */

static bool is_null_page(const struct tide_parquet_page *page) {
  return !page->bounds.any && page->bounds.nans == 0;
}

static bool has_index(const struct tide_parquet_leaf *leaf) {
  for (size_t i = 0; i < leaf->npages; i++) {
    const struct tide_parquet_bounds *bounds = &leaf->pages[i].bounds;
    if (bounds->unlimited || (!bounds->any && bounds->nans > 0))
      return false;
  }
  return true;
}

/* Whether both bounds go up, or else down, from page to page; pages of NULLs are passed over. */
static int boundary_order(const struct tide_parquet_leaf *leaf) {
  const struct tide_parquet_bounds *before = NULL;
  bool up = true;
  bool down = true;
  for (size_t i = 0; i < leaf->npages; i++) {
    const struct tide_parquet_bounds *bounds = &leaf->pages[i].bounds;
    if (!bounds->any)
      continue;
    if (before != NULL) {
      int min = tide_parquet_bound_compare(leaf->type, &before->min, &bounds->min);
      int max = tide_parquet_bound_compare(leaf->type, &before->max, &bounds->max);
      up = up && min <= 0 && max <= 0;
      down = down && min >= 0 && max >= 0;
    }
    before = bounds;
  }
  return up ? ORDER_ASCENDING : down ? ORDER_DESCENDING : ORDER_NONE;
}

static void put_bound_list(struct tide_thrift *thrift, int id, const struct tide_parquet_leaf *leaf) {
  tide_thrift_list(thrift, id, TIDE_THRIFT_BINARY, leaf->npages);
  for (size_t i = 0; i < leaf->npages; i++) {
    const struct tide_parquet_bounds *bounds = &leaf->pages[i].bounds;
    const struct tide_parquet_bound *bound = id == INDEX_MIN ? &bounds->min : &bounds->max;
    tide_thrift_element_binary(thrift, bound->bytes, bounds->any ? bound->size : 0);
  }
}

void tide_parquet_put_column_index(const struct tide_parquet_chunk *chunk, struct tide_buf *out, struct tide_err *err) {
  const struct tide_parquet_leaf *leaf = chunk->leaf;
  struct tide_thrift thrift;
  if (!has_index(leaf))
    return;
  tide_thrift_init(&thrift, out, err);
  tide_thrift_begin(&thrift);
  tide_thrift_list(&thrift, INDEX_NULL_PAGES, TIDE_THRIFT_TRUE, leaf->npages);
  for (size_t i = 0; i < leaf->npages; i++)
    tide_thrift_element_bool(&thrift, is_null_page(&leaf->pages[i]));
  put_bound_list(&thrift, INDEX_MIN, leaf);
  put_bound_list(&thrift, INDEX_MAX, leaf);
  tide_thrift_i32(&thrift, INDEX_ORDER, boundary_order(leaf));
  tide_thrift_list(&thrift, INDEX_NULLS, TIDE_THRIFT_I64, leaf->npages);
  for (size_t i = 0; i < leaf->npages; i++)
    tide_thrift_element_int(&thrift, (int64_t)leaf->pages[i].nulls);
  if (leaf->type == TIDE_PARQUET_DOUBLE) {
    tide_thrift_list(&thrift, INDEX_NANS, TIDE_THRIFT_I64, leaf->npages);
    for (size_t i = 0; i < leaf->npages; i++)
      tide_thrift_element_int(&thrift, leaf->pages[i].bounds.nans);
  }
  tide_thrift_end(&thrift);
}

/* ---- OffsetIndex ---- */

void tide_parquet_put_offset_index(const struct tide_parquet_chunk *chunk, struct tide_buf *out, struct tide_err *err) {
  const struct tide_parquet_leaf *leaf = chunk->leaf;
  struct tide_thrift thrift;
  tide_thrift_init(&thrift, out, err);
  tide_thrift_begin(&thrift);
  tide_thrift_list(&thrift, OFFSETS_PAGES, TIDE_THRIFT_STRUCT, leaf->npages);
  for (size_t i = 0; i < leaf->npages; i++) {
    const struct tide_parquet_page *page = &leaf->pages[i];
    tide_thrift_begin(&thrift);
    tide_thrift_i64(&thrift, LOCATION_OFFSET, chunk->data_at + (int64_t)page->at);
    tide_thrift_i32(&thrift, LOCATION_SIZE, (int32_t)page->size);
    tide_thrift_i64(&thrift, LOCATION_FIRST_ROW, (int64_t)page->first_row);
    tide_thrift_end(&thrift);
  }
  tide_thrift_end(&thrift);
}
