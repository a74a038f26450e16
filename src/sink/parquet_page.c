#include "sink/parquet_page.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "codec/bitpack.h"

enum { LENGTH_SIZE = 4, MODEST = 4 << 20 };

/* ---- life ---- */

void tide_parquet_leaf_init(struct tide_parquet_leaf *leaf, const struct tide_parquet_node *node, unsigned max_def,
                            unsigned max_rep) {
  assert(max_def <= UINT8_MAX && max_rep <= max_def);
  *leaf = (struct tide_parquet_leaf){.type = node->type,
                                     .text = node->logical == TIDE_PARQUET_STRING || node->logical == TIDE_PARQUET_JSON,
                                     .max_def = max_def,
                                     .max_rep = max_rep};
}

void tide_parquet_leaf_clear(struct tide_parquet_leaf *leaf) {
  tide_buf_clear(&leaf->def);
  tide_buf_clear(&leaf->rep);
  tide_buf_clear(&leaf->bytes);
  tide_buf_clear(&leaf->packed);
  tide_parquet_dict_clear(&leaf->dict);
  tide_free(leaf->numbers);
  tide_free(leaf->pages);
  *leaf = (struct tide_parquet_leaf){0};
}

int tide_parquet_press_init(struct tide_parquet_press *press, int zstd_level, struct tide_err *err) {
  *press = (struct tide_parquet_press){.zstd = tide_zpress_create(zstd_level, err)};
  return err->rc;
}

void tide_parquet_press_clear(struct tide_parquet_press *press) {
  tide_zpress_destroy(press->zstd);
  tide_buf_clear(&press->body);
  tide_buf_clear(&press->header);
  tide_buf_clear(&press->other);
  tide_free(press->indexes);
  *press = (struct tide_parquet_press){0};
}

/* ---- entries ---- */

void tide_parquet_leaf_reserve(struct tide_parquet_leaf *leaf, size_t count, struct tide_err *err) {
  if (leaf->max_def > 0)
    tide_buf_reserve(&leaf->def, count, err);
  if (leaf->max_rep > 0)
    tide_buf_reserve(&leaf->rep, count, err);
  if (tide_err_is_set(err))
    return;
  void *numbers = leaf->numbers;
  tide_grow(&numbers, &leaf->numbers_cap, leaf->values + count, sizeof *leaf->numbers, err);
  leaf->numbers = numbers;
}

void tide_parquet_put_bytes(struct tide_parquet_leaf *leaf, unsigned rep, const void *bytes, size_t size,
                            struct tide_err *err) {
  tide_parquet_leaf_reserve(leaf, 1, err);
  tide_buf_put(&leaf->bytes, bytes, size, err);
  if (!tide_err_is_set(err))
    tide_parquet_put_number(leaf, rep, (int64_t)size);
}

size_t tide_parquet_leaf_waiting(const struct tide_parquet_leaf *leaf) {
  return leaf->def.len + leaf->rep.len + leaf->bytes.len + leaf->values * sizeof *leaf->numbers;
}

size_t tide_parquet_leaf_weight(const struct tide_parquet_leaf *leaf) {
  return tide_parquet_leaf_waiting(leaf) + leaf->plain_size + leaf->npages * sizeof *leaf->pages +
         tide_parquet_dict_weight(&leaf->dict);
}

/* ---- values ---- */

static size_t number_size(enum tide_parquet_type type) {
  return type == TIDE_PARQUET_INT32 ? 4 : 8;
}

static void put_plain(enum tide_parquet_type type, const int64_t *numbers, size_t n, const unsigned char *bytes,
                      struct tide_buf *out, struct tide_err *err) {
  for (size_t i = 0; i < n && !tide_err_is_set(err); i++) {
    if (type != TIDE_PARQUET_BYTE_ARRAY) {
      if (i == 0 && tide_buf_reserve(out, n * sizeof(uint64_t), err) != 0)
        return;
      tide_store_u64(out->data + out->len, (uint64_t)numbers[i]);
      out->len += number_size(type);
    } else {
      tide_buf_put_u32(out, (uint32_t)numbers[i], err);
      tide_buf_put(out, bytes, (size_t)numbers[i], err);
      bytes += numbers[i];
    }
  }
}

static void put_booleans(const struct tide_parquet_leaf *leaf, struct tide_buf *out, struct tide_err *err) {
  for (size_t i = 0; i < leaf->values; i += 8) {
    unsigned byte = 0;
    for (size_t bit = 0; bit < 8 && i + bit < leaf->values; bit++)
      byte |= (leaf->numbers[i + bit] != 0 ? 1u : 0u) << bit;
    tide_buf_put_u8(out, (uint8_t)byte, err);
  }
}

