#include "sink/idle.h"

#include <string.h>

#include "base/mem.h"
#include "base/stmt.h"
#include "store/durable.h"

static bool has_attached(sqlite3 *db, struct tide_err *err) {
  bool attached = false;
  sqlite3_stmt *stmt = tide_schemas_prepare(db, err);
  while (tide_stmt_row(stmt, err)) {
    const char *name = tide_stmt_text(stmt, TIDE_SCHEMAS_NAME, NULL, err);
    attached = attached || name == NULL || (strcmp(name, "main") != 0 && strcmp(name, "temp") != 0);
  }
  sqlite3_finalize(stmt);
  return attached;
}

bool tide_idle_look(struct tide_conn *conn, struct tide_idle_versions *ret_versions) {
  struct tide_err unknown = {0}; /* the call itself meets the same error, and tells it */
  struct tide_idle_versions versions = {0};
  sqlite3 *db = conn->db;
  if (has_attached(db, &unknown))
    return false;
  /* under main's lock: outside one it would be the version of the last look */
  struct tide_stmt_pool *pool = tide_conn_pool(conn, "main");
  tide_conn_hold(conn);
  sqlite3_stmt *snapshot = tide_read_take(db, "main", pool, &unknown);
  const bool known =
      snapshot != NULL && sqlite3_file_control(db, "main", SQLITE_FCNTL_DATA_VERSION, &versions.main) == SQLITE_OK;
  tide_stmt_pool_give(pool, snapshot);
  tide_conn_release(conn);
  if (sqlite3_file_control(db, "temp", SQLITE_FCNTL_DATA_VERSION, &versions.temp) != SQLITE_OK)
    versions.temp = 0;
  *ret_versions = versions;
  return known && !tide_err_is_set(&unknown);
}

const char *tide_idle_answer(const struct tide_idle *idle, const char *key, const struct tide_idle_versions *versions) {
  if (idle->key == NULL || strcmp(idle->key, key) != 0 || idle->versions.main != versions->main ||
      idle->versions.temp != versions->temp)
    return NULL;
  return idle->json;
}

void tide_idle_forget(struct tide_idle *idle) {
  tide_free(idle->key);
  tide_free(idle->json);
  *idle = (struct tide_idle){0};
}

void tide_idle_remember(struct tide_idle *idle, const char *key, const struct tide_idle_versions *versions,
                        const char *json, size_t json_size) {
  struct tide_err ignored = {0}; /* without memory for it the next call does its work again */
  tide_idle_forget(idle);
  idle->versions = *versions;
  idle->key = tide_copy_string(key, &ignored);
  idle->json = tide_copy_text(json, json_size, &ignored);
  if (tide_err_is_set(&ignored))
    tide_idle_forget(idle);
}
