#include <stdlib.h>
#include <string.h>

#include "base/sqlite.h"
#include "oom.h"
#include "sink/s3_place.h"
#include "sink/s3_refusal.h"
#include "unit.h"

static void forget_environment(void) {
  unsetenv("AWS_REGION");
  unsetenv("AWS_DEFAULT_REGION");
  unsetenv("AWS_ACCESS_KEY_ID");
}

static int parse(const char *url, const char *options, struct tide_s3_place *ret, struct tide_err *err) {
  struct tide_sink_options parsed = {0};
  tide_sink_options_parse(options, &parsed, err);
  if (!tide_err_is_set(err) && tide_s3_place_parse(url, &parsed, ret, err) == 0)
    tide_sink_options_end(&parsed, err);
  tide_sink_options_clear(&parsed);
  return err->rc;
}

static void assert_refused(const char *url, const char *options, const char *message) {
  struct tide_err err = {0};
  struct tide_s3_place place = {0};
  parse(url, options, &place, &err);
  ck_assert_msg(err.rc == SQLITE_ERROR, "%s %s was taken", url, options);
  ck_assert_msg(strstr(err.msg, message) != NULL, "%s %s: %s, expected %s", url, options, err.msg, message);
  tide_s3_place_clear(&place);
}

static void assert_root(const char *url, const char *options, const char *root, bool path_style) {
  struct tide_err err = {0};
  struct tide_s3_place place = {0};
  parse(url, options, &place, &err);
  assert_ok(err);
  ck_assert_str_eq(place.root.text, root);
  ck_assert_int_eq(place.path_style, path_style);
  tide_s3_place_clear(&place);
}

START_TEST(amazons_hosts_hold_region_and_bucket) {
  forget_environment();
  assert_root("s3://my-bucket/p", NULL, "https://my-bucket.s3.us-east-1.amazonaws.com/", false);
  assert_root("s3://my-bucket", "{\"region\":\"eu-north-1\"}", "https://my-bucket.s3.eu-north-1.amazonaws.com/", false);
  assert_root("s3://my-bucket", "{\"region\":\"cn-north-1\"}", "https://my-bucket.s3.cn-north-1.amazonaws.com.cn/",
              false);
  assert_root("s3://my-bucket", "{\"path_style\":true}", "https://s3.us-east-1.amazonaws.com/", true);
  assert_root("s3://my.bucket", NULL, "https://s3.us-east-1.amazonaws.com/", true);
}
END_TEST

START_TEST(an_endpoint_is_reached_by_path_unless_told_otherwise) {
  assert_root("s3://my-bucket/p", "{\"endpoint\":\"https://Minio.example:9000\"}", "https://minio.example:9000/", true);
  assert_root("s3://my-bucket/p", "{\"endpoint\":\"https://minio.example:443/\",\"path_style\":false}",
              "https://my-bucket.minio.example/", false);
}
END_TEST

START_TEST(the_region_is_the_option_s_then_the_environment_s) {
  struct tide_err err = {0};
  struct tide_s3_place place = {0};
  forget_environment();
  setenv("AWS_DEFAULT_REGION", "eu-west-1", 1);
  parse("s3://my-bucket", NULL, &place, &err);
  ck_assert_str_eq(place.region, "eu-west-1");
  tide_s3_place_clear(&place);
  setenv("AWS_REGION", "eu-west-2", 1);
  parse("s3://my-bucket", NULL, &place, &err);
  ck_assert_str_eq(place.region, "eu-west-2");
  tide_s3_place_clear(&place);
  parse("s3://my-bucket", "{\"region\":\"RegionOne\"}", &place, &err);
  ck_assert_str_eq(place.region, "RegionOne");
  tide_s3_place_clear(&place);
  assert_ok(err);
  setenv("AWS_REGION", "evil.example/?", 1);
  assert_refused("s3://my-bucket", NULL, "AWS_REGION is no region's name");
  forget_environment();
}
END_TEST

