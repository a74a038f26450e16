#include "sink/requeue.h"

#include <string.h>

#include "base/mem.h"
#include "sink/claim.h"
#include "sink/outlet.h"
#include "store/dead.h"
#include "store/durable.h"

struct requeuing {
  struct tide_runner *runner;
  const struct tide_sink *sink;
  struct tide_dataset *ds;
  struct tide_sink_config config;
  struct tide_outlet outlet;
  char *log_id;
  struct tide_requeue *result;
};

static char *make_key(const struct requeuing *requeuing, const struct tide_dead_row *row, struct tide_err *err) {
  struct tide_buf key = {0};
  const struct tide_sink *sink = requeuing->sink;
  tide_claim_put_key_head(sink, requeuing->log_id, &key, err);
  tide_buf_printf(&key, err, "/dead/%lld-%lld", (long long)row->id, (long long)row->at);
  tide_buf_put_u8(&key, 0, err);
  if (tide_err_is_set(err))
    tide_buf_clear(&key);
  return (char *)key.data;
}

static bool count_attempt(struct requeuing *requeuing, int64_t id, const struct tide_sink_place *place,
                          struct tide_err *err) {
  struct tide_durable durable;
  struct tide_runner *runner = requeuing->runner;
  bool there = false;
  tide_durable_begin(runner->conn->db, runner->schema, &durable, err);
  if (!tide_err_is_set(err)) {
    there = tide_dead_attempt(runner->conn->db, runner->schema, id, err);
    if (there && !runner->told)
      tide_sink_count_next(runner->conn->db, place, err);
  }
  tide_durable_end(&durable, err);
  return there && !tide_err_is_set(err);
}

static void post(struct requeuing *requeuing, const struct tide_dead_row *row, const struct tide_sink_place *place,
                 struct tide_answer *ret_answer, struct tide_err *err) {
  char *key = make_key(requeuing, row, err);
  const struct tide_outlet_call call = {.db = requeuing->runner->conn->db,
                                        .place = *place,
                                        .log_id = requeuing->log_id,
                                        .dataset = requeuing->sink->prefix,
                                        .patience = requeuing->runner->patience};
  struct tide_outlet *outlet = &requeuing->outlet;
  if (!tide_err_is_set(err))
    tide_outlet_open(outlet, &call, &requeuing->config, requeuing->sink->options, &ret_answer->tick, err);
  const struct tide_object object = {.name = key,
                                     .log_id = requeuing->log_id,
                                     .key = key,
                                     .media_type = tide_format_ndjson.media_type,
                                     .tick = outlet->count.tick,
                                     .tick_token = outlet->count.token};
  if (!tide_err_is_set(err) && outlet->target->methods->begin(outlet->target, &object, err) == 0 &&
      outlet->target->methods->write(outlet->target, row->payload, strlen(row->payload), err) == 0 &&
      outlet->target->methods->write(outlet->target, "\n", 1, err) == 0)
    outlet->target->methods->commit(outlet->target, ret_answer, err);
  requeuing->runner->told = outlet->log_id != NULL;
  tide_free(key);
}

/* false when the answer was not about the row. */
static bool settle(struct requeuing *requeuing, const struct tide_dead_row *row, const struct tide_answer *answer,
                   const struct tide_sink_place *place, struct tide_err *err) {
  struct tide_durable txn;
  struct tide_runner *runner = requeuing->runner;
  sqlite3 *db = runner->conn->db;
  const bool taken = answer->verdict == TIDE_VERDICT_TAKEN;
  const char *reason =
      answer->verdict == TIDE_VERDICT_PARTLY && answer->nrefused > 0 ? answer->refused[0].reason : answer->message;
  if (!taken && answer->verdict != TIDE_VERDICT_REFUSED && answer->verdict != TIDE_VERDICT_TOO_LARGE &&
      answer->verdict != TIDE_VERDICT_PARTLY) {
    if (answer->verdict == TIDE_VERDICT_LATER && answer->retry_after_ms >= 0)
      tide_sink_count_wait(db, place, tide_dataset_now_ms(requeuing->ds) + answer->retry_after_ms, err);
    requeuing->result->failure = tide_copy_string(answer->message, err);
    return false;
  }
  tide_durable_begin_plain(db, runner->schema, &txn, err);
  if (taken && !tide_err_is_set(err))
    tide_dead_delete(db, runner->schema, row->id, err);
  else if (!tide_err_is_set(err))
    tide_dead_refuse(db, runner->schema, row->id, reason, err);
  if (taken)
    requeuing->outlet.count.refused = 0;
  tide_sink_count_mark(db, NULL, place, requeuing->outlet.count.tick, requeuing->outlet.count.refused, err);
  tide_durable_end(&txn, err);
  if (taken)
    requeuing->result->delivered++;
  else
    requeuing->result->refused++;
  return true;
}

