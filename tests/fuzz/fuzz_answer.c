/* What receivers and S3 services answer: Retry-After and dates, statuses and bodies, errors and listings in XML.
 *
 *   u8   0: two lines, Retry-After and Date; 1: an answer to a post; 2: the XML of an error; 3: of an S3 listing of objects,
 *        4: of uploads; pages are cut at a byte 0xff
 *   of an answer: u16 status less 100, u8 size of the headers (name NUL value NUL ...) and these, then the body */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "sink/http_answer.h"
#include "sink/retry_after.h"
#include "sink/s3_list.h"
#include "sink/s3_request.h"
#include "sink/s3_xml.h"

enum { MEMORY = 16 << 20 };
static const int64_t now_ms = INT64_C(1767225600000);

static void read_retry_after(char *text) {
  char *date = strchr(text, '\n');
  int64_t seconds = 0;
  if (date != NULL)
    *date++ = '\0';
  const int64_t ms = tide_retry_after_ms(text, date, now_ms);
  FUZZ_CHECK(ms >= -1 && ms <= TIDE_RETRY_AFTER_MAX_MS);
  if (tide_http_date_parse(text, now_ms, &seconds))
    FUZZ_CHECK(seconds > -INT64_C(62200000000) && seconds < INT64_C(253402300800));
}

/* ---- an answer to a post ---- */

/* Names and values in pairs, each with its NUL. */
static void put_headers(const uint8_t *bytes, size_t size, struct tide_buf *out, struct tide_err *err) {
  size_t nuls = 0;
  for (size_t i = 0; i < size; i++)
    nuls += bytes[i] == 0;
  tide_buf_put(out, bytes, size, err);
  for (size_t missing = size == 0 || bytes[size - 1] == 0 ? nuls % 2 : 2 - nuls % 2; missing > 0; missing--)
    tide_buf_put_u8(out, 0, err);
}

static void judge(struct fuzz_input *input) {
  struct tide_err err = {0};
  struct tide_curl_answer answer = {.status = 100 + (int)fuzz_number(input, 899)};
  struct tide_answer ret = {0};
  size_t headers_size, body_size;
  uint8_t *headers = fuzz_bytes(input, fuzz_u8(input), &headers_size);
  char *body = fuzz_string(input, input->left, &body_size);
  put_headers(headers, headers_size, &answer.headers, &err);
  tide_buf_put(&answer.body, body, body_size + 1, &err);
  answer.body.len = body_size;
  if (tide_http_answer_judge(&answer, "https://host", now_ms, &ret, &err) == 0) {
    FUZZ_CHECK(ret.retry_after_ms >= -1 && ret.retry_after_ms <= TIDE_RETRY_AFTER_MAX_MS);
    FUZZ_CHECK(ret.nrefused <= TIDE_ANSWER_REFUSED_MAX && memchr(ret.message, 0, sizeof ret.message) != NULL);
    for (size_t i = 0; i < ret.nrefused; i++)
      FUZZ_CHECK(ret.refused[i].row >= 0 && ret.refused[i].reason[0] != '\0' &&
                 (i == 0 || ret.refused[i - 1].row < ret.refused[i].row));
  }
  fuzz_check_error(&err, SQLITE_IOERR, 0);
  tide_answer_clear(&ret);
  tide_curl_answer_clear(&answer);
  free(headers);
  free(body);
}

/* ---- an S3 service: the pages of a listing stand in for what it would send ---- */

static struct fuzz_input pages;

int tide_s3_send(struct tide_s3 *s3, const struct tide_s3_call *call, struct tide_err *err) {
  const uint8_t *end = memchr(pages.at, 0xff, pages.left);
  const size_t size = end != NULL ? (size_t)(end - pages.at) : pages.left;
  FUZZ_CHECK(call->answer_max == TIDE_S3_LISTING_MAX);
  tide_buf_reset(&s3->body);
  tide_buf_put(&s3->body, pages.at, size, err);
  pages.at += size;
  pages.left -= size;
  fuzz_u8(&pages);
  s3->answer.status = 200;
  return err->rc;
}

void tide_s3_fail(const struct tide_s3 *s3, const struct tide_s3_call *call, struct tide_err *err) {
  tide_err_set(err, SQLITE_IOERR, "%s: status %d", call->doing, s3->answer.status);
}

void tide_s3_fail_odd(const struct tide_s3 *s3, const struct tide_s3_call *call, const char *wrong,
                      struct tide_err *err) {
  tide_err_set(err, SQLITE_IOERR, "%s: status %d: %s", call->doing, s3->answer.status, wrong);
}

static bool on_object(void *context, const char *key, int64_t size, struct tide_err *err) {
  size_t *count = context;
  (void)size;
  FUZZ_CHECK(key[0] != '\0' && err->rc == 0);
  return ++*count < 100;
}

static bool on_upload(void *context, const char *key, const char *upload, struct tide_err *err) {
  FUZZ_CHECK(upload != NULL);
  return on_object(context, key, 0, err);
}

static void list(struct fuzz_input *input, bool of_uploads) {
  struct tide_err err = {0};
  struct tide_s3 s3 = {0};
  size_t size, count = 0;
  uint8_t *bytes = fuzz_bytes(input, input->left, &size);
  pages = (struct fuzz_input){bytes, size};
  if (of_uploads)
    tide_s3_list_uploads(&s3, "a/", on_upload, &count, &err);
  else
    tide_s3_list_objects(&s3, "a/", NULL, on_object, &count, &err);
  fuzz_check_error(&err, SQLITE_IOERR, 0);
  tide_buf_clear(&s3.body);
  free(bytes);
}

static void read_xml(struct fuzz_input *input) {
  struct tide_err err = {0};
  struct tide_s3_xml xml;
  struct tide_s3_element element;
  struct tide_s3_refusal refusal;
  const struct tide_s3_place place = {
      .bucket = (char *)"b", .region = (char *)"r", .root = {.origin = (char *)"https://host"}};
  size_t size, steps = 0;
  uint8_t *bytes = fuzz_bytes(input, input->left, &size);
  tide_s3_xml_init(&xml, bytes, size);
  while (tide_s3_xml_next(&xml, &element, &err))
    FUZZ_CHECK(++steps <= size && strlen(element.text) <= size && element.name[0] != '\0');
  fuzz_check_error(&err, SQLITE_IOERR, 0);
  tide_s3_xml_clear(&xml);
  tide_err_clear(&err);
  tide_s3_refusal_read(bytes, size, &refusal, &err);
  fuzz_check_error(&err, 0, 0);
  tide_s3_refusal_say(&refusal, 400 + (int)(size % 200), &place, "subject", &err);
  FUZZ_CHECK(err.rc == SQLITE_ERROR || err.rc == SQLITE_PERM || err.rc == SQLITE_IOERR);
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  const uint8_t what = fuzz_u8(&input) % 5;
  char *text = what == 0 ? fuzz_string(&input, input.left, &size) : NULL;
  fuzz_begin(MEMORY);
  if (what == 0)
    read_retry_after(text);
  else if (what == 1)
    judge(&input);
  else if (what == 2)
    read_xml(&input);
  else
    list(&input, what == 4);
  fuzz_end();
  free(text);
  return 0;
}
