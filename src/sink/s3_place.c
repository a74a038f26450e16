#include "sink/s3_place.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/secret.h"
#include "sink/target.h"

enum { BUCKET_MIN = 3, BUCKET_MAX = 63, REGION_MAX = 32, TIMEOUT_DEFAULT = 60, TIMEOUT_MAX = 600 };

void tide_s3_place_clear(struct tide_s3_place *place) {
  tide_free(place->bucket);
  tide_free(place->prefix);
  tide_free(place->region);
  tide_curl_url_clear(&place->root);
  tide_free(place->key_variable);
  tide_free(place->secret_variable);
  tide_free(place->token_variable);
  tide_free(place->text);
  *place = (struct tide_s3_place){0};
}

/* ---- the URL ---- */

static bool is_lower_or_digit(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

/* "Bucket naming rules" of the Amazon S3 user guide: those that make a bucket usable in a host's name and a path. */
static bool is_bucket(const char *name, size_t size) {
  if (size < BUCKET_MIN || size > BUCKET_MAX || !is_lower_or_digit(name[0]) || !is_lower_or_digit(name[size - 1]))
    return false;
  bool digits = true;
  for (size_t i = 0; i < size; i++) {
    if (!is_lower_or_digit(name[i]) && name[i] != '-' && (name[i] != '.' || name[i + 1] == '.'))
      return false;
    digits = digits && (name[i] == '.' || (name[i] >= '0' && name[i] <= '9'));
  }
  return !digits || memchr(name, '.', size) == NULL; /* no address such as 192.168.5.4 */
}

static void parse_prefix(const char *url, const char *prefix, struct tide_s3_place *place, struct tide_err *err) {
  struct tide_err wrong = {0};
  size_t size = strlen(prefix);
  size -= size > 0 && prefix[size - 1] == '/';
  char *name = tide_copy_text(prefix, size, err);
  if (name != NULL && size > 0 && !tide_target_name_check(name, &wrong))
    tide_err_set(err, SQLITE_ERROR,
                 "target \"%s\": expected a prefix with parts of A-Z a-z 0-9 %% = . _ ~ -, joined by single slashes",
                 url);
  if (!tide_err_is_set(err))
    place->prefix = tide_printf(err, "%s%s", name, size > 0 ? "/" : "");
  tide_free(name);
}

static void parse_url(const char *url, struct tide_s3_place *place, struct tide_err *err) {
  static const char scheme[] = "s3://";
  const bool fits = sqlite3_strnicmp(url, scheme, sizeof scheme - 1) == 0;
  const char *bucket = fits ? url + sizeof scheme - 1 : "";
  const size_t size = strcspn(bucket, "/");
  if (!is_bucket(bucket, size)) {
    tide_err_set(
        err, SQLITE_ERROR,
        "target \"%s\": expected s3://bucket/prefix with a bucket of %d to %d lower-case letters, digits, dots "
        "and hyphens",
        url, BUCKET_MIN, BUCKET_MAX);
    return;
  }
  place->bucket = tide_copy_text(bucket, size, err);
  parse_prefix(url, bucket + size + (bucket[size] == '/'), place, err);
}

/* ---- options ---- */

static void take_region(struct tide_sink_options *options, struct tide_s3_place *place, struct tide_err *err) {
  const char *from = "option region";
  const char *region = tide_sink_options_take_text(options, "region", NULL, err);
  static const char *const variables[] = {"AWS_REGION", "AWS_DEFAULT_REGION"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables && region == NULL; i++) {
    const char *value = getenv(variables[i]);
    region = value != NULL && value[0] != '\0' ? value : NULL;
    from = variables[i];
  }
  if (region == NULL)
    region = "us-east-1";
  bool fits = strlen(region) <= REGION_MAX;
  for (const char *at = region; *at != '\0'; at++)
    fits = fits && (is_lower_or_digit(*at) || (*at >= 'A' && *at <= 'Z') || *at == '-' || *at == '_');
  if (!fits)
    tide_err_set(err, SQLITE_ERROR, "%s is no region's name: expected one such as eu-north-1", from);
  place->region = tide_copy_string(region, err);
}

static char *take_variable(struct tide_sink_options *options, const char *option, const char *absent,
                           struct tide_err *err) {
  const char *variable = tide_secret_take_variable(options, option, err);
  if (variable == NULL)
    variable = absent;
  return variable != NULL && !tide_err_is_set(err) ? tide_copy_string(variable, err) : NULL;
}

/* A session token belongs to its key: the one that the environment has is not sent with a key from elsewhere. */
static void take_variables(struct tide_sink_options *options, struct tide_s3_place *place, struct tide_err *err) {
  const bool own = tide_sink_options_has(options, "access_key_env");
  place->token_needed = tide_sink_options_has(options, "session_token_env");
  place->key_variable = take_variable(options, "access_key_env", "AWS_ACCESS_KEY_ID", err);
  place->secret_variable = take_variable(options, "secret_key_env", "AWS_SECRET_ACCESS_KEY", err);
  place->token_variable = take_variable(options, "session_token_env", own ? NULL : "AWS_SESSION_TOKEN", err);
  if (own != tide_sink_options_has(options, "secret_key_env"))
    tide_err_set(err, SQLITE_ERROR, "options access_key_env and secret_key_env go together: expected both or none");
}

static void check_endpoint(const struct tide_curl_url *endpoint, bool insecure, struct tide_err *err) {
  if (strcmp(endpoint->path, "/") != 0 || endpoint->query != NULL)
    tide_err_set(err, SQLITE_ERROR, "option endpoint: expected https://host or https://host:port, and no path");
  else if (strcmp(endpoint->scheme, "https") != 0 && !endpoint->is_loopback && !insecure)
    tide_err_set(
        err, SQLITE_ERROR,
        "option endpoint is %s, where everybody on the way can read and change what is sent: expected https, or "
        "option insecure_http true",
        endpoint->origin);
}

/* Where the service itself is; the default when it is Amazon's. */
static void take_endpoint(struct tide_sink_options *options, const char *region, struct tide_curl_url *ret,
                          struct tide_err *err) {
  const char *text = tide_sink_options_take_text(options, "endpoint", NULL, err);
  const bool insecure = tide_sink_options_take_boolean(options, "insecure_http", false, err);
  if (tide_err_is_set(err))
    return;
  char *amazons =
      tide_printf(err, "https://s3.%s.amazonaws.com%s", region, strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
  if (amazons != NULL && tide_curl_url_parse(text != NULL ? text : amazons, ret, err) == 0)
    check_endpoint(ret, insecure, err);
  else if (text != NULL)
    tide_err_prefix(err, "option endpoint");
  tide_free(amazons);
}

static void make_root(const struct tide_curl_url *endpoint, struct tide_s3_place *place, struct tide_err *err) {
  const char *host = endpoint->origin + strlen(endpoint->scheme) + strlen("://");
  char *root = place->path_style ? tide_printf(err, "%s/", endpoint->origin)
                                 : tide_printf(err, "%s://%s.%s/", endpoint->scheme, place->bucket, host);
  if (root != NULL)
    tide_curl_url_parse(root, &place->root, err);
  tide_free(root);
}

static bool is_amazons(const char *host) {
  static const char *const endings[] = {".amazonaws.com", ".amazonaws.com.cn"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const size_t size = strlen(endings[i]);
    if (strlen(host) > size && strcmp(host + strlen(host) - size, endings[i]) == 0)
      return true;
  }
  return false;
}

/* Of Amazon's buckets there is one of each name, whatever the endpoint. */
static void make_text(const struct tide_curl_url *endpoint, struct tide_s3_place *place, struct tide_err *err) {
  const bool amazons = is_amazons(endpoint->host);
  const size_t size = strlen(place->prefix);
  char *prefix = tide_copy_text(place->prefix, size > 0 ? size - 1 : 0, err);
  if (prefix != NULL)
    place->text = tide_printf(err, "s3://%s%s%s%s%s", place->bucket, size > 0 ? "/" : "", prefix,
                              amazons ? "" : ", of ", amazons ? "" : endpoint->origin);
  tide_free(prefix);
}

static void parse_options(struct tide_sink_options *options, struct tide_s3_place *place, struct tide_err *err) {
  struct tide_curl_url endpoint = {0};
  /* The certificate of *.host does not cover a bucket with dots. */
  const bool by_path = tide_sink_options_has(options, "endpoint") || strchr(place->bucket, '.') != NULL;
  take_region(options, place, err);
  if (!tide_err_is_set(err))
    take_endpoint(options, place->region, &endpoint, err);
  place->path_style = tide_sink_options_take_boolean(options, "path_style", by_path, err);
  place->single_writer = tide_sink_options_take_boolean(options, "single_writer", false, err);
  place->part_size = (size_t)tide_sink_options_take_integer(options, "part_size", TIDE_S3_PART_MIN, TIDE_S3_PART_MAX,
                                                            TIDE_S3_PART_DEFAULT, err);
  place->timeout_ms = 1000 * tide_sink_options_take_integer(options, "timeout", 1, TIMEOUT_MAX, TIMEOUT_DEFAULT, err);
  take_variables(options, place, err);
  if (!tide_err_is_set(err))
    make_root(&endpoint, place, err);
  if (!tide_err_is_set(err))
    make_text(&endpoint, place, err);
  tide_curl_url_clear(&endpoint);
}

int tide_s3_place_parse(const char *url, struct tide_sink_options *options, struct tide_s3_place *ret,
                        struct tide_err *err) {
  struct tide_s3_place place = {0};
  parse_url(url, &place, err);
  if (!tide_err_is_set(err))
    parse_options(options, &place, err);
  if (tide_err_is_set(err))
    tide_s3_place_clear(&place);
  else
    *ret = place;
  return err->rc;
}
