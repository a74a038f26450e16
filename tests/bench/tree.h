/* A folder with all that is in it. */
#ifndef TIDE_BENCH_TREE_H
#define TIDE_BENCH_TREE_H

#include <stdint.h>

/* Bytes of the regular files whose names end so; 0 when there are none. */
int64_t tree_bytes(const char *path, const char *suffix);
void tree_remove(const char *path);

#endif
