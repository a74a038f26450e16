#include "sink/runner.h"

#include <string.h>

#include "base/mem.h"
#include "sink/backlog.h"
#include "sink/claim.h"
#include "sink/deliver.h"
#include "sink/ship.h"
#include "store/durable.h"
#include "store/interrupt.h"
#include "store/sinks.h"

/* A tick of one sink. */
struct ticking {
  struct tide_deliveries deliveries;
  struct tide_backlog backlog;
  struct tide_sink_config config;
  size_t finished; /* partitions of the backlog of which the sink has all rows: found so, or shipped and acked */
};

void tide_tick_clear(struct tide_tick *tick) {
  tide_buf_clear(&tick->failures);
  *tick = (struct tide_tick){0};
}

/* ---- batches that are open already ---- */

static bool take(struct ticking *ticking, struct tide_batch_row *row, struct tide_err *err) {
  struct tide_runner *runner = ticking->deliveries.runner;
  struct tide_durable txn;
  const int64_t now = tide_dataset_now_ms(ticking->deliveries.ds);
  if (!tide_backlog_may_take(runner, row, now) || (!runner->now && !tide_sink_is_due(row->not_before, now)))
    return false; /* its partition is among the candidates, and is counted there as waiting */
  tide_durable_begin(runner->conn->db, runner->schema, &txn, err);
  const bool taken = !tide_err_is_set(err) && tide_batch_take(runner->conn->db, runner->schema, row, runner->owner,
                                                              now + TIDE_BATCH_LEASE_MS, err);
  tide_durable_end(&txn, err);
  return taken && !tide_err_is_set(err);
}

static void ship_open(struct ticking *ticking, struct tide_err *err) {
  struct tide_batch_row row;
  int64_t done = 0;
  /* numbers above it are given by this loop's own taking over */
  const int64_t last = tide_batch_last(ticking->deliveries.runner->conn->db, ticking->deliveries.runner->schema,
                                       ticking->deliveries.ds->pool, err);
  while (!tide_err_is_set(err) && done < last && !ticking->deliveries.tick->more && !ticking->deliveries.stopped &&
         tide_backlog_next_open(&ticking->backlog, ticking->deliveries.runner, done, &row, err)) {
    done = row.batch;
    if (ticking->deliveries.runner->batches_left <= 0)
      ticking->deliveries.tick->more = true;
    else if (done <= last && take(ticking, &row, err))
      tide_deliver(&ticking->deliveries, &row, TIDE_DELIVER_AGAIN, INT64_MAX, err);
    tide_batch_row_clear(&row);
  }
}

/* ---- new batches ---- */

/* The batch limit is reached: whether that leaves something undone in a partition. */
static void look_for_more(struct ticking *ticking, const struct tide_backlog_part *candidate, struct tide_err *err) {
  const struct tide_claim_reach reach = {candidate->partition, candidate->newest, 0};
  switch (tide_claim_look(ticking->deliveries.runner, &ticking->backlog.sink, NULL, ticking->deliveries.ds, &reach,
                          NULL, err)) {
  case TIDE_CLAIM_MADE:
    ticking->deliveries.tick->more = true;
    break;
  case TIDE_CLAIM_WAITS:
    ticking->deliveries.tick->waiting++;
    break;
  case TIDE_CLAIM_NOTHING:
    ticking->finished += !tide_err_is_set(err);
    break;
  }
}

/* Claims and ships the next batch of a partition. false when it has no more for this tick. */
static bool export_next(struct ticking *ticking, const struct tide_backlog_part *candidate, struct tide_err *err) {
  struct tide_batch_row row;
  struct tide_tick *tick = ticking->deliveries.tick;
  struct tide_err failure = {0};
  const struct tide_claim_reach reach = {candidate->partition, candidate->newest,
                                         tide_deliveries_most_rows(&ticking->deliveries)};
  const enum tide_claim_outcome outcome =
      tide_claim_next(ticking->deliveries.runner, &ticking->backlog.sink, &ticking->config, ticking->deliveries.ds,
                      &reach, &row, &failure);
  tide_deliveries_explain(ticking->deliveries.runner, &ticking->backlog.sink, &failure);
  if (tide_deliveries_concerns_all(&failure))
    tide_err_set(err, failure.rc, "%s", failure.msg);
  else if (tide_err_is_set(&failure))
    tide_deliveries_report(tick, NULL, failure.msg, 0, err);
  else if (outcome == TIDE_CLAIM_WAITS)
    tick->waiting++;
  else if (outcome == TIDE_CLAIM_NOTHING)
    ticking->finished++;
  if (tide_err_is_set(&failure) || outcome != TIDE_CLAIM_MADE)
    return false;
  const bool last = ticking->finished + 1 == ticking->backlog.nparts;
  const bool shipped =
      tide_deliver(&ticking->deliveries, &row, last ? TIDE_DELIVER_CATCHES_UP : 0, candidate->newest, err);
  const bool done = row.until >= candidate->newest;
  tide_batch_row_clear(&row);
  ticking->finished += shipped && done;
  return shipped && !done;
}

