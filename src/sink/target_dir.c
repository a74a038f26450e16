/* Objects as files: a temporary one beside the object, fsync, a rename that replaces nothing, fsync of the folder. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* renameat2 */
#endif
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/dir_path.h"
#include "sink/scheme.h"

enum { BUFFER_SIZE = 256 * 1024, FLAGS_READ = O_RDONLY | O_NOFOLLOW | O_NONBLOCK };

struct dir_target {
  struct tide_target base;
  struct tide_dir_root root;
  unsigned char *buffer; /* small writes on their way to the file */
  size_t buffered;
  char *name;      /* of the object under way; NULL: none */
  char *temporary; /* its file's name in folder, from when the file is made until it is renamed or removed */
  int folder;      /* -1: none, as the next two */
  int file;
  int reading;
  char *read_name;
};

#ifdef TIDE_TEST_HOOKS
void (*tide_target_dir_step)(const char *step);
int tide_target_dir_ways_missing;

static void step(const char *name) {
  if (tide_target_dir_step != NULL)
    tide_target_dir_step(name);
}

static bool way_is_missing(int way) {
  return way <= tide_target_dir_ways_missing;
}
#else
static void step(const char *name) {
  (void)name;
}

static bool way_is_missing(int way) {
  (void)way;
  return false;
}
#endif

static const char *last_part(const char *name) {
  const char *slash = strrchr(name, '/');
  return slash != NULL ? slash + 1 : name;
}

static void close_fd(int *fd) {
  if (*fd >= 0)
    close(*fd);
  *fd = -1;
}

/* Whatever is left of the object under way goes: the file without its name, the memory. Also the way out of every
 * failure, whose error is set already, so that a file that cannot be removed is left to the next begin. */
static void end_object(struct dir_target *dir) {
  close_fd(&dir->file);
  if (dir->temporary != NULL)
    unlinkat(dir->folder, dir->temporary, 0);
  close_fd(&dir->folder);
  tide_free(dir->temporary);
  tide_free(dir->name);
  dir->temporary = NULL;
  dir->name = NULL;
  dir->buffered = 0;
}

/* ---- begin ---- */

/* Whether a file is ".<last>.<digits>.tmp" with a token of at most ours: a newer token has a newer owner. */
static bool is_leftover(const char *file, const char *last, int64_t token) {
  size_t size = strlen(last);
  if (file[0] != '.' || strncmp(file + 1, last, size) != 0 || file[1 + size] != '.')
    return false;
  const char *digit = file + size + 2;
  int64_t found = 0;
  if (*digit < '0' || *digit > '9')
    return false;
  for (; *digit >= '0' && *digit <= '9'; digit++) {
    if (found > (token - (*digit - '0')) / 10)
      return false;
    found = found * 10 + (*digit - '0');
  }
  return found <= token && strcmp(digit, ".tmp") == 0;
}

static void remove_leftovers(struct dir_target *dir, int64_t token, struct tide_err *err) {
  int fd = tide_dir_openat(dir->folder, ".", O_RDONLY | O_DIRECTORY);
  DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
  if (list == NULL) {
    tide_dir_fail(&dir->root, "listing the folder of", dir->name, errno, err);
    close_fd(&fd);
    return;
  }
  const struct dirent *entry;
  while (errno = 0, (entry = readdir(list)) != NULL) {
    if (!is_leftover(entry->d_name, last_part(dir->name), token))
      continue;
    if (unlinkat(dir->folder, entry->d_name, 0) != 0 && errno != ENOENT)
      tide_dir_fail(&dir->root, "removing what an earlier try left of", dir->name, errno, err);
  }
  if (errno != 0)
    tide_dir_fail(&dir->root, "listing the folder of", dir->name, errno, err);
  closedir(list);
}

