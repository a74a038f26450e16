/* What the s3 target makes of a service's answers, which are scripted here; what a real service makes of its
 * requests is told by tests/interop/s3.py. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "http_server.h"
#include "oom.h"
#include "shim_vfs.h"
#include "sink/s3_list.h"
#include "sink/s3_read.h"
#include "sink/target_s3.h"
#include "unit.h"

/* Each ends with its connection, so that no length need be counted. */
#define ANSWER(status, headers, body)                                                                                  \
  { HTTP_ANSWER_CLOSE, "HTTP/1.1 " status "\r\nConnection: close\r\n" headers "\r\n" body }
#define NOTHING ANSWER("404 Not Found", "", "") /* to a HEAD */
#define OK ANSWER("200 OK", "ETag: \"t\"\r\n", "")
#define NO_CONTENT ANSWER("204 No Content", "", "")
#define TAKEN_MEANWHILE ANSWER("412 Precondition Failed", "", "")
#define UPLOAD ANSWER("200 OK", "", "<R><UploadId>up/+1</UploadId></R>\r\n")
#define NOT_IMPLEMENTED ANSWER("501 Not Implemented", "", "<Error><Code>NotImplemented</Code></Error>")
enum { PART = 5 << 20 };

static struct http_server server;
static struct tide_target *target;

static void start(const struct http_step *steps, int nsteps, const char *more_options) {
  struct tide_err err = {0};
  struct tide_sink_options options = {0};
  http_server_start(&server, steps, nsteps);
  char *json = tide_printf(&err, "{\"endpoint\":\"%s\",\"part_size\":%d,\"region\":\"us-east-1\"%s}", server.url, PART,
                           more_options);
  setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "the-secret", 1);
  unsetenv("AWS_SESSION_TOKEN");
  tide_sink_options_parse(json, &options, &err);
  target = tide_scheme_s3.open("s3://my-bucket/p", &options, NULL, &err);
  assert_ok(err);
  tide_sink_options_clear(&options);
  tide_free(json);
}

#define START_WITH(more_options, ...)                                                                                  \
  static const struct http_step steps[] = {__VA_ARGS__};                                                               \
  start(steps, (int)(sizeof steps / sizeof *steps), more_options)
#define START(...) START_WITH("", __VA_ARGS__)

static void stop(void) {
  tide_target_destroy(target);
  http_server_stop(&server);
}

static bool request_is(int n, const char *line) {
  return strncmp(server.requests[n].text, line, strlen(line)) == 0;
}

static void assert_request(int n, const char *line) {
  ck_assert_msg(request_is(n, line), "request %d is %.200s, expected %s", n, server.requests[n].text, line);
}

static bool has_condition(int n) {
  return strstr(server.requests[n].text, "\r\nif-none-match: *\r\n") != NULL;
}

/* Puts that many bytes; -1: it failed, with the sentence in *err. */
static int put_object(const struct tide_object *object, size_t size, struct tide_err *err) {
  static const unsigned char bytes[1 << 16];
  struct tide_answer answer = {0};
  target->methods->begin(target, object, err);
  for (size_t left = size; left > 0 && !tide_err_is_set(err);) {
    const size_t part = left < sizeof bytes ? left : sizeof bytes;
    target->methods->write(target, bytes, part, err);
    left -= part;
  }
  if (!tide_err_is_set(err))
    target->methods->commit(target, &answer, err);
  return tide_err_is_set(err) ? -1 : (int)answer.verdict;
}

static int put(size_t size, bool again, struct tide_err *err) {
  const struct tide_object object = {.name = "d/s=a%2Fb/1-2.x", .log_id = "log", .token = 7, .again = again};
  return put_object(&object, size, err);
}

static int put_exclusive(size_t size, struct tide_err *err) {
  return put_object(&(struct tide_object){.name = "log/0.json", .log_id = "log", .exclusive = true}, size, err);
}

static int put_ok(size_t size) {
  struct tide_err err = {0};
  const int verdict = put(size, false, &err);
  assert_ok(err);
  return verdict;
}

