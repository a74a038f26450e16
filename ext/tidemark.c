/* The loadable extension: one exported symbol, which registers modules and functions on a connection. With
 * -DSQLITE_CORE it is linked in and called by its name, or through sqlite3_auto_extension. */
#define TIDE_DEFINES_SQLITE_API
#include "base/sqlite.h"

SQLITE_EXTENSION_INIT1

#include <string.h>

#include "functions.h"
#include "shared.h"
#include "tidemark.h"
#include "vtab_dataset.h"
#include "vtab_guard.h"
#include "vtab_partition.h"
#include "vtab_status.h"

enum { SQLITE_FLOOR = 3038000 };

/* Loading twice into one connection would give it two sets of handles, and rows in memory twice. The question must
 * succeed, for sqlite3_open takes an error that an auto-extension leaves on the connection for its own; and it must not
 * read the schema, for the host may yet have to say how (a key, an encoding): so it is the pragma, not its table. */
static int look_whether_loaded(sqlite3 *db, bool *ret_loaded) {
  sqlite3_stmt *stmt = NULL;
  bool loaded = false;
  int rc = sqlite3_prepare_v2(db, "PRAGMA module_list", -1, &stmt, NULL);
  while (rc == SQLITE_OK && !loaded && sqlite3_step(stmt) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(stmt, 0);
    loaded = name != NULL && strcmp(name, "tidemark") == 0;
  }
  const int end = sqlite3_finalize(stmt);
  *ret_loaded = loaded;
  return rc != SQLITE_OK ? rc : end;
}

static int register_all(struct tide_shared *shared) {
  int (*const registers[])(struct tide_conn *) = {tide_vtab_dataset_register, tide_vtab_partition_register,
                                                  tide_vtab_status_register};
  int rc = SQLITE_OK;
  for (size_t i = 0; rc == SQLITE_OK && i < sizeof registers / sizeof *registers; i++)
    rc = registers[i](shared->conn);
  if (rc == SQLITE_OK)
    rc = tide_vtab_guard_register(shared);
  return rc == SQLITE_OK ? tide_functions_register(shared) : rc;
}

int sqlite3_tidemark_init(sqlite3 *db, char **ret_message, const sqlite3_api_routines *api) {
  SQLITE_EXTENSION_INIT2(api);
  (void)api;
  if (sqlite3_libversion_number() < SQLITE_FLOOR) {
    *ret_message = sqlite3_mprintf("Tidemark needs SQLite 3.38.0 or newer, this host has %s", sqlite3_libversion());
    return SQLITE_ERROR;
  }
  bool loaded = false;
  int rc = look_whether_loaded(db, &loaded);
  if (rc != SQLITE_OK || loaded)
    return rc;
  struct tide_err err = {0};
  struct tide_shared *shared = tide_shared_create(db, &err);
  if (shared == NULL)
    return err.rc;
  rc = register_all(shared);
  tide_shared_unref(shared);
  return rc;
}
