#include "sink/deliver.h"

#include <string.h>

#include "base/mem.h"
#include "sink/claim.h"
#include "sink/dead_rows.h"
#include "sink/json.h"
#include "sink/ship.h"
#include "store/durable.h"
#include "store/sinks.h"

enum {
  RETRY_FIRST_MS = 1000,
  RETRY_MAX_MS = 300000,
  DEAD_IN_A_ROW_MAX = 10 /* rows set aside with none taken between them: it is not the rows */
};

void tide_deliveries_clear(struct tide_deliveries *deliveries) {
  tide_outlet_close(&deliveries->outlet);
  tide_dataset_release(deliveries->ds);
  deliveries->ds = NULL;
}

bool tide_deliveries_concerns_all(const struct tide_err *err) {
  const int rc = err->rc & 0xff;
  return rc == SQLITE_NOMEM || rc == SQLITE_INTERRUPT || rc == SQLITE_BUSY || rc == SQLITE_LOCKED;
}

void tide_deliveries_explain(const struct tide_runner *runner, const struct tide_sink *sink, struct tide_err *failure) {
  struct tide_err unknown = {0};
  const struct tide_names names = {.schema = runner->schema, .dataset = sink->dataset};
  if (failure->rc != SQLITE_CORRUPT_VTAB || !sink->registered)
    return;
  char *registered = tide_sinks_find_dataset(runner->conn->db, names, &unknown);
  if (registered == NULL && !tide_err_is_set(&unknown)) {
    tide_err_clear(failure);
    tide_err_set(failure, SQLITE_SCHEMA, "dataset %s was renamed or dropped during the tick: call again",
                 sink->dataset);
  }
  tide_free(registered);
}

int64_t tide_deliveries_most_rows(const struct tide_deliveries *deliveries) {
  const int64_t a = deliveries->most_rows, b = deliveries->never_more;
  return a == 0 || (b != 0 && b < a) ? b : a;
}

void tide_deliveries_note(struct tide_deliveries *deliveries, struct tide_err *err) {
  if (!tide_err_is_set(err))
    tide_sink_set_caught_up(deliveries->runner->conn->db, deliveries->runner->schema, deliveries->sink,
                            deliveries->newest, err);
  deliveries->noted = true;
}

/* ---- failures ---- */

/* 1 s, doubling to 5 min, each less up to a quarter, so that many that failed together do not come back together. The
 * number comes from a table that anybody may write: below 0 is as 0. */
static int64_t retry_delay(int64_t attempts) {
  uint32_t random = 0;
  const int64_t doublings = attempts < 0 ? 0 : attempts < 9 ? attempts : 9;
  int64_t delay = (int64_t)RETRY_FIRST_MS << doublings;
  if (delay > RETRY_MAX_MS)
    delay = RETRY_MAX_MS;
  sqlite3_randomness((int)sizeof random, &random);
  return doublings == 0 ? delay : delay - (int64_t)(random % (uint32_t)(delay / 4));
}

