#define _GNU_SOURCE /* nftw */
#include "tree.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>

enum { OPEN_FOLDERS = 16 };

static int64_t bytes;
static const char *wanted;

static int add(const char *path, const struct stat *st, int type, struct FTW *where) {
  (void)where;
  const size_t length = strlen(path);
  const size_t tail = strlen(wanted);
  if (type == FTW_F && length >= tail && strcmp(path + length - tail, wanted) == 0)
    bytes += st->st_size;
  return 0;
}

int64_t tree_bytes(const char *path, const char *suffix) {
  bytes = 0;
  wanted = suffix;
  nftw(path, add, OPEN_FOLDERS, FTW_PHYS);
  return bytes;
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *where) {
  (void)st, (void)type, (void)where;
  return remove(path);
}

void tree_remove(const char *path) {
  nftw(path, take_away, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}
