#include "store/names.h"

#include <stddef.h>

#include "base/sqlite.h"

const char *const tide_names_suffixes[] = {"tail",   "segment", "chunk",  "partition",
                                           "column", "deleted", "config", NULL};

bool tide_names_is_shadow(const char *suffix) {
  for (size_t i = 0; tide_names_suffixes[i] != NULL; i++) {
    if (sqlite3_stricmp(suffix, tide_names_suffixes[i]) == 0)
      return true;
  }
  return false;
}
