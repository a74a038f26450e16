/* The schemes http and https: each batch is one POST to the URL, which must be idempotent by its key.
 *
 *   POST <path and query of the URL>
 *   Content-Type: application/x-ndjson      Content-Encoding: zstd (when it is)
 *   Idempotency-Key: "<key>"                the same for the same rows; a string of RFC 8941, in its quotes, as
 *                                           draft-ietf-httpapi-idempotency-key-header has it
 *   Tidemark-Tick: <tick> <token>           decimal, and 16 hexadecimal digits; a receiver that has seen a higher tick
 *                                           of this log and sink (the first two parts of the key), or this one with
 *                                           another token, answers 409 with its own Tidemark-Tick
 *   User-Agent: Tidemark/<version>
 *
 * What answers mean is in http_answer.h. Options: timeout (seconds for one request, 1 to 600, default 30) and those of
 * http_auth.h; a secret goes over plain http to this machine only. The query of a URL stays in the database, but in no
 * message. */
#ifndef TIDE_SINK_TARGET_HTTP_H
#define TIDE_SINK_TARGET_HTTP_H

#include "sink/scheme.h"

extern const struct tide_scheme tide_scheme_http;
extern const struct tide_scheme tide_scheme_https;

#endif
