/* How often the ticks of a sink shipped something to a place, which its target is told before the first byte of each: a
 * database that was restored from a backup, or that lives twice, is behind what its target was told. Beside it when the
 * place wants to be left alone until, and the log id that a fork gave the sink.
 *
 *   tidemark_sink_count(sink, dataset, place, tick, token, previous, marked, attempts, not_before, refused)
 *   tidemark_sink_fork(sink, dataset, log_id)
 *
 * A tick that was counted and never marked is counted again by the next one, so that a target is behind by one at the
 * most: it was told `marked`, or `tick`. */
#ifndef TIDE_STORE_SINK_COUNT_H
#define TIDE_STORE_SINK_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"
#include "store/names.h"

/* Nobody is asked to wait longer, ms; a time further ahead than that was written by a clock that has been set back. */
enum { TIDE_SINK_WAIT_MAX_MS = 86400000 };

/* Whether a not_before lies behind. */
static inline bool tide_sink_is_due(int64_t not_before, int64_t now_ms) {
  return not_before <= now_ms || not_before - now_ms > TIDE_SINK_WAIT_MAX_MS;
}

/* Which row: schema, sink, dataset, and the place of its target (tide_scheme's check). */
struct tide_sink_place {
  const char *schema;
  const char *sink;
  const char *dataset;
  const char *place;
};

/* All zero: nothing was ever shipped there. */
struct tide_sink_count {
  int64_t tick;
  int64_t token;      /* drawn at random for tick, so that two databases that counted alike are told apart */
  int64_t previous;   /* the one of tick - 1 */
  int64_t marked;     /* the last tick of which a batch was acked: the target was told */
  int64_t attempts;   /* how often in a row the place as a whole failed */
  int64_t not_before; /* ms since 1970; 0: at once */
  int64_t refused;    /* rows set aside since one was taken */
};

void tide_sink_count_read(sqlite3 *db, const struct tide_sink_place *place, struct tide_sink_count *ret_count,
                          struct tide_err *err);

/* Within a durable transaction that claims: counts a new tick, unless the last was not marked yet. A new place begins
 * with the present tick of the place before it, for its folder may have been moved there. */
void tide_sink_count_next(sqlite3 *db, const struct tide_sink_place *place, struct tide_err *err);

/* Within the transaction of an ack: the target was told that tick, and works. refused: rows set aside since one was
 * taken. */
void tide_sink_count_mark(sqlite3 *db, struct tide_stmt_pool *pool, const struct tide_sink_place *place, int64_t tick,
                          int64_t refused, struct tide_err *err);

/* Notes that the place failed once more, and when it may be tried again. */
void tide_sink_count_wait(sqlite3 *db, const struct tide_sink_place *place, int64_t not_before, struct tide_err *err);

/* ---- forks ---- */

/* The log id that outside names of the sink have: the fork's, or when there was none the one of its dataset. The caller
 * frees. */
char *tide_sink_log_id(sqlite3 *db, struct tide_names names, const char *sink, const char *of_dataset,
                       struct tide_err *err);

/* Gives the sink that log id and forgets its counts; its open batches are given up, whose number is the result. */
int64_t tide_sink_fork(sqlite3 *db, const char *schema, const char *sink, const char *dataset, const char *log_id,
                       struct tide_err *err);

/* ---- states ---- */

/* Whether the sink is there in that state. */
bool tide_sink_has_state(sqlite3 *db, struct tide_names names, const char *sink, const char *state,
                         struct tide_err *err);

/* Sets the sink's state when it is the one expected; nothing otherwise. */
void tide_sink_set_state(sqlite3 *db, const char *schema, const char *sink, const char *dataset, const char *expected,
                         const char *state, struct tide_err *err);

#endif
