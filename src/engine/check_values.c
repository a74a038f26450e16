#include "engine/check_values.h"

static bool leaves_out(const struct tide_zone *zone, const struct tide_val *value) {
  return (zone->types >> value->type & 1) == 0 ||
         (zone->bounded && value->type != TIDE_VAL_NULL &&
          (tide_val_compare(value, &zone->min) < 0 || tide_val_compare(value, &zone->max) > 0));
}

void tide_check_values_look(const struct tide_vec *vec, size_t rows, const struct tide_zone *zone,
                            struct tide_check_seen *seen) {
  for (size_t row = 0; row < rows; row++) {
    const struct tide_val value = tide_vec_get(vec, row);
    seen->types |= (uint8_t)(1u << value.type);
    if (zone != NULL)
      seen->left_out |= leaves_out(zone, &value);
  }
}

const char *tide_check_values_foreign(const struct tide_column *column, uint8_t types) {
  const uint8_t stored = tide_spec_stored_type(column->type);
  for (uint8_t type = 0; type < TIDE_VAL_TYPES; type++) {
    const bool allowed = type == TIDE_VAL_NULL ? !column->not_null : stored == TIDE_VAL_NULL || type == stored;
    if (!allowed && (types >> type & 1) != 0)
      return tide_val_type_name(type);
  }
  return NULL;
}
