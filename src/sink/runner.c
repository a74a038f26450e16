#include "sink/runner.h"

#include <string.h>

#include "base/mem.h"
#include "engine/stats.h"
#include "sink/claim.h"
#include "sink/json.h"
#include "sink/registry.h"
#include "sink/ship.h"
#include "store/durable.h"

enum { RETRY_FIRST_MS = 1000, RETRY_MAX_MS = 300000 };

/* A partition to look at, and its newest since at the tick's start. */
struct candidate {
  int64_t partition;
  int64_t newest;
};

/* A tick of one sink. */
struct ticking {
  struct tide_runner *runner;
  struct tide_sink sink; /* its row, read in the snapshot in which the candidates were found */
  struct tide_sink_config config;
  struct tide_dataset *ds;
  struct tide_tick *tick;
  int64_t newest;               /* the dataset's at the start */
  bool noted;                   /* that the sink has all up to newest */
  struct candidate *candidates; /* partitions with rows above what the sink has everywhere */
  size_t ncandidates;
  size_t candidates_cap;
  size_t finished; /* candidates of which the sink has every row up to their newest: found so, or shipped and acked */
};

void tide_tick_clear(struct tide_tick *tick) {
  tide_buf_clear(&tick->failures);
  *tick = (struct tide_tick){0};
}

/* What ends a whole call, rather than one batch. */
static bool concerns_all(const struct tide_err *err) {
  const int rc = err->rc & 0xff;
  return rc == SQLITE_NOMEM || rc == SQLITE_INTERRUPT || rc == SQLITE_BUSY || rc == SQLITE_LOCKED;
}

/* ---- failures ---- */

/* 1 s, doubling to 5 min, each less up to a quarter, so that many that failed together do not come back together. */
static int64_t retry_delay(int64_t attempts) {
  uint32_t random = 0;
  const int64_t doublings = attempts < 9 ? attempts : 9;
  int64_t delay = (int64_t)RETRY_FIRST_MS << doublings;
  if (delay > RETRY_MAX_MS)
    delay = RETRY_MAX_MS;
  sqlite3_randomness((int)sizeof random, &random);
  return attempts == 0 ? delay : delay - (int64_t)(random % (uint32_t)(delay / 4));
}

/* row NULL: no batch was claimed. */
static void report_failure(struct tide_tick *tick, const struct tide_batch_row *row, const char *message,
                           int64_t retry_at, struct tide_err *err) {
  bool altered = false;
  tick->failed++;
  tide_buf_printf(&tick->failures, err, "%s{\"error\":", tick->failures.len > 0 ? "," : "");
  tide_json_put_string(&tick->failures, message, strlen(message), &altered, err);
  if (row != NULL) {
    tide_buf_put_string(&tick->failures, ",\"partition\":", err);
    tide_json_put_string(&tick->failures, row->partition, strlen(row->partition), &altered, err);
    tide_buf_printf(&tick->failures, err, ",\"batch\":%lld,\"retry_at\":%lld", (long long)row->batch,
                    (long long)retry_at);
  }
  tide_buf_put_u8(&tick->failures, '}', err);
}

/* The batch stays, with the error on its row, for a later tick; unless it is another's by now, which is then all
 * there is to tell: whatever went wrong may be the other's doing. */
static void fail_batch(struct ticking *ticking, const struct tide_batch_row *row, const struct tide_err *failure,
                       struct tide_err *err) {
  const int64_t retry_at = tide_dataset_now_ms(ticking->ds) + retry_delay(row->attempts);
  struct tide_err said = *failure;
  if (said.rc == SQLITE_ERROR) /* of its configuration, which a later one of the sink does not change */
    sqlite3_snprintf((int)sizeof said.msg, said.msg,
                     "%s (the batch keeps the configuration it was claimed with: mend the sink, then DELETE FROM "
                     "tidemark_batch WHERE batch = %lld to have its rows claimed anew)",
                     failure->msg, (long long)row->batch);
  if (tide_batch_fail(ticking->runner->conn->db, ticking->runner->schema, row->batch, said.msg, retry_at, err))
    report_failure(ticking->tick, row, said.msg, retry_at, err);
  else
    report_failure(ticking->tick, row, "the batch was taken over by another process, or given up, while it was shipped",
                   0, err);
}

/* ---- one batch ---- */

/* Within a transaction. */
static void note_caught_up(struct ticking *ticking, struct tide_err *err) {
  if (!tide_err_is_set(err))
    tide_sink_set_caught_up(ticking->runner->conn->db, ticking->runner->schema, &ticking->sink, ticking->newest, err);
  ticking->noted = true;
}

