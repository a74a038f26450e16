#include "sink/s3_exclusive.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"

enum { ANSWER_MAX = 1 << 16 };

const struct tide_sigv4_pair tide_s3_if_none = {"if-none-match", "*"};

static bool has_status(const struct tide_s3 *s3, int status, const char *code) {
  return s3->answer.status == status || strcmp(s3->refusal.code, code) == 0;
}

bool tide_s3_is_taken(const struct tide_s3 *s3) {
  return has_status(s3, 412, "PreconditionFailed");
}

bool tide_s3_knows_no_condition(const struct tide_s3 *s3) {
  return has_status(s3, 501, "NotImplemented");
}

/* The bucket alone is named, for the sentence to be whole in a message. */
void tide_s3_exclusive_fail(const struct tide_s3 *s3, struct tide_err *err) {
  tide_err_set(
      err, SQLITE_ERROR,
      "s3://%s: the service cannot put an object only where there is none, which table=delta needs: set option "
      "single_writer to true if one process alone writes to the table at a time",
      s3->place.bucket);
}

/* One put: true when it was told that there is one. */
static bool is_told(struct tide_s3 *s3, const char *key, struct tide_err *err) {
  static const char body[] =
      "Tidemark finds out with this object whether the service can keep it from being replaced.\n";
  const struct tide_s3_call call = {.method = "PUT",
                                    .doing = "putting",
                                    .key = key,
                                    .headers = {tide_s3_if_none},
                                    .body = body,
                                    .body_size = sizeof body - 1,
                                    .answer_max = ANSWER_MAX};
  if (tide_err_is_set(err) || tide_s3_send(s3, &call, err) != 0 || tide_s3_is_taken(s3))
    return !tide_err_is_set(err);
  if (tide_s3_knows_no_condition(s3))
    tide_s3_exclusive_fail(s3, err);
  else if (!tide_s3_is_done(s3))
    tide_s3_fail(s3, &call, err);
  return false;
}

void tide_s3_exclusive_check(struct tide_s3 *s3, struct tide_err *err) {
  char *key = tide_printf(err, "%s_tidemark/exclusive", s3->place.prefix);
  if (!is_told(s3, key, err) && !is_told(s3, key, err) && !tide_err_is_set(err))
    tide_s3_exclusive_fail(s3, err);
  tide_free(key);
}
