/* Values out of a fuzzer's bytes, and what is looked at in those that a reader gives. */
#ifndef TIDE_TESTS_FUZZ_VALUES_H
#define TIDE_TESTS_FUZZ_VALUES_H

#include "fuzz.h"
#include "model/batch.h"

/* Takes one value, u8 type and shape, then what it needs; texts and blobs are views into the input. Small numbers,
 * repeated texts and lines of a log are as likely as anything else, for these have layouts of their own. scratch: room
 * for a text that is made up. */
enum { FUZZ_SCRATCH = 128 };
struct tide_val fuzz_value(struct fuzz_input *input, char scratch[FUZZ_SCRATCH]);

/* Reads every byte of a value, so that a view beyond its memory is noticed, and checks that it is one. */
uint64_t fuzz_sum(const struct tide_val *val);

/* Whether a zstd frame among the bytes says of itself that it gives at least so many. Then SQLITE_NOMEM is a right answer
 * where memory is bounded: the bytes are what a text of that size would be. */
bool fuzz_is_bomb(const uint8_t *bytes, size_t size, uint64_t least);

/* The same type and the same bits. */
bool fuzz_same(const struct tide_val *a, const struct tide_val *b);

#endif
