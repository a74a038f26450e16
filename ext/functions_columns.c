#include "base/mem.h"
#include "engine/add_column.h"
#include "function_call.h"
#include "glue.h"
#include "model/spec_parse.h"
#include "store/chunks.h"

/* ---- tidemark_add_column(dataset, definition) ---- */

static void take_default(struct tide_dataset *ds, const struct tide_literal *literal, struct tide_column *column,
                         struct tide_err *err) {
  struct tide_val value;
  struct tide_column nullable = *column;
  nullable.not_null = false; /* the engine refuses that in better words */
  sqlite3_stmt *stmt = literal->size > 0 ? tide_catalog_literal(ds->conn->db, literal, err) : NULL;
  if (stmt != NULL && tide_glue_coerce(sqlite3_column_value(stmt, 0), &nullable, ds->name, &value, err) == 0)
    tide_column_set_default(column, &value, err);
  sqlite3_finalize(stmt);
}

static void put_answer(struct tide_buf *json, const struct tide_dataset *ds, const struct tide_column *column,
                       bool added, struct tide_err *err) {
  tide_buf_put_u8(json, '{', err);
  tide_functions_put_text(json, "dataset", ds->name, err);
  tide_buf_put_u8(json, ',', err);
  tide_functions_put_text(json, "column", column->name, err);
  tide_buf_put_u8(json, ',', err);
  tide_functions_put_text(json, "type", tide_spec_type_name(column->type), err);
  tide_buf_printf(json, err, ",\"added\":%s}", added ? "true" : "false");
}

void tide_function_add_column(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct tide_err err = {0};
  struct tide_buf json = {0};
  struct tide_column column = {.partition_at = -1};
  struct tide_literal literal = {0};
  bool added = false;
  struct tide_dataset *ds = tide_glue_dataset(tide_functions_of(context)->conn, argv[0], &err);
  const char *text = tide_glue_text(argv[1], &err);
  if (text == NULL)
    tide_err_set(&err, SQLITE_ERROR, "tidemark_add_column takes a dataset and a column such as 'trace TEXT'");
  if (!tide_err_is_set(&err) && tide_spec_parse_column(text, &column, &literal, &err) == 0)
    take_default(ds, &literal, &column, &err);
  if (!tide_err_is_set(&err) && tide_add_column(ds, &column, &added, &err) == 0)
    put_answer(&json, ds, &column, added, &err);
  tide_column_clear(&column);
  tide_dataset_release(ds);
  tide_functions_finish(context, &json, &err);
}

/* ---- tidemark_columns(dataset) ---- */

enum { SINCE_AND_INGESTED_AT = 2 }; /* the segment columns before the dataset's own */

static void put_column(struct tide_buf *json, const char *name, const char *type, int64_t bytes, struct tide_err *err) {
  tide_buf_put_string(json, json->data[json->len - 1] == '[' ? "{" : ",{", err);
  tide_functions_put_text(json, "column", name, err);
  tide_buf_put_u8(json, ',', err);
  tide_functions_put_text(json, "type", type, err);
  tide_buf_printf(json, err, ",\"stored_bytes\":%lld}", (long long)bytes);
}

static void put_columns(struct tide_buf *json, const struct tide_dataset *ds, const int64_t *sizes,
                        struct tide_err *err) {
  tide_buf_put_u8(json, '{', err);
  tide_functions_put_text(json, "dataset", ds->name, err);
  tide_buf_put_string(json, ",\"columns\":[", err);
  if (tide_err_is_set(err))
    return;
  put_column(json, "since", "INTEGER", sizes[0], err);
  put_column(json, "ingested_at", "INTEGER", sizes[1], err);
  for (size_t i = 0; i < ds->spec->ncolumns && !tide_err_is_set(err); i++)
    put_column(json, ds->spec->columns[i].name, tide_spec_type_name(ds->spec->columns[i].type),
               sizes[SINCE_AND_INGESTED_AT + i], err);
  tide_buf_put_string(json, "]}", err);
}

void tide_function_columns(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc;
  struct tide_err err = {0};
  struct tide_buf json = {0};
  int64_t *sizes = NULL;
  struct tide_dataset *ds = tide_glue_dataset(tide_functions_of(context)->conn, argv[0], &err);
  if (ds != NULL) {
    sqlite3_stmt *snapshot = tide_read_begin(ds->conn->db, ds->schema, &err);
    tide_dataset_refresh(ds, &err);
    const size_t n = SINCE_AND_INGESTED_AT + ds->spec->ncolumns;
    sizes = tide_alloc_zero(n, sizeof *sizes, &err);
    if (sizes != NULL)
      tide_chunks_sizes(ds->conn->db, tide_dataset_names(ds), sizes, n, &err);
    sqlite3_finalize(snapshot);
  }
  if (!tide_err_is_set(&err))
    put_columns(&json, ds, sizes, &err);
  tide_free(sizes);
  tide_dataset_release(ds);
  tide_functions_finish(context, &json, &err);
}
