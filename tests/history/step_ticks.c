#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe.h"
#include "steps.h"

/* ---- one tick ---- */

struct tick {
  int sink;    /* NONE: all active ones */
  bool now;    /* does not wait for company or until a failed batch may be tried again */
  int batches; /* at the most; 0: all */
};

static struct tick choose_tick(void) {
  struct tick tick = {one_in(2) ? NONE : (int)pick(3), !one_in(4), one_in(5) ? 1 + (int)pick(3) : 0};
  return tick;
}

static char *tick_sql(const struct tick *tick) {
  char *sql = sqlite3_mprintf(tick->sink == NONE ? "SELECT tidemark_export(NULL" : "SELECT tidemark_export('%s'",
                              tick->sink == NONE ? "" : sink_names[tick->sink]);
  if (tick->now)
    sql = sqlite3_mprintf("%z, 'now'", sql);
  if (tick->batches > 0)
    sql = sqlite3_mprintf("%z, 'max_batches=%d'", sql, tick->batches);
  return sqlite3_mprintf("%z)", sql);
}

/* Rows that the tick's sinks have not delivered. */
static int64_t undelivered(const struct world *world, const struct tick *tick) {
  const struct model *model = &world->model;
  int64_t rows = 0;
  for (int sink = 0; sink < SINKS; sink++) {
    if (sink_kinds[sink] != BY_FILE || !model->sinks[sink].registered || model->sinks[sink].state != ACTIVE ||
        (tick->sink != NONE && tick->sink != sink))
      continue;
    for (int part = 0; part < world->nparts; part++)
      rows += model_live(model, part, model_watermark(model, sink, part), INT64_MAX);
  }
  return rows;
}

/* A batch that another connection of this process may own. */
static bool any_owned(struct world *world) {
  if (ask(world, "SELECT count(*) FROM tidemark_batch WHERE dataset = 'noise' AND owner IS NOT NULL") > 0)
    return true;
  for (int sink = 0; sink < SINKS; sink++) {
    for (int part = 0; part < PARTS; part++) {
      const struct batch *batch = &world->model.batches[sink][part];
      if (batch->open && batch->ours && !batch->free && sink_kinds[sink] == BY_FILE)
        return true;
    }
  }
  return false;
}

static char *run_tick(struct world *world, const struct tick *tick, int *ret_rc) {
  char *sql = tick_sql(tick);
  memcpy(world->claiming, world->model.sinks, sizeof world->claiming);
  world->doing = DOING_TICK;
  char *report = ask_text(world, ret_rc, "%s", sql);
  observe(world);
  world->doing = DOING_OTHER;
  sqlite3_free(sql);
  return report;
}

static int64_t said(struct world *world, const char *report, const char *what) {
  return ask(world, "SELECT json_extract(%Q, '$.%s')", report, what);
}

/* A tick over folders that are there, with nobody else about. */
static void judge_report(struct world *world, const struct tick *tick, const char *report, bool owned) {
  const int64_t failed = said(world, report, "failed");
  const int64_t waiting = said(world, report, "waiting");
  if (failed != 0 || (waiting != 0 && tick->now && !owned))
    fail(world, "a tick that nothing stood in the way of says %s", report);
  if (waiting != 0 || said(world, report, "more") != 0)
    return;
  if (undelivered(world, tick) != 0)
    fail(world, "the tick left %lld rows and says %s", (long long)undelivered(world, tick), report);
}

static bool is_known(const struct world *world, const struct tick *tick) {
  return tick->sink == NONE || world->model.sinks[tick->sink].registered;
}

/* With nothing new a tick writes nothing. */
static void tick_again(struct world *world, const struct tick *tick, const char *report) {
  int rc;
  if (undelivered(world, tick) != 0 || said(world, report, "more") != 0 || !one_in(4))
    return;
  const long changes = machine_changes();
  sqlite3_free(run_tick(world, tick, &rc));
  if (rc != SQLITE_OK || machine_changes() != changes)
    fail(world, "an idle tick gives %d and makes %ld changes to files", rc, machine_changes() - changes);
}

