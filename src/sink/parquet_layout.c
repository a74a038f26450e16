#include "sink/parquet_layout.h"

#include <assert.h>

/* From 1 on. */
static const struct tide_parquet_layout layouts[TIDE_PARQUET_LAYOUT_NEWEST] = {
    {.created_by = "Tidemark version 1 (build parquet)",
     .page_rows = 20480,
     .page_bytes = 1 << 19,
     .group_rows = 131072,
     .group_bytes = 12 << 20,
     .index_weight = 1},
    {.created_by = "Tidemark version 2 (build parquet)",
     .page_rows = 65536,
     .page_bytes = 1 << 21,
     .group_rows = 131072,
     .group_bytes = 20 << 20,
     .index_weight = 5,
     .long_matches = true},
};

const struct tide_parquet_layout *tide_parquet_layout_find(int64_t version) {
  assert(version >= 0 && version <= TIDE_PARQUET_LAYOUT_NEWEST);
  return &layouts[(version > 0 ? version : TIDE_PARQUET_LAYOUT_NEWEST) - 1];
}
