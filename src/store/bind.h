/* A value of ours as a parameter of a statement. */
#ifndef TIDE_STORE_BIND_H
#define TIDE_STORE_BIND_H

#include "base/err.h"
#include "base/sqlite.h"
#include "model/val.h"

/* Binds a view, whose bytes must live until the statement is reset. SQLITE_TOOBIG above the host's limit. */
void tide_bind_value(sqlite3_stmt *stmt, int at, const struct tide_val *value, struct tide_err *err);

#endif
