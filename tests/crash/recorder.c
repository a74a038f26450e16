/* The system calls by which SQLite and the sinks change files, in front of the C library's: they do what they say, and
 * note it. Both find them here before all others, for they are the program's own, so that nothing stands between what
 * is tested and its log: neither a VFS nor a hook. What escaped is found by test_power.c, which compares the last image
 * with the folder. */
#undef _FILE_OFFSET_BITS /* with which open() would be another name of open64() */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "disk_log.h"

enum { SPACE_SIZE = 512 * 1024 * 1024 };

static struct {
  bool on;
  struct disk_log *log;
  char *space;                       /* what names and bytes are copied to */
  struct stat known[DISK_FILES_MAX]; /* by number */
} recorder;

/* ---- the log ---- */

static void *keep(const void *bytes, size_t size) {
  ck_assert_uint_lt(recorder.log->used + size, SPACE_SIZE);
  void *kept = memcpy(recorder.space + recorder.log->used, bytes, size);
  recorder.log->used += size;
  return kept;
}

static const char *keep_name(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  return keep(name, strlen(name) + 1);
}

static void add(struct disk_record record) {
  ck_assert_int_lt(recorder.log->count, DISK_RECORDS_MAX);
  recorder.log->records[recorder.log->count++] = record;
}

void recorder_mark(int64_t value) {
  add((struct disk_record){.call = DISK_MARK, .offset = value});
}

/* ---- which file ---- */

/* The newest of that identity, for the kernel gives numbers of files again; -1: none of ours. */
static int number_of(const struct stat *st) {
  for (int i = recorder.log->files - 1; i >= 0; i--)
    if (recorder.known[i].st_ino == st->st_ino && recorder.known[i].st_dev == st->st_dev)
      return i;
  return -1;
}

static int number_of_fd(int fd) {
  struct stat st;
  const int saved = errno;
  const int number = recorder.on && fstat(fd, &st) == 0 ? number_of(&st) : -1;
  errno = saved;
  return number;
}

static int number_at(int at, const char *path) {
  struct stat st;
  const int saved = errno;
  const int number = recorder.on && fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? number_of(&st) : -1;
  errno = saved;
  return number;
}

static int folder_number_at(int at, const char *path) {
  char folder[4096] = ".";
  const char *slash = strrchr(path, '/');
  if (slash != NULL)
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
  return number_at(at, folder);
}

static int give_number(const struct stat *st) {
  ck_assert_int_lt(recorder.log->files, DISK_FILES_MAX);
  recorder.known[recorder.log->files] = *st;
  return recorder.log->files++;
}

static bool is_left_out(const char *path) {
  const size_t size = strlen(path);
  return size >= 4 && strcmp(path + size - 4, "-shm") == 0;
}

