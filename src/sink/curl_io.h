/* Requests over http and https, by libcurl: one at a time, answered, failed or out of time when the call returns. What
 * holds for all of them: certificates and host names are always checked; redirects are never followed; no cookies, no
 * .netrc; a proxy as the environment says to curl's users (http_proxy, https_proxy, no_proxy), but never to this
 * machine itself; certificates of authorities are those of CURL_CA_BUNDLE or SSL_CERT_FILE, or else libcurl's own. No
 * signal is raised or handled, and the host's SIGPIPE is left as it is. libcurl keeps its own allocator:
 * curl_global_init_mem would give ours, with its limits and failures, to a host that uses libcurl too. */
#ifndef TIDE_SINK_CURL_IO_H
#define TIDE_SINK_CURL_IO_H

#include "base/buf.h"
#include "sink/curl_url.h"
#include "sink/scheme.h"

/* Keeps connections, and is for one thread at a time. open, request any number of times, close. */
struct tide_curl;

/* patience (NULL: none) is asked about ten times a second while a request waits; it outlives the handle. */
struct tide_curl *tide_curl_open(const struct tide_patience *patience, struct tide_err *err);
void tide_curl_close(struct tide_curl *curl);

struct tide_curl_request {
  const char *method;                /* "GET", "HEAD", "PUT", "POST", "DELETE" */
  const char *url;                   /* the text of `where`, or another of the same origin; sent as it is */
  const struct tide_curl_url *where; /* whom to ask, and what messages name */
  const char *const *headers;        /* "Name: value" each; none that curl would add by itself but was not asked for */
  size_t nheaders;
  const void *body; /* NULL: none, and no Content-Length either, but for PUT and POST */
  size_t body_size;
  int64_t timeout_ms; /* of the whole request; at most CONNECT_TIMEOUT_MS of it to connect */
  /* Takes the bytes of the body of an answer of status 2xx as they come. NULL: they are kept in the answer. */
  void (*take)(void *context, const void *bytes, size_t size, struct tide_err *err);
  void *context;
};

enum { TIDE_CURL_CONNECT_TIMEOUT_MS = 20000, TIDE_CURL_BODY_MAX = 1 << 20, TIDE_CURL_HEADERS_MAX = 1 << 16 };

/* All zero is an empty one; a request that is given one again clears it. */
struct tide_curl_answer {
  int status;              /* of three digits; those of 1xx are not answers */
  struct tide_buf headers; /* name NUL value NUL ... of this answer, values trimmed */
  struct tide_buf body;    /* as it came, with a NUL behind its len */
  bool is_cut;             /* the body went on beyond TIDE_CURL_BODY_MAX, and was left there */
};
void tide_curl_answer_clear(struct tide_curl_answer *answer);

/* The value of a header, by any case of its name; the first one when it came more than once; NULL when it did not. */
const char *tide_curl_answer_header(const struct tide_curl_answer *answer, const char *name);

/* Sends the request and waits for its whole answer, whatever its status. Gives 0, or the code of err: SQLITE_INTERRUPT
 * (or whatever patience or take set), SQLITE_NOMEM, and SQLITE_IOERR with a sentence that names the origin for all
 * else: no connection, no trust, no answer in time, one that broke off or has endless headers. Then whether the
 * receiver acted on it is not known. */
int tide_curl_request(struct tide_curl *curl, const struct tide_curl_request *request, struct tide_curl_answer *answer,
                      struct tide_err *err);

#endif
