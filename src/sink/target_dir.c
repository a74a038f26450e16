/* Objects as files: a temporary one in a folder of its own, fsync, a rename that replaces nothing, fsync of the
 * object's folder. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/dir_list.h"
#include "sink/dir_path.h"
#include "sink/dir_temporary.h"
#include "sink/scheme.h"

enum { BUFFER_SIZE = 256 * 1024, FLAGS_READ = O_RDONLY | O_NOFOLLOW | O_NONBLOCK };

struct dir_target {
  struct tide_target base;
  struct tide_dir_root root;
  int synced;            /* the root's */
  unsigned char *buffer; /* small writes on their way to the file */
  size_t buffered;
  struct tide_dir_temporary temporary; /* the object under way */
  int folder;                          /* its own; -1: none, as the next */
  int reading;
  char *read_name;
};

static void close_fd(int *fd) {
  if (*fd >= 0)
    close(*fd);
  *fd = -1;
}

/* Whatever is left of the object under way goes: the file without its name, the memory. Also the way out of every
 * failure, whose error is set already. */
static void end_object(struct dir_target *dir) {
  tide_dir_temporary_discard(&dir->temporary);
  close_fd(&dir->folder);
  dir->buffered = 0;
}

/* ---- begin ---- */

static int dir_begin(struct tide_target *target, const struct tide_object *object, struct tide_err *err) {
  struct dir_target *dir = (struct dir_target *)target;
  assert(dir->folder < 0);
  if (!tide_target_name_check(object->name, err))
    return err->rc;
  dir->folder = tide_dir_open_folder(&dir->root, object->name, TIDE_DIR_MISSING_IS_SYNCED, err);
  if (object->again && !tide_err_is_set(err))
    tide_dir_temporary_remove_tries(&dir->root, object, err);
  if (!tide_err_is_set(err))
    tide_dir_temporary_create(&dir->temporary, &dir->root, object, err);
  if (tide_err_is_set(err))
    end_object(dir);
  return err->rc;
}

/* ---- write ---- */

static void flush(struct dir_target *dir, struct tide_err *err) {
  tide_dir_temporary_write(&dir->temporary, dir->buffer, dir->buffered, err);
  dir->buffered = 0;
}

static int dir_write(struct tide_target *target, const void *bytes, size_t size, struct tide_err *err) {
  struct dir_target *dir = (struct dir_target *)target;
  assert(dir->temporary.file >= 0);
  if (size > BUFFER_SIZE - dir->buffered)
    flush(dir, err);
  if (size >= BUFFER_SIZE && !tide_err_is_set(err)) {
    tide_dir_temporary_write(&dir->temporary, bytes, size, err);
  } else if (size > 0 && !tide_err_is_set(err)) {
    memcpy(dir->buffer + dir->buffered, bytes, size);
    dir->buffered += size;
  }
  if (tide_err_is_set(err))
    end_object(dir);
  return err->rc;
}

/* ---- commit ---- */

/* Opens an object that is there: a regular file. */
static int open_object(const struct tide_dir_root *root, int folder, const char *name, struct tide_err *err) {
  struct stat st;
  int file = tide_dir_openat(folder, tide_target_last_part(name), FLAGS_READ);
  int error = errno;
  if (file >= 0 && fstat(file, &st) != 0)
    tide_dir_fail(root, "looking at", name, errno, err);
  else if (file >= 0 && S_ISREG(st.st_mode))
    return file;
  else if (file >= 0 || error == ELOOP || error == ENXIO)
    tide_dir_fail_kind(root, folder, name, strlen(name), "file", err);
  else if (error == ENOENT)
    tide_err_set(err, SQLITE_CANTOPEN, "\"%s/%s\" does not exist", root->path, name);
  else
    tide_dir_fail(root, "opening", name, error, err);
  close_fd(&file);
  return -1;
}

