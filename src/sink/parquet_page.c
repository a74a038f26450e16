#include "sink/parquet_page.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "codec/bitpack.h"

enum {
  LENGTH_SIZE = 4,
  PAGE_SIZE_MAX = INT32_MAX / 2, /* so that its frame's size is an i32 too, whatever zstd makes of it */
  MODEST = 4 << 20,
  TRIAL_SIZE = 1 << 17,
  TRIAL_SHARE = 32
};

/* ---- life ---- */

void tide_parquet_leaf_init(struct tide_parquet_leaf *leaf, const struct tide_parquet_node *node,
                            const struct tide_parquet_layout *layout, const struct tide_parquet_place *place) {
  assert(place->max_def <= UINT8_MAX && place->max_rep <= place->max_def);
  *leaf = (struct tide_parquet_leaf){.layout = layout,
                                     .type = node->type,
                                     .text = node->logical == TIDE_PARQUET_STRING || node->logical == TIDE_PARQUET_JSON,
                                     .max_def = place->max_def,
                                     .max_rep = place->max_rep};
}

static void free_pages(struct tide_parquet_leaf *leaf) {
  for (size_t i = 0; i < leaf->npages; i++)
    tide_free(leaf->pages[i].bytes);
  leaf->npages = 0;
}

void tide_parquet_leaf_clear(struct tide_parquet_leaf *leaf) {
  tide_buf_clear(&leaf->def);
  tide_buf_clear(&leaf->rep);
  tide_buf_clear(&leaf->bytes);
  free_pages(leaf);
  tide_parquet_dict_clear(&leaf->dict);
  tide_free(leaf->numbers);
  tide_free(leaf->pages);
  *leaf = (struct tide_parquet_leaf){0};
}

int tide_parquet_press_init(struct tide_parquet_press *press, int zstd_level, struct tide_err *err) {
  *press = (struct tide_parquet_press){.zstd = tide_zpress_create(zstd_level, err)};
  press->zstd_long = tide_err_is_set(err) ? NULL : tide_zpress_create_long(zstd_level, err);
  tide_parquet_crc_init(&press->crc_table);
  return err->rc;
}

