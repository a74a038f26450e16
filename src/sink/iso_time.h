/* A timestamp as ISO 8601 text in UTC: "2026-01-01T00:00:00Z", with the digits of its unit behind a point: ".000",
 * ".000000", ".000000000". The calendar is the proleptic Gregorian one, without leap seconds. */
#ifndef TIDE_SINK_ISO_TIME_H
#define TIDE_SINK_ISO_TIME_H

#include <stddef.h>
#include <stdint.h>

#include "model/spec.h"

enum { TIDE_ISO_TIME_SIZE = 30 };

/* Writes the text of a value of a TIMESTAMP type, without a NUL, and gives its size. 0, and nothing is written, when
 * its year is not one of 0000 to 9999, which is all that RFC 3339 and most readers know. */
size_t tide_iso_time(int64_t value, enum tide_type type, char ret_text[TIDE_ISO_TIME_SIZE]);

#endif
