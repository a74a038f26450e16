#include "sink/delta_txns.h"

#include <string.h>

#include "base/mem.h"

enum { SLOTS_MIN = 16 };

void tide_delta_txns_clear(struct tide_delta_txns *txns) {
  for (size_t i = 0; i < txns->count; i++)
    tide_free(txns->all[i].app);
  tide_free(txns->all);
  tide_free(txns->slots);
  *txns = (struct tide_delta_txns){0};
}

/* FNV-1a with 64 bits, folded so that all of them count in the low ones. */
static uint64_t hash_of(const char *app, size_t size) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ (unsigned char)app[i]) * UINT64_C(0x100000001b3);
  return hash ^ hash >> 32;
}

static bool is_of(const struct tide_delta_txn *txn, const char *app, size_t size) {
  return strncmp(txn->app, app, size) == 0 && txn->app[size] == '\0';
}

/* The slot of an application: the one that has it, or the free one where it belongs. Some slot is always free. */
static uint32_t *slot_of(const struct tide_delta_txns *txns, const char *app, size_t size) {
  for (uint64_t at = hash_of(app, size);; at++) {
    uint32_t *slot = &txns->slots[at & (txns->nslots - 1)];
    if (*slot == 0 || is_of(&txns->all[*slot - 1], app, size))
      return slot;
  }
}

/* Makes room for one more. */
static int grow(struct tide_delta_txns *txns, struct tide_err *err) {
  void *all = txns->all;
  if (tide_grow(&all, &txns->cap, txns->count + 1, sizeof *txns->all, err) != 0)
    return err->rc;
  txns->all = all;
  if (txns->count + 1 <= txns->nslots / 2)
    return 0;
  const size_t nslots = txns->nslots > 0 ? txns->nslots * 2 : SLOTS_MIN;
  uint32_t *slots = tide_alloc_zero(nslots, sizeof *slots, err);
  if (slots == NULL)
    return err->rc;
  tide_free(txns->slots);
  txns->slots = slots;
  txns->nslots = nslots;
  for (size_t i = 0; i < txns->count; i++)
    *slot_of(txns, txns->all[i].app, strlen(txns->all[i].app)) = (uint32_t)(i + 1);
  return 0;
}

static struct tide_delta_txn *find(const struct tide_delta_txns *txns, const char *app, size_t size) {
  const uint32_t slot = txns->nslots > 0 ? *slot_of(txns, app, size) : 0;
  return slot != 0 ? &txns->all[slot - 1] : NULL;
}

static struct tide_delta_txn *add(struct tide_delta_txns *txns, const char *app, size_t size, struct tide_err *err) {
  if (grow(txns, err) != 0)
    return NULL;
  char *copy = tide_copy_text(app, size, err);
  if (copy == NULL)
    return NULL;
  uint32_t *slot = slot_of(txns, app, size);
  txns->all[txns->count] = (struct tide_delta_txn){.app = copy};
  *slot = (uint32_t)++txns->count;
  return &txns->all[txns->count - 1];
}

const struct tide_delta_txn *tide_delta_txns_find(const struct tide_delta_txns *txns, const char *app, size_t size) {
  return find(txns, app, size);
}

void tide_delta_txns_put(struct tide_delta_txns *txns, const char *app, size_t size, int64_t version,
                         int64_t updated_ms, struct tide_err *err) {
  struct tide_delta_txn *txn = find(txns, app, size);
  if (txn == NULL)
    txn = add(txns, app, size, err);
  if (txn == NULL)
    return;
  txn->version = version;
  txn->updated_ms = updated_ms;
}
