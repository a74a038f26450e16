/* xBestIndex of a dataset: SQLite's constraints become those of the plan (engine/plan.h), the plan becomes idxStr. */
#ifndef TIDE_EXT_BEST_INDEX_H
#define TIDE_EXT_BEST_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sqlite.h"
#include "model/spec.h"

/* spec: the columns as this instance declared them. utf16: the database orders text by UTF-16 units, so no range of
 * text can be used. npartitions: how many a scan may have to merge, as far as a cache knows, for planning must not
 * read. Returns 0 or the code. */
int tide_best_index(const struct tide_spec *spec, bool utf16, int64_t npartitions, sqlite3_index_info *info,
                    struct tide_err *err);

#endif