static void assert_put_fails(size_t size, int rc, const char *message) {
  struct tide_err err = {0};
  ck_assert_int_eq(put(size, false, &err), -1);
  ck_assert_msg(strstr(err.msg, message) != NULL, "%s, expected %s", err.msg, message);
  ck_assert_int_eq(err.rc, rc);
}

/* ---- one request ---- */

START_TEST(a_put_asks_first_and_has_a_condition) {
  START(NOTHING, OK);
  ck_assert_int_eq(put_ok(10), TIDE_VERDICT_TAKEN);
  stop();
  assert_request(0, "HEAD /my-bucket/p/d/s%3Da%252Fb/1-2.x HTTP/1.1\r\n");
  assert_request(1, "PUT /my-bucket/p/d/s%3Da%252Fb/1-2.x HTTP/1.1\r\n");
  ck_assert(has_condition(1));
  ck_assert_ptr_nonnull(strstr(server.requests[1].text, "\r\nContent-Length: 10\r\n"));
}
END_TEST

/* The clock is the default VFS's; the signature is Amazon's algorithm, which test_sigv4 has: here, what is signed. */
START_TEST(a_request_is_signed_as_of_the_vfs_s_clock) {
  shim_register();
  sqlite3_vfs_register(sqlite3_vfs_find("shim"), 1);
  shim.now_ms = INT64_C(1767225600123);
  START(NOTHING, OK);
  setenv("AWS_SESSION_TOKEN", "unused: it was read before", 1);
  put_ok(10);
  stop();
  const char *text = server.requests[1].text;
  ck_assert_ptr_nonnull(strstr(text, "\r\nx-amz-date: 20260101T000000Z\r\n"));
  ck_assert_ptr_nonnull(strstr(text, "Authorization: AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/s3/"
                                     "aws4_request, SignedHeaders=host;if-none-match;x-amz-content-sha256;x-amz-date"));
  /* SHA-256 of ten zero bytes, by sha256sum. */
  ck_assert_ptr_nonnull(
      strstr(text, "x-amz-content-sha256: 01d448afd928065458cf670b60f5a594d735af0172c8d67f22a81680132681ca\r\n"));
  ck_assert_ptr_null(strstr(text, "the-secret"));
}
END_TEST

START_TEST(what_is_there_is_not_sent_again) {
  START(OK);
  ck_assert_int_eq(put_ok(10), TIDE_VERDICT_EXISTS);
  stop();
}
END_TEST

START_TEST(what_came_between_is_not_replaced) {
  START(NOTHING, TAKEN_MEANWHILE);
  ck_assert_int_eq(put_ok(10), TIDE_VERDICT_EXISTS);
  stop();
}
END_TEST

START_TEST(a_service_without_conditions_is_asked_without) {
  START(NOTHING, NOT_IMPLEMENTED, OK);
  ck_assert_int_eq(put_ok(10), TIDE_VERDICT_TAKEN);
  stop();
  ck_assert(has_condition(1));
  ck_assert(request_is(2, "PUT ") && !has_condition(2));
}
END_TEST

START_TEST(who_may_put_but_not_look_may_put) {
  START(ANSWER("403 Forbidden", "", ""), OK);
  ck_assert_int_eq(put_ok(10), TIDE_VERDICT_TAKEN);
  stop();
}
END_TEST

START_TEST(two_at_once_is_tried_again_later) {
  START(NOTHING, ANSWER("409 Conflict", "", "<Error><Code>ConditionalRequestConflict</Code></Error>"));
  assert_put_fails(10, SQLITE_IOERR,
                   "putting s3://my-bucket/p/d/s=a%2Fb/1-2.x: the service answers 409 ConditionalRequestConflict");
  stop();
}
END_TEST

START_TEST(a_busy_service_is_asked_again_later) {
  START(NOTHING, ANSWER("503 Slow Down", "", "<Error><Code>SlowDown</Code></Error>"));
  assert_put_fails(10, SQLITE_IOERR, "the service answers 503 SlowDown");
  stop();
}
END_TEST

