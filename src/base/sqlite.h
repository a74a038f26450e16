/* The one way to include SQLite. In the loadable extension every sqlite3_* call goes through the routine table that the
 * host hands over at load; with -DSQLITE_CORE (the static library of the tests, or an application that compiles
 * Tidemark in) the same names are the plain functions. ext/tidemark.c alone defines the table. */
#ifndef TIDE_BASE_SQLITE_H
#define TIDE_BASE_SQLITE_H

#include <sqlite3ext.h>

#ifndef TIDE_DEFINES_SQLITE_API
SQLITE_EXTENSION_INIT3
#endif

#endif
