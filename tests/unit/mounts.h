/* Disks of a test's own. Define _GNU_SOURCE before all else. */
#ifndef TIDE_TESTS_MOUNTS_H
#define TIDE_TESTS_MOUNTS_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

/* Mounts an empty disk of so many KiB that only this process sees, from now on and until it ends. false, and a word on
 * why nothing is tested, where a test may not. */
static inline bool mount_disk(const char *at, int kib) {
  static bool own;
  char options[32];
  snprintf(options, sizeof options, "size=%dk", kib);
  own = own || ((unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
                mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
  const bool mounted = own && mount("tide", at, "tmpfs", 0, options) == 0;
  if (!mounted)
    fprintf(stderr, "not tested: no test may mount a disk on this machine\n");
  return mounted;
}

static inline bool mount_small_disk(const char *at) {
  return mount_disk(at, 64);
}

/* Gives it another size; as much as is in use, at the least. */
static inline bool resize_disk(const char *at, int kib) {
  char options[32];
  snprintf(options, sizeof options, "size=%dk", kib);
  return mount("tide", at, "tmpfs", MS_REMOUNT, options) == 0;
}

/* KiB in use. */
static inline int used_of_disk(const char *at) {
  struct statvfs disk = {0};
  statvfs(at, &disk);
  return (int)((disk.f_blocks - disk.f_bfree) * disk.f_bsize / 1024);
}

#endif