static void note_made(enum disk_call call, int at, const char *path) {
  struct stat st;
  const int folder = folder_number_at(at, path);
  if (folder < 0 || is_left_out(path) || fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
    return;
  add((struct disk_record){.call = call, .file = give_number(&st), .folder = folder, .name = keep_name(path)});
}

/* ---- the calls ---- */

static int open_and_note(int at, const char *path, int flags, va_list args) {
  struct stat st;
  const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
  const bool makes = recorder.on && flags & O_CREAT && fstatat(at, path, &st, 0) != 0;
  const int fd = (int)syscall(SYS_openat, at, path, flags, mode);
  if (fd >= 0 && makes)
    note_made(DISK_CREATE, at, path);
  return fd;
}

#define OPEN(name)                                                                                                     \
  int name(const char *path, int flags, ...) {                                                                         \
    va_list args;                                                                                                      \
    va_start(args, flags);                                                                                             \
    const int fd = open_and_note(AT_FDCWD, path, flags, args);                                                         \
    va_end(args);                                                                                                      \
    return fd;                                                                                                         \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
  int name(int at, const char *path, int flags, ...) {                                                                 \
    va_list args;                                                                                                      \
    va_start(args, flags);                                                                                             \
    const int fd = open_and_note(at, path, flags, args);                                                               \
    va_end(args);                                                                                                      \
    return fd;                                                                                                         \
  }
OPENAT(openat)
OPENAT(openat64)

static void note_write(int fd, const void *bytes, ssize_t done, int64_t offset) {
  const int file = done > 0 ? number_of_fd(fd) : -1;
  if (file >= 0)
    add((struct disk_record){
        .call = DISK_WRITE, .file = file, .offset = offset, .size = (size_t)done, .bytes = keep(bytes, (size_t)done)});
}

ssize_t write(int fd, const void *bytes, size_t size) {
  const int64_t offset = recorder.on ? lseek(fd, 0, SEEK_CUR) : 0;
  const ssize_t done = syscall(SYS_write, fd, bytes, size);
  note_write(fd, bytes, done, offset);
  return done;
}

#define PWRITE(name, type)                                                                                             \
  ssize_t name(int fd, const void *bytes, size_t size, type offset) {                                                  \
    const ssize_t done = syscall(SYS_pwrite64, fd, bytes, size, offset);                                               \
    note_write(fd, bytes, done, offset);                                                                               \
    return done;                                                                                                       \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define FTRUNCATE(name, type)                                                                                          \
  int name(int fd, type size) {                                                                                        \
    const int rc = (int)syscall(SYS_ftruncate, fd, size);                                                              \
    const int file = rc == 0 ? number_of_fd(fd) : -1;                                                                  \
    if (file >= 0)                                                                                                     \
      add((struct disk_record){.call = DISK_TRUNCATE, .file = file, .offset = size});                                  \
    return rc;                                                                                                         \
  }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

/* The kernel outlives the child, so that only the log has to know. */
static int note_sync(int fd) {
  const int file = number_of_fd(fd);
  if (file >= 0)
    add((struct disk_record){.call = S_ISDIR(recorder.known[file].st_mode) ? DISK_SYNC_FOLDER : DISK_SYNC,
                             .file = file});
  return 0;
}

int fsync(int fd) {
  return recorder.on ? note_sync(fd) : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
  return recorder.on ? note_sync(fd) : (int)syscall(SYS_fdatasync, fd);
}

int unlinkat(int at, const char *path, int flags) {
  const int file = number_at(at, path), folder = folder_number_at(at, path);
  const int rc = (int)syscall(SYS_unlinkat, at, path, flags);
  if (rc == 0 && file >= 0 && folder >= 0)
    add((struct disk_record){.call = DISK_UNLINK, .file = file, .folder = folder, .name = keep_name(path)});
  return rc;
}

int unlink(const char *path) {
  return unlinkat(AT_FDCWD, path, 0);
}

int renameat2(int from, const char *name, int to, const char *to_name, unsigned flags) {
  const int file = number_at(from, name), folder = folder_number_at(from, name);
  const int to_folder = folder_number_at(to, to_name);
  const int rc = (int)syscall(SYS_renameat2, from, name, to, to_name, flags);
  if (rc == 0 && file >= 0)
    add((struct disk_record){.call = DISK_RENAME,
                             .file = file,
                             .folder = folder,
                             .name = keep_name(name),
                             .to_folder = to_folder,
                             .to_name = keep_name(to_name)});
  return rc;
}

int renameat(int from, const char *name, int to, const char *to_name) {
  return renameat2(from, name, to, to_name, 0);
}

int mkdirat(int at, const char *path, mode_t mode) {
  const int rc = (int)syscall(SYS_mkdirat, at, path, mode);
  if (rc == 0 && recorder.on)
    note_made(DISK_MKDIR, at, path);
  return rc;
}

int mkdir(const char *path, mode_t mode) {
  return mkdirat(AT_FDCWD, path, mode);
}

/* ---- a run ---- */

static void note_bytes(int fd) {
  unsigned char piece[65536];
  int64_t offset = 0;
  for (ssize_t got; (got = pread(fd, piece, sizeof piece, offset)) > 0; offset += got)
    note_write(fd, piece, got, offset);
}

/* What a folder holds when the work begins, as if it had been made just now, and synced. */
static void note_tree(const char *path) {
  struct dirent **names;
  const int count = scandir(path, &names, NULL, alphasort);
  const int folder = number_at(AT_FDCWD, path);
  for (int i = 0; i < count; i++) {
    char child[4096];
    struct stat st;
    snprintf(child, sizeof child, "%s/%s", path, names[i]->d_name);
    if (names[i]->d_name[0] != '.' && lstat(child, &st) == 0) {
      note_made(S_ISDIR(st.st_mode) ? DISK_MKDIR : DISK_CREATE, AT_FDCWD, child);
      if (S_ISDIR(st.st_mode)) {
        note_tree(child);
      } else {
        const int fd = open(child, O_RDONLY);
        note_bytes(fd);
        note_sync(fd);
        close(fd);
      }
    }
    free(names[i]);
  }
  free(names);
  add((struct disk_record){.call = DISK_SYNC_FOLDER, .file = folder});
}

static void start(const char *folder) {
  struct stat st;
  ck_assert_int_eq(stat(folder, &st), 0);
  recorder.on = true;
  give_number(&st);
  note_tree(folder);
  recorder.log->first = recorder.log->count;
}

static void *share(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ck_assert_ptr_ne(memory, MAP_FAILED);
  return memory;
}

static const struct disk_log *run_child(const char *folder, void (*work)(void)) {
  int status;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    if (folder != NULL)
      start(folder);
    recorder.on = true;
    work();
    recorder.on = false;
    _exit(0);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with status %d", status);
  return recorder.log;
}

const struct disk_log *recorder_run(const char *folder, void (*work)(void)) {
  if (recorder.log == NULL) {
    recorder.log = share(sizeof *recorder.log);
    recorder.space = share(SPACE_SIZE);
  }
  recorder.log->count = recorder.log->files = 0;
  recorder.log->used = 0;
  return run_child(folder, work);
}

const struct disk_log *recorder_go_on(const struct disk_log *from, int count, const char *(*path_of)(int file),
                                      void (*work)(void)) {
  memcpy(recorder.log, from, sizeof *from);
  recorder.log->count = count;
  memset(recorder.known, 0, sizeof recorder.known);
  for (int file = 0; file < from->files; file++) {
    const char *path = path_of(file);
    if (path != NULL)
      ck_assert_int_eq(stat(path, &recorder.known[file]), 0);
  }
  return run_child(NULL, work);
}
