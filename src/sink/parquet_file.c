#include "sink/parquet_file.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

/* ---- life ---- */

/* Where a struct is, within one of the file's buffers; size 0: there is none. */
struct span {
  size_t at;
  size_t size;
};

struct chunk {
  struct span meta;
  struct span column_index;
  struct span offset_index;
};

struct group {
  int64_t at;
  int64_t rows;
  int64_t plain_size;
  int64_t packed_size;
};

struct tide_parquet_file {
  const struct tide_parquet_node *nodes;
  size_t nnodes;
  const struct tide_parquet_layout *layout;
  struct tide_parquet_place *places;
  struct tide_parquet_leaf *leaves;
  struct tide_parquet_totals *totals;
  size_t nleaves;
  struct tide_parquet_press press;
  struct tide_hash hash;
  int64_t at; /* bytes appended so far */
  int64_t rows;
  struct group *groups;
  size_t ngroups;
  size_t groups_cap;
  struct chunk *chunks; /* nleaves a group */
  size_t nchunks;
  size_t chunks_cap;
  struct tide_buf metas; /* ColumnMetaDatas, ColumnIndexes and OffsetIndexes of all chunks */
  struct tide_buf column_indexes;
  struct tide_buf offset_indexes;
};

static const char magic[4] = {'P', 'A', 'R', '1'};

struct tide_parquet_file *tide_parquet_file_create(const struct tide_parquet_node *nodes, size_t nnodes,
                                                   const struct tide_parquet_layout *layout, int zstd_level,
                                                   struct tide_err *err) {
  struct tide_parquet_file *file = tide_alloc_zero(1, sizeof *file, err);
  if (file == NULL)
    return NULL;
  file->nodes = nodes;
  file->nnodes = nnodes;
  file->layout = layout;
  const size_t nleaves = tide_parquet_leaves(nodes, nnodes, NULL);
  assert(nleaves > 0);
  file->places = tide_alloc_zero(nleaves, sizeof *file->places, err);
  file->leaves = tide_alloc_zero(nleaves, sizeof *file->leaves, err);
  file->totals = tide_alloc_zero(nleaves, sizeof *file->totals, err);
  tide_hash_init(&file->hash);
  if (tide_err_is_set(err) || tide_parquet_press_init(&file->press, zstd_level, err) != 0) {
    tide_parquet_file_destroy(file);
    return NULL;
  }
  file->nleaves = nleaves;
  tide_parquet_leaves(nodes, nnodes, file->places);
  for (size_t i = 0; i < nleaves; i++) {
    const struct tide_parquet_place *place = &file->places[i];
    tide_parquet_leaf_init(&file->leaves[i], &nodes[place->node], layout, place);
  }
  return file;
}

void tide_parquet_file_destroy(struct tide_parquet_file *file) {
  if (file == NULL)
    return;
  for (size_t i = 0; i < file->nleaves; i++)
    tide_parquet_leaf_clear(&file->leaves[i]);
  tide_parquet_press_clear(&file->press);
  tide_buf_clear(&file->metas);
  tide_buf_clear(&file->column_indexes);
  tide_buf_clear(&file->offset_indexes);
  tide_free(file->groups);
  tide_free(file->chunks);
  tide_free(file->places);
  tide_free(file->leaves);
  tide_free(file->totals);
  tide_free(file);
}

struct tide_parquet_leaf *tide_parquet_file_leaf(struct tide_parquet_file *file, size_t leaf) {
  assert(leaf < file->nleaves);
  return &file->leaves[leaf];
}

int64_t tide_parquet_file_rows(const struct tide_parquet_file *file) {
  return file->rows;
}

const struct tide_parquet_totals *tide_parquet_file_totals(const struct tide_parquet_file *file, size_t leaf) {
  assert(leaf < file->nleaves);
  return &file->totals[leaf];
}

/* ---- row groups ---- */

static void put(struct tide_parquet_file *file, const void *bytes, size_t size, struct tide_buf *out,
                struct tide_err *err) {
  tide_buf_put(out, bytes, size, err);
  if (!tide_err_is_set(err))
    file->at += (int64_t)size;
}

static void describe_chunk(struct tide_parquet_file *file, size_t leaf, const struct tide_parquet_chunk *chunk,
                           struct tide_err *err) {
  struct chunk kept = {.meta.at = file->metas.len,
                       .column_index.at = file->column_indexes.len,
                       .offset_index.at = file->offset_indexes.len};
  tide_parquet_put_column_meta(chunk, file->nodes, file->places[leaf].node, &file->metas, err);
  tide_parquet_put_column_index(chunk, &file->column_indexes, err);
  tide_parquet_put_offset_index(chunk, &file->offset_indexes, err);
  kept.meta.size = file->metas.len - kept.meta.at;
  kept.column_index.size = file->column_indexes.len - kept.column_index.at;
  kept.offset_index.size = file->offset_indexes.len - kept.offset_index.at;
  void *chunks = file->chunks;
  if (tide_err_is_set(err) || tide_grow(&chunks, &file->chunks_cap, file->nchunks + 1, sizeof *file->chunks, err) != 0)
    return;
  file->chunks = chunks;
  file->chunks[file->nchunks++] = kept;
}

