#include "sink/curl_io.h"

#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "http_server.h"
#include "oom.h"
#include "unit.h"

static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A:  b c \r\nx-a: second\r\nEmpty:\r\n\r\nhi";

/* One request to a path of the server, by a handle of its own; gives the code. */
struct asked {
  struct tide_curl_answer answer;
  struct tide_err err;
};

static void ask_by(struct tide_curl *curl, const char *origin, struct tide_curl_request request, struct asked *asked) {
  struct tide_curl_url url = {0};
  *asked = (struct asked){0};
  char *text = tide_printf(&asked->err, "%s/in?secret=query", origin);
  ck_assert_int_eq(tide_curl_url_parse(text, &url, &asked->err), 0);
  request.url = url.text;
  request.where = &url;
  request.timeout_ms = request.timeout_ms != 0 ? request.timeout_ms : 10000;
  ck_assert_int_eq(tide_curl_request(curl, &request, &asked->answer, &asked->err), asked->err.rc);
  tide_curl_url_clear(&url);
  tide_free(text);
}

static void ask(const char *origin, struct tide_curl_request request, struct asked *asked) {
  struct tide_err err = {0};
  struct tide_curl *curl = tide_curl_open(NULL, &err);
  assert_ok(err);
  ask_by(curl, origin, request, asked);
  tide_curl_close(curl);
}

static const struct tide_curl_request get = {.method = "GET"};
static const struct tide_curl_request post = {.method = "POST", .body = "body", .body_size = 4};

START_TEST(a_request_is_what_was_asked_for_and_nothing_else) {
  struct http_server server;
  struct asked asked;
  const char *const headers[] = {"Content-Type: text/x", "Authorization: Bearer t"};
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER, ok}, {HTTP_ANSWER, ok}}, 2);
  struct tide_err err = {0};
  struct tide_curl *curl = tide_curl_open(NULL, &err);
  struct tide_curl_request request = post;
  request.headers = headers;
  request.nheaders = 2;
  ask_by(curl, server.url, request, &asked);
  assert_ok(asked.err);
  tide_curl_answer_clear(&asked.answer);
  ask_by(curl, server.url, get, &asked);
  assert_ok(asked.err);
  tide_curl_answer_clear(&asked.answer);
  tide_curl_close(curl);
  http_server_stop(&server);
  const char *const host = server.url + strlen("http://");
  char *expected =
      sqlite3_mprintf("POST /in?secret=query HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\nContent-Type: text/x\r\n"
                      "Authorization: Bearer t\r\nContent-Length: 4\r\n\r\nbody",
                      host);
  ck_assert_str_eq(server.requests[0].text, expected);
  sqlite3_free(expected);
  expected = sqlite3_mprintf("GET /in?secret=query HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\n\r\n", host);
  ck_assert_str_eq(server.requests[1].text, expected);
  sqlite3_free(expected);
  ck_assert_int_eq(server.connections, 1);
}
END_TEST

START_TEST(a_body_without_a_type_is_given_none) {
  struct http_server server;
  struct asked asked;
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER, ok}}, 1);
  ask(server.url, post, &asked);
  assert_ok(asked.err);
  tide_curl_answer_clear(&asked.answer);
  http_server_stop(&server);
  ck_assert_ptr_null(strstr(server.requests[0].text, "Content-Type"));
}
END_TEST

