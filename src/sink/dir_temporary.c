#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* renameat2 */
#endif
#include "sink/dir_temporary.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/hash.h"

const char tide_dir_temporary_folder[] = "_tidemark/tmp";
static const char FOLDER[] = "_tidemark/tmp/"; /* as tide_dir_open_folder takes it */
static const char DIGITS[] = "0123456789abcdef";

enum { OBJECT_DIGITS = 16, OWN_DIGITS = 16 };

#ifdef TIDE_TEST_HOOKS
void (*tide_target_dir_step)(const char *step);
int tide_target_dir_ways_missing;
struct tide_target_dir_room tide_target_dir_room;

void tide_dir_temporary_step(const char *name) {
  if (tide_target_dir_step != NULL)
    tide_target_dir_step(name);
}

static bool way_is_missing(int way) {
  return way <= tide_target_dir_ways_missing;
}

static ssize_t write_some(int file, const void *bytes, size_t size) {
  struct tide_target_dir_room *room = &tide_target_dir_room;
  if (room->error == 0)
    return write(file, bytes, size);
  if (room->left == 0) {
    errno = room->error;
    return -1;
  }
  const ssize_t done = write(file, bytes, size < room->left ? size : room->left);
  room->left -= done > 0 ? (size_t)done : 0;
  return done;
}
#else
void tide_dir_temporary_step(const char *name) {
  (void)name;
}

static bool way_is_missing(int way) {
  (void)way;
  return false;
}

static ssize_t write_some(int file, const void *bytes, size_t size) {
  return write(file, bytes, size);
}
#endif

/* ---- names ---- */

static void hash_object_name(const char *name, char ret_digits[TIDE_HASH_DIGITS_SIZE]) {
  struct tide_hash hash;
  tide_hash_init(&hash);
  tide_hash_update(&hash, name, strlen(name));
  tide_hash_digits(&hash, ret_digits);
  ret_digits[OBJECT_DIGITS] = '\0';
}

static char *make_name(const struct tide_object *object, struct tide_err *err) {
  char digits[TIDE_HASH_DIGITS_SIZE];
  uint64_t own = 0;
  assert(object->token >= 0 && strpbrk(object->log_id, "./") == NULL);
  hash_object_name(object->name, digits);
  sqlite3_randomness((int)sizeof own, &own);
  return tide_printf(err, "%s.%lld.%s.%016llx.tmp", object->log_id, (long long)object->token, digits,
                     (unsigned long long)own);
}

/* Whether a file's name is one that make_name gives for that log, with its token and the digits of its object. */
static bool parse_name(const char *file, const char *log_id, int64_t *ret_token, const char **ret_object) {
  const size_t size = strlen(log_id);
  int64_t token = 0;
  if (strncmp(file, log_id, size) != 0 || file[size] != '.')
    return false;
  const char *at = file + size + 1;
  const size_t digits = strspn(at, "0123456789");
  if (digits == 0 || (digits > 1 && at[0] == '0') || at[digits] != '.')
    return false;
  for (size_t i = 0; i < digits; i++) {
    const int64_t digit = at[i] - '0';
    if (token > (INT64_MAX - digit) / 10)
      return false;
    token = token * 10 + digit;
  }
  const char *object = at + digits + 1;
  if (strspn(object, DIGITS) != OBJECT_DIGITS || object[OBJECT_DIGITS] != '.')
    return false;
  const char *own = object + OBJECT_DIGITS + 1;
  if (strspn(own, DIGITS) != OWN_DIGITS || strcmp(own + OWN_DIGITS, ".tmp") != 0)
    return false;
  *ret_token = token;
  *ret_object = object;
  return true;
}

/* ---- create, write, finish ---- */

