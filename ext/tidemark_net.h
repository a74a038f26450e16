/* For applications that link tidemark_net in (-DSQLITE_CORE) rather than load it. */
#ifndef TIDEMARK_NET_H
#define TIDEMARK_NET_H

#include "tidemark.h"

/* Adds the target schemes http, https and s3 to a connection that has tidemark already; calling it twice is fine. */
TIDEMARK_EXPORT int sqlite3_tidemarknet_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

#endif