/* Appends a leaf's chunk and forgets it. */
static void put_chunk(struct tide_parquet_file *file, size_t at, struct group *group, struct tide_buf *out,
                      struct tide_err *err) {
  struct tide_parquet_leaf *leaf = &file->leaves[at];
  struct tide_parquet_chunk chunk = {.leaf = leaf, .dict_at = file->at};
  char digest[TIDE_HASH_DIGITS_SIZE];
  tide_parquet_leaf_end_page(leaf, &file->press, err);
  chunk.dict_size = tide_parquet_leaf_put_dict(leaf, &file->press, out, digest, err);
  if (tide_err_is_set(err))
    return;
  if (chunk.dict_size > 0)
    tide_hash_update(&file->hash, digest, strlen(digest));
  file->at += (int64_t)chunk.dict_size;
  chunk.data_at = file->at;
  tide_parquet_leaf_put_pages(leaf, out, err);
  file->at += (int64_t)leaf->packed_size;
  for (size_t i = 0; i < leaf->npages; i++)
    tide_hash_update(&file->hash, leaf->pages[i].digest, strlen(leaf->pages[i].digest));
  describe_chunk(file, at, &chunk, err);
  tide_parquet_totals_add(&file->totals[at], leaf->type, leaf->pages, leaf->npages);
  group->rows = (int64_t)leaf->chunk_rows;
  group->plain_size += (int64_t)leaf->plain_size;
  group->packed_size += (int64_t)(chunk.dict_size + leaf->packed_size);
  tide_parquet_leaf_reset(leaf);
}

static void end_group(struct tide_parquet_file *file, struct tide_buf *out, struct tide_err *err) {
  const struct tide_parquet_leaf *first = &file->leaves[0];
  if (first->chunk_entries + first->entries == 0)
    return;
  if (file->at == 0)
    put(file, magic, sizeof magic, out, err);
  void *groups = file->groups;
  if (tide_grow(&groups, &file->groups_cap, file->ngroups + 1, sizeof *file->groups, err) != 0)
    return;
  file->groups = groups;
  struct group *group = &file->groups[file->ngroups];
  *group = (struct group){.at = file->at};
  size_t packed = 0;
  for (size_t i = 0; i < file->nleaves; i++)
    packed += file->leaves[i].packed_size;
  tide_buf_reserve(out, packed,
                   err); /* at once: the pages lie here twice for a while, and growing would make it thrice */
  for (size_t i = 0; i < file->nleaves && !tide_err_is_set(err); i++)
    put_chunk(file, i, group, out, err);
  file->rows += group->rows;
  file->ngroups++;
}

int tide_parquet_file_end_rows(struct tide_parquet_file *file, struct tide_buf *out, struct tide_err *err) {
  const struct tide_parquet_layout *layout = file->layout;
  const size_t rows = file->leaves[0].chunk_rows + file->leaves[0].rows;
  size_t weight = 0;
  for (size_t i = 0; i < file->nleaves && !tide_err_is_set(err); i++) {
    struct tide_parquet_leaf *leaf = &file->leaves[i];
    assert(leaf->chunk_rows + leaf->rows == rows);
    if (leaf->rows >= layout->page_rows || tide_parquet_leaf_waiting(leaf) >= layout->page_bytes)
      tide_parquet_leaf_end_page(leaf, &file->press, err);
    weight += tide_parquet_leaf_weight(leaf);
  }
  if (!tide_err_is_set(err) && (rows >= layout->group_rows || weight >= layout->group_bytes))
    end_group(file, out, err);
  return err->rc;
}

/* ---- the footer ---- */

/* Field numbers of parquet.thrift. */
enum {
  FILE_VERSION = 1,
  FILE_SCHEMA = 2,
  FILE_ROWS = 3,
  FILE_GROUPS = 4,
  FILE_METADATA = 5,
  FILE_CREATED_BY = 6,
  FILE_ORDERS = 7,
  VERSION = 1,

  GROUP_COLUMNS = 1,
  GROUP_PLAIN_SIZE = 2,
  GROUP_ROWS = 3,
  GROUP_AT = 5,
  GROUP_PACKED_SIZE = 6,

  COLUMN_FILE_OFFSET = 2,
  COLUMN_META = 3,
  COLUMN_OFFSET_INDEX_AT = 4,
  COLUMN_OFFSET_INDEX_SIZE = 5,
  COLUMN_COLUMN_INDEX_AT = 6,
  COLUMN_COLUMN_INDEX_SIZE = 7,

  KEY = 1,
  VALUE = 2,
  ORDER_OF_TYPE = 1
};

/* Where the indexes begin in the file. */
struct index_places {
  int64_t column_indexes;
  int64_t offset_indexes;
};

