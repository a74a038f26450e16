#include "sink/encoder.h"

#include <assert.h>

const char *tide_encoder_column_name(const struct tide_spec *spec, int column) {
  switch (column) {
  case TIDE_ENCODER_SINCE:
    return tide_spec_hidden_name(TIDE_HIDDEN_SINCE);
  case TIDE_ENCODER_PARTITION:
    return tide_spec_hidden_name(TIDE_HIDDEN_PARTITION);
  case TIDE_ENCODER_INGESTED_AT:
    return tide_spec_hidden_name(TIDE_HIDDEN_INGESTED_AT);
  default:
    assert(column >= 0 && (size_t)column < spec->ncolumns);
    return spec->columns[column].name;
  }
}
