/* Disks of a test's own. Define _GNU_SOURCE before all else. */
#ifndef TIDE_TESTS_MOUNTS_H
#define TIDE_TESTS_MOUNTS_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>

/* Mounts an empty disk of 64 KiB that only this process sees, from now on and until it ends. false, and a word on why
 * nothing is tested, where a test may not. */
static inline bool mount_small_disk(const char *at) {
  static bool own;
  own = own || ((unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
                mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
  const bool mounted = own && mount("tide", at, "tmpfs", 0, "size=64k") == 0;
  if (!mounted)
    fprintf(stderr, "not tested: no test may mount a disk on this machine\n");
  return mounted;
}

#endif
