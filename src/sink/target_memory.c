#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/target.h"

struct object {
  struct object *next;
  char *name;
  struct tide_buf bytes;
};

struct memory_target {
  struct tide_target base;
  struct object *objects;
  struct object *open; /* the one under way */
  const struct object *reading;
  size_t read_at;
  const char *failing; /* the method that fails next, with failing_rc */
  int failing_rc;
};

static void object_free(struct object *object) {
  if (object == NULL)
    return;
  tide_free(object->name);
  tide_buf_clear(&object->bytes);
  tide_free(object);
}

static bool told_to_fail(struct memory_target *memory, const char *method, struct tide_err *err) {
  if (memory->failing == NULL || strcmp(memory->failing, method) != 0)
    return false;
  memory->failing = NULL;
  tide_err_set(err, memory->failing_rc, "%s was told to fail", method);
  return true;
}

static struct object *find(const struct memory_target *memory, const char *name) {
  struct object *object = memory->objects;
  while (object != NULL && strcmp(object->name, name) != 0)
    object = object->next;
  return object;
}

static struct object *create_object(const char *name, struct tide_err *err) {
  struct object *object = tide_alloc_zero(1, sizeof *object, err);
  if (object == NULL)
    return NULL;
  object->name = tide_copy_string(name, err);
  if (object->name != NULL)
    return object;
  object_free(object);
  return NULL;
}

static int memory_begin(struct tide_target *target, const struct tide_object *put, struct tide_err *err) {
  struct memory_target *memory = (struct memory_target *)target;
  assert(memory->open == NULL);
  if (!tide_target_name_check(put->name, err) || told_to_fail(memory, "begin", err))
    return err->rc;
  memory->open = create_object(put->name, err);
  return err->rc;
}

static void memory_abort(struct tide_target *target) {
  struct memory_target *memory = (struct memory_target *)target;
  object_free(memory->open);
  memory->open = NULL;
}

static int memory_write(struct tide_target *target, const void *bytes, size_t size, struct tide_err *err) {
  struct memory_target *memory = (struct memory_target *)target;
  assert(memory->open != NULL);
  if (!told_to_fail(memory, "write", err))
    tide_buf_put(&memory->open->bytes, bytes, size, err);
  if (tide_err_is_set(err))
    memory_abort(target);
  return err->rc;
}

static int memory_commit(struct tide_target *target, struct tide_answer *ret_answer, struct tide_err *err) {
  struct memory_target *memory = (struct memory_target *)target;
  assert(memory->open != NULL);
  if (!told_to_fail(memory, "commit", err)) {
    const bool exists = find(memory, memory->open->name) != NULL;
    *ret_answer = (struct tide_answer){.verdict = exists ? TIDE_VERDICT_EXISTS : TIDE_VERDICT_TAKEN};
    if (!exists) {
      memory->open->next = memory->objects;
      memory->objects = memory->open;
      memory->open = NULL;
    }
  }
  memory_abort(target);
  return err->rc;
}

static int memory_open_read(struct tide_target *target, const char *name, struct tide_err *err) {
  struct memory_target *memory = (struct memory_target *)target;
  if (!tide_target_name_check(name, err))
    return err->rc;
  memory->reading = find(memory, name);
  memory->read_at = 0;
  if (memory->reading == NULL)
    tide_err_set(err, SQLITE_CANTOPEN, "object \"%s\" does not exist", name);
  return err->rc;
}

static long memory_read(struct tide_target *target, void *into, size_t size, struct tide_err *err) {
  struct memory_target *memory = (struct memory_target *)target;
  (void)err; /* memory does not fail */
  assert(memory->reading != NULL);
  const struct tide_buf *bytes = &memory->reading->bytes;
  size_t left = bytes->len - memory->read_at;
  size_t taken = size < left ? size : left;
  if (taken > 0)
    memcpy(into, bytes->data + memory->read_at, taken);
  memory->read_at += taken;
  return (long)taken;
}