static size_t plain_size(const struct tide_parquet_leaf *leaf) {
  return leaf->type == TIDE_PARQUET_BYTE_ARRAY ? leaf->values * LENGTH_SIZE + leaf->bytes.len
                                               : leaf->values * number_size(leaf->type);
}

/* Turns the values into indexes of the dictionary. false when it is full, or would take `limit` bytes more. */
static bool look_up(struct tide_parquet_leaf *leaf, size_t limit, uint64_t *indexes, struct tide_err *err) {
  struct tide_parquet_dict *dict = &leaf->dict;
  const unsigned char *at = leaf->bytes.len > 0 ? leaf->bytes.data : (const unsigned char *)"";
  const size_t before = dict->size;
  for (size_t i = 0; i < leaf->values; i++) {
    int64_t index;
    if (leaf->type == TIDE_PARQUET_BYTE_ARRAY) {
      index = tide_parquet_dict_bytes(dict, at, (size_t)leaf->numbers[i], err);
      at += leaf->numbers[i];
    } else {
      index = tide_parquet_dict_number(dict, leaf->numbers[i], number_size(leaf->type), err);
    }
    if (index < 0 || dict->size - before >= limit)
      return false;
    indexes[i] = (uint64_t)index;
  }
  return true;
}

/* Tries the dictionary: the page's indexes go to press->other. It must save a part of what the best other layout
 * takes, since zstd finds repeated values too. */
static bool try_dict(struct tide_parquet_leaf *leaf, struct tide_parquet_press *press, size_t best,
                     struct tide_err *err) {
  struct tide_parquet_dict *dict = &leaf->dict;
  const size_t count = dict->count;
  const size_t size = dict->size;
  const size_t limit = leaf->type == TIDE_PARQUET_BYTE_ARRAY ? best / 2 : best;
  void *indexes = press->indexes;
  tide_buf_reset(&press->other);
  if (leaf->dict_refused || tide_grow(&indexes, &press->indexes_cap, leaf->values, sizeof *press->indexes, err) != 0)
    return false;
  press->indexes = indexes;
  bool fits = look_up(leaf, limit, press->indexes, err);
  if (fits) {
    unsigned width = tide_bitpack_width(dict->count - 1);
    width = width > 0 ? width : 1;
    tide_buf_put_u8(&press->other, (uint8_t)width, err);
    tide_parquet_put_hybrid(&press->other, press->indexes, leaf->values, width, err);
    fits = dict->size - size + press->other.len < limit;
  }
  if (!fits) {
    tide_parquet_dict_truncate(dict, count, size);
    leaf->dict_refused = true;
  }
  return fits && !tide_err_is_set(err);
}

/* Deltas of the numbers, or of the sizes with the byte strings behind them, in press->other. */
static size_t try_delta(const struct tide_parquet_leaf *leaf, struct tide_parquet_press *press, struct tide_err *err) {
  tide_buf_reset(&press->other);
  tide_parquet_put_delta(&press->other, leaf->numbers, leaf->values, err);
  return press->other.len + leaf->bytes.len;
}

/* Appends the values in the layout that is smallest. */
static enum tide_parquet_encoding put_values(struct tide_parquet_leaf *leaf, struct tide_parquet_press *press,
                                             struct tide_buf *out, struct tide_err *err) {
  if (leaf->values == 0)
    return TIDE_PARQUET_PLAIN;
  if (leaf->type == TIDE_PARQUET_BOOLEAN) {
    put_booleans(leaf, out, err);
    return TIDE_PARQUET_PLAIN;
  }
  const bool is_bytes = leaf->type == TIDE_PARQUET_BYTE_ARRAY;
  const size_t plain = plain_size(leaf);
  const size_t delta = leaf->type == TIDE_PARQUET_DOUBLE ? SIZE_MAX : try_delta(leaf, press, err);
  if (try_dict(leaf, press, delta < plain ? delta : plain, err)) {
    tide_buf_put(out, press->other.data, press->other.len, err);
    return TIDE_PARQUET_RLE_DICTIONARY;
  }
  if (delta >= plain) {
    put_plain(leaf->type, leaf->numbers, leaf->values, leaf->bytes.data, out, err);
    return TIDE_PARQUET_PLAIN;
  }
  try_delta(leaf, press, err);
  tide_buf_put(out, press->other.data, press->other.len, err);
  tide_buf_put(out, leaf->bytes.data, leaf->bytes.len, err);
  return is_bytes ? TIDE_PARQUET_DELTA_LENGTH_BYTE_ARRAY : TIDE_PARQUET_DELTA_BINARY_PACKED;
}

