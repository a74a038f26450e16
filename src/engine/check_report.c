#include "engine/check_report.h"

#include <stdarg.h>

#include "base/mem.h"

static void add_line(struct tide_check_report *report, const char *line, struct tide_err *err) {
  if (report->found++ >= TIDE_CHECK_LINES)
    return;
  if (report->text.len > 0)
    tide_buf_put_u8(&report->text, '\n', err);
  tide_buf_put_string(&report->text, line, err);
}

void tide_check_report_add(struct tide_check_report *report, struct tide_err *err, const char *format, ...) {
  if (tide_err_is_set(err))
    return;
  va_list args;
  va_start(args, format);
  char *line = sqlite3_vmprintf(format, args);
  va_end(args);
  if (line == NULL)
    tide_err_nomem(err);
  else
    add_line(report, line, err);
  sqlite3_free(line);
}

bool tide_check_report_take(struct tide_check_report *report, const char *where, struct tide_err *err) {
  if ((err->rc & 0xff) != SQLITE_CORRUPT)
    return false;
  const struct tide_err damage = *err;
  tide_err_clear(err);
  if (where != NULL)
    tide_check_report_add(report, err, "%s: %s", where, damage.msg);
  else
    add_line(report, damage.msg, err);
  return true;
}

void tide_check_report_put(const struct tide_check_report *report, struct tide_buf *out, struct tide_err *err) {
  if (report->found == 0)
    tide_buf_put_string(out, "ok", err);
  tide_buf_put(out, report->text.data, report->text.len, err);
  if (report->found > TIDE_CHECK_LINES)
    tide_buf_printf(out, err, "\nand %lld more", (long long)(report->found - TIDE_CHECK_LINES));
}

void tide_check_report_clear(struct tide_check_report *report) {
  tide_buf_clear(&report->text);
  *report = (struct tide_check_report){0};
}
