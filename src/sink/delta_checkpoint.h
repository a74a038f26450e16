/* A checkpoint of a Delta table: all actions that make up one version, as one Parquet file of one row an action
 * (delta-io/delta, PROTOCOL.md, "Checkpoint Schema", the V1 spec under the classic name). Readers begin with it instead
 * of the first commit. The rows are protocol, metaData, the txns, then the files.
 *
 *   txn       {appId, version, lastUpdated}
 *   add       {path, partitionValues map, size, modificationTime, dataChange, stats}
 *   remove    {path, deletionTimestamp, dataChange}: always NULL, for readers that ask for it
 *   metaData  {id, name, description, format {provider, options map}, schemaString, partitionColumns list,
 *              createdTime, configuration map}
 *   protocol  {minReaderVersion, minWriterVersion}
 *
 * Life: create, put_head once, put_add any number of times, finish; destroy at any time. Memory: what `out` holds, and
 * a row group. */
#ifndef TIDE_SINK_DELTA_CHECKPOINT_H
#define TIDE_SINK_DELTA_CHECKPOINT_H

#include "sink/delta_table.h"

struct tide_delta_checkpoint;

struct tide_delta_checkpoint *tide_delta_checkpoint_create(struct tide_err *err);
void tide_delta_checkpoint_destroy(struct tide_delta_checkpoint *checkpoint); /* NULL is fine */

/* All but the files. */
void tide_delta_checkpoint_put_head(struct tide_delta_checkpoint *checkpoint, const struct tide_delta_table *table,
                                    struct tide_buf *out, struct tide_err *err);

/* A file: the object of an add action. SQLITE_CORRUPT when it lacks a part. */
void tide_delta_checkpoint_put_add(struct tide_delta_checkpoint *checkpoint, struct tide_json_slice add,
                                   struct tide_buf *out, struct tide_err *err);

/* Gives the number of rows. */
int64_t tide_delta_checkpoint_finish(struct tide_delta_checkpoint *checkpoint, struct tide_buf *out,
                                     struct tide_err *err);

#endif
