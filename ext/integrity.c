#include "integrity.h"

#include "engine/check.h"

int tide_integrity_check(struct tide_dataset *ds, int flags, char **ret_message) {
  struct tide_err err = {0};
  struct tide_check_report report = {0};
  struct tide_buf text = {0};
  tide_check(ds, (flags & 1) != 0, &report, &err);
  if (report.found > 0) {
    tide_check_report_put(&report, &text, &err);
    tide_buf_put_u8(&text, 0, &err);
  }
  char *message = report.found > 0 && !tide_err_is_set(&err) ? sqlite3_mprintf("%s", (const char *)text.data) : NULL;
  if (report.found > 0 && message == NULL)
    tide_err_nomem(&err);
  if (!tide_err_is_set(&err))
    *ret_message = message;
  tide_buf_clear(&text);
  tide_check_report_clear(&report);
  return err.rc;
}
