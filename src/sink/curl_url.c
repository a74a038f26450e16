#include "sink/curl_url.h"

#include <curl/curl.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"

static void refuse(CURLUcode code, struct tide_err *err) {
  if (code == CURLUE_OUT_OF_MEMORY)
    tide_err_nomem(err);
  else if (code == CURLUE_USER_NOT_ALLOWED)
    tide_err_set(err, SQLITE_ERROR,
                 "the URL holds credentials, which would stay in the database: expected none, and an option that names "
                 "an environment variable");
  else
    tide_err_set(err, SQLITE_ERROR, "the URL cannot be used (%s): expected one such as https://host/path",
                 curl_url_strerror(code));
}

/* A part as our own copy, or NULL when the URL has none. */
static char *part(CURLU *parsed, CURLUPart which, unsigned flags, CURLUcode none, struct tide_err *err) {
  char *text = NULL;
  const CURLUcode code = curl_url_get(parsed, which, &text, flags);
  char *copy = NULL;
  if (code == CURLUE_OK)
    copy = tide_copy_string(text, err);
  else if (code != none)
    refuse(code, err);
  curl_free(text);
  return copy;
}

static char *lower(char *text) {
  for (char *at = text; at != NULL && *at != '\0'; at++)
    *at = (char)(*at >= 'A' && *at <= 'Z' ? *at + ('a' - 'A') : *at);
  return text;
}

/* libcurl does not ask a name server for those of localhost (7.78 and later). */
static bool is_loopback(const char *host) {
  static const char below[] = ".localhost";
  const size_t size = strlen(host);
  if (strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
    return true;
  if (size >= sizeof below && strcmp(host + size - (sizeof below - 1), below) == 0)
    return true;
  return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == strlen(host);
}

static void take_parts(CURLU *parsed, struct tide_curl_url *url, struct tide_err *err) {
  url->scheme = lower(part(parsed, CURLUPART_SCHEME, 0, CURLUE_OK, err));
  url->host = lower(part(parsed, CURLUPART_HOST, 0, CURLUE_OK, err));
  url->path = part(parsed, CURLUPART_PATH, 0, CURLUE_OK, err);
  url->query = part(parsed, CURLUPART_QUERY, 0, CURLUE_NO_QUERY, err);
  char *fragment = part(parsed, CURLUPART_FRAGMENT, 0, CURLUE_NO_FRAGMENT, err);
  char *port = part(parsed, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT, CURLUE_NO_PORT, err);
  if (fragment != NULL)
    tide_err_set(err, SQLITE_ERROR, "the URL has a fragment (#...), which is never sent: expected none");
  else if (!tide_err_is_set(err) && strcmp(url->scheme, "http") != 0 && strcmp(url->scheme, "https") != 0)
    tide_err_set(err, SQLITE_ERROR, "the URL's scheme is \"%s\": expected http or https", url->scheme);
  if (!tide_err_is_set(err)) {
    url->is_loopback = is_loopback(url->host);
    url->origin =
        tide_printf(err, "%s://%s%s%s", url->scheme, url->host, port != NULL ? ":" : "", port != NULL ? port : "");
  }
  if (!tide_err_is_set(err))
    url->text = tide_printf(err, "%s%s%s%s", url->origin, url->path, url->query != NULL ? "?" : "",
                            url->query != NULL ? url->query : "");
  tide_free(fragment);
  tide_free(port);
}

int tide_curl_url_parse(const char *text, struct tide_curl_url *ret, struct tide_err *err) {
  struct tide_curl_url url = {0};
  CURLU *parsed = NULL;
  for (const char *at = text; *at != '\0'; at++) {
    if ((unsigned char)*at <= ' ' || *at == 0x7F)
      tide_err_set(err, SQLITE_ERROR,
                   "the URL holds white space or a control character: expected it percent-encoded, such as %%20");
  }
  /* curl takes one slash or three for two, and what stands first in the path for the host. */
  const char *slashes = strstr(text, "://");
  if (slashes == NULL || slashes[3] == '/')
    refuse(slashes == NULL ? CURLUE_BAD_SCHEME : CURLUE_NO_HOST, err);
  if (!tide_err_is_set(err) && (parsed = curl_url()) == NULL)
    tide_err_nomem(err);
  if (parsed != NULL) {
    const CURLUcode code = curl_url_set(parsed, CURLUPART_URL, text, CURLU_DISALLOW_USER | CURLU_NON_SUPPORT_SCHEME);
    if (code != CURLUE_OK)
      refuse(code, err);
    else
      take_parts(parsed, &url, err);
  }
  curl_url_cleanup(parsed);
  if (tide_err_is_set(err))
    tide_curl_url_clear(&url);
  else
    *ret = url;
  return err->rc;
}

void tide_curl_url_clear(struct tide_curl_url *url) {
  tide_free(url->text);
  tide_free(url->scheme);
  tide_free(url->host);
  tide_free(url->origin);
  tide_free(url->path);
  tide_free(url->query);
  *url = (struct tide_curl_url){0};
}
