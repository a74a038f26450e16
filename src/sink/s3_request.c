#include "sink/s3_request.h"

#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "base/mem.h"
#include "base/sqlite.h"

enum { SIGNED_MAX = TIDE_S3_HEADERS_MAX + 4, SENT_MAX = SIGNED_MAX + 2 };

/* ---- life ---- */

static void read_secrets(struct tide_s3 *s3, struct tide_err *err) {
  const struct tide_s3_place *place = &s3->place;
  tide_secret_read(&s3->key, place->key_variable, err);
  tide_secret_read(&s3->secret, place->secret_variable, err);
  const char *token = place->token_variable != NULL ? getenv(place->token_variable) : NULL;
  if (place->token_needed || (token != NULL && token[0] != '\0'))
    tide_secret_read(&s3->token, place->token_variable, err);
}

int tide_s3_open(struct tide_s3 *s3, struct tide_s3_place *place, const struct tide_patience *patience,
                 struct tide_err *err) {
  *s3 = (struct tide_s3){.place = *place};
  *place = (struct tide_s3_place){0};
  read_secrets(s3, err);
  if (!tide_err_is_set(err))
    s3->curl = tide_curl_open(patience, err);
  if (tide_err_is_set(err))
    tide_s3_close(s3);
  return err->rc;
}

void tide_s3_close(struct tide_s3 *s3) {
  tide_curl_close(s3->curl);
  tide_secret_clear(&s3->key);
  tide_secret_clear(&s3->secret);
  tide_secret_clear(&s3->token);
  tide_curl_answer_clear(&s3->answer);
  tide_buf_clear(&s3->body);
  tide_s3_place_clear(&s3->place);
  *s3 = (struct tide_s3){0};
}

/* ---- a request ---- */

/* What one request is made of; all texts are the struct's own. */
struct sending {
  char *path;
  char *query;
  char *url;
  char time[TIDE_SIGV4_TIME_SIZE];
  char hash[TIDE_SIGV4_HASH_SIZE];
  struct tide_sigv4_pair signed_headers[SIGNED_MAX];
  size_t nsigned;
  char *sent[SENT_MAX];
  size_t nsent;
};

/* A buffer's bytes as a text for tide_free; the buffer is cleared. NULL with err. */
static char *text_of(struct tide_buf *buf, struct tide_err *err) {
  const char *bytes = buf->len > 0 ? (const char *)buf->data : "";
  char *text = tide_err_is_set(err) ? NULL : tide_copy_text(bytes, buf->len, err);
  tide_buf_clear(buf);
  return text;
}

static void make_url(const struct tide_s3_place *place, const struct tide_s3_call *call, struct sending *sending,
                     struct tide_err *err) {
  struct tide_buf path = {0}, query = {0};
  struct tide_sigv4_pair pairs[TIDE_S3_QUERY_MAX];
  size_t npairs = 0;
  for (; npairs < TIDE_S3_QUERY_MAX && call->query[npairs].name != NULL; npairs++)
    pairs[npairs] = call->query[npairs];
  if (place->path_style)
    tide_buf_printf(&path, err, "/%s", place->bucket);
  if (!place->path_style || call->key != NULL)
    tide_buf_put_u8(&path, '/', err);
  if (call->key != NULL)
    tide_sigv4_put_escaped(&path, call->key, true, err);
  tide_sigv4_put_query(&query, pairs, npairs, err);
  sending->path = text_of(&path, err);
  sending->query = text_of(&query, err);
  if (!tide_err_is_set(err))
    sending->url =
        tide_printf(err, "%s%s%s%s", place->root.origin, sending->path, npairs > 0 ? "?" : "", sending->query);
}

static void add_signed(struct sending *sending, const char *name, const char *value) {
  sending->signed_headers[sending->nsigned++] = (struct tide_sigv4_pair){name, value};
}

static void add_sent(struct sending *sending, char *line) {
  if (line != NULL)
    sending->sent[sending->nsent++] = line;
}

/* Host goes unsaid: it is what curl makes of the URL. "Expect:" keeps curl from asking first whether a body may
 * come. */
