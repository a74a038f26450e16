/* What the fuzz targets share. A target gets bytes that nobody vouches for and hands them to one reader; it ends the
 * process when the reader does what it must not: crash, give a code that is not for damage, take more memory than is
 * allowed, or keep any. Whoever runs the targets is libFuzzer, or replay.c on the files of a corpus. */
#ifndef TIDE_TESTS_FUZZ_H
#define TIDE_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process with a sentence when it does not hold. */
#define FUZZ_CHECK(holds) fuzz_check((holds), #holds, __FILE__, __LINE__)
void fuzz_check(bool holds, const char *what, const char *file, int line);

/* An error that is set has to have one of the two codes (extended ones as they are) and words; SQLITE_NOMEM, which is
 * what taking more than allowed gives, is then none of them. */
void fuzz_check_error(const struct tide_err *err, int code, int other);

/* Between the two, no more than so many bytes may be taken from SQLite's allocator, and all are to be given back. */
void fuzz_begin(int64_t bytes_max);
void fuzz_end(void);

/* ---- the input, taken from its front; beyond its end numbers are 0 and runs of bytes are shorter ---- */

struct fuzz_input {
  const uint8_t *at;
  size_t left;
};

uint8_t fuzz_u8(struct fuzz_input *input);
uint64_t fuzz_u64(struct fuzz_input *input);              /* eight bytes, little-endian */
size_t fuzz_number(struct fuzz_input *input, size_t max); /* 0 to max, of two bytes */

/* A copy of at most `size` of the next bytes, so that a read beyond them is noticed; the caller frees. */
uint8_t *fuzz_bytes(struct fuzz_input *input, size_t size, size_t *ret_size);
/* The same as a string: with a NUL behind it. */
char *fuzz_string(struct fuzz_input *input, size_t size, size_t *ret_size);
/* The next bytes as an object that is read piece by piece (sink/target.h); context: the input. */
long fuzz_read(void *context, void *into, size_t size, struct tide_err *err);

/* Prepares SQL given as an sqlite3_mprintf format, or ends the process. */
sqlite3_stmt *fuzz_prepare(sqlite3 *db, const char *format, ...);

#endif
