#include "sink/net_schemes.h"

#include "sink/target_http.h"
#include "sink/target_s3.h"

const struct tide_scheme *const tide_net_schemes[] = {&tide_scheme_http, &tide_scheme_https, &tide_scheme_s3, NULL};
const size_t tide_net_schemes_count = sizeof tide_net_schemes / sizeof *tide_net_schemes - 1;
