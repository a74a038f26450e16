/* Whether a dataset is what it should be: all that its tables say is held against its rows, and its sinks' log against
 * both. Nothing is written and nothing mended.
 *
 * What is looked at: config and columns; partitions and their counts; order, chunks, checksums, values, zones and
 * counts of segments; the tail; deleted rows; that no since is given twice; the index of unique=; that every sink's log
 * is contiguous, stands where it can, and accounts for the rows that were written (rule 2 of the design: what a sink
 * was delivered, passed over, lost and has still to get lies between what was written less what was deleted, and what
 * was written). */
#ifndef TIDE_ENGINE_CHECK_H
#define TIDE_ENGINE_CHECK_H

#include "engine/check_report.h"

/* Appends what is wrong to the report, in one snapshot, that of the open transaction when there is one. Damage is in
 * the report, never an error. quick: chunks are not decoded, only their sizes are looked at. A frame of a column, or an
 * entry of the tail, is in memory at a time; for the order over partitions a frame of since of each, of 64 at the most.
 */
void tide_check(struct tide_dataset *ds, bool quick, struct tide_check_report *report, struct tide_err *err);

#endif
