#include "sink/s3_upload.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/s3_exclusive.h"
#include "sink/s3_list.h"
#include "sink/s3_xml.h"

enum { PARTS_MAX = 10000, ANSWER_MAX = 1 << 16, TAG_MAX = 256 };

static void clear(struct tide_s3_upload *upload) {
  tide_free(upload->key);
  tide_free(upload->id);
  tide_buf_clear(&upload->part);
  tide_buf_clear(&upload->tags);
  *upload = (struct tide_s3_upload){0};
}

static void send(struct tide_s3 *s3, const struct tide_s3_call *call, struct tide_err *err) {
  if (tide_s3_send(s3, call, err) == 0 && !tide_s3_is_done(s3))
    tide_s3_fail(s3, call, err);
}

/* Whether the last answer says that the service knows no condition, and what was asked may be asked without one. */
static bool may_do_without(const struct tide_s3_upload *upload, const struct tide_s3 *s3, struct tide_err *err) {
  if (tide_err_is_set(err) || !tide_s3_knows_no_condition(s3))
    return false;
  if (upload->exclusive)
    tide_s3_exclusive_fail(s3, err);
  return !upload->exclusive;
}

/* Whether there is an object of that key, as sure as can be: where the service knows no condition, nothing else keeps
 * one from being replaced. Who may only put, and not look, is told "forbidden" of a key that is not there, and other
 * refusals come without words here: the put itself then says what is wrong, if anything is. */
static void look(struct tide_s3_upload *upload, struct tide_s3 *s3, struct tide_err *err) {
  const struct tide_s3_call call = {.method = "HEAD", .doing = "looking for", .key = upload->key};
  tide_s3_send(s3, &call, err);
  if (tide_err_is_set(err))
    return;
  upload->exists = s3->answer.status / 100 == 2;
  if (s3->answer.status >= 500 || s3->answer.status == 429)
    tide_s3_fail(s3, &call, err);
}

/* ---- in parts ---- */

/* The text of an element of the last answer, as a copy; NULL with err when it is not there. */
static char *element_of(struct tide_s3 *s3, const struct tide_s3_call *call, const char *name, struct tide_err *err) {
  struct tide_s3_xml xml;
  struct tide_s3_element element;
  char *text = NULL;
  tide_s3_xml_init(&xml, s3->body.data, s3->body.len);
  while (text == NULL && tide_s3_xml_next(&xml, &element, err)) {
    if (strcmp(element.name, name) == 0 && element.text[0] != '\0')
      text = tide_copy_string(element.text, err);
  }
  tide_s3_xml_clear(&xml);
  if (text == NULL)
    tide_s3_fail_odd(s3, call, "the answer does not name the upload", err);
  return text;
}

static void start(struct tide_s3_upload *upload, struct tide_s3 *s3, struct tide_err *err) {
  const struct tide_s3_call call = {.method = "POST",
                                    .doing = "starting an upload of",
                                    .key = upload->key,
                                    .query = {{"uploads", ""}},
                                    .answer_max = ANSWER_MAX};
  look(upload, s3, err);
  if (upload->exists || tide_err_is_set(err))
    return;
  send(s3, &call, err);
  if (!tide_err_is_set(err))
    upload->id = element_of(s3, &call, "UploadId", err);
}

