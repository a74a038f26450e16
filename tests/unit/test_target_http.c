#define _GNU_SOURCE /* memmem */
#include "sink/target_http.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "http_server.h"
#include "oom.h"
#include "unit.h"

static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

static const struct tide_object object = {.name = "a",
                                          .log_id = "0123456789abcdef0123456789abcdef",
                                          .token = 5,
                                          .key = "0123456789abcdef0123456789abcdef/hook/logs/source=web/0/10-12",
                                          .media_type = "application/x-ndjson",
                                          .tick = 7,
                                          .tick_token = 0xAB};

static const struct tide_scheme *scheme_of(const char *url) {
  return strncmp(url, "https:", 6) == 0 ? &tide_scheme_https : &tide_scheme_http;
}

static struct tide_target *open_target(const char *url, const char *json, struct tide_err *err) {
  struct tide_sink_options options = {0};
  ck_assert_int_eq(tide_sink_options_parse(json, &options, err), 0);
  struct tide_target *target = scheme_of(url)->open(url, &options, NULL, err);
  if (target != NULL)
    ck_assert_int_eq(tide_sink_options_end(&options, err), 0);
  tide_sink_options_clear(&options);
  return target;
}

static void put(struct tide_target *target, const struct tide_object *which, const char *body, struct tide_answer *ret,
                struct tide_err *err) {
  *ret = (struct tide_answer){0};
  if (target->methods->begin(target, which, err) != 0)
    return;
  ck_assert_int_eq(target->methods->write(target, body, strlen(body) / 2, err), 0);
  ck_assert_int_eq(target->methods->write(target, body + strlen(body) / 2, strlen(body) - strlen(body) / 2, err), 0);
  ck_assert_int_eq(target->methods->commit(target, ret, err), err->rc);
}

/* ---- what is sent ---- */

START_TEST(an_object_is_one_post) {
  struct http_server server;
  struct tide_err err = {0};
  struct tide_answer answer;
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER, ok}, {HTTP_ANSWER, ok}}, 2);
  char *url = tide_printf(&err, "%s/in?a=b", server.url);
  struct tide_target *target = open_target(url, NULL, &err);
  assert_ok(err);
  put(target, &object, "{\"a\":1}\n{\"a\":2}\n", &answer, &err);
  assert_ok(err);
  ck_assert_int_eq(answer.verdict, TIDE_VERDICT_TAKEN);
  struct tide_object other = object;
  other.content_encoding = "zstd";
  other.tick_token = -1;
  put(target, &other, "", &answer, &err);
  assert_ok(err);
  tide_target_destroy(target);
  http_server_stop(&server);
  char *expected = tide_printf(&err,
                               "POST /in?a=b HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\n"
                               "User-Agent: Tidemark/" TIDEMARK_VERSION "\r\n"
                               "Content-Type: application/x-ndjson\r\n"
                               "Idempotency-Key: \"0123456789abcdef0123456789abcdef/hook/logs/source=web/0/10-12\"\r\n"
                               "Tidemark-Tick: 7 00000000000000ab\r\nContent-Length: 16\r\n\r\n{\"a\":1}\n{\"a\":2}\n",
                               server.url + strlen("http://"));
  ck_assert_str_eq(server.requests[0].text, expected);
  ck_assert_ptr_nonnull(strstr(server.requests[1].text, "\r\nTidemark-Tick: 7 ffffffffffffffff\r\n"));
  ck_assert_ptr_nonnull(strstr(server.requests[1].text, "\r\nContent-Encoding: zstd\r\n"));
  ck_assert_ptr_nonnull(strstr(server.requests[1].text, "\r\nContent-Length: 0\r\n\r\n"));
  ck_assert_int_eq(server.connections, 1);
  tide_free(expected);
  tide_free(url);
}
END_TEST

/* The header of that name as the server got it, in a request of a target with those options. */
static void expect_header(const char *options, const char *line) {
  struct http_server server;
  struct tide_err err = {0};
  struct tide_answer answer;
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER, ok}}, 1);
  struct tide_target *target = open_target(server.url, options, &err);
  assert_ok(err);
  put(target, &object, "x", &answer, &err);
  assert_ok(err);
  tide_target_destroy(target);
  http_server_stop(&server);
  ck_assert_msg(strstr(server.requests[0].text, line) != NULL, "%s", server.requests[0].text);
}

