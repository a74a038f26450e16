#include "store/durable.h"

#include "base/stmt.h"

enum { SYNCHRONOUS_EXTRA = 3 };

void tide_durable_check_idle(sqlite3 *db, const char *what, struct tide_err *err) {
  if (sqlite3_txn_state(db, NULL) != SQLITE_TXN_NONE || !sqlite3_get_autocommit(db))
    tide_err_set(err, SQLITE_MISUSE, "%s: a statement or transaction is still open: commit first", what);
}

static void set_synchronous(struct tide_durable *durable, int level, struct tide_err *err) {
  tide_stmt_exec(durable->db, err, "PRAGMA \"%w\".synchronous = %d", durable->schema, level);
}

void tide_durable_begin_plain(sqlite3 *db, const char *schema, struct tide_durable *ret_durable, struct tide_err *err) {
  *ret_durable = (struct tide_durable){.db = db, .schema = schema, .synchronous = -1};
  tide_stmt_exec(db, err, "BEGIN IMMEDIATE");
  ret_durable->began = !tide_err_is_set(err);
}

void tide_durable_begin(sqlite3 *db, const char *schema, struct tide_durable *ret_durable, struct tide_err *err) {
  struct tide_durable durable = {.db = db, .schema = schema, .synchronous = -1};
  const int level = (int)tide_stmt_int(db, SYNCHRONOUS_EXTRA, err, "PRAGMA \"%w\".synchronous", schema);
  if (level != SYNCHRONOUS_EXTRA && !tide_err_is_set(err)) {
    set_synchronous(&durable, SYNCHRONOUS_EXTRA, err);
    durable.synchronous = level;
  }
  tide_stmt_exec(db, err, "BEGIN IMMEDIATE");
  durable.began = !tide_err_is_set(err);
  *ret_durable = durable;
  if (tide_err_is_set(err))
    tide_durable_end(ret_durable, err);
}

/* An interrupted connection runs no COMMIT and no ROLLBACK as long as the statement that called us is active; but a statement that
 * writes has its transaction rolled back by the interrupt itself. */
static void roll_back(struct tide_durable *durable) {
  struct tide_err ignored = {0}; /* the error that led here is the one to tell */
  tide_stmt_exec(durable->db, &ignored, "ROLLBACK");
  if (!sqlite3_get_autocommit(durable->db)) {
    tide_err_clear(&ignored);
    tide_stmt_exec(durable->db, &ignored, "DELETE FROM \"%w\".tidemark_registry WHERE false", durable->schema);
  }
}

void tide_durable_end(struct tide_durable *durable, struct tide_err *err) {
  if (durable->began) {
    tide_stmt_exec(durable->db, err, "COMMIT");
    if (tide_err_is_set(err) && !sqlite3_get_autocommit(durable->db))
      roll_back(durable);
    durable->began = 0;
  }
  if (durable->synchronous >= 0) {
    struct tide_err restore = {0};
    set_synchronous(durable, durable->synchronous, &restore);
    durable->synchronous = -1;
    if (tide_err_is_set(&restore))
      tide_err_set(err, restore.rc, "%s", restore.msg);
  }
}

void tide_unit_begin(sqlite3 *db, const char *schema, const char *what, struct tide_unit *ret_unit, struct tide_err *err) {
  *ret_unit = (struct tide_unit){.txn = {.db = db, .schema = schema, .synchronous = -1}, .nested = !sqlite3_get_autocommit(db)};
  tide_stmt_exec(db, err, ret_unit->nested ? "SAVEPOINT tidemark" : "BEGIN IMMEDIATE");
  ret_unit->txn.began = !tide_err_is_set(err);
  if (err->rc == SQLITE_BUSY && sqlite3_txn_state(db, NULL) == SQLITE_TXN_WRITE)
    tide_err_prefix(err, "%s cannot run inside a statement that writes", what);
}

void tide_unit_end(struct tide_unit *unit, struct tide_err *err) {
  sqlite3 *db = unit->txn.db;
  if (!unit->nested) {
    tide_durable_end(&unit->txn, err);
    return;
  }
  if (!unit->txn.began || sqlite3_get_autocommit(db)) /* an error may have rolled back the whole transaction */
    return;
  struct tide_err undo = {0};
  if (tide_err_is_set(err))
    tide_stmt_exec(db, &undo, "ROLLBACK TO tidemark");
  tide_stmt_exec(db, &undo, "RELEASE tidemark");
  if (tide_err_is_set(&undo)) {
    roll_back(&unit->txn);
    tide_err_set(err, undo.rc, "%s", undo.msg);
  }
}

sqlite3_stmt *tide_schemas_prepare(sqlite3 *db, struct tide_err *err) {
  return tide_stmt_prepare(db, err, "SELECT name FROM pragma_database_list");
}

sqlite3_stmt *tide_read_begin(sqlite3 *db, const char *schema, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_prepare(db, err, "SELECT 1 FROM \"%w\".tidemark_registry LIMIT 1", schema);
  if (stmt == NULL || tide_stmt_row(stmt, err))
    return stmt;
  tide_err_set(err, SQLITE_ERROR, "schema %s has no dataset", schema);
  sqlite3_finalize(stmt);
  return NULL;
}
