/* What two extensions must agree on before one calls through the other's structs. */
#ifndef TIDE_SINK_SCHEME_BUILD_H
#define TIDE_SINK_SCHEME_BUILD_H

#include "base/sqlite.h"
#include "sink/scheme.h"

enum { TIDE_SCHEME_BUILD_SIZE = 200 };

/* The version and the sizes of the structs that both sides touch, as compiled here: "0.1.0 (structs of 24, ...
 * bytes)". */
static inline void tide_scheme_build(char ret_build[TIDE_SCHEME_BUILD_SIZE]) {
  sqlite3_snprintf(TIDE_SCHEME_BUILD_SIZE, ret_build, "%s (structs of %d, %d, %d, %d, %d, %d, %d, %d, %d, %d bytes)",
                   TIDEMARK_VERSION, (int)sizeof(struct tide_schemes_offer), (int)sizeof(struct tide_scheme),
                   (int)sizeof(struct tide_patience), (int)sizeof(struct tide_target_methods),
                   (int)sizeof(struct tide_object), (int)sizeof(struct tide_answer),
                   (int)sizeof(struct tide_refused_row), (int)sizeof(struct tide_sink_options),
                   (int)sizeof(struct tide_sink_option), (int)sizeof(struct tide_err));
}

#endif
