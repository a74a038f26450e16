#include <stdio.h>
#include <string.h>

#include "checks.h"
#include "observe.h"
#include "steps.h"

/* ---- append ---- */

static int64_t random_ts(void) {
  if (one_in(3))
    return NONE;
  if (one_in(40))
    return machine_now() + 3600000;
  return machine_now() - (int64_t)pick(600000);
}

/* Values come again, unless they may not. */
static int64_t next_value(struct world *world) {
  ++world->value;
  return world->unique ? world->value : world->value % 1000;
}

struct append append_plan(struct world *world) {
  struct append append = {.n = 1 + (int)pick(one_in(3) ? APPEND_MAX : 6)};
  sqlite3_str *out = sqlite3_str_new(NULL);
  const int favourite = (int)pick((size_t)world->nparts);
  sqlite3_str_appendf(out, "INSERT INTO %s(p, v, body, ts) VALUES", world->model.dataset);
  for (int i = 0; i < append.n; i++) {
    const struct row row = {.value = next_value(world),
                            .at = machine_now(),
                            .ts = random_ts(),
                            .part = one_in(2) ? favourite : (int)pick((size_t)world->nparts)};
    append.rows[i] = row;
    sqlite3_str_appendf(out, "%s(%s, %lld, 'row %lld', ", i > 0 ? ", " : " ", part_value(row.part),
                        (long long)row.value, (long long)row.value);
    sqlite3_str_appendf(out, row.ts == NONE ? "NULL)" : "%lld)", (long long)row.ts);
  }
  append.sql = sqlite3_str_finish(out);
  return append;
}

/* Rows above every number there ever was are the new ones: a number given again would not be among them. */
bool append_arrived(struct world *world, const struct append *append) {
  int n = 0;
  sqlite3_stmt *stmt = query(world, "SELECT since, v FROM %s WHERE since > %lld ORDER BY since", world->model.dataset,
                             (long long)model_newest(&world->model));
  while (next(world, stmt)) {
    if (n >= append->n || sqlite3_column_int64(stmt, 1) != append->rows[n].value)
      fail(world, "row %lld has the value %lld, which is not the one appended",
           (long long)sqlite3_column_int64(stmt, 0), (long long)sqlite3_column_int64(stmt, 1));
    struct row row = append->rows[n++];
    row.since = sqlite3_column_int64(stmt, 0);
    model_add_row(&world->model, &row);
  }
  if (n != 0 && n != append->n)
    fail(world, "%d of %d rows were appended", n, append->n);
  return n > 0;
}

static bool is_there(const struct model *model, int64_t value) {
  for (size_t i = 0; i < model->nrows; i++) {
    if (model->rows[i].value == value && model->rows[i].fate == LIVE)
      return true;
  }
  return false;
}

/* A producer that does not know whether its row has arrived sends it again; or another one, that it has not. */
static void retry(struct world *world) {
  const struct model *model = &world->model;
  const size_t recent = model->nrows < 60 ? model->nrows : 60;
  struct append append = {.n = 1};
  append.rows[0] = (struct row){.value = model->rows[model->nrows - 1 - pick(one_in(4) ? model->nrows : recent)].value,
                                .at = machine_now(),
                                .ts = NONE,
                                .part = (int)pick((size_t)world->nparts)};
  const struct row *row = &append.rows[0];
  const bool there = is_there(model, row->value);
  const int rc = run(world, "INSERT OR IGNORE INTO %s(p, v, body) VALUES(%s, %lld, 'row %lld')", model->dataset,
                     part_value(row->part), (long long)row->value, (long long)row->value);
  const bool arrived = append_arrived(world, &append);
  if ((rc != SQLITE_OK && rc != SQLITE_INTERRUPT) || (arrived && there) || (rc == SQLITE_OK && !arrived && !there))
    fail(world, "the INSERT OR IGNORE of a row that %s gives %d, and the row %s", there ? "is there" : "is not there",
         rc, arrived ? "arrives" : "does not arrive");
}

void step_append(struct world *world) {
  if (world->unique && world->model.nrows > 0 && one_in(4)) {
    retry(world);
    return;
  }
  struct append append = append_plan(world);
  if (one_in(12) && world->interrupt_at == 0) /* the last row is refused, and takes the others with it */
    must_refuse(world, SQLITE_CONSTRAINT, "%s, ('x', NULL, '', 1)", append.sql);
  else {
    const int rc = run(world, "%s", append.sql);
    const bool arrived = append_arrived(world, &append);
    if (rc != SQLITE_INTERRUPT && arrived != (rc == SQLITE_OK))
      fail(world, "the INSERT gives %d, and its rows %s", rc,
           rc == SQLITE_OK ? "have numbers that were given before, or are not there" : "are there");
  }
  sqlite3_free(append.sql);
}