/* A part's ETag goes into the XML that completes the upload; services give "hex", in quotes. */
static void note_tag(struct tide_s3_upload *upload, struct tide_s3 *s3, const struct tide_s3_call *call,
                     struct tide_err *err) {
  const char *tag = tide_curl_answer_header(&s3->answer, "ETag");
  if (tag == NULL || strlen(tag) > TAG_MAX || strpbrk(tag, "<>&") != NULL)
    tide_s3_fail_odd(s3, call, "the answer has no usable ETag", err);
  else
    tide_buf_printf(&upload->tags, err, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", upload->parts, tag);
}

static void send_part(struct tide_s3_upload *upload, struct tide_s3 *s3, struct tide_err *err) {
  char number[16];
  if (upload->id == NULL && !upload->exists)
    start(upload, s3, err);
  if (upload->parts == PARTS_MAX)
    tide_err_set(err, SQLITE_TOOBIG,
                 "%s is larger than %d parts: expected a larger option part_size, or smaller batches", upload->key,
                 PARTS_MAX);
  if (!upload->exists && !tide_err_is_set(err)) {
    sqlite3_snprintf((int)sizeof number, number, "%d", ++upload->parts);
    const struct tide_s3_call call = {.method = "PUT",
                                      .doing = "uploading a part of",
                                      .key = upload->key,
                                      .query = {{"partNumber", number}, {"uploadId", upload->id}},
                                      .body = upload->part.data,
                                      .body_size = upload->part.len,
                                      .answer_max = ANSWER_MAX};
    send(s3, &call, err);
    if (!tide_err_is_set(err))
      note_tag(upload, s3, &call, err);
  }
  tide_buf_reset(&upload->part);
}

/* One try to complete; an answer that came late may be a refusal in spite of its status. */
static void try_complete(struct tide_s3 *s3, const struct tide_s3_call *call, struct tide_err *err) {
  tide_s3_send(s3, call, err);
  if (!tide_err_is_set(err) && tide_s3_is_done(s3))
    tide_s3_read_late_refusal(s3, err);
}

static void complete(struct tide_s3_upload *upload, struct tide_s3 *s3, struct tide_err *err) {
  struct tide_buf body = {0};
  tide_buf_printf(&body, err, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">%.*s%s",
                  (int)upload->tags.len, (const char *)upload->tags.data, "</CompleteMultipartUpload>");
  struct tide_s3_call call = {.method = "POST",
                              .doing = "completing the upload of",
                              .key = upload->key,
                              .query = {{"uploadId", upload->id}},
                              .headers = {tide_s3_if_none},
                              .body = body.data,
                              .body_size = body.len,
                              .answer_max = ANSWER_MAX};
  look(upload, s3, err);
  if (!upload->exists && !tide_err_is_set(err)) {
    try_complete(s3, &call, err);
    if (may_do_without(upload, s3, err)) {
      call.headers[0] = (struct tide_sigv4_pair){0};
      try_complete(s3, &call, err);
    }
    upload->exists = tide_s3_is_taken(s3);
    if (!tide_err_is_set(err) && !tide_s3_is_done(s3) && !upload->exists)
      tide_s3_fail(s3, &call, err);
  }
  tide_buf_clear(&body);
  if (upload->exists && !tide_err_is_set(err))
    tide_s3_upload_drop(s3, upload->key, upload->id, err);
}

/* ---- in one ---- */

static void put(struct tide_s3_upload *upload, struct tide_s3 *s3, struct tide_err *err) {
  struct tide_s3_call call = {.method = "PUT",
                              .doing = "putting",
                              .key = upload->key,
                              .headers = {tide_s3_if_none},
                              .body = upload->part.data,
                              .body_size = upload->part.len,
                              .answer_max = ANSWER_MAX};
  look(upload, s3, err);
  if (upload->exists || tide_s3_send(s3, &call, err) != 0)
    return;
  if (may_do_without(upload, s3, err)) {
    call.headers[0] = (struct tide_sigv4_pair){0};
    tide_s3_send(s3, &call, err);
  }
  upload->exists = tide_s3_is_taken(s3);
  if (!tide_err_is_set(err) && !tide_s3_is_done(s3) && !upload->exists)
    tide_s3_fail(s3, &call, err);
}

/* ---- the calls ---- */

void tide_s3_upload_begin(struct tide_s3_upload *upload, const char *key, bool exclusive, struct tide_err *err) {
  upload->key = tide_copy_string(key, err);
  upload->exclusive = exclusive;
}

void tide_s3_upload_write(struct tide_s3_upload *upload, struct tide_s3 *s3, const void *bytes, size_t size,
                          struct tide_err *err) {
  const unsigned char *from = bytes;
  const size_t part_size = upload->exclusive ? TIDE_S3_PART_MAX : s3->place.part_size;
  while (size > 0 && !tide_err_is_set(err)) {
    const size_t room = part_size - upload->part.len;
    const size_t taken = size < room ? size : room;
    if (room == 0) {
      send_part(upload, s3, err);
    } else if (upload->exists) {
      size = 0;
    } else {
      tide_buf_put(&upload->part, from, taken, err);
      from += taken;
      size -= taken;
    }
  }
  if (tide_err_is_set(err))
    tide_s3_upload_abort(upload, s3);
}

void tide_s3_upload_commit(struct tide_s3_upload *upload, struct tide_s3 *s3, bool *ret_exists, struct tide_err *err) {
  if (upload->id != NULL) {
    send_part(upload, s3, err);
    if (!tide_err_is_set(err))
      complete(upload, s3, err);
  } else if (!upload->exists) {
    put(upload, s3, err);
  }
  if (tide_err_is_set(err)) {
    tide_s3_upload_abort(upload, s3);
    return;
  }
  *ret_exists = upload->exists;
  clear(upload);
}

void tide_s3_upload_abort(struct tide_s3_upload *upload, struct tide_s3 *s3) {
  struct tide_err left = {0}; /* what fails here is found again by its key */
  if (upload->id != NULL)
    tide_s3_upload_drop(s3, upload->key, upload->id, &left);
  clear(upload);
}

void tide_s3_upload_drop(struct tide_s3 *s3, const char *key, const char *id, struct tide_err *err) {
  const struct tide_s3_call call = {.method = "DELETE",
                                    .doing = "giving up an upload of",
                                    .key = key,
                                    .query = {{"uploadId", id}},
                                    .answer_max = ANSWER_MAX};
  if (tide_s3_send(s3, &call, err) == 0 && !tide_s3_is_done(s3) && strcmp(s3->refusal.code, "NoSuchUpload") != 0)
    tide_s3_fail(s3, &call, err);
}

struct cleaning {
  struct tide_s3 *s3;
  const char *key;
};

static bool drop_if_equal(void *context, const char *key, const char *id, struct tide_err *err) {
  const struct cleaning *cleaning = context;
  if (strcmp(key, cleaning->key) == 0)
    tide_s3_upload_drop(cleaning->s3, key, id, err);
  return true;
}

void tide_s3_upload_clean(struct tide_s3 *s3, const char *key, struct tide_err *err) {
  struct cleaning cleaning = {s3, key};
  tide_s3_list_uploads(s3, key, drop_if_equal, &cleaning, err);
}
