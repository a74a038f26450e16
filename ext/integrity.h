/* PRAGMA integrity_check for datasets. SQLite asks for it since 3.44, where sqlite3_module has one method more; the
 * header that we are built with may be older than the host, whose version says at run time what it knows. */
#ifndef TIDE_EXT_INTEGRITY_H
#define TIDE_EXT_INTEGRITY_H

#include <stddef.h>

#include "base/sqlite.h"
#include "engine/dataset.h"

enum { TIDE_INTEGRITY_HOST = 3044000, TIDE_INTEGRITY_MODULE_VERSION = 4 };

typedef int tide_integrity_method(sqlite3_vtab *vtab, const char *schema, const char *table, int flags,
                                  char **ret_message);

/* A module as SQLite 3.44 and newer read it when its iVersion is 4; older ones read it as their own. */
struct tide_integrity_module {
  sqlite3_module base;
#if SQLITE_VERSION_NUMBER < 3044000
  tide_integrity_method *xIntegrity;
#endif
};

/* Its initializer, for a list of base's designated ones. */
#if SQLITE_VERSION_NUMBER < 3044000
#define TIDE_INTEGRITY_MODULE(method, ...)                                                                             \
  { .base = {__VA_ARGS__}, .xIntegrity = method }
#define TIDE_INTEGRITY_OFFSET offsetof(struct tide_integrity_module, xIntegrity)
#else
#define TIDE_INTEGRITY_MODULE(method, ...)                                                                             \
  {                                                                                                                    \
    .base = { __VA_ARGS__, .xIntegrity = method }                                                                      \
  }
#define TIDE_INTEGRITY_OFFSET offsetof(sqlite3_module, xIntegrity)
#endif
_Static_assert(TIDE_INTEGRITY_OFFSET ==
                   offsetof(sqlite3_module, xShadowName) + sizeof((sqlite3_module *)0)->xShadowName,
               "xIntegrity comes right behind xShadowName");

/* Checks the dataset; bit 0 of the flags is set for quick_check. What is wrong becomes the message (sqlite3_free), and
 * SQLITE_OK comes back; no message when all is well. Any other code is an error of the check itself. */
int tide_integrity_check(struct tide_dataset *ds, int flags, char **ret_message);

#endif
