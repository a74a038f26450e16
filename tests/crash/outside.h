/* What leaves the database of a script: two sinks that are folders, one that is a Delta table, one whose rows a test
 * carries out by claim and ack, one in plain SQL. */
#ifndef TIDE_TESTS_OUTSIDE_H
#define TIDE_TESTS_OUTSIDE_H

#include "base/sqlite.h"

/* Makes the folders in `folder`, registers the sinks of dataset logs. */
void outside_make(sqlite3 *db, const char *folder);

/* Ticks, of which each ships all there is. */
void outside_export(sqlite3 *db, const char *sink);
void outside_ship_by_hand(sqlite3 *db, const char *folder);
void outside_copy(sqlite3 *db);

/* Holds everything that has left against the log, and against the database at `twin`, which has the rows that there are
 * and, in its table ever, all that there ever were. Nothing may be left to do. */
void outside_check(sqlite3 *db, const char *folder, const char *twin);

#endif
