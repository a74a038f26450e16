/* A target is where objects go: put is idempotent, an object appears whole under its name or not at all. A new scheme
 * is one new file and a row in registry.c. No SQLite transaction is open while a target works. */
#ifndef TIDE_SINK_TARGET_H
#define TIDE_SINK_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct tide_target {
  const struct tide_target_methods *methods;
};

struct tide_target_methods {
  /* One object at a time: begin, write any number of times, then commit or abort. A failed begin or write and every
   * commit end it, nothing is left of it; abort is fine at any time. name: parts of [A-Za-z0-9%=._~-]+ joined by
   * '/', none of them "." or "..", relative to the target; anything else is SQLITE_ERROR. token: the batch number,
   * to tell temporary names apart. again: the object was tried before, perhaps by a process that died; what that
   * left under this or an older token is taken away, which takes a look at everything beside the object. */
  int (*begin)(struct tide_target *target, const char *name, int64_t token, bool again, struct tide_err *err);
  int (*write)(struct tide_target *target, const void *bytes, size_t size, struct tide_err *err);
  /* Makes the object durable under its name, then returns 0. An object that is already there is never replaced:
   * *ret_exists is true and nothing is left of the new one; whether the old one is the same is the caller's to find out
   * by read. */
  int (*commit)(struct tide_target *target, bool *ret_exists, struct tide_err *err);
  void (*abort)(struct tide_target *target);

  /* Reads an object from its start: open, read until it gives 0, close_read. read gives -1 with err on failure.
   * open_read fails with SQLITE_CANTOPEN when there is no such object, and only then. */
  int (*open_read)(struct tide_target *target, const char *name, struct tide_err *err);
  long (*read)(struct tide_target *target, void *into, size_t size, struct tide_err *err);
  void (*close_read)(struct tide_target *target);

  void (*destroy)(struct tide_target *target);
};

/* The folder that a file:/// URL names: checks scheme, an empty host, an absolute path, percent-encoding; refuses query
 * and fragment. Does not touch the disk. Gives a path for tide_free, or NULL with SQLITE_ERROR and a sentence. */
char *tide_target_dir_path(const char *url, struct tide_err *err);

/* Objects as files of a folder, which must exist: one that does not may be a disk that is not mounted. Folders below it
 * are made as names need them; a symbolic link below it is refused, so that nothing is ever written elsewhere. A file
 * under way is named ".<last part>.<token>.tmp" in the folder of its object. A failure has SQLite's code for its kind:
 * SQLITE_FULL no space or quota, SQLITE_CANTOPEN missing, SQLITE_PERM, SQLITE_READONLY, otherwise SQLITE_IOERR. */
struct tide_target *tide_target_dir_open(const char *path, struct tide_err *err);

#ifdef TIDE_TEST_HOOKS
/* Called after each step of a file: "created", "written", "synced", "renamed", "folder_synced". NULL: not. */
extern void (*tide_target_dir_step)(const char *step);
/* The file system's ways to name a file without replacing another that are passed over: 1 renameat2, 2 linkat too. */
extern int tide_target_dir_ways_missing;
#endif

/* Keeps objects in memory, for tests. */
struct tide_target *tide_target_memory_create(struct tide_err *err);

/* Makes the next call of "begin", "write" or "commit" fail with that code. */
void tide_target_memory_fail(struct tide_target *target, const char *method, int rc);

/* The bytes of an object, which the target owns until its next commit; NULL when there is none. */
const struct tide_buf *tide_target_memory_object(const struct tide_target *target, const char *name);

/* Whether a name is one that begin and open_read take; SQLITE_ERROR in err with a sentence otherwise. For targets. */
bool tide_target_name_check(const char *name, struct tide_err *err);

static inline void tide_target_destroy(struct tide_target *target) {
  if (target != NULL)
    target->methods->destroy(target);
}

#endif