/* ---- delete ---- */

/* Some rows: of a partition or all, in a range of numbers, with a remainder of their value. */
struct choice {
  int part; /* NONE: all */
  int64_t first;
  int64_t last;
  int64_t modulus;
};

static struct choice choose_rows(const struct world *world) {
  const int64_t newest = model_newest(&world->model);
  struct choice choice = {one_in(3) ? (int)pick((size_t)world->nparts) : NONE, 1, newest, 1};
  if (!one_in(15)) {
    choice.first = 1 + (int64_t)pick((size_t)newest + 1);
    choice.last = choice.first + (int64_t)pick(one_in(3) ? 80 : 5);
  }
  if (one_in(3))
    choice.modulus = 2 + (int64_t)pick(4);
  return choice;
}

static bool is_chosen(const struct choice *choice, const struct row *row) {
  return row->fate == LIVE && (choice->part == NONE || row->part == choice->part) && row->since >= choice->first &&
         row->since <= choice->last && row->value % choice->modulus == 0;
}

static bool in_open_batch(const struct model *model, const struct row *row) {
  for (int sink = 0; sink < SINKS; sink++) {
    const struct batch *batch = &model->batches[sink][row->part];
    if (batch->open && row->since > batch->since && row->since <= batch->until)
      return true;
  }
  return false;
}

/* Whether a DELETE that was interrupted is done all the same: SQLite may say so when it has committed. */
static bool is_gone(struct world *world, const struct choice *choice) {
  const struct model *model = &world->model;
  for (size_t i = 0; i < model->nrows; i++) {
    if (is_chosen(choice, &model->rows[i]))
      return ask(world, "SELECT count(*) FROM %s WHERE since = %lld", model->dataset,
                 (long long)model->rows[i].since) == 0;
  }
  return false;
}

void step_delete(struct world *world) {
  struct model *model = &world->model;
  const struct choice choice = choose_rows(world);
  bool refused = false;
  for (size_t i = 0; i < model->nrows; i++)
    refused = refused || (is_chosen(&choice, &model->rows[i]) && in_open_batch(model, &model->rows[i]));
  char *sql = sqlite3_mprintf("DELETE FROM %s WHERE since BETWEEN %lld AND %lld AND v %% %lld = 0", model->dataset,
                              (long long)choice.first, (long long)choice.last, (long long)choice.modulus);
  if (choice.part != NONE)
    sql = sqlite3_mprintf("%z AND partition = %Q", sql, part_text(world, choice.part));
  const int rc = run(world, "%s", sql);
  if (rc != SQLITE_INTERRUPT && rc != (refused ? SQLITE_CONSTRAINT_VTAB : SQLITE_OK))
    fail(world, "the DELETE gives %d (%s)", rc, sqlite3_errmsg(world->dbs[world->acting]));
  const bool done = rc == SQLITE_OK || (rc == SQLITE_INTERRUPT && is_gone(world, &choice));
  for (size_t i = 0; i < model->nrows && done; i++) {
    if (is_chosen(&choice, &model->rows[i]))
      model->rows[i].fate = DELETED;
  }
  sqlite3_free(sql);
}

/* ---- transactions ---- */

void step_end_transaction(struct world *world, bool commit) {
  if (!in_transaction(world))
    return;
  if (commit) {
    must(world, "COMMIT");
  } else {
    must(world, "ROLLBACK");
    go_back(world, 0);
  }
  forget_saved(world, 0);
}

static void step_savepoint(struct world *world) {
  const int at = 1 + (int)pick((size_t)world->nsaved);
  if (at == world->nsaved && at < DEPTH) {
    char name[16];
    snprintf(name, sizeof name, "s%d", at);
    must(world, "SAVEPOINT %s", name);
    save(world, name);
  } else if (at < world->nsaved && one_in(2)) {
    must(world, "ROLLBACK TO %s", world->saved[at].name);
    go_back(world, at);
  } else if (at < world->nsaved) {
    must(world, "RELEASE %s", world->saved[at].name);
    forget_saved(world, at);
  }
}

