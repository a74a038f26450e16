#include "functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "base/mem.h"
#include "base/stmt.h"
#include "engine/seal.h"
#include "glue.h"
#include "sink/idle.h"
#include "sink/json.h"
#include "sink/runner.h"
#include "store/durable.h"
#include "store/sinks.h"

#ifndef TIDEMARK_VERSION
#define TIDEMARK_VERSION "0.0.0"
#endif

enum { OWNER_SIZE = 200 };

/* What the functions of one connection share. */
struct functions {
  int refs;
  struct tide_conn *conn;
  char owner[OWNER_SIZE]; /* process and connection: another connection of the process is another owner */
  struct tide_idle idle;  /* of the last tidemark_export */
  int64_t acked;          /* the last batch that tidemark_ack ended here: some hosts run a statement twice */
  char *acked_json;       /* what it answered */
};

static void unref_functions(void *data) {
  struct functions *functions = data;
  if (--functions->refs > 0)
    return;
  tide_idle_forget(&functions->idle);
  tide_free(functions->acked_json);
  tide_conn_unref(functions->conn);
  tide_free(functions);
}

static struct functions *functions_of(sqlite3_context *context) {
  return sqlite3_user_data(context);
}

/* ---- results ---- */

static void put_json_text(struct tide_buf *out, const char *name, const char *text, struct tide_err *err) {
  bool altered = false;
  tide_buf_printf(out, err, "\"%s\":", name);
  tide_json_put_string(out, text, strlen(text), &altered, err);
}

/* Hands the JSON or the error to SQLite and frees the buffer. */
static void finish(sqlite3_context *context, struct tide_buf *json, const struct tide_err *err) {
  if (tide_err_is_set(err)) {
    tide_glue_function_error(context, err);
  } else {
    sqlite3_result_text64(context, (const char *)json->data, json->len, SQLITE_TRANSIENT, SQLITE_UTF8);
    sqlite3_result_subtype(context, 'J');
  }
  tide_buf_clear(json);
}

/* ---- tidemark_version() ---- */

static void version(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  (void)argv;
  sqlite3_result_text(context, TIDEMARK_VERSION, -1, SQLITE_STATIC);
}

/* ---- tidemark_flush(dataset) ---- */

static void seal_in_unit(struct tide_dataset *ds, struct tide_seal_result *result, struct tide_err *err) {
  struct tide_unit unit;
  sqlite3 *db = ds->conn->db;
  const int64_t rowid = sqlite3_last_insert_rowid(db);
  tide_unit_begin(db, ds->schema, "tidemark_flush", &unit, err);
  if (unit.nested && !tide_err_is_set(err))
    tide_catalog_join_transaction(db, tide_dataset_names(ds), err);
  if (!tide_err_is_set(err))
    tide_seal_all(ds, result, err);
  tide_unit_end(&unit, err);
  sqlite3_set_last_insert_rowid(db, rowid);
  if (tide_err_is_set(err) || !unit.nested)
    tide_dataset_forget(ds);
}

static bool has_tail(struct tide_dataset *ds, struct tide_err *err) {
  sqlite3_stmt *snapshot = tide_read_begin(ds->conn->db, ds->schema, err);
  if (!tide_err_is_set(err))
    tide_dataset_refresh(ds, err);
  sqlite3_finalize(snapshot);
  return ds->txn.bytes > 0 || ds->tail.count > 0;
}

static void flush(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct tide_err err = {0};
  struct tide_seal_result result = {0};
  struct tide_buf json = {0};
  struct tide_dataset *ds = tide_glue_dataset(functions_of(context)->conn, argv[0], &err);
  if (ds != NULL && has_tail(ds, &err) && !tide_err_is_set(&err))
    seal_in_unit(ds, &result, &err);
  if (!tide_err_is_set(&err)) {
    tide_buf_put_u8(&json, '{', &err);
    put_json_text(&json, "dataset", ds->name, &err);
    tide_buf_printf(&json, &err, ",\"partitions\":%lld,\"segments\":%lld,\"rows\":%lld,\"stored_bytes\":%lld}",
                    (long long)result.partitions, (long long)result.segments, (long long)result.rows,
                    (long long)result.stored_bytes);
  }
  tide_dataset_release(ds);
  finish(context, &json, &err);
}

