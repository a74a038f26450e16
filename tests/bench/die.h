/* Programs of the benchmark end with a sentence when something is not as it should be. */
#ifndef TIDE_BENCH_DIE_H
#define TIDE_BENCH_DIE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noreturn, format(printf, 1, 2))) static inline void die(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(1);
}

/* Memory or the end of the program. */
static inline void *need(void *memory) {
  if (memory == NULL)
    die("out of memory");
  return memory;
}

#endif
