/* For LD_PRELOAD: ends the process by SIGKILL just before the TIDE_KILL_AT-th of its calls that change a file: writes,
 * syncs, renames, links, and what removes a name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void count(void) {
  static long calls;
  const char *at = getenv("TIDE_KILL_AT");
  if (at != NULL && ++calls == atol(at))
    kill(getpid(), SIGKILL);
}

/* The C library's own function of the name. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void count_file(int fd) {
  struct stat status;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
    count();
}

ssize_t write(int fd, const void *bytes, size_t size) {
  count_file(fd);
  return NEXT(write)(fd, bytes, size);
}

/* Meson has off_t of 64 bits, by which this is the symbol pwrite64, as in SQLite. */
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
  count_file(fd);
  return NEXT(pwrite)(fd, bytes, size, offset);
}

int fsync(int fd) {
  count();
  return NEXT(fsync)(fd);
}

int fdatasync(int fd) {
  count();
  return NEXT(fdatasync)(fd);
}

int rename(const char *from, const char *to) {
  count();
  return NEXT(rename)(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  count();
  return NEXT(renameat)(from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
  count();
  return NEXT(renameat2)(from_folder, from, to_folder, to, flags);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  count();
  return NEXT(linkat)(from_folder, from, to_folder, to, flags);
}

int unlink(const char *path) {
  count();
  return NEXT(unlink)(path);
}

int unlinkat(int folder, const char *path, int flags) {
  count();
  return NEXT(unlinkat)(folder, path, flags);
}