/* ---- schemas ---- */

/* Calls back for every schema that has sink tables; stops at the first error. */
typedef void each_schema(void *data, const char *schema, struct tide_err *err);

static void for_each_schema(struct tide_conn *conn, each_schema *call, void *data, struct tide_err *err) {
  char *names[128]; /* SQLite attaches 125 at the most, beside main and temp */
  size_t count = 0;
  sqlite3_stmt *stmt = tide_schemas_prepare(conn->db, err);
  while (count < sizeof names / sizeof *names && tide_stmt_row(stmt, err)) {
    const char *name = (const char *)sqlite3_column_text(stmt, 0);
    if (name != NULL && tide_sinks_exist(conn->db, name, err))
      names[count++] = tide_copy_string(name, err);
  }
  sqlite3_finalize(stmt);
  for (size_t i = 0; i < count; i++) {
    if (!tide_err_is_set(err))
      call(data, names[i], err);
    tide_free(names[i]);
  }
}

/* A name that a function was given, in a schema: "main.x" is x in main, and nothing (NULL) in another schema. */
static const char *name_in(struct tide_conn *conn, const char *name, const char *schema) {
  const char *dot = name != NULL ? strchr(name, '.') : NULL;
  if (dot == NULL)
    return name;
  const size_t size = (size_t)(dot - name);
  if (strlen(schema) == size && sqlite3_strnicmp(name, schema, (int)size) == 0)
    return dot + 1;
  char other[256];
  sqlite3_snprintf((int)sizeof other, other, "%.*s", (int)size, name);
  return sqlite3_txn_state(conn->db, other) < 0 ? name
                                                : NULL; /* the dot is the name's own when no schema is called so */
}

/* ---- tidemark_export([sink] [, 'dataset=d'] [, 'now'] [, 'max_batches=n']) ---- */

struct export_call {
  struct functions *functions;
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
    const char *text = sqlite3_value_type(argv[i]) == SQLITE_TEXT ? (const char *)sqlite3_value_text(argv[i]) : NULL;
    if (text == NULL)
      tide_err_set(err, SQLITE_ERROR, "tidemark_export: argument %d is not text", i + 1);
    else
      parse_option(call, text, err);
  }
}

static void put_tick(struct tide_buf *json, const struct tide_tick *tick, struct tide_err *err) {
  tide_buf_printf(json, err,
                  "\"batches\":%lld,\"rows\":%lld,\"skipped\":%lld,\"altered\":%lld,\"bytes\":%lld,\"failed\":%lld,"
                  "\"waiting\":%lld,\"more\":%s",
                  (long long)tick->batches, (long long)tick->rows, (long long)tick->skipped, (long long)tick->altered,
                  (long long)tick->bytes, (long long)tick->failed, (long long)tick->waiting,
                  tick->more ? "true" : "false");
}

static void add_tick(struct tide_tick *total, const struct tide_tick *tick) {
  total->batches += tick->batches;
  total->rows += tick->rows;
  total->skipped += tick->skipped;
  total->altered += tick->altered;
  total->bytes += tick->bytes;
  total->failed += tick->failed;
  total->waiting += tick->waiting;
  total->more = total->more || tick->more;
}

