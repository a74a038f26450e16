/* tidemark_peek, tidemark_fork and tidemark_requeue: what sinks that reach outside are asked for beside a tick. Each
 * takes a sink and, when several datasets have one of that name and only one is meant, a dataset. */
#include <string.h>

#include "base/host.h"
#include "base/mem.h"
#include "function_call.h"
#include "glue.h"
#include "sink/peek.h"
#include "sink/requeue.h"
#include "sink/runner.h"
#include "store/durable.h"
#include "store/interrupt.h"
#include "store/sink_count.h"
#include "store/sinks.h"

struct outside_call {
  struct tide_functions *functions;
  const char *sink;
  const char *dataset; /* NULL: every one */
  void (*one)(struct outside_call *call, struct tide_runner *runner, const struct tide_sink *sink,
              struct tide_err *err);
  bool only_looks; /* it may be called while statements are open, such as that which takes its JSON apart */
  int64_t found;
  struct tide_buf *json;
};

/* The sink of that name and dataset that follows another: read anew each time, for the call may write. */
static bool next_sink(struct outside_call *call, const char *schema, int64_t skip, struct tide_sink *ret_sink,
                      struct tide_err *err) {
  struct tide_conn *conn = call->functions->conn;
  const char *wanted = tide_functions_name_in(conn, call->sink, schema);
  const char *dataset = tide_functions_name_in(conn, call->dataset, schema);
  if (wanted == NULL || (call->dataset != NULL && dataset == NULL))
    return false;
  sqlite3_stmt *stmt = tide_sink_prepare(conn->db, schema, wanted, dataset, err);
  bool found = tide_sink_next(stmt, ret_sink, err);
  for (; found && skip > 0; skip--) {
    tide_sink_clear(ret_sink);
    found = tide_sink_next(stmt, ret_sink, err);
  }
  sqlite3_finalize(stmt);
  return found;
}

static void call_schema(void *data, const char *schema, struct tide_err *err) {
  struct outside_call *call = data;
  struct tide_sink sink;
  struct tide_runner runner = {.conn = call->functions->conn,
                               .schemes = &call->functions->shared->schemes,
                               .schema = schema,
                               .owner = call->functions->owner,
                               .batches_left = INT64_MAX};
  for (int64_t skip = 0; !tide_err_is_set(err) && next_sink(call, schema, skip, &sink, err); skip++) {
    if (call->found++ > 0)
      tide_buf_put_u8(call->json, ',', err);
    if (sink.target == NULL)
      tide_err_set(err, SQLITE_ERROR, "sink %s has no target: it is driven by its user", sink.sink);
    else
      call->one(call, &runner, &sink, err);
    tide_sink_clear(&sink);
  }
}

static void call_outside(sqlite3_context *context, const char *name, struct outside_call *call, int argc,
                         sqlite3_value **argv) {
  struct tide_err err = {0};
  struct tide_buf json = {0};
  call->functions = tide_functions_of(context);
  call->json = &json;
  call->sink = tide_glue_text(argv[0], &err);
  call->dataset = argc > 1 ? tide_glue_text(argv[1], &err) : NULL;
  if (!call->only_looks) {
    tide_durable_check_idle(call->functions->conn->db, name, &err);
    tide_durable_check_rules(call->functions->conn->db, name, &err);
  } else if (sqlite3_txn_state(call->functions->conn->db, NULL) == SQLITE_TXN_WRITE) {
    tide_err_set(&err, SQLITE_MISUSE, "%s: a transaction that wrote is still open: commit first", name);
  }
  if (call->sink == NULL || (argc > 1 && call->dataset == NULL))
    tide_err_set(&err, SQLITE_ERROR, "%s takes the name of a sink and, if need be, of its dataset", name);
  tide_buf_put_string(&json, "{\"sinks\":[", &err);
  if (!tide_err_is_set(&err))
    tide_functions_each_schema(call->functions->conn, call_schema, call, &err);
  tide_buf_put_string(&json, "]}", &err);
  if (call->found == 0 && !tide_err_is_set(&err))
    tide_functions_no_sink(call->sink, call->dataset, &err);
  tide_functions_finish(context, &json, &err);
}

static void put_sink(struct outside_call *call, const struct tide_sink *sink, struct tide_err *err) {
  tide_buf_put_u8(call->json, '{', err);
  tide_functions_put_text(call->json, "sink", sink->sink, err);
  tide_buf_put_u8(call->json, ',', err);
  tide_functions_put_text(call->json, "dataset", sink->dataset, err);
}

