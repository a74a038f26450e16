/* AWS Signature Version 4, as "Authenticating Requests: Using the Authorization Header" in the Amazon S3 API
 * reference has it. Pure: a request, a key and a time give the header. SHA-256 and HMAC are OpenSSL's, which
 * libcurl's Debian package links anyway. libcurl's own CURLOPT_AWS_SIGV4 is not used: it signs what is in canonical
 * form already and no more (7.88: not "=" in a path, no unsorted query, no query without a value), reads its own
 * clock, and could not be held against the published vectors. */
#ifndef TIDE_SINK_SIGV4_H
#define TIDE_SINK_SIGV4_H

#include <stdbool.h>

#include "base/buf.h"

enum { TIDE_SIGV4_HASH_SIZE = 65, TIDE_SIGV4_TIME_SIZE = 17 };

struct tide_sigv4_key {
  const char *id;
  const char *secret;
  const char *region;
  const char *service;
};

struct tide_sigv4_pair {
  const char *name;
  const char *value;
};

struct tide_sigv4_request {
  const char *method;
  const char *path;                /* as it is sent: tide_sigv4_put_escaped */
  const char *query;               /* as it is sent: tide_sigv4_put_query; "" is none */
  struct tide_sigv4_pair *headers; /* all that are to be signed, host and x-amz-date at the least: names in lower case,
                                      each once; they are put in order here */
  size_t nheaders;
  const char *payload_hash;
};

/* SHA-256 as 64 lower-case hexadecimal digits. */
void tide_sigv4_hash(const void *bytes, size_t size, char ret_hash[TIDE_SIGV4_HASH_SIZE], struct tide_err *err);

/* Milliseconds since 1970 UTC as "20130524T000000Z", the value of x-amz-date. */
void tide_sigv4_time(int64_t now_ms, char ret_time[TIDE_SIGV4_TIME_SIZE]);

/* Appends text with every byte but A-Z a-z 0-9 - . _ ~ as %XX; keep_slashes: and but "/". Text that holds "%" is text:
 * "a%2Fb" becomes "a%252Fb". */
void tide_sigv4_put_escaped(struct tide_buf *out, const char *text, bool keep_slashes, struct tide_err *err);

/* Appends "a=1&b=": the pairs, which are put in order, escaped. */
void tide_sigv4_put_query(struct tide_buf *out, struct tide_sigv4_pair *pairs, size_t count, struct tide_err *err);

/* Appends the value of the Authorization header. time is that of x-amz-date. */
void tide_sigv4_put_authorization(struct tide_buf *out, const struct tide_sigv4_key *key,
                                  const struct tide_sigv4_request *request, const char *time, struct tide_err *err);

#endif