START_TEST(who_cannot_say_whether_an_object_is_there_is_not_written_to) {
  START(ANSWER("503 Slow Down", "", ""));
  assert_put_fails(10, SQLITE_IOERR, "the service answers 503");
  stop();
}
END_TEST

START_TEST(an_upload_that_is_gone_may_have_been_completed) {
  START(NOTHING, ANSWER("404 Not Found", "", "<Error><Code>NoSuchUpload</Code></Error>"));
  assert_put_fails(10, SQLITE_IOERR, "NoSuchUpload");
  stop();
}
END_TEST

START_TEST(the_bucket_s_region_is_said) {
  START(ANSWER("301 Moved Permanently", "x-amz-bucket-region: eu-west-3\r\n", ""),
        ANSWER("301 Moved Permanently", "x-amz-bucket-region: eu-west-3\r\nLocation: http://127.0.0.1:1/\r\n", ""));
  assert_put_fails(10, SQLITE_ERROR, "the bucket is in region eu-west-3, not us-east-1");
  stop();
}
END_TEST

START_TEST(a_message_that_repeats_a_key_is_left_out) {
  START(NOTHING, ANSWER("403 Forbidden", "", "<Error><Code>Odd</Code><Message>AKID/the-secret</Message></Error>"));
  struct tide_err err = {0};
  put(10, false, &err);
  ck_assert_str_eq(err.msg, "putting s3://my-bucket/p/d/s=a%2Fb/1-2.x: the service answers 403 Odd");
  stop();
}
END_TEST

START_TEST(names_that_are_none_are_refused_before_anything_is_sent) {
  START(NOTHING);
  char name[1100];
  struct tide_err err = {0};
  ck_assert_int_eq(target->methods->begin(target, &(struct tide_object){.name = "../x"}, &err), SQLITE_ERROR);
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  tide_err_clear(&err);
  ck_assert_int_eq(target->methods->begin(target, &(struct tide_object){.name = name}, &err), SQLITE_ERROR);
  ck_assert_ptr_nonnull(strstr(err.msg, "longer than the 1024 bytes"));
  tide_target_destroy(target);
  ck_assert_int_eq(server.taken, 0);
  http_server_end(&server);
}
END_TEST

/* ---- exclusive objects ---- */

static int put_exclusive_ok(size_t size) {
  struct tide_err err = {0};
  const int verdict = put_exclusive(size, &err);
  assert_ok(err);
  return verdict;
}

static void assert_exclusive_fails(int rc, const char *message) {
  struct tide_err err = {0};
  ck_assert_int_eq(put_exclusive(10, &err), -1);
  ck_assert_str_eq(err.msg, message);
  ck_assert_int_eq(err.rc, rc);
  stop();
}

#define CANNOT                                                                                                         \
  "s3://my-bucket: the service cannot put an object only where there is none, which table=delta needs: set option "    \
  "single_writer to true if one process alone writes to the table at a time"
#define PROBE "PUT /my-bucket/p/_tidemark/exclusive HTTP/1.1\r\n"

START_TEST(a_service_is_tried_once_before_the_first_exclusive_put) {
  START(OK, TAKEN_MEANWHILE, NOTHING, OK, NOTHING, TAKEN_MEANWHILE);
  ck_assert_int_eq(put_exclusive_ok(10), TIDE_VERDICT_TAKEN);
  ck_assert_int_eq(put_exclusive_ok(10), TIDE_VERDICT_EXISTS);
  stop();
  assert_request(0, PROBE);
  assert_request(1, PROBE);
  ck_assert(has_condition(0) && has_condition(1));
  assert_request(2, "HEAD /my-bucket/p/log/0.json ");
  assert_request(3, "PUT /my-bucket/p/log/0.json ");
  ck_assert(has_condition(3));
}
END_TEST

START_TEST(a_service_that_was_tried_before_says_so_at_once) {
  START(TAKEN_MEANWHILE, NOTHING, OK);
  ck_assert_int_eq(put_exclusive_ok(10), TIDE_VERDICT_TAKEN);
  stop();
  assert_request(0, PROBE);
}
END_TEST

