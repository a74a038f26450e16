/* A predicate on the rows of a column: which of them may satisfy it. As of a zone, the answer may be "maybe", never a
 * wrong "no". */
#ifndef TIDE_MODEL_PRED_ROWS_H
#define TIDE_MODEL_PRED_ROWS_H

#include "model/batch.h"
#include "model/pred.h"

/* Sets keep[row] to 0 for those of rows first to end - 1 of a decoded column that cannot satisfy the predicate, and
 * leaves the others as they are. type: the column's. Gives whether one is left that is not 0. */
bool tide_pred_keep(const struct tide_pred *pred, enum tide_type type, const struct tide_vec *vec, size_t first,
                    size_t end, uint8_t *keep);

#endif
