/* Signed requests to a bucket, one at a time. Life: open, any number of send, close. */
#ifndef TIDE_SINK_S3_REQUEST_H
#define TIDE_SINK_S3_REQUEST_H

#include "sink/curl_io.h"
#include "sink/s3_refusal.h"
#include "sink/secret.h"
#include "sink/sigv4.h"

enum { TIDE_S3_QUERY_MAX = 6, TIDE_S3_HEADERS_MAX = 3, TIDE_S3_LISTING_MAX = 16 << 20 };

struct tide_s3 {
  struct tide_s3_place place;
  struct tide_curl *curl;
  struct tide_secret key;
  struct tide_secret secret;
  struct tide_secret token;
  struct tide_curl_answer answer; /* of the last request: status, headers */
  struct tide_buf body;           /* of status 2xx */
  size_t body_max;
  struct tide_s3_refusal refusal; /* all empty when the last request was done */
};

struct tide_s3_call {
  const char *method;
  const char *doing;                               /* for messages: "putting" */
  const char *key;                                 /* NULL: the bucket itself */
  struct tide_sigv4_pair query[TIDE_S3_QUERY_MAX]; /* ends with the first that has no name, as headers does */
  struct tide_sigv4_pair headers[TIDE_S3_HEADERS_MAX];
  const void *body; /* NULL: none */
  size_t body_size;
  size_t answer_max; /* more bytes of a body are an error */
};

/* Takes the place over, also when it fails. Reads the secrets, and opens no connection. All zero is a closed one. */
int tide_s3_open(struct tide_s3 *s3, struct tide_s3_place *place, const struct tide_patience *patience,
                 struct tide_err *err);
void tide_s3_close(struct tide_s3 *s3);

/* Sends, and waits for the answer: 0 whatever its status. */
int tide_s3_send(struct tide_s3 *s3, const struct tide_s3_call *call, struct tide_err *err);

static inline bool tide_s3_is_done(const struct tide_s3 *s3) {
  return s3->answer.status / 100 == 2 && s3->refusal.code[0] == '\0';
}

/* Reads the body of status 2xx as the error that S3 sends in place of an answer when what was asked took long. */
void tide_s3_read_late_refusal(struct tide_s3 *s3, struct tide_err *err);

/* Sets an error from an answer that is not done: one sentence that names bucket and key, and never a secret. */
void tide_s3_fail(const struct tide_s3 *s3, const struct tide_s3_call *call, struct tide_err *err);

/* Sets SQLITE_IOERR for an answer that is not what was asked for: `wrong` ends the sentence. */
void tide_s3_fail_odd(const struct tide_s3 *s3, const struct tide_s3_call *call, const char *wrong,
                      struct tide_err *err);

#endif