START_TEST(a_service_that_knows_no_condition_gets_no_exclusive_object) {
  START(NOT_IMPLEMENTED);
  assert_exclusive_fails(SQLITE_ERROR, CANNOT);
}
END_TEST

START_TEST(a_service_that_passes_the_condition_over_gets_no_exclusive_object) {
  START(OK, OK);
  assert_exclusive_fails(SQLITE_ERROR, CANNOT);
}
END_TEST

START_TEST(an_exclusive_object_is_never_put_without_its_condition) {
  START(TAKEN_MEANWHILE, NOTHING, NOT_IMPLEMENTED);
  assert_exclusive_fails(SQLITE_ERROR, CANNOT);
}
END_TEST

START_TEST(a_service_in_trouble_is_tried_again_by_the_next_exclusive_put) {
  START(OK, ANSWER("503 Slow Down", "", ""), TAKEN_MEANWHILE, NOTHING, OK);
  struct tide_err err = {0};
  ck_assert_int_eq(put_exclusive(10, &err), -1);
  ck_assert_str_eq(err.msg, "putting s3://my-bucket/p/_tidemark/exclusive: the service answers 503");
  ck_assert_int_eq(err.rc, SQLITE_IOERR);
  ck_assert_int_eq(put_exclusive_ok(10), TIDE_VERDICT_TAKEN);
  stop();
}
END_TEST

/* Some services know the condition of a put, and not of an upload in parts. */
START_TEST(an_exclusive_object_is_one_request_whatever_its_size) {
  START(TAKEN_MEANWHILE, NOTHING, OK);
  ck_assert_int_eq(put_exclusive_ok(PART + 1), TIDE_VERDICT_TAKEN);
  stop();
  ck_assert(request_is(2, "PUT /my-bucket/p/log/0.json ") && has_condition(2));
}
END_TEST

START_TEST(a_single_writer_does_without_the_condition) {
  START_WITH(",\"single_writer\":true", NOTHING, NOT_IMPLEMENTED, OK);
  ck_assert_int_eq(put_exclusive_ok(10), TIDE_VERDICT_TAKEN);
  stop();
  ck_assert(request_is(2, "PUT /my-bucket/p/log/0.json ") && !has_condition(2));
}
END_TEST

/* ---- parts ---- */

START_TEST(an_object_above_a_part_is_an_upload_in_parts) {
  START(NOTHING, UPLOAD, OK, OK, NOTHING, OK);
  ck_assert_int_eq(put_ok(PART + 1), TIDE_VERDICT_TAKEN);
  stop();
  assert_request(1, "POST /my-bucket/p/d/s%3Da%252Fb/1-2.x?uploads= HTTP/1.1\r\n");
  assert_request(2, "PUT /my-bucket/p/d/s%3Da%252Fb/1-2.x?partNumber=1&uploadId=up%2F%2B1 HTTP/1.1\r\n");
  assert_request(3, "PUT /my-bucket/p/d/s%3Da%252Fb/1-2.x?partNumber=2&uploadId=up%2F%2B1 HTTP/1.1\r\n");
  ck_assert_ptr_nonnull(strstr(server.requests[3].text, "\r\nContent-Length: 1\r\n"));
  assert_request(5, "POST /my-bucket/p/d/s%3Da%252Fb/1-2.x?uploadId=up%2F%2B1 HTTP/1.1\r\n");
  ck_assert(has_condition(5));
  ck_assert_ptr_nonnull(
      strstr(server.requests[5].text,
             "<Part><PartNumber>1</PartNumber><ETag>\"t\"</ETag></Part><Part><PartNumber>2</PartNumber>"
             "<ETag>\"t\"</ETag></Part></CompleteMultipartUpload>"));
}
END_TEST

START_TEST(exactly_a_part_is_one_request) {
  START(NOTHING, OK);
  ck_assert_int_eq(put_ok(PART), TIDE_VERDICT_TAKEN);
  stop();
}
END_TEST

