#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "base/mem.h"
#include "function_call.h"
#include "glue.h"
#include "sink/due.h"
#include "sink/runner.h"
#include "store/durable.h"

/* ---- tidemark_export([sink] [, 'dataset=d'] [, 'now'] [, 'max_batches=n']) ---- */

struct export_call {
  struct tide_functions *functions;
  const char *sink; /* NULL: all active ones */
  const char *dataset;
  bool now;
  int64_t batches_left;
  int64_t matched; /* sinks of that name and dataset */
  int64_t found;   /* of those, the ones that are in the answer */
  struct tide_tick total;
  struct tide_buf *json;
};

static void parse_option(struct export_call *call, const char *text, struct tide_err *err) {
  char *end = NULL;
  if (strcmp(text, "now") == 0) {
    call->now = true;
  } else if (strncmp(text, "dataset=", 8) == 0) {
    call->dataset = text + 8;
  } else if (strncmp(text, "max_batches=", 12) == 0) {
    call->batches_left = strtoll(text + 12, &end, 10);
    if (end == text + 12 || *end != '\0' || call->batches_left < 1)
      tide_err_set(err, SQLITE_ERROR, "tidemark_export: \"%s\" is not max_batches= and a number from 1", text);
  } else if (call->sink == NULL) {
    call->sink = text;
  } else {
    tide_err_set(err, SQLITE_ERROR,
                 "tidemark_export: \"%s\" is not a sink or one of 'now', 'dataset=d', 'max_batches=n'", text);
  }
}

static void parse_export(struct export_call *call, int argc, sqlite3_value **argv, struct tide_err *err) {
  for (int i = 0; i < argc && !tide_err_is_set(err); i++) {
    if (i == 0 && sqlite3_value_type(argv[i]) == SQLITE_NULL)
      continue;
    const char *text = sqlite3_value_type(argv[i]) == SQLITE_TEXT ? tide_glue_text(argv[i], err) : NULL;
    if (text == NULL)
      tide_err_set(err, SQLITE_ERROR, "tidemark_export: argument %d is not text", i + 1);
    else
      parse_option(call, text, err);
  }
}

static void put_tick(struct tide_buf *json, const struct tide_tick *tick, struct tide_err *err) {
  tide_buf_printf(
      json, err,
      "\"batches\":%lld,\"rows\":%lld,\"skipped\":%lld,\"dead\":%lld,\"altered\":%lld,\"bytes\":%lld,\"failed\":%lld,"
      "\"waiting\":%lld,\"stopped\":%lld,\"more\":%s",
      (long long)tick->batches, (long long)tick->rows, (long long)tick->skipped, (long long)tick->dead,
      (long long)tick->altered, (long long)tick->bytes, (long long)tick->failed, (long long)tick->waiting,
      (long long)tick->stopped, tick->more ? "true" : "false");
}

static void add_tick(struct tide_tick *total, const struct tide_tick *tick) {
  total->batches += tick->batches;
  total->rows += tick->rows;
  total->skipped += tick->skipped;
  total->dead += tick->dead;
  total->altered += tick->altered;
  total->bytes += tick->bytes;
  total->failed += tick->failed;
  total->waiting += tick->waiting;
  total->stopped += tick->stopped;
  total->more = total->more || tick->more;
}

static bool is_stopped(const char *state) {
  return strcmp(state, "blocked") == 0 || strcmp(state, "diverged") == 0;
}

static void tick_watched(struct tide_runner *runner, const struct tide_sink *sink, struct tide_tick *tick,
                         struct tide_err *err) {
  struct tide_conn *conn = runner->conn;
  tide_progress_begin(&conn->progress, tide_host_vfs(conn->db, runner->schema), "export", sink->sink, sink->dataset);
  tide_runner_tick(runner, sink, tick, err);
  tide_progress_end(&conn->progress);
}

