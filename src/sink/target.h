/* A target is where objects go: put is idempotent, an object appears whole under its name or not at all. A target that
 * forwards is one that posts each object to a receiver as a request instead, and keeps nothing to read. A new scheme is
 * one new file and a row of the schemes that a connection knows (scheme.h). No SQLite transaction is open while a
 * target works. */
#ifndef TIDE_SINK_TARGET_H
#define TIDE_SINK_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct tide_target {
  const struct tide_target_methods *methods;
};

/* What is put. Strings outlive the object's commit or abort. */
struct tide_object {
  const char *name;   /* parts of [A-Za-z0-9%=._~-]+ joined by '/', none of them "." or "..", relative to the target;
                         anything else is SQLITE_ERROR */
  const char *log_id; /* with token: to tell temporary names apart, and to know our own */
  int64_t token;      /* the batch number */
  bool again;         /* it was tried before, perhaps by a process that died: what that left under this name is taken
                         away, which may take a look at everything beside it */
  bool exclusive; /* anybody may want the name, for other bytes: the commit fails where the target cannot make sure that
                     one of two who take it at once is told that it exists. Of a name that is one batch's alone, two
                     who pass each other put the same rows */
  /* For targets that forward: */
  const char *key;              /* names the same rows to whoever gets them twice */
  const char *media_type;       /* "application/x-ndjson" */
  const char *content_encoding; /* "zstd", or NULL */
  int64_t tick;                 /* the sink's count of ticks that shipped, and a number drawn for it: what other */
  int64_t tick_token;           /* targets are told by a marker (marker.h) */
};

/* What became of an object. */
enum tide_verdict {
  TIDE_VERDICT_TAKEN,
  TIDE_VERDICT_EXISTS, /* of that name there is one already: nothing is left of the new one, and whether the old one is
                          the same is the caller's to find out by read */
  /* Those that forward, only: */
  TIDE_VERDICT_PARTLY,    /* the receiver took all but the rows in `refused` */
  TIDE_VERDICT_LATER,     /* it took nothing, and asks everybody to come back after retry_after_ms */
  TIDE_VERDICT_TOO_LARGE, /* it took nothing: fewer rows may pass */
  TIDE_VERDICT_REFUSED,   /* it took nothing, and will not take these rows however often they come */
  TIDE_VERDICT_FORBIDDEN, /* it took nothing, and will not until somebody does something about it */
  TIDE_VERDICT_AHEAD      /* it took nothing, for it has seen a later tick of this sink: `tick` */
};
struct tide_refused_row {
  int64_t row; /* of the object, from 0 */
  char *reason;
};
enum { TIDE_ANSWER_MESSAGE_SIZE = 200, TIDE_ANSWER_REFUSED_MAX = 10000 };
struct tide_answer {
  enum tide_verdict verdict;
  int64_t retry_after_ms; /* from now; -1: it did not say */
  int64_t tick;
  struct tide_refused_row *refused; /* ascending, each row once; freed by tide_answer_clear, as each reason */
  size_t nrefused;
  char message[TIDE_ANSWER_MESSAGE_SIZE]; /* a sentence for the user when nothing or not all was taken */
};
void tide_answer_clear(struct tide_answer *answer); /* all zero is a cleared one */

struct tide_target_methods {
  /* One object at a time: begin, write any number of times, then commit or abort. A failed begin or write and every
   * commit end it, nothing is left of it; abort is fine at any time. */
  int (*begin)(struct tide_target *target, const struct tide_object *object, struct tide_err *err);
  int (*write)(struct tide_target *target, const void *bytes, size_t size, struct tide_err *err);
  /* Makes the object durable under its name, or posts it, then returns 0 with the answer, which is the caller's to
   * clear. An object that is already there is never replaced. A failure in err means that what became of it is not
   * known: the same object is put again later. */
  int (*commit)(struct tide_target *target, struct tide_answer *ret_answer, struct tide_err *err);
  void (*abort)(struct tide_target *target);

  /* The rest is NULL in a target that forwards. */

