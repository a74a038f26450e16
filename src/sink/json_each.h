/* A JSON array or object taken apart by SQLite, on a private connection: the user's own has functions and limits of its
 * own. */
#ifndef TIDE_SINK_JSON_EACH_H
#define TIDE_SINK_JSON_EACH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sqlite.h"

/* All zero is closed. */
struct tide_json_each {
  sqlite3 *db;
  sqlite3_stmt *stmt;
  sqlite3_stmt *inner; /* for tide_json_each_field, once it was called */
};

/* Opens a text whose outermost value begins with that bracket, '[' or '{'. false, without an error, when it is no
 * strict JSON of that kind. json outlives it. */
bool tide_json_each_open(struct tide_json_each *each, const char *json, char bracket, struct tide_err *err);
void tide_json_each_close(struct tide_json_each *each);

/* The next member: false at the end and on error. */
bool tide_json_each_next(struct tide_json_each *each, struct tide_err *err);

/* Of the member: its name (an object's) or place (an array's), its value as text (numbers and containers as JSON, ""
 * for null) and its type as json_type gives it. Valid until the next call. */
const char *tide_json_each_key(struct tide_json_each *each, struct tide_err *err);
const char *tide_json_each_text(struct tide_json_each *each, struct tide_err *err);
const char *tide_json_each_type(struct tide_json_each *each, struct tide_err *err);
int64_t tide_json_each_integer(struct tide_json_each *each);

/* Of a member that is an object itself: its value of that name, as text, and its type; "" and "" when there is none, or
 * the member is no object. Valid until the next call of this one. */
const char *tide_json_each_field(struct tide_json_each *each, const char *name, const char **ret_type,
                                 struct tide_err *err);

#endif
