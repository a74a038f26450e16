#include "sink/http_answer.h"

#include <stdio.h>
#include <string.h>

#include "base/sqlite.h"
#include "effort.h"
#include "oom.h"
#include "random.h"
#include "unit.h"

static const int64_t now_ms = INT64_C(1796040000) * 1000; /* 2026-11-30 12:00:00 UTC */

/* An answer with one header (NULL: none) and a body. */
static struct tide_curl_answer make(int status, const char *name, const char *value, const char *body) {
  struct tide_err err = {0};
  struct tide_curl_answer answer = {.status = status};
  if (name != NULL) {
    tide_buf_put(&answer.headers, name, strlen(name) + 1, &err);
    tide_buf_put(&answer.headers, value, strlen(value) + 1, &err);
  }
  tide_buf_put(&answer.body, body, strlen(body) + 1, &err);
  answer.body.len--;
  assert_ok(err);
  return answer;
}

/* Gives the verdict, or -1 with the error's message, and the answer for the caller to clear. */
static int judge(struct tide_curl_answer from, struct tide_answer *ret, struct tide_err *err) {
  *ret = (struct tide_answer){0};
  *err = (struct tide_err){0};
  const int rc = tide_http_answer_judge(&from, "https://h", now_ms, ret, err);
  ck_assert_int_eq(rc, err->rc);
  ck_assert(rc == 0 || rc == SQLITE_IOERR);
  tide_curl_answer_clear(&from);
  return rc == 0 ? (int)ret->verdict : -1;
}