START_TEST(an_answer_has_status_headers_and_body) {
  struct http_server server;
  struct asked asked;
  static const char answer[] = "HTTP/1.1 103 Early Hints\r\nX-A: early\r\n\r\n"
                               "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A:  b c \r\nx-a: second\r\nEmpty:\r\n\r\nhi";
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER, answer}}, 1);
  ask(server.url, get, &asked);
  assert_ok(asked.err);
  ck_assert_int_eq(asked.answer.status, 200);
  ck_assert_str_eq((const char *)asked.answer.body.data, "hi");
  ck_assert_uint_eq(asked.answer.body.len, 2);
  ck_assert(!asked.answer.is_cut);
  ck_assert_str_eq(tide_curl_answer_header(&asked.answer, "X-a"), "b c");
  ck_assert_str_eq(tide_curl_answer_header(&asked.answer, "empty"), "");
  ck_assert_ptr_null(tide_curl_answer_header(&asked.answer, "hi"));
  ck_assert_ptr_null(tide_curl_answer_header(&asked.answer, "b c"));
  tide_curl_answer_clear(&asked.answer);
  http_server_stop(&server);
}
END_TEST

START_TEST(statuses_and_redirects_are_answers) {
  struct http_server server;
  struct asked asked;
  static const char moved[] = "HTTP/1.1 307 Elsewhere\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
  static const char broken[] = "HTTP/1.1 503 Not Now\r\nContent-Length: 4\r\n\r\nbusy";
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER, moved}, {HTTP_ANSWER_CLOSE, broken}}, 2);
  struct tide_err err = {0};
  struct tide_curl *curl = tide_curl_open(NULL, &err);
  ask_by(curl, server.url, post, &asked);
  assert_ok(asked.err);
  ck_assert_int_eq(asked.answer.status, 307);
  tide_curl_answer_clear(&asked.answer);
  ask_by(curl, server.url, post, &asked);
  assert_ok(asked.err);
  ck_assert_int_eq(asked.answer.status, 503);
  ck_assert_str_eq((const char *)asked.answer.body.data, "busy");
  tide_curl_answer_clear(&asked.answer);
  tide_curl_close(curl);
  http_server_stop(&server);
}
END_TEST

static void count(void *context, const void *bytes, size_t size, struct tide_err *err) {
  (void)bytes;
  (void)err;
  *(size_t *)context += size;
}

static void refuse(void *context, const void *bytes, size_t size, struct tide_err *err) {
  (void)context, (void)bytes, (void)size;
  tide_err_set(err, SQLITE_FULL, "no room");
}

START_TEST(a_body_goes_where_the_caller_wants_when_it_is_a_success) {
  struct http_server server;
  struct asked asked;
  size_t size = 0;
  static const char none[] = "HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\nnone";
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER, ok}, {HTTP_ANSWER, none}, {HTTP_ANSWER, ok}}, 3);
  struct tide_err err = {0};
  struct tide_curl *curl = tide_curl_open(NULL, &err);
  struct tide_curl_request request = get;
  request.take = count;
  request.context = &size;
  ask_by(curl, server.url, request, &asked);
  ck_assert_uint_eq(size, 2);
  ck_assert_uint_eq(asked.answer.body.len, 0);
  tide_curl_answer_clear(&asked.answer);
  ask_by(curl, server.url, request, &asked);
  ck_assert_uint_eq(size, 2);
  ck_assert_str_eq((const char *)asked.answer.body.data, "none");
  tide_curl_answer_clear(&asked.answer);
  request.take = refuse;
  ask_by(curl, server.url, request, &asked);
  ck_assert_int_eq(asked.err.rc, SQLITE_FULL);
  ck_assert_str_eq(asked.err.msg, "no room");
  tide_curl_close(curl);
  http_server_stop(&server);
}
END_TEST

/* An answer of a status line, then that many times the same bytes. */
static char *long_answer(const char *start, const char *piece, size_t times) {
  char *answer = malloc(strlen(start) + strlen(piece) * times + 1);
  char *at = stpcpy(answer, start);
  while (times-- > 0)
    at = stpcpy(at, piece);
  return answer;
}