static void export_sink(struct export_call *call, struct tide_runner *runner, const struct tide_sink *sink,
                        struct tide_err *err) {
  struct tide_tick tick = {0};
  if (strcmp(sink->state, "active") == 0)
    tide_runner_tick(runner, sink, &tick, err);
  tide_buf_put_string(call->json, call->found > 1 ? ",{" : "{", err);
  put_json_text(call->json, "sink", sink->sink, err);
  tide_buf_put_u8(call->json, ',', err);
  put_json_text(call->json, "dataset", sink->dataset, err);
  tide_buf_put_u8(call->json, ',', err);
  put_json_text(call->json, "state", sink->state, err);
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
  struct tide_sink *sinks = NULL;
  struct tide_sink sink;
  size_t count = 0;
  size_t cap = 0;
  struct tide_runner runner = {.conn = conn,
                               .schema = schema,
                               .owner = call->functions->owner,
                               .now = call->now,
                               .batches_left = call->batches_left};
  const char *wanted_sink = name_in(conn, call->sink, schema);
  const char *dataset = name_in(conn, call->dataset, schema);
  if ((call->sink != NULL && wanted_sink == NULL) || (call->dataset != NULL && dataset == NULL) ||
      !tide_sinks_has_any(conn->db, schema, err))
    return;
  sqlite3_stmt *stmt = tide_sink_prepare(conn->db, schema, wanted_sink, dataset, err);
  while (tide_sink_next(stmt, &sink, err)) {
    void *grown = sinks;
    if (tide_grow(&grown, &cap, count + 1, sizeof *sinks, err) != 0) {
      tide_sink_clear(&sink);
      break;
    }
    sinks = grown;
    sinks[count++] = sink;
    call->matched++;
  }
  sqlite3_finalize(stmt);
  for (size_t i = 0; i < count; i++) {
    if (!tide_err_is_set(err) && sinks[i].target == NULL && call->sink != NULL)
      tide_err_set(err, SQLITE_ERROR,
                   "sink %s has no target: drive it with SQL, or with tidemark_claim and tidemark_ack", sinks[i].sink);
    if (!tide_err_is_set(err) && sinks[i].target != NULL &&
        (call->sink != NULL || strcmp(sinks[i].state, "active") == 0)) {
      call->found++;
      export_sink(call, &runner, &sinks[i], err);
    }
    tide_sink_clear(&sinks[i]);
  }
  tide_free(sinks);
  call->batches_left = runner.batches_left;
}

static bool found_nothing(const struct tide_tick *total) {
  return total->batches + total->failed + total->waiting == 0 && !total->more;
}

static void export_all(struct export_call *call, struct tide_err *err) {
  tide_buf_put_string(call->json, "{\"sinks\":[", err);
  for_each_schema(call->functions->conn, export_schema, call, err);
  if (call->matched == 0 && call->sink != NULL)
    tide_err_set(err, SQLITE_ERROR, "no such sink%s%s: %s", call->dataset != NULL ? " of dataset " : "",
                 call->dataset != NULL ? call->dataset : "", call->sink);
  else if (call->matched == 0 && call->dataset != NULL)
    tide_err_set(err, SQLITE_ERROR, "no sink reads a dataset of that name: %s", call->dataset);
  tide_buf_put_string(call->json, "],", err);
  put_tick(call->json, &call->total, err);
  tide_buf_put_u8(call->json, '}', err);
}