/* One row. false when it is to end here. */
static bool send(struct requeuing *requeuing, const struct tide_dead_row *row, struct tide_err *err) {
  struct tide_answer answer = {0};
  struct tide_err failure = {0};
  const struct tide_sink_place place = {requeuing->runner->schema, row->sink, row->dataset, requeuing->config.place};
  if (!count_attempt(requeuing, row->id, &place, err))
    return !tide_err_is_set(err); /* somebody else sent it, or deleted it */
  requeuing->result->sent++;
  post(requeuing, row, &place, &answer, &failure);
  const int kind = failure.rc & 0xff;
  bool on = false;
  if (kind == SQLITE_NOMEM || kind == SQLITE_INTERRUPT)
    tide_err_set(err, failure.rc, "%s", failure.msg);
  else if (tide_err_is_set(&failure))
    requeuing->result->failure = tide_copy_string(failure.msg, err);
  else
    on = settle(requeuing, row, &answer, &place, err);
  tide_answer_clear(&answer);
  return on && !tide_err_is_set(err);
}

static void send_all(struct requeuing *requeuing, struct tide_err *err) {
  struct tide_dead_row row;
  struct tide_runner *runner = requeuing->runner;
  sqlite3 *db = runner->conn->db;
  int64_t done = 0;
  const int64_t last = tide_dead_last(db, runner->schema, err);
  bool on = true;
  while (on && !tide_err_is_set(err) &&
         tide_dead_next(db, runner->schema, requeuing->sink->sink, requeuing->sink->dataset, done, last, &row, err)) {
    done = row.id;
    on = send(requeuing, &row, err);
    tide_dead_row_clear(&row);
  }
}

/* Not while the receiver asked to be left alone. */
static bool may_send(struct requeuing *requeuing, struct tide_err *err) {
  struct tide_sink_count count;
  struct tide_runner *runner = requeuing->runner;
  const struct tide_sink *sink = requeuing->sink;
  const struct tide_sink_place place = {runner->schema, sink->sink, sink->dataset, requeuing->config.place};
  tide_sink_count_read(runner->conn->db, &place, &count, err);
  if (tide_err_is_set(err) || tide_sink_is_due(count.not_before, tide_dataset_now_ms(requeuing->ds)))
    return !tide_err_is_set(err);
  requeuing->result->failure =
      tide_printf(err, "the receiver is to be left alone until %lld", (long long)count.not_before);
  return false;
}

void tide_requeue(struct tide_runner *runner, const struct tide_sink *sink, struct tide_requeue *ret_requeue,
                  struct tide_err *err) {
  struct requeuing requeuing = {.runner = runner, .sink = sink, .result = ret_requeue};
  const struct tide_sink_words words = tide_sink_words_of_row(sink);
  requeuing.ds = tide_dataset_acquire(runner->conn, runner->schema, sink->dataset, err);
  if (requeuing.ds != NULL)
    tide_sink_config_parse(runner->schemes, requeuing.ds->spec, &words, &requeuing.config, err);
  if (!tide_err_is_set(err) && strcmp(sink->state, "active") != 0)
    tide_err_set(err, SQLITE_ERROR, "sink %s is %s: nothing is sent until it is active", sink->sink, sink->state);
  if (!tide_err_is_set(err) && (requeuing.config.scheme == NULL || !requeuing.config.scheme->forwards))
    tide_err_set(err, SQLITE_ERROR, "sink %s does not forward to a receiver, which alone can refuse rows", sink->sink);
  if (!tide_err_is_set(err))
    requeuing.log_id = tide_sink_log_id(runner->conn->db, tide_dataset_names(requeuing.ds), sink->sink,
                                        requeuing.ds->config.log_id, err);
  if (!tide_err_is_set(err) && may_send(&requeuing, err))
    send_all(&requeuing, err);
  tide_outlet_close(&requeuing.outlet);
  tide_free(requeuing.log_id);
  tide_sink_config_clear(&requeuing.config);
  tide_dataset_release(requeuing.ds);
}
