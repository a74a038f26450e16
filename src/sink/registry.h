/* What a row of tidemark_sink asks for, checked and decoded: the one place that knows which schemes, formats and
 * options there are. */
#ifndef TIDE_SINK_REGISTRY_H
#define TIDE_SINK_REGISTRY_H

#include "base/err.h"
#include "model/spec.h"
#include "sink/encoder.h"

/* All zero is an empty one. */
struct tide_sink_config {
  char *folder;                     /* the target's folder, decoded; NULL: a sink that the user drives */
  const struct tide_format *format; /* NULL: the same */
  int *columns;                     /* what to export, in order, as tide_encoder_config has it */
  size_t ncolumns;
  int zstd_level;
  char *filter; /* NULL: none */
};

/* The values of the columns of those names; NULL is SQL's NULL. columns NULL: all visible ones. The filter is compiled
 * once to check it. Returns 0, or the code with one sentence that names what is wrong and what was expected; *ret is
 * written only on success, and is then the caller's to clear. The disk is not touched. */
int tide_sink_config_parse(const struct tide_spec *spec, const char *target, const char *format, const char *columns,
                           const char *filter, const char *options, struct tide_sink_config *ret, struct tide_err *err);
void tide_sink_config_clear(struct tide_sink_config *config);

#endif