START_TEST(buckets_and_prefixes_that_cannot_be_are_refused) {
  static const char *const wrong[] = {
      "s3://",        "s3:///p",         "s3://ab",
      "s3://Bucket",  "s3://my_bucket",  "s3://-bucket",
      "s3://bucket-", "s3://my..bucket", "s3://.bucket",
      "s3://bucket.", "s3://10.20.30.4", "s3://a23456789b123456789c123456789d123456789e123456789f123456789g1234",
      "s3:bucket/p",  "s3://u@host/"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_refused(wrong[i], NULL, "expected s3://bucket/prefix");
  assert_refused("s3://my-bucket//p", NULL, "expected a prefix");
  assert_refused("s3://my-bucket/p//", NULL, "expected a prefix");
  assert_refused("s3://my-bucket/a/../b", NULL, "expected a prefix");
  assert_refused("s3://my-bucket/a b", NULL, "expected a prefix");
  assert_refused("s3://my-bucket/p?x=1", NULL, "expected a prefix");
}
END_TEST

START_TEST(options_that_cannot_be_are_refused) {
  assert_refused("s3://my-bucket", "{\"region\":\"a b\"}", "option region is no region's name");
  assert_refused("s3://my-bucket", "{\"endpoint\":\"https://h/path\"}", "no path");
  assert_refused("s3://my-bucket", "{\"endpoint\":\"https://h/?q\"}", "no path");
  assert_refused("s3://my-bucket", "{\"endpoint\":\"ftp://h\"}", "option endpoint: ");
  assert_refused("s3://my-bucket", "{\"endpoint\":\"http://example.com\"}", "expected https, or option insecure_http");
  assert_refused("s3://my-bucket", "{\"part_size\":5242879}", "part_size");
  assert_refused("s3://my-bucket", "{\"timeout\":0}", "timeout");
  assert_refused("s3://my-bucket", "{\"timeout\":601}", "timeout");
  assert_refused("s3://my-bucket", "{\"single_writer\":2}", "single_writer");
  assert_refused("s3://my-bucket", "{\"access_key_env\":\"A\"}", "go together");
  assert_refused("s3://my-bucket", "{\"secret_key_env\":\"wJalr/XU\"}", "no name of an environment variable");
  assert_refused("s3://my-bucket", "{\"acl\":\"public\"}", "option \"acl\" is not known");
}
END_TEST

START_TEST(http_is_for_this_machine_or_on_demand) {
  assert_root("s3://my-bucket", "{\"endpoint\":\"http://127.0.0.1:9000\"}", "http://127.0.0.1:9000/", true);
  assert_root("s3://my-bucket", "{\"endpoint\":\"http://s3.localhost:9000\",\"path_style\":false}",
              "http://my-bucket.s3.localhost:9000/", false);
  assert_root("s3://my-bucket", "{\"endpoint\":\"http://example.com\",\"insecure_http\":true}", "http://example.com/",
              true);
}
END_TEST

/* The token of the environment is not sent with a key from elsewhere. */
START_TEST(a_session_token_goes_with_its_key) {
  struct tide_err err = {0};
  struct tide_s3_place place = {0};
  parse("s3://my-bucket", NULL, &place, &err);
  ck_assert_str_eq(place.key_variable, "AWS_ACCESS_KEY_ID");
  ck_assert_str_eq(place.secret_variable, "AWS_SECRET_ACCESS_KEY");
  ck_assert_str_eq(place.token_variable, "AWS_SESSION_TOKEN");
  ck_assert(!place.token_needed);
  tide_s3_place_clear(&place);
  parse("s3://my-bucket", "{\"access_key_env\":\"A\",\"secret_key_env\":\"B\"}", &place, &err);
  ck_assert_str_eq(place.key_variable, "A");
  ck_assert_ptr_null(place.token_variable);
  tide_s3_place_clear(&place);
  parse("s3://my-bucket", "{\"access_key_env\":\"A\",\"secret_key_env\":\"B\",\"session_token_env\":\"C\"}", &place,
        &err);
  ck_assert_str_eq(place.token_variable, "C");
  ck_assert(place.token_needed);
  tide_s3_place_clear(&place);
  assert_ok(err);
}
END_TEST

static void assert_text(const char *url, const char *options, const char *expected) {
  struct tide_err err = {0};
  struct tide_s3_place place = {0};
  parse(url, options, &place, &err);
  assert_ok(err);
  ck_assert_str_eq(place.text, expected);
  tide_s3_place_clear(&place);
}

START_TEST(the_same_place_has_the_same_text) {
  forget_environment();
  assert_text("s3://my-bucket/p/q", NULL, "s3://my-bucket/p/q");
  assert_text("S3://my-bucket/p/q/", "{\"region\":\"eu-north-1\",\"path_style\":true}", "s3://my-bucket/p/q");
  assert_text("s3://my-bucket/p/q", "{\"endpoint\":\"https://s3.eu-north-1.amazonaws.com\"}", "s3://my-bucket/p/q");
  assert_text("s3://my-bucket/", NULL, "s3://my-bucket");
  assert_text("s3://my-bucket/p", "{\"endpoint\":\"https://H.example:443\"}", "s3://my-bucket/p, of https://h.example");
  assert_text("s3://my-bucket/p", "{\"endpoint\":\"https://h.example/\",\"path_style\":false}",
              "s3://my-bucket/p, of https://h.example");
}
END_TEST

START_TEST(every_allocation_may_fail) {
  static const char options[] =
      "{\"endpoint\":\"https://h.example\",\"access_key_env\":\"A\",\"secret_key_env\":\"B\"}";
  oom_install();
  for (int n = 1;; n++) {
    struct tide_err err = {0};
    struct tide_s3_place place = {0};
    struct tide_sink_options parsed = {0};
    const long live = oom_live();
    tide_sink_options_parse(options, &parsed, &err);
    assert_ok(err);
    oom_fail_at(n);
    tide_s3_place_parse("s3://my-bucket/p", &parsed, &place, &err);
    tide_s3_place_clear(&place);
    tide_sink_options_clear(&parsed);
    ck_assert_int_eq(oom_live(), live);
    if (!oom_has_failed())
      break;
    ck_assert_int_eq(err.rc, SQLITE_NOMEM);
  }
  oom_fail_at(0);
}
END_TEST

/* ---- refusals ---- */

static void assert_says(int status, const char *body, int rc, const char *expected) {
  struct tide_err err = {0};
  struct tide_s3_place place = {
      .region = "us-east-1", .key_variable = "KEY_VAR", .secret_variable = "SECRET_VAR", .token_variable = "TOKEN_VAR"};
  struct tide_s3_refusal refusal;
  tide_s3_refusal_read(body, strlen(body), &refusal, &err);
  assert_ok(err);
  tide_s3_refusal_say(&refusal, status, &place, "putting s3://b/k", &err);
  ck_assert_str_eq(err.msg, expected);
  ck_assert_int_eq(err.rc, rc);
}

#define ERROR(code, rest) "<Error><Code>" code "</Code><Message>msg</Message>" rest "</Error>"

START_TEST(what_somebody_must_do_is_said) {
  assert_says(404, ERROR("NoSuchBucket", ""), SQLITE_ERROR,
              "putting s3://b/k: there is no such bucket: create it, or correct the sink's target (404 NoSuchBucket)");
  assert_says(403, ERROR("AccessDenied", ""), SQLITE_PERM,
              "putting s3://b/k: the access key in KEY_VAR may not do this: grant it (403 AccessDenied)");
  assert_says(403, ERROR("InvalidAccessKeyId", ""), SQLITE_PERM,
              "putting s3://b/k: the service does not know the access key in KEY_VAR (403 InvalidAccessKeyId)");
  assert_says(403, ERROR("SignatureDoesNotMatch", ""), SQLITE_PERM,
              "putting s3://b/k: the secret key in SECRET_VAR is not the access key's (403 SignatureDoesNotMatch)");
  assert_says(400, ERROR("ExpiredToken", ""), SQLITE_PERM,
              "putting s3://b/k: the session token in TOKEN_VAR has expired: start with a new one (400 ExpiredToken)");
  assert_says(403, ERROR("RequestTimeTooSkewed", ""), SQLITE_PERM,
              "putting s3://b/k: this machine's clock is too far from the service's: correct it "
              "(403 RequestTimeTooSkewed)");
}
END_TEST

START_TEST(another_region_is_named) {
  assert_says(400, ERROR("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"), SQLITE_ERROR,
              "putting s3://b/k: the bucket is in region eu-west-1, not us-east-1: set option region to \"eu-west-1\"");
  assert_says(301, ERROR("PermanentRedirect", ""), SQLITE_ERROR,
              "putting s3://b/k: the bucket is not in region us-east-1: set option region, or endpoint");
}
END_TEST

START_TEST(trouble_is_told_in_the_service_s_words) {
  assert_says(503, ERROR("SlowDown", ""), SQLITE_IOERR, "putting s3://b/k: the service answers 503 SlowDown: msg");
  assert_says(500, "", SQLITE_IOERR, "putting s3://b/k: the service answers 500");
  assert_says(429, "<html><body>Slow</p></html>", SQLITE_IOERR, "putting s3://b/k: the service answers 429");
  assert_says(409, ERROR("ConditionalRequestConflict", ""), SQLITE_IOERR,
              "putting s3://b/k: the service answers 409 ConditionalRequestConflict: msg");
  assert_says(403, "", SQLITE_PERM, "putting s3://b/k: the service answers 403");
  assert_says(400, ERROR("InvalidRequest", ""), SQLITE_ERROR,
              "putting s3://b/k: the service answers 400 InvalidRequest: msg");
}
END_TEST

START_TEST(long_and_odd_words_are_cut_and_cleaned) {
  char body[1024] = "<Error><Code>Odd</Code><Message>a\x1b[31m\nb";
  char expected[1024] = "putting s3://b/k: the service answers 400 Odd: a [31m b";
  struct tide_err err = {0};
  struct tide_s3_refusal refusal;
  /* 7 bytes, then two-byte characters: 159 bytes would end within the last. */
  for (int i = 0; i < 200; i++)
    strcat(body, "\xc3\xa9");
  strcat(body, "</Message></Error>");
  for (int i = 0; i < 75; i++)
    strcat(expected, "\xc3\xa9");
  tide_s3_refusal_read(body, strlen(body), &refusal, &err);
  ck_assert_uint_lt(strlen(refusal.message), sizeof refusal.message);
  ck_assert_int_eq(refusal.message[strlen(refusal.message) - 1] & 0xff, 0xa9);
  assert_says(400, body, SQLITE_ERROR, expected);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {amazons_hosts_hold_region_and_bucket,
                                an_endpoint_is_reached_by_path_unless_told_otherwise,
                                the_region_is_the_option_s_then_the_environment_s,
                                buckets_and_prefixes_that_cannot_be_are_refused,
                                options_that_cannot_be_are_refused,
                                http_is_for_this_machine_or_on_demand,
                                a_session_token_goes_with_its_key,
                                the_same_place_has_the_same_text,
                                every_allocation_may_fail,
                                what_somebody_must_do_is_said,
                                another_region_is_named,
                                trouble_is_told_in_the_service_s_words,
                                long_and_odd_words_are_cut_and_cleaned,
                                NULL};
  return unit_main("s3_place", tests);
}
