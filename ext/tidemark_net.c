/* The second loadable extension: it adds the target schemes that reach the network to a connection that has tidemark.
 * One exported symbol. With -DSQLITE_CORE it is linked in and called by its name, after sqlite3_tidemark_init. */
#define TIDE_DEFINES_SQLITE_API
#include "base/sqlite.h"

SQLITE_EXTENSION_INIT1

#include <string.h>

#include "base/err.h"
#include "sink/net_schemes.h"
#include "sink/scheme_build.h"
#include "tidemark_net.h"

/* Asked through SQL, for the other extension shares no symbol with this one. It copies what it takes. */
static void offer_schemes(sqlite3 *db, struct tide_err *err) {
  static const char sql[] = "SELECT tidemark_add_schemes(?1)";
  char build[TIDE_SCHEME_BUILD_SIZE];
  tide_scheme_build(build);
  struct tide_schemes_offer offer = {.build = build, .schemes = tide_net_schemes, .count = tide_net_schemes_count};
  sqlite3_stmt *stmt = NULL;
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  if (rc == SQLITE_ERROR && strstr(sqlite3_errmsg(db), "no such function") != NULL)
    tide_err_set(err, rc,
                 "tidemark_net adds targets to tidemark, which this connection does not have: load tidemark first");
  if (rc == SQLITE_OK)
    rc = sqlite3_bind_pointer(stmt, 1, &offer, TIDE_SCHEMES_POINTER, NULL);
  if (rc == SQLITE_OK)
    rc = sqlite3_step(stmt) == SQLITE_ROW ? SQLITE_OK : sqlite3_errcode(db);
  if (rc != SQLITE_OK)
    tide_err_set(err, rc, "%s", sqlite3_errmsg(db));
  sqlite3_finalize(stmt);
}

int sqlite3_tidemarknet_init(sqlite3 *db, char **ret_message, const sqlite3_api_routines *api) {
  SQLITE_EXTENSION_INIT2(api);
  (void)api;
  struct tide_err err = {0};
  offer_schemes(db, &err);
  if (tide_err_is_set(&err)) {
    *ret_message = sqlite3_mprintf("%s", err.msg);
    return err.rc;
  }
#ifdef SQLITE_CORE
  return SQLITE_OK;
#else
  return SQLITE_OK_LOAD_PERMANENTLY; /* libcurl and its TLS library do not bear being unloaded */
#endif
}
