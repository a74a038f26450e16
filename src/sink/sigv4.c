#include "sink/sigv4.h"

#include <string.h>
#include <time.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/mem.h"
#include "base/sqlite.h"

enum { DIGEST_SIZE = 32, DATE_DIGITS = 8 };
#define ALGORITHM "AWS4-HMAC-SHA256"

static void fail(struct tide_err *err) {
  tide_err_set(err, SQLITE_ERROR, "OpenSSL cannot compute SHA-256, which signing for S3 needs");
}

static void to_hex(const unsigned char digest[DIGEST_SIZE], char ret_hash[TIDE_SIGV4_HASH_SIZE]) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < DIGEST_SIZE; i++) {
    ret_hash[2 * i] = digits[digest[i] >> 4];
    ret_hash[2 * i + 1] = digits[digest[i] & 15];
  }
  ret_hash[TIDE_SIGV4_HASH_SIZE - 1] = '\0';
}

void tide_sigv4_hash(const void *bytes, size_t size, char ret_hash[TIDE_SIGV4_HASH_SIZE], struct tide_err *err) {
  unsigned char digest[DIGEST_SIZE] = {0};
  if (!EVP_Digest(size > 0 ? bytes : "", size, digest, NULL, EVP_sha256(), NULL))
    fail(err);
  to_hex(digest, ret_hash);
}

void tide_sigv4_time(int64_t now_ms, char ret_time[TIDE_SIGV4_TIME_SIZE]) {
  const time_t seconds = (time_t)(now_ms / 1000);
  struct tm tm = {0};
  gmtime_r(&seconds, &tm);
  if (strftime(ret_time, TIDE_SIGV4_TIME_SIZE, "%Y%m%dT%H%M%SZ", &tm) != TIDE_SIGV4_TIME_SIZE - 1)
    memcpy(ret_time, "19700101T000000Z", TIDE_SIGV4_TIME_SIZE); /* a year past 9999, which no service takes either */
}

static bool is_unreserved(char byte) {
  return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' ||
         byte == '.' || byte == '_' || byte == '~';
}

void tide_sigv4_put_escaped(struct tide_buf *out, const char *text, bool keep_slashes, struct tide_err *err) {
  for (; *text != '\0'; text++) {
    if (is_unreserved(*text) || (keep_slashes && *text == '/'))
      tide_buf_put_u8(out, (uint8_t)*text, err);
    else
      tide_buf_printf(out, err, "%%%02X", (unsigned)(unsigned char)*text);
  }
}

/* Where a byte sorts once it is escaped: "%" is below all that is left as it is. */
static int rank(char byte) {
  return (unsigned char)byte + (is_unreserved(byte) ? 256 : 0);
}

static int compare_escaped(const char *a, const char *b) {
  while (*a != '\0' && *a == *b) {
    a++;
    b++;
  }
  return rank(*a) - rank(*b);
}

static int compare(const struct tide_sigv4_pair *a, const struct tide_sigv4_pair *b) {
  const int names = compare_escaped(a->name, b->name);
  return names != 0 ? names : compare_escaped(a->value, b->value);
}

/* By insertion: there are a handful. */
static void sort(struct tide_sigv4_pair *pairs, size_t count) {
  for (size_t end = 1; end < count; end++) {
    const struct tide_sigv4_pair pair = pairs[end];
    size_t at = end;
    for (; at > 0 && compare(&pairs[at - 1], &pair) > 0; at--)
      pairs[at] = pairs[at - 1];
    pairs[at] = pair;
  }
}

void tide_sigv4_put_query(struct tide_buf *out, struct tide_sigv4_pair *pairs, size_t count, struct tide_err *err) {
  sort(pairs, count);
  for (size_t i = 0; i < count; i++) {
    if (i > 0)
      tide_buf_put_u8(out, '&', err);
    tide_sigv4_put_escaped(out, pairs[i].name, false, err);
    tide_buf_put_u8(out, '=', err);
    tide_sigv4_put_escaped(out, pairs[i].value, false, err);
  }
}

