#include "sink/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sqlite.h"

static size_t count_digits(uint64_t value) {
  size_t digits = 1;
  for (; value >= 10000; value /= 10000)
    digits += 4;
  return digits + (value >= 10) + (value >= 100) + (value >= 1000);
}

size_t tide_text_int(int64_t value, char ret_text[TIDE_TEXT_INT_SIZE]) {
  static const char pairs[] =
      "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445"
      "46474849505152535455565758596061626364656667686970717273747576777879808182838485868788899091"
      "9293949596979899";
  const size_t sign = value < 0;
  uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  const size_t size = sign + count_digits(left);
  char *at = ret_text + size;
  for (; left >= 100; left /= 100)
    memcpy(at -= 2, pairs + left % 100 * 2, 2);
  if (left >= 10)
    memcpy(at - 2, pairs + left * 2, 2);
  else
    at[-1] = (char)('0' + left);
  if (sign > 0)
    ret_text[0] = '-';
  return size;
}

/* A double that is n / 10^places with |n| below 10^15 is written from n. The quotient of two exact doubles is correctly
 * rounded, so when it equals value the decimal reads back as value; and a decimal of at most 15 digits that does is the
 * one "%.15g" gives. Answers 0 when value is not such a number. */
static size_t fixed_real(double value, double scale, int places, char *ret_text) {
  double scaled = value * scale;
  if (!(scaled > -1e15 && scaled < 1e15))
    return 0;
  int64_t n = (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  if ((double)n / scale != value || n == 0)
    return 0;
  while (places > 1 && n % 10 == 0) {
    n /= 10;
    places--;
  }
  char digits[TIDE_TEXT_INT_SIZE];
  size_t size = tide_text_int(n < 0 ? -n : n, digits);
  char *to = ret_text;
  if (n < 0)
    *to++ = '-';
  size_t whole = size > (size_t)places ? size - (size_t)places : 0;
  if (whole == 0)
    *to++ = '0';
  memcpy(to, digits, whole);
  to += whole;
  *to++ = '.';
  for (size_t zeros = whole == 0 ? (size_t)places - size : 0; zeros > 0; zeros--)
    *to++ = '0';
  memcpy(to, digits + whole, size - whole);
  return (size_t)(to - ret_text) + size - whole;
}

/* Copies what printf wrote, with the locale's decimal mark (of any number of bytes) as a point, and with ".0" where
 * there was none. */
static size_t normalize_real(const char *printed, char *ret_text) {
  char *to = ret_text;
  bool point = false;
  for (const char *from = printed; *from != '\0'; from++) {
    bool plain = (*from >= '0' && *from <= '9') || *from == '-' || *from == '+' || *from == 'e';
    if ((*from == 'e' || !plain) && !point) {
      *to++ = '.';
      if (*from == 'e')
        *to++ = '0';
      point = true;
    }
    if (plain)
      *to++ = *from;
  }
  if (!point) {
    *to++ = '.';
    *to++ = '0';
  }
  return (size_t)(to - ret_text);
}

size_t tide_text_real(double value, char ret_text[TIDE_TEXT_REAL_SIZE]) {
  char printed[TIDE_TEXT_REAL_SIZE];
  double magnitude = value < 0 ? -value : value;
  if (value == 0) {
    const size_t size = signbit(value) ? 4 : 3;
    memcpy(ret_text, signbit(value) ? "-0.0" : "0.0", size);
    return size;
  }
  if (magnitude >= 1e-4 && magnitude < 1e15) {
    size_t size = fixed_real(value, 1e3, 3, ret_text);
    if (size == 0)
      size = fixed_real(value, 1e8, 8, ret_text);
    if (size > 0)
      return size;
  }
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(printed, sizeof printed, "%.*g", digits, value);
    if (strtod(printed, NULL) == value)
      break;
  }
  return normalize_real(printed, ret_text);
}