static void make_headers(const struct tide_s3 *s3, const struct tide_s3_call *call, struct sending *sending,
                         struct tide_err *err) {
  const struct tide_sigv4_key key = {s3->key.text, s3->secret.text, s3->place.region, "s3"};
  struct tide_buf authorization = {0};
  add_signed(sending, "host", strstr(s3->place.root.origin, "://") + 3);
  add_signed(sending, "x-amz-date", sending->time);
  add_signed(sending, "x-amz-content-sha256", sending->hash);
  if (s3->token.text != NULL)
    add_signed(sending, "x-amz-security-token", s3->token.text);
  for (size_t i = 0; i < TIDE_S3_HEADERS_MAX && call->headers[i].name != NULL; i++)
    add_signed(sending, call->headers[i].name, call->headers[i].value);
  const struct tide_sigv4_request request = {call->method,     sending->path, sending->query, sending->signed_headers,
                                             sending->nsigned, sending->hash};
  tide_sigv4_put_authorization(&authorization, &key, &request, sending->time, err);
  for (size_t i = 0; i < sending->nsigned && !tide_err_is_set(err); i++) {
    const struct tide_sigv4_pair *header = &sending->signed_headers[i];
    if (strcmp(header->name, "host") != 0)
      add_sent(sending, tide_printf(err, "%s: %s", header->name, header->value));
  }
  if (!tide_err_is_set(err))
    add_sent(sending, tide_printf(err, "Authorization: %.*s", (int)authorization.len, (char *)authorization.data));
  add_sent(sending, tide_printf(err, "Expect:"));
  tide_buf_clear(&authorization);
}

/* The session token is among the headers. */
static void clear_sending(struct sending *sending) {
  for (size_t i = 0; i < sending->nsent; i++) {
    tide_secret_wipe(sending->sent[i], strlen(sending->sent[i]));
    tide_free(sending->sent[i]);
  }
  tide_free(sending->path);
  tide_free(sending->query);
  tide_free(sending->url);
}

static void take_body(void *context, const void *bytes, size_t size, struct tide_err *err) {
  struct tide_s3 *s3 = context;
  if (size > s3->body_max - s3->body.len)
    tide_err_set(err, SQLITE_IOERR, "%s answers with more than the %lld bytes that were asked for",
                 s3->place.root.origin, (long long)s3->body_max);
  tide_buf_put(&s3->body, bytes, size, err);
}

/* ---- refusals ---- */

static void read_refusal(struct tide_s3 *s3, const struct tide_buf *body, struct tide_err *err) {
  struct tide_s3_refusal *refusal = &s3->refusal;
  const char *region = tide_curl_answer_header(&s3->answer, "x-amz-bucket-region");
  const struct tide_secret *secrets[] = {&s3->key, &s3->secret, &s3->token};
  tide_s3_refusal_read(body->data, body->len, refusal, err);
  if (refusal->region[0] == '\0' && region != NULL)
    sqlite3_snprintf((int)sizeof refusal->region, refusal->region, "%s", region);
  for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
    if (secrets[i]->text != NULL && strstr(refusal->message, secrets[i]->text) != NULL)
      refusal->message[0] = '\0';
  }
}

void tide_s3_read_late_refusal(struct tide_s3 *s3, struct tide_err *err) {
  read_refusal(s3, &s3->body, err);
}

static char *subject_of(const struct tide_s3 *s3, const struct tide_s3_call *call, struct tide_err *err) {
  return tide_printf(err, "%s s3://%s%s%.250s", call->doing, s3->place.bucket, call->key != NULL ? "/" : "",
                     call->key != NULL ? call->key : "");
}

void tide_s3_fail(const struct tide_s3 *s3, const struct tide_s3_call *call, struct tide_err *err) {
  char *subject = subject_of(s3, call, err);
  if (subject != NULL)
    tide_s3_refusal_say(&s3->refusal, s3->answer.status, &s3->place, subject, err);
  tide_free(subject);
}

void tide_s3_fail_odd(const struct tide_s3 *s3, const struct tide_s3_call *call, const char *wrong,
                      struct tide_err *err) {
  char *subject = subject_of(s3, call, err);
  if (subject != NULL)
    tide_err_set(err, SQLITE_IOERR, "%s: %s", subject, wrong);
  tide_free(subject);
}

/* ---- sending ---- */

int tide_s3_send(struct tide_s3 *s3, const struct tide_s3_call *call, struct tide_err *err) {
  struct sending sending = {0};
  s3->refusal = (struct tide_s3_refusal){0};
  tide_buf_reset(&s3->body);
  s3->body_max = call->answer_max;
  tide_sigv4_time(tide_host_now_ms(NULL, NULL), sending.time);
  tide_sigv4_hash(call->body, call->body_size, sending.hash, err);
  make_url(&s3->place, call, &sending, err);
  if (!tide_err_is_set(err))
    make_headers(s3, call, &sending, err);
  const struct tide_curl_request request = {.method = call->method,
                                            .url = sending.url,
                                            .where = &s3->place.root,
                                            .headers = (const char *const *)sending.sent,
                                            .nheaders = sending.nsent,
                                            .body = call->body,
                                            .body_size = call->body_size,
                                            .timeout_ms = s3->place.timeout_ms,
                                            .take = take_body,
                                            .context = s3};
  if (!tide_err_is_set(err))
    tide_curl_request(s3->curl, &request, &s3->answer, err);
  clear_sending(&sending);
  if (!tide_err_is_set(err) && s3->answer.status / 100 != 2)
    read_refusal(s3, &s3->answer.body, err);
  return err->rc;
}
