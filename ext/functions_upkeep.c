#include <string.h>

#include "engine/compact.h"
#include "engine/configure.h"
#include "engine/prune.h"
#include "function_call.h"
#include "glue.h"

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
    const char *word = (const char *)sqlite3_value_text(argv[1]);
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
  if (!tide_err_is_set(&err))
    tide_compact(ds, &request, &compacted, &err);
  if (!tide_err_is_set(&err)) {
    tide_buf_put_u8(&json, '{', &err);
    tide_functions_put_text(&json, "dataset", ds->name, &err);
    tide_buf_put_u8(&json, ',', &err);
    put_compacted(&json, &compacted, &err);
    tide_buf_put_u8(&json, '}', &err);
  }
  tide_failures_clear(&compacted.failures);
  tide_dataset_release(ds);
  tide_functions_finish(context, &json, &err);
}

/* ---- tidemark_set(dataset, option, value) ---- */

/* As tidemark_set takes it: ages in seconds, columns by their names. */
static void put_option(struct tide_buf *json, struct tide_dataset *ds, const struct tide_option_facts *facts,
                       struct tide_err *err) {
  const int64_t value = *tide_options_at(&ds->config.options, facts);
  tide_buf_put_u8(json, ',', err);
  if (facts->kind == TIDE_OPTION_COLUMN && value >= 0 && value < (int64_t)ds->spec->ncolumns)
    tide_functions_put_text(json, facts->name, ds->spec->columns[value].name, err);
  else if (facts->kind != TIDE_OPTION_NUMBER && value < 0)
    tide_buf_printf(json, err, "\"%s\":null", facts->name);
  else if (facts->kind == TIDE_OPTION_DURATION && value % 1000 != 0)
    tide_buf_printf(json, err, "\"%s\":%lld.%03lld", facts->name, (long long)(value / 1000), (long long)(value % 1000));
  else
    tide_buf_printf(json, err, "\"%s\":%lld", facts->name,
                    (long long)(facts->kind == TIDE_OPTION_DURATION ? value / 1000 : value));
}

void tide_function_set(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct tide_err err = {0};
  struct tide_buf json = {0};
  const struct tide_val value = tide_glue_value(argv[2]);
  const char *option = (const char *)sqlite3_value_text(argv[1]);
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
