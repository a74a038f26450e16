/* Where objects of an s3:// target are, and how they are reached: what a URL and its options say. Nothing outside is
 * asked, but for the region that the environment names. */
#ifndef TIDE_SINK_S3_PLACE_H
#define TIDE_SINK_S3_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink/curl_url.h"
#include "sink/sink_option.h"

enum { TIDE_S3_KEY_MAX = 1024, TIDE_S3_PART_MIN = 5 << 20, TIDE_S3_PART_DEFAULT = 8 << 20, TIDE_S3_PART_MAX = 1 << 30 };

/* All zero is an empty one. */
struct tide_s3_place {
  char *bucket;
  char *prefix;              /* of every key: "" or with a slash at its end */
  char *region;              /* option region, AWS_REGION, AWS_DEFAULT_REGION, or us-east-1 */
  struct tide_curl_url root; /* "https://s3.eu-north-1.amazonaws.com/" or "https://bucket.host/": whom to ask */
  bool path_style;           /* the bucket is the first part of a request's path, rather than of the host */
  bool single_writer;        /* its user sees to it that one process alone writes there at a time */
  size_t part_size;
  int64_t timeout_ms;
  char *key_variable; /* names of environment variables */
  char *secret_variable;
  char *token_variable; /* NULL: there is no session token */
  bool token_needed;    /* the variable must be set */
  char *text;           /* the same for the same place however it was written: "s3://bucket/prefix", for services other
                           than Amazon's with ", of https://host" behind it */
};

/* URL: s3://bucket, or s3://bucket/prefix, which is taken as it stands: nothing in it is percent-decoded. Options:
 * region, endpoint, path_style, insecure_http, access_key_env, secret_key_env, session_token_env, single_writer
 * (default false), part_size, timeout (seconds for one request, 1 to 600, default 60). SQLITE_ERROR with a sentence
 * when something is wrong; *ret is written only on success, and the caller's to clear. */
int tide_s3_place_parse(const char *url, struct tide_sink_options *options, struct tide_s3_place *ret,
                        struct tide_err *err);
void tide_s3_place_clear(struct tide_s3_place *place);

#endif