START_TEST(each_status_has_its_verdict) {
  static const struct {
    int status, verdict;
  } cases[] = {
      {200, TIDE_VERDICT_TAKEN},
      {201, TIDE_VERDICT_TAKEN},
      {202, TIDE_VERDICT_TAKEN},
      {204, TIDE_VERDICT_TAKEN},
      {299, TIDE_VERDICT_TAKEN},
      {207, -1},
      {300, -1},
      {301, -1},
      {302, -1},
      {304, -1},
      {307, -1},
      {308, -1},
      {400, TIDE_VERDICT_REFUSED},
      {422, TIDE_VERDICT_REFUSED},
      {413, TIDE_VERDICT_TOO_LARGE},
      {401, TIDE_VERDICT_FORBIDDEN},
      {403, TIDE_VERDICT_FORBIDDEN},
      {402, -1},
      {404, -1},
      {405, -1},
      {407, -1},
      {408, TIDE_VERDICT_LATER},
      {409, -1},
      {410, -1},
      {415, -1},
      {417, -1},
      {425, TIDE_VERDICT_LATER},
      {429, TIDE_VERDICT_LATER},
      {431, -1},
      {500, TIDE_VERDICT_LATER},
      {502, TIDE_VERDICT_LATER},
      {503, TIDE_VERDICT_LATER},
      {504, TIDE_VERDICT_LATER},
      {599, TIDE_VERDICT_LATER},
      {600, -1},
      {999, -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_answer answer;
    struct tide_err err;
    const int verdict = judge(make(cases[i].status, NULL, NULL, "because"), &answer, &err);
    ck_assert_msg(verdict == cases[i].verdict, "%d gave %d", cases[i].status, verdict);
    ck_assert_int_eq(answer.nrefused, 0);
    const char *said = verdict == -1 ? err.msg : answer.message;
    if (cases[i].status / 100 != 2)
      ck_assert_msg(strncmp(said, "https://h answered ", 19) == 0 && atoi(said + 19) == cases[i].status, "%s", said);
  }
}
END_TEST

START_TEST(a_message_is_the_status_and_clean_text) {
  static const struct {
    const char *body, *message;
  } cases[] = {
      {"", "https://h answered 400"},
      {" \r\n\t", "https://h answered 400"},
      {"no level", "https://h answered 400: no level"},
      {"\n a \x1b[31m\r\n\r\n b\x7F", "https://h answered 400: a [31m b"},
      {"caf\xC3\xA9 \xE2\x82\xAC", "https://h answered 400: caf\xC3\xA9 \xE2\x82\xAC"},
      {"a\xFF\xC2\x85z\xC3", "https://h answered 400: a z"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_answer answer;
    struct tide_err err;
    ck_assert_int_eq(judge(make(400, NULL, NULL, cases[i].body), &answer, &err), TIDE_VERDICT_REFUSED);
    ck_assert_str_eq(answer.message, cases[i].message);
  }
}
END_TEST

START_TEST(a_message_ends_with_a_whole_character) {
  static const char start[] = "https://h answered 400: ";
  char body[400];
  for (size_t shift = 0; shift < 3; shift++) {
    struct tide_answer answer;
    struct tide_err err;
    char *at = body;
    for (size_t i = 0; i < shift; i++)
      *at++ = 'x';
    for (int i = 0; i < 100; i++)
      at = stpcpy(at, "\xE2\x82\xAC");
    ck_assert_int_eq(judge(make(400, NULL, NULL, body), &answer, &err), TIDE_VERDICT_REFUSED);
    const size_t size = strlen(answer.message);
    ck_assert_uint_ge(size, TIDE_ANSWER_MESSAGE_SIZE - 3);
    ck_assert_uint_lt(size, TIDE_ANSWER_MESSAGE_SIZE);
    ck_assert_uint_eq((size - strlen(start) - shift) % 3, 0);
  }
}
END_TEST

START_TEST(lines_that_were_refused_become_rows) {
  struct tide_answer answer;
  struct tide_err err;
  static const char body[] =
      "{\"note\":{\"refused\":[]}, \"refused\": [ {\"reason\":\"later\",\"line\":7,\"more\":[1]},\n"
      "{\"line\":1,\"reason\":\"no\\nlevel\"},{\"line\":7,\"reason\":\"again\"},{\"line\":3},"
      "{\"line\":4,\"reason\":5},{\"line\":5,\"reason\":\" \"}]}";
  ck_assert_int_eq(judge(make(207, NULL, NULL, body), &answer, &err), TIDE_VERDICT_PARTLY);
  static const struct {
    int64_t row;
    const char *reason;
  } expected[] = {{0, "no level"},
                  {2, "the receiver refused it without a reason"},
                  {3, "the receiver refused it without a reason"},
                  {4, "the receiver refused it without a reason"},
                  {6, "later"}};
  ck_assert_uint_eq(answer.nrefused, 5);
  for (size_t i = 0; i < 5; i++) {
    ck_assert_int_eq(answer.refused[i].row, expected[i].row);
    ck_assert_str_eq(answer.refused[i].reason, expected[i].reason);
  }
  ck_assert_str_eq(answer.message, "https://h answered 207: it refused 5 of the rows");
  tide_answer_clear(&answer);
}
END_TEST

START_TEST(a_207_that_refuses_none_took_all) {
  struct tide_answer answer;
  struct tide_err err;
  ck_assert_int_eq(judge(make(207, NULL, NULL, "{\"refused\":[]}"), &answer, &err), TIDE_VERDICT_TAKEN);
}
END_TEST

START_TEST(a_207_that_does_not_say_is_an_error) {
  static const char *const cases[] = {"",
                                      "refused",
                                      "[]",
                                      "{}",
                                      "{\"refused\":1}",
                                      "{\"refused\":{}}",
                                      "{\"refused\":[1]}",
                                      "{\"refused\":[{}]}",
                                      "{\"refused\":[{\"line\":0}]}",
                                      "{\"refused\":[{\"line\":-1}]}",
                                      "{\"refused\":[{\"line\":1.0}]}",
                                      "{\"refused\":[{\"line\":\"1\"}]}",
                                      "{\"refused\":[{\"line\":1},{\"reason\":\"x\"}]}",
                                      "{\"refused\":[{\"line\":1}]",
                                      "{\"refused\":[{\"line\":1}]} x"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_answer answer;
    struct tide_err err;
    ck_assert_msg(judge(make(207, NULL, NULL, cases[i]), &answer, &err) == -1, "%s", cases[i]);
    ck_assert_str_eq(err.msg, "https://h answered 207 without saying which lines it refused: expected "
                              "{\"refused\":[{\"line\":1,\"reason\":\"...\"}]}, with at most 10000");
  }
  struct tide_answer answer;
  struct tide_err err;
  struct tide_curl_answer cut = make(207, NULL, NULL, "{\"refused\":[]}");
  cut.is_cut = true;
  ck_assert_int_eq(judge(cut, &answer, &err), -1);
  struct tide_curl_answer with_nul = make(207, NULL, NULL, "{\"refused\":[]} ");
  with_nul.body.data[with_nul.body.len - 1] = '\0';
  ck_assert_int_eq(judge(with_nul, &answer, &err), -1);
}
END_TEST

START_TEST(refused_rows_are_bounded) {
  struct tide_err err = {0};
  struct tide_answer answer;
  for (int more = 0; more <= 1; more++) {
    struct tide_buf body = {0};
    tide_buf_put_string(&body, "{\"refused\":[", &err);
    for (int i = 0; i < TIDE_ANSWER_REFUSED_MAX + more; i++)
      tide_buf_printf(&body, &err, "%s{\"line\":%d}", i > 0 ? "," : "", i + 1);
    tide_buf_put(&body, "]}", 3, &err);
    ck_assert_int_eq(judge(make(207, NULL, NULL, (const char *)body.data), &answer, &err),
                     more == 0 ? TIDE_VERDICT_PARTLY : -1);
    ck_assert_uint_eq(answer.nrefused, more == 0 ? TIDE_ANSWER_REFUSED_MAX : 0);
    tide_answer_clear(&answer);
    tide_buf_clear(&body);
  }
}
END_TEST

START_TEST(a_receiver_that_is_ahead_says_where) {
  static const struct {
    const char *value;
    int64_t tick; /* -1: an error */
  } cases[] = {{"12", 12}, {"12 00ab", 12}, {"0", 0}, {"", -1}, {"x", -1}, {"-3", -1}, {"12x", -1}, {" 1", -1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tide_answer answer;
    struct tide_err err;
    const int verdict = judge(make(409, "tidemark-tick", cases[i].value, "newer"), &answer, &err);
    ck_assert_msg(verdict == (cases[i].tick >= 0 ? (int)TIDE_VERDICT_AHEAD : -1), "\"%s\"", cases[i].value);
    if (cases[i].tick >= 0)
      ck_assert_int_eq(answer.tick, cases[i].tick);
    else
      ck_assert_str_eq(err.msg, "https://h answered 409: newer (without a Tidemark-Tick header: it is tried again)");
  }
}
END_TEST

START_TEST(a_wait_is_what_the_receiver_asked_for) {
  struct tide_answer answer;
  struct tide_err err;
  ck_assert_int_eq(judge(make(429, "Retry-After", "120", ""), &answer, &err), TIDE_VERDICT_LATER);
  ck_assert_int_eq(answer.retry_after_ms, 120000);
  judge(make(503, "retry-after", "Mon, 30 Nov 2026 12:00:10 GMT", ""), &answer, &err);
  ck_assert_int_eq(answer.retry_after_ms, 10000);
  judge(make(503, "Retry-After", "soon", ""), &answer, &err);
  ck_assert_int_eq(answer.retry_after_ms, -1);
  judge(make(503, NULL, NULL, ""), &answer, &err);
  ck_assert_int_eq(answer.retry_after_ms, -1);
}
END_TEST

START_TEST(a_redirect_is_named_by_its_host) {
  struct tide_answer answer;
  struct tide_err err;
  ck_assert_int_eq(judge(make(302, "Location", "https://Other:8443/in?token=hidden", ""), &answer, &err), -1);
  ck_assert_str_eq(err.msg, "https://h answered 302, a redirect to https://other:8443, which is not followed: expected "
                            "the final URL");
  judge(make(302, "Location", "/login?hidden", ""), &answer, &err);
  ck_assert_str_eq(err.msg, "https://h answered 302, a redirect, which is not followed: expected the final URL");
}
END_TEST

/* Bytes of a good answer replaced, taken away or doubled by chance: whatever comes, rows ascend and messages are
 * text. */
START_TEST(hostile_answers_do_no_harm) {
  static const char good[] = "{\"refused\":[{\"line\":2,\"reason\":\"a\\u00e9\\n\"},{\"reason\":\"b\",\"line\":1}]}";
  static const char bytes[] = "{}[]\",:0123456789-.eE\\ntu \x01\x80\xC3\xA9\xFF";
  static const int statuses[] = {207, 207, 207, 400, 409, 503};
  for (long left = effort(2000, 300000); left > 0; left--) {
    char body[200];
    size_t size = sizeof good - 1;
    memcpy(body, good, sizeof good);
    for (uint64_t changes = next_random() % 4; changes > 0; changes--) {
      const size_t at = next_random() % size;
      const uint64_t kind = next_random() % 3;
      if (kind == 0)
        body[at] = bytes[next_random() % sizeof bytes];
      else if (kind == 1 && size > 1)
        memmove(body + at, body + at + 1, size-- - at);
      else
        memmove(body + at + 1, body + at, ++size - at);
    }
    body[size] = '\0';
    struct tide_answer answer;
    struct tide_err err;
    const int status = statuses[next_random() % (sizeof statuses / sizeof *statuses)];
    const int verdict = judge(make(status, "Tidemark-Tick", body, body), &answer, &err);
    ck_assert(verdict != (int)TIDE_VERDICT_PARTLY || answer.nrefused > 0);
    for (size_t i = 0; i < answer.nrefused; i++) {
      ck_assert_int_ge(answer.refused[i].row, i == 0 ? 0 : answer.refused[i - 1].row + 1);
      ck_assert_str_ne(answer.refused[i].reason, "");
    }
    for (const char *text = verdict < 0 ? err.msg : answer.message; *text != '\0'; text++)
      ck_assert(*text < 0 || (*text >= ' ' && *text != 0x7F));
    tide_answer_clear(&answer);
  }
}
END_TEST

START_TEST(every_allocation_may_fail) {
  static const char body[] = "{\"refused\":[{\"line\":2,\"reason\":\"a\"},{\"line\":1,\"reason\":\"b\"}]}";
  oom_install();
  struct tide_curl_answer from = make(207, NULL, NULL, body);
  const long live = oom_live();
  bool is_done = false;
  for (int n = 1; !is_done; n++) {
    struct tide_answer answer = {0};
    struct tide_err err = {0};
    oom_fail_at(n);
    tide_http_answer_judge(&from, "https://h", now_ms, &answer, &err);
    is_done = !oom_has_failed();
    oom_fail_at(0);
    if (!is_done && err.rc == 0) /* SQLite can do without some of its own */
      ck_assert_uint_eq(answer.nrefused, 2);
    else
      ck_assert_int_eq(err.rc, is_done ? 0 : SQLITE_NOMEM);
    tide_answer_clear(&answer);
    ck_assert_int_eq(oom_live(), live);
  }
  tide_curl_answer_clear(&from);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {each_status_has_its_verdict,
                                a_message_is_the_status_and_clean_text,
                                a_message_ends_with_a_whole_character,
                                lines_that_were_refused_become_rows,
                                a_207_that_refuses_none_took_all,
                                a_207_that_does_not_say_is_an_error,
                                refused_rows_are_bounded,
                                a_receiver_that_is_ahead_says_where,
                                a_wait_is_what_the_receiver_asked_for,
                                a_redirect_is_named_by_its_host,
                                hostile_answers_do_no_harm,
                                every_allocation_may_fail,
                                NULL};
  return unit_main("http_answer", tests);
}
