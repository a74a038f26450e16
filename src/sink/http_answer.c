#include "sink/http_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/json_each.h"
#include "sink/retry_after.h"
#include "sink/text.h"

/* ---- text for people ---- */

/* Copies what is text, a blank for each run of what is not (white space, control characters, ill-formed UTF-8), as far
 * as there is room for whole characters; none at the start or the end. */
static void clean(const void *bytes, size_t size, char *into, size_t room) {
  const unsigned char *at = bytes;
  const unsigned char *const end = at + size;
  size_t length = 0;
  bool blank = false;
  while (at < end) {
    const int sequence = tide_text_sequence(at, end);
    const bool is_text = sequence > 1 ? at[0] != 0xC2 || at[1] >= 0xA0 : sequence == 1 && *at > ' ' && *at != 0x7F;
    const size_t step = (size_t)(sequence > 0 ? sequence : -sequence);
    if (is_text && length + blank + step >= room)
      break;
    if (is_text && blank)
      into[length++] = ' ';
    if (is_text) {
      memcpy(into + length, at, step);
      length += step;
    }
    blank = !is_text && length > 0;
    at += step;
  }
  into[length] = '\0';
}

static void describe(const struct tide_curl_answer *answer, const char *origin,
                     char ret_text[TIDE_ANSWER_MESSAGE_SIZE]) {
  char text[TIDE_ANSWER_MESSAGE_SIZE];
  clean(answer->body.data, answer->body.len, text, sizeof text);
  sqlite3_snprintf(TIDE_ANSWER_MESSAGE_SIZE, ret_text, "%s answered %d%s%s", origin, answer->status,
                   text[0] != '\0' ? ": " : "", text);
  clean(ret_text, strlen(ret_text), text, sizeof text); /* a character may have been cut */
  memcpy(ret_text, text, sizeof text);
}

/* ---- 207 ---- */

static int by_row(const void *a, const void *b) {
  const int64_t first = ((const struct tide_refused_row *)a)->row, second = ((const struct tide_refused_row *)b)->row;
  return (first > second) - (first < second);
}

/* The first word about a row holds. */
static void sort_and_unite(struct tide_answer *answer) {
  size_t kept = 0;
  if (answer->nrefused > 0)
    qsort(answer->refused, answer->nrefused, sizeof *answer->refused, by_row);
  for (size_t i = 0; i < answer->nrefused; i++) {
    if (kept > 0 && answer->refused[kept - 1].row == answer->refused[i].row)
      tide_free(answer->refused[i].reason);
    else
      answer->refused[kept++] = answer->refused[i];
  }
  answer->nrefused = kept;
}

/* false when the member is none of {"line":1,"reason":"..."}. */
static bool add_refused(struct tide_json_each *each, struct tide_answer *answer, size_t *cap, struct tide_err *err) {
  char reason[TIDE_ANSWER_MESSAGE_SIZE];
  const char *type = NULL;
  const char *text = tide_json_each_field(each, "line", &type, err);
  char *end = NULL;
  const long long line = strcmp(type, "integer") == 0 ? strtoll(text, &end, 10) : 0;
  if (line < 1 || *end != '\0' || answer->nrefused == TIDE_ANSWER_REFUSED_MAX)
    return false;
  text = tide_json_each_field(each, "reason", &type, err);
  if (strcmp(type, "text") == 0)
    clean(text, strlen(text), reason, sizeof reason);
  if (strcmp(type, "text") != 0 || reason[0] == '\0')
    sqlite3_snprintf(sizeof reason, reason, "the receiver refused it without a reason");
  void *list = answer->refused;
  if (tide_err_is_set(err) || tide_grow(&list, cap, answer->nrefused + 1, sizeof *answer->refused, err) != 0)
    return false;
  answer->refused = list;
  char *copy = tide_copy_string(reason, err);
  if (copy == NULL)
    return false;
  answer->refused[answer->nrefused++] = (struct tide_refused_row){.row = line - 1, .reason = copy};
  return true;
}

/* The text of the member "refused" when it is a list, for tide_free; NULL otherwise. */
static char *find_refused(const char *body, struct tide_err *err) {
  struct tide_json_each each;
  char *list = NULL;
  const bool is_object = tide_json_each_open(&each, body, '{', err);
  while (is_object && list == NULL && tide_json_each_next(&each, err)) {
    if (strcmp(tide_json_each_key(&each, err), "refused") == 0 && strcmp(tide_json_each_type(&each, err), "array") == 0)
      list = tide_copy_string(tide_json_each_text(&each, err), err);
  }
  tide_json_each_close(&each);
  return list;
}

