#define _GNU_SOURCE
#include "outside_calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const outside_call_names[OUTSIDE_CALLS] = {"open",  "write", "sync", "close", "rename",   "unlink",
                                                       "mkdir", "stat",  "list", "read",  "duplicate"};
struct outside_plan outside_plan;
long outside_failed[OUTSIDE_CALLS];
long outside_seen[OUTSIDE_CALLS];

/* What has been written to by descriptor and not synced since. */
enum { DESCRIPTORS = 1024 };
static bool is_dirty[DESCRIPTORS];

long outside_failed_in_all(void) {
  long sum = 0;
  for (int i = 0; i < OUTSIDE_CALLS; i++)
    sum += outside_failed[i];
  return sum;
}

static bool is_due(enum outside_call call) {
  struct outside_plan *plan = &outside_plan;
  outside_seen[call]++;
  if (plan->until == 0 || (plan->kinds & 1u << call) == 0)
    return false;
  if (plan->until > 1) {
    plan->until--;
    return false;
  }
  if (!plan->for_ever)
    plan->until = 0;
  outside_failed[call]++;
  return true;
}

static int fail(void) {
  errno = outside_plan.error;
  return -1;
}

/* ---- descriptors ---- */

int __real_openat64(int folder, const char *name, int flags, ...);
int __wrap_openat64(int folder, const char *name, int flags, ...);
int __wrap_openat64(int folder, const char *name, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const int mode = va_arg(args, int);
  va_end(args);
  return is_due(OUTSIDE_OPEN) ? fail() : __real_openat64(folder, name, flags, mode);
}

int __real_fcntl64(int file, int command, ...);
int __wrap_fcntl64(int file, int command, ...);
int __wrap_fcntl64(int file, int command, ...) {
  va_list args;
  va_start(args, command);
  const int argument = va_arg(args, int);
  va_end(args);
  return is_due(OUTSIDE_DUPLICATE) ? fail() : __real_fcntl64(file, command, argument);
}

int __real_close(int file);
int __wrap_close(int file);
int __wrap_close(int file) {
  const bool due = is_due(OUTSIDE_CLOSE);
  const int rc = __real_close(file);
  if (file >= 0 && file < DESCRIPTORS)
    is_dirty[file] = false;
  return due ? fail() : rc;
}

/* ---- bytes ---- */

ssize_t __real_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size) {
  const bool due = is_due(OUTSIDE_WRITE);
  if (due && outside_plan.error == EINTR)
    return fail(); /* before the first byte: after it, so many were written */
  const ssize_t done = __real_write(file, bytes, due ? (size + 1) / 2 : size);
  if (file >= 0 && file < DESCRIPTORS)
    is_dirty[file] = true;
  return due && !outside_plan.is_short ? fail() : done;
}

ssize_t __real_read(int file, void *into, size_t size);
ssize_t __wrap_read(int file, void *into, size_t size);
ssize_t __wrap_read(int file, void *into, size_t size) {
  return is_due(OUTSIDE_READ) ? fail() : __real_read(file, into, size);
}

int __real_fsync(int file);
int __wrap_fsync(int file);
int __wrap_fsync(int file) {
  const bool due = is_due(OUTSIDE_SYNC);
  const bool lost = due && outside_plan.error != EINTR && file >= 0 && file < DESCRIPTORS && is_dirty[file];
  if (file >= 0 && file < DESCRIPTORS)
    is_dirty[file] = false;
  if (lost && ftruncate(file, 0) != 0)
    return -1;
  return due ? fail() : __real_fsync(file);
}

/* ---- names ---- */

int __real_renameat2(int from, const char *name, int into, const char *to, unsigned flags);
int __wrap_renameat2(int from, const char *name, int into, const char *to, unsigned flags);
int __wrap_renameat2(int from, const char *name, int into, const char *to, unsigned flags) {
  return is_due(OUTSIDE_RENAME) ? fail() : __real_renameat2(from, name, into, to, flags);
}

int __real_renameat(int from, const char *name, int into, const char *to);
int __wrap_renameat(int from, const char *name, int into, const char *to);
int __wrap_renameat(int from, const char *name, int into, const char *to) {
  return is_due(OUTSIDE_RENAME) ? fail() : __real_renameat(from, name, into, to);
}

int __real_linkat(int from, const char *name, int into, const char *to, int flags);
int __wrap_linkat(int from, const char *name, int into, const char *to, int flags);
int __wrap_linkat(int from, const char *name, int into, const char *to, int flags) {
  return is_due(OUTSIDE_RENAME) ? fail() : __real_linkat(from, name, into, to, flags);
}

int __real_unlinkat(int folder, const char *name, int flags);
int __wrap_unlinkat(int folder, const char *name, int flags);
int __wrap_unlinkat(int folder, const char *name, int flags) {
  return is_due(OUTSIDE_UNLINK) ? fail() : __real_unlinkat(folder, name, flags);
}

int __real_mkdirat(int folder, const char *name, mode_t mode);
int __wrap_mkdirat(int folder, const char *name, mode_t mode);
int __wrap_mkdirat(int folder, const char *name, mode_t mode) {
  return is_due(OUTSIDE_MKDIR) ? fail() : __real_mkdirat(folder, name, mode);
}

/* ---- looking ---- */

int __real_fstat64(int file, struct stat *ret_stat);
int __wrap_fstat64(int file, struct stat *ret_stat);
int __wrap_fstat64(int file, struct stat *ret_stat) {
  return is_due(OUTSIDE_STAT) ? fail() : __real_fstat64(file, ret_stat);
}

int __real_fstatat64(int folder, const char *name, struct stat *ret_stat, int flags);
int __wrap_fstatat64(int folder, const char *name, struct stat *ret_stat, int flags);
int __wrap_fstatat64(int folder, const char *name, struct stat *ret_stat, int flags) {
  return is_due(OUTSIDE_STAT) ? fail() : __real_fstatat64(folder, name, ret_stat, flags);
}

DIR *__real_fdopendir(int folder);
DIR *__wrap_fdopendir(int folder);
DIR *__wrap_fdopendir(int folder) {
  if (!is_due(OUTSIDE_READDIR))
    return __real_fdopendir(folder);
  fail();
  return NULL;
}

struct dirent *__real_readdir64(DIR *names);
struct dirent *__wrap_readdir64(DIR *names);
struct dirent *__wrap_readdir64(DIR *names) {
  if (!is_due(OUTSIDE_READDIR))
    return __real_readdir64(names);
  fail();
  return NULL;
}
