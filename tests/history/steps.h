/* What may happen in a world. Each step does one thing on the acting connection, inside the transaction when one is
 * open, and has the model follow. */
#ifndef TIDE_TESTS_HISTORY_STEPS_H
#define TIDE_TESTS_HISTORY_STEPS_H

#include "world.h"

/* ---- rows: step_rows.c ---- */

enum { APPEND_MAX = 40 };

/* Rows on their way into the dataset. */
struct append {
  struct row rows[APPEND_MAX];
  int n;
  char *sql; /* one INSERT; for sqlite3_free */
};
struct append append_plan(struct world *world);
/* The rows are there, whole and in order, or none is; gives which. */
bool append_arrived(struct world *world, const struct append *append);

void step_append(struct world *world);
void step_delete(struct world *world);
void step_transaction(struct world *world);
void step_end_transaction(struct world *world, bool commit);
void step_flush(struct world *world);
void step_vacuum(struct world *world);
void step_rename(struct world *world);
void step_reopen(struct world *world);
void step_snapshot(struct world *world);
/* Another connection beside an open transaction sees what is committed, and cannot write. */
void step_beside(struct world *world);

/* ---- sinks as rows: step_sinks.c ---- */

void step_register(struct world *world, int sink);
void step_unregister(struct world *world);
void step_settings(struct world *world);
void step_caps(struct world *world);
void step_trim(struct world *world);
void step_rewind(struct world *world);
void step_give_up(struct world *world);

/* ---- deliveries: step_ticks.c ---- */

void step_tick(struct world *world);
/* Something happens on the other connection while a file is written. */
void step_tick_disturbed(struct world *world);
/* The folder is gone, or one partition's is in the way. */
void step_tick_failing(struct world *world);
void step_copy(struct world *world);
char *copy_sql(struct world *world, int64_t max_rows); /* for sqlite3_free */
void step_claim(struct world *world);
void step_ack(struct world *world);
/* Ticks until nothing is left to deliver. */
void step_drain(struct world *world);

/* ---- a process dies: step_kill.c ---- */

void step_kill(struct world *world);

/* ---- housekeeping: step_upkeep.c ---- */

void step_prune(struct world *world);
void step_prune_under_cursor(struct world *world);
void step_compact(struct world *world);
void step_maintain(struct world *world);
void step_noise(struct world *world);              /* something happens to the other dataset */
void step_upkeep_interrupted(struct world *world); /* within a transaction */
void step_options(struct world *world);
void step_add_column(struct world *world);

#endif