static void ack(struct ticking *ticking, const struct tide_batch_row *row, const struct tide_shipment *shipment,
                bool catches_up, struct tide_err *err) {
  struct tide_durable txn;
  struct tide_runner *runner = ticking->runner;
  const bool shipped = shipment->rows > 0;
  const struct tide_ack log = {.rows = shipment->rows,
                               .skipped = shipment->skipped,
                               .bytes = shipment->bytes,
                               .object = shipped ? row->object : NULL,
                               .hash = shipped ? shipment->hash : NULL};
  tide_durable_begin_plain(runner->conn->db, runner->schema, &txn, err);
  if (tide_err_is_set(err))
    return;
  tide_exportlog_ack(runner->conn->db, runner->schema, row, &log, err);
  if (catches_up)
    note_caught_up(ticking, err);
  tide_durable_end(&txn, err);
}

/* How a batch is shipped. */
enum {
  SHIP_AGAIN = 1,     /* it was open before this tick */
  SHIP_CATCHES_UP = 2 /* with it the sink has all there was at the tick's start */
};

/* Ships and acks a batch that is ours. false when it failed; err is set only when that ends the call. */
static bool ship_batch(struct ticking *ticking, const struct tide_batch_row *row, unsigned how, struct tide_err *err) {
  struct tide_tick *tick = ticking->tick;
  struct tide_shipment shipment = {0};
  struct tide_err failure = {0};
  ticking->runner->batches_left--;
  tide_ship(ticking->runner, row, (how & SHIP_AGAIN) != 0, &shipment, &failure);
  if (!tide_err_is_set(&failure))
    ack(ticking, row, &shipment, (how & SHIP_CATCHES_UP) != 0, &failure);
  if (!tide_err_is_set(&failure)) {
    tick->batches++;
    tick->rows += shipment.rows;
    tick->skipped += shipment.skipped;
    tick->altered += shipment.altered;
    tick->bytes += shipment.bytes;
    return true;
  }
  if (concerns_all(&failure))
    tide_err_set(err, failure.rc, "%s", failure.msg);
  else
    fail_batch(ticking, row, &failure, err);
  return false;
}

/* ---- batches that are open already ---- */

static bool may_take(const struct tide_runner *runner, const struct tide_batch_row *row, int64_t now) {
  return tide_batch_is_abandoned(row->owner, row->lease_until, now) || strcmp(row->owner, runner->owner) == 0;
}

static bool take(struct ticking *ticking, struct tide_batch_row *row, struct tide_err *err) {
  struct tide_runner *runner = ticking->runner;
  struct tide_durable txn;
  const int64_t now = tide_dataset_now_ms(ticking->ds);
  if (!may_take(runner, row, now) || (!runner->now && row->not_before > now))
    return false; /* its partition is among the candidates, and is counted there as waiting */
  tide_durable_begin(runner->conn->db, runner->schema, &txn, err);
  const bool taken = !tide_err_is_set(err) && tide_batch_take(runner->conn->db, runner->schema, row, runner->owner,
                                                              now + TIDE_BATCH_LEASE_MS, err);
  tide_durable_end(&txn, err);
  return taken && !tide_err_is_set(err);
}

/* The next open batch above a number: read anew for each, since no statement stays open while one is shipped. */
static bool next_open(struct ticking *ticking, int64_t above, struct tide_batch_row *ret_row, struct tide_err *err) {
  sqlite3_stmt *stmt = tide_batch_prepare(ticking->runner->conn->db, ticking->runner->schema, above, ticking->sink.sink,
                                          ticking->sink.dataset, err);
  const bool found = tide_batch_next(stmt, ret_row, err);
  sqlite3_finalize(stmt);
  return found;
}

static void ship_open(struct ticking *ticking, struct tide_err *err) {
  struct tide_batch_row row;
  int64_t done = 0;
  /* numbers above it are given by this loop's own taking over */
  const int64_t last = tide_batch_last(ticking->runner->conn->db, ticking->runner->schema, err);
  while (!tide_err_is_set(err) && done < last && !ticking->tick->more && next_open(ticking, done, &row, err)) {
    done = row.batch;
    if (ticking->runner->batches_left <= 0)
      ticking->tick->more = true;
    else if (done <= last && take(ticking, &row, err))
      ship_batch(ticking, &row, SHIP_AGAIN, err);
    tide_batch_row_clear(&row);
  }
}

/* ---- new batches ---- */

static void add_candidate(struct ticking *ticking, const struct tide_stat *stat, struct tide_err *err) {
  void *candidates = ticking->candidates;
  if (tide_grow(&candidates, &ticking->candidates_cap, ticking->ncandidates + 1, sizeof *ticking->candidates, err) != 0)
    return;
  ticking->candidates = candidates;
  ticking->candidates[ticking->ncandidates++] = (struct candidate){stat->partition, stat->last_since};
}