static void export_unless_idle(struct export_call *call, struct tide_err *err) {
  struct tide_idle_versions versions;
  struct tide_idle *idle = &call->functions->idle;
  const bool known = tide_idle_look(call->functions->conn->db, &versions);
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

static void export(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct tide_err err = {0};
  struct tide_buf json = {0};
  struct export_call call = {.functions = functions_of(context), .batches_left = INT64_MAX, .json = &json};
  tide_durable_check_idle(call.functions->conn->db, "tidemark_export", &err);
  if (!tide_err_is_set(&err))
    parse_export(&call, argc, argv, &err);
  if (!tide_err_is_set(&err))
    export_unless_idle(&call, &err);
  finish(context, &json, &err);
}

/* ---- tidemark_claim(sink, dataset) ---- */

struct claim_call {
  struct functions *functions;
  const char *sink;
  const char *dataset;
  int64_t found;
  int64_t open;
};

static void claim_schema(void *data, const char *schema, struct tide_err *err) {
  struct claim_call *call = data;
  struct tide_sink sink;
  struct tide_runner runner = {
      .conn = call->functions->conn, .schema = schema, .owner = call->functions->owner, .now = false};
  const char *wanted_sink = name_in(call->functions->conn, call->sink, schema);
  const char *dataset = name_in(call->functions->conn, call->dataset, schema);
  if (wanted_sink == NULL || dataset == NULL)
    return;
  sqlite3_stmt *stmt = tide_sink_prepare(call->functions->conn->db, schema, wanted_sink, dataset, err);
  const bool found = tide_sink_next(stmt, &sink, err);
  sqlite3_finalize(stmt);
  if (!found)
    return;
  call->found++;
  if (sink.target != NULL)
    tide_err_set(err, SQLITE_ERROR, "sink %s has a target: tidemark_export ships its batches", sink.sink);
  else if (strcmp(sink.state, "active") != 0)
    tide_err_set(err, SQLITE_ERROR, "sink %s is %s: set its state to active first", sink.sink, sink.state);
  else
    call->open += tide_runner_claim(&runner, &sink, err);
  tide_sink_clear(&sink);
}

static void claim(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct tide_err err = {0};
  struct claim_call call = {.functions = functions_of(context)};
  call.sink = (const char *)sqlite3_value_text(argv[0]);
  call.dataset = (const char *)sqlite3_value_text(argv[1]);
  tide_durable_check_idle(call.functions->conn->db, "tidemark_claim", &err);
  if (call.sink == NULL || call.dataset == NULL)
    tide_err_set(&err, SQLITE_ERROR, "tidemark_claim takes the names of a sink and of its dataset");
  if (!tide_err_is_set(&err))
    for_each_schema(call.functions->conn, claim_schema, &call, &err);
  if (call.found == 0)
    tide_err_set(&err, SQLITE_ERROR, "no such sink of dataset %s: %s", call.dataset, call.sink);
  if (tide_err_is_set(&err))
    tide_glue_function_error(context, &err);
  else
    sqlite3_result_int64(context, call.open);
}

/* ---- tidemark_ack(batch [, object [, bytes]]) ---- */

struct ack_call {
  struct functions *functions;
  int64_t batch;
  const char *object;
  int64_t bytes;
  int64_t found;
  struct tide_buf *json;
};

static void ack_schema(void *data, const char *schema, struct tide_err *err) {
  struct ack_call *call = data;
  struct tide_batch_row row;
  struct tide_ack log = {0};
  struct tide_runner runner = {.conn = call->functions->conn, .schema = schema, .owner = call->functions->owner};
  sqlite3_stmt *stmt = tide_batch_prepare(call->functions->conn->db, schema, call->batch - 1, NULL, NULL, err);
  const bool found = tide_batch_next(stmt, &row, err);
  sqlite3_finalize(stmt);
  if (!found)
    return;
  if (row.batch != call->batch) {
    tide_batch_row_clear(&row);
    return;
  }
  if (call->found++ > 0)
    tide_err_set(err, SQLITE_ERROR, "batch %lld is open in several attached databases", (long long)call->batch);
  else if (row.object != NULL)
    tide_err_set(err, SQLITE_ERROR,
                 "batch %lld belongs to sink %s, which has a target: tidemark_export ships and acks it",
                 (long long)row.batch, row.sink);
  else
    tide_runner_ack(&runner, &row, call->object, call->bytes, &log, err);
  tide_buf_put_u8(call->json, '{', err);
  put_json_text(call->json, "sink", row.sink, err);
  tide_buf_put_u8(call->json, ',', err);
  put_json_text(call->json, "partition", row.partition, err);
  tide_buf_printf(call->json, err, ",\"batch\":%lld,\"since\":%lld,\"until\":%lld,\"rows\":%lld,\"skipped\":%lld}",
                  (long long)row.batch, (long long)row.since, (long long)row.until, (long long)log.rows,
                  (long long)log.skipped);
  tide_batch_row_clear(&row);
}

/* Without memory for it the second call of a host that makes two is told that the batch is not open, which is true. */
static void remember_ack(struct functions *functions, int64_t batch, const struct tide_buf *json) {
  struct tide_err ignored = {0};
  tide_free(functions->acked_json);
  functions->acked_json = tide_copy_text((const char *)json->data, json->len, &ignored);
  functions->acked = functions->acked_json != NULL ? batch : 0;
}

static void ack(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct tide_err err = {0};
  struct tide_buf json = {0};
  struct ack_call call = {.functions = functions_of(context), .batch = sqlite3_value_int64(argv[0]), .json = &json};
  tide_durable_check_idle(call.functions->conn->db, "tidemark_ack", &err);
  if (sqlite3_value_numeric_type(argv[0]) != SQLITE_INTEGER || call.batch < 1)
    tide_err_set(&err, SQLITE_ERROR, "tidemark_ack takes the number of an open batch");
  if (argc > 1)
    call.object = (const char *)sqlite3_value_text(argv[1]);
  if (argc > 2 && sqlite3_value_type(argv[2]) != SQLITE_NULL) {
    call.bytes = sqlite3_value_int64(argv[2]);
    if (sqlite3_value_numeric_type(argv[2]) != SQLITE_INTEGER || call.bytes < 0)
      tide_err_set(&err, SQLITE_ERROR, "tidemark_ack: bytes is a number of 0 or more");
  }
  if (!tide_err_is_set(&err))
    for_each_schema(call.functions->conn, ack_schema, &call, &err);
  if (call.found == 0 && !tide_err_is_set(&err) && call.functions->acked == call.batch)
    tide_buf_put_string(&json, call.functions->acked_json, &err);
  else if (call.found == 0)
    tide_err_set(
        &err, SQLITE_ERROR,
        "batch %lld is not open: it was acked, given up, or taken over under another number (see tidemark_batch)",
        (long long)call.batch);
  else if (!tide_err_is_set(&err))
    remember_ack(call.functions, call.batch, &json);
  finish(context, &json, &err);
}

/* ---- registering ---- */

int tide_functions_register(struct tide_conn *conn) {
  static const struct {
    const char *name;
    int argc_min;
    int argc_max;
    int flags;
    void (*function)(sqlite3_context *, int, sqlite3_value **);
  } all[] = {{"tidemark_version", 0, 0, SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC, version},
             {"tidemark_flush", 1, 1, SQLITE_DIRECTONLY, flush},
             {"tidemark_export", 0, 4, SQLITE_DIRECTONLY, export},
             {"tidemark_claim", 2, 2, SQLITE_DIRECTONLY, claim},
             {"tidemark_ack", 1, 3, SQLITE_DIRECTONLY, ack}};
  struct tide_err err = {0};
  struct functions *functions = tide_alloc_zero(1, sizeof *functions, &err);
  char nonce[TIDE_HOST_ID_SIZE];
  if (functions == NULL)
    return err.rc;
  functions->refs = 1;
  functions->conn = tide_conn_ref(conn);
  tide_host_owner(functions->owner, sizeof functions->owner - sizeof nonce);
  tide_host_random_id(nonce);
  const size_t used = strlen(functions->owner);
  sqlite3_snprintf((int)(sizeof functions->owner - used), functions->owner + used, ":%.8s", nonce);
  int rc = SQLITE_OK;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    for (int argc = all[i].argc_min; argc <= all[i].argc_max && rc == SQLITE_OK; argc++) {
      functions->refs++; /* given back by SQLite, also when it refuses */
      rc = sqlite3_create_function_v2(conn->db, all[i].name, argc, SQLITE_UTF8 | all[i].flags, functions,
                                      all[i].function, NULL, NULL, unref_functions);
    }
  }
  unref_functions(functions);
  return rc;
}