START_TEST(answers_are_kept_within_bounds) {
  struct http_server server;
  struct asked asked;
  char *body = long_answer("HTTP/1.1 500 Long\r\n\r\n", "0123456789abcdef", TIDE_CURL_BODY_MAX / 16 + 100);
  char *headers = long_answer("HTTP/1.1 200 OK\r\n", "X-Y: 0123456789\r\n", TIDE_CURL_HEADERS_MAX / 15 + 1);
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER_CLOSE, body}, {HTTP_ANSWER_CLOSE, headers}}, 2);
  ask(server.url, get, &asked);
  assert_ok(asked.err);
  ck_assert_int_eq(asked.answer.status, 500);
  ck_assert(asked.answer.is_cut);
  ck_assert_uint_eq(asked.answer.body.len, TIDE_CURL_BODY_MAX);
  tide_curl_answer_clear(&asked.answer);
  ask(server.url, get, &asked);
  ck_assert_int_eq(asked.err.rc, SQLITE_IOERR);
  ck_assert_ptr_nonnull(strstr(asked.err.msg, ": the headers of its answer are larger than 65536 bytes"));
  http_server_stop(&server);
  free(body);
  free(headers);
}
END_TEST

static void expect_failure(const char *url, struct tide_curl_request request, const char *end) {
  struct asked asked;
  char expected[300];
  ask(url, request, &asked);
  snprintf(expected, sizeof expected, "%s%s", url, end);
  ck_assert_str_eq(asked.err.msg, expected);
  ck_assert_int_eq(asked.err.rc, SQLITE_IOERR);
  ck_assert_int_eq(asked.answer.status, 0);
}

START_TEST(failures_name_the_origin_and_what_went_wrong) {
  struct http_server server;
  const struct http_step steps[] = {{HTTP_DROP_AFTER, NULL},
                                    {HTTP_ANSWER_CLOSE, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"},
                                    {HTTP_ANSWER_CLOSE, "hello\r\n\r\n"},
                                    {HTTP_STALL, NULL}};
  struct tide_curl_request request = post;
  http_server_start(&server, steps, 4);
  expect_failure(server.url, request, ": Server returned nothing (no headers, no data)");
  expect_failure(server.url, request, ": Transferred a partial file");
  expect_failure(server.url, request, ": what it answers is not HTTP");
  request.timeout_ms = 50;
  expect_failure(server.url, request, " gave no whole answer within 1 seconds");
  http_server_stop(&server);
  expect_failure(server.url, request, ": Couldn't connect to server (Connection refused)");
}
END_TEST

START_TEST(a_large_body_is_not_sent_to_who_does_not_want_it) {
  struct http_server server;
  struct asked asked;
  struct tide_curl_request request = post;
  request.body_size = 4 << 20;
  char *body = calloc(1, request.body_size);
  request.body = body;
  const struct http_step steps[] = {{HTTP_ANSWER_HEAD, "HTTP/1.1 413 Less\r\nContent-Length: 4\r\n\r\nless"},
                                    {HTTP_ANSWER, ok}};
  http_server_start(&server, steps, 2);
  ask(server.url, request, &asked);
  assert_ok(asked.err);
  ck_assert_int_eq(asked.answer.status, 413);
  ck_assert_str_eq((const char *)asked.answer.body.data, "less");
  ck_assert_uint_lt(server.requests[0].size, 1000);
  tide_curl_answer_clear(&asked.answer);
  ask(server.url, request, &asked);
  assert_ok(asked.err);
  ck_assert_int_eq(asked.answer.status, 200);
  ck_assert_uint_gt(server.requests[1].size, request.body_size);
  tide_curl_answer_clear(&asked.answer);
  http_server_stop(&server);
  free(body);
}
END_TEST

static bool end_third(void *context, struct tide_err *err) {
  if (++*(int *)context < 3)
    return false;
  tide_err_set(err, SQLITE_INTERRUPT, "interrupted");
  return true;
}

START_TEST(a_wait_ends_when_the_user_wants) {
  struct http_server server;
  struct asked asked;
  struct tide_err err = {0};
  int calls = 0;
  const struct tide_patience patience = {end_third, &calls};
  http_server_start(&server, (struct http_step[]){{HTTP_STALL, NULL}}, 1);
  struct tide_curl *curl = tide_curl_open(&patience, &err);
  ask_by(curl, server.url, post, &asked);
  ck_assert_int_eq(asked.err.rc, SQLITE_INTERRUPT);
  ck_assert_int_eq(calls, 3);
  tide_curl_close(curl);
  http_server_stop(&server);
}
END_TEST

START_TEST(a_kept_connection_that_was_closed_is_made_anew) {
  struct http_server server;
  struct asked asked;
  struct tide_err err = {0};
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER_CLOSE, ok}, {HTTP_ANSWER, ok}}, 2);
  struct tide_curl *curl = tide_curl_open(NULL, &err);
  for (int i = 0; i < 2; i++) {
    ask_by(curl, server.url, post, &asked);
    assert_ok(asked.err);
    tide_curl_answer_clear(&asked.answer);
  }
  tide_curl_close(curl);
  http_server_stop(&server);
  ck_assert_int_eq(server.connections, 2);
}
END_TEST