void step_transaction(struct world *world) {
  if (!in_transaction(world)) {
    must(world, one_in(2) ? "BEGIN" : "BEGIN IMMEDIATE");
    save(world, "");
  } else if (one_in(3)) {
    step_end_transaction(world, !one_in(3));
  } else {
    step_savepoint(world);
  }
}

/* ---- the file ---- */

void step_flush(struct world *world) {
  run(world, "SELECT tidemark_flush('%s')", world->model.dataset);
}

void step_vacuum(struct world *world) {
  must(world, one_in(2) ? "VACUUM" : "PRAGMA wal_checkpoint(TRUNCATE)");
}

void step_rename(struct world *world) {
  struct model *model = &world->model;
  const char *name = strcmp(model->dataset, "logs") == 0 ? "events" : "logs";
  must(world, "ALTER TABLE %s RENAME TO %s", model->dataset, name);
  snprintf(model->dataset, sizeof model->dataset, "%s", name);
}

void step_reopen(struct world *world) {
  note(world, "reopen");
  world_disconnect(world);
  world_connect(world);
}

/* Whether the statement has a row; it must be the model's next live one. */
static bool next_is_live(struct world *world, sqlite3_stmt *stmt, const struct model *then, size_t *at) {
  const bool found = next(world, stmt);
  while (*at < then->nrows && then->rows[*at].fate != LIVE)
    ++*at;
  if (found != (*at < then->nrows) || (found && sqlite3_column_int64(stmt, 0) != then->rows[*at].since))
    fail(world, "the read has %lld next, expected %lld", found ? (long long)sqlite3_column_int64(stmt, 0) : -1,
         *at < then->nrows ? (long long)then->rows[*at].since : -1);
  ++*at;
  return found;
}

/* A read that began before something else was done on the other connection goes on as if it had not been. */
void step_snapshot(struct world *world) {
  static void (*const steps[])(struct world *) = {step_append,   step_delete,  step_flush,  step_prune, step_compact,
                                                  step_maintain, step_options, step_rewind, step_trim,  step_tick};
  struct model then;
  if (in_transaction(world) || !world->wal)
    return;
  model_copy(&then, &world->model);
  must(world, "BEGIN");
  sqlite3_stmt *stmt = query(world, "SELECT since FROM %s ORDER BY since", then.dataset);
  size_t at = 0;
  bool more = true;
  for (size_t n = pick(40); n > 0 && more; n--)
    more = next_is_live(world, stmt, &then, &at);
  ask(world, "SELECT count(*) FROM sqlite_schema"); /* the snapshot is there, also when the cursor has ended */
  world->acting = 1 - world->acting;
  for (size_t n = 1 + pick(3); n > 0; n--)
    PICK(steps)(world);
  world->acting = 1 - world->acting;
  note(world, "goes on reading");
  while (more)
    more = next_is_live(world, stmt, &then, &at);
  const struct model now = world->model;
  world->model = then;
  check_rows(world);
  check_lag(world);
  check_segments(world);
  world->model = now;
  must(world, "COMMIT");
  model_clear(&then);
}

/* What there is nothing to do for need not notice the lock. */
static void write_beside(struct world *world) {
  static const char *const works[] = {"tidemark_flush('%s')", "tidemark_prune('%s')", "tidemark_compact('%s')",
                                      "tidemark_maintain('%s')", "tidemark_export(NULL, 'now')"};
  must_refuse(world, SQLITE_BUSY, "INSERT INTO %s(v) VALUES (1)", world->model.dataset);
  must_refuse(world, SQLITE_BUSY, "DELETE FROM tidemark_batch");
  char *work = sqlite3_mprintf(PICK(works), world->model.dataset);
  const int rc = run(world, "SELECT %s", work);
  if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY)
    fail(world, "%s beside a transaction gives %d", work, rc);
  sqlite3_free(work);
}

/* The other connection's view stands still while the acting one is in a transaction. In rollback mode it may be locked
 * out by a cache that spilled. */
void step_beside(struct world *world) {
  struct model mine = world->model;
  const int nsaved = world->nsaved;
  const bool writing = sqlite3_txn_state(world->dbs[world->acting], "main") == SQLITE_TXN_WRITE;
  if (!in_transaction(world) || !world->wal)
    return;
  world->acting = 1 - world->acting;
  world->model = world->saved[0].model;
  world->nsaved = 0;
  note(world, "looks on beside the transaction");
  if (writing)
    write_beside(world);
  check_rows(world);
  check_lag(world);
  check_log(world);
  world->nsaved = nsaved;
  world->model = mine;
  world->acting = 1 - world->acting;
}
