/* What a filter may do, as the authorizer of its private connection: read columns of the one row, call functions of a
 * list. The first thing refused leaves its sentence. */
#ifndef TIDE_SINK_FILTER_RULES_H
#define TIDE_SINK_FILTER_RULES_H

#include "base/buf.h"
#include "base/sqlite.h"
#include "model/spec.h"

struct tide_filter_rules {
  const struct tide_spec *spec;
  bool *reads;              /* by column of the spec: set when an expression reads it */
  struct tide_buf replaced; /* names, each with its NUL, of functions on this connection that are not SQLite's own */
  int selects;              /* in the statement that is being prepared: the caller sets it to 0 before */
  struct tide_err refused;  /* the sentence; it follows `filter "..." ` */
};

/* Looks up which functions the process has put on the connection (automatic extensions), then sets the authorizer. All
 * later statements obey; the rules outlive the connection. */
void tide_filter_rules_impose(sqlite3 *db, struct tide_filter_rules *rules, const struct tide_spec *spec,
                              struct tide_err *err);
void tide_filter_rules_clear(struct tide_filter_rules *rules);

#endif
