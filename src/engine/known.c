#include "engine/known.h"

#include <string.h>
#include <xxhash.h>

#include "base/mem.h"

static struct tide_known_slot *slot_of(const struct tide_known *known, const char *text, size_t size) {
  return &known->slots[XXH3_64bits(text, size) % TIDE_KNOWN_SLOTS];
}

void tide_known_forget(struct tide_known *known) {
  for (size_t i = 0; known->slots != NULL && i < TIDE_KNOWN_SLOTS; i++)
    tide_free(known->slots[i].text);
  tide_free(known->slots);
  known->slots = NULL;
}

const struct tide_known_partition *tide_known_find(const struct tide_known *known, const char *text, size_t size) {
  if (known->slots == NULL)
    return NULL;
  const struct tide_known_slot *slot = slot_of(known, text, size);
  return slot->text != NULL && slot->size == size && memcmp(slot->text, text, size) == 0 ? &slot->partition : NULL;
}

void tide_known_add(struct tide_known *known, const char *text, size_t size,
                    const struct tide_known_partition *partition, struct tide_err *err) {
  if (known->slots == NULL)
    known->slots = tide_alloc_zero(TIDE_KNOWN_SLOTS, sizeof *known->slots, err);
  char *copy = known->slots != NULL ? tide_copy_text(text, size, err) : NULL;
  if (copy == NULL)
    return;
  struct tide_known_slot *slot = slot_of(known, text, size);
  tide_free(slot->text);
  *slot = (struct tide_known_slot){.text = copy, .size = size, .partition = *partition};
}
