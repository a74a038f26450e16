#include "sink/s3_read.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"

#ifdef TIDE_TEST_HOOKS
int64_t tide_s3_reader_range = 4 << 20;
#define RANGE tide_s3_reader_range
#else
#define RANGE ((int64_t)4 << 20)
#endif

void tide_s3_reader_close(struct tide_s3_reader *reader) {
  tide_free(reader->key);
  tide_free(reader->tag);
  tide_buf_clear(&reader->held);
  *reader = (struct tide_s3_reader){0};
}

/* A number of decimal digits that ends where `end` says, or -1. */
static int64_t take_number(const char **at, char end) {
  int64_t number = 0;
  const char *from = *at;
  for (; **at >= '0' && **at <= '9'; (*at)++) {
    if (number > (INT64_MAX - 9) / 10)
      return -1;
    number = 10 * number + (**at - '0');
  }
  if (*at == from || **at != end)
    return -1;
  *at += end != '\0';
  return number;
}

/* "bytes 0-99/1234", RFC 9110 section 14.4: whether it is the range that is held, and of how many bytes. */
static bool read_range(const char *text, int64_t first, size_t held, int64_t *ret_size) {
  static const char unit[] = "bytes ";
  if (text == NULL || sqlite3_strnicmp(text, unit, sizeof unit - 1) != 0)
    return false;
  const char *at = text + sizeof unit - 1;
  const int64_t from = take_number(&at, '-');
  const int64_t last = from < 0 ? -1 : take_number(&at, '/');
  const int64_t size = last < 0 ? -1 : take_number(&at, '\0');
  *ret_size = size;
  return from == first && size > last && last - from + 1 == (int64_t)held && held > 0;
}

/* What a range was answered with: the whole of a small object from a service that does not know ranges, too. */
static void take_range(struct tide_s3_reader *reader, struct tide_s3 *s3, const struct tide_s3_call *call,
                       struct tide_err *err) {
  const char *tag = tide_curl_answer_header(&s3->answer, "ETag");
  int64_t size = (int64_t)s3->body.len;
  const bool fits = s3->answer.status == 206 ? read_range(tide_curl_answer_header(&s3->answer, "Content-Range"),
                                                          reader->at, s3->body.len, &size)
                                             : reader->at == 0;
  if (!fits || (reader->at > 0 && size != reader->size)) {
    tide_s3_fail_odd(s3, call, "the answer is not the range that was asked for", err);
    return;
  }
  if (reader->tag == NULL && tag != NULL)
    reader->tag = tide_copy_string(tag, err);
  const struct tide_buf held = reader->held;
  reader->held = s3->body;
  s3->body = held;
  reader->held_at = 0;
  reader->size = size;
  reader->at += (int64_t)reader->held.len;
}

/* Fetches the next range. An object without bytes has none that could be satisfied. */
static void fetch(struct tide_s3_reader *reader, struct tide_s3 *s3, struct tide_err *err) {
  char range[64];
  sqlite3_snprintf((int)sizeof range, range, "bytes=%lld-%lld", (long long)reader->at,
                   (long long)(reader->at + RANGE - 1));
  struct tide_s3_call call = {.method = "GET",
                              .doing = "reading",
                              .key = reader->key,
                              .headers = {{"range", range}},
                              .answer_max = (size_t)RANGE};
  if (reader->tag != NULL)
    call.headers[1] = (struct tide_sigv4_pair){"if-match", reader->tag};
  if (tide_s3_send(s3, &call, err) != 0)
    return;
  if (tide_s3_is_done(s3))
    take_range(reader, s3, &call, err);
  else if (s3->answer.status == 404 && strcmp(s3->refusal.code, "NoSuchKey") == 0 && reader->at == 0)
    tide_err_set(err, SQLITE_CANTOPEN, "s3://%s/%s does not exist", s3->place.bucket, reader->key);
  else if (s3->answer.status == 412 || (s3->answer.status == 404 && reader->at > 0))
    tide_s3_fail_odd(s3, &call, "it was changed while it was read", err);
  else if (s3->answer.status != 416 || reader->at > 0)
    tide_s3_fail(s3, &call, err);
}

void tide_s3_reader_open(struct tide_s3_reader *reader, struct tide_s3 *s3, const char *key, struct tide_err *err) {
  reader->key = tide_copy_string(key, err);
  if (!tide_err_is_set(err))
    fetch(reader, s3, err);
  if (tide_err_is_set(err))
    tide_s3_reader_close(reader);
}

long tide_s3_reader_read(struct tide_s3_reader *reader, struct tide_s3 *s3, void *into, size_t size,
                         struct tide_err *err) {
  if (reader->held_at == reader->held.len && reader->at < reader->size)
    fetch(reader, s3, err);
  if (tide_err_is_set(err))
    return -1;
  const size_t left = reader->held.len - reader->held_at;
  const size_t taken = size < left ? size : left;
  if (taken > 0)
    memcpy(into, reader->held.data + reader->held_at, taken);
  reader->held_at += taken;
  return (long)taken;
}