static void make_temporary(struct dir_target *dir, int64_t token, struct tide_err *err) {
  char *temporary = tide_printf(err, ".%s.%lld.tmp", last_part(dir->name), (long long)token);
  if (temporary == NULL)
    return;
  dir->file = tide_dir_openat(dir->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (dir->file >= 0) {
    dir->temporary = temporary;
    step("created");
    return;
  }
  tide_dir_fail(&dir->root, "creating", dir->name, errno, err);
  tide_free(temporary);
}

static int dir_begin(struct tide_target *target, const struct tide_object *object, struct tide_err *err) {
  struct dir_target *dir = (struct dir_target *)target;
  assert(dir->name == NULL && object->token >= 0);
  if (!tide_target_name_check(object->name, err))
    return err->rc;
  dir->name = tide_copy_string(object->name, err);
  if (dir->name != NULL)
    dir->folder = tide_dir_open_folder(&dir->root, object->name, true, err);
  if (object->again && !tide_err_is_set(err))
    remove_leftovers(dir, object->token, err);
  if (!tide_err_is_set(err))
    make_temporary(dir, object->token, err);
  if (tide_err_is_set(err))
    end_object(dir);
  return err->rc;
}

/* ---- write ---- */

static void write_all(struct dir_target *dir, const unsigned char *bytes, size_t size, struct tide_err *err) {
  while (size > 0) {
    ssize_t done = write(dir->file, bytes, size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0) {
      tide_dir_fail(&dir->root, "writing", dir->name, done < 0 ? errno : EIO, err);
      return;
    }
    bytes += done;
    size -= (size_t)done;
  }
}

static void flush(struct dir_target *dir, struct tide_err *err) {
  write_all(dir, dir->buffer, dir->buffered, err);
  dir->buffered = 0;
}

static int dir_write(struct tide_target *target, const void *bytes, size_t size, struct tide_err *err) {
  struct dir_target *dir = (struct dir_target *)target;
  assert(dir->file >= 0);
  if (size > BUFFER_SIZE - dir->buffered)
    flush(dir, err);
  if (size >= BUFFER_SIZE && !tide_err_is_set(err)) {
    write_all(dir, bytes, size, err);
  } else if (size > 0 && !tide_err_is_set(err)) {
    memcpy(dir->buffer + dir->buffered, bytes, size);
    dir->buffered += size;
  }
  if (tide_err_is_set(err))
    end_object(dir);
  return err->rc;
}

/* ---- commit ---- */

/* Whether errno says that the file system does not know this way of naming a file. */
static bool way_is_unknown(void) {
  return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM || errno == EMLINK;
}

static int rename_noreplace(int folder, const char *from, const char *to) {
#ifdef RENAME_NOREPLACE
  if (!way_is_missing(1))
    return renameat2(folder, from, folder, to, RENAME_NOREPLACE);
#else
  (void)folder, (void)from, (void)to;
#endif
  errno = ENOSYS;
  return -1;
}

static int link_noreplace(int folder, const char *from, const char *to) {
  if (!way_is_missing(2))
    return linkat(folder, from, folder, to, 0) == 0 ? unlinkat(folder, from, 0) : -1;
  errno = ENOSYS;
  return -1;
}

/* The last resort: two processes may pass each other between the look and the rename. They would have to work on the
 * same batch, and then write the same rows. */
static int look_and_rename(int folder, const char *from, const char *to) {
  struct stat st;
  if (fstatat(folder, to, &st, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return -1;
  }
  return errno == ENOENT ? renameat(folder, from, folder, to) : -1;
}

/* Gives the object its name; false when there is one already, or err is set. */
static bool publish(struct dir_target *dir, struct tide_err *err) {
  const char *last = last_part(dir->name);
  int rc = rename_noreplace(dir->folder, dir->temporary, last);
  if (rc != 0 && way_is_unknown())
    rc = link_noreplace(dir->folder, dir->temporary, last);
  if (rc != 0 && way_is_unknown())
    rc = look_and_rename(dir->folder, dir->temporary, last);
  if (rc == 0) {
    tide_free(dir->temporary);
    dir->temporary = NULL;
    step("renamed");
  } else if (errno != EEXIST) {
    tide_dir_fail(&dir->root, "naming", dir->name, errno, err);
  }
  return rc == 0;
}

/* Opens an object that is there: a regular file. */
static int open_object(const struct tide_dir_root *root, int folder, const char *name, struct tide_err *err) {
  struct stat st;
  int file = tide_dir_openat(folder, last_part(name), FLAGS_READ);
  int error = errno;
  bool regular = file >= 0 && fstat(file, &st) == 0 && S_ISREG(st.st_mode);
  if (regular)
    return file;
  if (file >= 0 || error == ELOOP || error == ENXIO)
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
  if (unlinkat(dir->folder, dir->temporary, 0) != 0)
    tide_dir_fail(&dir->root, "removing the second copy of", dir->name, errno, err);
  tide_free(dir->temporary);
  dir->temporary = NULL;
  int file = open_object(&dir->root, dir->folder, dir->name, err);
  if (file >= 0 && tide_dir_sync_file(file) != 0)
    tide_dir_fail(&dir->root, "syncing", dir->name, errno, err);
  close_fd(&file);
}

/* All bytes on the disk, the file closed. */
static void finish_file(struct dir_target *dir, struct tide_err *err) {
  flush(dir, err);
  if (tide_err_is_set(err))
    return;
  step("written");
  if (tide_dir_sync_file(dir->file) != 0) {
    tide_dir_fail(&dir->root, "syncing", dir->name, errno, err);
    return;
  }
  step("synced");
  int rc = close(dir->file);
  dir->file = -1;
  if (rc != 0 && errno != EINTR) /* after EINTR the descriptor is gone, and the file was synced before */
    tide_dir_fail(&dir->root, "closing", dir->name, errno, err);
}

static int dir_commit(struct tide_target *target, struct tide_answer *ret_answer, struct tide_err *err) {
  struct dir_target *dir = (struct dir_target *)target;
  assert(dir->file >= 0);
  bool exists = false;
  finish_file(dir, err);
  if (!tide_err_is_set(err) && !publish(dir, err) && !tide_err_is_set(err)) {
    exists = true;
    sync_existing(dir, err);
  }
  if (!tide_err_is_set(err) && tide_dir_sync_folder(dir->folder) != 0)
    tide_dir_fail(&dir->root, "syncing the folder of", dir->name, errno, err);
  if (!tide_err_is_set(err)) {
    step("folder_synced");
    *ret_answer = (struct tide_answer){.verdict = exists ? TIDE_VERDICT_EXISTS : TIDE_VERDICT_TAKEN};
  }
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
  int folder = dir->read_name != NULL ? tide_dir_open_folder(&dir->root, name, false, err) : -1;
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

/* ---- open, destroy ---- */

static void dir_destroy(struct tide_target *target) {
  struct dir_target *dir = (struct dir_target *)target;
  end_object(dir);
  dir_close_read(target);
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
      .destroy = dir_destroy,
  };
  struct dir_target *dir = tide_alloc_zero(1, sizeof *dir, err);
  if (dir == NULL)
    return NULL;
  dir->base.methods = &methods;
  dir->root.fd = dir->folder = dir->file = dir->reading = -1;
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