void tide_parquet_press_clear(struct tide_parquet_press *press) {
  tide_zpress_destroy(press->zstd);
  tide_zpress_destroy(press->zstd_long);
  tide_buf_clear(&press->body);
  tide_buf_clear(&press->header);
  tide_buf_clear(&press->frame);
  tide_parquet_scratch_clear(&press->scratch);
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

void tide_parquet_put_flat(struct tide_parquet_leaf *leaf, const uint8_t *present, const int64_t *numbers, size_t n,
                           struct tide_err *err) {
  assert(leaf->max_def <= 1 && leaf->max_rep == 0);
  tide_parquet_leaf_reserve(leaf, n, err);
  if (tide_err_is_set(err) || n == 0)
    return;
  int64_t *to = leaf->numbers + leaf->values;
  for (size_t i = 0; i < n; i++) {
    *to = numbers[i]; /* there is room for one that does not count */
    to += present[i];
  }
  leaf->values = (size_t)(to - leaf->numbers);
  if (leaf->max_def > 0)
    tide_buf_put(&leaf->def, present, n, err);
  leaf->entries += n;
  leaf->rows += n;
}

size_t tide_parquet_leaf_waiting(const struct tide_parquet_leaf *leaf) {
  return leaf->def.len + leaf->rep.len + leaf->bytes.len + leaf->values * sizeof *leaf->numbers;
}

size_t tide_parquet_leaf_weight(const struct tide_parquet_leaf *leaf) {
  enum { PAGE = 264 }; /* of what is known of a page: about as much, and never another number, for it ends row groups */
  return tide_parquet_leaf_waiting(leaf) + leaf->body_size + leaf->bare_size + leaf->npages * PAGE +
         tide_parquet_dict_weight(&leaf->dict);
}

/* ---- levels ---- */

static void put_levels(const struct tide_buf *levels, unsigned max, struct tide_parquet_press *press,
                       struct tide_buf *out, struct tide_err *err) {
  if (max == 0)
    return;
  if (tide_parquet_scratch_reserve(&press->scratch, levels->len, err) != 0)
    return;
  for (size_t i = 0; i < levels->len; i++)
    press->scratch.indexes[i] = levels->data[i];
  const size_t start = out->len;
  tide_buf_put_u32(out, 0, err);
  tide_parquet_put_hybrid(out, press->scratch.indexes, levels->len, tide_bitpack_width(max), err);
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

/* A page before it is compressed. */
struct raw_page {
  enum tide_parquet_page_type type;
  enum tide_parquet_encoding encoding;
  size_t entries;
  bool takes_long; /* goes to zstd_long */
  const struct tide_buf *body;
};

static void put_page_header(const struct raw_page *page, const struct tide_parquet_press *press, struct tide_buf *out,
                            struct tide_err *err) {
  const struct tide_buf *frame = &press->frame;
  const bool data = page->type == TIDE_PARQUET_DATA_PAGE;
  struct tide_thrift thrift;
  tide_thrift_init(&thrift, out, err);
  tide_thrift_begin(&thrift);
  tide_thrift_i32(&thrift, PAGE_TYPE, (int32_t)page->type);
  tide_thrift_i32(&thrift, PAGE_PLAIN_SIZE, (int32_t)page->body->len);
  tide_thrift_i32(&thrift, PAGE_PACKED_SIZE, (int32_t)frame->len);
  tide_thrift_i32(&thrift, PAGE_CRC, (int32_t)tide_parquet_crc(&press->crc_table, 0, frame->data, frame->len));
  tide_thrift_begin_field(&thrift, data ? PAGE_DATA : PAGE_DICTIONARY);
  tide_thrift_i32(&thrift, HEADER_VALUES, (int32_t)page->entries);
  tide_thrift_i32(&thrift, HEADER_ENCODING, (int32_t)page->encoding);
  if (data) {
    tide_thrift_i32(&thrift, HEADER_DEF_ENCODING, TIDE_PARQUET_RLE);
    tide_thrift_i32(&thrift, HEADER_REP_ENCODING, TIDE_PARQUET_RLE);
  }
  tide_thrift_end(&thrift);
  tide_thrift_end(&thrift);
}

/* Makes press->header and press->frame of a page and gives its size before compression, with its header: which holds
 * the size and the checksum of what zstd made of the page, so that neither it nor its length is the same with every
 * zstd. */
static size_t press_page(const struct raw_page *page, struct tide_parquet_press *press,
                         char ret_digest[TIDE_HASH_DIGITS_SIZE], struct tide_err *err) {
  const struct tide_buf *body = page->body;
  struct tide_buf *frame = &press->frame;
  tide_buf_reset(frame);
  if (!tide_err_is_set(err) && body->len > PAGE_SIZE_MAX)
    tide_err_set(err, SQLITE_TOOBIG, "a Parquet page of %lld bytes is above the limit of %d: a value is too long",
                 (long long)body->len, PAGE_SIZE_MAX);
  struct tide_zpress *zstd = page->takes_long ? press->zstd_long : press->zstd;
  if (tide_err_is_set(err) || tide_zpress_frame(zstd, body->data, body->len, frame, err) != 0)
    return 0;
  tide_buf_reset(&press->header);
  put_page_header(page, press, &press->header, err);
  struct tide_hash hash;
  tide_parquet_digest_begin(&hash, page->type, page->encoding, (uint32_t)page->entries);
  tide_hash_update(&hash, body->data, body->len);
  tide_hash_digits(&hash, ret_digest);
  return press->header.len + body->len;
}

/* Whether long matches alone do as well for a page: judged by its first bytes, where a window that is still short makes
 * them look a little worse than they are. */
static bool try_long(struct tide_parquet_press *press, const struct tide_buf *body, struct tide_err *err) {
  const size_t size = body->len < TRIAL_SIZE ? body->len : TRIAL_SIZE;
  struct tide_buf *frame = &press->frame;
  tide_buf_reset(frame);
  if (press->zstd_long == NULL || tide_err_is_set(err) ||
      tide_zpress_frame(press->zstd_long, body->data, size, frame, err) != 0)
    return false;
  const size_t by_long = frame->len;
  tide_buf_reset(frame);
  return tide_zpress_frame(press->zstd, body->data, size, frame, err) == 0 &&
         by_long <= frame->len + frame->len / TRIAL_SHARE;
}

static const unsigned char *bytes_of(const struct tide_parquet_leaf *leaf) {
  return leaf->bytes.len > 0 ? leaf->bytes.data : (const unsigned char *)"";
}

static enum tide_parquet_encoding put_values(struct tide_parquet_leaf *leaf, struct tide_parquet_press *press,
                                             struct tide_err *err) {
  const struct tide_parquet_values values = {.layout = leaf->layout,
                                             .type = leaf->type,
                                             .n = leaf->values,
                                             .numbers = leaf->numbers,
                                             .bytes = bytes_of(leaf),
                                             .nbytes = leaf->bytes.len};
  return tide_parquet_put_values(&values, &leaf->dict, &leaf->dict_refused, &press->scratch, &press->body, err);
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
  *page = (struct tide_parquet_page){.at = leaf->packed_size,
                                     .first_row = leaf->chunk_rows,
                                     .nulls = leaf->entries - leaf->values,
                                     .encoding = put_values(leaf, press, err),
                                     .bounds = bounds_of(leaf)};
  if (leaf->layout->long_matches && leaf->npages == 0 && leaf->type == TIDE_PARQUET_BYTE_ARRAY)
    leaf->takes_long = try_long(press, &press->body, err);
  const struct raw_page raw = {.type = TIDE_PARQUET_DATA_PAGE,
                               .encoding = page->encoding,
                               .entries = leaf->entries,
                               .takes_long = leaf->takes_long,
                               .body = &press->body};
  const size_t plain_size = press_page(&raw, press, page->digest, err);
  page->size = press->header.len + press->frame.len;
  page->bytes = tide_err_is_set(err) ? NULL : tide_alloc(page->size, err);
  if (tide_err_is_set(err))
    return;
  memcpy(page->bytes, press->header.data, press->header.len);
  memcpy(page->bytes + press->header.len, press->frame.data, press->frame.len);
  leaf->packed_size += page->size;
  leaf->plain_size += plain_size;
  leaf->body_size += press->body.len;
  if (page->encoding == TIDE_PARQUET_RLE_DICTIONARY)
    leaf->dict_used = true;
  else
    leaf->bare_size += press->body.len;
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
  struct raw_page page = {.type = TIDE_PARQUET_DICTIONARY_PAGE,
                          .encoding = TIDE_PARQUET_PLAIN,
                          .entries = dict->count,
                          .body = &dict->bytes};
  if (leaf->type != TIDE_PARQUET_BYTE_ARRAY) {
    const struct tide_parquet_values entries = {.type = leaf->type, .n = dict->count, .numbers = dict->numbers};
    tide_buf_reset(&press->body);
    tide_parquet_put_plain(&entries, &press->body, err);
    page.body = &press->body;
  }
  leaf->plain_size += press_page(&page, press, ret_digest, err);
  tide_buf_put(out, press->header.data, press->header.len, err);
  tide_buf_put(out, press->frame.data, press->frame.len, err);
  return out->len - start;
}

void tide_parquet_leaf_put_pages(struct tide_parquet_leaf *leaf, struct tide_buf *out, struct tide_err *err) {
  for (size_t i = 0; i < leaf->npages; i++) {
    struct tide_parquet_page *page = &leaf->pages[i];
    tide_buf_put(out, page->bytes, page->size, err);
    tide_free(page->bytes);
    page->bytes = NULL;
  }
}

void tide_parquet_leaf_reset(struct tide_parquet_leaf *leaf) {
  forget_entries(leaf);
  tide_parquet_dict_reset(&leaf->dict);
  free_pages(leaf);
  leaf->dict_refused = false;
  leaf->packed_size = 0;
  leaf->chunk_entries = 0;
  leaf->chunk_rows = 0;
  leaf->plain_size = 0;
  leaf->body_size = 0;
  leaf->bare_size = 0;
  leaf->dict_used = false;
}