/* ---- levels ---- */

static void put_levels(const struct tide_buf *levels, unsigned max, struct tide_parquet_press *press,
                       struct tide_buf *out, struct tide_err *err) {
  if (max == 0)
    return;
  void *indexes = press->indexes;
  if (tide_grow(&indexes, &press->indexes_cap, levels->len, sizeof *press->indexes, err) != 0)
    return;
  press->indexes = indexes;
  for (size_t i = 0; i < levels->len; i++)
    press->indexes[i] = levels->data[i];
  const size_t start = out->len;
  tide_buf_put_u32(out, 0, err);
  tide_parquet_put_hybrid(out, press->indexes, levels->len, tide_bitpack_width(max), err);
  if (tide_err_is_set(err))
    return;
  const size_t size = out->len - start - LENGTH_SIZE;
  for (unsigned i = 0; i < LENGTH_SIZE; i++)
    out->data[start + i] = (unsigned char)(size >> (8 * i));
}

/* ---- pages ---- */

/* Field numbers of parquet.thrift. */
enum {
  PAGE_TYPE = 1,
  PAGE_PLAIN_SIZE = 2,
  PAGE_PACKED_SIZE = 3,
  PAGE_CRC = 4,
  PAGE_DATA = 5,
  PAGE_DICTIONARY = 7,
  HEADER_VALUES = 1,
  HEADER_ENCODING = 2,
  HEADER_DEF_ENCODING = 3,
  HEADER_REP_ENCODING = 4
};

void tide_parquet_digest_begin(struct tide_hash *hash, uint32_t page_type, uint32_t encoding, uint32_t entries) {
  const uint32_t head[] = {page_type, encoding, entries};
  tide_hash_init(hash);
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) {
    unsigned char bytes[8];
    tide_store_u64(bytes, head[i]);
    tide_hash_update(hash, bytes, sizeof head[i]);
  }
}

static void put_page_header(struct tide_parquet_press *press, enum tide_parquet_page_type type,
                            enum tide_parquet_encoding encoding, size_t entries, size_t packed, uint32_t crc,
                            struct tide_buf *out, struct tide_err *err) {
  const bool data = type == TIDE_PARQUET_DATA_PAGE;
  struct tide_thrift thrift;
  tide_thrift_init(&thrift, out, err);
  tide_thrift_begin(&thrift);
  tide_thrift_i32(&thrift, PAGE_TYPE, (int32_t)type);
  tide_thrift_i32(&thrift, PAGE_PLAIN_SIZE, (int32_t)press->body.len);
  tide_thrift_i32(&thrift, PAGE_PACKED_SIZE, (int32_t)packed);
  tide_thrift_i32(&thrift, PAGE_CRC, (int32_t)crc);
  tide_thrift_begin_field(&thrift, data ? PAGE_DATA : PAGE_DICTIONARY);
  tide_thrift_i32(&thrift, HEADER_VALUES, (int32_t)entries);
  tide_thrift_i32(&thrift, HEADER_ENCODING, (int32_t)encoding);
  if (data) {
    tide_thrift_i32(&thrift, HEADER_DEF_ENCODING, TIDE_PARQUET_RLE);
    tide_thrift_i32(&thrift, HEADER_REP_ENCODING, TIDE_PARQUET_RLE);
  }
  tide_thrift_end(&thrift);
  tide_thrift_end(&thrift);
}

/* Appends the page whose bytes are press->body and gives its size before compression, with its header. */
static size_t put_page(struct tide_parquet_press *press, enum tide_parquet_page_type type,
                       enum tide_parquet_encoding encoding, size_t entries, struct tide_buf *out,
                       char ret_digest[TIDE_HASH_DIGITS_SIZE], struct tide_err *err) {
  struct tide_buf *frame = &press->other;
  tide_buf_reset(frame);
  if (!tide_err_is_set(err) && press->body.len > INT32_MAX / 2) /* its frame must have an i32 as its size too */
    tide_err_set(err, SQLITE_TOOBIG, "a Parquet page of %lld bytes is above the limit of %d: a value is too long",
                 (long long)press->body.len, INT32_MAX / 2);
  if (tide_err_is_set(err) || tide_zpress_frame(press->zstd, press->body.data, press->body.len, frame, err) != 0)
    return 0;
  tide_buf_reset(&press->header);
  put_page_header(press, type, encoding, entries, frame->len, tide_parquet_crc(0, frame->data, frame->len),
                  &press->header, err);
  tide_buf_put(out, press->header.data, press->header.len, err);
  tide_buf_put(out, frame->data, frame->len, err);
  struct tide_hash hash;
  tide_parquet_digest_begin(&hash, type, encoding, (uint32_t)entries);
  tide_hash_update(&hash, press->body.data, press->body.len);
  tide_hash_digits(&hash, ret_digest);
  return press->header.len + press->body.len;
}