START_TEST(parts_of_what_is_there_are_not_sent) {
  START(OK);
  ck_assert_int_eq(put_ok(3 * PART), TIDE_VERDICT_EXISTS);
  stop();
}
END_TEST

START_TEST(an_upload_that_came_too_late_is_given_up) {
  START(NOTHING, UPLOAD, OK, OK, NOTHING, TAKEN_MEANWHILE, NO_CONTENT);
  ck_assert_int_eq(put_ok(PART + 1), TIDE_VERDICT_EXISTS);
  stop();
  assert_request(6, "DELETE /my-bucket/p/d/s%3Da%252Fb/1-2.x?uploadId=up%2F%2B1 HTTP/1.1\r\n");
}
END_TEST

START_TEST(an_upload_is_completed_without_a_condition_where_there_are_none) {
  START(NOTHING, UPLOAD, OK, OK, NOTHING, NOT_IMPLEMENTED, OK);
  ck_assert_int_eq(put_ok(PART + 1), TIDE_VERDICT_TAKEN);
  stop();
  ck_assert(has_condition(5) && !has_condition(6));
}
END_TEST

START_TEST(a_refusal_that_came_with_status_200_is_one) {
  START(NOTHING, UPLOAD, OK, OK, NOTHING, ANSWER("200 OK", "", "<Error><Code>InternalError</Code></Error>"),
        NO_CONTENT);
  assert_put_fails(PART + 1, SQLITE_IOERR, "completing the upload of s3://my-bucket/p/d/s=a%2Fb/1-2.x");
  stop();
  assert_request(6, "DELETE ");
}
END_TEST

START_TEST(a_part_that_fails_gives_the_upload_up) {
  START(NOTHING, UPLOAD, OK, ANSWER("500 Oops", "", ""), NO_CONTENT);
  assert_put_fails(2 * PART + 1, SQLITE_IOERR, "uploading a part of s3://my-bucket/p/d/s=a%2Fb/1-2.x");
  stop();
  assert_request(4, "DELETE ");
}
END_TEST

START_TEST(a_target_closed_midway_gives_the_upload_up) {
  START(NOTHING, UPLOAD, OK, NO_CONTENT);
  static const unsigned char bytes[PART + 1];
  struct tide_err err = {0};
  target->methods->begin(target, &(struct tide_object){.name = "a"}, &err);
  target->methods->write(target, bytes, sizeof bytes, &err);
  assert_ok(err);
  stop();
  assert_request(3, "DELETE ");
}
END_TEST

/* Only those of the same key, not of a longer one. */
START_TEST(a_retry_gives_up_what_the_first_try_left) {
  START(ANSWER("200 OK", "",
               "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated><Upload><Key>p/d/s=a%2Fb/1-2.x</Key>"
               "<UploadId>old</UploadId></Upload><Upload><UploadId>not</UploadId><Key>p/d/s=a%2Fb/1-2.xy</Key></Upload>"
               "</ListMultipartUploadsResult>"),
        NO_CONTENT, NOTHING, OK);
  struct tide_err err = {0};
  ck_assert_int_eq(put(10, true, &err), TIDE_VERDICT_TAKEN);
  assert_ok(err);
  stop();
  assert_request(0, "GET /my-bucket?prefix=p%2Fd%2Fs%3Da%252Fb%2F1-2.x&uploads= HTTP/1.1\r\n");
  assert_request(1, "DELETE /my-bucket/p/d/s%3Da%252Fb/1-2.x?uploadId=old HTTP/1.1\r\n");
}
END_TEST

/* ---- reading ---- */

/* Reads an object to its end, or to the failure that is in *err. */
static const char *read_all(struct tide_err *err) {
  static char content[64];
  size_t size = 0;
  long got = 1;
  if (target->methods->open_read(target, "a", err) != 0)
    return NULL;
  while (got > 0 && (got = target->methods->read(target, content + size, 3, err)) > 0)
    size += (size_t)got;
  content[size] = '\0';
  target->methods->close_read(target);
  return got < 0 ? NULL : content;
}

