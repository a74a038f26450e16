/* The loadable extension: one exported symbol, which registers modules and functions on a connection. With
 * -DSQLITE_CORE it is linked in and called by its name, or through sqlite3_auto_extension. */
#define TIDE_DEFINES_SQLITE_API
#include "base/sqlite.h"

SQLITE_EXTENSION_INIT1

#include "engine/dataset.h"
#include "functions.h"
#include "tidemark.h"
#include "vtab_dataset.h"
#include "vtab_guard.h"
#include "vtab_status.h"

enum { SQLITE_FLOOR = 3038000 };

/* Loading twice into one connection would give it two sets of handles, and rows in memory twice. */
static bool is_loaded(sqlite3 *db) {
  sqlite3_stmt *stmt = NULL;
  const int rc = sqlite3_prepare_v2(db, "SELECT tidemark_version()", -1, &stmt, NULL);
  sqlite3_finalize(stmt);
  return rc == SQLITE_OK;
}

static int register_all(struct tide_conn *conn) {
  int (*const registers[])(struct tide_conn *) = {tide_vtab_dataset_register, tide_vtab_status_register,
                                                  tide_vtab_guard_register, tide_functions_register};
  int rc = SQLITE_OK;
  for (size_t i = 0; rc == SQLITE_OK && i < sizeof registers / sizeof *registers; i++)
    rc = registers[i](conn);
  return rc;
}

int sqlite3_tidemark_init(sqlite3 *db, char **ret_message, const sqlite3_api_routines *api) {
  SQLITE_EXTENSION_INIT2(api);
  (void)api;
  if (sqlite3_libversion_number() < SQLITE_FLOOR) {
    *ret_message = sqlite3_mprintf("Tidemark needs SQLite 3.38.0 or newer, this host has %s", sqlite3_libversion());
    return SQLITE_ERROR;
  }
  if (is_loaded(db))
    return SQLITE_OK;
  struct tide_err err = {0};
  struct tide_conn *conn = tide_conn_create(db, &err);
  if (conn == NULL)
    return err.rc;
  const int rc = register_all(conn);
  tide_conn_unref(conn);
  return rc;
}