/* An object that is there may have been named by a try that was cut short before its folder was synced. */
static void sync_existing(struct dir_target *dir, struct tide_err *err) {
  const char *name = dir->temporary.object;
  int file = open_object(&dir->root, dir->folder, name, err);
  if (file >= 0 && tide_dir_sync_file(file) != 0)
    tide_dir_fail(&dir->root, "syncing", name, errno, err);
  close_fd(&file);
}

static void sync_folder(struct dir_target *dir, int folder, const char *name, struct tide_err *err) {
  if (tide_err_is_set(err))
    return;
  if (tide_dir_sync_folder(folder) != 0)
    tide_dir_fail(&dir->root, "syncing the folder of", name, errno, err);
  else
    tide_dir_temporary_step("folder_synced");
}

static int dir_commit(struct tide_target *target, struct tide_answer *ret_answer, struct tide_err *err) {
  struct dir_target *dir = (struct dir_target *)target;
  assert(dir->temporary.file >= 0);
  bool exists = false;
  flush(dir, err);
  tide_dir_temporary_finish(&dir->temporary, err);
  if (!tide_err_is_set(err) && !tide_dir_temporary_name_new(&dir->temporary, dir->folder, err) &&
      !tide_err_is_set(err)) {
    exists = true;
    sync_existing(dir, err);
  }
  sync_folder(dir, dir->folder, dir->temporary.object, err);
  if (!tide_err_is_set(err))
    *ret_answer = (struct tide_answer){.verdict = exists ? TIDE_VERDICT_EXISTS : TIDE_VERDICT_TAKEN};
  end_object(dir);
  return err->rc;
}

static void dir_abort(struct tide_target *target) {
  end_object((struct dir_target *)target);
}

/* ---- read ---- */

static void dir_close_read(struct tide_target *target) {
  struct dir_target *dir = (struct dir_target *)target;
  close_fd(&dir->reading);
  tide_free(dir->read_name);
  dir->read_name = NULL;
}

static int dir_open_read(struct tide_target *target, const char *name, struct tide_err *err) {
  struct dir_target *dir = (struct dir_target *)target;
  assert(dir->reading < 0);
  if (!tide_target_name_check(name, err))
    return err->rc;
  dir->read_name = tide_copy_string(name, err);
  int folder = dir->read_name != NULL ? tide_dir_open_folder(&dir->root, name, TIDE_DIR_MISSING_FAILS, err) : -1;
  if (folder >= 0)
    dir->reading = open_object(&dir->root, folder, name, err);
  close_fd(&folder);
  if (tide_err_is_set(err))
    dir_close_read(target);
  return err->rc;
}

static long dir_read(struct tide_target *target, void *into, size_t size, struct tide_err *err) {
  struct dir_target *dir = (struct dir_target *)target;
  assert(dir->reading >= 0);
  ssize_t done;
  do
    done = read(dir->reading, into, size);
  while (done < 0 && errno == EINTR);
  if (done < 0)
    tide_dir_fail(&dir->root, "reading", dir->read_name, errno, err);
  return (long)done;
}

/* ---- the others ---- */

static int dir_replace(struct tide_target *target, const struct tide_object *object, const void *bytes, size_t size,
                       struct tide_err *err) {
  struct dir_target *dir = (struct dir_target *)target;
  struct tide_dir_temporary temporary = TIDE_DIR_TEMPORARY_NONE;
  if (!tide_target_name_check(object->name, err))
    return err->rc;
  int folder = tide_dir_open_folder(&dir->root, object->name, TIDE_DIR_MISSING_IS_SYNCED, err);
  if (folder >= 0) {
    tide_dir_temporary_create(&temporary, &dir->root, object, err);
    tide_dir_temporary_write(&temporary, bytes, size, err);
    tide_dir_temporary_finish(&temporary, err);
    tide_dir_temporary_name_over(&temporary, folder, err);
  }
  sync_folder(dir, folder, object->name, err);
  tide_dir_temporary_discard(&temporary);
  close_fd(&folder);
  return err->rc;
}