static void export_new(struct ticking *ticking, struct tide_err *err) {
  const struct tide_deliveries *deliveries = &ticking->deliveries;
  for (size_t i = 0; i < ticking->backlog.nparts && !tide_err_is_set(err) && !deliveries->tick->more; i++) {
    bool undone = true;
    if (deliveries->stopped) { /* its turn comes when the target takes something again */
      deliveries->tick->waiting++;
      continue;
    }
    while (undone && ticking->deliveries.runner->batches_left > 0 && !tide_err_is_set(err))
      undone = export_next(ticking, &ticking->backlog.parts[i], err);
    if (undone && !tide_err_is_set(err))
      look_for_more(ticking, &ticking->backlog.parts[i], err);
  }
}

/* The last partition may have had nothing left for a batch that notes it. A tick that wrote nothing goes without: it
 * writes nothing. */
static void note_at_the_end(struct ticking *ticking, struct tide_err *err) {
  struct tide_durable txn;
  if (ticking->deliveries.noted || ticking->deliveries.tick->batches == 0 ||
      ticking->finished < ticking->backlog.nparts || tide_err_is_set(err))
    return;
  tide_durable_begin_plain(ticking->deliveries.runner->conn->db, ticking->deliveries.runner->schema, &txn, err);
  tide_deliveries_note(&ticking->deliveries, err);
  tide_durable_end(&txn, err);
}

/* ---- the calls ---- */

static int parse_config(struct ticking *ticking, struct tide_err *err) {
  const struct tide_sink_words words = tide_sink_words_of_row(&ticking->backlog.sink);
  return tide_sink_config_parse(ticking->deliveries.runner->schemes, ticking->deliveries.ds->spec, &words,
                                &ticking->config, err);
}

static void clear_ticking(struct ticking *ticking) {
  tide_backlog_clear(&ticking->backlog);
  tide_sink_config_clear(&ticking->config);
  tide_deliveries_clear(&ticking->deliveries);
}

static bool find_work(struct ticking *ticking, const struct tide_sink *sink, struct tide_err *err) {
  struct tide_deliveries *deliveries = &ticking->deliveries;
  if (!tide_backlog_read(&ticking->backlog, deliveries->runner, deliveries->ds, sink, true, err))
    return false;
  deliveries->sink = &ticking->backlog.sink;
  deliveries->newest = ticking->backlog.newest;
  return true;
}

/* Whether the target as a whole asked to be left alone until later. */
static bool must_wait(struct ticking *ticking, struct tide_err *err) {
  const struct tide_deliveries *deliveries = &ticking->deliveries;
  if (deliveries->runner->now || tide_sink_is_due(tide_backlog_not_before(&ticking->backlog, deliveries->runner, err),
                                                  tide_dataset_now_ms(deliveries->ds)))
    return false;
  deliveries->tick->waiting += (int64_t)ticking->backlog.nparts;
  return true;
}

struct waiting {
  sqlite3_stmt *interrupt;
  struct tide_runner *runner;
};

static bool is_over(void *context, struct tide_err *err) {
  const struct waiting *waiting = context;
  tide_progress_add(&waiting->runner->conn->progress, 0, 0);
  if (!tide_interrupt_is_pending(waiting->interrupt, err) && waiting->runner->renew != NULL)
    waiting->runner->renew(waiting->runner->renew_context, err);
  return tide_err_is_set(err);
}

/* What was open went out under the tick that is counted already. New rows are not to: a database that is restored from
 * a backup in which those batches were open would have the same count. */
