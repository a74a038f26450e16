#include "sink/parquet_values.h"

#include <string.h>

#include "base/mem.h"
#include "codec/bitpack.h"

enum { LENGTH_SIZE = 4 };

void tide_parquet_scratch_clear(struct tide_parquet_scratch *scratch) {
  tide_buf_clear(&scratch->layout);
  tide_free(scratch->indexes);
  tide_free(scratch->recent);
  *scratch = (struct tide_parquet_scratch){0};
}

int tide_parquet_scratch_reserve(struct tide_parquet_scratch *scratch, size_t n, struct tide_err *err) {
  void *indexes = scratch->indexes;
  int rc =
      tide_err_is_set(err) ? err->rc : tide_grow(&indexes, &scratch->indexes_cap, n, sizeof *scratch->indexes, err);
  scratch->indexes = indexes;
  return rc;
}

/* ---- plain ---- */

static size_t number_size(enum tide_parquet_type type) {
  return type == TIDE_PARQUET_INT32 ? 4 : 8;
}

static void put_numbers(const struct tide_parquet_values *values, struct tide_buf *out, struct tide_err *err) {
  if (tide_buf_reserve(out, values->n * sizeof(uint64_t), err) != 0)
    return;
  for (size_t i = 0; i < values->n; i++) {
    tide_store_u64(out->data + out->len, (uint64_t)values->numbers[i]);
    out->len += number_size(values->type);
  }
}

static void put_byte_strings(const struct tide_parquet_values *values, struct tide_buf *out, struct tide_err *err) {
  const unsigned char *at = values->bytes;
  if (tide_buf_reserve(out, values->n * LENGTH_SIZE + values->nbytes, err) != 0)
    return;
  unsigned char *to = out->data + out->len;
  for (size_t i = 0; i < values->n; i++) {
    const size_t size = (size_t)values->numbers[i];
    for (unsigned byte = 0; byte < LENGTH_SIZE; byte++)
      *to++ = (unsigned char)(size >> (8 * byte));
    memcpy(to, at, size);
    to += size;
    at += size;
  }
  out->len = (size_t)(to - out->data);
}

static void put_booleans(const struct tide_parquet_values *values, struct tide_buf *out, struct tide_err *err) {
  for (size_t i = 0; i < values->n; i += 8) {
    unsigned byte = 0;
    for (size_t bit = 0; bit < 8 && i + bit < values->n; bit++)
      byte |= (values->numbers[i + bit] != 0 ? 1u : 0u) << bit;
    tide_buf_put_u8(out, (uint8_t)byte, err);
  }
}

void tide_parquet_put_plain(const struct tide_parquet_values *values, struct tide_buf *out, struct tide_err *err) {
  if (values->type == TIDE_PARQUET_BYTE_ARRAY)
    put_byte_strings(values, out, err);
  else if (values->type == TIDE_PARQUET_BOOLEAN)
    put_booleans(values, out, err);
  else
    put_numbers(values, out, err);
}

/* ---- guesses of compressed sizes ---- */

/* What an LZ compressor makes of numbers that stand one behind the other, in bytes: one that begins a repetition, and
 * what comes with one that was not there before, whose high bytes are often those of its neighbour. */
enum { REPEATED = 2, NEW = 2, RECENT_BITS = 13 };

static size_t guess_new(enum tide_parquet_type type, int64_t number, int64_t before) {
  size_t differ = (tide_bitpack_width((uint64_t)number ^ (uint64_t)before) + 7) / 8;
  return differ + NEW < number_size(type) ? differ + NEW : number_size(type);
}

static size_t guess_plain(const struct tide_parquet_values *values, struct tide_parquet_scratch *scratch,
                          struct tide_err *err) {
  const int64_t *numbers = values->numbers;
  size_t size = 0;
  size_t match = 0; /* 1 + where the number before was found; 0: it was new */
  if (scratch->recent == NULL)
    scratch->recent = tide_alloc(sizeof *scratch->recent << RECENT_BITS, err);
  if (scratch->recent == NULL)
    return 0;
  memset(scratch->recent, 0, sizeof *scratch->recent << RECENT_BITS);
  for (size_t i = 0; i < values->n; i++) {
    uint32_t *recent = &scratch->recent[(uint64_t)numbers[i] * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RECENT_BITS)];
    if (match > 0 && numbers[match] == numbers[i]) {
      match++; /* the repetition goes on and costs nothing */
    } else if (*recent > 0 && numbers[*recent - 1] == numbers[i]) {
      match = *recent;
      size += REPEATED;
    } else {
      match = 0;
      size += guess_new(values->type, numbers[i], i > 0 ? numbers[i - 1] : 0);
    }
    *recent = (uint32_t)i + 1;
  }
  return size;
}

