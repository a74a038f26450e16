/* What a row of tidemark_sink asks for, checked and decoded: the one place that knows which formats and options there
 * are. */
#ifndef TIDE_SINK_REGISTRY_H
#define TIDE_SINK_REGISTRY_H

#include "base/err.h"
#include "model/spec.h"
#include "sink/encoder.h"
#include "sink/scheme.h"
#include "store/frozen.h"
#include "store/sink_row.h"

/* The values of the columns of those names; NULL is SQL's NULL. */
struct tide_sink_words {
  const char *target;
  const char *format;
  const char *columns; /* NULL: all visible ones */
  const char *filter;
  const char *options;
};

struct tide_sink_words tide_sink_words_of_row(const struct tide_sink *sink);
struct tide_sink_words tide_sink_words_of(const struct tide_frozen *frozen);

/* All zero is an empty one. */
struct tide_sink_config {
  const struct tide_scheme *scheme; /* of its target; NULL: a sink that the user drives */
  char *url;                        /* the target as it was written */
  char *place;                      /* what scheme->check gave */
  struct tide_sink_options options; /* all taken; for scheme->open */
  const struct tide_format *format; /* NULL: a sink that the user drives */
  bool iso;
  bool delta;   /* the folder is to be a Delta Lake table as well */
  int *columns; /* what to export, in order, as tide_encoder_config has it */
  size_t ncolumns;
  int zstd_level;
  char *filter; /* NULL: none */
};

/* The filter is compiled once to check it. Returns 0, or the code with one sentence that names what is wrong and what
 * was expected; *ret is written only on success, and is then the caller's to clear. Nothing outside is touched. */
int tide_sink_config_parse(const struct tide_schemes *schemes, const struct tide_spec *spec,
                           const struct tide_sink_words *words, struct tide_sink_config *ret, struct tide_err *err);
void tide_sink_config_clear(struct tide_sink_config *config);

/* Opens the target of a config whose scheme is not NULL. */
struct tide_target *tide_sink_config_open(struct tide_sink_config *config, const struct tide_patience *patience,
                                          struct tide_err *err);

#endif
