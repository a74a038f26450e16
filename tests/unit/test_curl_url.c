#include "sink/curl_url.h"

#include <string.h>

#include "base/sqlite.h"
#include "oom.h"
#include "unit.h"

START_TEST(urls_of_one_place_have_one_text) {
  static const struct {
    const char *url, *text, *origin;
  } cases[] = {
      {"http://h", "http://h/", "http://h"},
      {"HTTP://H:80/", "http://h/", "http://h"},
      {"https://Example.COM:443/In?Q=1", "https://example.com/In?Q=1", "https://example.com"},
      {"https://h:80/", "https://h:80/", "https://h:80"},
      {"http://h:443/a%20b", "http://h:443/a%20b", "http://h:443"},
      {"http://[::1]:9/x", "http://[::1]:9/x", "http://[::1]:9"},
      {"http://h/a/../b/./c", "http://h/b/c", "http://h"},
      {"http://h?q", "http://h/?q", "http://h"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_err err = {0};
    struct tide_curl_url url = {0};
    ck_assert_msg(tide_curl_url_parse(cases[i].url, &url, &err) == 0, "%s: %s", cases[i].url, err.msg);
    ck_assert_str_eq(url.text, cases[i].text);
    ck_assert_str_eq(url.origin, cases[i].origin);
    tide_curl_url_clear(&url);
  }
}
END_TEST

START_TEST(parts_are_told_apart) {
  struct tide_err err = {0};
  struct tide_curl_url url = {0};
  ck_assert_int_eq(tide_curl_url_parse("https://h:8443/a/b?c=d&e", &url, &err), 0);
  ck_assert_str_eq(url.scheme, "https");
  ck_assert_str_eq(url.host, "h");
  ck_assert_str_eq(url.path, "/a/b");
  ck_assert_str_eq(url.query, "c=d&e");
  tide_curl_url_clear(&url);
  ck_assert_int_eq(tide_curl_url_parse("https://h", &url, &err), 0);
  ck_assert_str_eq(url.path, "/");
  ck_assert_ptr_null(url.query);
  tide_curl_url_clear(&url);
}
END_TEST

START_TEST(loopback_is_this_machine_only) {
  static const struct {
    const char *url;
    bool is;
  } cases[] = {{"http://localhost/", true},
               {"http://LOCALHOST:99/", true},
               {"http://127.0.0.1:80/", true},
               {"http://127.9.9.9/", true},
               {"http://[::1]/", true},
               {"http://bucket.s3.localhost:99/", true},
               {"http://.localhost/", false},
               {"http://notlocalhost/", false},
               {"http://localhost.example.com/", false},
               {"http://127.0.0.1.example/", false},
               {"http://128.0.0.1/", false},
               {"http://[::2]/", false},
               {"http://example.com/localhost", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_err err = {0};
    struct tide_curl_url url = {0};
    ck_assert_int_eq(tide_curl_url_parse(cases[i].url, &url, &err), 0);
    ck_assert_msg(url.is_loopback == cases[i].is, "%s", cases[i].url);
    tide_curl_url_clear(&url);
  }
}
END_TEST

START_TEST(what_cannot_be_asked_is_refused) {
  static const char credentials[] =
      "the URL holds credentials, which would stay in the database: expected none, and an "
      "option that names an environment variable";
  static const struct {
    const char *url, *message;
  } cases[] = {
      {"http://user:hidden@h/", credentials},
      {"http://hidden@h/", credentials},
      {"http://h/#hidden", "the URL has a fragment (#...), which is never sent: expected none"},
      {"ftp://h/hidden", "the URL's scheme is \"ftp\": expected http or https"},
      {"http://h/hid den",
       "the URL holds white space or a control character: expected it percent-encoded, such as %20"},
      {"http://h/hid\nden",
       "the URL holds white space or a control character: expected it percent-encoded, such as %20"},
      {"http:///hidden", NULL},
      {"http:/hidden", NULL},
      {"http:hidden", NULL},
      {"http:///", NULL},
      {"http://h:99999/hidden", NULL},
      {"http://h:x/hidden", NULL},
      {"http://", NULL},
      {"hidden", NULL},
      {"", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_err err = {0};
    struct tide_curl_url url = {0};
    ck_assert_msg(tide_curl_url_parse(cases[i].url, &url, &err) == SQLITE_ERROR, "%s: %s", cases[i].url, err.msg);
    if (cases[i].message != NULL)
      ck_assert_str_eq(err.msg, cases[i].message);
    else
      ck_assert_ptr_nonnull(strstr(err.msg, "the URL cannot be used ("));
    ck_assert_ptr_null(strstr(err.msg, "hidden"));
    ck_assert_ptr_null(url.text);
  }
}
END_TEST

START_TEST(every_allocation_may_fail) {
  oom_install();
  const long live = oom_live();
  bool is_done = false;
  for (int n = 1; !is_done; n++) {
    struct tide_err err = {0};
    struct tide_curl_url url = {0};
    oom_fail_at(n);
    tide_curl_url_parse("https://h:99/a?b", &url, &err);
    is_done = !oom_has_failed();
    oom_fail_at(0);
    ck_assert_int_eq(err.rc, is_done ? 0 : SQLITE_NOMEM);
    tide_curl_url_clear(&url);
    ck_assert_int_eq(oom_live(), live);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {urls_of_one_place_have_one_text, parts_are_told_apart,
                                loopback_is_this_machine_only,   what_cannot_be_asked_is_refused,
                                every_allocation_may_fail,       NULL};
  return unit_main("curl_url", tests);
}
