/* What the parts of a check (engine/check.h) share: what they look at, and the report they write. */
#ifndef TIDE_ENGINE_CHECK_REPORT_H
#define TIDE_ENGINE_CHECK_REPORT_H

#include "base/buf.h"
#include "engine/dataset.h"

enum { TIDE_CHECK_LINES = 100 };

/* One line for each problem, the first TIDE_CHECK_LINES of them. All zero is an empty one. */
struct tide_check_report {
  struct tide_buf text; /* the lines kept, joined by newlines */
  int64_t found;        /* lines in all */
};

void tide_check_report_add(struct tide_check_report *report, struct tide_err *err, const char *format, ...);

/* Takes an error that is damage (SQLITE_CORRUPT) out of err and enters its message, behind "where: " when that is not
 * NULL. Leaves any other. Whether it took one. */
bool tide_check_report_take(struct tide_check_report *report, const char *where, struct tide_err *err);

/* Appends the lines, and how many more there were; "ok" when there are none. */
void tide_check_report_put(const struct tide_check_report *report, struct tide_buf *out, struct tide_err *err);
void tide_check_report_clear(struct tide_check_report *report);

/* A check at work. */
struct tide_check {
  struct tide_dataset *ds;
  sqlite3 *db;
  struct tide_names names;
  bool quick; /* chunks are not decoded */
  struct tide_check_report *report;
  struct tide_spec *spec; /* as the file has it, like the config */
  struct tide_config config;
  struct tide_batch batch; /* the frame or tail entry at hand */

  /* what check_rows.c leaves to the others */
  bool unreadable;    /* some rows or counts could not be read, so that nothing is said of sums over them */
  bool miscounted;    /* some counts are not those of the rows: likewise */
  bool owner_unknown; /* some segment's row cannot be, so that chunks may be its own */
  int64_t partitions;
  int64_t written;    /* rows ever, of all partitions; stops at the highest number */
  int64_t last_since; /* the highest given */
};

#endif
