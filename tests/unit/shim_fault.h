/* A plan of faults for the shim VFS (shim_vfs.h): of the calls of some kinds, those from the n-th on or that one alone
 * fail. A write that fails has written its first half, and what gives a lock back has given it back all the same. */
#ifndef TIDE_TESTS_SHIM_FAULT_H
#define TIDE_TESTS_SHIM_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sqlite.h"

/* The changes first: a hook is told of those (shim_vfs.h). */
enum shim_call {
  SHIM_WRITE,
  SHIM_TRUNCATE,
  SHIM_SYNC,
  SHIM_DELETE,
  SHIM_READ,
  SHIM_FILE_SIZE,
  SHIM_LOCK,
  SHIM_UNLOCK,
  SHIM_CHECK_LOCK,
  SHIM_SHM_MAP,
  SHIM_SHM_LOCK,
  SHIM_SHM_UNLOCK,
  SHIM_OPEN,
  SHIM_ACCESS,
  SHIM_FULL_PATH,
  SHIM_CALLS
};

enum {
  SHIM_ALL = (1 << SHIM_CALLS) - 1,
  SHIM_UNLOCKS = 1 << SHIM_UNLOCK, /* SQLite tells of one that failed when a commit is made already */
  SHIM_WRITES = 1 << SHIM_WRITE | 1 << SHIM_TRUNCATE,
  SHIM_LOCKS = 1 << SHIM_LOCK | 1 << SHIM_SHM_LOCK
};

static struct {
  unsigned kinds; /* bits of the calls that count */
  long until;     /* calls to the one that fails; 0: none will */
  bool for_ever;  /* all of them from there on */
  int rc;         /* what they give; 0: the error of their kind */
  long failed;    /* calls that have */
  long failed_of[SHIM_CALLS];
} shim_fault;

/* kinds 0: no more. */
static inline void shim_fault_plan(unsigned kinds, long n, bool for_ever, int rc) {
  shim_fault.kinds = kinds;
  shim_fault.until = n;
  shim_fault.for_ever = for_ever;
  shim_fault.rc = rc;
  shim_fault.failed = 0;
}

/* What the call is to fail with; 0: it does not. */
static inline int shim_fault_of(enum shim_call call) {
  static const int codes[SHIM_CALLS] = {
      [SHIM_WRITE] = SQLITE_IOERR_WRITE,    [SHIM_TRUNCATE] = SQLITE_IOERR_TRUNCATE,
      [SHIM_SYNC] = SQLITE_IOERR_FSYNC,     [SHIM_DELETE] = SQLITE_IOERR_DELETE,
      [SHIM_READ] = SQLITE_IOERR_READ,      [SHIM_FILE_SIZE] = SQLITE_IOERR_FSTAT,
      [SHIM_LOCK] = SQLITE_IOERR_LOCK,      [SHIM_UNLOCK] = SQLITE_IOERR_UNLOCK,
      [SHIM_SHM_MAP] = SQLITE_IOERR_SHMMAP, [SHIM_CHECK_LOCK] = SQLITE_IOERR_CHECKRESERVEDLOCK,
      [SHIM_OPEN] = SQLITE_CANTOPEN,        [SHIM_SHM_LOCK] = SQLITE_IOERR_SHMLOCK,
      [SHIM_ACCESS] = SQLITE_IOERR_ACCESS,  [SHIM_SHM_UNLOCK] = SQLITE_IOERR_SHMLOCK,
      [SHIM_FULL_PATH] = SQLITE_CANTOPEN};
  if (shim_fault.until == 0 || (shim_fault.kinds & 1u << call) == 0)
    return 0;
  if (shim_fault.until > 1) {
    shim_fault.until--;
    return 0;
  }
  if (!shim_fault.for_ever)
    shim_fault.until = 0;
  shim_fault.failed++;
  shim_fault.failed_of[call]++;
  return shim_fault.rc != 0 ? shim_fault.rc : codes[call];
}

#endif