#define RANGE(range, body) ANSWER("206 Partial Content", "ETag: \"e\"\r\nContent-Range: bytes " range "\r\n", body)

START_TEST(an_object_is_read_by_ranges_of_one_version) {
  tide_s3_reader_range = 4;
  START(RANGE("0-3/10", "0123"), RANGE("4-7/10", "4567"), RANGE("8-9/10", "89"));
  struct tide_err err = {0};
  ck_assert_str_eq(read_all(&err), "0123456789");
  stop();
  assert_request(0, "GET /my-bucket/p/a HTTP/1.1\r\n");
  ck_assert_ptr_nonnull(strstr(server.requests[0].text, "\r\nrange: bytes=0-3\r\n"));
  ck_assert_ptr_null(strstr(server.requests[0].text, "if-match"));
  ck_assert_ptr_nonnull(strstr(server.requests[2].text, "\r\nrange: bytes=8-11\r\n"));
  ck_assert_ptr_nonnull(strstr(server.requests[2].text, "\r\nif-match: \"e\"\r\n"));
}
END_TEST

START_TEST(a_service_without_ranges_gives_small_objects_whole) {
  START(ANSWER("200 OK", "", "abc"));
  struct tide_err err = {0};
  ck_assert_str_eq(read_all(&err), "abc");
  stop();
}
END_TEST

START_TEST(an_object_without_bytes_is_empty) {
  START(ANSWER("416 Range Not Satisfiable", "", ""));
  struct tide_err err = {0};
  ck_assert_str_eq(read_all(&err), "");
  assert_ok(err);
  stop();
}
END_TEST

static void assert_read_fails(int rc, const char *message) {
  struct tide_err err = {0};
  ck_assert_ptr_null(read_all(&err));
  ck_assert_msg(strstr(err.msg, message) != NULL, "%s, expected %s", err.msg, message);
  ck_assert_int_eq(err.rc, rc);
  stop();
}

START_TEST(no_such_object_is_told_from_no_such_bucket) {
  START(ANSWER("404 Not Found", "", "<Error><Code>NoSuchKey</Code></Error>"));
  assert_read_fails(SQLITE_CANTOPEN, "s3://my-bucket/p/a does not exist");
}
END_TEST

START_TEST(no_such_bucket_is_told_from_no_such_object) {
  START(ANSWER("404 Not Found", "", "<Error><Code>NoSuchBucket</Code></Error>"));
  assert_read_fails(SQLITE_ERROR, "there is no such bucket");
}
END_TEST

START_TEST(a_404_of_a_proxy_is_no_missing_object) {
  START(ANSWER("404 Not Found", "", "<html>no</html>"));
  assert_read_fails(SQLITE_ERROR, "the service answers 404");
}
END_TEST

START_TEST(an_object_that_changes_under_the_reader_is_an_error) {
  tide_s3_reader_range = 4;
  START(RANGE("0-3/10", "0123"), TAKEN_MEANWHILE);
  assert_read_fails(SQLITE_IOERR, "it was changed while it was read");
}
END_TEST

START_TEST(another_range_than_was_asked_for_is_an_error) {
  tide_s3_reader_range = 4;
  START(RANGE("0-3/10", "0123"), RANGE("3-6/10", "3456"));
  assert_read_fails(SQLITE_IOERR, "not the range that was asked for");
}
END_TEST

START_TEST(a_range_that_is_cut_is_an_error) {
  tide_s3_reader_range = 4;
  START(RANGE("0-3/10", "012"));
  assert_read_fails(SQLITE_IOERR, "not the range that was asked for");
}
END_TEST

START_TEST(more_than_was_asked_for_is_not_kept) {
  tide_s3_reader_range = 4;
  START(ANSWER("200 OK", "", "01234"));
  assert_read_fails(SQLITE_IOERR, "answers with more than the 4 bytes");
}
END_TEST

/* ---- lists ---- */