/* In one snapshot the sink's row and the partitions that have rows above what it has everywhere. false when the sink
 * is gone or no longer active. */
static bool find_candidates(struct ticking *ticking, const struct tide_sink *sink, struct tide_err *err) {
  struct tide_stat stat;
  struct tide_runner *runner = ticking->runner;
  sqlite3_stmt *snapshot = tide_read_begin(runner->conn->db, runner->schema, err);
  sqlite3_stmt *stmt = tide_sink_prepare(runner->conn->db, runner->schema, sink->sink, sink->dataset, err);
  const bool active = tide_sink_next(stmt, &ticking->sink, err) && strcmp(ticking->sink.state, "active") == 0;
  sqlite3_finalize(stmt);
  struct tide_stats *stats = active ? tide_stats_open(ticking->ds, NULL, 0, ticking->sink.caught_up, err) : NULL;
  ticking->newest = stats != NULL ? tide_dataset_last_since(ticking->ds) : 0;
  while (stats != NULL && tide_stats_next(stats, &stat, err))
    add_candidate(ticking, &stat, err);
  tide_stats_close(stats);
  sqlite3_finalize(snapshot);
  return active && !tide_err_is_set(err);
}

/* The batch limit is reached: whether that leaves something undone in a partition. */
static void look_for_more(struct ticking *ticking, const struct candidate *candidate, struct tide_err *err) {
  switch (tide_claim_look(ticking->runner, &ticking->sink, ticking->ds, candidate->partition, candidate->newest, err)) {
  case TIDE_CLAIM_MADE:
    ticking->tick->more = true;
    break;
  case TIDE_CLAIM_WAITS:
    ticking->tick->waiting++;
    break;
  case TIDE_CLAIM_NOTHING:
    ticking->finished += !tide_err_is_set(err);
    break;
  }
}

/* Claims and ships the next batch of a partition. false when it has no more for this tick. */
static bool export_next(struct ticking *ticking, const struct candidate *candidate, struct tide_err *err) {
  struct tide_batch_row row;
  struct tide_tick *tick = ticking->tick;
  struct tide_err failure = {0};
  const enum tide_claim_outcome outcome =
      tide_claim_next(ticking->runner, &ticking->sink, &ticking->config, ticking->ds, candidate->partition,
                      candidate->newest, &row, &failure);
  if (concerns_all(&failure))
    tide_err_set(err, failure.rc, "%s", failure.msg);
  else if (tide_err_is_set(&failure))
    report_failure(tick, NULL, failure.msg, 0, err);
  else if (outcome == TIDE_CLAIM_WAITS)
    tick->waiting++;
  else if (outcome == TIDE_CLAIM_NOTHING)
    ticking->finished++;
  if (tide_err_is_set(&failure) || outcome != TIDE_CLAIM_MADE)
    return false;
  const bool done = row.until >= candidate->newest;
  const bool catches_up = done && ticking->finished + 1 == ticking->ncandidates;
  const bool shipped = ship_batch(ticking, &row, catches_up ? SHIP_CATCHES_UP : 0, err);
  tide_batch_row_clear(&row);
  ticking->finished += shipped && done;
  return shipped && !done;
}

static void export_new(struct ticking *ticking, struct tide_err *err) {
  for (size_t i = 0; i < ticking->ncandidates && !tide_err_is_set(err) && !ticking->tick->more; i++) {
    bool undone = true;
    while (undone && ticking->runner->batches_left > 0 && !tide_err_is_set(err))
      undone = export_next(ticking, &ticking->candidates[i], err);
    if (undone && !tide_err_is_set(err))
      look_for_more(ticking, &ticking->candidates[i], err);
  }
}

/* The last partition may have had nothing left for a batch that notes it. A tick that wrote nothing goes without: it
 * writes nothing. */
static void note_at_the_end(struct ticking *ticking, struct tide_err *err) {
  struct tide_durable txn;
  if (ticking->noted || ticking->tick->batches == 0 || ticking->finished < ticking->ncandidates || tide_err_is_set(err))
    return;
  tide_durable_begin_plain(ticking->runner->conn->db, ticking->runner->schema, &txn, err);
  note_caught_up(ticking, err);
  tide_durable_end(&txn, err);
}

/* ---- the calls ---- */

static int parse_config(struct ticking *ticking, struct tide_err *err) {
  const struct tide_sink_words words = tide_sink_words_of_row(&ticking->sink);
  return tide_sink_config_parse(ticking->runner->schemes, ticking->ds->spec, &words, &ticking->config, err);
}

