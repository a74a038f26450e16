/* Remembers a call of tidemark_export that found nothing to do, so that the same call, on files that nobody wrote
 * since, costs a look at their data versions. A version is taken before the call looks at anything: a commit in
 * between only makes the memory useless. All zero is empty.
 *
 * Versions count from when a file was opened: of one that can be detached and attached again, or another in its
 * place, they say nothing. */
#ifndef TIDE_SINK_IDLE_H
#define TIDE_SINK_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"

struct tide_idle_file {
  char *schema;
  uint32_t version;
};

struct tide_idle {
  char *key;  /* the call's arguments and the attached databases; NULL: nothing is remembered */
  char *json; /* what it answered */
  struct tide_idle_file *files;
  size_t nfiles;
  size_t files_cap;
  bool useless; /* the call looked at an attached file */
};

/* The answer of the same call when nothing has changed, else NULL. The memory keeps it. */
const char *tide_idle_answer(const struct tide_idle *idle, sqlite3 *db, const char *key, struct tide_err *err);

/* Begins to watch a call: forgets what was remembered. Then each file is noted before it is looked at. */
void tide_idle_start(struct tide_idle *idle);
void tide_idle_note(struct tide_idle *idle, sqlite3 *db, const char *schema, struct tide_err *err);
/* The call found nothing to do. */
void tide_idle_remember(struct tide_idle *idle, const char *key, const char *json, size_t json_size,
                        struct tide_err *err);

#endif
