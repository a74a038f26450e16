#include "store/durable.h"

#include "base/stmt.h"

enum { SYNCHRONOUS_EXTRA = 3 };

void tide_durable_check_idle(sqlite3 *db, const char *what, struct tide_err *err) {
  if (sqlite3_txn_state(db, NULL) != SQLITE_TXN_NONE || !sqlite3_get_autocommit(db))
    tide_err_set(err, SQLITE_MISUSE, "%s: a statement or transaction is still open: commit first", what);
}

void tide_durable_check_rules(sqlite3 *db, const char *what, struct tide_err *err) {
  int on = 1;
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &on);
  if (!on)
    tide_err_set(err, SQLITE_MISUSE,
                 "%s: triggers keep the rules of sinks, and SQLITE_DBCONFIG_ENABLE_TRIGGER is off on this connection: "
                 "switch it on first",
                 what);
}

void tide_durable_check_writable(sqlite3 *db, const char *schema, struct tide_err *err) {
  if (sqlite3_db_readonly(db, schema) == 1)
    tide_err_set(err, SQLITE_READONLY, "schema %s cannot be written: its file was opened read-only", schema);
  else if (tide_stmt_int(db, 0, err, "PRAGMA query_only") != 0)
    tide_err_set(err, SQLITE_READONLY, "schema %s cannot be written: PRAGMA query_only is on", schema);
}

/* An interrupted connection, as long as the statement that called us is active, compiles nothing that has a space:
 * written so, SQLite obeys while it parses, and reports the interrupt only at the end. */
static void set_synchronous(struct tide_durable *durable, int level, struct tide_err *err) {
  tide_stmt_exec(durable->db, err, "PRAGMA\"%w\".synchronous=%d;", durable->schema, level);
}

/* Nor does it run a COMMIT or a ROLLBACK; but a statement that writes has its transaction rolled back by the
 * interrupt itself. It must have been compiled before, and is run as it is. */
static sqlite3_stmt *prepare_undo(sqlite3 *db, const char *schema, struct tide_err *err) {
  return tide_stmt_prepare_as_is(db, err, "DELETE FROM \"%w\".tidemark_registry WHERE false", schema);
}

/* SQLITE_SCHEMA when it was compiled for another one. */
static int run_as_is(sqlite3_stmt *stmt) {
  sqlite3_step(stmt);
  return sqlite3_reset(stmt);
}

/* What ends the transaction when things went wrong: without memory nothing can be compiled either. */
static void prepare_ends(struct tide_durable *durable, struct tide_err *err) {
  durable->undo = prepare_undo(durable->db, durable->schema, err);
  durable->rollback = tide_stmt_prepare_as_is(durable->db, err, "ROLLBACK");
}

static void finalize_ends(struct tide_durable *durable) {
  sqlite3_finalize(durable->undo);
  sqlite3_finalize(durable->rollback);
  durable->undo = durable->rollback = NULL;
}

static void roll_back(struct tide_durable *durable) {
  struct tide_err ignored = {0}; /* the error that led here is the one to tell */
  run_as_is(durable->rollback);
  if (!sqlite3_get_autocommit(durable->db))
    tide_stmt_exec(durable->db, &ignored, "ROLLBACK"); /* another schema puts an end to what was compiled */
  if (!sqlite3_get_autocommit(durable->db))
    run_as_is(durable->undo);
}

static struct tide_durable idle(sqlite3 *db, const char *schema) {
  return (struct tide_durable){.db = db, .schema = schema, .synchronous = -1, .rowid = sqlite3_last_insert_rowid(db)};
}

/* Begins, unless another process changed the schema after the statements were compiled: then it is as before, and is to
 * be tried again. Nothing is compiled from BEGIN on, for an interrupt may come at any time; the second undo rolls back
 * when it comes to find the first one out of date. */
static bool begin_once(struct tide_durable *durable, struct tide_err *err) {
  sqlite3 *db = durable->db;
  prepare_ends(durable, err);
  sqlite3_stmt *begin = tide_stmt_prepare(db, err, "BEGIN IMMEDIATE");
  sqlite3_stmt *undo = prepare_undo(db, durable->schema, err);
  tide_stmt_run(begin, err); /* it may have begun although it was interrupted */
  durable->began = !sqlite3_get_autocommit(db);
  if (!durable->began)
    tide_err_set(err, SQLITE_AUTH, "the host's authorizer lets no transaction begin");
  const int rc = durable->began ? run_as_is(durable->undo) : SQLITE_OK;
  const bool is_late = rc == SQLITE_SCHEMA;
  if (is_late) {
    run_as_is(durable->rollback);
    if (!sqlite3_get_autocommit(db))
      run_as_is(undo);
    finalize_ends(durable);
    durable->began = false;
  } else if (rc != SQLITE_OK) {
    tide_stmt_error(db, rc, err);
  }
  sqlite3_finalize(begin);
  sqlite3_finalize(undo);
  return !is_late;
}

static void begin(struct tide_durable *durable, struct tide_err *err) {
  enum { TRIES = 100 };
  int tries = 0;
  while (!tide_err_is_set(err) && !begin_once(durable, err)) {
    if (++tries == TRIES)
      tide_err_set(err, SQLITE_BUSY, "other connections keep changing the schema of %s: try again", durable->schema);
  }
  if (tide_err_is_set(err))
    tide_durable_end(durable, err);
}