/* ---- the dictionary ---- */

/* What the entries from `first` on come to. */
static size_t guess_entries(const struct tide_parquet_dict *dict, enum tide_parquet_type type, size_t first) {
  size_t size = 0;
  for (size_t i = first; i < dict->count; i++)
    size += guess_new(type, dict->numbers[i], i > 0 ? dict->numbers[i - 1] : 0);
  return size;
}

/* Turns the values into indexes. false when the dictionary is full, or has grown by more than `limit`. */
static bool look_up(const struct tide_parquet_values *values, struct tide_parquet_dict *dict, size_t limit,
                    uint64_t *indexes, struct tide_err *err) {
  const unsigned char *at = values->bytes;
  const bool is_bytes = values->type == TIDE_PARQUET_BYTE_ARRAY;
  const size_t before = dict->size;
  /* An entry of NEW + 1 bytes is as cheap as a guess has them. */
  const size_t growth = is_bytes ? limit : limit / (NEW + 1) * number_size(values->type);
  for (size_t i = 0; i < values->n; i++) {
    int64_t index;
    if (is_bytes) {
      index = tide_parquet_dict_bytes(dict, at, (size_t)values->numbers[i], err);
      at += values->numbers[i];
    } else {
      index = tide_parquet_dict_number(dict, values->numbers[i], number_size(values->type), err);
    }
    if (index < 0 || dict->size - before > growth)
      return false;
    indexes[i] = (uint64_t)index;
  }
  return true;
}

/* Tries the dictionary, which must come to less than `limit`; the layout is then in scratch->layout. */
static bool try_dict(const struct tide_parquet_values *values, struct tide_parquet_dict *dict, size_t limit,
                     struct tide_parquet_scratch *scratch, struct tide_err *err) {
  const size_t count = dict->count;
  const size_t size = dict->size;
  struct tide_buf *layout = &scratch->layout;
  tide_buf_reset(layout);
  if (tide_parquet_scratch_reserve(scratch, values->n, err) != 0)
    return false;
  bool fits = look_up(values, dict, limit, scratch->indexes, err);
  if (fits) {
    unsigned width = tide_bitpack_width(dict->count - 1);
    width = width > 0 ? width : 1; /* readers differ over a width of 0 */
    tide_buf_put_u8(layout, (uint8_t)width, err);
    tide_parquet_put_hybrid(layout, scratch->indexes, values->n, width, err);
    const bool is_bytes = values->type == TIDE_PARQUET_BYTE_ARRAY;
    const size_t entries = is_bytes ? dict->size - size : guess_entries(dict, values->type, count);
    fits = entries + layout->len * (is_bytes ? values->layout->index_weight : 1) < limit;
  }
  if (!fits && count == 0)
    tide_parquet_dict_clear(dict);
  else if (!fits)
    tide_parquet_dict_truncate(dict, count, size);
  return fits && !tide_err_is_set(err);
}

/* ---- the choice ---- */

static size_t try_delta(const struct tide_parquet_values *values, struct tide_parquet_scratch *scratch,
                        struct tide_err *err) {
  tide_buf_reset(&scratch->layout);
  tide_parquet_put_delta(&scratch->layout, values->numbers, values->n, err);
  return scratch->layout.len;
}

enum tide_parquet_encoding tide_parquet_put_values(const struct tide_parquet_values *values,
                                                   struct tide_parquet_dict *dict, bool *dict_refused,
                                                   struct tide_parquet_scratch *scratch, struct tide_buf *out,
                                                   struct tide_err *err) {
  const bool is_bytes = values->type == TIDE_PARQUET_BYTE_ARRAY;
  if (values->n == 0 || values->type == TIDE_PARQUET_BOOLEAN) {
    tide_parquet_put_plain(values, out, err);
    return TIDE_PARQUET_PLAIN;
  }
  const size_t plain = is_bytes ? values->n * LENGTH_SIZE + values->nbytes : guess_plain(values, scratch, err);
  const bool takes_delta = !is_bytes && values->type != TIDE_PARQUET_DOUBLE;
  const size_t delta = takes_delta ? try_delta(values, scratch, err) : SIZE_MAX;
  if (!*dict_refused && try_dict(values, dict, delta < plain ? delta : plain, scratch, err)) {
    tide_buf_put(out, scratch->layout.data, scratch->layout.len, err);
    return TIDE_PARQUET_RLE_DICTIONARY;
  }
  *dict_refused = true;
  if (delta < plain) {
    tide_parquet_put_delta(out, values->numbers, values->n, err);
    return TIDE_PARQUET_DELTA_BINARY_PACKED;
  }
  tide_parquet_put_plain(values, out, err);
  return TIDE_PARQUET_PLAIN;
}
