/* The calls by which a target that is a folder asks the kernel, standing before the real ones (the linker's --wrap, see
 * meson.build): the n-th of some kinds fails, once or from there on. A kernel that cannot write pages to the disk drops
 * them and says so once: so a sync that fails leaves nothing of the file's bytes. */
#ifndef TIDE_TESTS_OUTSIDE_CALLS_H
#define TIDE_TESTS_OUTSIDE_CALLS_H

#include <stdbool.h>

enum outside_call {
  OUTSIDE_OPEN,
  OUTSIDE_WRITE,
  OUTSIDE_SYNC,
  OUTSIDE_CLOSE,
  OUTSIDE_RENAME,
  OUTSIDE_UNLINK,
  OUTSIDE_MKDIR,
  OUTSIDE_STAT,
  OUTSIDE_READDIR,
  OUTSIDE_READ,
  OUTSIDE_DUPLICATE,
  OUTSIDE_CALLS
};

enum {
  OUTSIDE_ALL = (1 << OUTSIDE_CALLS) - 1,
  /* those that need room on the disk; a disk over NFS says so when it is synced or closed */
  OUTSIDE_ROOM = 1 << OUTSIDE_OPEN | 1 << OUTSIDE_WRITE | 1 << OUTSIDE_SYNC | 1 << OUTSIDE_CLOSE | 1 << OUTSIDE_RENAME |
                 1 << OUTSIDE_MKDIR
};

extern const char *const outside_call_names[OUTSIDE_CALLS];

struct outside_plan {
  unsigned kinds; /* bits of the calls that count */
  long until;     /* calls to the one that fails; 0: none will */
  bool for_ever;
  bool is_short; /* a write is no error, but stops halfway */
  int error;     /* errno */
};

extern struct outside_plan outside_plan;
extern long outside_failed[OUTSIDE_CALLS]; /* how many have, of each kind, ever */
extern long outside_seen[OUTSIDE_CALLS];

long outside_failed_in_all(void);

#endif