static void export_sink(struct export_call *call, struct tide_runner *runner, const struct tide_sink *sink, bool idle,
                        struct tide_err *err) {
  struct tide_tick tick = {0};
  if (!idle && strcmp(sink->state, "active") == 0)
    tick_watched(runner, sink, &tick, err);
  const char *state = tick.state != NULL ? tick.state : sink->state;
  tick.stopped = is_stopped(state);
  if (tick.failed > 0 && call->sink != NULL)
    tide_durable_check_writable(runner->conn->db, runner->schema, err); /* of all sinks, the others may go on */
  tide_buf_put_string(call->json, call->found > 1 ? ",{" : "{", err);
  if (strcmp(runner->schema, "main") != 0) {
    tide_functions_put_text(call->json, "schema", runner->schema, err);
    tide_buf_put_u8(call->json, ',', err);
  }
  tide_functions_put_text(call->json, "sink", sink->sink, err);
  tide_buf_put_u8(call->json, ',', err);
  tide_functions_put_text(call->json, "dataset", sink->dataset, err);
  tide_buf_put_u8(call->json, ',', err);
  tide_functions_put_text(call->json, "state", state, err);
  tide_buf_put_u8(call->json, ',', err);
  put_tick(call->json, &tick, err);
  if (tick.failures.len > 0)
    tide_buf_printf(call->json, err, ",\"failures\":[%.*s]", (int)tick.failures.len, (const char *)tick.failures.data);
  tide_buf_put_u8(call->json, '}', err);
  add_tick(&call->total, &tick);
  tide_tick_clear(&tick);
}

static void export_schema(void *data, const char *schema, struct tide_err *err) {
  struct export_call *call = data;
  struct tide_conn *conn = call->functions->conn;
  struct tide_due due;
  struct tide_runner runner = {.conn = conn,
                               .schemes = &call->functions->shared->schemes,
                               .schema = schema,
                               .owner = call->functions->owner,
                               .now = call->now,
                               .batches_left = call->batches_left};
  const char *wanted_sink = tide_functions_name_in(conn, call->sink, schema);
  const char *dataset = tide_functions_name_in(conn, call->dataset, schema);
  if ((call->sink != NULL && wanted_sink == NULL) || (call->dataset != NULL && dataset == NULL))
    return;
  tide_due_read(conn, schema, wanted_sink, dataset, &due, err);
  call->matched += (int64_t)due.list.count;
  for (size_t i = 0; i < due.list.count && !tide_err_is_set(err); i++) {
    const struct tide_sink *sink = &due.list.sinks[i];
    if (sink->target == NULL && call->sink != NULL)
      tide_err_set(err, SQLITE_ERROR,
                   "sink %s has no target: drive it with SQL, or with tidemark_claim and tidemark_ack", sink->sink);
    if (!tide_err_is_set(err) && sink->target != NULL &&
        (call->sink != NULL || strcmp(sink->state, "active") == 0 || is_stopped(sink->state))) {
      call->found++;
      export_sink(call, &runner, sink, due.idle[i], err);
    }
  }
  tide_due_clear(&due);
  call->batches_left = runner.batches_left;
}

static bool found_nothing(const struct tide_tick *total) {
  return total->batches + total->failed + total->waiting == 0 && !total->more;
}

static void export_all(struct export_call *call, struct tide_err *err) {
  tide_buf_put_string(call->json, "{\"sinks\":[", err);
  tide_functions_each_schema(call->functions->conn, export_schema, call, err);
  if (call->matched == 0 && call->sink != NULL)
    tide_functions_no_sink(call->sink, call->dataset, err);
  else if (call->matched == 0 && call->dataset != NULL)
    tide_err_set(err, SQLITE_ERROR, "no sink reads a dataset of that name: %s", call->dataset);
  tide_buf_put_string(call->json, "],", err);
  put_tick(call->json, &call->total, err);
  tide_buf_put_u8(call->json, '}', err);
}

static void export_unless_idle(struct export_call *call, struct tide_err *err) {
  struct tide_idle_versions versions;
  struct tide_idle *idle = &call->functions->idle;
  const bool known = tide_idle_look(call->functions->conn, &versions);
  char *key = tide_printf(err, "%Q %Q %d %lld", call->sink, call->dataset, call->now, (long long)call->batches_left);
  const char *answer = known && key != NULL ? tide_idle_answer(idle, key, &versions) : NULL;
  if (answer != NULL) {
    tide_buf_put_string(call->json, answer, err);
  } else if (!tide_err_is_set(err)) {
    export_all(call, err);
    if (known && !tide_err_is_set(err) && found_nothing(&call->total))
      tide_idle_remember(idle, key, &versions, (const char *)call->json->data, call->json->len);
  }
  tide_free(key);
}

void tide_function_export(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct tide_err err = {0};
  struct tide_buf json = {0};
  struct export_call call = {.functions = tide_functions_of(context), .batches_left = INT64_MAX, .json = &json};
  tide_durable_check_idle(call.functions->conn->db, "tidemark_export", &err);
  tide_durable_check_rules(call.functions->conn->db, "tidemark_export", &err);
  if (!tide_err_is_set(&err))
    parse_export(&call, argc, argv, &err);
  if (!tide_err_is_set(&err))
    export_unless_idle(&call, &err);
  tide_functions_finish(context, &json, &err);
}
