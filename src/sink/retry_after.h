/* How long a receiver asks to be left alone: the header Retry-After (RFC 9110 section 10.2.3), as seconds or as a date
 * in any of the three forms of section 5.6.7. Pure: it reads no clock. */
#ifndef TIDE_SINK_RETRY_AFTER_H
#define TIDE_SINK_RETRY_AFTER_H

#include <stdbool.h>
#include <stdint.h>

enum { TIDE_RETRY_AFTER_MAX_MS = 24 * 60 * 60 * 1000 };

/* The milliseconds to wait from now on, 0 to TIDE_RETRY_AFTER_MAX_MS; what is longer is cut, what has passed is 0. -1
 * when value is NULL or neither of its forms: it did not say. A date is counted from the answer's own Date header, so
 * that a receiver whose clock is wrong is still understood; from now_ms when there is no legal one (NULL). */
int64_t tide_retry_after_ms(const char *value, const char *date, int64_t now_ms);

/* An HTTP-date as seconds since 1970 UTC; false when it is in none of the three forms. A year of two digits is the
 * latest one that is at most 50 years ahead of now_ms. A day's name must be one, but need not be that day's. */
bool tide_http_date_parse(const char *text, int64_t now_ms, int64_t *ret_s);

#endif
