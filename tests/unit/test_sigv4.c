/* The published vectors: AWS's Signature Version 4 test suite (aws-sig-v4-test-suite, without those that normalize
 * paths, which S3 does not, and those that repeat a header), and the worked examples of "Signature Calculations for the
 * Authorization Header: Transferring Payload in a Single Chunk" in the Amazon S3 API reference. */
#include <string.h>

#include "base/buf.h"
#include "sink/sigv4.h"
#include "unit.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define UNRESERVED "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define SUITE_TOKEN                                                                                                    \
  "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthA" \
  "x7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY" \
  "9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="

struct vector {
  const char *name;
  const char *method;
  const char *path; /* not yet escaped */
  struct tide_sigv4_pair query[3];
  struct tide_sigv4_pair headers[4]; /* beside host and x-amz-date */
  const char *payload;
  const char *signed_headers;
  const char *signature;
};

static const struct vector suite[] = {
    {"get-vanilla", "GET", "/", .signed_headers = "host;x-amz-date",
     .signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-unreserved", "GET", "/" UNRESERVED, .signed_headers = "host;x-amz-date",
     .signature = "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
    {"get-utf8", "GET", "/\xe1\x88\xb4", .signed_headers = "host;x-amz-date",
     .signature = "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
    {"get-space", "GET", "/example space/", .signed_headers = "host;x-amz-date",
     .signature = "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
    {"get-vanilla-empty-query-key",
     "GET",
     "/",
     {{"Param1", "value1"}},
     .signed_headers = "host;x-amz-date",
     .signature = "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
    {"get-vanilla-query-order-key",
     "GET",
     "/",
     {{"Param1", "value2"}, {"Param1", "Value1"}},
     .signed_headers = "host;x-amz-date",
     .signature = "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"},
    {"get-vanilla-query-order-key-case",
     "GET",
     "/",
     {{"Param2", "value2"}, {"Param1", "value1"}},
     .signed_headers = "host;x-amz-date",
     .signature = "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {"get-vanilla-query-order-value",
     "GET",
     "/",
     {{"Param1", "value2"}, {"Param1", "value1"}},
     .signed_headers = "host;x-amz-date",
     .signature = "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"},
    {"get-vanilla-query-order-encoded",
     "GET",
     "/",
     {{"Param-3", "Value3"}, {"Param", "Value2"}, {"\xe1\x88\xb4", "Value1"}},
     .signed_headers = "host;x-amz-date",
     .signature = "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"},
    {"get-slashes-unnormalized", "GET", "//example//", .signed_headers = "host;x-amz-date",
     .signature = "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5"},
    {"get-vanilla-query-unreserved",
     "GET",
     "/",
     {{UNRESERVED, UNRESERVED}},
     .signed_headers = "host;x-amz-date",
     .signature = "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
    {"get-vanilla-utf8-query",
     "GET",
     "/",
     {{"\xe1\x88\xb4", "bar"}},
     .signed_headers = "host;x-amz-date",
     .signature = "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
    {"get-header-value-trim", "GET", "/", .headers = {{"my-header1", " value1"}, {"my-header2", " \"a   b   c\" "}},
     .signed_headers = "host;my-header1;my-header2;x-amz-date",
     .signature = "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
    {"post-vanilla", "POST", "/", .signed_headers = "host;x-amz-date",
     .signature = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"post-header-value-case", "POST", "/", .headers = {{"my-header1", "VALUE1"}},
     .signed_headers = "host;my-header1;x-amz-date",
     .signature = "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
    {"post-x-www-form-urlencoded", "POST", "/", .headers = {{"content-type", "application/x-www-form-urlencoded"}},
     .payload = "Param1=value1", .signed_headers = "content-type;host;x-amz-date",
     .signature = "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
    {"post-sts-header-before", "POST", "/", .headers = {{"x-amz-security-token", SUITE_TOKEN}},
     .signed_headers = "host;x-amz-date;x-amz-security-token",
     .signature = "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
};

static const struct vector s3_examples[] = {
    {"get object", "GET", "/test.txt", .headers = {{"range", "bytes=0-9"}, {"x-amz-content-sha256", EMPTY}},
     .signed_headers = "host;range;x-amz-content-sha256;x-amz-date",
     .signature = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {"put object", "PUT", "/test$file.text",
     .headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                 {"x-amz-storage-class", "REDUCED_REDUNDANCY"},
                 {"x-amz-content-sha256", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"}},
     .payload = "Welcome to Amazon S3.",
     .signed_headers = "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
     .signature = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
    {"get bucket lifecycle",
     "GET",
     "/",
     {{"lifecycle", ""}},
     .headers = {{"x-amz-content-sha256", EMPTY}},
     .signed_headers = "host;x-amz-content-sha256;x-amz-date",
     .signature = "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {"list objects",
     "GET",
     "/",
     {{"prefix", "J"}, {"max-keys", "2"}},
     .headers = {{"x-amz-content-sha256", EMPTY}},
     .signed_headers = "host;x-amz-content-sha256;x-amz-date",
     .signature = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
};

/* What a vector's Authorization header ought to be. */
static void expect(struct tide_buf *out, const struct vector *vector, const struct tide_sigv4_key *key,
                   const char *date) {
  struct tide_err err = {0};
  tide_buf_printf(out, &err, "AWS4-HMAC-SHA256 Credential=%s/%s/%s/%s/aws4_request, SignedHeaders=%s, Signature=%s",
                  key->id, date, key->region, key->service, vector->signed_headers, vector->signature);
  assert_ok(err);
}

static void check_vector(const struct vector *vector, const struct tide_sigv4_key *key, const char *host,
                         int64_t now_ms) {
  struct tide_err err = {0};
  struct tide_buf path = {0}, query = {0}, given = {0}, expected = {0};
  char time[TIDE_SIGV4_TIME_SIZE], date[9] = "", hash[TIDE_SIGV4_HASH_SIZE];
  struct tide_sigv4_pair pairs[3], headers[6] = {{"x-amz-date", time}, {"host", host}};
  size_t npairs = 0, nheaders = 2;
  for (; npairs < 3 && vector->query[npairs].name != NULL; npairs++)
    pairs[npairs] = vector->query[npairs];
  for (size_t i = 0; i < 4 && vector->headers[i].name != NULL; i++)
    headers[nheaders++] = vector->headers[i];
  tide_sigv4_time(now_ms, time);
  memcpy(date, time, 8);
  tide_sigv4_put_escaped(&path, vector->path, true, &err);
  tide_sigv4_put_query(&query, pairs, npairs, &err);
  tide_buf_put(&path, "", 1, &err);
  tide_buf_put(&query, "", 1, &err);
  const char *payload = vector->payload != NULL ? vector->payload : "";
  tide_sigv4_hash(payload, strlen(payload), hash, &err);
  assert_ok(err);
  const struct tide_sigv4_request request = {
      vector->method, (const char *)path.data, (const char *)query.data, headers, nheaders, hash};
  tide_sigv4_put_authorization(&given, key, &request, time, &err);
  assert_ok(err);
  expect(&expected, vector, key, date);
  ck_assert_msg(given.len == expected.len && memcmp(given.data, expected.data, given.len) == 0,
                "%s: %.*s, expected %.*s", vector->name, (int)given.len, (const char *)given.data, (int)expected.len,
                (const char *)expected.data);
  tide_buf_clear(&path);
  tide_buf_clear(&query);
  tide_buf_clear(&given);
  tide_buf_clear(&expected);
}

START_TEST(the_published_suite_passes) {
  static const struct tide_sigv4_key key = {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1",
                                            "service"};
  for (size_t i = 0; i < sizeof suite / sizeof *suite; i++)
    check_vector(&suite[i], &key, "example.amazonaws.com", 1440938160000); /* 2015-08-30 12:36:00 */
}
END_TEST

START_TEST(the_examples_of_s3_pass) {
  static const struct tide_sigv4_key key = {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                                            "us-east-1", "s3"};
  for (size_t i = 0; i < sizeof s3_examples / sizeof *s3_examples; i++)
    check_vector(&s3_examples[i], &key, "examplebucket.s3.amazonaws.com", 1369353600000); /* 2013-05-24 */
}
END_TEST

START_TEST(a_name_that_holds_a_percent_sign_is_escaped_once_more) {
  struct tide_err err = {0};
  struct tide_buf path = {0};
  tide_sigv4_put_escaped(&path, "logs/source=a%2Fb c/1-2.ndjson", true, &err);
  tide_buf_put(&path, "", 1, &err);
  assert_ok(err);
  ck_assert_str_eq((const char *)path.data, "logs/source%3Da%252Fb%20c/1-2.ndjson");
  tide_buf_reset(&path);
  tide_sigv4_put_escaped(&path, "a/b", false, &err);
  tide_buf_put(&path, "", 1, &err);
  ck_assert_str_eq((const char *)path.data, "a%2Fb");
  tide_buf_clear(&path);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {the_published_suite_passes, the_examples_of_s3_pass,
                                a_name_that_holds_a_percent_sign_is_escaped_once_more, NULL};
  return unit_main("sigv4", tests);
}
