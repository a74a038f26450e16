#include "sink/net_schemes.h"

const struct tide_scheme *const tide_net_schemes[] = {NULL};
const size_t tide_net_schemes_count = sizeof tide_net_schemes / sizeof *tide_net_schemes - 1;
