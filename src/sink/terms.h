/* The terms of a batch: what its config froze, read and parsed against the dataset's columns. The batches of a tick
 * mostly have the same, which is kept from one to the next, because reading it costs more than encoding a small batch.
 * All zero holds none. */
#ifndef TIDE_SINK_TERMS_H
#define TIDE_SINK_TERMS_H

#include "sink/registry.h"

struct tide_terms {
  char *text;             /* the config; NULL: none is held */
  struct tide_spec *spec; /* a reference, so that no other columns come to lie there */
  struct tide_frozen frozen;
  struct tide_sink_config config;
};

/* Makes the terms those of that config, which they may be already. Returns 0, or the code of what is wrong with it;
 * then none are held. */
int tide_terms_read(struct tide_terms *terms, sqlite3 *db, const struct tide_schemes *schemes, struct tide_spec *spec,
                    const char *text, struct tide_err *err);
void tide_terms_clear(struct tide_terms *terms);

#endif