void step_tick(struct world *world) {
  int rc;
  const struct tick tick = choose_tick();
  const bool owned = any_owned(world);
  const bool interrupted = world->interrupt_at > 0;
  if (!is_known(world, &tick))
    return;
  char *report = run_tick(world, &tick, &rc);
  if (rc != SQLITE_OK && !(interrupted && rc == SQLITE_INTERRUPT))
    fail(world, "the tick gives %d (%s)", rc, sqlite3_errmsg(world->dbs[world->acting]));
  if (rc == SQLITE_OK && !interrupted) {
    judge_report(world, &tick, report, owned);
    tick_again(world, &tick, report);
  }
  sqlite3_free(report);
}

/* ---- disturbed ---- */

static struct {
  struct world *world;
  size_t left; /* steps of files until it happens */
} disturbing;

static void pass_a_lease(struct world *world) {
  machine_set_now(machine_now() + (one_in(2) ? 61000 : 700000));
  note(world, "the clock is %lld", (long long)machine_now());
}

static void tick_as_well(struct world *world) {
  int rc;
  const struct tick tick = choose_tick();
  if (is_known(world, &tick))
    sqlite3_free(run_tick(world, &tick, &rc));
}

static void disturb(const char *name) {
  static void (*const steps[])(struct world *) = {step_append,  step_delete, step_flush,   step_caps, pass_a_lease,
                                                  tick_as_well, step_prune,  step_compact, step_copy, step_maintain,
                                                  step_rewind,  step_trim,   step_claim,   step_ack,  step_noise};
  struct world *world = disturbing.world;
  struct sink claiming[SINKS];
  if (world == NULL || disturbing.left-- > 0)
    return;
  disturbing.world = NULL;
  memcpy(claiming, world->claiming, sizeof claiming);
  world->acting = 1 - world->acting;
  note(world, "while a file is %s:", name);
  observe(world);
  world->doing = DOING_OTHER;
  for (size_t n = 1 + pick(2); n > 0; n--)
    PICK(steps)(world);
  world->acting = 1 - world->acting;
  memcpy(world->claiming, claiming, sizeof claiming);
  world->doing = DOING_TICK;
}

void step_tick_disturbed(struct world *world) {
  int rc;
  const struct tick tick = choose_tick();
  if (!is_known(world, &tick))
    return;
  disturbing.world = world;
  disturbing.left = pick(one_in(2) ? 5 : 40);
  machine_on_step(disturb);
  sqlite3_free(run_tick(world, &tick, &rc));
  machine_on_step(NULL);
  disturbing.world = NULL;
  if (rc != SQLITE_OK)
    fail(world, "the tick gives %d (%s)", rc, sqlite3_errmsg(world->dbs[world->acting]));
}

/* ---- failing ---- */

static void put_away(const char *path, const char *away, bool leave_file) {
  rename(path, away);
  if (leave_file)
    fclose(fopen(path, "w"));
}

static void put_back(const char *path, const char *away) {
  unlink(path);
  rename(away, path);
}

void step_tick_failing(struct world *world) {
  int rc;
  char path[200], away[208];
  const struct tick tick = choose_tick();
  const int sink = tick.sink != NONE ? tick.sink : (int)pick(3);
  const int part = (int)pick((size_t)world->nparts);
  const bool whole = one_in(2) || !world->partitioned;
  if (!is_known(world, &tick))
    return;
  if (whole)
    snprintf(path, sizeof path, "%s", folder_of(world, sink, world->model.sinks[sink].target));
  else
    snprintf(path, sizeof path, "%s/%s/%s", folder_of(world, sink, world->model.sinks[sink].target),
             world->model.sinks[sink].prefix, part_text(world, part));
  snprintf(away, sizeof away, "%s.away", path);
  if (access(path, F_OK) != 0)
    return;
  note(world, "%s is in the way", path);
  put_away(path, away, !whole || one_in(2));
  sqlite3_free(run_tick(world, &tick, &rc));
  put_back(path, away);
  if (rc != SQLITE_OK)
    fail(world, "the tick gives %d (%s)", rc, sqlite3_errmsg(world->dbs[world->acting]));
}

