/* Reads the words between the parentheses of CREATE VIRTUAL TABLE ... USING tidemark(...). */
#ifndef TIDE_MODEL_SPEC_PARSE_H
#define TIDE_MODEL_SPEC_PARSE_H

#include "model/literal.h"
#include "model/options.h"

/* args: the argc arguments as SQLite hands them over, each a column ("ts TIMESTAMP_MS NOT NULL", "\"a b\" TEXT",
 * "x") or an option ("partition_by=(a, b)", "segment_rows = 4096", "autoflush=0"). Names may be quoted as SQL quotes
 * ("", [], ``, and '' for values). Gives a spec with one reference and fills ret_options, or NULL with SQLITE_ERROR
 * and a sentence that names the word at fault and what was expected: no column at all, a name twice or one of the
 * hidden ones, an unknown type, constraint or option, an option twice or out of range, partition_by over a column that
 * is missing, twice named or of a type that cannot partition. */
struct tide_spec *tide_spec_parse(int argc, const char *const *args, struct tide_options *ret_options,
                                  struct tide_err *err);

/* Whether the arguments are adopt=1, which takes up the tables of an earlier log with their columns and options. It
 * stands alone: with another value or anything beside it SQLITE_ERROR is set. */
bool tide_spec_parse_adopt(int argc, const char *const *args, struct tide_err *err);

/* One column definition alone, as tidemark_add_column takes it ("trace TEXT", "n INTEGER NOT NULL DEFAULT 0"). The
 * DEFAULT is a view into the text, size 0 when there is none; dflt_value is left NULL. The caller clears the column.
 * Returns 0 or the code. */
int tide_spec_parse_column(const char *text, struct tide_column *ret_column, struct tide_literal *ret_default,
                           struct tide_err *err);

#endif
