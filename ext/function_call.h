/* What the files of SQL functions share, and the functions themselves by file. One table in functions.c registers
 * them all. */
#ifndef TIDE_EXT_FUNCTION_CALL_H
#define TIDE_EXT_FUNCTION_CALL_H

#include "base/buf.h"
#include "engine/dataset.h"
#include "engine/work.h"
#include "shared.h"
#include "sink/idle.h"

#ifndef TIDEMARK_VERSION
#define TIDEMARK_VERSION "0.0.0"
#endif

enum { TIDE_FUNCTIONS_OWNER_SIZE = 200 };

/* What the functions of one connection share. */
struct tide_functions {
  int refs;
  struct tide_shared *shared;
  struct tide_conn *conn; /* of shared */
  char
      owner[TIDE_FUNCTIONS_OWNER_SIZE]; /* process and connection: another connection of the process is another owner */
  struct tide_idle idle;                /* of the last tidemark_export */
  int64_t acked;    /* the last batch that tidemark_ack ended here: some hosts run a statement twice */
  char *acked_json; /* what it answered */
};

struct tide_functions *tide_functions_of(sqlite3_context *context);

/* Appends "name":"text" with the text in JSON's own words; commas are the caller's. */
void tide_functions_put_text(struct tide_buf *out, const char *name, const char *text, struct tide_err *err);

/* Appends ,"failed":n,"failures":[...] when there are any. */
void tide_functions_put_failures(struct tide_buf *out, const struct tide_failures *failures, struct tide_err *err);

/* Appends ,"now":{...}: how the dataset stands. */
void tide_functions_put_now(struct tide_buf *out, struct tide_dataset *ds, struct tide_err *err);

/* Hands the JSON or the error to SQLite and frees the buffer. */
void tide_functions_finish(sqlite3_context *context, struct tide_buf *json, const struct tide_err *err);

/* A long call on a dataset begins; tide_progress_end ends it. */
void tide_functions_watch(struct tide_dataset *ds, const char *what);

/* Calls back for every schema that has sink tables; stops at the first error. */
typedef void tide_functions_each(void *data, const char *schema, struct tide_err *err);
void tide_functions_each_schema(struct tide_conn *conn, tide_functions_each *call, void *data, struct tide_err *err);

/* Sets the error for a sink that is nowhere; dataset: NULL when none was named. */
void tide_functions_no_sink(const char *sink, const char *dataset, struct tide_err *err);

/* A name that a function was given, in a schema: "main.x" is x in main, and nothing (NULL) in another schema. */
const char *tide_functions_name_in(struct tide_conn *conn, const char *name, const char *schema);

/* functions_engine.c */
void tide_function_version(sqlite3_context *context, int argc, sqlite3_value **argv);
void tide_function_flush(sqlite3_context *context, int argc, sqlite3_value **argv);
void tide_function_progress(sqlite3_context *context, int argc, sqlite3_value **argv);
void tide_function_check(sqlite3_context *context, int argc, sqlite3_value **argv);

/* functions_export.c */
void tide_function_export(sqlite3_context *context, int argc, sqlite3_value **argv);

/* functions_upkeep.c */
void tide_function_prune(sqlite3_context *context, int argc, sqlite3_value **argv);
void tide_function_compact(sqlite3_context *context, int argc, sqlite3_value **argv);
void tide_function_maintain(sqlite3_context *context, int argc, sqlite3_value **argv);
void tide_function_set(sqlite3_context *context, int argc, sqlite3_value **argv);

/* functions_columns.c */
void tide_function_add_column(sqlite3_context *context, int argc, sqlite3_value **argv);
void tide_function_columns(sqlite3_context *context, int argc, sqlite3_value **argv);

/* functions_sink.c */
void tide_function_claim(sqlite3_context *context, int argc, sqlite3_value **argv);
void tide_function_ack(sqlite3_context *context, int argc, sqlite3_value **argv);
void tide_function_rewind(sqlite3_context *context, int argc, sqlite3_value **argv);

/* functions_outside.c */
void tide_function_peek(sqlite3_context *context, int argc, sqlite3_value **argv);
void tide_function_fork(sqlite3_context *context, int argc, sqlite3_value **argv);
void tide_function_requeue(sqlite3_context *context, int argc, sqlite3_value **argv);

/* functions_verify.c */
void tide_function_verify(sqlite3_context *context, int argc, sqlite3_value **argv);

/* functions_metrics.c */
void tide_function_metrics(sqlite3_context *context, int argc, sqlite3_value **argv);

/* functions_schemes.c */
void tide_function_add_schemes(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
