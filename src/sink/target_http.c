#include "sink/target_http.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/curl_io.h"
#include "sink/http_answer.h"
#include "sink/http_auth.h"

enum { TIMEOUT_S = 30, TIMEOUT_MIN_S = 1, TIMEOUT_MAX_S = 600, OWN_HEADERS_MAX = 5 };

struct http_target {
  struct tide_target base;
  struct tide_curl *curl;
  struct tide_curl_url url;
  struct tide_http_auth auth;
  int64_t timeout_ms;
  bool is_open; /* an object is under way: */
  struct tide_object object;
  struct tide_buf body;
};

/* ---- one object ---- */

static void http_abort(struct tide_target *target) {
  struct http_target *http = (struct http_target *)target;
  http->is_open = false;
  tide_buf_clear(&http->body);
}

/* A key is part of a header's line, within quotes. */
static bool is_key(const char *key) {
  for (const char *at = key; at != NULL && *at != '\0'; at++) {
    if (*at < ' ' || *at > '~' || *at == '"' || *at == '\\')
      return false;
  }
  return key != NULL && key[0] != '\0';
}

static int http_begin(struct tide_target *target, const struct tide_object *object, struct tide_err *err) {
  struct http_target *http = (struct http_target *)target;
  assert(!http->is_open);
  if (!is_key(object->key)) {
    tide_err_set(err, SQLITE_ERROR, "the batch's key cannot be sent: expected printable ASCII without \" and \\");
    return err->rc;
  }
  http->object = *object;
  http->is_open = true;
  return 0;
}

static int http_write(struct tide_target *target, const void *bytes, size_t size, struct tide_err *err) {
  struct http_target *http = (struct http_target *)target;
  assert(http->is_open);
  tide_buf_put(&http->body, bytes, size, err);
  if (tide_err_is_set(err))
    http_abort(target);
  return err->rc;
}

static void make_headers(const struct http_target *http, char *headers[OWN_HEADERS_MAX], struct tide_err *err) {
  const struct tide_object *object = &http->object;
  headers[0] = tide_printf(err, "User-Agent: Tidemark/%s", TIDEMARK_VERSION);
  headers[1] = tide_printf(err, "Content-Type: %s", object->media_type);
  headers[2] = tide_printf(err, "Idempotency-Key: \"%s\"", object->key);
  headers[3] =
      tide_printf(err, "Tidemark-Tick: %lld %016llx", (long long)object->tick, (unsigned long long)object->tick_token);
  if (object->content_encoding != NULL)
    headers[4] = tide_printf(err, "Content-Encoding: %s", object->content_encoding);
}

static void send_object(struct http_target *http, struct tide_curl_answer *answer, struct tide_err *err) {
  char *own[OWN_HEADERS_MAX] = {0};
  const char *headers[OWN_HEADERS_MAX + TIDE_HTTP_AUTH_MAX];
  size_t nheaders = 0;
  make_headers(http, own, err);
  for (size_t i = 0; i < OWN_HEADERS_MAX && own[i] != NULL; i++)
    headers[nheaders++] = own[i];
  for (size_t i = 0; i < TIDE_HTTP_AUTH_MAX && http->auth.headers[i].text != NULL; i++)
    headers[nheaders++] = http->auth.headers[i].text;
  const struct tide_curl_request request = {.method = "POST",
                                            .url = http->url.text,
                                            .where = &http->url,
                                            .headers = headers,
                                            .nheaders = nheaders,
                                            .body = http->body.data,
                                            .body_size = http->body.len,
                                            .timeout_ms = http->timeout_ms};
  tide_curl_request(http->curl, &request, answer, err);
  for (size_t i = 0; i < OWN_HEADERS_MAX; i++)
    tide_free(own[i]);
}

