/* Whether the values of a column are what its type and the zones of segment and frame say. Pure. */
#ifndef TIDE_ENGINE_CHECK_VALUES_H
#define TIDE_ENGINE_CHECK_VALUES_H

#include <stdbool.h>

#include "model/batch.h"
#include "model/pred.h"
#include "model/spec.h"

/* What was seen of a column so far. All zero is nothing. */
struct tide_check_seen {
  uint8_t types; /* bit (1 << enum tide_val_type) */
  bool left_out; /* a value is not in its zone */
};

/* Looks at the first `rows` values. zone NULL: the values have none. */
void tide_check_values_look(const struct tide_vec *vec, size_t rows, const struct tide_zone *zone,
                            struct tide_check_seen *seen);

/* Of the types that were seen, the word of one that the column cannot hold; NULL when it can hold them all. */
const char *tide_check_values_foreign(const struct tide_column *column, uint8_t types);

#endif
