/* For applications that link Tidemark in (-DSQLITE_CORE) rather than load it. */
#ifndef TIDEMARK_H
#define TIDEMARK_H

#include <sqlite3.h>

struct sqlite3_api_routines;

#if defined(_WIN32)
#define TIDEMARK_EXPORT __declspec(dllexport)
#else
#define TIDEMARK_EXPORT __attribute__((visibility("default")))
#endif

/* Registers Tidemark on a connection; to give to sqlite3_auto_extension, or to call with NULL and NULL. */
TIDEMARK_EXPORT int sqlite3_tidemark_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

#endif
