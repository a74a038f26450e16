#include "sink/dir_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite.h"

enum { LOWEST_FD = 3 };

int tide_dir_openat(int folder, const char *name, int flags) {
  int fd;
  do
    fd = openat(folder, name, flags | O_CLOEXEC, 0666);
  while (fd < 0 && errno == EINTR);
  if (fd < 0 || fd >= LOWEST_FD)
    return fd;
  int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);
  int saved = errno;
  close(fd);
  errno = saved;
  return high;
}

int tide_dir_sync_file(int file) {
  int rc;
  do
    rc = fsync(file);
  while (rc != 0 && errno == EINTR);
  return rc;
}

int tide_dir_sync_folder(int folder) {
  int rc = tide_dir_sync_file(folder);
  return rc != 0 && (errno == EINVAL || errno == ENOTSUP) ? 0 : rc;
}

static int code_of(int error) {
  switch (error) {
  case ENOSPC:
  case EDQUOT:
    return SQLITE_FULL;
  case ENOENT:
    return SQLITE_CANTOPEN;
  case EACCES:
  case EPERM:
    return SQLITE_PERM;
  case EROFS:
    return SQLITE_READONLY;
  default:
    return SQLITE_IOERR;
  }
}

void tide_dir_fail(const struct tide_dir_root *root, const char *doing, const char *name, int error,
                   struct tide_err *err) {
  tide_err_set(err, code_of(error), "%s \"%s/%s\": %s: the batch stays and the next tick tries again", doing,
               root->path, name, strerror(error));
}

/* The last part of name's first `size` bytes, cut at NAME_MAX (which no file system lets pass as another's name). */
static void copy_last_part(const char *name, size_t size, char ret_last[NAME_MAX + 2]) {
  size_t start = size;
  while (start > 0 && name[start - 1] != '/')
    start--;
  size_t length = size - start <= NAME_MAX ? size - start : NAME_MAX + 1;
  memcpy(ret_last, name + start, length);
  ret_last[length] = '\0';
}

void tide_dir_fail_kind(const struct tide_dir_root *root, int folder, const char *name, size_t size, const char *wanted,
                        struct tide_err *err) {
  struct stat st;
  char last[NAME_MAX + 2];
  const char *found = "something else";
  copy_last_part(name, size, last);
  if (fstatat(folder, last, &st, AT_SYMLINK_NOFOLLOW) == 0)
    found = S_ISLNK(st.st_mode)   ? "a symbolic link, which is never followed"
            : S_ISDIR(st.st_mode) ? "a folder"
            : S_ISREG(st.st_mode) ? "a file"
                                  : "a device, pipe or socket";
  tide_err_set(err, SQLITE_PERM, "\"%s/%.*s\" is %s: expected a %s of this sink, move it away", root->path, (int)size,
               name, found, wanted);
}

/* Syncs a folder for the sake of its child's name there, unless that is the root's and the child the one that was
 * synced there last: nearly all objects lie below one. It is held open, so that no other has its number. */
static int sync_name(const struct tide_dir_root *root, int folder, bool of_root, int child) {
  struct stat last, st;
  int *synced = of_root ? root->synced : NULL;
  if (synced != NULL && *synced >= 0 && fstat(*synced, &last) == 0 && fstat(child, &st) == 0 &&
      last.st_dev == st.st_dev && last.st_ino == st.st_ino)
    return 0;
  const int rc = tide_dir_sync_folder(folder);
  if (synced != NULL && rc == 0) {
    if (*synced >= 0)
      close(*synced);
    *synced = fcntl(child, F_DUPFD_CLOEXEC, LOWEST_FD);
  }
  return rc;
}

/* The folder that name's first `size` bytes name, whose last part is in `folder`. */
static int enter(const struct tide_dir_root *root, int folder, const char *name, size_t size,
                 enum tide_dir_missing missing, struct tide_err *err) {
  static const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  char last[NAME_MAX + 2];
  copy_last_part(name, size, last);
  int child = tide_dir_openat(folder, last, flags);
  if (child < 0 && errno == ENOENT && missing != TIDE_DIR_MISSING_FAILS) {
    if (mkdirat(folder, last, 0777) != 0 && errno != EEXIST) {
      tide_dir_fail(root, "making a folder for", name, errno, err);
      return -1;
    }
    child = tide_dir_openat(folder, last, flags);
  }
  if (child < 0 && (errno == ENOTDIR || errno == ELOOP))
    tide_dir_fail_kind(root, folder, name, size, "folder", err);
  else if (child < 0 && errno == ENOENT && missing == TIDE_DIR_MISSING_FAILS)
    tide_err_set(err, SQLITE_CANTOPEN, "\"%s/%s\" does not exist", root->path, name);
  else if (child < 0)
    tide_dir_fail(root, "opening the folder of", name, errno, err);
  else if (missing == TIDE_DIR_MISSING_IS_SYNCED &&
           sync_name(root, folder, memchr(name, '/', size) == NULL, child) != 0)
    tide_dir_fail(root, "syncing a folder of", name, errno, err);
  if (tide_err_is_set(err) && child >= 0) {
    close(child);
    child = -1;
  }
  return child;
}

int tide_dir_open_folder(const struct tide_dir_root *root, const char *name, enum tide_dir_missing missing,
                         struct tide_err *err) {
  int folder = fcntl(root->fd, F_DUPFD_CLOEXEC, LOWEST_FD);
  if (folder < 0)
    tide_dir_fail(root, "opening the folder of", name, errno, err);
  const char *slash = strchr(name, '/');
  for (; folder >= 0 && slash != NULL; slash = strchr(slash + 1, '/')) {
    int child = enter(root, folder, name, (size_t)(slash - name), missing, err);
    close(folder);
    folder = child;
  }
  return folder;
}

DIR *tide_dir_read_names(int folder) {
  int fd = tide_dir_openat(folder, ".", O_RDONLY | O_DIRECTORY);
  DIR *names = fd >= 0 ? fdopendir(fd) : NULL;
  if (names == NULL && fd >= 0) {
    int saved = errno;
    close(fd);
    errno = saved;
  }
  return names;
}
