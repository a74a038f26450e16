#include "base/mem.h"
#include "engine/check.h"
#include "engine/seal.h"
#include "engine/work.h"
#include "function_call.h"
#include "glue.h"
#include "store/durable.h"

/* ---- tidemark_version() ---- */

void tide_function_version(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  (void)argv;
  sqlite3_result_text(context, TIDEMARK_VERSION, -1, SQLITE_STATIC);
}

/* ---- tidemark_flush(dataset) ---- */

static void seal_all(struct tide_dataset *ds, struct tide_seal_result *result, struct tide_err *err) {
  struct tide_work work;
  tide_work_begin(ds, "tidemark_flush", &work, err);
  if (!tide_err_is_set(err))
    tide_seal_all(ds, result, err);
  tide_work_end(&work, err);
}

static bool has_tail(struct tide_dataset *ds, struct tide_err *err) {
  sqlite3_stmt *snapshot = tide_read_begin(ds->conn->db, ds->schema, err);
  if (!tide_err_is_set(err))
    tide_dataset_refresh(ds, err);
  sqlite3_finalize(snapshot);
  return ds->txn.runs.filled > 0 || ds->tail.count > 0;
}

void tide_function_flush(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct tide_err err = {0};
  struct tide_seal_result result = {0};
  struct tide_buf json = {0};
  struct tide_dataset *ds = tide_glue_dataset(tide_functions_of(context)->conn, argv[0], &err);
  if (ds != NULL && has_tail(ds, &err) && !tide_err_is_set(&err)) {
    tide_functions_watch(ds, "flush");
    tide_progress_expect(&ds->conn->progress, ds->tail.rows);
    seal_all(ds, &result, &err);
    tide_progress_end(&ds->conn->progress);
  }
  if (!tide_err_is_set(&err)) {
    tide_buf_put_u8(&json, '{', &err);
    tide_functions_put_text(&json, "dataset", ds->name, &err);
    tide_buf_printf(&json, &err, ",\"partitions\":%lld,\"segments\":%lld,\"rows\":%lld,\"stored_bytes\":%lld",
                    (long long)result.partitions, (long long)result.segments, (long long)result.rows,
                    (long long)result.stored_bytes);
    tide_functions_put_now(&json, ds, &err);
    tide_buf_put_u8(&json, '}', &err);
  }
  tide_dataset_release(ds);
  tide_functions_finish(context, &json, &err);
}

/* ---- tidemark_check(dataset) ---- */

/* What keeps a handle from being made, a config that cannot be, say, is what is wrong. */
void tide_function_check(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct tide_err err = {0};
  struct tide_check_report report = {0};
  struct tide_buf text = {0};
  struct tide_dataset *ds = tide_glue_dataset(tide_functions_of(context)->conn, argv[0], &err);
  if (ds != NULL)
    tide_check(ds, false, &report, &err);
  else
    tide_check_report_take(&report, NULL, &err);
  if (!tide_err_is_set(&err))
    tide_check_report_put(&report, &text, &err);
  if (tide_err_is_set(&err))
    tide_glue_function_error(context, &err);
  else
    sqlite3_result_text64(context, (const char *)text.data, text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
  tide_buf_clear(&text);
  tide_check_report_clear(&report);
  tide_dataset_release(ds);
}

/* ---- tidemark_progress([1 or 0]) ---- */

void tide_function_progress(sqlite3_context *context, int argc, sqlite3_value **argv) {
  struct tide_err err = {0};
  struct tide_progress *progress = &tide_functions_of(context)->conn->progress;
  const bool given = argc > 0 && sqlite3_value_type(argv[0]) != SQLITE_NULL;
  const int64_t wanted = given && sqlite3_value_type(argv[0]) == SQLITE_INTEGER ? sqlite3_value_int64(argv[0]) : -1;
  if (given && wanted != 0 && wanted != 1)
    tide_err_set(&err, SQLITE_ERROR, "tidemark_progress takes 1 (on) or 0 (off), or nothing to say which it is");
  else if (given)
    progress->on = wanted == 1;
  if (tide_err_is_set(&err))
    tide_glue_function_error(context, &err);
  else
    sqlite3_result_int(context, progress->on);
}
