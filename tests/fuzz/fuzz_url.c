/* The URLs of targets, with their options. A URL that is taken is the same place when it is read in the form that it was
 * brought into, and no message shows what may be a secret.
 *
 *   two lines: the URL, and the options, to the end */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "sink/net_schemes.h"
#include "sink/s3_place.h"

enum { MEMORY = 16 << 20 };

static void parse_url(const char *url) {
  struct tide_err err = {0};
  struct tide_curl_url parsed = {0}, again = {0};
  tide_curl_url_parse(url, &parsed, &err);
  fuzz_check_error(&err, SQLITE_ERROR, 0);
  if (err.rc != 0)
    return;
  FUZZ_CHECK(strncmp(parsed.text, parsed.origin, strlen(parsed.origin)) == 0 && parsed.path[0] == '/');
  FUZZ_CHECK(strpbrk(parsed.text, " \t\r\n") == NULL && strchr(parsed.origin, '@') == NULL);
  tide_curl_url_parse(parsed.text, &again, &err);
  fuzz_check_error(&err, 0, 0);
  FUZZ_CHECK(strcmp(parsed.text, again.text) == 0 && strcmp(parsed.host, again.host) == 0);
  FUZZ_CHECK(strcmp(parsed.path, again.path) == 0 && parsed.is_loopback == again.is_loopback);
  tide_curl_url_clear(&parsed);
  tide_curl_url_clear(&again);
}

static void check_scheme(const struct tide_scheme *scheme, const char *url, const char *json) {
  struct tide_err err = {0};
  struct tide_sink_options options = {0};
  if (tide_sink_options_parse(json, &options, &err) == 0) {
    char *place = scheme->check(url, &options, &err);
    FUZZ_CHECK((place == NULL) == (err.rc != 0));
    tide_free(place);
  }
  fuzz_check_error(&err, SQLITE_ERROR, 0);
  tide_sink_options_clear(&options);
}

static void check_place(const char *url, const char *json) {
  struct tide_err err = {0};
  struct tide_sink_options options = {0};
  struct tide_s3_place place = {0};
  if (tide_sink_options_parse(json, &options, &err) == 0 && tide_s3_place_parse(url, &options, &place, &err) == 0) {
    const size_t prefix = strlen(place.prefix);
    FUZZ_CHECK(place.bucket[0] != '\0' && (prefix == 0 || place.prefix[prefix - 1] == '/'));
    FUZZ_CHECK(place.part_size >= TIDE_S3_PART_MIN && place.part_size <= TIDE_S3_PART_MAX);
    FUZZ_CHECK(place.timeout_ms >= 1000 && place.timeout_ms <= 600000);
  }
  fuzz_check_error(&err, SQLITE_ERROR, 0);
  tide_s3_place_clear(&place);
  tide_sink_options_clear(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  char *url = fuzz_string(&input, input.left, &size);
  char *json = strchr(url, '\n');
  if (json != NULL)
    *json++ = '\0';
  fuzz_begin(MEMORY);
  parse_url(url);
  check_place(url, json);
  for (size_t i = 0; i < tide_net_schemes_count; i++)
    check_scheme(tide_net_schemes[i], url, json);
  check_scheme(&tide_scheme_file, url, json);
  fuzz_end();
  free(url);
  return 0;
}