static void memory_close_read(struct tide_target *target) {
  ((struct memory_target *)target)->reading = NULL;
}

/* ---- the others ---- */

static int memory_replace(struct tide_target *target, const struct tide_object *put, const void *bytes, size_t size,
                          struct tide_err *err) {
  struct memory_target *memory = (struct memory_target *)target;
  struct tide_buf copy = {0};
  if (!tide_target_name_check(put->name, err) || told_to_fail(memory, "replace", err))
    return err->rc;
  tide_buf_put(&copy, bytes, size, err);
  struct object *object = find(memory, put->name);
  if (object == NULL && !tide_err_is_set(err)) {
    object = create_object(put->name, err);
    if (object != NULL) {
      object->next = memory->objects;
      memory->objects = object;
    }
  }
  if (tide_err_is_set(err)) {
    tide_buf_clear(&copy);
  } else {
    tide_buf_clear(&object->bytes);
    object->bytes = copy;
  }
  return err->rc;
}

static bool is_below(const char *name, const char *folder) {
  const size_t size = strlen(folder);
  return size == 0 || (strncmp(name, folder, size) == 0 && name[size] == '/');
}

/* The lowest object below a folder above a name. */
static const struct object *next_of(const struct memory_target *memory, const char *folder, const char *after) {
  const struct object *lowest = NULL;
  for (const struct object *object = memory->objects; object != NULL; object = object->next)
    if (is_below(object->name, folder) && (after == NULL || strcmp(object->name, after) > 0) &&
        (lowest == NULL || strcmp(object->name, lowest->name) < 0))
      lowest = object;
  return lowest;
}

static int memory_list(struct tide_target *target, const char *folder, const char *after,
                       bool (*each)(void *context, const char *name, int64_t size, struct tide_err *err), void *context,
                       struct tide_err *err) {
  struct memory_target *memory = (struct memory_target *)target;
  if ((folder[0] != '\0' && !tide_target_name_check(folder, err)) || told_to_fail(memory, "list", err))
    return err->rc;
  const struct object *object = next_of(memory, folder, after);
  while (object != NULL && each(context, object->name, (int64_t)object->bytes.len, err) && !tide_err_is_set(err))
    object = next_of(memory, folder, object->name);
  return err->rc;
}

/* What is under way in memory is gone with whoever put it there. */
static int memory_sweep(struct tide_target *target, const char *log_id, const char *names,
                        bool (*is_open)(void *context, const char *name, int64_t token), void *context,
                        struct tide_err *err) {
  (void)log_id, (void)names, (void)is_open, (void)context;
  told_to_fail((struct memory_target *)target, "sweep", err);
  return err->rc;
}

static void memory_destroy(struct tide_target *target) {
  struct memory_target *memory = (struct memory_target *)target;
  memory_abort(target);
  while (memory->objects != NULL) {
    struct object *object = memory->objects;
    memory->objects = object->next;
    object_free(object);
  }
  tide_free(memory);
}

struct tide_target *tide_target_memory_create(struct tide_err *err) {
  static const struct tide_target_methods methods = {
      .begin = memory_begin,
      .write = memory_write,
      .commit = memory_commit,
      .abort = memory_abort,
      .open_read = memory_open_read,
      .read = memory_read,
      .close_read = memory_close_read,
      .replace = memory_replace,
      .list = memory_list,
      .sweep = memory_sweep,
      .destroy = memory_destroy,
  };
  struct memory_target *memory = tide_alloc_zero(1, sizeof *memory, err);
  if (memory == NULL)
    return NULL;
  memory->base.methods = &methods;
  return &memory->base;
}

void tide_target_memory_fail(struct tide_target *target, const char *method, int rc) {
  struct memory_target *memory = (struct memory_target *)target;
  memory->failing = method;
  memory->failing_rc = rc;
}

const struct tide_buf *tide_target_memory_object(const struct tide_target *target, const char *name) {
  const struct object *object = find((const struct memory_target *)target, name);
  return object != NULL ? &object->bytes : NULL;
}