static bool note(void *context, const char *name, int64_t size, struct tide_err *err) {
  char **names = context;
  char *longer = tide_printf(err, "%s%s=%lld;", *names != NULL ? *names : "", name, (long long)size);
  tide_free(*names);
  *names = longer;
  return strcmp(name, "f/stop") != 0;
}

#define PAGE(more, entries) "<ListBucketResult><IsTruncated>" more "</IsTruncated>" entries "</ListBucketResult>"
#define ENTRY(key, size) "<Contents><Key>" key "</Key><Size>" size "</Size></Contents>"

START_TEST(a_listing_goes_on_where_a_page_says) {
  START(ANSWER("200 OK", "", PAGE("true", ENTRY("p/f/a", "1") "<NextContinuationToken>1+/=</NextContinuationToken>")),
        ANSWER("200 OK", "", PAGE("false", ENTRY("p/f/b&amp;", "2") ENTRY("p/f/stop", "3") ENTRY("p/f/z", "4"))));
  struct tide_err err = {0};
  char *names = NULL;
  target->methods->list(target, "f", "f/0", note, &names, &err);
  assert_ok(err);
  ck_assert_str_eq(names, "f/a=1;f/stop=3;");
  tide_free(names);
  stop();
  assert_request(0, "GET /my-bucket?list-type=2&prefix=p%2Ff%2F&start-after=p%2Ff%2F0 HTTP/1.1\r\n");
  assert_request(1, "GET /my-bucket?continuation-token=1%2B%2F%3D&list-type=2&prefix=p%2Ff%2F HTTP/1.1\r\n");
}
END_TEST

START_TEST(a_page_that_says_no_next_one_is_an_error) {
  START(ANSWER("200 OK", "", PAGE("true", "")));
  struct tide_err err = {0};
  char *names = NULL;
  ck_assert_int_eq(target->methods->list(target, "f", NULL, note, &names, &err), SQLITE_IOERR);
  ck_assert_ptr_nonnull(strstr(err.msg, "does not say where the next one begins"));
  stop();
}
END_TEST

START_TEST(a_page_whose_next_one_is_itself_is_an_error) {
  START(ANSWER("200 OK", "", PAGE("true", ENTRY("p/f/a", "1") "<NextContinuationToken>t</NextContinuationToken>")),
        ANSWER("200 OK", "", PAGE("true", ENTRY("p/f/b", "2") "<NextContinuationToken>u</NextContinuationToken>")),
        ANSWER("200 OK", "", PAGE("true", ENTRY("p/f/b", "2") "<NextContinuationToken>u</NextContinuationToken>")));
  struct tide_err err = {0};
  char *names = NULL;
  ck_assert_int_eq(target->methods->list(target, "f", NULL, note, &names, &err), SQLITE_IOERR);
  ck_assert_str_eq(err.msg,
                   "listing s3://my-bucket: a page of the listing says that the next one begins where it began itself");
  tide_free(names);
  stop();
}
END_TEST

static bool no_uploads_are_open(void *context, const char *name, int64_t token) {
  (void)context, (void)name, (void)token;
  return false;
}

/* A key may have many uploads: only the same key and the same upload are the same place. */
START_TEST(a_page_of_uploads_may_begin_at_the_same_key) {
#define UPLOADS(more, key, upload)                                                                                     \
  ANSWER("200 OK", "",                                                                                                 \
         "<ListMultipartUploadsResult><IsTruncated>" more "</IsTruncated><NextKeyMarker>" key                          \
         "</NextKeyMarker><NextUploadIdMarker>" upload "</NextUploadIdMarker></ListMultipartUploadsResult>")
  START(UPLOADS("true", "p/a", "1"), UPLOADS("true", "p/a", "2"), UPLOADS("true", "p/a", "2"));
  struct tide_err err = {0};
  ck_assert_int_eq(target->methods->sweep(target, "log", "", no_uploads_are_open, NULL, &err), SQLITE_IOERR);
  stop();
  assert_request(2, "GET /my-bucket?key-marker=p%2Fa&prefix=p%2F&upload-id-marker=2&uploads= HTTP/1.1\r\n");
}
END_TEST