START_TEST(secrets_come_from_the_environment) {
  setenv("TIDE_A", "t0k/en=", 1);
  setenv("TIDE_B", "open sesame", 1);
  expect_header("{\"token_env\":\"TIDE_A\"}", "\r\nAuthorization: Bearer t0k/en=\r\n");
  /* RFC 7617, section 2 */
  expect_header("{\"user\":\"Aladdin\",\"password_env\":\"TIDE_B\"}",
                "\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n");
  expect_header("{\"header\":\"X-Api-Key\",\"header_env\":\"TIDE_B\"}", "\r\nX-Api-Key: open sesame\r\n");
  expect_header("{\"token_env\":\"TIDE_A\",\"header\":\"X-Api-Key\",\"header_env\":\"TIDE_B\"}",
                "\r\nAuthorization: Bearer t0k/en=\r\nX-Api-Key: open sesame\r\n");
}
END_TEST

START_TEST(a_secret_is_read_when_the_target_opens) {
  struct tide_err err = {0};
  unsetenv("TIDE_A");
  ck_assert_ptr_null(open_target("https://h/", "{\"token_env\":\"TIDE_A\"}", &err));
  ck_assert_int_eq(err.rc, SQLITE_AUTH);
  ck_assert_str_eq(err.msg, "environment variable TIDE_A is not set: expected it to hold the secret of this sink");
}
END_TEST

START_TEST(what_a_receiver_repeats_of_secrets_is_hidden) {
  struct http_server server;
  struct tide_err err = {0};
  struct tide_answer answer;
  static const char told[] = "HTTP/1.1 403 No\r\nConnection: close\r\n\r\n"
                             "bad hush, aHVzaA== is no u: /in?key=hidden, dTpodXNo; hushhush";
  setenv("TIDE_A", "hush", 1);
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER_CLOSE, told}}, 1);
  char *url = tide_printf(&err, "%s/in?key=hidden", server.url);
  struct tide_target *target = open_target(url, "{\"user\":\"u\",\"password_env\":\"TIDE_A\"}", &err);
  put(target, &object, "x", &answer, &err);
  assert_ok(err);
  char *expected =
      tide_printf(&err, "%s answered 403: bad ****, aHVzaA== is no u: /in?**********, ********; ********", server.url);
  ck_assert_str_eq(answer.message, expected);
  tide_target_destroy(target);
  http_server_stop(&server);
  tide_free(expected);
  tide_free(url);
}
END_TEST

/* ---- what comes back ---- */

START_TEST(answers_are_judged) {
  struct http_server server;
  struct tide_err err = {0};
  struct tide_answer answer;
  static const struct http_step steps[] = {
      {HTTP_ANSWER, "HTTP/1.1 207 Some\r\nContent-Length: 37\r\n\r\n{\"refused\":[{\"line\":2,\"reason\":\"x\"}]}"},
      {HTTP_ANSWER, "HTTP/1.1 429 Slow\r\nRetry-After: 9\r\nContent-Length: 0\r\n\r\n"},
      {HTTP_ANSWER, "HTTP/1.1 409 Old\r\nTidemark-Tick: 8 00\r\nContent-Length: 0\r\n\r\n"},
      {HTTP_ANSWER, "HTTP/1.1 303 There\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"},
      {HTTP_ANSWER, ok}};
  http_server_start(&server, steps, 5);
  struct tide_target *target = open_target(server.url, NULL, &err);
  put(target, &object, "x\ny\n", &answer, &err);
  assert_ok(err);
  ck_assert_int_eq(answer.verdict, TIDE_VERDICT_PARTLY);
  ck_assert_int_eq(answer.refused[0].row, 1);
  tide_answer_clear(&answer);
  put(target, &object, "x", &answer, &err);
  ck_assert_int_eq(answer.verdict, TIDE_VERDICT_LATER);
  ck_assert_int_eq(answer.retry_after_ms, 9000);
  put(target, &object, "x", &answer, &err);
  ck_assert_int_eq(answer.verdict, TIDE_VERDICT_AHEAD);
  ck_assert_int_eq(answer.tick, 8);
  assert_ok(err);
  put(target, &object, "x", &answer, &err);
  ck_assert_int_eq(err.rc, SQLITE_IOERR);
  tide_err_clear(&err);
  put(target, &object, "x", &answer, &err);
  assert_ok(err);
  tide_target_destroy(target);
  http_server_stop(&server);
}
END_TEST

