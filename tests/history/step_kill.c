#include <stdio.h>
#include <string.h>

#include "checks.h"
#include "observe.h"
#include "steps.h"

/* ---- what the process does that dies ---- */

struct work {
  char path[128];
  char *sql;
};

static void work(void *data) {
  const struct work *work = data;
  sqlite3 *db = NULL;
  sqlite3_open_v2(work->path, &db, SQLITE_OPEN_READWRITE, MACHINE_VFS);
  sqlite3_tidemark_init(db, NULL, NULL);
  if (sqlite3_exec(db, "PRAGMA synchronous = normal; PRAGMA wal_autocheckpoint = 30", NULL, NULL, NULL) != SQLITE_OK ||
      sqlite3_exec(db, work->sql, NULL, NULL, NULL) != SQLITE_OK) {
    fprintf(stderr, "%s\n%s\n", work->sql, sqlite3_errmsg(db));
    _Exit(1);
  }
  sqlite3_close(db);
}

enum killed {
  KILLED_APPEND,
  KILLED_TICK,
  KILLED_COPY,
  KILLED_CLAIM,
  KILLED_FLUSH,
  KILLED_PRUNE,
  KILLED_COMPACT,
  KILLED_MAINTAIN
};

static char *killed_sql(struct world *world, enum killed what, struct append *append) {
  const char *dataset = world->model.dataset;
  char *sql;
  switch (what) {
  case KILLED_APPEND:
    *append = append_plan(world);
    return sqlite3_mprintf("%z", append->sql);
  case KILLED_TICK:
    return sqlite3_mprintf("SELECT tidemark_export(NULL, 'now')");
  case KILLED_COPY:
    sql = copy_sql(world, NONE);
    return sqlite3_mprintf("BEGIN IMMEDIATE; %z; COMMIT", sql);
  case KILLED_CLAIM:
    return sqlite3_mprintf("SELECT tidemark_claim('hand', '%s')", dataset);
  case KILLED_FLUSH:
    return sqlite3_mprintf("SELECT tidemark_flush('%s')", dataset);
  case KILLED_PRUNE:
    return sqlite3_mprintf("SELECT tidemark_prune('%s')", dataset);
  case KILLED_COMPACT:
    return sqlite3_mprintf("SELECT tidemark_compact('%s')", dataset);
  default:
    return sqlite3_mprintf("SELECT tidemark_maintain('%s')", dataset);
  }
}

/* ---- what the next one finds ---- */

static void go_on(struct world *world, enum killed what, const struct append *append) {
  static const enum doing doings[] = {[KILLED_TICK] = DOING_TICK,
                                      [KILLED_COPY] = DOING_COPY,
                                      [KILLED_CLAIM] = DOING_ACK,
                                      [KILLED_MAINTAIN] = DOING_OTHER};
  if (what == KILLED_APPEND)
    append_arrived(world, append);
  world->doing = doings[what];
  if (what == KILLED_PRUNE || what == KILLED_MAINTAIN)
    observe_pruned(world, false);
  else
    observe(world);
  if (what == KILLED_MAINTAIN)
    observe_trimmed(world);
  world->doing = DOING_OTHER;
  check_damage(world);
}

void step_kill(struct world *world) {
  struct work doomed;
  struct append append = {.n = 0};
  const enum killed what = one_in(3) ? KILLED_TICK : (enum killed)pick(8);
  const struct sink *copy = &world->model.sinks[3];
  const struct sink *hand = &world->model.sinks[4];
  const bool power_loss = one_in(3);
  const int at = 1 + (int)pick(one_in(2) ? 30 : 150);
  if ((what == KILLED_COPY && !(copy->registered && copy->state == ACTIVE)) ||
      (what == KILLED_CLAIM && !(hand->registered && hand->state == ACTIVE)))
    return;
  snprintf(doomed.path, sizeof doomed.path, "%s/db", world->dir);
  doomed.sql = killed_sql(world, what, &append);
  memcpy(world->claiming, world->model.sinks, sizeof world->claiming);
  world_disconnect(world);
  const bool died = machine_run_killed(work, &doomed, at, power_loss);
  world->killed = world->killed || died;
  world_connect(world);
  note(world, "a process did %s %.2000s", doomed.sql, !died ? "" : power_loss ? "-- and lost power" : "-- and died");
  go_on(world, what, &append);
  sqlite3_free(doomed.sql);
}
