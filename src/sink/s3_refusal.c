#include "sink/s3_refusal.h"

#include <string.h>

#include "base/sqlite.h"
#include "sink/s3_xml.h"

/* Copies a text from outside: without what may confuse a terminal or a log, and cut before a character that does not
 * fit whole. */
static void take_text(char *into, size_t size, const char *text) {
  size_t len = 0;
  for (; *text != '\0' && len + 1 < size; text++)
    into[len++] = (unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text;
  while (*text != '\0' && len > 0 && (into[len - 1] & 0xc0) == 0x80)
    len--;
  if (*text != '\0' && len > 0 && (into[len - 1] & 0xc0) == 0xc0)
    len--;
  into[len] = '\0';
}

void tide_s3_refusal_read(const void *bytes, size_t size, struct tide_s3_refusal *ret, struct tide_err *err) {
  struct tide_s3_xml xml;
  struct tide_s3_element element;
  struct tide_err wrong = {0};
  *ret = (struct tide_s3_refusal){0};
  tide_s3_xml_init(&xml, bytes, size);
  while (tide_s3_xml_next(&xml, &element, &wrong)) {
    if (strcmp(element.parent, "Error") != 0)
      continue;
    if (strcmp(element.name, "Code") == 0)
      take_text(ret->code, sizeof ret->code, element.text);
    else if (strcmp(element.name, "Message") == 0)
      take_text(ret->message, sizeof ret->message, element.text);
    else if (strcmp(element.name, "Region") == 0)
      take_text(ret->region, sizeof ret->region, element.text);
  }
  tide_s3_xml_clear(&xml);
  if (wrong.rc == SQLITE_NOMEM)
    tide_err_nomem(err);
  else if (tide_err_is_set(&wrong))
    *ret = (struct tide_s3_refusal){0};
}

/* ---- the sentence ---- */

enum variable { NONE, KEY, SECRET, TOKEN };

/* Those that somebody must do something about: what, with the variable that it is about. */
static const struct {
  const char *code;
  int rc;
  enum variable variable;
  const char *sentence;
} known[] = {
    {"NoSuchBucket", SQLITE_ERROR, NONE, "there is no such bucket: create it, or correct the sink's target"},
    {"AccessDenied", SQLITE_PERM, KEY, "the access key in %s may not do this: grant it"},
    {"InvalidAccessKeyId", SQLITE_PERM, KEY, "the service does not know the access key in %s"},
    {"SignatureDoesNotMatch", SQLITE_PERM, SECRET, "the secret key in %s is not the access key's"},
    {"ExpiredToken", SQLITE_PERM, TOKEN, "the session token in %s has expired: start with a new one"},
    {"InvalidToken", SQLITE_PERM, TOKEN, "the service does not take the session token in %s"},
    {"RequestTimeTooSkewed", SQLITE_PERM, NONE, "this machine's clock is too far from the service's: correct it"},
};

static const char *name_of(enum variable variable, const struct tide_s3_place *place) {
  const char *name = variable == KEY      ? place->key_variable
                     : variable == SECRET ? place->secret_variable
                                          : place->token_variable;
  return name != NULL ? name : "the environment";
}

static bool is_elsewhere(const struct tide_s3_refusal *refusal, int status) {
  return status == 301 || status == 307 || strcmp(refusal->code, "PermanentRedirect") == 0 ||
         strcmp(refusal->code, "IllegalLocationConstraintException") == 0 ||
         (strcmp(refusal->code, "AuthorizationHeaderMalformed") == 0 && refusal->region[0] != '\0');
}

static void say_region(const struct tide_s3_refusal *refusal, const struct tide_s3_place *place, const char *subject,
                       struct tide_err *err) {
  if (refusal->region[0] != '\0')
    tide_err_set(err, SQLITE_ERROR, "%s: the bucket is in region %s, not %s: set option region to \"%s\"", subject,
                 refusal->region, place->region, refusal->region);
  else
    tide_err_set(err, SQLITE_ERROR, "%s: the bucket is not in region %s: set option region, or endpoint", subject,
                 place->region);
}

/* Whether the service is in trouble, or busy, or the request came to harm on its way, so that the same one may pass
 * another time: InternalError may come with status 200, and an upload is gone once it was completed by a try whose
 * answer was lost. */
static bool is_trouble(const struct tide_s3_refusal *refusal, int status) {
  return status >= 500 || status == 429 || status == 408 || status == 409 ||
         strcmp(refusal->code, "InternalError") == 0 || strcmp(refusal->code, "SlowDown") == 0 ||
         strcmp(refusal->code, "NoSuchUpload") == 0 || strcmp(refusal->code, "RequestTimeout") == 0 ||
         strcmp(refusal->code, "BadDigest") == 0 || strcmp(refusal->code, "IncompleteBody") == 0;
}

/* The service's own words, for what is not in the table. */
static void say_words(const struct tide_s3_refusal *refusal, int status, const char *subject, struct tide_err *err) {
  const bool again = is_trouble(refusal, status);
  const bool forbids = status == 401 || status == 403;
  tide_err_set(err,
               forbids ? SQLITE_PERM
               : again ? SQLITE_IOERR
                       : SQLITE_ERROR,
               "%s: the service answers %d%s%s%s%s", subject, status, refusal->code[0] != '\0' ? " " : "",
               refusal->code, refusal->message[0] != '\0' ? ": " : "", refusal->message);
}

void tide_s3_refusal_say(const struct tide_s3_refusal *refusal, int status, const struct tide_s3_place *place,
                         const char *subject, struct tide_err *err) {
  if (is_elsewhere(refusal, status)) {
    say_region(refusal, place, subject, err);
    return;
  }
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(refusal->code, known[i].code) != 0)
      continue;
    char sentence[200];
    sqlite3_snprintf((int)sizeof sentence, sentence, known[i].sentence, name_of(known[i].variable, place));
    tide_err_set(err, known[i].rc, "%s: %s (%d %s)", subject, sentence, status, refusal->code);
    return;
  }
  say_words(refusal, status, subject, err);
}
