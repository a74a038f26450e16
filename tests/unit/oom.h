/* Makes allocations of SQLite's allocator fail, which all of ours go through: the n-th from now on, and no other or all
 * that follow too. Everything allocated is counted, so that a test sees what was not given back.
 *
 *   oom_install();                       // before all else in the process: it starts SQLite anew
 *   for (int n = 1;; n++) {
 *     oom_fail_at(n);
 *     ... the code under test ...
 *     if (!oom_has_failed()) break;      // it has fewer than n allocations
 *     ... SQLITE_NOMEM, and oom_live() is what it was before ...
 *   }
 *   oom_fail_at(0);                      // no more */
#ifndef TIDE_TESTS_OOM_H
#define TIDE_TESTS_OOM_H

#include <check.h>
#include <stdbool.h>

#include "base/sqlite.h"

static struct {
  sqlite3_mem_methods real;
  long until; /* allocations to the one that fails; 0: none will */
  long live;  /* blocks allocated and not freed */
  bool failed;
  bool stays; /* once one has failed, all do */
} oom;

static inline bool oom_is_due(void) {
  if (oom.failed && oom.stays)
    return true;
  if (oom.until == 0 || --oom.until > 0)
    return false;
  oom.failed = true;
  return true;
}

static inline void *oom_malloc(int size) {
  void *block = oom_is_due() ? NULL : oom.real.xMalloc(size);
  oom.live += block != NULL;
  return block;
}

static inline void *oom_realloc(void *old, int size) {
  return oom_is_due() ? NULL : oom.real.xRealloc(old, size);
}

static inline void oom_free(void *block) {
  oom.live -= block != NULL;
  oom.real.xFree(block);
}

static inline void oom_install(void) {
  sqlite3_shutdown();
  ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &oom.real), SQLITE_OK);
  sqlite3_mem_methods methods = oom.real;
  methods.xMalloc = oom_malloc;
  methods.xRealloc = oom_realloc;
  methods.xFree = oom_free;
  ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
  ck_assert_int_eq(sqlite3_initialize(), SQLITE_OK);
}

static inline void oom_fail_at(long n) {
  oom.until = n;
  oom.failed = false;
  oom.stays = false;
}

/* From the n-th on, until oom_fail_at(0). */
static inline void oom_fail_from(long n) {
  oom_fail_at(n);
  oom.stays = true;
}

static inline bool oom_has_failed(void) {
  return oom.failed;
}

static inline long oom_live(void) {
  return oom.live;
}

#endif
