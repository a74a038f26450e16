/* Kills a child process at a chosen moment, and makes the disk forget what was not synced. A moment is a change to a
 * file of the database (through the shim VFS) or a step of a target's file; they are counted together from 1.
 *
 *   crash_open();
 *   for (int at = 1; crash_run(work, at, how); at++) { ... look at what is left ... } */
#ifndef TIDE_TESTS_CRASH_H
#define TIDE_TESTS_CRASH_H

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "effort.h"
#include "shim_vfs.h"
#include "sink/target.h"
#include "sql_db.h"

enum crash_how {
  CRASH_KILL,  /* what was written stays, as when a process dies */
  CRASH_POWER, /* what was not synced is gone, as when the machine loses power */
  CRASH_MIXED, /* some of what was not synced is gone */
  CRASH_HOWS
};

/* What a child leaves word of. */
struct crash_shared {
  int moments;   /* that came */
  int commits;   /* that have returned */
  int exports;   /* likewise */
  int64_t since; /* the last one of the last commit that has returned */
};

/* One change that no sync has made safe yet, and what undoes it. */
struct crash_undo {
  struct crash_undo *older;
  char *path;
  int64_t offset;
  int64_t file_size; /* before it; -1: the file was deleted, and had these bytes */
  size_t size;
  unsigned char *bytes;
};

static struct {
  struct crash_shared *shared;
  int at; /* 0: never */
  enum crash_how how;
  bool steps_only; /* the database's files have no moments */
  struct crash_undo *undo;
  unsigned random;
} crash;

static inline void crash_open(void) {
  crash.shared = mmap(NULL, sizeof *crash.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(crash.shared, MAP_FAILED);
}

/* ---- power loss ---- */

/* Keeps the bytes of a file from offset on, at most size. */
static inline void crash_keep(const char *path, int64_t offset, int64_t size, bool deleted) {
  struct stat st;
  const int file = open(path, O_RDONLY);
  if (file < 0) /* SQLite deletes journals that are not there */
    return;
  fstat(file, &st);
  struct crash_undo *undo = calloc(1, sizeof *undo);
  if (size > st.st_size - offset)
    size = st.st_size > offset ? st.st_size - offset : 0;
  undo->bytes = malloc((size_t)size + 1);
  undo->size = (size_t)size;
  ck_assert_int_eq(pread(file, undo->bytes, undo->size, offset), size);
  close(file);
  undo->path = strdup(path);
  undo->offset = offset;
  undo->file_size = deleted ? -1 : st.st_size;
  undo->older = crash.undo;
  crash.undo = undo;
}

/* A sync of a file, or of the folder it was deleted from, makes safe what was done to it. */
static inline void crash_make_safe(const char *path) {
  for (struct crash_undo **at = &crash.undo; *at != NULL;) {
    struct crash_undo *undo = *at;
    if (strcmp(undo->path, path) != 0) {
      at = &undo->older;
      continue;
    }
    *at = undo->older;
    free(undo->path);
    free(undo->bytes);
    free(undo);
  }
}

static inline void crash_lose_power(void) {
  for (struct crash_undo *undo = crash.undo; undo != NULL; undo = undo->older) {
    if (crash.how == CRASH_MIXED && (crash.random = crash.random * 1103515245u + 12345u) >> 16 & 1)
      continue;
    const int file = open(undo->path, O_WRONLY | (undo->file_size < 0 ? O_CREAT : 0), 0644);
    if (file < 0)
      continue; /* deleted, for good or a moment later */
    if (pwrite(file, undo->bytes, undo->size, undo->offset) != (ssize_t)undo->size ||
        (undo->file_size >= 0 && ftruncate(file, undo->file_size) != 0))
      abort();
    close(file);
  }
}

/* ---- moments ---- */

static inline void crash_moment(void) {
  if (++crash.shared->moments != crash.at)
    return;
  if (crash.how != CRASH_KILL)
    crash_lose_power();
  kill(getpid(), SIGKILL);
}

static inline void crash_change(enum shim_call call, const char *path, int64_t offset, int size) {
  if (!crash.steps_only)
    crash_moment();
  if (crash.how == CRASH_KILL)
    return;
  if (call == SHIM_SYNC || (call == SHIM_DELETE && size != 0))
    crash_make_safe(path);
  else if (call == SHIM_DELETE)
    crash_keep(path, 0, INT64_MAX, true);
  else
    crash_keep(path, offset, call == SHIM_WRITE ? size : INT64_MAX, false);
}

static inline void crash_step(const char *step) {
  (void)step;
  crash_moment();
}

/* Runs work in a child that dies at that moment; at 0: at none. Whether it died. */
static inline bool crash_run(void (*work)(void), int at, enum crash_how how) {
  int status;
  memset(crash.shared, 0, sizeof *crash.shared);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    crash.at = at;
    crash.how = how;
    crash.random = (unsigned)at;
    shim_register();
    shim.skip_sync = true; /* the kernel outlives us, so only the test's own memory of syncs counts */
    shim.before = crash_change;
    tide_target_dir_step = crash_step;
    work();
    _exit(0);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    return true;
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with status %d", status);
  return false;
}

/* Runs it on what `make` makes, killed at every stride-th moment, and looks with `check` at what is left; in the long
 * form at every moment and in every way. */
static inline void crash_everywhere(void (*make)(void), void (*run)(void), void (*check)(enum crash_how how),
                                    int stride) {
  const int ways = effort_is_long() ? CRASH_HOWS : 1;
  stride = effort_is_long() ? 1 : stride * EFFORT_DIVISOR;
  int at = 1;
  for (bool died = true; died; at += stride) {
    for (int way = 0; way < ways; way++) {
      const enum crash_how how = (enum crash_how)((at / stride + way) % CRASH_HOWS);
      make();
      died = crash_run(run, at, how);
      check(how);
    }
  }
  ck_assert_int_gt(crash.shared->moments, crash.steps_only ? 10 : 100);
}

#endif
