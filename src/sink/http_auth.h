/* How a request over http says who sends it, by options of the sink:
 *   token_env                 Authorization: Bearer <value of that environment variable>
 *   user, password_env        Authorization: Basic <user and the variable's value>
 *   header, header_env        <header>: <the variable's value>
 * One of the first two at the most; the third goes with any. */
#ifndef TIDE_SINK_HTTP_AUTH_H
#define TIDE_SINK_HTTP_AUTH_H

#include "sink/secret.h"

/* All zero has none. */
enum { TIDE_HTTP_AUTH_MAX = 2 };
struct tide_http_auth {
  struct tide_secret secrets[TIDE_HTTP_AUTH_MAX];
  struct tide_secret
      headers[TIDE_HTTP_AUTH_MAX]; /* whole lines, as secret as what they hold; ends with the first NULL */
};

/* Takes the options and checks them, without reading a variable. true when there is a secret to be sent. */
bool tide_http_auth_check(struct tide_sink_options *options, struct tide_err *err);

/* The same, and reads the variables. *auth is the caller's to clear, also after a failure. */
void tide_http_auth_read(struct tide_sink_options *options, struct tide_http_auth *auth, struct tide_err *err);
void tide_http_auth_clear(struct tide_http_auth *auth);

/* Puts '*' over each secret within a text: a receiver may repeat what it was sent. */
void tide_http_auth_hide(const struct tide_http_auth *auth, char *text, size_t size);

/* Puts '*' over each place of `what`, which is not empty, within a text. */
void tide_http_hide(const char *what, char *text, size_t size);

#endif
