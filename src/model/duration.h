/* Spans of time as people write them: '90 days', '5 min', '1.5 hours', '250 ms', or a number of seconds. */
#ifndef TIDE_MODEL_DURATION_H
#define TIDE_MODEL_DURATION_H

#include <stdint.h>

#include "base/err.h"
#include "model/val.h"

/* INT or REAL: seconds. TEXT: a number and a unit (ms, s, sec, second, min, minute, h, hour, d, day, w, week,
 * singular or plural, case ignored; none: seconds). Gives milliseconds, never negative; SQLITE_ERROR with "<what> is
 * ..., expected ..." otherwise. */
int tide_duration_parse(const struct tide_val *value, const char *what, int64_t *ret_ms, struct tide_err *err);

#endif