void tide_text_put_int(struct tide_buf *out, int64_t value, struct tide_err *err) {
  if (tide_buf_reserve(out, TIDE_TEXT_INT_SIZE, err) == 0)
    out->len += tide_text_int(value, (char *)out->data + out->len);
}

void tide_text_put_real(struct tide_buf *out, double value, struct tide_err *err) {
  if (isinf(value))
    tide_buf_put_string(out, value > 0 ? "Infinity" : "-Infinity", err);
  else if (tide_buf_reserve(out, TIDE_TEXT_REAL_SIZE, err) == 0)
    out->len += tide_text_real(value, (char *)out->data + out->len);
}

void tide_text_put_base64(struct tide_buf *out, const void *bytes, size_t size, struct tide_err *err) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *from = bytes;
  if (size > SIZE_MAX / 2) {
    tide_err_nomem(err);
    return;
  }
  if (tide_buf_reserve(out, (size + 2) / 3 * 4, err) != 0)
    return;
  unsigned char *to = out->data + out->len;
  size_t left = size;
  for (; left >= 3; left -= 3, from += 3) {
    uint32_t three = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];
    *to++ = (unsigned char)letters[three >> 18];
    *to++ = (unsigned char)letters[three >> 12 & 63];
    *to++ = (unsigned char)letters[three >> 6 & 63];
    *to++ = (unsigned char)letters[three & 63];
  }
  if (left > 0) {
    uint32_t three = (uint32_t)from[0] << 16 | (left == 2 ? (uint32_t)from[1] << 8 : 0);
    *to++ = (unsigned char)letters[three >> 18];
    *to++ = (unsigned char)letters[three >> 12 & 63];
    *to++ = left == 2 ? (unsigned char)letters[three >> 6 & 63] : '=';
    *to++ = '=';
  }
  out->len = (size_t)(to - out->data);
}

int tide_text_sequence(const unsigned char *at, const unsigned char *end) {
  unsigned char lead = *at;
  if (lead < 0x80)
    return 1;
  if (lead < 0xc2 || lead > 0xf4)
    return -1;
  int size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (int i = 1; i < size; i++) {
    if (at + i == end || at[i] < low || at[i] > high)
      return -i;
    low = 0x80;
    high = 0xbf;
  }
  return size;
}

/* The end of the well-formed text that begins at `at`. */
static const unsigned char *skip_well_formed(const unsigned char *at, const unsigned char *end) {
  while (at < end) {
    uint64_t word;
    while (end - at >= (ptrdiff_t)sizeof word) {
      memcpy(&word, at, sizeof word);
      if ((word & UINT64_C(0x8080808080808080)) != 0)
        break;
      at += sizeof word;
    }
    while (at < end && *at < 0x80)
      at++;
    if (at == end)
      break;
    int size = tide_text_sequence(at, end);
    if (size < 0)
      break;
    at += size;
  }
  return at;
}

void tide_text_put_utf8(struct tide_buf *out, const void *text, size_t size, bool *altered, struct tide_err *err) {
  const unsigned char *at = text;
  const unsigned char *end = at + size;
  while (at < end && !tide_err_is_set(err)) {
    const unsigned char *stop = skip_well_formed(at, end);
    tide_buf_put(out, at, (size_t)(stop - at), err);
    at = stop;
    if (at == end)
      break;
    *altered = true;
    tide_buf_put(out, "\xef\xbf\xbd", 3, err);
    at -= tide_text_sequence(at, end);
  }
}

size_t tide_text_utf8(uint32_t code, unsigned char ret_bytes[TIDE_TEXT_UTF8_SIZE]) {
  if (code < 0x80) {
    ret_bytes[0] = (unsigned char)code;
    return 1;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
  ret_bytes[0] = (unsigned char)(lead[more] | code >> (6 * more));
  for (int i = 1; i <= more; i++)
    ret_bytes[i] = (unsigned char)(0x80 | (code >> (6 * (more - i)) & 0x3f));
  return (size_t)more + 1;
}
