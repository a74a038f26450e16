/* An error that owns its message. The caller declares one, all zero; the first error set in it wins, later ones are
 * ignored, so that a row of `void` calls with the same error may be checked once at its end. */
#ifndef TIDE_BASE_ERR_H
#define TIDE_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

enum { TIDE_ERR_MSG_SIZE = 512 };

struct tide_err {
  int rc;                      /* an SQLite result code, extended ones included; 0 is no error */
  char msg[TIDE_ERR_MSG_SIZE]; /* one sentence for the person who must act; cut at the end when too long */
};

/* Sets code and message unless an error is set already. The format is sqlite3_mprintf's (%q, %Q, %w, %lld ...). */
void tide_err_set(struct tide_err *err, int rc, const char *format, ...);
void tide_err_vset(struct tide_err *err, int rc, const char *format, va_list args);

/* SQLITE_NOMEM with SQLite's own words. */
void tide_err_nomem(struct tide_err *err);

/* Puts "prefix: " before the message of an error that is set; does nothing otherwise. */
void tide_err_prefix(struct tide_err *err, const char *format, ...);

void tide_err_clear(struct tide_err *err);

static inline bool tide_err_is_set(const struct tide_err *err) {
  return err->rc != 0;
}

#endif
