#include "base/err.h"

#include <string.h>

#include "base/sqlite.h"

void tide_err_vset(struct tide_err *err, int rc, const char *format, va_list args) {
  if (err->rc != 0)
    return;
  err->rc = rc;
  sqlite3_vsnprintf(sizeof err->msg, err->msg, format, args);
}

void tide_err_set(struct tide_err *err, int rc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  tide_err_vset(err, rc, format, args);
  va_end(args);
}

void tide_err_nomem(struct tide_err *err) {
  tide_err_set(err, SQLITE_NOMEM, "out of memory");
}

void tide_err_prefix(struct tide_err *err, const char *format, ...) {
  char text[TIDE_ERR_MSG_SIZE];
  char old[TIDE_ERR_MSG_SIZE];
  va_list args;
  if (err->rc == 0)
    return;
  va_start(args, format);
  sqlite3_vsnprintf(sizeof text, text, format, args);
  va_end(args);
  memcpy(old, err->msg, sizeof old);
  sqlite3_snprintf(sizeof err->msg, err->msg, "%s: %s", text, old);
}

void tide_err_clear(struct tide_err *err) {
  err->rc = 0;
  err->msg[0] = '\0';
}
