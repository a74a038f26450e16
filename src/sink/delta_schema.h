/* The schema of a Delta table (delta-io/delta, PROTOCOL.md, "Schema Serialization Format") against what a sink writes.
 *
 *   INTEGER, since                     long
 *   REAL                               double
 *   BOOLEAN                            boolean
 *   TEXT, JSON, ANY, partition         string
 *   BLOB                               binary
 *   TIMESTAMP_S, _MS, _US, ingested_at timestamp
 *   TIMESTAMP_NS                       long, for Delta has no nanoseconds
 *
 * Every column may be null: a narrower list of columns later leaves it out. */
#ifndef TIDE_SINK_DELTA_SCHEMA_H
#define TIDE_SINK_DELTA_SCHEMA_H

#include "model/spec.h"
#include "sink/json_walk.h"

/* What a sink writes: as tide_encoder_config has it. */
struct tide_delta_columns {
  const struct tide_spec *spec;
  const int *list;
  size_t count;
};

/* Appends the schema, a JSON object, that has the fields of `have` (size 0: none) in their order, then the columns that
 * are not among them. SQLITE_CONSTRAINT when a column is there under another type, or another case of its name, or
 * cannot be null there, or has rules of its own. *ret_wider says whether there is one more. */
void tide_delta_schema_widen(struct tide_json_slice have, const struct tide_delta_columns *columns,
                             struct tide_buf *out, bool *ret_wider, struct tide_err *err);

#endif