/* ---- tidemark_peek ---- */

static void peek_one(struct outside_call *call, struct tide_runner *runner, const struct tide_sink *sink,
                     struct tide_err *err) {
  if (tide_sinks_lack_any(runner->conn->db, runner->schema, err))
    tide_err_set(err, SQLITE_ERROR, "schema %s is of an earlier Tidemark: the next tidemark_export adds what it lacks",
                 runner->schema);
  else
    tide_peek(runner, sink, call->json, err);
}

void tide_function_peek(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct outside_call call = {.one = peek_one, .only_looks = true};
  call_outside(context, "tidemark_peek", &call, argc, argv);
}

/* ---- tidemark_fork ---- */

/* What another process sends this moment may arrive under the old names, and again under the new ones. */
static void refuse_while_shipping(const struct tide_runner *runner, const struct tide_sink *sink,
                                  struct tide_err *err) {
  struct tide_batch_row row;
  const int64_t now = tide_host_now_ms(runner->conn->db, runner->schema);
  sqlite3_stmt *stmt = tide_batch_prepare(runner->conn->db, runner->schema, 0, sink->sink, sink->dataset, err);
  while (tide_batch_next(stmt, &row, err)) {
    if (!tide_batch_is_abandoned(row.owner, row.lease_until, now) && strcmp(row.owner, runner->owner) != 0)
      tide_err_set(err, SQLITE_BUSY,
                   "sink %s: batch %lld is being shipped by another process: fork when that has ended", sink->sink,
                   (long long)row.batch);
    tide_batch_row_clear(&row);
  }
  sqlite3_finalize(stmt);
}

static void fork_one(struct outside_call *call, struct tide_runner *runner, const struct tide_sink *sink,
                     struct tide_err *err) {
  struct tide_durable durable;
  char log_id[TIDE_HOST_ID_SIZE];
  int64_t given_up = 0;
  sqlite3 *db = runner->conn->db;
  tide_host_random_id(log_id);
  tide_sinks_complete(db, runner->schema, err);
  if (tide_err_is_set(err))
    return;
  tide_durable_begin(db, runner->schema, &durable, err);
  if (!tide_err_is_set(err))
    refuse_while_shipping(runner, sink, err);
  if (!tide_err_is_set(err)) {
    given_up = tide_sink_fork(db, runner->schema, sink->sink, sink->dataset, log_id, err);
    tide_sink_set_state(db, runner->schema, sink->sink, sink->dataset, "diverged", "active", err);
  }
  tide_durable_end(&durable, err);
  put_sink(call, sink, err);
  tide_buf_printf(call->json, err, ",\"log_id\":\"%s\",\"given_up\":%lld}", log_id, (long long)given_up);
}

void tide_function_fork(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct outside_call call = {.one = fork_one};
  call_outside(context, "tidemark_fork", &call, argc, argv);
}

/* ---- tidemark_requeue ---- */

static void requeue_one(struct outside_call *call, struct tide_runner *runner, const struct tide_sink *sink,
                        struct tide_err *err) {
  struct tide_requeue result = {0};
  sqlite3_stmt *interrupt = tide_interrupt_prepare(runner->conn->db, err);
  const struct tide_patience patience = {tide_interrupt_is_pending, interrupt};
  runner->patience = &patience;
  runner->told = false;
  if (!tide_err_is_set(err))
    tide_sinks_complete(runner->conn->db, runner->schema, err);
  if (!tide_err_is_set(err))
    tide_requeue(runner, sink, &result, err);
  sqlite3_finalize(interrupt);
  put_sink(call, sink, err);
  tide_buf_printf(call->json, err, ",\"sent\":%lld,\"delivered\":%lld,\"refused\":%lld,", (long long)result.sent,
                  (long long)result.delivered, (long long)result.refused);
  if (result.failure != NULL)
    tide_functions_put_text(call->json, "failure", result.failure, err);
  else
    tide_buf_put_string(call->json, "\"failure\":null", err);
  tide_buf_put_u8(call->json, '}', err);
  tide_free(result.failure);
}

void tide_function_requeue(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct outside_call call = {.one = requeue_one};
  call_outside(context, "tidemark_requeue", &call, argc, argv);
}