static void clear_ticking(struct ticking *ticking) {
  tide_free(ticking->candidates);
  tide_sink_config_clear(&ticking->config);
  tide_sink_clear(&ticking->sink);
  tide_dataset_release(ticking->ds);
}

static void tick_sink(struct ticking *ticking, const struct tide_sink *sink, struct tide_err *err) {
  ticking->ds = tide_dataset_acquire(ticking->runner->conn, ticking->runner->schema, sink->dataset, err);
  if (ticking->ds == NULL || !find_candidates(ticking, sink, err))
    return;
  if (ticking->ncandidates > 0 || tide_batch_last(ticking->runner->conn->db, ticking->runner->schema, err) > 0)
    tide_durable_check_writable(ticking->runner->conn->db, ticking->runner->schema, err);
  ship_open(ticking, err);
  if (ticking->ncandidates == 0 || tide_err_is_set(err))
    return;
  if (parse_config(ticking, err) == 0)
    export_new(ticking, err);
  note_at_the_end(ticking, err);
}

void tide_runner_tick(struct tide_runner *runner, const struct tide_sink *sink, struct tide_tick *ret_tick,
                      struct tide_err *err) {
  struct ticking ticking = {.runner = runner, .tick = ret_tick};
  struct tide_err failure = {0};
  tick_sink(&ticking, sink, &failure);
  clear_ticking(&ticking);
  if (concerns_all(&failure))
    tide_err_set(err, failure.rc, "%s", failure.msg);
  else if (tide_err_is_set(&failure))
    report_failure(ret_tick, NULL, failure.msg, 0, err);
}

static int64_t count_open(struct ticking *ticking, struct tide_err *err) {
  struct tide_batch_row row;
  int64_t open = 0;
  sqlite3_stmt *stmt = tide_batch_prepare(ticking->runner->conn->db, ticking->runner->schema, 0, ticking->sink.sink,
                                          ticking->sink.dataset, err);
  while (tide_batch_next(stmt, &row, err)) {
    open++;
    tide_batch_row_clear(&row);
  }
  sqlite3_finalize(stmt);
  return open;
}

int64_t tide_runner_claim(struct tide_runner *runner, const struct tide_sink *sink, struct tide_err *err) {
  struct tide_tick tick = {0};
  struct tide_batch_row row;
  struct ticking ticking = {.runner = runner, .tick = &tick};
  int64_t open = 0;
  ticking.ds = tide_dataset_acquire(runner->conn, runner->schema, sink->dataset, err);
  if (ticking.ds != NULL && find_candidates(&ticking, sink, err) && parse_config(&ticking, err) == 0) {
    for (size_t i = 0; i < ticking.ncandidates && !tide_err_is_set(err); i++) {
      const struct candidate *candidate = &ticking.candidates[i];
      if (tide_claim_next(runner, &ticking.sink, &ticking.config, ticking.ds, candidate->partition, candidate->newest,
                          &row, err) == TIDE_CLAIM_MADE &&
          !tide_err_is_set(err))
        tide_batch_row_clear(&row);
    }
    open = count_open(&ticking, err);
  }
  clear_ticking(&ticking);
  return open;
}

/* How many rows of a batch its sink's filter lets through: those were delivered, the others skipped. */
static void count_delivered(struct tide_runner *runner, const struct tide_batch_row *row, struct tide_ack *ack,
                            struct tide_err *err) {
  struct tide_frozen frozen = {0};
  struct tide_sink_config config = {0};
  ack->rows = row->rows;
  struct tide_dataset *ds = tide_dataset_acquire(runner->conn, runner->schema, row->dataset, err);
  if (ds != NULL)
    tide_frozen_read(runner->conn->db, row->config, &frozen, err);
  const struct tide_sink_words words = {.columns = frozen.columns, .filter = frozen.filter};
  if (words.filter != NULL && tide_sink_config_parse(runner->schemes, ds->spec, &words, &config, err) == 0)
    tide_ship_count(ds, &config, row->partition, row->since, row->until, &ack->rows, &ack->skipped, err);
  tide_sink_config_clear(&config);
  tide_frozen_clear(&frozen);
  tide_dataset_release(ds);
}

void tide_runner_ack(struct tide_runner *runner, const struct tide_batch_row *row, const char *object, int64_t bytes,
                     struct tide_ack *ret_ack, struct tide_err *err) {
  struct tide_durable txn;
  struct tide_ack log = {.bytes = bytes, .object = object};
  count_delivered(runner, row, &log, err);
  if (tide_err_is_set(err))
    return;
  tide_durable_begin_plain(runner->conn->db, runner->schema, &txn, err);
  if (!tide_err_is_set(err))
    tide_exportlog_ack(runner->conn->db, runner->schema, row, &log, err);
  tide_durable_end(&txn, err);
  *ret_ack = log;
}