static int dir_list(struct tide_target *target, const char *folder, const char *after,
                    bool (*each)(void *context, const char *name, int64_t size, struct tide_err *err), void *context,
                    struct tide_err *err) {
  const struct dir_target *dir = (const struct dir_target *)target;
  tide_dir_list(&dir->root, folder, after, tide_dir_temporary_folder, each, context, err);
  return err->rc;
}

/* A log has one sink in a folder, so that all its files under way are that one's. */
static int dir_sweep(struct tide_target *target, const char *log_id, const char *names,
                     bool (*is_open)(void *context, const char *name, int64_t token), void *context,
                     struct tide_err *err) {
  const struct dir_target *dir = (const struct dir_target *)target;
  (void)names;
  tide_dir_temporary_sweep(&dir->root, log_id, is_open, context, err);
  return err->rc;
}

/* ---- open, destroy ---- */

static void dir_destroy(struct tide_target *target) {
  struct dir_target *dir = (struct dir_target *)target;
  end_object(dir);
  dir_close_read(target);
  close_fd(&dir->synced);
  close_fd(&dir->root.fd);
  tide_free(dir->root.path);
  tide_free(dir->buffer);
  tide_free(dir);
}

static void open_root(struct dir_target *dir, const char *path, struct tide_err *err) {
  dir->root.path = tide_copy_string(strcmp(path, "/") == 0 ? "" : path, err);
  if (dir->root.path == NULL)
    return;
  dir->root.fd = tide_dir_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
  if (dir->root.fd >= 0)
    return;
  if (errno == ENOENT)
    tide_err_set(err, SQLITE_CANTOPEN, "folder \"%s\" does not exist: create it, or mount the disk it is on", path);
  else if (errno == ENOTDIR)
    tide_err_set(err, SQLITE_CANTOPEN, "\"%s\" is not a folder, or a part of its path is not", path);
  else
    tide_dir_fail(&dir->root, "opening the folder", "", errno, err);
}

struct tide_target *tide_target_dir_open(const char *path, struct tide_err *err) {
  static const struct tide_target_methods methods = {
      .begin = dir_begin,
      .write = dir_write,
      .commit = dir_commit,
      .abort = dir_abort,
      .open_read = dir_open_read,
      .read = dir_read,
      .close_read = dir_close_read,
      .replace = dir_replace,
      .list = dir_list,
      .sweep = dir_sweep,
      .destroy = dir_destroy,
  };
  struct dir_target *dir = tide_alloc_zero(1, sizeof *dir, err);
  if (dir == NULL)
    return NULL;
  dir->base.methods = &methods;
  dir->temporary = TIDE_DIR_TEMPORARY_NONE;
  dir->root.synced = &dir->synced;
  dir->root.fd = dir->folder = dir->reading = dir->synced = -1;
  dir->buffer = tide_alloc(BUFFER_SIZE, err);
  if (dir->buffer != NULL)
    open_root(dir, path, err);
  if (tide_err_is_set(err)) {
    dir_destroy(&dir->base);
    return NULL;
  }
  return &dir->base;
}

/* ---- the scheme ---- */

static char *check_url(const char *url, struct tide_sink_options *options, struct tide_err *err) {
  (void)options;
  return tide_target_dir_path(url, err);
}

static struct tide_target *open_url(const char *url, struct tide_sink_options *options,
                                    const struct tide_patience *patience, struct tide_err *err) {
  (void)options, (void)patience; /* a disk is not waited for */
  char *path = tide_target_dir_path(url, err);
  struct tide_target *target = path != NULL ? tide_target_dir_open(path, err) : NULL;
  tide_free(path);
  return target;
}

const struct tide_scheme tide_scheme_file = {
    .name = "file", .expect = "file:///folder", .takes_tables = true, .check = check_url, .open = open_url};
