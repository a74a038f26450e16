#include "base/mem.h"
#include "engine/add_column.h"
#include "function_call.h"
#include "glue.h"
#include "model/spec_parse.h"

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
