#include "sink/parquet_dict.h"

#include <string.h>

#include "base/mem.h"
#include "codec/bitpack.h"

enum {
  SLOTS_MIN = 256,
  PROBES_MAX = 64, /* more means values that were chosen to collide: the dictionary counts as full */
  LENGTH_SIZE = 4
};

#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

void tide_parquet_dict_reset(struct tide_parquet_dict *dict) {
  dict->count = 0;
  dict->size = 0;
  tide_buf_reset(&dict->bytes);
  if (dict->slots != NULL)
    memset(dict->slots, 0, dict->nslots * sizeof *dict->slots);
}

void tide_parquet_dict_clear(struct tide_parquet_dict *dict) {
  tide_free(dict->numbers);
  tide_free(dict->ends);
  tide_free(dict->slots);
  tide_buf_clear(&dict->bytes);
  *dict = (struct tide_parquet_dict){0};
}

void tide_parquet_dict_truncate(struct tide_parquet_dict *dict, size_t count, size_t size) {
  dict->count = count;
  dict->size = size;
  if (dict->ends != NULL)
    dict->bytes.len = count > 0 ? dict->ends[count - 1] : 0;
}

/* ---- the table ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * MULTIPLIER;
  return hash ^ hash >> 32;
}

/* The last eight bytes, or all of fewer, some of them twice. */
static uint64_t last_bytes(const unsigned char *bytes, size_t size) {
  uint32_t low, high;
  if (size >= 8)
    return tide_load_u64(bytes + size - 8);
  if (size < 4)
    return size == 0 ? 0 : bytes[0] | (uint64_t)bytes[size / 2] << 8 | (uint64_t)bytes[size - 1] << 16;
  memcpy(&low, bytes, 4);
  memcpy(&high, bytes + size - 4, 4);
  return low | (uint64_t)high << 32;
}

static uint64_t hash_bytes(const unsigned char *bytes, size_t size) {
  uint64_t hash = mix(MULTIPLIER, size);
  for (size_t at = 0; size - at > 8; at += 8)
    hash = mix(hash, tide_load_u64(bytes + at));
  return mix(mix(hash, last_bytes(bytes, size)), 0);
}

static bool equals(const struct tide_parquet_dict *dict, size_t index, int64_t number, const unsigned char *bytes) {
  return dict->numbers[index] == number &&
         (bytes == NULL || number == 0 ||
          memcmp(dict->bytes.data + dict->ends[index] - (size_t)number, bytes, (size_t)number) == 0);
}

/* The slot of a value: its own, or the free one where it belongs; NULL after too many others. */
static struct tide_parquet_dict_slot *find(const struct tide_parquet_dict *dict, uint64_t hash, int64_t number,
                                           const unsigned char *bytes) {
  for (size_t probe = 0; probe < PROBES_MAX; probe++) {
    struct tide_parquet_dict_slot *slot = &dict->slots[(hash + probe) & (dict->nslots - 1)];
    if (slot->entry == 0 || (slot->hash == (uint32_t)hash && equals(dict, slot->entry - 1, number, bytes)))
      return slot;
  }
  return NULL;
}
static bool rehash(struct tide_parquet_dict *dict, struct tide_err *err) {
  const size_t nslots = dict->nslots == 0 ? SLOTS_MIN : dict->nslots * 2;
  struct tide_parquet_dict_slot *slots = tide_alloc_zero(nslots, sizeof *slots, err);
  if (slots == NULL)
    return false;
  for (size_t i = 0; i < dict->nslots; i++) {
    size_t at = dict->slots[i].hash;
    if (dict->slots[i].entry == 0)
      continue;
    while (slots[at & (nslots - 1)].entry != 0)
      at++;
    slots[at & (nslots - 1)] = dict->slots[i];
  }
  tide_free(dict->slots);
  dict->slots = slots;
  dict->nslots = nslots;
  return true;
}

static int64_t *grow_numbers(struct tide_parquet_dict *dict, struct tide_err *err) {
  void *numbers = dict->numbers;
  tide_grow(&numbers, &dict->cap, dict->count + 1, sizeof *dict->numbers, err);
  return dict->numbers = numbers;
}

static void grow_ends(struct tide_parquet_dict *dict, struct tide_err *err) {
  void *ends = dict->ends;
  tide_grow(&ends, &dict->ends_cap, dict->count + 1, sizeof *dict->ends, err);
  dict->ends = ends;
}

/* bytes NULL: a number. size: of the entry in PLAIN. */
static int64_t add(struct tide_parquet_dict *dict, uint64_t hash, int64_t number, const unsigned char *bytes,
                   size_t size, struct tide_err *err) {
  if (dict->count * 2 >= dict->nslots && !rehash(dict, err))
    return -1;
  struct tide_parquet_dict_slot *slot = find(dict, hash, number, bytes);
  if (slot != NULL && slot->entry != 0)
    return slot->entry - 1;
  if (slot == NULL || dict->count == TIDE_PARQUET_DICT_ENTRIES || size > TIDE_PARQUET_DICT_BYTES - dict->size)
    return -1;
  grow_numbers(dict, err);
  if (bytes != NULL) {
    grow_ends(dict, err);
    tide_buf_put_u32(&dict->bytes, (uint32_t)number, err);
    tide_buf_put(&dict->bytes, bytes, (size_t)number, err);
  }
  if (tide_err_is_set(err))
    return -1;
  dict->numbers[dict->count] = number;
  if (bytes != NULL)
    dict->ends[dict->count] = dict->bytes.len;
  dict->size += size;
  *slot = (struct tide_parquet_dict_slot){.hash = (uint32_t)hash, .entry = (uint32_t)++dict->count};
  return slot->entry - 1;
}

int64_t tide_parquet_dict_number(struct tide_parquet_dict *dict, int64_t number, size_t width, struct tide_err *err) {
  return add(dict, mix(MULTIPLIER, (uint64_t)number), number, NULL, width, err);
}

int64_t tide_parquet_dict_bytes(struct tide_parquet_dict *dict, const unsigned char *bytes, size_t size,
                                struct tide_err *err) {
  return add(dict, hash_bytes(bytes, size), (int64_t)size, bytes, size + LENGTH_SIZE, err);
}
