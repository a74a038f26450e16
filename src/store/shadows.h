/* The shadow tables of a dataset as a whole: whether the names are free that it needs, and whether all are there. */
#ifndef TIDE_STORE_SHADOWS_H
#define TIDE_STORE_SHADOWS_H

#include "base/err.h"
#include "base/sqlite.h"
#include "store/names.h"

/* Before a dataset of that name is made. SQLITE_ERROR that names what stands in the way: the tables of an earlier log,
 * and then how to adopt or drop them, or anything else of such a name. */
void tide_shadows_check_free(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Before a dataset gets that name: SQLITE_ERROR that names what stands in the way. */
void tide_shadows_check_rename(sqlite3 *db, struct tide_names names, const char *new_name, struct tide_err *err);

/* Before tables are adopted: SQLITE_ERROR that names those that are missing, or says that there are none at all. */
void tide_shadows_check_whole(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Before the dataset, or with dataset NULL the tables that all of the schema share, are read: SQLITE_CORRUPT_VTAB that
 * names a table of theirs which is a view or a virtual table. In a file from elsewhere such a one could read the dataset
 * itself, which reads it, and so on until the stack ends. What is missing is not told. */
void tide_shadows_check_kinds(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Whether somebody put a trigger on one of its tables. */
bool tide_shadows_have_triggers(sqlite3 *db, struct tide_names names, struct tide_err *err);

/* Whether that shadow table is there, and an ordinary one. */
bool tide_shadows_has_table(sqlite3 *db, struct tide_names names, const char *suffix, struct tide_err *err);

/* Whether there is a table _unique that looks like a dataset's, for one whose config does not say. */
bool tide_shadows_has_unique(sqlite3 *db, struct tide_names names, struct tide_err *err);

#endif