static void begin_new_tick(struct ticking *ticking) {
  tide_outlet_close(&ticking->deliveries.outlet);
  ticking->deliveries.runner->told = false;
}

/* What is open already, then what is new. The batches share their statements: to compile those of one costs more than
 * all else about a small one. */
static void work(struct ticking *ticking, struct tide_err *err) {
  struct tide_runner *runner = ticking->deliveries.runner;
  struct tide_stmt_pool *pool = ticking->deliveries.ds->pool;
  tide_stmt_pool_hold(pool);
  sqlite3_stmt *interrupt = tide_interrupt_prepare(runner->conn->db, err);
  struct waiting waiting = {interrupt, runner};
  const struct tide_patience patience = {is_over, &waiting};
  struct tide_terms terms = {0};
  runner->patience = &patience;
  runner->terms = &terms;
  runner->told = false;
  ship_open(ticking, err);
  begin_new_tick(ticking);
  if (ticking->backlog.nparts > 0 && !tide_err_is_set(err)) {
    if (parse_config(ticking, err) == 0)
      export_new(ticking, err);
    note_at_the_end(ticking, err);
  }
  tide_stmt_pool_release(pool);
  tide_deliveries_clear(&ticking->deliveries);
  tide_terms_clear(&terms);
  runner->terms = NULL;
  runner->patience = NULL;
  sqlite3_finalize(interrupt);
}

/* Whether no batch is open in the schema. */
static bool nothing_is_open(const struct ticking *ticking, struct tide_err *err) {
  const struct tide_dataset *ds = ticking->deliveries.ds;
  tide_stmt_pool_hold_lasting(ds->pool);
  const int64_t last = tide_batch_last(ds->conn->db, ds->schema, ds->pool, err);
  tide_stmt_pool_release_lasting(ds->pool);
  return last == 0;
}

/* Of a connection that only ticks or claims, the handle would go with each call, and with it all that makes the next one
 * cheap: the dataset's table keeps it. */
static void keep(struct tide_dataset *ds) {
  if (ds->refs == 1)
    tide_catalog_connect(ds->conn->db, tide_dataset_names(ds));
}

static void tick_sink(struct ticking *ticking, const struct tide_sink *sink, struct tide_err *err) {
  sqlite3 *db = ticking->deliveries.runner->conn->db;
  const char *schema = ticking->deliveries.runner->schema;
  ticking->deliveries.ds =
      tide_dataset_acquire(ticking->deliveries.runner->conn, ticking->deliveries.runner->schema, sink->dataset, err);
  if (ticking->deliveries.ds == NULL)
    return;
  keep(ticking->deliveries.ds);
  if (!find_work(ticking, sink, err))
    return;
  const bool idle = ticking->backlog.nparts == 0 && nothing_is_open(ticking, err);
  if (!idle)
    tide_durable_check_writable(db, schema, err);
  if (!idle && !tide_err_is_set(err))
    tide_sinks_complete(db, schema, err);
  if (!idle && !tide_err_is_set(err) && must_wait(ticking, err))
    return;
  if (!idle && !tide_err_is_set(err))
    work(ticking, err);
}

void tide_runner_tick(struct tide_runner *runner, const struct tide_sink *sink, struct tide_tick *ret_tick,
                      struct tide_err *err) {
  struct ticking ticking = {.deliveries = {.runner = runner, .tick = ret_tick}};
  struct tide_err failure = {0};
  tick_sink(&ticking, sink, &failure);
  clear_ticking(&ticking);
  tide_deliveries_explain(runner, sink, &failure);
  if (tide_deliveries_concerns_all(&failure))
    tide_err_set(err, failure.rc, "%s", failure.msg);
  else if (tide_err_is_set(&failure))
    tide_deliveries_report(ret_tick, NULL, failure.msg, 0, err);
}

static bool is_anothers(const struct tide_runner *runner, const struct tide_batch_row *row) {
  return row->owner == NULL || strcmp(row->owner, runner->owner) != 0;
}

