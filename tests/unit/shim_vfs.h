/* A VFS over SQLite's own that a test looks into: its clock is the test's, it counts what is read and written, and
 * it tells a hook of each change to a file before it is made. Named "shim"; register it with shim_register. */
#ifndef TIDE_TESTS_SHIM_VFS_H
#define TIDE_TESTS_SHIM_VFS_H

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/sqlite.h"

enum shim_call { SHIM_WRITE, SHIM_TRUNCATE, SHIM_SYNC, SHIM_DELETE };

static struct {
  sqlite3_vfs *real;
  int64_t now_ms; /* since 1970; 0: the real clock */
  long reads;
  long changes;   /* calls of the four kinds */
  bool skip_sync; /* tell of a sync, and leave it out */
  /* Before a change: offset and size are those of the write; offset is where a truncate cuts; size of a delete says
   * whether the folder is synced. */
  void (*before)(enum shim_call call, const char *path, int64_t offset, int size);
  void (*touched)(void); /* before a read and before a change */
} shim;

/* The methods of one file, which stand in front of the real ones. */
struct shim_methods {
  sqlite3_io_methods base;
  const sqlite3_io_methods *real;
  char *path;
};

static inline const struct shim_methods *shim_of(sqlite3_file *file) {
  return (const struct shim_methods *)file->pMethods;
}

static inline void shim_touch(void) {
  if (shim.touched != NULL)
    shim.touched();
}

static inline void shim_tell(enum shim_call call, const char *path, int64_t offset, int size) {
  shim.changes++;
  shim_touch();
  if (shim.before != NULL && path != NULL)
    shim.before(call, path, offset, size);
}

static inline int shim_read(sqlite3_file *file, void *into, int size, sqlite3_int64 offset) {
  shim.reads++;
  shim_touch();
  return shim_of(file)->real->xRead(file, into, size, offset);
}

static inline int shim_write(sqlite3_file *file, const void *from, int size, sqlite3_int64 offset) {
  shim_tell(SHIM_WRITE, shim_of(file)->path, offset, size);
  return shim_of(file)->real->xWrite(file, from, size, offset);
}

static inline int shim_truncate(sqlite3_file *file, sqlite3_int64 size) {
  shim_tell(SHIM_TRUNCATE, shim_of(file)->path, size, 0);
  return shim_of(file)->real->xTruncate(file, size);
}

static inline int shim_sync(sqlite3_file *file, int flags) {
  shim_tell(SHIM_SYNC, shim_of(file)->path, 0, 0);
  return shim.skip_sync ? SQLITE_OK : shim_of(file)->real->xSync(file, flags);
}

static inline int shim_close(sqlite3_file *file) {
  struct shim_methods *methods = (struct shim_methods *)file->pMethods;
  const int rc = methods->real->xClose(file);
  free(methods->path);
  free(methods);
  return rc;
}

static inline int shim_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *ret_flags) {
  (void)vfs;
  const int rc = shim.real->xOpen(shim.real, path, file, flags, ret_flags);
  if (file->pMethods == NULL)
    return rc;
  struct shim_methods *methods = calloc(1, sizeof *methods);
  methods->base = *file->pMethods;
  methods->real = file->pMethods;
  methods->path = path != NULL ? strdup(path) : NULL;
  methods->base.xRead = shim_read;
  methods->base.xWrite = shim_write;
  methods->base.xTruncate = shim_truncate;
  methods->base.xSync = shim_sync;
  methods->base.xClose = shim_close;
  if (methods->base.iVersion > 2)
    methods->base.iVersion = 2; /* no memory maps, which would pass us by */
  file->pMethods = &methods->base;
  return rc;
}

static inline int shim_delete(sqlite3_vfs *vfs, const char *path, int sync_folder) {
  (void)vfs;
  shim_tell(SHIM_DELETE, path, 0, sync_folder);
  return shim.real->xDelete(shim.real, path, shim.skip_sync ? 0 : sync_folder);
}

static inline int shim_now(sqlite3_vfs *vfs, sqlite3_int64 *ret_now) {
  (void)vfs;
  if (shim.now_ms == 0)
    return shim.real->xCurrentTimeInt64(shim.real, ret_now);
  *ret_now = shim.now_ms + INT64_C(210866760000000);
  return SQLITE_OK;
}

static inline void shim_register(void) {
  static sqlite3_vfs vfs;
  shim.real = sqlite3_vfs_find(NULL);
  vfs = *shim.real;
  vfs.zName = "shim";
  vfs.pNext = NULL;
  vfs.xOpen = shim_open;
  vfs.xDelete = shim_delete;
  vfs.xCurrentTimeInt64 = shim_now;
  ck_assert_int_eq(sqlite3_vfs_register(&vfs, 0), SQLITE_OK);
}

#endif
