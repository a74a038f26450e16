#include "base/host.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

sqlite3_vfs *tide_host_vfs(sqlite3 *db, const char *schema) {
  sqlite3_vfs *vfs = NULL;
  if (db == NULL || sqlite3_file_control(db, schema, SQLITE_FCNTL_VFS_POINTER, &vfs) != SQLITE_OK || vfs == NULL)
    vfs = sqlite3_vfs_find(NULL);
  return vfs;
}

int64_t tide_host_vfs_now_ms(sqlite3_vfs *vfs) {
  /* xCurrentTimeInt64 counts milliseconds of the Julian day number; 1970-01-01 00:00 UTC is day 2440587.5. */
  static const int64_t epoch_ms = INT64_C(210866760000000);
  if (vfs == NULL)
    return 0;
  if (vfs->iVersion >= 2 && vfs->xCurrentTimeInt64 != NULL) {
    sqlite3_int64 now = 0;
    if (vfs->xCurrentTimeInt64(vfs, &now) == SQLITE_OK)
      return now - epoch_ms;
  }
  double days = 0;
  vfs->xCurrentTime(vfs, &days);
  return (int64_t)(days * 86400000.0) - epoch_ms;
}

int64_t tide_host_now_ms(sqlite3 *db, const char *schema) {
  return tide_host_vfs_now_ms(tide_host_vfs(db, schema));
}

static const char digits[] = "0123456789abcdef";

bool tide_host_is_id(const char *text, size_t size) {
  return size == TIDE_HOST_ID_SIZE - 1 && strspn(text, digits) == TIDE_HOST_ID_SIZE - 1;
}

void tide_host_random_id(char ret_id[TIDE_HOST_ID_SIZE]) {
  unsigned char bytes[(TIDE_HOST_ID_SIZE - 1) / 2];
  sqlite3_randomness((int)sizeof bytes, bytes);
  for (size_t i = 0; i < sizeof bytes; i++) {
    ret_id[2 * i] = digits[bytes[i] >> 4];
    ret_id[2 * i + 1] = digits[bytes[i] & 15];
  }
  ret_id[TIDE_HOST_ID_SIZE - 1] = '\0';
}

/* The first line of a small file of /proc, without its newline; "" when it cannot be read. */
static void read_line(const char *path, char *line, size_t size) {
  line[0] = '\0';
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  ssize_t got = read(fd, line, size - 1);
  close(fd);
  line[got > 0 ? got : 0] = '\0';
  line[strcspn(line, "\n")] = '\0';
}

static void boot_id(char id[64]) {
  read_line("/proc/sys/kernel/random/boot_id", id, 64);
}

/* Field 22 of /proc/<pid>/stat, proc(5): start time in clock ticks since boot; 0 when there is no such process or
 * only its unreaped remains (state Z or X). The name in field 2 may hold anything, so count from its last
 * parenthesis. */
static unsigned long long start_ticks(long pid) {
  char path[64];
  char line[1024];
  snprintf(path, sizeof path, "/proc/%ld/stat", pid);
  read_line(path, line, sizeof line);
  const char *at = strrchr(line, ')');
  if (at == NULL || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
    return 0;
  for (int field = 2; at != NULL && field < 22; field++)
    at = strchr(at + 1, ' ');
  return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

void tide_host_owner(char *ret_owner, size_t size) {
  char boot[64];
  boot_id(boot);
  snprintf(ret_owner, size, "%s:%ld:%llu", boot, (long)getpid(), start_ticks((long)getpid()));
}

int tide_host_owner_is_dead(const char *owner) {
  char boot[64];
  boot_id(boot);
  size_t boot_len = strlen(boot);
  if (boot_len == 0 || strncmp(owner, boot, boot_len) != 0 || owner[boot_len] != ':')
    return 0;
  char *end = NULL;
  long pid = strtol(owner + boot_len + 1, &end, 10);
  if (pid <= 0 || *end != ':')
    return 0;
  return start_ticks(pid) != strtoull(end + 1, NULL, 10);
}

/* ---- the terminal ---- */

static bool is_there(void) {
  return isatty(STDERR_FILENO) != 0;
}

static int width(void) {
  struct winsize size;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* A line that is lost is of no account; a terminal that was stopped (Ctrl-S) must not stop who holds a lock. */
static void write_out(const char *text, size_t size) {
  struct pollfd terminal = {.fd = STDERR_FILENO, .events = POLLOUT};
  if (poll(&terminal, 1, 0) != 1 || (terminal.revents & POLLOUT) == 0)
    return;
  const ssize_t written = write(STDERR_FILENO, text, size);
  (void)written;
}

struct tide_host_terminal tide_host_terminal = {is_there, width, write_out};
