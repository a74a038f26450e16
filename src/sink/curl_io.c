#include "sink/curl_io.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/secret.h"

enum { LOOK_UP_MS = 100 };

struct tide_curl {
  CURLM *multi; /* owns the connections */
  CURL *easy;
  const struct tide_patience *patience;
  /* Of the request under way: */
  const struct tide_curl_request *request;
  struct tide_curl_answer *answer;
  struct tide_err *err;
  char detail[CURL_ERROR_SIZE]; /* curl's own sentence */
};

/* ---- life ---- */

static pthread_once_t global_once = PTHREAD_ONCE_INIT;
static CURLcode global_code;

/* Never undone: the module stays in the process, and the host may use libcurl as well. */
static void init_global(void) {
  global_code = curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct tide_curl *tide_curl_open(const struct tide_patience *patience, struct tide_err *err) {
  pthread_once(&global_once, init_global);
  if (global_code != CURLE_OK) {
    tide_err_set(err, SQLITE_ERROR, "libcurl does not start: %s", curl_easy_strerror(global_code));
    return NULL;
  }
  struct tide_curl *curl = tide_alloc_zero(1, sizeof *curl, err);
  if (curl == NULL)
    return NULL;
  curl->patience = patience;
  curl->multi = curl_multi_init();
  curl->easy = curl_easy_init();
  if (curl->multi == NULL || curl->easy == NULL) {
    tide_err_nomem(err);
    tide_curl_close(curl);
    return NULL;
  }
  return curl;
}

void tide_curl_close(struct tide_curl *curl) {
  if (curl == NULL)
    return;
  curl_easy_cleanup(curl->easy);
  curl_multi_cleanup(curl->multi);
  tide_free(curl);
}

/* ---- the answer ---- */

void tide_curl_answer_clear(struct tide_curl_answer *answer) {
  tide_buf_clear(&answer->headers);
  tide_buf_clear(&answer->body);
  *answer = (struct tide_curl_answer){0};
}

const char *tide_curl_answer_header(const struct tide_curl_answer *answer, const char *name) {
  const char *at = (const char *)answer->headers.data;
  const char *end = at != NULL ? at + answer->headers.len : NULL;
  while (at != end) {
    const char *value = at + strlen(at) + 1;
    if (sqlite3_stricmp(at, name) == 0)
      return value;
    at = value + strlen(value) + 1;
  }
  return NULL;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Called once for each header line, status lines and the empty line at the end among them; a status line starts the
 * headers of an answer anew, for there may be some of 1xx before it. */
static size_t on_header(char *line, size_t one, size_t size, void *context) {
  struct tide_curl *curl = context;
  struct tide_buf *headers = &curl->answer->headers;
  const char *colon = memchr(line, ':', size);
  if (size >= 5 && memcmp(line, "HTTP/", 5) == 0)
    tide_buf_reset(headers);
  else if (colon != NULL && memchr(line, '\0', size) == NULL) {
    const char *end = line + size;
    const char *value = colon + 1;
    while (value < end && is_blank(*value))
      value++;
    while (end > value && is_blank(end[-1]))
      end--;
    if (headers->len + size + 2 > TIDE_CURL_HEADERS_MAX)
      tide_err_set(curl->err, SQLITE_IOERR, "%s: the headers of its answer are larger than %d bytes",
                   curl->request->where->origin, TIDE_CURL_HEADERS_MAX);
    tide_buf_put(headers, line, (size_t)(colon - line), curl->err);
    tide_buf_put_u8(headers, 0, curl->err);
    tide_buf_put(headers, value, (size_t)(end - value), curl->err);
    tide_buf_put_u8(headers, 0, curl->err);
  }
  return tide_err_is_set(curl->err) ? 0 : one * size;
}

static size_t on_body(char *bytes, size_t one, size_t size, void *context) {
  struct tide_curl *curl = context;
  struct tide_buf *body = &curl->answer->body;
  long status = 0;
  curl_easy_getinfo(curl->easy, CURLINFO_RESPONSE_CODE, &status);
  if (curl->request->take != NULL && status / 100 == 2) {
    curl->request->take(curl->request->context, bytes, size, curl->err);
    return tide_err_is_set(curl->err) ? 0 : one * size;
  }
  const size_t room = TIDE_CURL_BODY_MAX - body->len;
  curl->answer->is_cut = size > room;
  tide_buf_put(body, bytes, size < room ? size : room, curl->err);
  return tide_err_is_set(curl->err) || curl->answer->is_cut ? 0 : one * size;
}

/* ---- the request ---- */

static struct curl_slist *add_header(struct curl_slist *list, const char *header, struct tide_err *err) {
  struct curl_slist *longer = tide_err_is_set(err) ? NULL : curl_slist_append(list, header);
  if (longer == NULL)
    tide_err_nomem(err);
  return longer != NULL ? longer : list;
}

/* A form's Content-Type is what curl gives a body that came without one. */
static struct curl_slist *make_headers(const struct tide_curl_request *request, struct tide_err *err) {
  struct curl_slist *list = NULL;
  bool has_type = false;
  for (size_t i = 0; i < request->nheaders; i++) {
    has_type = has_type || sqlite3_strnicmp(request->headers[i], "Content-Type:", 13) == 0;
    list = add_header(list, request->headers[i], err);
  }
  return has_type ? list : add_header(list, "Content-Type:", err);
}

/* curl's copies of headers that may hold a secret. */
static void free_headers(struct curl_slist *list) {
  for (struct curl_slist *at = list; at != NULL; at = at->next)
    tide_secret_wipe(at->data, strlen(at->data));
  curl_slist_free_all(list);
}

static void set_text(struct tide_curl *curl, CURLoption option, const char *text) {
  if (curl_easy_setopt(curl->easy, option, text) != CURLE_OK)
    tide_err_nomem(curl->err);
}

static void set_trust(struct tide_curl *curl) {
  const char *bundle = getenv("CURL_CA_BUNDLE");
  if (bundle == NULL || bundle[0] == '\0')
    bundle = getenv("SSL_CERT_FILE");
  if (bundle != NULL && bundle[0] != '\0')
    set_text(curl, CURLOPT_CAINFO, bundle);
  curl_easy_setopt(curl->easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(curl->easy, CURLOPT_SSL_VERIFYHOST, 2L);
#if LIBCURL_VERSION_NUM >= 0x075500
  set_text(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(curl->easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  curl_easy_setopt(curl->easy, CURLOPT_HTTP09_ALLOWED, 0L);
  curl_easy_setopt(curl->easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl->easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
  if (curl->request->where->is_loopback)
    set_text(curl, CURLOPT_PROXY, "");
}

static void set_limits(struct tide_curl *curl) {
  const int64_t timeout_ms = curl->request->timeout_ms;
  const int64_t connect_ms = timeout_ms < TIDE_CURL_CONNECT_TIMEOUT_MS ? timeout_ms : TIDE_CURL_CONNECT_TIMEOUT_MS;
  curl_easy_setopt(curl->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
  curl_easy_setopt(curl->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
  curl_easy_setopt(curl->easy, CURLOPT_NOSIGNAL, 1L);
}

static void set_callbacks(struct tide_curl *curl) {
  curl_easy_setopt(curl->easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl->easy, CURLOPT_HEADERDATA, curl);
  curl_easy_setopt(curl->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(curl->easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl->easy, CURLOPT_WRITEDATA, curl);
  curl_easy_setopt(curl->easy, CURLOPT_ERRORBUFFER, curl->detail);
}

/* A body in memory is what curl can send twice: when a connection that it kept turns out to be closed. */
static void set_method(struct tide_curl *curl) {
  const struct tide_curl_request *request = curl->request;
  const bool puts = strcmp(request->method, "PUT") == 0 || strcmp(request->method, "POST") == 0;
  if (strcmp(request->method, "HEAD") == 0)
    curl_easy_setopt(curl->easy, CURLOPT_NOBODY, 1L);
  if (request->body != NULL || puts) {
    curl_easy_setopt(curl->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(curl->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size);
    curl_easy_setopt(curl->easy, CURLOPT_POSTFIELDS, request->body != NULL ? request->body : "");
  }
  set_text(curl, CURLOPT_CUSTOMREQUEST, request->method);
  curl_easy_setopt(curl->easy, CURLOPT_PATH_AS_IS, 1L);
  set_text(curl, CURLOPT_URL, request->url);
}

/* ---- sending it ---- */

/* libcurl leaves SIGPIPE to us under CURLOPT_NOSIGNAL, and some of its TLS libraries raise it. It is kept from this
 * thread, and one that came meanwhile is taken away. */
struct held_sigpipe {
  sigset_t before;
  bool was_pending;
};

static struct held_sigpipe hold_sigpipe(void) {
  struct held_sigpipe held = {0};
  sigset_t pipe, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  held.was_pending = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe, &held.before);
  return held;
}

static void release_sigpipe(const struct held_sigpipe *held) {
  sigset_t pipe, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  int taken = 0;
  if (!held->was_pending && sigismember(&pending, SIGPIPE) == 1)
    sigwait(&pipe, &taken);
  pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}

static bool is_over(struct tide_curl *curl) {
  const struct tide_patience *patience = curl->patience;
  return tide_err_is_set(curl->err) ||
         (patience != NULL && patience->is_over != NULL && patience->is_over(patience->context, curl->err));
}

/* Gives curl's code, or CURLE_OK with err set when the user ended it. */
static CURLcode perform(struct tide_curl *curl) {
  CURLcode code = CURLE_OK;
  int running = 0, left = 0;
  CURLMcode multi_code = curl_multi_add_handle(curl->multi, curl->easy);
  while (multi_code == CURLM_OK) {
    multi_code = curl_multi_perform(curl->multi, &running);
    if (multi_code != CURLM_OK || running == 0 || is_over(curl))
      break;
    multi_code = curl_multi_poll(curl->multi, NULL, 0, LOOK_UP_MS, NULL);
  }
  for (CURLMsg *message; (message = curl_multi_info_read(curl->multi, &left)) != NULL;) {
    if (message->msg == CURLMSG_DONE)
      code = message->data.result;
  }
  curl_multi_remove_handle(curl->multi, curl->easy);
  return multi_code == CURLM_OK ? code : multi_code == CURLM_OUT_OF_MEMORY ? CURLE_OUT_OF_MEMORY : CURLE_FAILED_INIT;
}

/* Of curl's own sentences only those about certificates are shown: others may hold what a URL hides. */
static void say_failure(struct tide_curl *curl, CURLcode code) {
  const char *origin = curl->request->where->origin;
  curl_off_t connected = 0;
  long number = 0;
  curl_easy_getinfo(curl->easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
  curl_easy_getinfo(curl->easy, CURLINFO_OS_ERRNO, &number);
  /* libcurl says that there is no memory of headers beyond its limits too, which is no reason to end all sinks */
  if (code == CURLE_OUT_OF_MEMORY)
    tide_err_set(curl->err, SQLITE_IOERR, "%s gave more headers than are taken, or there was no memory for them",
                 origin);
  else if (code == CURLE_OPERATION_TIMEDOUT && connected == 0)
    tide_err_set(curl->err, SQLITE_IOERR, "%s could not be connected to in time", origin);
  else if (code == CURLE_OPERATION_TIMEDOUT)
    tide_err_set(curl->err, SQLITE_IOERR, "%s gave no whole answer within %lld seconds", origin,
                 (long long)(curl->request->timeout_ms + 999) / 1000);
  else if (code == CURLE_SSL_CACERT_BADFILE)
    tide_err_set(
        curl->err, SQLITE_IOERR,
        "%s: the certificates that this machine trusts are not there: install ca-certificates, or name a file in "
        "CURL_CA_BUNDLE",
        origin);
  else if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY)
    tide_err_set(curl->err, SQLITE_IOERR, "%s: what it answers is not HTTP", origin);
  else if (code == CURLE_COULDNT_CONNECT && number != 0)
    tide_err_set(curl->err, SQLITE_IOERR, "%s: %s (%s)", origin, curl_easy_strerror(code), strerror((int)number));
  else if ((code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CONNECT_ERROR) && curl->detail[0] != '\0')
    tide_err_set(curl->err, SQLITE_IOERR, "%s: %s", origin, curl->detail);
  else
    tide_err_set(curl->err, SQLITE_IOERR, "%s: %s", origin, curl_easy_strerror(code));
}

int tide_curl_request(struct tide_curl *curl, const struct tide_curl_request *request, struct tide_curl_answer *answer,
                      struct tide_err *err) {
  tide_curl_answer_clear(answer);
  if (tide_err_is_set(err))
    return err->rc;
  curl->request = request;
  curl->answer = answer;
  curl->err = err;
  curl->detail[0] = '\0';
  struct curl_slist *headers = make_headers(request, err);
  curl_easy_reset(curl->easy);
  set_trust(curl);
  set_limits(curl);
  set_callbacks(curl);
  set_method(curl);
  curl_easy_setopt(curl->easy, CURLOPT_HTTPHEADER, headers);
  if (!tide_err_is_set(err)) {
    const struct held_sigpipe held = hold_sigpipe();
    const CURLcode code = perform(curl);
    release_sigpipe(&held);
    long status = 0;
    curl_easy_getinfo(curl->easy, CURLINFO_RESPONSE_CODE, &status);
    answer->status = (int)status;
    if (code != CURLE_OK && !answer->is_cut)
      say_failure(curl, code);
  }
  tide_buf_put_u8(&answer->body, 0, err);
  answer->body.len -= answer->body.len > 0;
  curl_easy_reset(curl->easy);
  free_headers(headers);
  if (tide_err_is_set(err))
    tide_curl_answer_clear(answer);
  return err->rc;
}