/* Only for an answer that has a date to count from and no clock of its own to say so. */
static int64_t now_ms(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A receiver may repeat what it was sent. */
static void hide(const struct http_target *http, char *text, size_t size) {
  tide_http_auth_hide(&http->auth, text, size);
  if (http->url.query != NULL)
    tide_http_hide(http->url.query, text, size);
}

static int http_commit(struct tide_target *target, struct tide_answer *ret_answer, struct tide_err *err) {
  struct http_target *http = (struct http_target *)target;
  struct tide_curl_answer answer = {0};
  assert(http->is_open);
  send_object(http, &answer, err);
  http_abort(target);
  if (!tide_err_is_set(err)) {
    hide(http, (char *)answer.body.data, answer.body.len);
    tide_http_answer_judge(&answer, http->url.origin, now_ms(), ret_answer, err);
    for (size_t i = 0; i < ret_answer->nrefused; i++) /* once more: JSON has other ways to write a text */
      hide(http, ret_answer->refused[i].reason, strlen(ret_answer->refused[i].reason));
  }
  tide_curl_answer_clear(&answer);
  return err->rc;
}

static void http_destroy(struct tide_target *target) {
  struct http_target *http = (struct http_target *)target;
  tide_curl_close(http->curl);
  tide_curl_url_clear(&http->url);
  tide_http_auth_clear(&http->auth);
  tide_buf_clear(&http->body);
  tide_free(http);
}

static const struct tide_target_methods methods = {
    .begin = http_begin, .write = http_write, .commit = http_commit, .abort = http_abort, .destroy = http_destroy};

/* ---- the schemes ---- */

static int64_t take_timeout_ms(struct tide_sink_options *options, struct tide_err *err) {
  return tide_sink_options_take_integer(options, "timeout", TIMEOUT_MIN_S, TIMEOUT_MAX_S, TIMEOUT_S, err) * 1000;
}

static void parse_url(const char *text, struct tide_curl_url *url, struct tide_err *err) {
  tide_curl_url_parse(text, url, err);
  tide_err_prefix(err, "target");
}

static void refuse_plain_secret(const struct tide_curl_url *url, struct tide_err *err) {
  if (strcmp(url->scheme, "https") != 0 && !url->is_loopback)
    tide_err_set(err, SQLITE_ERROR,
                 "a secret would go to %s for everyone on the way to read: expected https, or a host of this machine "
                 "(localhost, 127.0.0.1, [::1])",
                 url->origin);
}

/* FNV-1a: places are shown, and queries are not. */
static char *place_of(const struct tide_curl_url *url, struct tide_err *err) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  if (url->query == NULL)
    return tide_copy_string(url->text, err);
  for (const char *at = url->query; *at != '\0'; at++)
    hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
  return tide_printf(err, "%s%s?(%016llx)", url->origin, url->path, (unsigned long long)hash);
}

static char *http_check(const char *text, struct tide_sink_options *options, struct tide_err *err) {
  struct tide_curl_url url = {0};
  char *place = NULL;
  parse_url(text, &url, err);
  take_timeout_ms(options, err);
  const bool has_secret = tide_http_auth_check(options, err);
  if (has_secret && !tide_err_is_set(err))
    refuse_plain_secret(&url, err);
  if (!tide_err_is_set(err))
    place = place_of(&url, err);
  tide_curl_url_clear(&url);
  return place;
}

static struct tide_target *http_open(const char *text, struct tide_sink_options *options,
                                     const struct tide_patience *patience, struct tide_err *err) {
  struct http_target *http = tide_alloc_zero(1, sizeof *http, err);
  if (http == NULL)
    return NULL;
  http->base.methods = &methods;
  parse_url(text, &http->url, err);
  http->timeout_ms = take_timeout_ms(options, err);
  tide_http_auth_read(options, &http->auth, err);
  if (http->auth.headers[0].text != NULL && !tide_err_is_set(err))
    refuse_plain_secret(&http->url, err);
  if (!tide_err_is_set(err))
    http->curl = tide_curl_open(patience, err);
  if (!tide_err_is_set(err))
    return &http->base;
  http_destroy(&http->base);
  return NULL;
}

const struct tide_scheme tide_scheme_http = {.name = "http",
                                             .expect = "http://host/path",
                                             .remote = true,
                                             .forwards = true,
                                             .check = http_check,
                                             .open = http_open};
const struct tide_scheme tide_scheme_https = {.name = "https",
                                              .expect = "https://host/path",
                                              .remote = true,
                                              .forwards = true,
                                              .check = http_check,
                                              .open = http_open};