  /* Reads an object from its start: open, read until it gives 0, close_read. read gives -1 with err on failure.
   * open_read fails with SQLITE_CANTOPEN when there is no such object, and only then. */
  int (*open_read)(struct tide_target *target, const char *name, struct tide_err *err);
  long (*read)(struct tide_target *target, void *into, size_t size, struct tide_err *err);
  void (*close_read)(struct tide_target *target);

  /* Puts a small object in the place of the one of that name, if any: readers see the old bytes or the new. The parts
   * of object that it looks at: name, log_id, token. */
  int (*replace)(struct tide_target *target, const struct tide_object *object, const void *bytes, size_t size,
                 struct tide_err *err);

  /* Calls each for every object below a folder ("a/b"; "": everywhere) whose name sorts bytewise above `after` (NULL:
   * every one), in that order in a folder that holds no others, and in no order otherwise. Objects under way are not
   * listed. each returns false to stop, with or without an error. A folder that is not there has none. */
  int (*list)(struct tide_target *target, const char *folder, const char *after,
              bool (*each)(void *context, const char *name, int64_t size, struct tide_err *err), void *context,
              struct tide_err *err);

  /* Takes away what puts of that log left under way, but for those that is_open says are still somebody's: by token
   * where the target knows it, and otherwise (token -1) by the object's name. names: how the
   * names of the objects begin, for a target that can ask for those alone. It costs no more than there is under way. */
  int (*sweep)(struct tide_target *target, const char *log_id, const char *names,
               bool (*is_open)(void *context, const char *name, int64_t token), void *context, struct tide_err *err);

  void (*destroy)(struct tide_target *target);
};

/* The folder that a file:/// URL names: checks scheme, an empty host, an absolute path, percent-encoding; refuses query
 * and fragment. Does not touch the disk. Gives a path for tide_free, or NULL with SQLITE_ERROR and a sentence. */
char *tide_target_dir_path(const char *url, struct tide_err *err);

/* Objects as files of a folder, which must exist: one that does not may be a disk that is not mounted. Folders
 * below it are made as names need them; a symbolic link below it is refused, so that nothing is ever written
 * elsewhere. A file under way is in the folder's `_tidemark/tmp` (dir_temporary.h), which must be on the same file
 * system as its object's. sweep goes by log id and token alone: a log has one sink in a folder. A failure has
 * SQLite's code for its kind: SQLITE_FULL no space or quota, SQLITE_CANTOPEN missing, SQLITE_PERM,
 * SQLITE_READONLY, otherwise SQLITE_IOERR. */
struct tide_target *tide_target_dir_open(const char *path, struct tide_err *err);

#ifdef TIDE_TEST_HOOKS
/* Called after each step of a file: "created", "written", "synced", "renamed", "folder_synced". NULL: not. */
extern void (*tide_target_dir_step)(const char *step);
/* The file system's ways to name a file without replacing another that are passed over: 1 renameat2, 2 linkat too. */
extern int tide_target_dir_ways_missing;
/* Unless error is 0, a disk has `left` bytes left for all writes, and then says ENOSPC or the like. */
struct tide_target_dir_room {
  size_t left;
  int error;
};
extern struct tide_target_dir_room tide_target_dir_room;
#endif

/* Keeps objects in memory, for tests. */
struct tide_target *tide_target_memory_create(struct tide_err *err);

/* Makes the next call of "begin", "write", "commit", "replace", "list" or "sweep" fail with that code. */
void tide_target_memory_fail(struct tide_target *target, const char *method, int rc);

/* The bytes of an object, which the target owns until its next commit; NULL when there is none. */
const struct tide_buf *tide_target_memory_object(const struct tide_target *target, const char *name);

/* What stands behind a name's last slash. */
const char *tide_target_last_part(const char *name);

/* Whether a name is one that begin and open_read take; SQLITE_ERROR in err with a sentence otherwise. For targets. */
bool tide_target_name_check(const char *name, struct tide_err *err);

static inline void tide_target_destroy(struct tide_target *target) {
  if (target != NULL)
    target->methods->destroy(target);
}

#endif
