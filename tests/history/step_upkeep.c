#include <stdio.h>

#include "observe.h"
#include "steps.h"

/* ---- prune ---- */

void step_prune(struct world *world) {
  int rc;
  const bool interrupted = world->interrupt_at > 0;
  if (one_in(6) && !interrupted) { /* tells and does nothing */
    must(world, "SELECT tidemark_prune('%s', 'dry-run')", world->model.dataset);
    return;
  }
  sqlite3_free(ask_text(world, &rc, "SELECT tidemark_prune('%s')", world->model.dataset));
  if (rc != SQLITE_OK && !(interrupted && rc == SQLITE_INTERRUPT))
    fail(world, "tidemark_prune gives %d (%s)", rc, sqlite3_errmsg(world->dbs[world->acting]));
  observe_pruned(world, rc == SQLITE_OK);
}

void step_prune_under_cursor(struct world *world) {
  static const char *const functions[] = {"prune", "compact", "maintain"};
  if (model_live(&world->model, 0, 0, INT64_MAX) == 0)
    return;
  sqlite3_stmt *stmt = query(world, "SELECT since FROM %s", world->model.dataset);
  sqlite3_step(stmt);
  const char *function = PICK(functions);
  const int rc = run(world, "SELECT tidemark_%s('%s') -- under a cursor", function, world->model.dataset);
  if ((rc & 0xff) != SQLITE_LOCKED && rc != SQLITE_OK)
    fail(world, "tidemark_%s under a cursor gives %d (%s)", function, rc, sqlite3_errmsg(world->dbs[world->acting]));
  sqlite3_finalize(stmt);
}

/* ---- the rest ---- */

/* What a statement that was interrupted within the transaction leaves is a transaction that is whole, or one that can
 * only be rolled back. */
void step_upkeep_interrupted(struct world *world) {
  static const char *const functions[] = {"flush", "prune", "compact", "maintain"};
  if (!in_transaction(world))
    return;
  world->interrupt_at = 1 + (int)pick(one_in(2) ? 60 : 600);
  const int rc = run(world, "SELECT tidemark_%s('%s')", PICK(functions), world->model.dataset);
  if (rc != SQLITE_OK && rc != SQLITE_INTERRUPT)
    fail(world, "it gives %d (%s)", rc, sqlite3_errmsg(world->dbs[world->acting]));
  if (rc != SQLITE_OK && in_transaction(world)) {
    if (one_in(2) || run(world, "COMMIT") != SQLITE_OK) {
      step_end_transaction(world, false);
      return;
    }
    forget_saved(world, 0);
  }
  observe_pruned(world, false);
  observe_trimmed(world);
}

void step_compact(struct world *world) {
  char limit[32] = "";
  const bool interrupted = world->interrupt_at > 0;
  if (one_in(3))
    snprintf(limit, sizeof limit, ", %d", 1 << pick(16));
  const int rc = run(world, "SELECT tidemark_compact('%s'%s)", world->model.dataset, limit);
  if (rc != SQLITE_OK && !(interrupted && rc == SQLITE_INTERRUPT))
    fail(world, "tidemark_compact gives %d (%s)", rc, sqlite3_errmsg(world->dbs[world->acting]));
}

void step_maintain(struct world *world) {
  int rc;
  const bool interrupted = world->interrupt_at > 0;
  char *argument = one_in(3) ? sqlite3_mprintf("") : sqlite3_mprintf("'%s'", world->model.dataset);
  sqlite3_free(ask_text(world, &rc, "SELECT tidemark_maintain(%s)", argument));
  if (rc != SQLITE_OK && !(interrupted && rc == SQLITE_INTERRUPT))
    fail(world, "tidemark_maintain gives %d (%s)", rc, sqlite3_errmsg(world->dbs[world->acting]));
  observe_pruned(world, false);
  observe_trimmed(world);
  sqlite3_free(argument);
}

void step_noise(struct world *world) {
  static const char *const works[] = {
      "INSERT INTO noise SELECT p, v FROM %s ORDER BY since DESC LIMIT 8",
      "INSERT INTO noise SELECT p, v FROM %s ORDER BY since DESC LIMIT 30",
      "DELETE FROM noise WHERE since %% 3 = 0 AND since > (SELECT count(*) / 2 FROM %s)",
      "SELECT tidemark_prune('noise') -- not %s",
      "SELECT tidemark_compact('noise') -- not %s",
      "SELECT tidemark_flush('noise') -- not %s"};
  const int rc = run(world, PICK(works), world->model.dataset);
  if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_CONSTRAINT)
    fail(world, "it gives %d (%s)", rc, sqlite3_errmsg(world->dbs[world->acting]));
}

void step_add_column(struct world *world) {
  struct model *model = &world->model;
  if (model->added == ADDED || !one_in(4))
    return;
  must(world, "SELECT tidemark_add_column('%s', 'added%d TEXT DEFAULT ''then''')", model->dataset, model->added);
  model->added_at[model->added++] = model_newest(model);
}

static void set_option(struct world *world, const char *option, const char *value) {
  must(world, "SELECT tidemark_set('%s', '%s', %s)", world->model.dataset, option, value);
}

void step_options(struct world *world) {
  static const int64_t rows[] = {NONE, NONE, 0, 1, 5, 20, 60, 200};
  static const int64_t bytes[] = {NONE, NONE, NONE, 0, 2000, 20000};
  static const char *const segment_rows[] = {"16", "20", "50", "1000"};
  struct options *options = &world->model.options;
  char text[32];
  switch (pick(8)) {
  case 0:
  case 1:
    options->rows = PICK(rows);
    sqlite3_snprintf(sizeof text, text, options->rows == NONE ? "NULL" : "%lld", (long long)options->rows);
    set_option(world, "retention_rows", text);
    break;
  case 2:
  case 3:
    options->age_ms = one_in(2) ? NONE : 1000 * (int64_t)(1 + pick(900));
    sqlite3_snprintf(sizeof text, text, options->age_ms == NONE ? "NULL" : "'%lld ms'", (long long)options->age_ms);
    set_option(world, "retention_age", text);
    break;
  case 4:
    options->bytes = PICK(bytes);
    sqlite3_snprintf(sizeof text, text, options->bytes == NONE ? "NULL" : "%lld", (long long)options->bytes);
    set_option(world, "retention_bytes", text);
    break;
  case 5:
    options->by_ts = !options->by_ts;
    set_option(world, "retention_by", options->by_ts ? "'ts'" : "NULL");
    break;
  case 6:
    set_option(world, "segment_rows", PICK(segment_rows));
    break;
  default:
    if (one_in(2))
      set_option(world, "zstd_level", one_in(2) ? "1" : "7");
    else
      set_option(world, "autoflush", one_in(2) ? "0" : "1");
    break;
  }
}
