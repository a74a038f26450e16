/* A sink's filter: one SQL expression over the columns of one row. It is compiled and run on a private in-memory
 * connection under an authorizer: this dataset's columns only (the visible ones and since, partition, ingested_at), no
 * other table, no subquery, only SQLite's own functions whose result follows from their arguments (no random, no clock,
 * nothing of the host). Columns have the affinity they have in the dataset and collation BINARY. What an
 * expression makes of a row is bounded (filter_row.h), as are the patterns of LIKE and GLOB: an expression may come from
 * elsewhere with its database. */
#ifndef TIDE_SINK_FILTER_H
#define TIDE_SINK_FILTER_H

#include "base/sqlite.h"
#include "model/batch.h"
#include "model/spec.h"

struct tide_filter;

/* NULL with SQLITE_ERROR and a sentence that quotes the expression's fault when it does not compile, is more than one
 * expression or reaches beyond the row. The spec must live as long. */
struct tide_filter *tide_filter_create(const struct tide_spec *spec, const char *expression, struct tide_err *err);
void tide_filter_destroy(struct tide_filter *filter); /* NULL is fine */

/* From now on a run ends, with SQLITE_INTERRUPT, when the host's connection is to end what it does: the private one
 * hears of neither sqlite3_interrupt nor a progress handler. interrupt: the statement that asks (store/interrupt.h),
 * which lives as long as the filter runs. */
void tide_filter_heed(struct tide_filter *filter, sqlite3_stmt *interrupt);

/* Sets keep[row] to 0 where the expression is false or NULL, and leaves 1 where it is true. Rows whose keep is 0
 * already are not looked at, whatever they hold. partition and its values stand for the columns that batches do not
 * hold. An expression that fails on a row (integer overflow, malformed JSON) is an error that names the since. */
int tide_filter_run(struct tide_filter *filter, const struct tide_batch *batch, const char *partition,
                    const struct tide_val *partition_values, uint8_t *keep, struct tide_err *err);

/* Whether the expression reads that dataset column (so that only those are decoded). */
bool tide_filter_reads(const struct tide_filter *filter, size_t column);

#endif
