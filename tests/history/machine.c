#define _GNU_SOURCE
#include "machine.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* Check's own can only be asked by a test that Check runs. */
#undef ck_assert_int_eq
#define ck_assert_int_eq(a, b) require((a) == (b), #a " is " #b)
#undef ck_assert_ptr_ne
#define ck_assert_ptr_ne(a, b) require((a) != (b), #a " is not " #b)

static inline void require(int holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "expected: %s\n", what);
  _Exit(1);
}

#include "../crash/crash.h"

void machine_open(void) {
  shim_register();
  crash_open();
  machine_set_now(INT64_C(1767225600000));
}

int64_t machine_now(void) {
  return shim.now_ms;
}

void machine_set_now(int64_t ms) {
  shim.now_ms = ms;
}

int machine_process(void) {
  return getpid();
}

long machine_changes(void) {
  return shim.changes;
}

void machine_on_step(void (*step)(const char *step)) {
  tide_target_dir_step = step;
}

/* ---- death ---- */

_Noreturn static void live_until(void (*work)(void *data), void *data, int at, bool power_loss) {
  crash.at = at;
  crash.how = power_loss ? CRASH_POWER : CRASH_KILL;
  shim.skip_sync = true; /* the kernel outlives us, so only the harness's own memory of syncs counts */
  shim.before = crash_change;
  tide_target_dir_step = crash_step;
  work(data);
  _exit(0);
}

bool machine_run_killed(void (*work)(void *data), void *data, int at, bool power_loss) {
  int status = 0;
  memset(crash.shared, 0, sizeof *crash.shared);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0)
    live_until(work, data, at, power_loss);
  if (child < 0 || waitpid(child, &status, 0) != child || (WIFEXITED(status) && WEXITSTATUS(status) != 0) ||
      (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)) {
    fprintf(stderr, "the child ended with status %d\n", status);
    _exit(1);
  }
  return WIFSIGNALED(status);
}

/* ---- folders ---- */

bool machine_new_folder(char *path, size_t size) {
  snprintf(path, size, "%s/tidemark-history-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  return mkdtemp(path) != NULL;
}

void machine_remove(const char *path) {
  nftw(path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

char *machine_read(const char *path, size_t *ret_size) {
  struct stat st;
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    return NULL;
  fstat(fileno(file), &st);
  char *bytes = calloc(1, (size_t)st.st_size + 1);
  *ret_size = fread(bytes, 1, (size_t)st.st_size, file);
  fclose(file);
  return bytes;
}

static struct {
  size_t root_size;
  void (*found)(void *data, const char *path);
  void *data;
} visiting;

static int visit(const char *path, const struct stat *st, int type, struct FTW *where) {
  (void)st, (void)where;
  if (type == FTW_F)
    visiting.found(visiting.data, path + visiting.root_size);
  return 0;
}

void machine_each_file(const char *folder, void (*found)(void *data, const char *path), void *data) {
  visiting.root_size = strlen(folder) + 1;
  visiting.found = found;
  visiting.data = data;
  nftw(folder, visit, 16, FTW_PHYS);
}
