/* The partition tables of datasets, found where they are: in sqlite_schema, by what their CREATE statements say. */
#ifndef TIDE_STORE_PARTITION_TABLES_H
#define TIDE_STORE_PARTITION_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"
#include "store/names.h"

/* SQLITE_ERROR with a sentence that names the partition tables of the dataset, those of the TEMP schema too; nothing
 * when there are none. */
void tide_partition_tables_refuse(sqlite3 *db, struct tide_names names, const char *what, struct tide_err *err);

/* The dataset that the partition table of that name is of; the caller frees. NULL when the schema has no such table. */
char *tide_partition_tables_dataset(sqlite3 *db, const char *schema, const char *table, struct tide_err *err);

/* Has the partition tables of a dataset that was just made connect anew at this connection's next statement, for those
 * that it has were declared by what was there before. */
void tide_partition_tables_reconnect(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Whether the connection knows a schema as its file has it: false when another connection has changed it since. What
 * reads it then has SQLite forget the schema of temp as well, and with that a table there that is being created. */
bool tide_partition_tables_schema_is_known(sqlite3 *db, const char *schema, struct tide_err *err);

#endif