/* ---- sinks in SQL ---- */

char *copy_sql(struct world *world, int64_t max_rows) {
  char *limit = max_rows == NONE ? sqlite3_mprintf("") : sqlite3_mprintf(" AND max_rows = %lld", (long long)max_rows);
  char *sql = sqlite3_mprintf(
      "INSERT INTO copied(generation, part, since, v)"
      " SELECT coalesce((SELECT generation FROM tidemark_watermark m WHERE m.sink = w.sink AND m.dataset = w.dataset"
      " AND m.partition = w.partition), 0), w.partition, l.since, l.v FROM tidemark_lag w CROSS JOIN %s l"
      " ON l.partition = w.partition AND l.since > w.since AND l.since <= w.until"
      " WHERE w.sink = 'copy' AND w.dataset = '%s' AND w.rows > 0%s;"
      "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
      " SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 'copy'"
      " AND dataset = '%s' AND rows > 0%s",
      world->model.dataset, world->model.dataset, limit, world->model.dataset, limit);
  sqlite3_free(limit);
  return sql;
}

void step_copy(struct world *world) {
  const struct sink *sink = &world->model.sinks[3];
  const bool alone = !in_transaction(world);
  if (!sink->registered || sink->state != ACTIVE)
    return;
  char *sql = copy_sql(world, one_in(2) ? 1 + (int64_t)pick(20) : NONE);
  memcpy(world->claiming, world->model.sinks, sizeof world->claiming);
  world->doing = DOING_COPY;
  must(world, "%s%s%s", alone ? "BEGIN IMMEDIATE; " : "", sql, alone ? "; COMMIT" : "");
  observe(world);
  world->doing = DOING_OTHER;
  sqlite3_free(sql);
}

/* ---- claim and ack ---- */

void step_claim(struct world *world) {
  int rc;
  int64_t open = 0;
  const struct sink *sink = &world->model.sinks[4];
  if (!sink->registered)
    return;
  if (sink->state != ACTIVE) {
    must_refuse(world, SQLITE_ERROR, "SELECT tidemark_claim('hand', '%s')", world->model.dataset);
    return;
  }
  memcpy(world->claiming, world->model.sinks, sizeof world->claiming);
  world->doing = DOING_ACK;
  char *text = ask_text(world, &rc, "SELECT tidemark_claim('hand', '%s')", world->model.dataset);
  observe(world);
  world->doing = DOING_OTHER;
  for (int part = 0; part < PARTS; part++)
    open += world->model.batches[4][part].open;
  if (rc != SQLITE_OK || strtoll(text, NULL, 10) != open)
    fail(world, "tidemark_claim gives %d, %s; open are %lld", rc, text, (long long)open);
  sqlite3_free(text);
}

void step_ack(struct world *world) {
  int rc;
  struct batch *batch = &world->model.batches[4][pick((size_t)world->nparts)];
  if (!batch->open)
    return;
  const int64_t number = batch->number;
  if (one_in(5)) {
    must_refuse(world, SQLITE_ERROR, "SELECT tidemark_ack(%lld)", (long long)number + 1000000);
    return;
  }
  world->doing = DOING_ACK;
  sqlite3_free(ask_text(world, &rc, "SELECT tidemark_ack(%lld, 'there', 17)", (long long)number));
  observe(world);
  world->doing = DOING_OTHER;
  if (rc != SQLITE_OK || batch->open)
    fail(world, "tidemark_ack gives %d, and batch %lld is %s", rc, (long long)number, batch->open ? "open" : "ended");
}

/* ---- the end ---- */

void step_drain(struct world *world) {
  const struct tick tick = {NONE, true, 0};
  int rc;
  machine_set_now(machine_now() + 700000); /* every lease is out */
  sqlite3_free(run_tick(world, &tick, &rc));
  step_copy(world);
  step_claim(world);
  if (rc != SQLITE_OK || undelivered(world, &tick) != 0)
    fail(world, "the last tick gives %d and leaves %lld rows", rc, (long long)undelivered(world, &tick));
}
