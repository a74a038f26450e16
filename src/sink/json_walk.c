#include "sink/json_walk.h"
#include "sink/text.h"

#include <string.h>

/* The place behind a string that begins at `at`. */
static const char *skip_string(const char *at) {
  for (at++; *at != '"'; at++) {
    if (*at == '\\')
      at++;
  }
  return at + 1;
}

/* The place behind a value that begins at `at`. */
static const char *skip_value(const char *at, const char *end) {
  size_t depth = 0;
  do {
    if (*at == '"') {
      at = skip_string(at);
    } else if (*at == '{' || *at == '[') {
      depth++;
      at++;
    } else if (*at == '}' || *at == ']') {
      depth--;
      at++;
    } else if (depth > 0) {
      at++;
    } else {
      while (at < end && *at != ',' && *at != '}' && *at != ']')
        at++;
    }
  } while (depth > 0);
  return at;
}

struct tide_json_walk tide_json_walk_into(struct tide_json_slice value) {
  if (!tide_json_is_object(value) && !tide_json_is_array(value))
    return (struct tide_json_walk){0};
  return (struct tide_json_walk){
      .at = value.at + 1, .end = value.at + value.size - 1, .named = tide_json_is_object(value)};
}

bool tide_json_walk_next(struct tide_json_walk *walk, struct tide_json_slice *ret_name,
                         struct tide_json_slice *ret_value) {
  if (walk->at >= walk->end)
    return false;
  const char *at = walk->at;
  *ret_name = (struct tide_json_slice){at, 0};
  if (walk->named) {
    const char *behind = skip_string(at);
    *ret_name = (struct tide_json_slice){at + 1, (size_t)(behind - at) - 2};
    at = behind + 1; /* the colon */
  }
  const char *behind = skip_value(at, walk->end);
  *ret_value = (struct tide_json_slice){at, (size_t)(behind - at)};
  walk->at = behind + 1; /* the comma, or one past the end */
  return true;
}

struct tide_json_slice tide_json_member(struct tide_json_slice object, const char *name) {
  struct tide_json_walk walk = tide_json_walk_into(object);
  struct tide_json_slice found, value;
  while (walk.named && tide_json_walk_next(&walk, &found, &value)) {
    if (tide_json_slice_is(found, name) && !tide_json_slice_is(value, "null"))
      return value;
  }
  return (struct tide_json_slice){0};
}

bool tide_json_is_string(struct tide_json_slice value) {
  return value.size >= 2 && value.at[0] == '"';
}

bool tide_json_is_object(struct tide_json_slice value) {
  return value.size >= 2 && value.at[0] == '{';
}

bool tide_json_is_array(struct tide_json_slice value) {
  return value.size >= 2 && value.at[0] == '[';
}

bool tide_json_slice_is(struct tide_json_slice slice, const char *text) {
  return slice.size == strlen(text) && (slice.size == 0 || memcmp(slice.at, text, slice.size) == 0);
}

bool tide_json_integer(struct tide_json_slice value, int64_t *ret_integer) {
  const bool negative = value.size > 0 && value.at[0] == '-';
  int64_t integer = 0;
  if (value.size <= (size_t)negative)
    return false;
  for (size_t i = negative; i < value.size; i++) {
    const int digit = value.at[i] - '0';
    if (digit < 0 || digit > 9 || __builtin_mul_overflow(integer, 10, &integer) ||
        __builtin_sub_overflow(integer, digit, &integer))
      return false;
  }
  if (!negative &&
      __builtin_sub_overflow(0, integer, &integer)) /* summed below zero, where there is room for one more */
    return false;
  *ret_integer = integer;
  return true;
}

/* ---- strings ---- */

static uint32_t hex4(const char *at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) {
    const char byte = at[i];
    const int digit = byte <= '9' ? byte - '0' : (byte | 0x20) - 'a' + 10;
    value = value << 4 | (uint32_t)digit;
  }
  return value;
}

/* Writes what the escape at `at`, behind its backslash, stands for, and gives the place behind it. */
static const char *unescape(const char *at, unsigned char **to) {
  static const char letter[] = "bfnrt";
  static const char byte[] = "\b\f\n\r\t";
  const char *found = strchr(letter, *at);
  if (*at != 'u') {
    *(*to)++ = (unsigned char)(found != NULL ? byte[found - letter] : *at);
    return at + 1;
  }
  uint32_t code = hex4(at + 1);
  at += 5;
  if (code >= 0xd800 && code <= 0xdbff) { /* its partner follows: the text is strict */
    code = 0x10000 + ((code - 0xd800) << 10) + (hex4(at + 2) - 0xdc00);
    at += 6;
  }
  *to += tide_text_utf8(code, *to);
  return at;
}

void tide_json_put_unescaped(struct tide_buf *out, struct tide_json_slice string, struct tide_err *err) {
  if (!tide_json_is_string(string) || tide_buf_reserve(out, string.size, err) != 0)
    return;
  unsigned char *to = out->data + out->len;
  const char *end = string.at + string.size - 1;
  for (const char *at = string.at + 1; at < end;) {
    if (*at == '\\')
      at = unescape(at + 1, &to);
    else
      *to++ = (unsigned char)*at++;
  }
  out->len = (size_t)(to - out->data);
}
