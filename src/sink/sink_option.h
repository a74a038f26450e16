/* The options of a sink: a JSON object of names and plain values. Whoever knows an option takes it; what nobody took is
 * refused by name. */
#ifndef TIDE_SINK_SINK_OPTION_H
#define TIDE_SINK_SINK_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum tide_sink_option_kind {
  TIDE_SINK_OPTION_TEXT,
  TIDE_SINK_OPTION_INTEGER,
  TIDE_SINK_OPTION_BOOLEAN,
  TIDE_SINK_OPTION_OTHER
};
struct tide_sink_option {
  char *name;
  enum tide_sink_option_kind kind;
  char *text;      /* of TEXT the value, of the others the JSON */
  int64_t integer; /* of INTEGER; 0 or 1 of BOOLEAN */
  bool taken;
};

enum { TIDE_SINK_OPTIONS_MAX = 64 }; /* more than anybody knows: each is held against all others */

/* All zero has none. */
struct tide_sink_options {
  struct tide_sink_option *list;
  size_t count;
  struct tide_buf known; /* the names that were asked for, ", " between, for the message */
};

/* json NULL: none. SQLITE_ERROR when it is not a JSON object, gives a name twice, or more than
 * TIDE_SINK_OPTIONS_MAX. */
int tide_sink_options_parse(const char *json, struct tide_sink_options *ret, struct tide_err *err);
void tide_sink_options_clear(struct tide_sink_options *options);

/* Takes an option. Each gives its value, or absent when it was not given. SQLITE_ERROR in err, naming the option and
 * what was expected, when the value is of another kind, out of range, or (text) empty. The text is the options' own. */
int64_t tide_sink_options_take_integer(struct tide_sink_options *options, const char *name, int64_t min, int64_t max,
                                       int64_t absent, struct tide_err *err);
bool tide_sink_options_take_boolean(struct tide_sink_options *options, const char *name, bool absent,
                                    struct tide_err *err);
const char *tide_sink_options_take_text(struct tide_sink_options *options, const char *name, const char *absent,
                                        struct tide_err *err);

/* Whether an option was given, without taking it. */
bool tide_sink_options_has(const struct tide_sink_options *options, const char *name);

/* SQLITE_ERROR when one is left that nobody took. */
int tide_sink_options_end(const struct tide_sink_options *options, struct tide_err *err);

#endif
