/* Remembers a call of tidemark_export that found nothing to do, so that the same call, on files that nobody wrote
 * since, costs a look at their data versions. The versions are taken before the call looks at anything: a commit in
 * between only makes the memory useless. All zero is empty.
 *
 * It watches main and temp. A connection with attached files has no such memory: a version counts from when a file
 * was opened, and says nothing of one that can be detached and attached again, or another in its place. */
#ifndef TIDE_SINK_IDLE_H
#define TIDE_SINK_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/dataset.h"

/* The data versions of main and temp; temp is the connection's own, and 0 until it is opened. */
struct tide_idle_versions {
  uint32_t main;
  uint32_t temp;
};

struct tide_idle {
  char *key;  /* the call's arguments; NULL: nothing is remembered */
  char *json; /* what it answered */
  struct tide_idle_versions versions;
};

/* The versions as they are now. false when they cannot tell: main has no dataset, or there are attached files. */
bool tide_idle_look(struct tide_conn *conn, struct tide_idle_versions *ret_versions);

/* The answer of the same call when nothing has changed, else NULL. The memory keeps it. */
const char *tide_idle_answer(const struct tide_idle *idle, const char *key, const struct tide_idle_versions *versions);

/* The call found nothing to do; versions are from before it. */
void tide_idle_remember(struct tide_idle *idle, const char *key, const struct tide_idle_versions *versions,
                        const char *json, size_t json_size);
void tide_idle_forget(struct tide_idle *idle);

#endif