static struct tide_parquet_bounds bounds_of(const struct tide_parquet_leaf *leaf) {
  if (leaf->type != TIDE_PARQUET_BYTE_ARRAY)
    return tide_parquet_bounds_of_numbers(leaf->type, leaf->numbers, leaf->values);
  return tide_parquet_bounds_of_bytes(leaf->bytes.len > 0 ? leaf->bytes.data : (const unsigned char *)"", leaf->numbers,
                                      leaf->values, leaf->text);
}

/* Memory that one long value needed is not kept for the others. */
static void reset_modest(struct tide_buf *buf) {
  if (buf->cap > MODEST)
    tide_buf_clear(buf);
  else
    tide_buf_reset(buf);
}

static void forget_entries(struct tide_parquet_leaf *leaf) {
  leaf->chunk_entries += leaf->entries;
  leaf->chunk_rows += leaf->rows;
  leaf->entries = 0;
  leaf->rows = 0;
  leaf->values = 0;
  tide_buf_reset(&leaf->def);
  tide_buf_reset(&leaf->rep);
  reset_modest(&leaf->bytes);
}

void tide_parquet_leaf_end_page(struct tide_parquet_leaf *leaf, struct tide_parquet_press *press,
                                struct tide_err *err) {
  void *pages = leaf->pages;
  if (leaf->entries == 0 || tide_err_is_set(err) ||
      tide_grow(&pages, &leaf->pages_cap, leaf->npages + 1, sizeof *leaf->pages, err) != 0)
    return;
  leaf->pages = pages;
  struct tide_parquet_page *page = &leaf->pages[leaf->npages];
  tide_buf_reset(&press->body);
  put_levels(&leaf->rep, leaf->max_rep, press, &press->body, err);
  put_levels(&leaf->def, leaf->max_def, press, &press->body, err);
  *page = (struct tide_parquet_page){.at = leaf->packed.len,
                                     .first_row = leaf->chunk_rows,
                                     .nulls = leaf->entries - leaf->values,
                                     .encoding = put_values(leaf, press, &press->body, err),
                                     .bounds = bounds_of(leaf)};
  size_t plain =
      put_page(press, TIDE_PARQUET_DATA_PAGE, page->encoding, leaf->entries, &leaf->packed, page->digest, err);
  if (tide_err_is_set(err))
    return;
  page->size = leaf->packed.len - page->at;
  leaf->plain_size += plain;
  leaf->dict_used = leaf->dict_used || page->encoding == TIDE_PARQUET_RLE_DICTIONARY;
  leaf->npages++;
  forget_entries(leaf);
}

/* ---- the chunk ---- */

size_t tide_parquet_leaf_put_dict(struct tide_parquet_leaf *leaf, struct tide_parquet_press *press,
                                  struct tide_buf *out, char ret_digest[TIDE_HASH_DIGITS_SIZE], struct tide_err *err) {
  const struct tide_parquet_dict *dict = &leaf->dict;
  const size_t start = out->len;
  if (!leaf->dict_used || tide_err_is_set(err))
    return 0;
  tide_buf_reset(&press->body);
  put_plain(leaf->type, dict->numbers, dict->count, dict->bytes.data, &press->body, err);
  leaf->plain_size +=
      put_page(press, TIDE_PARQUET_DICTIONARY_PAGE, TIDE_PARQUET_PLAIN, dict->count, out, ret_digest, err);
  return out->len - start;
}

void tide_parquet_leaf_reset(struct tide_parquet_leaf *leaf) {
  forget_entries(leaf);
  tide_parquet_dict_reset(&leaf->dict);
  tide_buf_clear(&leaf->packed); /* the row group's bytes are somewhere else now, and are many */
  leaf->dict_refused = false;
  leaf->npages = 0;
  leaf->chunk_entries = 0;
  leaf->chunk_rows = 0;
  leaf->plain_size = 0;
  leaf->dict_used = false;
}