void tide_dir_temporary_create(struct tide_dir_temporary *temporary, const struct tide_dir_root *root,
                               const struct tide_object *object, struct tide_err *err) {
  assert(temporary->name == NULL && temporary->folder < 0 && temporary->file < 0);
  temporary->root = root;
  temporary->object = object->name;
  temporary->exclusive = object->exclusive;
  temporary->folder = tide_dir_open_folder(root, FOLDER, TIDE_DIR_MISSING_IS_MADE, err);
  char *name = temporary->folder >= 0 ? make_name(object, err) : NULL;
  if (name == NULL)
    return;
  temporary->file = tide_dir_openat(temporary->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (temporary->file >= 0) {
    temporary->name = name;
    tide_dir_temporary_step("created");
    return;
  }
  tide_dir_fail(root, "creating", object->name, errno, err);
  tide_free(name);
}

void tide_dir_temporary_write(struct tide_dir_temporary *temporary, const void *bytes, size_t size,
                              struct tide_err *err) {
  const unsigned char *at = bytes;
  while (size > 0 && !tide_err_is_set(err)) {
    ssize_t done = write_some(temporary->file, at, size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0) {
      tide_dir_fail(temporary->root, "writing", temporary->object, done < 0 ? errno : EIO, err);
      return;
    }
    at += done;
    size -= (size_t)done;
  }
}

void tide_dir_temporary_finish(struct tide_dir_temporary *temporary, struct tide_err *err) {
  if (tide_err_is_set(err))
    return;
  tide_dir_temporary_step("written");
  if (tide_dir_sync_file(temporary->file) != 0) {
    tide_dir_fail(temporary->root, "syncing", temporary->object, errno, err);
    return;
  }
  tide_dir_temporary_step("synced");
  int rc = close(temporary->file);
  temporary->file = -1;
  if (rc != 0 && errno != EINTR) /* after EINTR the descriptor is gone, and the file was synced before */
    tide_dir_fail(temporary->root, "closing", temporary->object, errno, err);
}

/* ---- naming ---- */

/* Whether errno says that the file system does not know this way of naming a file. */
static bool way_is_unknown(void) {
  return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM || errno == EMLINK;
}

static int rename_noreplace(const struct tide_dir_temporary *from, int into, const char *to) {
#ifdef RENAME_NOREPLACE
  if (!way_is_missing(1))
    return renameat2(from->folder, from->name, into, to, RENAME_NOREPLACE);
#else
  (void)from, (void)into, (void)to;
#endif
  errno = ENOSYS;
  return -1;
}

static int link_noreplace(const struct tide_dir_temporary *from, int into, const char *to) {
  if (!way_is_missing(2))
    return linkat(from->folder, from->name, into, to, 0) == 0 ? unlinkat(from->folder, from->name, 0) : -1;
  errno = ENOSYS;
  return -1;
}

/* The last resort, but of what is exclusive: two processes may pass each other between the look and the rename. They
 * would have to work on the same batch, and then write the same rows. */
static int look_and_rename(const struct tide_dir_temporary *from, int into, const char *to) {
  struct stat st;
  if (fstatat(into, to, &st, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return -1;
  }
  return errno == ENOENT ? renameat(from->folder, from->name, into, to) : -1;
}

static void forget_name(struct tide_dir_temporary *temporary) {
  tide_free(temporary->name);
  temporary->name = NULL;
}

static void fail_naming(const struct tide_dir_temporary *temporary, struct tide_err *err) {
  const char *path = temporary->root->path;
  if (errno == EXDEV)
    tide_err_set(err, SQLITE_IOERR,
                 "\"%s/%s\" cannot be named: its folder and \"%s/%s\" are on different file systems, and all of a "
                 "target must be on one: the batch stays and the next tick tries again",
                 path, temporary->object, path, tide_dir_temporary_folder);
  else if (temporary->exclusive && way_is_unknown())
    tide_err_set(
        err, SQLITE_IOERR,
        "the file system of \"%s\" cannot name a file without replacing one (%s), which table=delta needs: move "
        "the table to another",
        path, strerror(errno));
  else
    tide_dir_fail(temporary->root, "naming", temporary->object, errno, err);
}

bool tide_dir_temporary_name_new(struct tide_dir_temporary *temporary, int into, struct tide_err *err) {
  const char *to = tide_target_last_part(temporary->object);
  int rc = rename_noreplace(temporary, into, to);
  if (rc != 0 && way_is_unknown())
    rc = link_noreplace(temporary, into, to);
  if (rc != 0 && way_is_unknown() && !temporary->exclusive)
    rc = look_and_rename(temporary, into, to);
  if (rc == 0) {
    forget_name(temporary);
    tide_dir_temporary_step("renamed");
  } else if (errno != EEXIST) {
    fail_naming(temporary, err);
  }
  return rc == 0;
}

void tide_dir_temporary_name_over(struct tide_dir_temporary *temporary, int into, struct tide_err *err) {
  struct stat st;
  if (tide_err_is_set(err))
    return;
  const char *to = tide_target_last_part(temporary->object);
  const bool exists = fstatat(into, to, &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && !S_ISREG(st.st_mode)) {
    tide_dir_fail_kind(temporary->root, into, temporary->object, strlen(temporary->object), "file", err);
  } else if (renameat(temporary->folder, temporary->name, into, to) == 0) {
    forget_name(temporary);
    tide_dir_temporary_step("renamed");
  } else {
    fail_naming(temporary, err);
  }
}

void tide_dir_temporary_discard(struct tide_dir_temporary *temporary) {
  if (temporary->file >= 0)
    close(temporary->file);
  if (temporary->name != NULL)
    unlinkat(temporary->folder, temporary->name, 0);
  if (temporary->folder >= 0)
    close(temporary->folder);
  tide_free(temporary->name);
  *temporary = TIDE_DIR_TEMPORARY_NONE;
}

/* ---- what others left ---- */

/* Which of a log's files are to go. */
struct sweep {
  const struct tide_object *tries_of; /* NULL: all that are nobody's */
  char object[TIDE_HASH_DIGITS_SIZE];
  bool (*is_open)(void *context, const char *name, int64_t token);
  void *context;
};

static bool is_to_go(const struct sweep *sweep, int64_t token, const char *object) {
  if (sweep->tries_of != NULL)
    return token <= sweep->tries_of->token && strncmp(object, sweep->object, OBJECT_DIGITS) == 0;
  return !sweep->is_open(sweep->context, NULL, token);
}

static void sweep_folder(const struct tide_dir_root *root, int folder, const char *log_id, const struct sweep *sweep,
                         struct tide_err *err) {
  DIR *names = tide_dir_read_names(folder);
  const struct dirent *entry;
  int64_t token;
  const char *object;
  while (names != NULL && (errno = 0, entry = readdir(names)) != NULL) {
    if (!parse_name(entry->d_name, log_id, &token, &object) || !is_to_go(sweep, token, object))
      continue;
    if (unlinkat(folder, entry->d_name, 0) != 0 && errno != ENOENT)
      tide_dir_fail(root, "removing what an earlier try left in", tide_dir_temporary_folder, errno, err);
  }
  if (errno != 0)
    tide_dir_fail(root, "listing", tide_dir_temporary_folder, errno, err);
  if (names != NULL)
    closedir(names);
}

static void sweep_all(const struct tide_dir_root *root, const char *log_id, const struct sweep *sweep,
                      struct tide_err *err) {
  struct tide_err missing = {0};
  const int folder = tide_dir_open_folder(root, FOLDER, TIDE_DIR_MISSING_FAILS, &missing);
  if (missing.rc != SQLITE_CANTOPEN && tide_err_is_set(&missing))
    tide_err_set(err, missing.rc, "%s", missing.msg);
  if (folder < 0)
    return;
  sweep_folder(root, folder, log_id, sweep, err);
  close(folder);
}

void tide_dir_temporary_remove_tries(const struct tide_dir_root *root, const struct tide_object *object,
                                     struct tide_err *err) {
  struct sweep sweep = {.tries_of = object};
  hash_object_name(object->name, sweep.object);
  sweep_all(root, object->log_id, &sweep, err);
}

void tide_dir_temporary_sweep(const struct tide_dir_root *root, const char *log_id,
                              bool (*is_open)(void *context, const char *name, int64_t token), void *context,
                              struct tide_err *err) {
  const struct sweep sweep = {.is_open = is_open, .context = context};
  sweep_all(root, log_id, &sweep, err);
}