START_TEST(a_broken_exchange_is_an_error_and_the_next_object_is_sent) {
  struct http_server server;
  struct tide_err err = {0};
  struct tide_answer answer;
  http_server_start(&server, (struct http_step[]){{HTTP_DROP_AFTER, NULL}, {HTTP_ANSWER, ok}}, 2);
  struct tide_target *target = open_target(server.url, NULL, &err);
  put(target, &object, "x", &answer, &err);
  ck_assert_int_eq(err.rc, SQLITE_IOERR);
  tide_err_clear(&err);
  put(target, &object, "y", &answer, &err);
  assert_ok(err);
  ck_assert_ptr_nonnull(strstr(server.requests[1].text, "\r\n\r\ny"));
  tide_target_destroy(target);
  http_server_stop(&server);
}
END_TEST

START_TEST(an_aborted_object_is_not_sent) {
  struct http_server server;
  struct tide_err err = {0};
  struct tide_answer answer;
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER, ok}}, 1);
  struct tide_target *target = open_target(server.url, NULL, &err);
  target->methods->abort(target);
  ck_assert_int_eq(target->methods->begin(target, &object, &err), 0);
  ck_assert_int_eq(target->methods->write(target, "gone", 4, &err), 0);
  target->methods->abort(target);
  put(target, &object, "kept", &answer, &err);
  assert_ok(err);
  ck_assert_ptr_nonnull(strstr(server.requests[0].text, "\r\n\r\nkept"));
  tide_target_destroy(target);
  http_server_stop(&server);
}
END_TEST

START_TEST(a_key_that_would_break_its_header_is_refused) {
  static const char *const keys[] = {NULL, "", "a\"b", "a\\b", "a\r\nX: y", "caf\xC3\xA9"};
  struct tide_err err = {0};
  struct tide_target *target = open_target("http://127.0.0.1:1/", NULL, &err);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    struct tide_object bad = object;
    bad.key = keys[i];
    ck_assert_int_eq(target->methods->begin(target, &bad, &err), SQLITE_ERROR);
    ck_assert_str_eq(err.msg, "the batch's key cannot be sent: expected printable ASCII without \" and \\");
    tide_err_clear(&err);
  }
  tide_target_destroy(target);
}
END_TEST

/* ---- what may be registered ---- */

static char *check(const char *url, const char *json, struct tide_err *err) {
  struct tide_sink_options options = {0};
  ck_assert_int_eq(tide_sink_options_parse(json, &options, err), 0);
  char *place = scheme_of(url)->check(url, &options, err);
  if (place != NULL)
    tide_sink_options_end(&options, err);
  tide_sink_options_clear(&options);
  return place;
}

static void expect_place(const char *url, const char *json, const char *expected) {
  struct tide_err err = {0};
  char *place = check(url, json, &err);
  assert_ok(err);
  ck_assert_str_eq(place, expected);
  tide_free(place);
}

static void expect_refused(const char *url, const char *json, const char *message) {
  struct tide_err err = {0};
  char *place = check(url, json, &err);
  ck_assert_int_eq(err.rc, SQLITE_ERROR);
  ck_assert_str_eq(err.msg, message);
  tide_free(place);
}

START_TEST(one_place_has_one_text_and_no_query) {
  expect_place("HTTPS://Host:443", NULL, "https://host/");
  expect_place("http://host:8080/In", "{\"timeout\":600}", "http://host:8080/In");
  /* FNV-1a of "a" is published as af63dc4c8601ec8c. */
  expect_place("http://host/in?a", NULL, "http://host/in?(af63dc4c8601ec8c)");
}
END_TEST

START_TEST(secrets_that_json_escapes_are_hidden_too) {
  struct http_server server;
  struct tide_err err = {0};
  struct tide_answer answer;
  static const char told[] = "HTTP/1.1 207 Some\r\nConnection: close\r\n\r\n"
                             "{\"refused\":[{\"line\":1,\"reason\":\"no s\\/cret, no \\u0073/cret\"}]}";
  setenv("TIDE_A", "s/cret", 1);
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER_CLOSE, told}}, 1);
  struct tide_target *target = open_target(server.url, "{\"token_env\":\"TIDE_A\"}", &err);
  put(target, &object, "x\n", &answer, &err);
  assert_ok(err);
  ck_assert_uint_eq(answer.nrefused, 1);
  ck_assert_str_eq(answer.refused[0].reason, "no ******, no ******");
  tide_answer_clear(&answer);
  tide_target_destroy(target);
  http_server_stop(&server);
}
END_TEST

