#include "store/name_set.h"

#include "base/mem.h"
#include "base/sqlite.h"
#include "base/stmt.h"

struct tide_name_set {
  sqlite3 *db;
  sqlite3_stmt *add;
  sqlite3_stmt *find;
};

static void open_file(struct tide_name_set *set, struct tide_err *err) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int rc = sqlite3_open_v2("", &set->db, flags, NULL);
  if (rc != SQLITE_OK)
    tide_err_set(err, rc, "cannot open a temporary file for names: %s", sqlite3_errmsg(set->db));
}

struct tide_name_set *tide_name_set_create(struct tide_err *err) {
  struct tide_name_set *set = tide_alloc_zero(1, sizeof *set, err);
  if (set == NULL)
    return NULL;
  open_file(set, err);
  /* one transaction that is never committed: the file goes with the connection */
  if (!tide_err_is_set(err))
    tide_stmt_exec(set->db, err, "PRAGMA journal_mode = OFF");
  if (!tide_err_is_set(err))
    tide_stmt_exec(set->db, err, "BEGIN");
  if (!tide_err_is_set(err))
    tide_stmt_exec(set->db, err, "CREATE TABLE name(name TEXT PRIMARY KEY) WITHOUT ROWID");
  if (!tide_err_is_set(err)) {
    set->add = tide_stmt_prepare(set->db, err, "INSERT OR IGNORE INTO name VALUES(?1)");
    set->find = tide_stmt_prepare(set->db, err, "SELECT 1 FROM name WHERE name = ?1");
  }
  if (tide_err_is_set(err)) {
    tide_name_set_destroy(set);
    return NULL;
  }
  return set;
}

void tide_name_set_destroy(struct tide_name_set *set) {
  if (set == NULL)
    return;
  sqlite3_finalize(set->add);
  sqlite3_finalize(set->find);
  sqlite3_close(set->db);
  tide_free(set);
}

void tide_name_set_add(struct tide_name_set *set, const char *name, struct tide_err *err) {
  if (tide_err_is_set(err))
    return;
  sqlite3_bind_text(set->add, 1, name, -1, SQLITE_STATIC);
  tide_stmt_run(set->add, err);
}

bool tide_name_set_has(struct tide_name_set *set, const char *name, struct tide_err *err) {
  if (tide_err_is_set(err))
    return false;
  sqlite3_bind_text(set->find, 1, name, -1, SQLITE_STATIC);
  const bool has = tide_stmt_row(set->find, err);
  sqlite3_reset(set->find);
  return has;
}
