#include "base/progress.h"

#include <string.h>

#include "base/host.h"

enum { QUIET_MS = 500, BETWEEN_MS = 250 };

/* Names come from the database: nothing of them may move the cursor. Other characters than ASCII's are "?" each. */
static void copy_harmless(char into[TIDE_PROGRESS_NAME_SIZE], const char *name) {
  size_t used = strlen(into);
  for (; *name != '\0' && used + 1 < TIDE_PROGRESS_NAME_SIZE; name++) {
    const unsigned char byte = (unsigned char)*name;
    if (byte < 0x80 || byte >= 0xc0) /* no continuation of a character */
      into[used++] = byte >= 0x20 && byte < 0x7f ? (char)byte : '?';
  }
  into[used] = '\0';
}

void tide_progress_begin(struct tide_progress *progress, sqlite3_vfs *vfs, const char *what, const char *sink,
                         const char *dataset) {
  if (!progress->on || !tide_host_terminal.is_there())
    return;
  *progress = (struct tide_progress){.on = true, .active = true, .vfs = vfs, .began_ms = tide_host_vfs_now_ms(vfs)};
  copy_harmless(progress->what, what);
  for (int i = 0; i < 2; i++) {
    const char *name = i == 0 ? sink : dataset;
    if (name == NULL)
      continue;
    copy_harmless(progress->what, i == 1 && sink != NULL ? "/" : " ");
    copy_harmless(progress->what, name);
  }
}

void tide_progress_part(struct tide_progress *progress, const char *part) {
  if (!progress->active)
    return;
  progress->part[0] = '\0';
  copy_harmless(progress->part, part);
}

/* Digits in groups of three. */
static void put_number(sqlite3_str *line, int64_t value) {
  char digits[24];
  sqlite3_snprintf((int)sizeof digits, digits, "%lld", (long long)value);
  const size_t size = strlen(digits);
  for (size_t i = 0; i < size; i++)
    sqlite3_str_appendf(line, "%s%c", i > 0 && (size - i) % 3 == 0 ? "," : "", digits[i]);
}

static void put_bytes(sqlite3_str *line, double bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
    bytes /= 1024;
  sqlite3_str_appendf(line, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

static void put_rows(sqlite3_str *line, const struct tide_progress *progress) {
  sqlite3_str_appendchar(line, 1, ' ');
  put_number(line, progress->rows);
  if (progress->of_rows > progress->rows) {
    sqlite3_str_appendall(line, " of ");
    put_number(line, progress->of_rows);
  }
  sqlite3_str_appendall(line, " rows");
}

/* How fast, and how long it takes at that pace. */
static void put_pace(sqlite3_str *line, const struct tide_progress *progress, double seconds) {
  sqlite3_str_appendall(line, ", ");
  if (progress->rows == 0) {
    put_bytes(line, (double)progress->bytes / seconds);
    sqlite3_str_appendall(line, "/s");
    return;
  }
  const double pace = (double)progress->rows / seconds;
  put_number(line, (int64_t)pace);
  sqlite3_str_appendall(line, " rows/s");
  const double left = (double)(progress->of_rows - progress->rows) / pace;
  if (progress->of_rows > progress->rows && left < 360000)
    sqlite3_str_appendf(line, ", %d:%02d left", (int)left / 60, (int)left % 60);
}

void tide_progress_line(const struct tide_progress *progress, int64_t now_ms, int width,
                        char ret_line[TIDE_PROGRESS_LINE_SIZE]) {
  sqlite3_str *line = sqlite3_str_new(NULL);
  const double seconds = (double)(now_ms - progress->began_ms) / 1000;
  sqlite3_str_appendf(line, "tidemark: %s", progress->what);
  if (progress->part[0] != '\0')
    sqlite3_str_appendf(line, " %s", progress->part);
  if (progress->rows > 0 || progress->of_rows > 0)
    put_rows(line, progress);
  if (progress->bytes > 0) {
    sqlite3_str_appendall(line, progress->rows > 0 ? ", " : " ");
    put_bytes(line, (double)progress->bytes);
  }
  if (seconds > 0 && (progress->rows > 0 || progress->bytes > 0))
    put_pace(line, progress, seconds);
  const int room = width < 1 ? 1 : width < TIDE_PROGRESS_LINE_SIZE ? width : TIDE_PROGRESS_LINE_SIZE;
  const char *text = sqlite3_str_value(line);
  sqlite3_snprintf(room, ret_line, "%s", text != NULL ? text : ""); /* in the last column some terminals wrap */
  sqlite3_free(sqlite3_str_finish(line));
}

void tide_progress_show(struct tide_progress *progress) {
  char line[TIDE_PROGRESS_LINE_SIZE];
  char out[TIDE_PROGRESS_LINE_SIZE + 8];
  const int64_t now = tide_host_vfs_now_ms(progress->vfs);
  const int64_t since = progress->shown ? progress->shown_ms : progress->began_ms;
  if (now - since < (progress->shown ? BETWEEN_MS : QUIET_MS))
    return;
  progress->shown = true;
  progress->shown_ms = now;
  tide_progress_line(progress, now, tide_host_terminal.width(), line);
  sqlite3_snprintf((int)sizeof out, out, "\r%s\033[K", line);
  tide_host_terminal.write(out, strlen(out));
}

void tide_progress_end(struct tide_progress *progress) {
  static const char away[] = "\r\033[K";
  if (progress->shown)
    tide_host_terminal.write(away, sizeof away - 1);
  *progress = (struct tide_progress){.on = progress->on};
}
