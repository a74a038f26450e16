#include <string.h>

#include "base/mem.h"
#include "engine/configure.h"
#include "engine/maintain.h"
#include "engine/stats.h"
#include "function_call.h"
#include "glue.h"
#include "store/sinks.h"

/* ---- the parts of the answers ---- */

void tide_functions_put_failures(struct tide_buf *json, const struct tide_failures *failures, struct tide_err *err) {
  if (failures->count == 0)
    return;
  tide_buf_printf(json, err, ",\"failed\":%lld,\"failures\":[", (long long)failures->count);
  for (int i = 0; i < TIDE_FAILURES_LISTED && i < failures->count; i++) {
    tide_buf_put_string(json, i > 0 ? ",{" : "{", err);
    tide_functions_put_text(json, "partition", failures->list[i].partition, err);
    tide_buf_put_u8(json, ',', err);
    tide_functions_put_text(json, "error", failures->list[i].message, err);
    tide_buf_put_u8(json, '}', err);
  }
  tide_buf_put_u8(json, ']', err);
}

void tide_functions_put_now(struct tide_buf *json, struct tide_dataset *ds, struct tide_err *err) {
  struct tide_stats_sum sum = {0};
  tide_stats_sum(ds, &sum, err);
  tide_buf_printf(json, err, ",\"now\":{\"rows\":%lld,\"segments\":%lld,\"tail_rows\":%lld,\"stored_bytes\":%lld}",
                  (long long)sum.rows, (long long)sum.segments, (long long)sum.tail_rows, (long long)sum.stored_bytes);
}

static void put_held(struct tide_buf *json, const struct tide_prune_result *pruned, struct tide_err *err) {
  tide_buf_printf(json, err, ",\"held_rows\":%lld,\"held\":[", (long long)pruned->held_rows);
  for (size_t i = 0; i < pruned->nheld; i++) {
    tide_buf_put_string(json, i > 0 ? ",{" : "{", err);
    tide_functions_put_text(json, "sink", pruned->held[i].sink, err);
    tide_buf_printf(json, err, ",\"rows\":%lld,\"partitions\":%lld}", (long long)pruned->held[i].rows,
                    (long long)pruned->held[i].partitions);
  }
  tide_buf_put_u8(json, ']', err);
}

static void put_future(struct tide_buf *json, const struct tide_prune_result *pruned, struct tide_err *err) {
  if (pruned->nfuture == 0)
    return;
  tide_buf_printf(json, err, ",\"future_partitions\":%lld,\"future\":[", (long long)pruned->nfuture);
  for (int i = 0; i < TIDE_PRUNE_FUTURE_LISTED && i < pruned->nfuture; i++) {
    tide_buf_put_string(json, i > 0 ? ",{" : "{", err);
    tide_functions_put_text(json, "partition", pruned->future[i].partition, err);
    tide_buf_printf(json, err, ",\"since\":%lld,\"time\":%lld}", (long long)pruned->future[i].since,
                    (long long)pruned->future[i].at);
  }
  tide_buf_put_u8(json, ']', err);
}

static void put_pruned(struct tide_buf *json, const struct tide_prune_result *pruned, struct tide_err *err) {
  tide_buf_printf(json, err,
                  "\"rows\":%lld,\"partitions\":%lld,\"segments\":%lld,\"stored_bytes\":%lld,\"gaps\":%lld,"
                  "\"gap_rows\":%lld",
                  (long long)pruned->rows, (long long)pruned->partitions, (long long)pruned->segments,
                  (long long)pruned->stored_bytes, (long long)pruned->gaps, (long long)pruned->gap_rows);
  put_held(json, pruned, err);
  put_future(json, pruned, err);
  tide_functions_put_failures(json, &pruned->failures, err);
  tide_buf_printf(json, err, ",\"more\":%s", pruned->more ? "true" : "false");
}

static void put_compacted(struct tide_buf *json, const struct tide_compact_result *compacted, struct tide_err *err) {
  tide_buf_printf(json, err,
                  "\"runs\":%lld,\"segments_in\":%lld,\"segments_out\":%lld,\"rows\":%lld,\"dropped\":%lld,"
                  "\"stored_in\":%lld,\"stored_out\":%lld",
                  (long long)compacted->runs, (long long)compacted->segments_in, (long long)compacted->segments_out,
                  (long long)compacted->rows, (long long)compacted->dropped, (long long)compacted->stored_in,
                  (long long)compacted->stored_out);
  tide_functions_put_failures(json, &compacted->failures, err);
  tide_buf_printf(json, err, ",\"more\":%s", compacted->more ? "true" : "false");
}

