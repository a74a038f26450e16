/* The shadow table _column (store/catalog.h draws it): the dataset's spec as the file has it. */
#ifndef TIDE_STORE_CATALOG_COLUMN_H
#define TIDE_STORE_CATALOG_COLUMN_H

#include "base/sqlite.h"
#include "model/literal.h"
#include "model/spec.h"
#include "store/names.h"

/* Fills the table of a new dataset. */
void tide_catalog_columns_create(sqlite3 *db, struct tide_names names, const struct tide_spec *spec,
                                 struct tide_err *err);

/* Adds a column behind `ordinal` others, and tells the config. */
void tide_catalog_column_add(sqlite3 *db, struct tide_names names, size_t ordinal, const struct tide_column *column,
                             struct tide_err *err);

/* The spec as stored. One reference; NULL on failure, SQLITE_CORRUPT_VTAB for what is no spec. */
struct tide_spec *tide_catalog_spec(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* What a constant of DDL says, as SQLite reads it: a statement whose row has it in column 0, which the caller finalizes
 * when it is done with the value; NULL on failure. A copy of the value (sqlite3_value_dup) is of no connection, and
 * sqlite3_value_numeric_type of SQLite 3.53 needs one. */
sqlite3_stmt *tide_catalog_literal(sqlite3 *db, const struct tide_literal *literal, struct tide_err *err);

/* Makes this connection declare all virtual tables anew when they are used next, also when it is interrupted; fails
 * when the host's authorizer does not let it, and without memory. In a transaction SQLite forgets that the schema was
 * changed, which a rollback must know: there it comes before the change, and is the end of the statement that could end
 * the transaction of an interrupted connection. */
void tide_catalog_undeclare(sqlite3 *db, struct tide_err *err);

/* Makes the other connections do so at their next statement. A write transaction is open; a rollback makes this
 * connection look once more. */
void tide_catalog_redeclare(sqlite3 *db, const char *schema, struct tide_err *err);

#endif