/* A header's value without spaces at its ends, and with one where there are several. */
static void put_trimmed(struct tide_buf *out, const char *value, struct tide_err *err) {
  bool space = false;
  const size_t start = out->len;
  for (; *value != '\0'; value++) {
    if (*value != ' ') {
      if (space && out->len > start)
        tide_buf_put_u8(out, ' ', err);
      tide_buf_put_u8(out, (uint8_t)*value, err);
    }
    space = *value == ' ';
  }
}

/* "host;x-amz-date" */
static void put_signed_names(struct tide_buf *out, const struct tide_sigv4_request *request, struct tide_err *err) {
  for (size_t i = 0; i < request->nheaders; i++)
    tide_buf_printf(out, err, "%s%s", i > 0 ? ";" : "", request->headers[i].name);
}

static void hash_canonical(const struct tide_sigv4_request *request, char ret_hash[TIDE_SIGV4_HASH_SIZE],
                           struct tide_err *err) {
  struct tide_buf text = {0};
  tide_buf_printf(&text, err, "%s\n%s\n%s\n", request->method, request->path, request->query);
  for (size_t i = 0; i < request->nheaders; i++) {
    tide_buf_printf(&text, err, "%s:", request->headers[i].name);
    put_trimmed(&text, request->headers[i].value, err);
    tide_buf_put_u8(&text, '\n', err);
  }
  tide_buf_put_u8(&text, '\n', err);
  put_signed_names(&text, request, err);
  tide_buf_printf(&text, err, "\n%s", request->payload_hash);
  if (!tide_err_is_set(err))
    tide_sigv4_hash(text.data, text.len, ret_hash, err);
  tide_buf_clear(&text);
}

static void hmac(const void *key, size_t key_size, const char *text, size_t size, unsigned char ret[DIGEST_SIZE],
                 struct tide_err *err) {
  unsigned char digest[DIGEST_SIZE] = {0};
  if (HMAC(EVP_sha256(), key, (int)key_size, (const unsigned char *)text, size, digest, NULL) == NULL)
    fail(err);
  memcpy(ret, digest, DIGEST_SIZE);
  OPENSSL_cleanse(digest, sizeof digest);
}

/* HMAC of `text` under the key that secret, date, region and service derive. */
static void sign(const struct tide_sigv4_key *key, const char *date, const struct tide_buf *text,
                 char ret_hex[TIDE_SIGV4_HASH_SIZE], struct tide_err *err) {
  unsigned char derived[DIGEST_SIZE];
  char *secret = tide_printf(err, "AWS4%s", key->secret);
  if (secret == NULL)
    return;
  hmac(secret, strlen(secret), date, DATE_DIGITS, derived, err);
  hmac(derived, sizeof derived, key->region, strlen(key->region), derived, err);
  hmac(derived, sizeof derived, key->service, strlen(key->service), derived, err);
  hmac(derived, sizeof derived, "aws4_request", strlen("aws4_request"), derived, err);
  hmac(derived, sizeof derived, (const char *)text->data, text->len, derived, err);
  to_hex(derived, ret_hex);
  OPENSSL_cleanse(derived, sizeof derived);
  OPENSSL_cleanse(secret, strlen(secret));
  tide_free(secret);
}

void tide_sigv4_put_authorization(struct tide_buf *out, const struct tide_sigv4_key *key,
                                  const struct tide_sigv4_request *request, const char *time, struct tide_err *err) {
  char hash[TIDE_SIGV4_HASH_SIZE] = "";
  char signature[TIDE_SIGV4_HASH_SIZE] = "";
  struct tide_buf text = {0};
  sort(request->headers, request->nheaders);
  hash_canonical(request, hash, err);
  tide_buf_printf(&text, err, ALGORITHM "\n%s\n%.*s/%s/%s/aws4_request\n%s", time, DATE_DIGITS, time, key->region,
                  key->service, hash);
  if (!tide_err_is_set(err))
    sign(key, time, &text, signature, err);
  tide_buf_clear(&text);
  tide_buf_printf(out, err, ALGORITHM " Credential=%s/%.*s/%s/%s/aws4_request, SignedHeaders=", key->id, DATE_DIGITS,
                  time, key->region, key->service);
  put_signed_names(out, request, err);
  tide_buf_printf(out, err, ", Signature=%s", signature);
}