/* ---- tidemark_prune(dataset [, 'dry-run']) ---- */

void tide_function_prune(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct tide_err err = {0};
  struct tide_buf json = {0};
  struct tide_prune_result pruned = {0};
  struct tide_prune_request request = {.max_bytes = INT64_MAX};
  struct tide_dataset *ds = tide_glue_dataset(tide_functions_of(context)->conn, argv[0], &err);
  if (argc > 1 && sqlite3_value_type(argv[1]) != SQLITE_NULL) {
    const char *word = tide_glue_text(argv[1], &err);
    request.dry_run = word != NULL && strcmp(word, "dry-run") == 0;
    if (!request.dry_run)
      tide_err_set(&err, SQLITE_ERROR, "tidemark_prune: \"%w\" is not 'dry-run'", word != NULL ? word : "");
  }
  if (!tide_err_is_set(&err))
    tide_prune(ds, &request, &pruned, &err);
  if (!tide_err_is_set(&err)) {
    tide_buf_put_u8(&json, '{', &err);
    tide_functions_put_text(&json, "dataset", ds->name, &err);
    tide_buf_printf(&json, &err, ",\"dry_run\":%s,", request.dry_run ? "true" : "false");
    put_pruned(&json, &pruned, &err);
    tide_functions_put_now(&json, ds, &err);
    tide_buf_put_u8(&json, '}', &err);
  }
  tide_prune_result_clear(&pruned);
  tide_dataset_release(ds);
  tide_functions_finish(context, &json, &err);
}

/* ---- tidemark_compact(dataset [, max_bytes]) ---- */

void tide_function_compact(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct tide_err err = {0};
  struct tide_buf json = {0};
  struct tide_compact_result compacted = {0};
  struct tide_compact_request request = {.max_bytes = TIDE_COMPACT_BYTES, .eager = true};
  struct tide_dataset *ds = tide_glue_dataset(tide_functions_of(context)->conn, argv[0], &err);
  if (argc > 1 && sqlite3_value_type(argv[1]) != SQLITE_NULL) {
    request.max_bytes = sqlite3_value_type(argv[1]) == SQLITE_INTEGER ? sqlite3_value_int64(argv[1]) : 0;
    if (request.max_bytes < 1)
      tide_err_set(&err, SQLITE_ERROR, "tidemark_compact: max_bytes must be a whole number of bytes from 1");
  }
  if (!tide_err_is_set(&err)) {
    tide_functions_watch(ds, "compact");
    tide_compact(ds, &request, &compacted, &err);
    tide_progress_end(&ds->conn->progress);
  }
  if (!tide_err_is_set(&err)) {
    tide_buf_put_u8(&json, '{', &err);
    tide_functions_put_text(&json, "dataset", ds->name, &err);
    tide_buf_put_u8(&json, ',', &err);
    put_compacted(&json, &compacted, &err);
    tide_functions_put_now(&json, ds, &err);
    tide_buf_put_u8(&json, '}', &err);
  }
  tide_failures_clear(&compacted.failures);
  tide_dataset_release(ds);
  tide_functions_finish(context, &json, &err);
}

/* ---- tidemark_maintain([dataset]) ---- */

static void put_maintained(struct tide_buf *json, struct tide_dataset *ds, const struct tide_maintain_result *done,
                           struct tide_err *err) {
  tide_buf_put_u8(json, '{', err);
  tide_functions_put_text(json, "dataset", ds->name, err);
  tide_buf_printf(json, err, ",\"sealed\":{\"partitions\":%lld,\"segments\":%lld,\"rows\":%lld,\"stored_bytes\":%lld",
                  (long long)done->sealed.partitions, (long long)done->sealed.segments, (long long)done->sealed.rows,
                  (long long)done->sealed.stored_bytes);
  tide_functions_put_failures(json, &done->failures, err);
  tide_buf_put_string(json, "},\"pruned\":{", err);
  put_pruned(json, &done->pruned, err);
  tide_buf_put_string(json, "},\"compacted\":{", err);
  put_compacted(json, &done->compacted, err);
  tide_buf_printf(json, err, "},\"trimmed\":%lld,\"more\":%s", (long long)done->trimmed, done->more ? "true" : "false");
  tide_functions_put_now(json, ds, err);
  tide_buf_put_u8(json, '}', err);
}

