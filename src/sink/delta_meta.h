/* What a Delta table says of itself: its metaData and protocol actions (delta-io/delta, PROTOCOL.md, "Change Metadata",
 * "Protocol Evolution"). A table of ours has "tidemark.table" in its configuration. It is partitioned by the
 * partition_by columns that the sink exported when the table was made, unless those are all it exported.
 *
 * A partition value is the text of an integer or boolean, the text itself, or a timestamp in ISO 8601 with six digits
 * of fraction. Delta reads the empty text as NULL, and has no text for a year beyond 0000 to 9999: such a value is NULL
 * in the table, though the file has it. */
#ifndef TIDE_SINK_DELTA_META_H
#define TIDE_SINK_DELTA_META_H

#include "sink/delta_schema.h"

/* The protocol of a table that we make: readers of version 1, writers of version 2. */
extern const char tide_delta_protocol[];

/* SQLITE_CONSTRAINT with a sentence when writing to a table of that protocol needs more than we know; when the table is
 * not one of ours. */
void tide_delta_protocol_check(struct tide_json_slice protocol, struct tide_err *err);
void tide_delta_meta_check(struct tide_json_slice meta, struct tide_err *err);

/* Appends the metaData object of a new table. id: 32 hexadecimal digits. */
void tide_delta_meta_put_new(const struct tide_delta_columns *columns, const char *id, int64_t now_ms,
                             struct tide_buf *out, struct tide_err *err);

/* Appends that of a table that is there, with the columns it does not have yet, and gives true; appends nothing and
 * gives false when it has them all. Errors as tide_delta_schema_widen. */
bool tide_delta_meta_put_wider(struct tide_json_slice meta, const struct tide_delta_columns *columns,
                               struct tide_buf *out, struct tide_err *err);

/* Appends a file's partitionValues, an object. values: of the partition columns, in partition_by's order. *ret_altered
 * is set when one is NULL in the table and not in the file. */
void tide_delta_meta_put_values(struct tide_json_slice meta, const struct tide_spec *spec,
                                const struct tide_val *values, struct tide_buf *out, bool *ret_altered,
                                struct tide_err *err);

#endif