static void put_column(struct tide_thrift *thrift, const struct tide_parquet_file *file, const struct chunk *chunk,
                       const struct index_places *indexes) {
  tide_thrift_begin(thrift);
  tide_thrift_i64(thrift, COLUMN_FILE_OFFSET, 0);
  tide_thrift_begin_field(thrift, COLUMN_META);
  tide_buf_put(thrift->out, file->metas.data + chunk->meta.at, chunk->meta.size - 1, thrift->err); /* its end follows */
  tide_thrift_end(thrift);
  tide_thrift_i64(thrift, COLUMN_OFFSET_INDEX_AT, indexes->offset_indexes + (int64_t)chunk->offset_index.at);
  tide_thrift_i32(thrift, COLUMN_OFFSET_INDEX_SIZE, (int32_t)chunk->offset_index.size);
  if (chunk->column_index.size > 0) {
    tide_thrift_i64(thrift, COLUMN_COLUMN_INDEX_AT, indexes->column_indexes + (int64_t)chunk->column_index.at);
    tide_thrift_i32(thrift, COLUMN_COLUMN_INDEX_SIZE, (int32_t)chunk->column_index.size);
  }
  tide_thrift_end(thrift);
}

static void put_group(struct tide_thrift *thrift, const struct tide_parquet_file *file, size_t at,
                      const struct index_places *indexes) {
  const struct group *group = &file->groups[at];
  tide_thrift_begin(thrift);
  tide_thrift_list(thrift, GROUP_COLUMNS, TIDE_THRIFT_STRUCT, file->nleaves);
  for (size_t i = 0; i < file->nleaves; i++)
    put_column(thrift, file, &file->chunks[at * file->nleaves + i], indexes);
  tide_thrift_i64(thrift, GROUP_PLAIN_SIZE, group->plain_size);
  tide_thrift_i64(thrift, GROUP_ROWS, group->rows);
  tide_thrift_i64(thrift, GROUP_AT, group->at);
  tide_thrift_i64(thrift, GROUP_PACKED_SIZE, group->packed_size);
  tide_thrift_end(thrift);
}

static void put_metadata(struct tide_thrift *thrift, const struct tide_parquet_key_value *metadata, size_t count) {
  if (count == 0)
    return;
  tide_thrift_list(thrift, FILE_METADATA, TIDE_THRIFT_STRUCT, count);
  for (size_t i = 0; i < count; i++) {
    tide_thrift_begin(thrift);
    tide_thrift_string(thrift, KEY, metadata[i].key);
    tide_thrift_string(thrift, VALUE, metadata[i].value);
    tide_thrift_end(thrift);
  }
}

/* ret_described: the bytes up to the end of the schema, which the hash is of. */
static void put_footer(const struct tide_parquet_file *file, const struct tide_parquet_key_value *metadata,
                       size_t nmetadata, const struct index_places *indexes, struct tide_buf *footer,
                       size_t *ret_described, struct tide_err *err) {
  struct tide_thrift thrift;
  tide_thrift_init(&thrift, footer, err);
  tide_thrift_begin(&thrift);
  tide_thrift_i32(&thrift, FILE_VERSION, VERSION);
  tide_parquet_put_schema(&thrift, FILE_SCHEMA, file->nodes, file->nnodes);
  *ret_described = footer->len;
  tide_thrift_i64(&thrift, FILE_ROWS, file->rows);
  tide_thrift_list(&thrift, FILE_GROUPS, TIDE_THRIFT_STRUCT, file->ngroups);
  for (size_t i = 0; i < file->ngroups; i++)
    put_group(&thrift, file, i, indexes);
  put_metadata(&thrift, metadata, nmetadata);
  tide_thrift_string(&thrift, FILE_CREATED_BY, file->layout->created_by);
  tide_thrift_list(&thrift, FILE_ORDERS, TIDE_THRIFT_STRUCT, file->nleaves);
  for (size_t i = 0; i < file->nleaves; i++) {
    tide_thrift_begin(&thrift);
    tide_thrift_begin_field(&thrift, ORDER_OF_TYPE);
    tide_thrift_end(&thrift);
    tide_thrift_end(&thrift);
  }
  tide_thrift_end(&thrift);
}

int tide_parquet_file_finish(struct tide_parquet_file *file, const struct tide_parquet_key_value *metadata,
                             size_t nmetadata, struct tide_buf *out, char ret_hash[TIDE_HASH_DIGITS_SIZE],
                             struct tide_err *err) {
  struct tide_buf footer = {0};
  struct index_places indexes;
  size_t described = 0;
  end_group(file, out, err);
  if (tide_err_is_set(err))
    return err->rc;
  if (file->at == 0)
    put(file, magic, sizeof magic, out, err);
  indexes.column_indexes = file->at;
  put(file, file->column_indexes.data, file->column_indexes.len, out, err);
  indexes.offset_indexes = file->at;
  put(file, file->offset_indexes.data, file->offset_indexes.len, out, err);
  put_footer(file, metadata, nmetadata, &indexes, &footer, &described, err);
  put(file, footer.data, footer.len, out, err);
  tide_buf_put_u32(out, (uint32_t)footer.len, err);
  tide_buf_put(out, magic, sizeof magic, err);
  if (!tide_err_is_set(err)) {
    tide_hash_update(&file->hash, footer.data, described);
    tide_hash_digits(&file->hash, ret_hash);
  }
  tide_buf_clear(&footer);
  return err->rc;
}