static void maintain_dataset(struct tide_dataset *ds, struct tide_buf *json, struct tide_err *err) {
  struct tide_maintain_result *done = tide_alloc_zero(1, sizeof *done, err);
  if (done == NULL)
    return;
  tide_functions_watch(ds, "maintain");
  tide_maintain(ds, done, err);
  tide_progress_end(&ds->conn->progress);
  if (!tide_err_is_set(err))
    put_maintained(json, ds, done, err);
  tide_maintain_result_clear(done);
  tide_free(done);
}

struct maintain_call {
  struct tide_conn *conn;
  struct tide_buf *json;
  int64_t datasets;
};

/* A dataset that is damaged as a whole, or whose file is read-only, does not keep the others waiting: its error is in
 * the answer, from `at` on. */
static void put_left_alone(struct tide_buf *json, size_t at, const char *name, struct tide_err *err) {
  struct tide_err none = {0};
  const int code = err->rc & 0xff;
  if (code != SQLITE_CORRUPT && code != SQLITE_READONLY)
    return;
  json->len = at;
  tide_buf_put_u8(json, '{', &none);
  tide_functions_put_text(json, "dataset", name, &none);
  tide_buf_put_u8(json, ',', &none);
  tide_functions_put_text(json, "error", err->msg, &none);
  tide_buf_put_u8(json, '}', &none);
  *err = none;
}

/* Datasets are asked for one by one, so that no statement is open while one is worked on. */
static void maintain_schema(void *data, const char *schema, struct tide_err *err) {
  struct maintain_call *call = data;
  char *name = tide_sinks_next_dataset(call->conn->db, schema, NULL, err);
  while (name != NULL && !tide_err_is_set(err)) {
    if (call->datasets++ > 0)
      tide_buf_put_u8(call->json, ',', err);
    const size_t at = call->json->len;
    struct tide_dataset *ds = tide_dataset_acquire(call->conn, schema, name, err);
    if (ds != NULL)
      maintain_dataset(ds, call->json, err);
    put_left_alone(call->json, at, name, err);
    tide_dataset_release(ds);
    char *next = tide_sinks_next_dataset(call->conn->db, schema, name, err);
    tide_free(name);
    name = next;
  }
  tide_free(name);
}

void tide_function_maintain(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct tide_err err = {0};
  struct tide_buf json = {0};
  struct maintain_call call = {.conn = tide_functions_of(context)->conn, .json = &json};
  tide_buf_put_string(&json, "{\"datasets\":[", &err);
  if (argc > 0 && sqlite3_value_type(argv[0]) != SQLITE_NULL) {
    struct tide_dataset *ds = tide_glue_dataset(call.conn, argv[0], &err);
    if (ds != NULL)
      maintain_dataset(ds, &json, &err);
    tide_dataset_release(ds);
  } else {
    tide_functions_each_schema(call.conn, maintain_schema, &call, &err);
  }
  tide_buf_put_string(&json, "]}", &err);
  tide_functions_finish(context, &json, &err);
}

/* ---- tidemark_set(dataset, option, value) ---- */

static void put_option(struct tide_buf *json, const struct tide_dataset *ds, const struct tide_option_facts *facts,
                       struct tide_err *err) {
  const struct tide_val value = tide_glue_option(ds, facts);
  tide_buf_put_u8(json, ',', err);
  if (value.type == TIDE_VAL_TEXT)
    tide_functions_put_text(json, facts->name, value.p, err);
  else if (value.type == TIDE_VAL_NULL)
    tide_buf_printf(json, err, "\"%s\":null", facts->name);
  else if (value.type == TIDE_VAL_REAL)
    tide_buf_printf(json, err, "\"%s\":%.3f", facts->name, value.r);
  else
    tide_buf_printf(json, err, "\"%s\":%lld", facts->name, (long long)value.i);
}

void tide_function_set(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct tide_err err = {0};
  struct tide_buf json = {0};
  const struct tide_val value = tide_glue_value(argv[2]);
  const char *option = tide_glue_text(argv[1], &err);
  struct tide_dataset *ds = tide_glue_dataset(tide_functions_of(context)->conn, argv[0], &err);
  if (option == NULL)
    tide_err_set(&err, SQLITE_ERROR, "tidemark_set takes a dataset, the name of an option and its value");
  if (!tide_err_is_set(&err))
    tide_configure(ds, option, &value, &err);
  if (!tide_err_is_set(&err)) {
    tide_buf_put_u8(&json, '{', &err);
    tide_functions_put_text(&json, "dataset", ds->name, &err);
    for (int i = 0; i < TIDE_OPTIONS; i++)
      put_option(&json, ds, &tide_options_facts[i], &err);
    tide_buf_put_u8(&json, '}', &err);
  }
  tide_dataset_release(ds);
  tide_functions_finish(context, &json, &err);
}
