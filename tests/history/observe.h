/* Reads what is new in the export log and which batches are open, and judges every one of them by the model at that
 * moment: its range, its counts, its file. */
#ifndef TIDE_TESTS_HISTORY_OBSERVE_H
#define TIDE_TESTS_HISTORY_OBSERVE_H

#include "world.h"

void observe(struct world *world);

/* After what may have pruned: which rows are gone, whether those might go (and, when complete, whether all went that
 * had to), and a gap for each sink that was overtaken. Observes. */
void observe_pruned(struct world *world, bool complete);

/* After what may have trimmed the log: which rows of it are gone. What it wrote is observed before. */
void observe_trimmed(struct world *world);

#endif