static bool read_refused(const struct tide_curl_answer *from, struct tide_answer *answer, struct tide_err *err) {
  struct tide_json_each each = {0};
  size_t cap = 0;
  const char *body = (const char *)from->body.data;
  if (body == NULL || from->is_cut || strlen(body) != from->body.len)
    return false;
  char *list = find_refused(body, err);
  bool is = list != NULL && tide_json_each_open(&each, list, '[', err);
  while (is && tide_json_each_next(&each, err))
    is = add_refused(&each, answer, &cap, err);
  tide_json_each_close(&each);
  tide_free(list);
  sort_and_unite(answer);
  return is && !tide_err_is_set(err);
}

static void judge_partly(const struct tide_curl_answer *from, const char *origin, struct tide_answer *answer,
                         struct tide_err *err) {
  if (!read_refused(from, answer, err)) {
    tide_err_set(err, SQLITE_IOERR,
                 "%s answered 207 without saying which lines it refused: expected {\"refused\":[{\"line\":1,\"reason\":"
                 "\"...\"}]}, with at most %d",
                 origin, TIDE_ANSWER_REFUSED_MAX);
    return;
  }
  answer->verdict = answer->nrefused > 0 ? TIDE_VERDICT_PARTLY : TIDE_VERDICT_TAKEN;
  if (answer->nrefused > 0)
    sqlite3_snprintf(sizeof answer->message, answer->message, "%s answered 207: it refused %llu of the rows", origin,
                     (unsigned long long)answer->nrefused);
}

/* ---- the others ---- */

static void judge_conflict(const struct tide_curl_answer *from, struct tide_answer *answer, struct tide_err *err) {
  const char *text = tide_curl_answer_header(from, "Tidemark-Tick");
  char *end = NULL;
  answer->tick = text != NULL && text[0] >= '0' && text[0] <= '9' ? strtoll(text, &end, 10) : -1;
  if (end != NULL && (*end == '\0' || *end == ' '))
    answer->verdict = TIDE_VERDICT_AHEAD;
  else
    tide_err_set(err, SQLITE_IOERR, "%s (without a Tidemark-Tick header: it is tried again)", answer->message);
}

/* Where a redirect points to, as far as that may be shown. */
static void judge_redirect(const struct tide_curl_answer *from, const char *origin, struct tide_err *err) {
  struct tide_curl_url to = {0};
  struct tide_err unread = {0};
  const char *location = tide_curl_answer_header(from, "Location");
  if (location != NULL && tide_curl_url_parse(location, &to, &unread) == 0)
    tide_err_set(err, SQLITE_IOERR, "%s answered %d, a redirect to %s, which is not followed: expected the final URL",
                 origin, from->status, to.origin);
  else
    tide_err_set(err, SQLITE_IOERR, "%s answered %d, a redirect, which is not followed: expected the final URL", origin,
                 from->status);
  tide_curl_url_clear(&to);
}

static void judge(const struct tide_curl_answer *from, const char *origin, int64_t now_ms, struct tide_answer *answer,
                  struct tide_err *err) {
  const int status = from->status;
  if (status == 207)
    judge_partly(from, origin, answer, err);
  else if (status / 100 == 2)
    answer->verdict = TIDE_VERDICT_TAKEN;
  else if (status / 100 == 3)
    judge_redirect(from, origin, err);
  else if (status == 400 || status == 422)
    answer->verdict = TIDE_VERDICT_REFUSED;
  else if (status == 413)
    answer->verdict = TIDE_VERDICT_TOO_LARGE;
  else if (status == 401 || status == 403)
    answer->verdict = TIDE_VERDICT_FORBIDDEN;
  else if (status == 409)
    judge_conflict(from, answer, err);
  else if (status == 408 || status == 425 || status == 429 || status / 100 == 5) {
    answer->verdict = TIDE_VERDICT_LATER;
    answer->retry_after_ms = tide_retry_after_ms(tide_curl_answer_header(from, "Retry-After"),
                                                 tide_curl_answer_header(from, "Date"), now_ms);
  } else
    tide_err_set(err, SQLITE_IOERR, "%s", answer->message);
}

int tide_http_answer_judge(const struct tide_curl_answer *from, const char *origin, int64_t now_ms,
                           struct tide_answer *ret, struct tide_err *err) {
  struct tide_answer answer = {.retry_after_ms = -1};
  if (from->status / 100 != 2)
    describe(from, origin, answer.message);
  judge(from, origin, now_ms, &answer, err);
  if (tide_err_is_set(err))
    tide_answer_clear(&answer);
  else
    *ret = answer;
  return err->rc;
}