START_TEST(half_a_page_is_an_error) {
  START(ANSWER("200 OK", "", "<ListBucketResult><IsTruncated>false</IsTruncated>"));
  struct tide_err err = {0};
  char *names = NULL;
  ck_assert_int_eq(target->methods->list(target, "f", NULL, note, &names, &err), SQLITE_IOERR);
  stop();
}
END_TEST

/* ---- memory ---- */

/* Up to the network, which is not there. */
START_TEST(every_allocation_may_fail) {
  oom_install();
  struct tide_sink_options options = {0};
  struct tide_err ignored = {0};
  setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "the-secret", 1);
  for (int n = 1;; n++) {
    struct tide_err err = {0};
    const long live = oom_live();
    tide_sink_options_parse("{\"endpoint\":\"http://127.0.0.1:1\"}", &options, &ignored);
    oom_fail_at(n);
    target = tide_scheme_s3.open("s3://my-bucket/p", &options, NULL, &err);
    if (target != NULL)
      put(10, false, &err);
    tide_target_destroy(target);
    tide_sink_options_clear(&options);
    ck_assert_int_eq(oom_live(), live);
    if (!oom_has_failed()) {
      ck_assert_int_eq(err.rc, SQLITE_IOERR);
      break;
    }
    ck_assert_int_eq(err.rc, SQLITE_NOMEM);
  }
  oom_fail_at(0);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_put_asks_first_and_has_a_condition,
                                a_request_is_signed_as_of_the_vfs_s_clock,
                                what_is_there_is_not_sent_again,
                                what_came_between_is_not_replaced,
                                a_service_without_conditions_is_asked_without,
                                who_may_put_but_not_look_may_put,
                                two_at_once_is_tried_again_later,
                                a_busy_service_is_asked_again_later,
                                who_cannot_say_whether_an_object_is_there_is_not_written_to,
                                an_upload_that_is_gone_may_have_been_completed,
                                the_bucket_s_region_is_said,
                                a_message_that_repeats_a_key_is_left_out,
                                names_that_are_none_are_refused_before_anything_is_sent,
                                a_service_is_tried_once_before_the_first_exclusive_put,
                                a_service_that_was_tried_before_says_so_at_once,
                                a_service_that_knows_no_condition_gets_no_exclusive_object,
                                a_service_that_passes_the_condition_over_gets_no_exclusive_object,
                                an_exclusive_object_is_never_put_without_its_condition,
                                a_service_in_trouble_is_tried_again_by_the_next_exclusive_put,
                                an_exclusive_object_is_one_request_whatever_its_size,
                                a_single_writer_does_without_the_condition,
                                an_object_above_a_part_is_an_upload_in_parts,
                                exactly_a_part_is_one_request,
                                parts_of_what_is_there_are_not_sent,
                                an_upload_that_came_too_late_is_given_up,
                                an_upload_is_completed_without_a_condition_where_there_are_none,
                                a_refusal_that_came_with_status_200_is_one,
                                a_part_that_fails_gives_the_upload_up,
                                a_target_closed_midway_gives_the_upload_up,
                                a_retry_gives_up_what_the_first_try_left,
                                an_object_is_read_by_ranges_of_one_version,
                                a_service_without_ranges_gives_small_objects_whole,
                                an_object_without_bytes_is_empty,
                                no_such_object_is_told_from_no_such_bucket,
                                no_such_bucket_is_told_from_no_such_object,
                                a_404_of_a_proxy_is_no_missing_object,
                                an_object_that_changes_under_the_reader_is_an_error,
                                another_range_than_was_asked_for_is_an_error,
                                a_range_that_is_cut_is_an_error,
                                more_than_was_asked_for_is_not_kept,
                                a_listing_goes_on_where_a_page_says,
                                a_page_that_says_no_next_one_is_an_error,
                                a_page_whose_next_one_is_itself_is_an_error,
                                a_page_of_uploads_may_begin_at_the_same_key,
                                half_a_page_is_an_error,
                                every_allocation_may_fail,
                                NULL};
  return unit_main("target_s3", tests);
}
