/* What is known of a Delta table at one version: what the actions of its commits, one after the other, come to
 * (delta-io/delta, PROTOCOL.md, "Action Reconciliation"). All zero but for version -1 is a table that is not there.
 *
 * The files that are in it are not held here but for those that were added since the kept copy (delta_kept.h): memory
 * grows with the number of applications, that is partitions, and of commits since that copy. */
#ifndef TIDE_SINK_DELTA_TABLE_H
#define TIDE_SINK_DELTA_TABLE_H

#include "sink/delta_txns.h"
#include "sink/json_walk.h"

struct tide_delta_table {
  int64_t version;          /* -1: there is no table */
  struct tide_buf protocol; /* the actions' objects, without white space */
  struct tide_buf meta;
  struct tide_delta_txns txns;
  /* Somebody else wrote what we do not carry on (removed files, files with a deletion vector, files that were there and
   * are described anew, features of the protocol ...): whoever does it makes the checkpoints, and we keep no list of
   * the files. */
  bool shared;
  int64_t kept_version; /* of the kept copy, -1: there is none; the number of files in it */
  int64_t kept_adds;
  struct tide_buf adds; /* the objects of add actions since, each with a \n behind it; empty when shared */
  int64_t nadds;
};

void tide_delta_table_init(struct tide_delta_table *table);
void tide_delta_table_clear(struct tide_delta_table *table); /* as after init */

/* Takes an action: one line of a commit. One that is not known makes the table a
 * shared one. SQLITE_CORRUPT when it is no action. */
void tide_delta_table_apply(struct tide_delta_table *table, const void *line, size_t size, struct tide_err *err);

/* The version that an application has come to; false: it never was here. */
bool tide_delta_table_find(const struct tide_delta_table *table, const char *app, int64_t *ret_version);

static inline struct tide_json_slice tide_delta_slice(const struct tide_buf *buf) {
  return (struct tide_json_slice){(const char *)buf->data, buf->len};
}

#endif