void tide_durable_begin_plain(sqlite3 *db, const char *schema, struct tide_durable *ret_durable, struct tide_err *err) {
  *ret_durable = idle(db, schema);
  tide_durable_check_writable(db, schema, err);
  begin(ret_durable, err);
}

/* Raises it to EXTRA, and sees that it is. Temporary tables go with the connection, and have no such setting. */
static void raise_synchronous(struct tide_durable *durable, struct tide_err *err) {
  static const char read[] = "PRAGMA \"%w\".synchronous";
  if (sqlite3_stricmp(durable->schema, "temp") == 0)
    return;
  int level = (int)tide_stmt_int(durable->db, -1, err, read, durable->schema);
  if (level >= 0 && level != SYNCHRONOUS_EXTRA && !tide_err_is_set(err)) {
    durable->synchronous = level;
    set_synchronous(durable, SYNCHRONOUS_EXTRA, err);
    level = (int)tide_stmt_int(durable->db, -1, err, read, durable->schema);
  }
  if (level != SYNCHRONOUS_EXTRA)
    tide_err_set(err, SQLITE_AUTH, "the host's authorizer ignores PRAGMA synchronous: schema %s cannot be made durable",
                 durable->schema);
}

void tide_durable_begin(sqlite3 *db, const char *schema, struct tide_durable *ret_durable, struct tide_err *err) {
  *ret_durable = idle(db, schema);
  tide_durable_check_writable(db, schema, err);
  raise_synchronous(ret_durable, err);
  begin(ret_durable, err);
}

void tide_durable_end(struct tide_durable *durable, struct tide_err *err) {
  if (durable->began) {
    tide_stmt_exec(durable->db, err, "COMMIT");
    if (!sqlite3_get_autocommit(durable->db))
      tide_err_set(err, SQLITE_AUTH, "the host's authorizer lets no transaction end");
    if (tide_err_is_set(err) && !sqlite3_get_autocommit(durable->db))
      roll_back(durable);
    durable->began = false;
  }
  finalize_ends(durable);
  if (durable->synchronous >= 0) {
    struct tide_err restore = {0};
    set_synchronous(durable, durable->synchronous, &restore);
    durable->synchronous = -1;
    if (tide_err_is_set(&restore))
      tide_err_set(err, restore.rc, "%s", restore.msg);
  }
  sqlite3_set_last_insert_rowid(durable->db, durable->rowid);
}

void tide_unit_begin(sqlite3 *db, const char *schema, const char *what, struct tide_unit *ret_unit,
                     struct tide_err *err) {
  *ret_unit = (struct tide_unit){.txn = idle(db, schema), .nested = !sqlite3_get_autocommit(db)};
  tide_durable_check_writable(db, schema, err);
  if (!ret_unit->nested && sqlite3_txn_state(db, NULL) == SQLITE_TXN_WRITE) {
    tide_err_set(err, SQLITE_BUSY, "%s cannot run inside a statement that writes", what); /* COMMIT would say so */
    return;
  }
  if (ret_unit->nested) {
    prepare_ends(&ret_unit->txn, err);
    tide_stmt_exec(db, err, "SAVEPOINT tidemark");
    ret_unit->txn.began = !tide_err_is_set(err);
  } else {
    begin(&ret_unit->txn, err);
  }
  if (err->rc == SQLITE_BUSY && sqlite3_txn_state(db, NULL) == SQLITE_TXN_WRITE)
    tide_err_prefix(err, "%s cannot run inside a statement that writes", what);
}

/* An error may have rolled back the whole transaction already. */
static void end_nested(struct tide_unit *unit, struct tide_err *err) {
  sqlite3 *db = unit->txn.db;
  struct tide_err undo = {0};
  if (!unit->txn.began || sqlite3_get_autocommit(db))
    return;
  if (tide_err_is_set(err))
    tide_stmt_exec(db, &undo, "ROLLBACK TO tidemark");
  tide_stmt_exec(db, &undo, "RELEASE tidemark");
  if (tide_err_is_set(&undo)) {
    roll_back(&unit->txn);
    tide_err_set(err, undo.rc, "%s", undo.msg);
  }
}

void tide_unit_end(struct tide_unit *unit, struct tide_err *err) {
  if (unit->nested) {
    end_nested(unit, err);
    unit->txn.began = false;
    finalize_ends(&unit->txn);
    sqlite3_set_last_insert_rowid(unit->txn.db, unit->txn.rowid);
  } else {
    tide_durable_end(&unit->txn, err);
  }
}

sqlite3_stmt *tide_schemas_prepare(sqlite3 *db, struct tide_err *err) {
  return tide_stmt_prepare(db, err, "PRAGMA database_list");
}

sqlite3_stmt *tide_read_take(sqlite3 *db, const char *schema, struct tide_stmt_pool *pool, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_stmt_pool_take(pool, db, err, "SELECT 1 FROM \"%w\".tidemark_registry LIMIT 1", schema);
  if (stmt == NULL || tide_stmt_row(stmt, err))
    return stmt;
  tide_err_set(err, SQLITE_ERROR, "schema %s has no dataset", schema);
  tide_stmt_pool_give(pool, stmt);
  return NULL;
}

sqlite3_stmt *tide_read_begin(sqlite3 *db, const char *schema, struct tide_err *err) {
  return tide_read_take(db, schema, NULL, err);
}
