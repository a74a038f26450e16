/* JSON (RFC 8259) as exported formats write it: strings that are always well-formed UTF-8, and JSON texts copied when
 * they are strict. */
#ifndef TIDE_SINK_JSON_H
#define TIDE_SINK_JSON_H

#include <stdbool.h>

#include "base/buf.h"

enum { TIDE_JSON_DEPTH_MAX = 200 };

/* Appends a JSON string. Control characters are escaped (\n, \t ... or \u00XX). Each maximal subpart of an ill-formed
 * UTF-8 sequence becomes U+FFFD; then *altered is set, which is otherwise left as it was. */
void tide_json_put_string(struct tide_buf *out, const void *text, size_t size, bool *altered, struct tide_err *err);

/* Appends a number with a point that reads back as the same double. An infinite one, which JSON has not, becomes
 * "Infinity" or "-Infinity" as a string; then *altered is set. NaN, which SQLite does not store, becomes null. */
void tide_json_put_real(struct tide_buf *out, double value, bool *altered, struct tide_err *err);

/* Appends a JSON text without the white space between its tokens, so that it has no line break, and gives true. Gives
 * false, and leaves `out` as it was, when the text is not strict: anything outside RFC 8259's grammar, ill-formed
 * UTF-8, an escaped surrogate that has no partner, or nesting deeper than TIDE_JSON_DEPTH_MAX. Numbers, escapes and
 * repeated names are copied as they are. */
bool tide_json_put_strict(struct tide_buf *out, const void *text, size_t size, struct tide_err *err);

#endif
