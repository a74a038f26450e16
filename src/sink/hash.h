/* The hash of an object's encoded rows: XXH3 with 128 bits (xxHash, seed 0), as 32 hexadecimal digits, high half first.
 * Life: init, update any number of times, digits. It lives by value where it is used and is never copied. */
#ifndef TIDE_SINK_HASH_H
#define TIDE_SINK_HASH_H

#include <stddef.h>

enum { TIDE_HASH_DIGITS_SIZE = 33, TIDE_HASH_SPACE = 704 };

struct tide_hash {
  unsigned char space[TIDE_HASH_SPACE]; /* holds xxHash's state, which wants 64-byte alignment, wherever that falls */
};

void tide_hash_init(struct tide_hash *hash);
void tide_hash_update(struct tide_hash *hash, const void *bytes, size_t size);
void tide_hash_digits(struct tide_hash *hash, char ret_digits[TIDE_HASH_DIGITS_SIZE]);

#endif
