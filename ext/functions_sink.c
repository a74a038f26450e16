#include <string.h>

#include "base/mem.h"
#include "function_call.h"
#include "glue.h"
#include "sink/rewind.h"
#include "sink/runner.h"
#include "store/durable.h"

/* ---- tidemark_claim(sink, dataset) ---- */

struct claim_call {
  struct tide_functions *functions;
  const char *sink;
  const char *dataset;
  int64_t found;
  int64_t open;
};

static void claim_schema(void *data, const char *schema, struct tide_err *err) {
  struct claim_call *call = data;
  struct tide_sink sink;
  struct tide_runner runner = {.conn = call->functions->conn,
                               .schemes = &call->functions->shared->schemes,
                               .schema = schema,
                               .owner = call->functions->owner,
                               .now = false};
  const char *wanted_sink = tide_functions_name_in(call->functions->conn, call->sink, schema);
  const char *dataset = tide_functions_name_in(call->functions->conn, call->dataset, schema);
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

void tide_function_claim(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct tide_err err = {0};
  struct claim_call call = {.functions = tide_functions_of(context)};
  call.sink = tide_glue_text(argv[0], &err);
  call.dataset = tide_glue_text(argv[1], &err);
  tide_durable_check_idle(call.functions->conn->db, "tidemark_claim", &err);
  tide_durable_check_rules(call.functions->conn->db, "tidemark_claim", &err);
  if (call.sink == NULL || call.dataset == NULL)
    tide_err_set(&err, SQLITE_ERROR, "tidemark_claim takes the names of a sink and of its dataset");
  if (!tide_err_is_set(&err))
    tide_functions_each_schema(call.functions->conn, claim_schema, &call, &err);
  if (call.found == 0)
    tide_functions_no_sink(call.sink, call.dataset, &err);
  if (tide_err_is_set(&err))
    tide_glue_function_error(context, &err);
  else
    sqlite3_result_int64(context, call.open);
}

/* ---- tidemark_ack(batch [, object [, bytes]]) ---- */

struct ack_call {
  struct tide_functions *functions;
  int64_t batch;
  const char *object;
  int64_t bytes;
  int found; /* in how many schemas; what follows is of the first */
  char *schema;
  struct tide_batch_row row;
};

/* Nothing is acked before all schemas were looked into. */
static void find_batch(void *data, const char *schema, struct tide_err *err) {
  struct ack_call *call = data;
  struct tide_batch_row row;
  sqlite3_stmt *stmt = tide_batch_prepare(call->functions->conn->db, schema, call->batch - 1, NULL, NULL, err);
  const bool found = tide_batch_next(stmt, &row, err);
  sqlite3_finalize(stmt);
  if (!found)
    return;
  if (row.batch != call->batch || call->found++ > 0) {
    tide_batch_row_clear(&row);
    return;
  }
  call->row = row;
  call->schema = tide_copy_string(schema, err);
}

static void ack_found(const struct ack_call *call, struct tide_buf *json, struct tide_err *err) {
  const struct tide_batch_row *row = &call->row;
  struct tide_ack log = {0};
  struct tide_runner runner = {.conn = call->functions->conn,
                               .schemes = &call->functions->shared->schemes,
                               .schema = call->schema,
                               .owner = call->functions->owner};
  if (call->found > 1)
    tide_err_set(err, SQLITE_ERROR, "batch %lld is open in several attached databases", (long long)call->batch);
  else if (row->object != NULL)
    tide_err_set(err, SQLITE_ERROR,
                 "batch %lld belongs to sink %s, which has a target: tidemark_export ships and acks it",
                 (long long)row->batch, row->sink);
  else
    tide_runner_ack(&runner, row, call->object, call->bytes, &log, err);
  tide_buf_put_u8(json, '{', err);
  tide_functions_put_text(json, "sink", row->sink, err);
  tide_buf_put_u8(json, ',', err);
  tide_functions_put_text(json, "partition", row->partition, err);
  tide_buf_printf(json, err, ",\"batch\":%lld,\"since\":%lld,\"until\":%lld,\"rows\":%lld,\"skipped\":%lld}",
                  (long long)row->batch, (long long)row->since, (long long)row->until, (long long)log.rows,
                  (long long)log.skipped);
}

/* Without memory for it the second call of a host that makes two is told that the batch is not open, which is true. */
static void remember_ack(struct tide_functions *functions, int64_t batch, const struct tide_buf *json) {
  struct tide_err ignored = {0};
  tide_free(functions->acked_json);
  functions->acked_json = tide_copy_text((const char *)json->data, json->len, &ignored);
  functions->acked = functions->acked_json != NULL ? batch : 0;
}

void tide_function_ack(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct tide_err err = {0};
  struct tide_buf json = {0};
  struct ack_call call = {.functions = tide_functions_of(context), .batch = sqlite3_value_int64(argv[0])};
  tide_durable_check_idle(call.functions->conn->db, "tidemark_ack", &err);
  tide_durable_check_rules(call.functions->conn->db, "tidemark_ack", &err);
  if (sqlite3_value_numeric_type(argv[0]) != SQLITE_INTEGER || call.batch < 1)
    tide_err_set(&err, SQLITE_ERROR, "tidemark_ack takes the number of an open batch");
  if (argc > 1)
    call.object = tide_glue_text(argv[1], &err);
  if (argc > 2 && sqlite3_value_type(argv[2]) != SQLITE_NULL) {
    call.bytes = sqlite3_value_int64(argv[2]);
    if (sqlite3_value_numeric_type(argv[2]) != SQLITE_INTEGER || call.bytes < 0)
      tide_err_set(&err, SQLITE_ERROR, "tidemark_ack: bytes is a number of 0 or more");
  }
  if (!tide_err_is_set(&err))
    tide_functions_each_schema(call.functions->conn, find_batch, &call, &err);
  if (call.found > 0 && !tide_err_is_set(&err))
    ack_found(&call, &json, &err);
  if (call.found == 0 && !tide_err_is_set(&err) && call.functions->acked == call.batch)
    tide_buf_put_string(&json, call.functions->acked_json, &err);
  else if (call.found == 0)
    tide_err_set(
        &err, SQLITE_ERROR,
        "batch %lld is not open: it was acked, given up, or taken over under another number (see tidemark_batch)",
        (long long)call.batch);
  else if (!tide_err_is_set(&err))
    remember_ack(call.functions, call.batch, &json);
  tide_batch_row_clear(&call.row);
  tide_free(call.schema);
  tide_functions_finish(context, &json, &err);
}

/* ---- tidemark_rewind(sink, dataset, partition, since, reason) ---- */

static const char *text_of(sqlite3_value *value, struct tide_err *err) {
  return sqlite3_value_type(value) == SQLITE_TEXT ? tide_glue_text(value, err) : NULL;
}

static void parse_rewind(sqlite3_value **argv, struct tide_rewind *rewind, struct tide_err *err) {
  *rewind = (struct tide_rewind){.sink = text_of(argv[0], err),
                                 .partition = text_of(argv[2], err),
                                 .since = sqlite3_value_int64(argv[3]),
                                 .reason = text_of(argv[4], err)};
  if (rewind->sink == NULL || rewind->partition == NULL)
    tide_err_set(err, SQLITE_ERROR,
                 "tidemark_rewind takes sink, dataset and partition as text ('' for the one partition of a dataset"
                 " without partition_by), a since and a reason");
  if (sqlite3_value_numeric_type(argv[3]) != SQLITE_INTEGER || rewind->since < 0)
    tide_err_set(err, SQLITE_ERROR, "tidemark_rewind: since is a number of 0 or more");
  if (rewind->reason == NULL || rewind->reason[0] == '\0')
    tide_err_set(err, SQLITE_ERROR, "tidemark_rewind: say the reason, which the export log keeps");
}

static void put_rewound(struct tide_buf *json, const struct tide_dataset *ds, const struct tide_rewind *rewind,
                        const struct tide_rewound *rewound, struct tide_err *err) {
  const struct tide_rewind_row *row = &rewound->row;
  tide_buf_put_u8(json, '{', err);
  tide_functions_put_text(json, "sink", rewind->sink, err);
  tide_buf_put_u8(json, ',', err);
  tide_functions_put_text(json, "dataset", ds->name, err);
  tide_buf_put_u8(json, ',', err);
  tide_functions_put_text(json, "partition", rewind->partition, err);
  tide_buf_printf(json, err, ",\"generation\":%lld,\"since\":%lld,\"until\":%lld,\"rows\":%lld,\"stopped\":%s",
                  (long long)row->generation, (long long)row->since, (long long)row->until, (long long)row->rows,
                  rewound->stopped ? "true" : "false");
  if (rewound->stopped)
    tide_buf_printf(json, err, ",\"note\":\"rows up to %lld are gone: the rewind stopped there\"",
                    (long long)rewound->pruned_upto);
  tide_buf_put_u8(json, '}', err);
}

void tide_function_rewind(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct tide_err err = {0};
  struct tide_buf json = {0};
  struct tide_rewind rewind;
  struct tide_rewound rewound = {0};
  struct tide_conn *conn = tide_functions_of(context)->conn;
  parse_rewind(argv, &rewind, &err);
  struct tide_dataset *ds = tide_err_is_set(&err) ? NULL : tide_glue_dataset(conn, argv[1], &err);
  if (ds != NULL) {
    const char *sink = tide_functions_name_in(conn, rewind.sink, ds->schema);
    if (sink == NULL)
      tide_err_set(&err, SQLITE_ERROR, "no such sink of dataset %s.%s: %s (see tidemark_sink)", ds->schema, ds->name,
                   rewind.sink);
    rewind.sink = sink;
  }
  if (!tide_err_is_set(&err))
    tide_rewind(ds, &rewind, &rewound, &err);
  if (!tide_err_is_set(&err))
    put_rewound(&json, ds, &rewind, &rewound, &err);
  tide_rewind_row_clear(&rewound.row);
  tide_dataset_release(ds);
  tide_functions_finish(context, &json, &err);
}
