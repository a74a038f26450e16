/* A VFS over SQLite's own that a test looks into: its clock is the test's, it counts what is read and written, it tells
 * a hook of each change to a file before it is made, and its calls fail as shim_fault.h plans. Named "shim"; register
 * it with shim_register. */
#ifndef TIDE_TESTS_SHIM_VFS_H
#define TIDE_TESTS_SHIM_VFS_H

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/sqlite.h"
#include "shim_fault.h"

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

/* ---- a file ---- */

static inline int shim_read(sqlite3_file *file, void *into, int size, sqlite3_int64 offset) {
  const int fault = shim_fault_of(SHIM_READ);
  shim.reads++;
  shim_touch();
  return fault != 0 ? fault : shim_of(file)->real->xRead(file, into, size, offset);
}

static inline int shim_write(sqlite3_file *file, const void *from, int size, sqlite3_int64 offset) {
  const int fault = shim_fault_of(SHIM_WRITE);
  shim_tell(SHIM_WRITE, shim_of(file)->path, offset, fault != 0 ? size / 2 : size);
  const int rc = shim_of(file)->real->xWrite(file, from, fault != 0 ? size / 2 : size, offset);
  return fault != 0 ? fault : rc;
}

static inline int shim_truncate(sqlite3_file *file, sqlite3_int64 size) {
  const int fault = shim_fault_of(SHIM_TRUNCATE);
  if (fault != 0)
    return fault;
  shim_tell(SHIM_TRUNCATE, shim_of(file)->path, size, 0);
  return shim_of(file)->real->xTruncate(file, size);
}

static inline int shim_sync(sqlite3_file *file, int flags) {
  const int fault = shim_fault_of(SHIM_SYNC);
  if (fault != 0)
    return fault;
  shim_tell(SHIM_SYNC, shim_of(file)->path, 0, 0);
  return shim.skip_sync ? SQLITE_OK : shim_of(file)->real->xSync(file, flags);
}

static inline int shim_file_size(sqlite3_file *file, sqlite3_int64 *ret_size) {
  const int fault = shim_fault_of(SHIM_FILE_SIZE);
  return fault != 0 ? fault : shim_of(file)->real->xFileSize(file, ret_size);
}

static inline int shim_lock(sqlite3_file *file, int level) {
  const int fault = shim_fault_of(SHIM_LOCK);
  return fault != 0 ? fault : shim_of(file)->real->xLock(file, level);
}

static inline int shim_unlock(sqlite3_file *file, int level) {
  const int fault = shim_fault_of(SHIM_UNLOCK);
  const int rc = shim_of(file)->real->xUnlock(file, level);
  return fault != 0 ? fault : rc;
}

static inline int shim_check_lock(sqlite3_file *file, int *ret_locked) {
  const int fault = shim_fault_of(SHIM_CHECK_LOCK);
  return fault != 0 ? fault : shim_of(file)->real->xCheckReservedLock(file, ret_locked);
}

static inline int shim_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **ret_map) {
  const int fault = shim_fault_of(SHIM_SHM_MAP);
  if (fault == 0)
    return shim_of(file)->real->xShmMap(file, region, size, extend, ret_map);
  *ret_map = NULL;
  return fault;
}

static inline int shim_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
  const bool unlocks = (flags & SQLITE_SHM_UNLOCK) != 0;
  const int fault = shim_fault_of(unlocks ? SHIM_SHM_UNLOCK : SHIM_SHM_LOCK);
  const int rc = fault == 0 || unlocks ? shim_of(file)->real->xShmLock(file, offset, count, flags) : SQLITE_OK;
  return fault != 0 ? fault : rc;
}

static inline int shim_close(sqlite3_file *file) {
  struct shim_methods *methods = (struct shim_methods *)file->pMethods;
  const int rc = methods->real->xClose(file);
  free(methods->path);
  free(methods);
  return rc;
}

static inline void shim_stand_before(sqlite3_file *file, const char *path) {
  struct shim_methods *methods = calloc(1, sizeof *methods);
  methods->base = *file->pMethods;
  methods->real = file->pMethods;
  methods->path = path != NULL ? strdup(path) : NULL;
  methods->base.xRead = shim_read;
  methods->base.xWrite = shim_write;
  methods->base.xTruncate = shim_truncate;
  methods->base.xSync = shim_sync;
  methods->base.xFileSize = shim_file_size;
  methods->base.xLock = shim_lock;
  methods->base.xUnlock = shim_unlock;
  methods->base.xCheckReservedLock = shim_check_lock;
  methods->base.xShmMap = shim_shm_map;
  methods->base.xShmLock = shim_shm_lock;
  methods->base.xClose = shim_close;
  if (methods->base.iVersion > 2)
    methods->base.iVersion = 2; /* no memory maps, which would pass us by */
  file->pMethods = &methods->base;
}

/* ---- the file system ---- */

static inline int shim_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *ret_flags) {
  (void)vfs;
  file->pMethods = NULL;
  const int fault = shim_fault_of(SHIM_OPEN);
  const int rc = fault != 0 ? fault : shim.real->xOpen(shim.real, path, file, flags, ret_flags);
  if (file->pMethods != NULL)
    shim_stand_before(file, path);
  return rc;
}

static inline int shim_delete(sqlite3_vfs *vfs, const char *path, int sync_folder) {
  (void)vfs;
  const int fault = shim_fault_of(SHIM_DELETE);
  if (fault != 0)
    return fault;
  shim_tell(SHIM_DELETE, path, 0, sync_folder);
  return shim.real->xDelete(shim.real, path, shim.skip_sync ? 0 : sync_folder);
}

static inline int shim_access(sqlite3_vfs *vfs, const char *path, int flags, int *ret_is) {
  (void)vfs;
  const int fault = shim_fault_of(SHIM_ACCESS);
  return fault != 0 ? fault : shim.real->xAccess(shim.real, path, flags, ret_is);
}

static inline int shim_full_path(sqlite3_vfs *vfs, const char *path, int size, char *ret_path) {
  (void)vfs;
  const int fault = shim_fault_of(SHIM_FULL_PATH);
  return fault != 0 ? fault : shim.real->xFullPathname(shim.real, path, size, ret_path);
}

/* With a clock of the test's, nobody waits. */
static inline int shim_sleep(sqlite3_vfs *vfs, int us) {
  (void)vfs;
  return shim.now_ms != 0 ? us : shim.real->xSleep(shim.real, us);
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
  vfs.xAccess = shim_access;
  vfs.xFullPathname = shim_full_path;
  vfs.xSleep = shim_sleep;
  vfs.xCurrentTimeInt64 = shim_now;
  ck_assert_int_eq(sqlite3_vfs_register(&vfs, 0), SQLITE_OK);
}

#endif
