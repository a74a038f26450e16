#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_check(bool holds, const char *what, const char *file, int line) {
  if (holds)
    return;
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
  abort();
}

void fuzz_check_error(const struct tide_err *err, int code, int other) {
  if (!tide_err_is_set(err) || ((err->rc == code || err->rc == other) && err->msg[0] != '\0'))
    return;
  fprintf(stderr, "error %d, where %d or %d is expected: %s\n", err->rc, code, other, err->msg);
  abort();
}

static int64_t used_before;

void fuzz_begin(int64_t bytes_max) {
  sqlite3_initialize();
  used_before = sqlite3_memory_used();
  sqlite3_hard_heap_limit64(used_before + bytes_max);
}

void fuzz_end(void) {
  sqlite3_hard_heap_limit64(0);
  const int64_t used = sqlite3_memory_used();
  if (used == used_before)
    return;
  fprintf(stderr, "%lld bytes were taken and not given back\n", (long long)(used - used_before));
  abort();
}

uint8_t fuzz_u8(struct fuzz_input *input) {
  if (input->left == 0)
    return 0;
  input->left--;
  return *input->at++;
}

uint64_t fuzz_u64(struct fuzz_input *input) {
  uint64_t value = 0;
  for (unsigned i = 0; i < 8; i++)
    value |= (uint64_t)fuzz_u8(input) << 8 * i;
  return value;
}

size_t fuzz_number(struct fuzz_input *input, size_t max) {
  const size_t low = fuzz_u8(input), high = fuzz_u8(input);
  return (low | high << 8) % (max + 1);
}

char *fuzz_string(struct fuzz_input *input, size_t size, size_t *ret_size) {
  const size_t n = size < input->left ? size : input->left;
  char *copy = malloc(n + 1);
  FUZZ_CHECK(copy != NULL);
  if (n > 0)
    memcpy(copy, input->at, n);
  copy[n] = '\0';
  input->at += n;
  input->left -= n;
  *ret_size = n;
  return copy;
}

uint8_t *fuzz_bytes(struct fuzz_input *input, size_t size, size_t *ret_size) {
  const size_t n = size < input->left ? size : input->left;
  uint8_t *copy = malloc(n > 0 ? n : 1);
  FUZZ_CHECK(copy != NULL);
  if (n > 0)
    memcpy(copy, input->at, n);
  input->at += n;
  input->left -= n;
  *ret_size = n;
  return copy;
}

long fuzz_read(void *context, void *into, size_t size, struct tide_err *err) {
  struct fuzz_input *input = context;
  const size_t n = size < input->left ? size : input->left;
  FUZZ_CHECK(err->rc == 0);
  if (n > 0)
    memcpy(into, input->at, n);
  input->at += n;
  input->left -= n;
  return (long)n;
}

sqlite3_stmt *fuzz_prepare(sqlite3 *db, const char *format, ...) {
  sqlite3_stmt *stmt = NULL;
  va_list args;
  va_start(args, format);
  char *sql = sqlite3_vmprintf(format, args);
  va_end(args);
  if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
    fprintf(stderr, "%s\n%s\n", sql, sqlite3_errmsg(db));
    abort();
  }
  sqlite3_free(sql);
  return stmt;
}
