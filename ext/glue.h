/* Between SQLite's calls and ours: values, errors, names. */
#ifndef TIDE_EXT_GLUE_H
#define TIDE_EXT_GLUE_H

#include "base/sqlite.h"
#include "engine/dataset.h"
#include "model/spec.h"
#include "model/val.h"

/* A view of an SQLite value as it is. */
struct tide_val tide_glue_value(sqlite3_value *value);
/* The value as text, good until it is asked for in another form. NULL when it is NULL, and with the error set when there
 * is no memory to make it text. */
const char *tide_glue_text(sqlite3_value *value, struct tide_err *err);
/* The integer that a value is equal to when an INTEGER column compares with it; false when there is none. */
bool tide_glue_integer(sqlite3_value *value, int64_t *ret_integer);

/* The value as a column of that type stores it, as in SQLite's STRICT tables: the column's affinity is applied, and
 * what then is not of the type is SQLITE_CONSTRAINT_DATATYPE with a sentence that names table, column and both
 * types; NULL in a NOT NULL column is its DEFAULT (SQLite does not say whether a column was left out), and
 * SQLITE_CONSTRAINT_NOTNULL where there is none. */
int tide_glue_coerce(sqlite3_value *value, const struct tide_column *column, const char *dataset,
                     struct tide_val *ret_value, struct tide_err *err);

/* The same for a value that the column stores as it is, as most are; false, and nothing of use in ret_value, for any
 * other. The database must be in UTF-8: text is then taken as its bytes are, without the copy that SQLite makes of one
 * without a NUL. */
bool tide_glue_is_of_type(sqlite3_value *value, const struct tide_column *column, struct tide_val *ret_value);

/* An option as tidemark_set takes it: ages in seconds, columns by their names; NULL for no limit, or the time of
 * ingest. A view of the dataset's. */
struct tide_val tide_glue_option(const struct tide_dataset *ds, const struct tide_option_facts *facts);

/* Hands a value to SQLite. Text and blob are copied: some SQL functions keep the pointer until the statement ends. */
void tide_glue_result(sqlite3_context *context, const struct tide_val *value);

/* The same of a text of n bytes with a NUL behind them. */
void tide_glue_result_text(sqlite3_context *context, const char *text, size_t n);

/* sqlite3_declare_vtab, unless err is set; of an interrupt that gives SQLITE_ERROR, this SQLITE_INTERRUPT. */
int tide_glue_declare(sqlite3 *db, const char *sql, struct tide_err *err);

/* An error to a virtual-table method (gives the code, sets zErrMsg) or a function. */
int tide_glue_vtab_error(sqlite3_vtab *vtab, const struct tide_err *err);
/* The same for an INSERT that was refused. Its conflict clause (OR IGNORE, FAIL, ROLLBACK) is applied where an ordinary
 * STRICT table applies it: to NOT NULL and UNIQUE, but OR REPLACE replaces nothing. A row that cannot be stored at all
 * ends the statement whatever the clause says; SQLite would apply it to every SQLITE_CONSTRAINT of a virtual table, so
 * that under such a clause the code is SQLITE_MISMATCH. */
int tide_glue_insert_error(sqlite3 *db, sqlite3_vtab *vtab, const struct tide_err *err);
void tide_glue_function_error(sqlite3_context *context, const struct tide_err *err);

/* How many bytes of 'schema.name' are the schema's name: what stands before the first dot behind which it is one of the
 * connection's; 0 when all dots are the name's own. */
size_t tide_glue_schema_size(sqlite3 *db, const char *text);

/* Finds the schema of a dataset that a function was given as 'name' or 'schema.name' and takes its handle
 * (tide_dataset_release). NULL with a sentence when there is none, or when several attached schemas have it. */
struct tide_dataset *tide_glue_dataset(struct tide_conn *conn, sqlite3_value *argument, struct tide_err *err);

/* Sets the error when a name that is no dataset's is a partition table's of that schema. */
void tide_glue_refuse_partition_table(struct tide_conn *conn, const char *schema, const char *name,
                                      struct tide_err *err);

#endif
