/* A URL of http or https taken apart, by curl's own reader, so that what we check is what is asked. */
#ifndef TIDE_SINK_CURL_URL_H
#define TIDE_SINK_CURL_URL_H

#include <stdbool.h>

#include "base/err.h"

/* All zero is an empty one. */
struct tide_curl_url {
  char *text;       /* the whole in one form: scheme and host in lower case, a default port left out, "/" for no path */
  char *scheme;     /* "http" or "https" */
  char *host;       /* "[::1]" with its brackets */
  char *origin;     /* "https://host" or "https://host:8443": what messages name, and nothing behind it */
  char *path;       /* as it is sent, from its first "/" */
  char *query;      /* as it is sent, without "?"; NULL: none */
  bool is_loopback; /* the host is this machine: localhost or a name below it (RFC 6761), 127.0.0.0/8 or ::1 */
};

/* SQLITE_ERROR with a sentence, that never shows what a URL may hide: for what is no http or https URL, for credentials
 * in it (the database keeps no secrets), for a fragment (which is never sent), for white space or a control character.
 * *ret is written only on success, and is then the caller's to clear. */
int tide_curl_url_parse(const char *url, struct tide_curl_url *ret, struct tide_err *err);
void tide_curl_url_clear(struct tide_curl_url *url);

#endif
