/* The schemes that tidemark_net brings. */
#ifndef TIDE_SINK_NET_SCHEMES_H
#define TIDE_SINK_NET_SCHEMES_H

#include "sink/scheme.h"

extern const struct tide_scheme *const tide_net_schemes[]; /* ends with NULL */
extern const size_t tide_net_schemes_count;

#endif
