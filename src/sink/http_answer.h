/* What a receiver's answer means for the rows that it was sent. Pure.
 *
 *   2xx but 207    TAKEN
 *   207            PARTLY, when the body is {"refused":[{"line":1,"reason":"..."}, ...]}, lines of the body from 1;
 *                  TAKEN when that list is empty; an error when it is anything else
 *   400 422        REFUSED        413  TOO_LARGE       401 403  FORBIDDEN
 *   409            AHEAD, when it has the header Tidemark-Tick: <count> ...; an error otherwise
 *   408 425 429 5xx  LATER, after what Retry-After says
 *   3xx and others   an error: nobody follows a redirect with somebody's rows
 * An error is SQLITE_IOERR: what became of the rows is not known, and the same ones are sent again later. */
#ifndef TIDE_SINK_HTTP_ANSWER_H
#define TIDE_SINK_HTTP_ANSWER_H

#include "sink/curl_io.h"
#include "sink/target.h"

/* Gives 0 with *ret, which is the caller's to clear, or the code of err. Messages begin with origin, and hold the
 * status and the start of the body's text without what is no text. */
int tide_http_answer_judge(const struct tide_curl_answer *answer, const char *origin, int64_t now_ms,
                           struct tide_answer *ret, struct tide_err *err);

#endif
