#include "store/names.h"

#include <stddef.h>

#include "base/sqlite.h"

static const char *const suffixes[] = {"unique", "tail",    "segment", "chunk", "partition",
                                       "column", "deleted", "config",  NULL};

const char *const *tide_names_suffixes(struct tide_names names) {
  return names.unique ? suffixes : suffixes + 1;
}

bool tide_names_is_shadow(const char *suffix) {
  for (size_t i = 0; suffixes[i] != NULL; i++) {
    if (sqlite3_stricmp(suffix, suffixes[i]) == 0)
      return true;
  }
  return false;
}
