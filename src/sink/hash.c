#include "sink/hash.h"

#include <stdint.h>

#define XXH_STATIC_LINKING_ONLY /* for the size of XXH3_state_t; no function outside the stable interface is called */
#include <xxhash.h>

#include "base/sqlite.h"

enum { STATE_ALIGNMENT = 64 };
_Static_assert(sizeof(XXH3_state_t) + STATE_ALIGNMENT <= TIDE_HASH_SPACE, "xxHash's state fits wherever it is aligned");

static XXH3_state_t *state_of(struct tide_hash *hash) {
  size_t past = (uintptr_t)hash->space % STATE_ALIGNMENT;
  return (XXH3_state_t *)(void *)(hash->space + (past > 0 ? STATE_ALIGNMENT - past : 0));
}

void tide_hash_init(struct tide_hash *hash) {
  XXH3_128bits_reset(state_of(hash));
}

void tide_hash_update(struct tide_hash *hash, const void *bytes, size_t size) {
  if (size > 0)
    XXH3_128bits_update(state_of(hash), bytes, size);
}

void tide_hash_digits(struct tide_hash *hash, char ret_digits[TIDE_HASH_DIGITS_SIZE]) {
  XXH128_hash_t value = XXH3_128bits_digest(state_of(hash));
  sqlite3_snprintf(TIDE_HASH_DIGITS_SIZE, ret_digits, "%016llx%016llx", (unsigned long long)value.high64,
                   (unsigned long long)value.low64);
}
