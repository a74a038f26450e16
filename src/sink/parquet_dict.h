/* The dictionary of one column chunk: each different value once, in the order of its first use. It never grows beyond
 * TIDE_PARQUET_DICT_ENTRIES and TIDE_PARQUET_DICT_BYTES.
 *
 * Life: all zero; add; reset for the next chunk, which keeps the memory; clear. */
#ifndef TIDE_SINK_PARQUET_DICT_H
#define TIDE_SINK_PARQUET_DICT_H

#include <stdbool.h>

#include "base/buf.h"

enum { TIDE_PARQUET_DICT_ENTRIES = 1 << 17, TIDE_PARQUET_DICT_BYTES = 4 << 20 };

struct tide_parquet_dict_slot {
  uint32_t hash;  /* of the entry, its low half */
  uint32_t entry; /* 1 + its index, 0: free */
};

struct tide_parquet_dict {
  size_t count;
  size_t size;           /* of the entries as PLAIN has them */
  int64_t *numbers;      /* the entries; for byte strings their sizes */
  size_t *ends;          /* of byte strings, in bytes */
  struct tide_buf bytes; /* the byte strings as PLAIN has them */
  size_t cap;            /* entries there is room for */
  size_t ends_cap;
  struct tide_parquet_dict_slot *slots; /* an open hash table; a power of two, at most half full */
  size_t nslots;
};

void tide_parquet_dict_reset(struct tide_parquet_dict *dict);
void tide_parquet_dict_clear(struct tide_parquet_dict *dict);

/* Takes back all but the first `count` entries, for good: nothing is added before the next reset. */
void tide_parquet_dict_truncate(struct tide_parquet_dict *dict, size_t count, size_t size);

/* What it takes in memory by its entries alone, so that the same values give the same number. */
static inline size_t tide_parquet_dict_weight(const struct tide_parquet_dict *dict) {
  enum { ENTRY = 32 }; /* of an entry's number, end and slots: not more than there are, and never another number */
  return dict->bytes.len + dict->count * ENTRY;
}

/* The index of a value, which becomes an entry if it is none; -1 when the dictionary is full or err is set. A
 * dictionary holds numbers or byte strings, not both; width: bytes of a number in PLAIN. */
int64_t tide_parquet_dict_number(struct tide_parquet_dict *dict, int64_t number, size_t width, struct tide_err *err);
int64_t tide_parquet_dict_bytes(struct tide_parquet_dict *dict, const unsigned char *bytes, size_t size,
                                struct tide_err *err);

#endif
