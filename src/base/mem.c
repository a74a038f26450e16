#include "base/mem.h"

#include <stdint.h>
#include <string.h>

#include "base/sqlite.h"

void *tide_alloc(size_t size, struct tide_err *err) {
  void *block = sqlite3_malloc64(size > 0 ? size : 1);
  if (block == NULL)
    tide_err_nomem(err);
  return block;
}

void *tide_alloc_zero(size_t count, size_t size, struct tide_err *err) {
  void *block = tide_realloc(NULL, count, size, err);
  if (block != NULL)
    memset(block, 0, count * size);
  return block;
}

void *tide_realloc(void *old, size_t count, size_t size, struct tide_err *err) {
  void *block = NULL;
  if (size == 0 || count <= SIZE_MAX / size)
    block = sqlite3_realloc64(old, count * size > 0 ? count * size : 1);
  if (block == NULL)
    tide_err_nomem(err);
  return block;
}

char *tide_copy_text(const char *text, size_t size, struct tide_err *err) {
  char *copy = size < SIZE_MAX ? tide_alloc(size + 1, err) : NULL;
  if (copy == NULL)
    return NULL;
  if (size > 0)
    memcpy(copy, text, size);
  copy[size] = '\0';
  return copy;
}

char *tide_copy_string(const char *text, struct tide_err *err) {
  return tide_copy_text(text, strlen(text), err);
}

char *tide_printf(struct tide_err *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = sqlite3_vmprintf(format, args);
  va_end(args);
  if (text == NULL)
    tide_err_nomem(err);
  return text;
}

void tide_free(void *block) {
  sqlite3_free(block);
}

int tide_grow(void **array, size_t *cap, size_t need, size_t size, struct tide_err *err) {
  if (need <= *cap)
    return 0;
  size_t grown = *cap < 8 ? 8 : *cap;
  while (grown < need) {
    if (grown > SIZE_MAX / 2) {
      tide_err_nomem(err);
      return err->rc;
    }
    grown *= 2;
  }
  void *block = tide_realloc(*array, grown, size, err);
  if (block == NULL)
    return err->rc;
  *array = block;
  *cap = grown;
  return 0;
}