START_TEST(headers_beyond_all_bounds_are_no_lack_of_memory) {
  enum { SIZE = 400000 };
  struct http_server server;
  struct tide_err err = {0};
  struct tide_answer answer;
  char *told = malloc(SIZE);
  const int head = sprintf(told, "HTTP/1.1 200 OK\r\nX: ");
  memset(told + head, 'x', SIZE - head);
  strcpy(told + SIZE - 5, "\r\n\r\n");
  http_server_start(&server, (struct http_step[]){{HTTP_ANSWER_CLOSE, told}}, 1);
  struct tide_target *target = open_target(server.url, NULL, &err);
  put(target, &object, "x\n", &answer, &err);
  ck_assert_int_eq(err.rc, SQLITE_IOERR);
  ck_assert_ptr_nonnull(strstr(err.msg, "gave more headers than are taken"));
  tide_target_destroy(target);
  http_server_stop(&server);
  free(told);
}
END_TEST

START_TEST(secrets_need_not_be_there_to_register) {
  unsetenv("TIDE_NOT_THERE");
  expect_place("https://host/", "{\"token_env\":\"TIDE_NOT_THERE\"}", "https://host/");
  expect_place("http://localhost:9/", "{\"token_env\":\"TIDE_NOT_THERE\"}", "http://localhost:9/");
  expect_place("http://[::1]:9/", "{\"header\":\"X-Key\",\"header_env\":\"TIDE_NOT_THERE\"}", "http://[::1]:9/");
}
END_TEST

START_TEST(options_that_cannot_be_are_refused) {
  static const char https[] = "https://h/";
  static const char plain[] =
      "a secret would go to http://h for everyone on the way to read: expected https, or a host "
      "of this machine (localhost, 127.0.0.1, [::1])";
  expect_refused("http://h/", "{\"token_env\":\"A\"}", plain);
  expect_refused("http://h/", "{\"user\":\"u\",\"password_env\":\"A\"}", plain);
  expect_refused("http://h/", "{\"header\":\"X\",\"header_env\":\"A\"}", plain);
  expect_refused(https, "{\"timeout\":0}", "option timeout is 0: expected an integer from 1 to 600");
  expect_refused(https, "{\"timeout\":601}", "option timeout is 601: expected an integer from 1 to 600");
  expect_refused(https, "{\"user\":\"u\"}", "option user is given without password_env: expected both or neither");
  expect_refused(https, "{\"password_env\":\"A\"}",
                 "option password_env is given without user: expected both or neither");
  expect_refused(https, "{\"header\":\"X\"}", "option header is given without header_env: expected both or neither");
  expect_refused(https, "{\"header_env\":\"A\"}",
                 "option header_env is given without header: expected both or neither");
  static const char twice[] =
      "options give more than one Authorization: expected one of token_env, user with password_env, or that header";
  expect_refused(https, "{\"token_env\":\"A\",\"user\":\"u\",\"password_env\":\"B\"}", twice);
  expect_refused(https, "{\"token_env\":\"A\",\"header\":\"authorization\",\"header_env\":\"B\"}", twice);
  expect_refused(https, "{\"user\":\"u:v\",\"password_env\":\"B\"}",
                 "option user holds a colon or a control character: expected a name without");
  expect_refused(https, "{\"header\":\"X: y\",\"header_env\":\"B\"}",
                 "option header is no name of an HTTP header: expected one such as X-Api-Key");
  expect_refused(https, "{\"header\":\"idempotency-key\",\"header_env\":\"B\"}",
                 "option header is idempotency-key, which the request has already: expected one such as X-Api-Key");
  expect_refused(https, "{\"other\":1}",
                 "option \"other\" is not known for this target and format: expected one of timeout, token_env, user, "
                 "password_env, header, header_env");
  expect_refused("https://u:hidden@h/", NULL,
                 "target: the URL holds credentials, which would stay in the database: expected none, and an option "
                 "that names an environment variable");
  expect_refused("https://h/#f", NULL, "target: the URL has a fragment (#...), which is never sent: expected none");
}
END_TEST

/* ---- memory ---- */