void tide_deliveries_report(struct tide_tick *tick, const struct tide_batch_row *row, const char *message,
                            int64_t retry_at, struct tide_err *err) {
  bool altered = false;
  if (tick->failed++ >= TIDE_TICK_FAILURES_MAX)
    return;
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

/* The batch stays, with the message on its row, for a later tick; unless it is another's by now, which is then all
 * there is to tell: whatever went wrong may be the other's doing. */
static void keep(struct tide_deliveries *deliveries, const struct tide_batch_row *row, const char *message,
                 int64_t retry_at, struct tide_err *err) {
  struct tide_runner *runner = deliveries->runner;
  if (tide_batch_fail(runner->conn->db, runner->schema, row->batch, message, retry_at, err))
    tide_deliveries_report(deliveries->tick, row, message, retry_at, err);
  else
    tide_deliveries_report(deliveries->tick, row,
                           "the batch was taken over by another process, or given up, while it was shipped", 0, err);
}

static struct tide_sink_place place_of(const struct tide_deliveries *deliveries, const struct tide_batch_row *row) {
  return (struct tide_sink_place){deliveries->runner->schema, row->sink, row->dataset, deliveries->outlet.place};
}

/* Whether the open target is the sink's present one, which new batches go to: an older batch may have another. */
static bool is_present(const struct tide_deliveries *deliveries) {
  const char *place = deliveries->outlet.place, *present = deliveries->sink->folder;
  return place != NULL && present != NULL && strcmp(place, present) == 0;
}

/* The target as a whole does not want to be asked before. Nothing more goes to it in this tick. */
static void keep_all(struct tide_deliveries *deliveries, const struct tide_batch_row *row, const char *message,
                     int64_t asked_ms, struct tide_err *err) {
  struct tide_sink_count count;
  sqlite3 *db = deliveries->runner->conn->db;
  const struct tide_sink_place place = place_of(deliveries, row);
  deliveries->stopped = is_present(deliveries);
  tide_sink_count_read(db, &place, &count, err);
  const int64_t delay = asked_ms < 0                       ? retry_delay(count.attempts)
                        : asked_ms < TIDE_SINK_WAIT_MAX_MS ? asked_ms
                                                           : TIDE_SINK_WAIT_MAX_MS;
  const int64_t retry_at = tide_dataset_now_ms(deliveries->ds) + delay;
  tide_sink_count_wait(db, &place, retry_at, err);
  keep(deliveries, row, message, retry_at, err);
}

static void set_state(struct tide_deliveries *deliveries, const char *state, struct tide_err *err) {
  struct tide_durable txn;
  struct tide_runner *runner = deliveries->runner;
  deliveries->stopped = true;
  tide_durable_begin_plain(runner->conn->db, runner->schema, &txn, err);
  if (!tide_err_is_set(err))
    tide_sink_set_state(runner->conn->db, runner->schema, deliveries->sink->sink, deliveries->sink->dataset, "active",
                        state, err);
  tide_durable_end(&txn, err);
  deliveries->tick->state = state;
}

/* Nobody knows what became of the batch. What is the place's fault concerns all batches for it. */
static void fail(struct tide_deliveries *deliveries, const struct tide_batch_row *row, bool may_have_arrived,
                 const struct tide_err *failure, struct tide_err *err) {
  struct tide_err said = *failure;
  if (said.rc == SQLITE_ERROR && !may_have_arrived) /* of its configuration, which a later one does not change */
    sqlite3_snprintf((int)sizeof said.msg, said.msg,
                     "%s (the batch keeps the configuration it was claimed with: mend the sink, then DELETE FROM "
                     "tidemark_batch WHERE batch = %lld to have its rows claimed anew)",
                     failure->msg, (long long)row->batch);
  else if (deliveries->outlet.place != NULL && deliveries->outlet.target == NULL)
    sqlite3_snprintf(
        (int)sizeof said.msg, said.msg,
        "%s (batch %lld keeps its target: when that is wrong and has nothing of it, mend the sink and delete "
        "the row in tidemark_batch)",
        failure->msg, (long long)row->batch);
  if (tide_outlet_is_to_blame(&deliveries->outlet, &said))
    keep_all(deliveries, row, said.msg, -1, err);
  else
    keep(deliveries, row, said.msg, tide_dataset_now_ms(deliveries->ds) + retry_delay(row->attempts), err);
}

/* ---- acks ---- */

static void remark(const struct tide_shipment *shipment, char *into, size_t size) {
  sqlite3_snprintf((int)size, into, "%lld %s with a value that the format cannot hold as it is",
                   (long long)shipment->altered, shipment->altered == 1 ? "row" : "rows");
}

static void ack_within(struct tide_deliveries *deliveries, const struct tide_batch_row *row,
                       const struct tide_shipment *shipment, const struct tide_dead_rows *dead, struct tide_err *err) {
  char reason[80];
  struct tide_runner *runner = deliveries->runner;
  const int64_t delivered = shipment->rows - (int64_t)dead->count;
  const struct tide_sink_place place = place_of(deliveries, row);
  remark(shipment, reason, sizeof reason);
  const struct tide_ack log = {.rows = delivered,
                               .skipped = shipment->skipped,
                               .dead = (int64_t)dead->count,
                               .bytes = delivered > 0 ? shipment->bytes : 0,
                               .object = delivered > 0 ? row->object : NULL,
                               .hash = delivered > 0 ? shipment->hash : NULL,
                               .reason = shipment->altered > 0 ? reason : NULL};
  tide_exportlog_ack(runner->conn->db, tide_dataset_names(deliveries->ds), row, &log, err);
  tide_dead_rows_insert(dead, runner, row, tide_dataset_now_ms(deliveries->ds), err);
  if (shipment->rows > 0 && !tide_err_is_set(err))
    tide_sink_count_mark(runner->conn->db, deliveries->ds->pool, &place, deliveries->outlet.count.tick,
                         deliveries->outlet.count.refused, err);
}

static void ack(struct tide_deliveries *deliveries, const struct tide_batch_row *row,
                const struct tide_shipment *shipment, const struct tide_dead_rows *dead, bool catches_up,
                struct tide_err *err) {
  struct tide_durable txn;
  struct tide_tick *tick = deliveries->tick;
  tide_durable_begin_plain(deliveries->runner->conn->db, deliveries->runner->schema, &txn, err);
  if (tide_err_is_set(err))
    return;
  ack_within(deliveries, row, shipment, dead, err);
  if (catches_up)
    tide_deliveries_note(deliveries, err);
  tide_durable_end(&txn, err);
  if (tide_err_is_set(err))
    return;
  tick->batches++;
  tick->rows += shipment->rows - (int64_t)dead->count;
  tick->skipped += shipment->skipped;
  tick->dead += (int64_t)dead->count;
  tick->altered += shipment->altered;
  tick->bytes += shipment->bytes;
}

/* ---- answers ---- */

/* Acks the batch with those rows set aside. */
static void set_aside(struct tide_deliveries *deliveries, const struct tide_batch_row *row,
                      const struct tide_shipment *shipment, const struct tide_refused_row *refused, size_t nrefused,
                      bool catches_up, struct tide_err *err) {
  struct tide_dead_rows dead;
  if (tide_dead_rows_collect(&dead, deliveries->runner, row, refused, nrefused, err) == 0)
    ack(deliveries, row, shipment, &dead, catches_up, err);
  tide_dead_rows_clear(&dead);
}

/* The receiver took nothing of the batch: half of it is tried next, down to the row that is to blame. true when there
 * is such a half, which *row then is. */
static bool halve(struct tide_deliveries *deliveries, struct tide_batch_row *row, const struct tide_answer *answer,
                  struct tide_err *err) {
  const int64_t half = row->rows / 2;
  if (answer->verdict == TIDE_VERDICT_TOO_LARGE)
    deliveries->never_more = half;
  else
    deliveries->most_rows = half;
  if (!tide_claim_split(deliveries->runner, deliveries->ds, row, half, err)) {
    tide_err_set(err, SQLITE_CONSTRAINT, "batch %lld is not open any more", (long long)row->batch);
    return false;
  }
  if (deliveries->runner->batches_left > 0)
    return true;
  deliveries->tick->more = true;
  return false;
}

static void bury(struct tide_deliveries *deliveries, const struct tide_batch_row *row,
                 const struct tide_shipment *shipment, bool catches_up, struct tide_err *err) {
  struct tide_err said = {0};
  char message[TIDE_ANSWER_MESSAGE_SIZE];
  const struct tide_answer *answer = &shipment->answer;
  sqlite3_snprintf((int)sizeof message, message, "%s",
                   answer->verdict == TIDE_VERDICT_PARTLY ? answer->refused[0].reason : answer->message);
  const struct tide_refused_row only = {.row = 0, .reason = message};
  const struct tide_sink_place place = place_of(deliveries, row);
  if (deliveries->outlet.count.refused < DEAD_IN_A_ROW_MAX) {
    deliveries->outlet.count.refused++;
    set_aside(deliveries, row, shipment, &only, 1, catches_up, err);
    return;
  }
  tide_err_set(
      &said, SQLITE_CONSTRAINT,
      "%d rows in a row were refused, so that it seems not to be the rows (when that is mended, set the sink's "
      "state to active): %s",
      DEAD_IN_A_ROW_MAX, message);
  deliveries->outlet.count.refused = 0; /* for when the sink is active again */
  tide_sink_count_mark(deliveries->runner->conn->db, deliveries->ds->pool, &place, deliveries->outlet.count.tick, 0,
                       err);
  set_state(deliveries, "blocked", err);
  keep(deliveries, row, said.msg, 0, err);
}

/* The target was told of a later tick. By another process of ours, or not by this database. A receiver that has a lower
 * count than it was sent does not do as it should; that is no sign of another database. */
static void settle_ahead(struct tide_deliveries *deliveries, const struct tide_batch_row *row, int64_t tick,
                         struct tide_err *err) {
  struct tide_sink_count count;
  struct tide_err said = {0};
  const int64_t sent = deliveries->outlet.count.tick;
  const bool forwards = deliveries->outlet.scheme->forwards;
  const struct tide_sink_place place = place_of(deliveries, row);
  tide_sink_count_read(deliveries->runner->conn->db, &place, &count, err);
  if (forwards && tick < sent)
    tide_err_set(&said, SQLITE_IOERR, "the receiver refuses tick %lld of this sink, for it knows of tick %lld only",
                 (long long)sent, (long long)tick);
  else if (count.tick > sent && count.tick >= tick)
    tide_err_set(&said, SQLITE_BUSY, "another process told the target of a later tick meanwhile");
  if (tide_err_is_set(&said)) {
    keep_all(deliveries, row, said.msg, -1, err);
    return;
  }
  tide_outlet_refuse_ahead(forwards ? "the receiver" : place.place, row->sink, tick, &said);
  set_state(deliveries, "diverged", err);
  keep(deliveries, row, said.msg, 0, err);
}

enum next { DONE, FAILED, AGAIN };

/* Nothing of the batch was taken. */
static enum next refuse(struct tide_deliveries *deliveries, struct tide_batch_row *row,
                        const struct tide_shipment *shipment, bool catches_up, struct tide_err *err) {
  if (shipment->rows > 1)
    return halve(deliveries, row, &shipment->answer, err) ? AGAIN : FAILED;
  bury(deliveries, row, shipment, catches_up, err);
  return deliveries->stopped ? FAILED : DONE;
}

static enum next settle(struct tide_deliveries *deliveries, struct tide_batch_row *row,
                        const struct tide_shipment *shipment, bool catches_up, struct tide_err *err) {
  static const struct tide_dead_rows none = {0};
  const struct tide_answer *answer = &shipment->answer;
  switch (answer->verdict) {
  case TIDE_VERDICT_TAKEN:
  case TIDE_VERDICT_EXISTS:
    if (deliveries->most_rows > 0 && shipment->rows > 0)
      deliveries->most_rows *= 2;
    if (shipment->rows > 0)
      deliveries->outlet.count.refused = 0;
    ack(deliveries, row, shipment, &none, catches_up, err);
    return DONE;
  case TIDE_VERDICT_PARTLY:
    if ((int64_t)answer->nrefused == shipment->rows)
      return refuse(deliveries, row, shipment, catches_up, err);
    deliveries->outlet.count.refused = 0;
    set_aside(deliveries, row, shipment, answer->refused, answer->nrefused, catches_up, err);
    return DONE;
  case TIDE_VERDICT_TOO_LARGE:
  case TIDE_VERDICT_REFUSED:
    return refuse(deliveries, row, shipment, catches_up, err);
  case TIDE_VERDICT_LATER:
    keep_all(deliveries, row, answer->message, answer->retry_after_ms, err);
    return FAILED;
  case TIDE_VERDICT_FORBIDDEN:
    set_state(deliveries, "blocked", err);
    keep(deliveries, row, answer->message, 0, err);
    return FAILED;
  case TIDE_VERDICT_AHEAD:
    settle_ahead(deliveries, row, answer->tick, err);
    return FAILED;
  }
  return FAILED;
}

bool tide_deliver(struct tide_deliveries *deliveries, struct tide_batch_row *row, unsigned how, int64_t upto,
                  struct tide_err *err) {
  enum next next = AGAIN;
  bool again = (how & TIDE_DELIVER_AGAIN) != 0;
  while (next == AGAIN) {
    struct tide_shipment shipment;
    struct tide_err failure = {0};
    deliveries->runner->batches_left--;
    tide_ship(deliveries->runner, row, again, &deliveries->outlet, &shipment, &failure);
    const bool catches_up = (how & TIDE_DELIVER_CATCHES_UP) != 0 && row->until >= upto;
    const bool arrived = shipment.may_have_arrived || row->attempts > 0 || again;
    const bool ahead = tide_err_is_set(&failure) && shipment.answer.verdict == TIDE_VERDICT_AHEAD;
    if (ahead || !tide_err_is_set(&failure)) {
      tide_err_clear(&failure);
      next = settle(deliveries, row, &shipment, catches_up, &failure);
    }
    tide_answer_clear(&shipment.answer);
    again = false;
    if (!tide_err_is_set(&failure))
      continue;
    next = FAILED;
    tide_deliveries_explain(deliveries->runner, deliveries->sink, &failure);
    if (tide_deliveries_concerns_all(&failure))
      tide_err_set(err, failure.rc, "%s", failure.msg);
    else
      fail(deliveries, row, arrived, &failure, err);
  }
  deliveries->runner->told = deliveries->outlet.log_id != NULL && is_present(deliveries);
  return next == DONE;
}