/* ret_unsure: one that another process claimed is nobody's by now, or may not be on the disk. */
static int64_t count_open(struct ticking *ticking, bool *ret_unsure, struct tide_err *err) {
  const struct tide_runner *runner = ticking->deliveries.runner;
  const struct tide_dataset *ds = ticking->deliveries.ds;
  const int64_t now = tide_dataset_now_ms(ds);
  struct tide_batch_row row;
  int64_t open = 0;
  *ret_unsure = false;
  sqlite3_stmt *stmt = tide_batch_prepare(runner->conn->db, runner->schema, 0, ticking->backlog.sink.sink,
                                          ticking->backlog.sink.dataset, err);
  while (tide_batch_next(stmt, &row, err)) {
    open++;
    *ret_unsure |= is_anothers(runner, &row) &&
                   (row.batch > ds->durable_batch || tide_batch_is_abandoned(row.owner, row.lease_until, now));
    tide_batch_row_clear(&row);
  }
  sqlite3_finalize(stmt);
  return open;
}

/* Takes what nobody works on any more, and leaves the others theirs. Gives the highest number that is open. */
static int64_t own_abandoned(struct ticking *ticking, bool *ret_written, struct tide_err *err) {
  const struct tide_runner *runner = ticking->deliveries.runner;
  const int64_t now = tide_dataset_now_ms(ticking->deliveries.ds);
  struct tide_batch_row row;
  int64_t last = 0;
  *ret_written = false;
  while (!tide_err_is_set(err) && tide_backlog_next_open(&ticking->backlog, runner, last, &row, err)) {
    last = row.batch;
    if (is_anothers(runner, &row) && tide_batch_is_abandoned(row.owner, row.lease_until, now)) {
      tide_batch_own(runner->conn->db, runner->schema, row.batch, runner->owner, now + TIDE_BATCH_LEASE_MS, err);
      *ret_written = true;
    }
    tide_batch_row_clear(&row);
  }
  return last;
}

/* A process that is killed between the write and the sync of its claim leaves a batch that everybody sees and that the
 * disk does not have. The caller may ship it next, so a commit that is durable follows it, once for each batch: numbers
 * ascend in the order of the claims, and what was committed before is synced along. */
static void make_durable(struct ticking *ticking, struct tide_err *err) {
  const struct tide_runner *runner = ticking->deliveries.runner;
  struct tide_durable durable;
  bool written;
  tide_durable_begin(runner->conn->db, runner->schema, &durable, err);
  const int64_t last = own_abandoned(ticking, &written, err);
  if (!written && !tide_err_is_set(err))
    tide_batch_pass_number(runner->conn->db, runner->schema, err);
  tide_durable_end(&durable, err);
  if (!tide_err_is_set(err))
    ticking->deliveries.ds->durable_batch = last;
}

int64_t tide_runner_claim(struct tide_runner *runner, const struct tide_sink *sink, struct tide_err *err) {
  struct tide_tick tick = {0};
  struct tide_batch_row row;
  struct ticking ticking = {.deliveries = {.runner = runner, .tick = &tick}};
  int64_t open = 0;
  bool unsure;
  ticking.deliveries.ds = tide_dataset_acquire(runner->conn, runner->schema, sink->dataset, err);
  if (ticking.deliveries.ds != NULL) {
    keep(ticking.deliveries.ds);
    tide_sinks_complete(runner->conn->db, runner->schema, err);
  }
  if (!tide_err_is_set(err) && find_work(&ticking, sink, err) && parse_config(&ticking, err) == 0) {
    tide_stmt_pool_hold(ticking.deliveries.ds->pool);
    for (size_t i = 0; i < ticking.backlog.nparts && !tide_err_is_set(err); i++) {
      const struct tide_claim_reach reach = {ticking.backlog.parts[i].partition, ticking.backlog.parts[i].newest, 0};
      if (tide_claim_next(runner, &ticking.backlog.sink, &ticking.config, ticking.deliveries.ds, &reach, &row, err) ==
              TIDE_CLAIM_MADE &&
          !tide_err_is_set(err))
        tide_batch_row_clear(&row);
    }
    open = count_open(&ticking, &unsure, err);
    if (unsure && !tide_err_is_set(err))
      make_durable(&ticking, err);
    tide_stmt_pool_release(ticking.deliveries.ds->pool);
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
  const struct tide_names names = {.schema = runner->schema, .dataset = row->dataset};
  if (!tide_err_is_set(err))
    tide_exportlog_ack(runner->conn->db, names, row, &log, err);
  tide_durable_end(&txn, err);
  *ret_ack = log;
}
