/* The chunks of a dataset: each is of one segment. */
#ifndef TIDE_ENGINE_CHECK_CHUNKS_H
#define TIDE_ENGINE_CHECK_CHUNKS_H

#include "engine/check_report.h"

/* Reports ids that two segments have and, when all segments are known, chunks that none has. Those that a segment has
 * are looked at with it (engine/check_segment.h). */
void tide_check_chunks(struct tide_check *check, struct tide_err *err);

#endif
