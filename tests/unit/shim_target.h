/* A target before another one, for tests of what uses a target: each of its calls can be made to fail, before or after
 * it has had its effect, and something can be made to happen before a put. */
#ifndef TIDE_TESTS_SHIM_TARGET_H
#define TIDE_TESTS_SHIM_TARGET_H

#include <check.h>

#include "base/sqlite.h"
#include "sink/target.h"

struct shim_target {
  struct tide_target base;
  struct tide_target *real;
  long until; /* calls to the one that fails; 0: none will */
  bool after; /* it has its effect all the same */
  bool failed;
  const char *only;                               /* count only calls of that method; NULL: all */
  void (*before_begin)(struct shim_target *shim); /* called once, then NULL */
  void *context;
};

static inline bool shim_is_due(struct shim_target *shim, const char *method) {
  if (shim->until == 0 || (shim->only != NULL && strcmp(shim->only, method) != 0) || --shim->until > 0)
    return false;
  shim->failed = true;
  return true;
}

/* Does the call unless it is to fail before it, and fails it if it is to. */
#define SHIM_CALL(shim, method, call)                                                                                  \
  const bool due = shim_is_due(shim, method);                                                                          \
  if (!due || (shim)->after)                                                                                           \
    call;                                                                                                              \
  if (due)                                                                                                             \
  tide_err_set(err, SQLITE_IOERR, "%s was told to fail", method)

static inline int shim_begin(struct tide_target *target, const struct tide_object *object, struct tide_err *err) {
  struct shim_target *shim = (struct shim_target *)target;
  if (shim->before_begin != NULL) {
    void (*happens)(struct shim_target * shim) = shim->before_begin;
    shim->before_begin = NULL;
    happens(shim);
  }
  SHIM_CALL(shim, "begin", shim->real->methods->begin(shim->real, object, err));
  if (due && shim->after)
    shim->real->methods->abort(shim->real);
  return err->rc;
}

static inline int shim_write(struct tide_target *target, const void *bytes, size_t size, struct tide_err *err) {
  struct shim_target *shim = (struct shim_target *)target;
  SHIM_CALL(shim, "write", shim->real->methods->write(shim->real, bytes, size, err));
  if (due)
    shim->real->methods->abort(shim->real);
  return err->rc;
}

static inline int shim_commit(struct tide_target *target, struct tide_answer *ret_answer, struct tide_err *err) {
  struct shim_target *shim = (struct shim_target *)target;
  SHIM_CALL(shim, "commit", shim->real->methods->commit(shim->real, ret_answer, err));
  if (due)
    shim->real->methods->abort(shim->real);
  return err->rc;
}

static inline void shim_abort(struct tide_target *target) {
  struct shim_target *shim = (struct shim_target *)target;
  shim->real->methods->abort(shim->real);
}

static inline int shim_open_read(struct tide_target *target, const char *name, struct tide_err *err) {
  struct shim_target *shim = (struct shim_target *)target;
  SHIM_CALL(shim, "open_read", shim->real->methods->open_read(shim->real, name, err));
  if (due && shim->after)
    shim->real->methods->close_read(shim->real);
  return err->rc;
}

static inline long shim_read(struct tide_target *target, void *into, size_t size, struct tide_err *err) {
  struct shim_target *shim = (struct shim_target *)target;
  long got = -1;
  SHIM_CALL(shim, "read", got = shim->real->methods->read(shim->real, into, size, err));
  return due ? -1 : got;
}

static inline void shim_close_read(struct tide_target *target) {
  struct shim_target *shim = (struct shim_target *)target;
  shim->real->methods->close_read(shim->real);
}

static inline int shim_replace(struct tide_target *target, const struct tide_object *object, const void *bytes,
                               size_t size, struct tide_err *err) {
  struct shim_target *shim = (struct shim_target *)target;
  SHIM_CALL(shim, "replace", shim->real->methods->replace(shim->real, object, bytes, size, err));
  return err->rc;
}

static inline int shim_list(struct tide_target *target, const char *folder, const char *after,
                            bool (*each)(void *context, const char *name, int64_t size, struct tide_err *err),
                            void *context, struct tide_err *err) {
  struct shim_target *shim = (struct shim_target *)target;
  SHIM_CALL(shim, "list", shim->real->methods->list(shim->real, folder, after, each, context, err));
  return err->rc;
}

/* real stays the caller's. */
static inline struct shim_target shim_over(struct tide_target *real) {
  static const struct tide_target_methods methods = {.begin = shim_begin,
                                                     .write = shim_write,
                                                     .commit = shim_commit,
                                                     .abort = shim_abort,
                                                     .open_read = shim_open_read,
                                                     .read = shim_read,
                                                     .close_read = shim_close_read,
                                                     .replace = shim_replace,
                                                     .list = shim_list};
  return (struct shim_target){.base.methods = &methods, .real = real};
}

#endif
