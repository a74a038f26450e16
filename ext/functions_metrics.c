#include <string.h>

#include "function_call.h"
#include "glue.h"
#include "sink/metrics.h"
#include "sink/openmetrics.h"

/* ---- tidemark_metrics([schema]) ---- */

struct metrics_call {
  struct tide_conn *conn;
  const char *schema; /* NULL: all */
  struct tide_metrics metrics;
};

static void add_schema(void *data, const char *schema, struct tide_err *err) {
  struct metrics_call *call = data;
  if (call->schema == NULL || sqlite3_stricmp(call->schema, schema) == 0)
    tide_metrics_add_schema(&call->metrics, call->conn, schema, err);
}

static void take_schema(struct metrics_call *call, sqlite3_value *value, struct tide_err *err) {
  if (sqlite3_value_type(value) == SQLITE_NULL)
    return;
  call->schema = sqlite3_value_type(value) == SQLITE_TEXT ? tide_glue_text(value, err) : NULL;
  if (call->schema == NULL)
    tide_err_set(err, SQLITE_ERROR, "tidemark_metrics: the schema is not text");
  else if (sqlite3_txn_state(call->conn->db, call->schema) < 0)
    tide_err_set(err, SQLITE_ERROR, "tidemark_metrics: no such schema: %s (ATTACH it, or leave it out for all)",
                 call->schema);
}

void tide_function_metrics(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct tide_err err = {0};
  struct tide_buf text = {0};
  struct metrics_call call = {.conn = tide_functions_of(context)->conn};
  if (argc > 0)
    take_schema(&call, argv[0], &err);
  if (!tide_err_is_set(&err))
    tide_functions_each_schema(call.conn, add_schema, &call, &err);
  if (!tide_err_is_set(&err))
    tide_openmetrics_put(&call.metrics, TIDEMARK_VERSION, &text, &err);
  if (tide_err_is_set(&err))
    tide_glue_function_error(context, &err);
  else
    sqlite3_result_text64(context, (const char *)text.data, text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
  tide_buf_clear(&text);
  tide_metrics_clear(&call.metrics);
}
