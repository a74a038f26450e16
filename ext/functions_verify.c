#include <string.h>

#include "base/host.h"
#include "function_call.h"
#include "glue.h"
#include "sink/json.h"
#include "sink/verify.h"
#include "store/durable.h"

/* ---- tidemark_verify(sink [, dataset]) ---- */

struct verify_call {
  struct tide_functions *functions;
  const char *sink;
  const char *dataset; /* NULL: all that the sink reads */
  int64_t found;
  struct tide_buf datasets; /* JSON strings with commas between */
  struct tide_verified verified;
};

static void verify_schema(void *data, const char *schema, struct tide_err *err) {
  struct verify_call *call = data;
  struct tide_conn *conn = call->functions->conn;
  struct tide_sink_list list = {0};
  const char *sink = tide_functions_name_in(conn, call->sink, schema);
  const char *dataset = tide_functions_name_in(conn, call->dataset, schema);
  if (sink == NULL || (call->dataset != NULL && dataset == NULL))
    return;
  tide_sink_list_read(conn->db, schema, NULL, sink, dataset, &list, err);
  for (size_t i = 0; i < list.count && !tide_err_is_set(err); i++) {
    bool altered = false;
    const char *name = list.sinks[i].dataset;
    if (call->found++ > 0)
      tide_buf_put_u8(&call->datasets, ',', err);
    tide_json_put_string(&call->datasets, name, strlen(name), &altered, err);
    tide_progress_begin(&conn->progress, tide_host_vfs(conn->db, schema), "verify", sink, name);
    tide_verify(conn, &call->functions->shared->schemes, schema, &list.sinks[i], &call->verified, err);
    tide_progress_end(&conn->progress);
  }
  tide_sink_list_clear(&list);
}

static void put_list(struct tide_buf *json, const char *name, const struct tide_buf *list, struct tide_err *err) {
  tide_buf_printf(json, err, ",\"%s\":[", name);
  tide_buf_put(json, list->data, list->len, err);
  tide_buf_put_u8(json, ']', err);
}

static void put_verified(struct tide_buf *json, const struct verify_call *call, struct tide_err *err) {
  const struct tide_verified *verified = &call->verified;
  tide_buf_put_u8(json, '{', err);
  tide_functions_put_text(json, "sink", call->sink, err);
  put_list(json, "datasets", &call->datasets, err);
  tide_buf_printf(json, err, ",\"objects\":%lld,\"bytes\":%lld", (long long)verified->objects,
                  (long long)verified->bytes);
  put_list(json, "missing", &verified->missing.json, err);
  put_list(json, "damaged", &verified->damaged.json, err);
  put_list(json, "extra", &verified->extra.json, err);
  tide_buf_printf(json, err,
                  ",\"counts\":{\"missing\":%lld,\"damaged\":%lld,\"extra\":%lld,\"leftover\":%lld,\"unhashed\":%lld}",
                  (long long)verified->missing.count, (long long)verified->damaged.count,
                  (long long)verified->extra.count, (long long)verified->leftovers, (long long)verified->unhashed);
  tide_buf_printf(json, err, ",\"trimmed\":{\"batches\":%lld,\"bytes\":%lld,\"objects\":%lld,\"first_id\":%lld}",
                  (long long)verified->trimmed_batches, (long long)verified->trimmed_bytes,
                  (long long)verified->trimmed_objects, (long long)verified->first_id);
  if (verified->missing.count > 0)
    tide_buf_put_string(json,
                        ",\"hint\":\"objects are looked for where the sink's target is now: those written before it was"
                        " changed are missing there\"",
                        err);
  tide_buf_printf(json, err, ",\"ok\":%s}", tide_verified_is_ok(verified) ? "true" : "false");
}

static const char *text_argument(sqlite3_value *value, const char *what, struct tide_err *err) {
  const char *text = sqlite3_value_type(value) == SQLITE_TEXT ? tide_glue_text(value, err) : NULL;
  if (text == NULL)
    tide_err_set(err, SQLITE_ERROR, "tidemark_verify: %s is not text", what);
  return text;
}

void tide_function_verify(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct tide_err err = {0};
  struct tide_buf json = {0};
  struct verify_call call = {.functions = tide_functions_of(context)};
  tide_durable_check_idle(call.functions->conn->db, "tidemark_verify", &err);
  call.sink = text_argument(argv[0], "the sink", &err);
  if (argc > 1 && sqlite3_value_type(argv[1]) != SQLITE_NULL)
    call.dataset = text_argument(argv[1], "the dataset", &err);
  if (!tide_err_is_set(&err))
    tide_functions_each_schema(call.functions->conn, verify_schema, &call, &err);
  if (call.found == 0)
    tide_functions_no_sink(call.sink, call.dataset, &err);
  if (!tide_err_is_set(&err))
    put_verified(&json, &call, &err);
  tide_functions_finish(context, &json, &err);
  tide_buf_clear(&call.datasets);
  tide_verified_clear(&call.verified);
}
