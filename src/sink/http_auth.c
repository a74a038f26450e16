#include "sink/http_auth.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/text.h"

struct words {
  const char *token_env, *user, *password_env, *header, *header_env;
};

/* ---- options ---- */

static bool is_field_name(const char *name) {
  static const char bytes[] = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  return name[0] != '\0' && strspn(name, bytes) == strlen(name);
}

/* What says how a request is framed, and what the target says itself. */
static bool is_reserved(const char *name) {
  static const char *const names[] = {
      "Host",          "Content-Length",   "Transfer-Encoding", "Connection",       "Expect",     "TE",
      "Trailer",       "Upgrade",          "Content-Type",      "Content-Encoding", "User-Agent", "Idempotency-Key",
      "Tidemark-Tick", "Proxy-Connection", "Keep-Alive",        "Accept-Encoding"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (sqlite3_stricmp(names[i], name) == 0)
      return true;
  }
  return false;
}

static bool has_control(const char *text) {
  for (; *text != '\0'; text++) {
    if ((unsigned char)*text < ' ' || *text == 0x7F)
      return true;
  }
  return false;
}

static void check_pairs(const struct words *words, struct tide_err *err) {
  if ((words->user == NULL) != (words->password_env == NULL))
    tide_err_set(err, SQLITE_ERROR, "option %s is given without %s: expected both or neither",
                 words->user != NULL ? "user" : "password_env", words->user != NULL ? "password_env" : "user");
  if ((words->header == NULL) != (words->header_env == NULL))
    tide_err_set(err, SQLITE_ERROR, "option %s is given without %s: expected both or neither",
                 words->header != NULL ? "header" : "header_env", words->header != NULL ? "header_env" : "header");
  const bool authorizes = words->header != NULL && sqlite3_stricmp(words->header, "Authorization") == 0;
  if ((words->token_env != NULL) + (words->user != NULL) + authorizes > 1)
    tide_err_set(err, SQLITE_ERROR,
                 "options give more than one Authorization: expected one of token_env, user with password_env, or that "
                 "header");
}

static struct words take(struct tide_sink_options *options, struct tide_err *err) {
  const struct words words = {.token_env = tide_secret_take_variable(options, "token_env", err),
                              .user = tide_sink_options_take_text(options, "user", NULL, err),
                              .password_env = tide_secret_take_variable(options, "password_env", err),
                              .header = tide_sink_options_take_text(options, "header", NULL, err),
                              .header_env = tide_secret_take_variable(options, "header_env", err)};
  if (tide_err_is_set(err))
    return words;
  check_pairs(&words, err);
  if (words.user != NULL && (strchr(words.user, ':') != NULL || has_control(words.user)))
    tide_err_set(err, SQLITE_ERROR, "option user holds a colon or a control character: expected a name without");
  if (words.header != NULL && !is_field_name(words.header))
    tide_err_set(err, SQLITE_ERROR, "option header is no name of an HTTP header: expected one such as X-Api-Key");
  if (words.header != NULL && is_reserved(words.header))
    tide_err_set(err, SQLITE_ERROR,
                 "option header is %s, which the request has already: expected one such as X-Api-Key", words.header);
  return words;
}

bool tide_http_auth_check(struct tide_sink_options *options, struct tide_err *err) {
  const struct words words = take(options, err);
  return words.token_env != NULL || words.password_env != NULL || words.header_env != NULL;
}

/* ---- secrets ---- */

static void put_basic(const char *user, const struct tide_secret *password, struct tide_secret *header,
                      struct tide_err *err) {
  struct tide_buf line = {0};
  char *pair = tide_err_is_set(err) ? NULL : tide_printf(err, "%s:%s", user, password->text);
  if (pair != NULL) {
    tide_buf_put_string(&line, "Authorization: Basic ", err);
    tide_text_put_base64(&line, pair, strlen(pair), err);
  }
  if (!tide_err_is_set(err))
    header->text = tide_copy_text((const char *)line.data, line.len, err);
  if (pair != NULL)
    tide_secret_wipe(pair, strlen(pair));
  if (line.data != NULL)
    tide_secret_wipe(line.data, line.len);
  tide_free(pair);
  tide_buf_clear(&line);
}

static void put_header(const char *start, const struct tide_secret *secret, struct tide_secret *header,
                       struct tide_err *err) {
  if (!tide_err_is_set(err))
    header->text = tide_printf(err, "%s%s", start, secret->text);
}

void tide_http_auth_read(struct tide_sink_options *options, struct tide_http_auth *auth, struct tide_err *err) {
  const struct words words = take(options, err);
  struct tide_secret *secret = auth->secrets, *header = auth->headers;
  *auth = (struct tide_http_auth){0};
  if (tide_err_is_set(err))
    return;
  if (words.token_env != NULL) {
    tide_secret_read(secret, words.token_env, err);
    put_header("Authorization: Bearer ", secret++, header++, err);
  } else if (words.password_env != NULL) {
    tide_secret_read(secret, words.password_env, err);
    put_basic(words.user, secret++, header++, err);
  }
  if (words.header_env != NULL) {
    char *start = tide_printf(err, "%s: ", words.header);
    tide_secret_read(secret, words.header_env, err);
    put_header(start, secret, header, err);
    tide_free(start);
  }
}

void tide_http_auth_clear(struct tide_http_auth *auth) {
  for (size_t i = 0; i < TIDE_HTTP_AUTH_MAX; i++) {
    tide_secret_clear(&auth->secrets[i]);
    tide_secret_clear(&auth->headers[i]);
  }
}

void tide_http_hide(const char *what, char *text, size_t size) {
  const size_t length = strlen(what);
  for (size_t at = 0; length <= size && at <= size - length; at++) {
    if (memcmp(text + at, what, length) == 0)
      memset(text + at, '*', length);
  }
}

/* Basic's header holds its secret in another form, which goes behind the last blank. */
void tide_http_auth_hide(const struct tide_http_auth *auth, char *text, size_t size) {
  for (size_t i = 0; i < TIDE_HTTP_AUTH_MAX; i++) {
    const char *header = auth->headers[i].text;
    if (header != NULL && strncmp(header, "Authorization: Basic ", strlen("Authorization: Basic ")) == 0)
      tide_http_hide(strrchr(header, ' ') + 1, text, size);
    if (auth->secrets[i].text != NULL)
      tide_http_hide(auth->secrets[i].text, text, size);
  }
}
