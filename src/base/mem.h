/* The only allocator: sqlite3_malloc64, so that every allocation can be made to fail by the host's own means. */
#ifndef TIDE_BASE_MEM_H
#define TIDE_BASE_MEM_H

#include <stddef.h>

#include "base/err.h"

/* NULL with SQLITE_NOMEM in err on failure. A size of 0 gives a valid pointer. */
void *tide_alloc(size_t size, struct tide_err *err);

/* All bytes zero. count * size is checked for overflow. */
void *tide_alloc_zero(size_t count, size_t size, struct tide_err *err);

/* The old block stays valid on failure. count * size is checked for overflow. */
void *tide_realloc(void *old, size_t count, size_t size, struct tide_err *err);

/* A copy of size bytes with a NUL behind them; of a string. */
char *tide_copy_text(const char *text, size_t size, struct tide_err *err);
char *tide_copy_string(const char *text, struct tide_err *err);

/* sqlite3_mprintf with the error set on failure. The caller frees with tide_free. */
char *tide_printf(struct tide_err *err, const char *format, ...);

void tide_free(void *block);

/* Makes room for `need` elements in an array that grows by doubling: *array and *cap are changed together or not at
 * all. Returns 0, or the error's code. */
int tide_grow(void **array, size_t *cap, size_t need, size_t size, struct tide_err *err);

#endif
