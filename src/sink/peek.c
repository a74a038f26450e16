#include "sink/peek.h"

#include <string.h>

#include "sink/backlog.h"
#include "sink/claim.h"
#include "sink/json.h"
#include "store/sink_count.h"

struct peeking {
  struct tide_runner *runner;
  struct tide_dataset *ds;
  struct tide_backlog backlog;
  struct tide_sink_config config;
  struct tide_buf *json;
  int64_t not_before; /* of the target as a whole */
  int64_t listed;
  int64_t rows;
  bool more;
};

static void put_text(struct tide_buf *json, const char *name, const char *text, struct tide_err *err) {
  bool altered = false;
  tide_buf_printf(json, err, "\"%s\":", name);
  if (text != NULL)
    tide_json_put_string(json, text, strlen(text), &altered, err);
  else
    tide_buf_put_string(json, "null", err);
}

/* false when the list is full. */
static bool begin_batch(struct peeking *peeking, const char *partition, const char *does, struct tide_err *err) {
  if (peeking->listed == TIDE_PEEK_BATCHES_MAX) {
    peeking->more = true;
    return false;
  }
  tide_buf_put_string(peeking->json, peeking->listed++ > 0 ? ",{" : "{", err);
  put_text(peeking->json, "partition", partition, err);
  tide_buf_put_u8(peeking->json, ',', err);
  put_text(peeking->json, "does", does, err);
  return true;
}

static void end_batch(struct peeking *peeking, int64_t since, int64_t until, int64_t rows, const char *object,
                      struct tide_err *err) {
  tide_buf_printf(peeking->json, err, ",\"since\":%lld,\"until\":%lld,\"rows\":%lld,", (long long)since,
                  (long long)until, (long long)rows);
  put_text(peeking->json, "object", object, err);
  tide_buf_put_u8(peeking->json, '}', err);
}

/* The target that the batch was claimed with: the sink may have another by now. */
static void put_own_target(struct peeking *peeking, const struct tide_batch_row *row, struct tide_err *err) {
  struct tide_frozen frozen = {0};
  tide_buf_put_u8(peeking->json, ',', err);
  if (tide_frozen_read(peeking->runner->conn->db, row->config, &frozen, err) == 0)
    put_text(peeking->json, "target", frozen.target, err);
  tide_frozen_clear(&frozen);
}

static void put_open(struct peeking *peeking, const struct tide_batch_row *row, struct tide_err *err) {
  const int64_t now = tide_dataset_now_ms(peeking->ds);
  const int64_t not_before = row->not_before > peeking->not_before ? row->not_before : peeking->not_before;
  const bool later = !peeking->runner->now && !tide_sink_is_due(not_before, now);
  const char *does = !tide_backlog_may_take(peeking->runner, row, now) ? "leave" : later ? "later" : "retry";
  if (!begin_batch(peeking, row->partition, does, err))
    return;
  tide_buf_printf(peeking->json, err, ",\"batch\":%lld,\"attempts\":%lld", (long long)row->batch,
                  (long long)row->attempts);
  if (later)
    tide_buf_printf(peeking->json, err, ",\"retry_at\":%lld", (long long)not_before);
  put_own_target(peeking, row, err);
  end_batch(peeking, row->since, row->until, row->rows, row->object, err);
  if (strcmp(does, "retry") == 0)
    peeking->rows += row->rows;
}

static void put_open_batches(struct peeking *peeking, struct tide_err *err) {
  struct tide_batch_row row;
  int64_t done = 0;
  while (!peeking->more && tide_backlog_next_open(&peeking->backlog, peeking->runner, done, &row, err)) {
    done = row.batch;
    put_open(peeking, &row, err);
    tide_batch_row_clear(&row);
  }
}

/* A partition that has an open batch is in the list already. */
static void put_part(struct peeking *peeking, const struct tide_backlog_part *part, struct tide_err *err) {
  struct tide_claim_view view;
  struct tide_runner *runner = peeking->runner;
  const struct tide_sink *sink = &peeking->backlog.sink;
  const struct tide_claim_reach reach = {part->partition, part->newest, 0};
  const enum tide_claim_outcome outcome =
      tide_claim_look(runner, sink, &peeking->config, peeking->ds, &reach, &view, err);
  const bool open = view.partition != NULL && tide_batch_is_open(runner->conn->db, tide_dataset_names(peeking->ds),
                                                                 sink->sink, view.partition, err);
  const bool waits = outcome == TIDE_CLAIM_WAITS ||
                     (!runner->now && !tide_sink_is_due(peeking->not_before, tide_dataset_now_ms(peeking->ds)));
  if (view.partition != NULL && !open && begin_batch(peeking, view.partition, waits ? "wait" : "export", err)) {
    end_batch(peeking, view.since, view.until, view.rows, view.object, err);
    peeking->rows += waits ? 0 : view.rows;
  }
  tide_claim_view_clear(&view);
}

static void put_sink(struct peeking *peeking, struct tide_err *err) {
  const struct tide_sink *sink = &peeking->backlog.sink;
  tide_buf_put_u8(peeking->json, '{', err);
  put_text(peeking->json, "sink", sink->sink, err);
  tide_buf_put_u8(peeking->json, ',', err);
  put_text(peeking->json, "dataset", sink->dataset, err);
  tide_buf_put_u8(peeking->json, ',', err);
  put_text(peeking->json, "state", sink->state, err);
  tide_buf_put_u8(peeking->json, ',', err);
  put_text(peeking->json, "target", sink->target, err);
  if (!tide_sink_is_due(peeking->not_before, tide_dataset_now_ms(peeking->ds)))
    tide_buf_printf(peeking->json, err, ",\"retry_at\":%lld", (long long)peeking->not_before);
  tide_buf_put_string(peeking->json, ",\"batches\":[", err);
}

static void peek(struct peeking *peeking, struct tide_err *err) {
  const struct tide_sink_words words = tide_sink_words_of_row(&peeking->backlog.sink);
  if (tide_sink_config_parse(peeking->runner->schemes, peeking->ds->spec, &words, &peeking->config, err) != 0)
    return;
  peeking->not_before = tide_backlog_not_before(&peeking->backlog, peeking->runner, err);
  put_sink(peeking, err);
  put_open_batches(peeking, err);
  for (size_t i = 0; i < peeking->backlog.nparts && !peeking->more && !tide_err_is_set(err); i++)
    put_part(peeking, &peeking->backlog.parts[i], err);
  tide_buf_printf(peeking->json, err, "],\"rows\":%lld,\"more\":%s}", (long long)peeking->rows,
                  peeking->more ? "true" : "false");
}

void tide_peek(struct tide_runner *runner, const struct tide_sink *sink, struct tide_buf *json, struct tide_err *err) {
  struct peeking peeking = {.runner = runner, .json = json};
  peeking.ds = tide_dataset_acquire(runner->conn, runner->schema, sink->dataset, err);
  if (peeking.ds != NULL && tide_backlog_read(&peeking.backlog, runner, peeking.ds, sink, false, err))
    peek(&peeking, err);
  tide_sink_config_clear(&peeking.config);
  tide_backlog_clear(&peeking.backlog);
  tide_dataset_release(peeking.ds);
}