START_TEST(the_hosts_signals_stay_as_they_are) {
  struct http_server server;
  struct asked asked;
  struct sigaction action;
  sigset_t mask;
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER, ok}}, 1);
  ask(server.url, post, &asked);
  tide_curl_answer_clear(&asked.answer);
  http_server_stop(&server);
  ck_assert_int_eq(sigaction(SIGPIPE, NULL, &action), 0);
  ck_assert(action.sa_handler == SIG_DFL);
  ck_assert_int_eq(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
  ck_assert_int_eq(sigismember(&mask, SIGPIPE), 0);
}
END_TEST

START_TEST(this_machine_is_not_asked_through_a_proxy) {
  struct http_server server;
  struct asked asked;
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER, ok}}, 1);
  ask(server.url, get, &asked);
  assert_ok(asked.err);
  tide_curl_answer_clear(&asked.answer);
  http_server_stop(&server);
}
END_TEST

START_TEST(every_allocation_may_fail) {
  struct http_server server;
  struct tide_err err = {0};
  struct tide_curl_url url = {0};
  const struct http_step step = {HTTP_ANSWER, ok};
  oom_install();
  bool answered = false;
  for (int n = 1; !answered; n++) {
    struct tide_curl_answer answer = {0};
    struct tide_curl_request request = post;
    http_server_start(&server, &step, 1);
    ck_assert_int_eq(tide_curl_url_parse(server.url, &url, &err), 0);
    request.url = url.text;
    request.where = &url;
    request.timeout_ms = 10000;
    const long live = oom_live();
    oom_fail_at(n);
    struct tide_curl *curl = tide_curl_open(NULL, &err);
    if (curl != NULL)
      tide_curl_request(curl, &request, &answer, &err);
    answered = !oom_has_failed();
    oom_fail_at(0);
    tide_curl_answer_clear(&answer);
    tide_curl_close(curl);
    ck_assert_int_eq(err.rc, answered ? 0 : SQLITE_NOMEM);
    ck_assert_int_eq(oom_live(), live);
    tide_err_clear(&err);
    http_server_end(&server);
    tide_curl_url_clear(&url);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_request_is_what_was_asked_for_and_nothing_else,
                                a_body_without_a_type_is_given_none,
                                an_answer_has_status_headers_and_body,
                                statuses_and_redirects_are_answers,
                                a_body_goes_where_the_caller_wants_when_it_is_a_success,
                                answers_are_kept_within_bounds,
                                failures_name_the_origin_and_what_went_wrong,
                                a_large_body_is_not_sent_to_who_does_not_want_it,
                                a_wait_ends_when_the_user_wants,
                                a_kept_connection_that_was_closed_is_made_anew,
                                the_hosts_signals_stay_as_they_are,
                                this_machine_is_not_asked_through_a_proxy,
                                every_allocation_may_fail,
                                NULL};
  return unit_main("curl_io", tests);
}
