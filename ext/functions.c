#include "functions.h"

#include <string.h>

#include "base/host.h"
#include "base/mem.h"
#include "base/stmt.h"
#include "function_call.h"
#include "glue.h"
#include "sink/json.h"
#include "store/durable.h"
#include "store/sinks.h"

static void unref_functions(void *data) {
  struct tide_functions *functions = data;
  if (--functions->refs > 0)
    return;
  tide_idle_forget(&functions->idle);
  tide_free(functions->acked_json);
  tide_shared_unref(functions->shared);
  tide_free(functions);
}

struct tide_functions *tide_functions_of(sqlite3_context *context) {
  return sqlite3_user_data(context);
}

/* ---- results ---- */

void tide_functions_put_text(struct tide_buf *out, const char *name, const char *text, struct tide_err *err) {
  bool altered = false;
  tide_buf_printf(out, err, "\"%s\":", name);
  tide_json_put_string(out, text, strlen(text), &altered, err);
}

void tide_functions_finish(sqlite3_context *context, struct tide_buf *json, const struct tide_err *err) {
  if (tide_err_is_set(err)) {
    tide_glue_function_error(context, err);
  } else {
    sqlite3_result_text64(context, (const char *)json->data, json->len, SQLITE_TRANSIENT, SQLITE_UTF8);
    sqlite3_result_subtype(context, 'J');
  }
  tide_buf_clear(json);
}

/* ---- progress ---- */

void tide_functions_watch(struct tide_dataset *ds, const char *what) {
  tide_progress_begin(&ds->conn->progress, tide_host_vfs(ds->conn->db, ds->schema), what, NULL, ds->name);
}

/* ---- schemas ---- */

static bool has_sinks(struct tide_conn *conn, const char *schema, struct tide_err *err) {
  return strcmp(schema, "temp") == 0 ? tide_sinks_exist_in_temp(conn->db, &conn->pool, err)
                                     : tide_sinks_exist(conn->db, schema, tide_conn_pool(conn, schema), err);
}

void tide_functions_each_schema(struct tide_conn *conn, tide_functions_each *call, void *data, struct tide_err *err) {
  char *names[128]; /* SQLite attaches 125 at the most, beside main and temp */
  size_t count = 0;
  tide_conn_hold(conn);
  sqlite3_stmt *stmt = tide_schemas_prepare(conn->db, err);
  while (count < sizeof names / sizeof *names && tide_stmt_row(stmt, err)) {
    const char *name = tide_stmt_text(stmt, TIDE_SCHEMAS_NAME, NULL, err);
    if (name != NULL && has_sinks(conn, name, err))
      names[count++] = tide_copy_string(name, err);
  }
  sqlite3_finalize(stmt);
  tide_conn_release(conn);
  for (size_t i = 0; i < count; i++) {
    if (!tide_err_is_set(err))
      call(data, names[i], err);
    tide_free(names[i]);
  }
}

void tide_functions_no_sink(const char *sink, const char *dataset, struct tide_err *err) {
  tide_err_set(err, SQLITE_ERROR, "no such sink%s%s: %s (see tidemark_sink)", dataset != NULL ? " of dataset " : "",
               dataset != NULL ? dataset : "", sink);
}

const char *tide_functions_name_in(struct tide_conn *conn, const char *name, const char *schema) {
  const size_t size = name != NULL ? tide_glue_schema_size(conn->db, name) : 0;
  if (size == 0)
    return name;
  return strlen(schema) == size && sqlite3_strnicmp(name, schema, (int)size) == 0 ? name + size + 1 : NULL;
}

/* ---- registering ---- */

int tide_functions_register(struct tide_shared *shared) {
  static const struct {
    const char *name;
    int argc_min;
    int argc_max;
    int flags;
    void (*function)(sqlite3_context *, int, sqlite3_value **);
  } all[] = {{"tidemark_version", 0, 0, SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC, tide_function_version},
             {"tidemark_flush", 1, 1, SQLITE_DIRECTONLY, tide_function_flush},
             {"tidemark_prune", 1, 2, SQLITE_DIRECTONLY, tide_function_prune},
             {"tidemark_maintain", 0, 1, SQLITE_DIRECTONLY, tide_function_maintain},
             {"tidemark_set", 3, 3, SQLITE_DIRECTONLY, tide_function_set},
             {"tidemark_add_column", 2, 2, SQLITE_DIRECTONLY, tide_function_add_column},
             {"tidemark_columns", 1, 1, SQLITE_DIRECTONLY, tide_function_columns},
             {"tidemark_compact", 1, 2, SQLITE_DIRECTONLY, tide_function_compact},
             {"tidemark_check", 1, 1, SQLITE_DIRECTONLY, tide_function_check},
             {"tidemark_export", 0, 4, SQLITE_DIRECTONLY, tide_function_export},
             {"tidemark_claim", 2, 2, SQLITE_DIRECTONLY, tide_function_claim},
             {"tidemark_ack", 1, 3, SQLITE_DIRECTONLY, tide_function_ack},
             {"tidemark_verify", 1, 2, SQLITE_DIRECTONLY, tide_function_verify},
             {"tidemark_metrics", 0, 1, SQLITE_DIRECTONLY, tide_function_metrics},
             {"tidemark_progress", 0, 1, SQLITE_DIRECTONLY, tide_function_progress},
             {"tidemark_rewind", 5, 5, SQLITE_DIRECTONLY, tide_function_rewind},
             {"tidemark_peek", 1, 2, SQLITE_DIRECTONLY, tide_function_peek},
             {"tidemark_fork", 1, 2, SQLITE_DIRECTONLY, tide_function_fork},
             {"tidemark_requeue", 1, 2, SQLITE_DIRECTONLY, tide_function_requeue},
             {"tidemark_add_schemes", 1, 1, SQLITE_DIRECTONLY, tide_function_add_schemes}};
  struct tide_err err = {0};
  struct tide_functions *functions = tide_alloc_zero(1, sizeof *functions, &err);
  char nonce[TIDE_HOST_ID_SIZE];
  if (functions == NULL)
    return err.rc;
  functions->refs = 1;
  functions->shared = tide_shared_ref(shared);
  functions->conn = shared->conn;
  tide_host_owner(functions->owner, sizeof functions->owner - sizeof nonce);
  tide_host_random_id(nonce);
  const size_t used = strlen(functions->owner);
  sqlite3_snprintf((int)(sizeof functions->owner - used), functions->owner + used, ":%.8s", nonce);
  int rc = SQLITE_OK;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    for (int argc = all[i].argc_min; argc <= all[i].argc_max && rc == SQLITE_OK; argc++) {
      functions->refs++; /* given back by SQLite, also when it refuses */
      rc = sqlite3_create_function_v2(shared->conn->db, all[i].name, argc, SQLITE_UTF8 | all[i].flags, functions,
                                      all[i].function, NULL, NULL, unref_functions);
    }
  }
  unref_functions(functions);
  return rc;
}