/* Blocks that were given back with a secret in them: as the variable holds it, or as Basic sends it. */
static struct {
  sqlite3_mem_methods real;
  int blocks;
} leaked;

static void look_at(void *block) {
  const size_t size = block != NULL ? (size_t)leaked.real.xSize(block) : 0;
  leaked.blocks += block != NULL && (memmem(block, size, "open sesame", 11) != NULL ||
                                     memmem(block, size, "b3BlbiBzZXNhbW", 14) != NULL);
}

static void looking_free(void *block) {
  look_at(block);
  leaked.real.xFree(block);
}

static void *looking_realloc(void *block, int size) {
  look_at(block);
  return leaked.real.xRealloc(block, size);
}

START_TEST(no_memory_is_given_back_with_a_secret) {
  sqlite3_shutdown();
  ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &leaked.real), SQLITE_OK);
  sqlite3_mem_methods looking = leaked.real;
  looking.xFree = looking_free;
  looking.xRealloc = looking_realloc;
  ck_assert_int_eq(sqlite3_config(SQLITE_CONFIG_MALLOC, &looking), SQLITE_OK);
  setenv("TIDE_B", "open sesame", 1);
  expect_header("{\"header\":\"X-Api-Key\",\"header_env\":\"TIDE_B\"}", "\r\nX-Api-Key: open sesame\r\n");
  expect_header("{\"token_env\":\"TIDE_B\"}", "\r\nAuthorization: Bearer open sesame\r\n");
  /* A user's name of six bytes with its colon, so that the secret's base64 stands by itself. */
  expect_header("{\"user\":\"Alad2\",\"password_env\":\"TIDE_B\"}",
                "\r\nAuthorization: Basic QWxhZDI6b3BlbiBzZXNhbWU=\r\n");
  ck_assert_int_eq(leaked.blocks, 0);
}
END_TEST

static void put_once(const char *url, struct tide_err *err) {
  static const char json[] =
      "{\"user\":\"u\",\"password_env\":\"TIDE_A\",\"header\":\"X-K\",\"header_env\":\"TIDE_A\"}";
  struct tide_sink_options options = {0};
  struct tide_answer answer = {0};
  tide_sink_options_parse(json, &options, err);
  char *place = tide_err_is_set(err) ? NULL : tide_scheme_http.check(url, &options, err);
  struct tide_target *target = tide_err_is_set(err) ? NULL : tide_scheme_http.open(url, &options, NULL, err);
  if (target != NULL && target->methods->begin(target, &object, err) == 0 &&
      target->methods->write(target, "x", 1, err) == 0)
    target->methods->commit(target, &answer, err);
  tide_answer_clear(&answer);
  tide_target_destroy(target);
  tide_sink_options_clear(&options);
  tide_free(place);
}

START_TEST(every_allocation_may_fail) {
  const struct http_step step = {HTTP_ANSWER, "HTTP/1.1 400 No\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\nno"};
  setenv("TIDE_A", "secret", 1);
  oom_install();
  bool is_done = false;
  for (int n = 1; !is_done; n++) {
    struct http_server server;
    struct tide_err err = {0};
    http_server_start(&server, &step, 1);
    const long live = oom_live();
    oom_fail_at(n);
    put_once(server.url, &err);
    is_done = !oom_has_failed();
    oom_fail_at(0);
    ck_assert_msg(err.rc == (is_done ? 0 : SQLITE_NOMEM) || err.rc == 0, "%d: %s", n, err.msg);
    ck_assert_int_eq(oom_live(), live);
    http_server_end(&server);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {an_object_is_one_post,
                                secrets_come_from_the_environment,
                                a_secret_is_read_when_the_target_opens,
                                what_a_receiver_repeats_of_secrets_is_hidden,
                                answers_are_judged,
                                a_broken_exchange_is_an_error_and_the_next_object_is_sent,
                                an_aborted_object_is_not_sent,
                                a_key_that_would_break_its_header_is_refused,
                                one_place_has_one_text_and_no_query,
                                secrets_that_json_escapes_are_hidden_too,
                                headers_beyond_all_bounds_are_no_lack_of_memory,
                                secrets_need_not_be_there_to_register,
                                options_that_cannot_be_are_refused,
                                no_memory_is_given_back_with_a_secret,
                                every_allocation_may_fail,
                                NULL};
  return unit_main("target_http", tests);
}
