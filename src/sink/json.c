#include "sink/json.h"

#include <string.h>

#include "codec/bitpack.h"
#include "sink/text.h"

/* ---- strings ---- */

enum {
  SLICE = 65536, /* bytes of a string between two looks at the room left */
  WORST = 6,     /* bytes out for a byte in: \u00XX */
  SLACK = 32     /* quotes, a sequence that crosses a slice's end, and a word stored before its length is known */
};

/* How many of eight bytes, from the lowest on, are no control character, quote, backslash or above 0x7f. A difference
 * borrows from the byte above it only where it has found one: the lowest that is found is one in truth. */
static inline unsigned plain_bytes(uint64_t word) {
  const uint64_t ones = UINT64_C(0x0101010101010101);
  const uint64_t control = (word - ones * 0x20) & ~word;
  uint64_t quote = word ^ (ones * '"');
  uint64_t backslash = word ^ (ones * '\\');
  quote = (quote - ones) & ~quote;
  backslash = (backslash - ones) & ~backslash;
  const uint64_t found = (word | control | quote | backslash) & (ones * 0x80);
  return found == 0 ? 8 : (unsigned)__builtin_ctzll(found) / 8;
}

static inline bool is_plain(unsigned char byte) {
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/* Copies plain bytes up to the first other one; *to needs eight bytes of room beyond. Gives where it stopped. */
static inline const unsigned char *copy_plain(const unsigned char *at, const unsigned char *stop, unsigned char **to) {
  unsigned char *into = *to;
  while (stop - at >= 8) {
    const unsigned plain = plain_bytes(tide_load_u64(at));
    memcpy(into, at, 8);
    at += plain;
    into += plain;
    if (plain < 8) {
      *to = into;
      return at;
    }
  }
  while (at < stop && is_plain(*at))
    *into++ = *at++;
  *to = into;
  return at;
}

static unsigned char *escape(unsigned char byte, unsigned char *to) {
  static const char hex[] = "0123456789abcdef";
  static const char from[] = "\"\\\b\f\n\r\t";
  static const char letter[] = "\"\\bfnrt";
  const char *found = byte != 0 ? strchr(from, byte) : NULL;
  *to++ = '\\';
  if (found != NULL) {
    *to++ = (unsigned char)letter[found - from];
    return to;
  }
  memcpy(to, "u00", 3);
  to[3] = (unsigned char)hex[byte >> 4];
  to[4] = (unsigned char)hex[byte & 15];
  return to + 5;
}

/* Writes the one character at `at` that is not plain and gives the place behind it. */
static const unsigned char *put_special(const unsigned char *at, const unsigned char *end, unsigned char **to,
                                        bool *altered) {
  if (*at < 0x80) {
    *to = escape(*at, *to);
    return at + 1;
  }
  int size = tide_text_sequence(at, end);
  if (size < 0) {
    *altered = true;
    memcpy(*to, "\xef\xbf\xbd", 3);
    *to += 3;
    return at - size;
  }
  memcpy(*to, at, (size_t)size);
  *to += size;
  return at + size;
}

void tide_json_put_string(struct tide_buf *out, const void *text, size_t size, bool *altered, struct tide_err *err) {
  const unsigned char *at = text;
  const unsigned char *end = at + size;
  bool first = true;
  do {
    size_t slice = (size_t)(end - at) < SLICE ? (size_t)(end - at) : SLICE;
    if (tide_buf_reserve(out, slice * WORST + SLACK, err) != 0)
      return;
    unsigned char *to = out->data + out->len;
    if (first)
      *to++ = '"';
    first = false;
    const unsigned char *stop = at + slice;
    while ((at = copy_plain(at, stop, &to)) < stop)
      at = put_special(at, end, &to, altered);
    if (at == end)
      *to++ = '"';
    out->len = (size_t)(to - out->data);
  } while (at < end);
}

/* ---- numbers ---- */

void tide_json_put_real(struct tide_buf *out, double value, bool *altered, struct tide_err *err) {
  char text[TIDE_TEXT_REAL_SIZE];
  if (value != value) {
    tide_buf_put_string(out, "null", err);
  } else if (value - value != 0) {
    *altered = true;
    tide_buf_put_string(out, value > 0 ? "\"Infinity\"" : "\"-Infinity\"", err);
  } else if (value == 0) {
    tide_buf_put_string(out, 1 / value < 0 ? "-0.0" : "0.0", err);
  } else {
    tide_buf_put(out, text, tide_text_real(value, text), err);
  }
}

/* ---- strict texts ---- */

/* Reads at `at` and writes what it accepts at `to`; each step gives false at the first byte that is not strict. */
struct json_copy {
  const unsigned char *at;
  const unsigned char *end;
  unsigned char *to;
};

static bool next_is(const struct json_copy *copy, unsigned char byte) {
  return copy->at < copy->end && *copy->at == byte;
}

static bool next_is_digit(const struct json_copy *copy) {
  return copy->at < copy->end && *copy->at >= '0' && *copy->at <= '9';
}

static void take(struct json_copy *copy) {
  *copy->to++ = *copy->at++;
}

static void skip_space(struct json_copy *copy) {
  while (next_is(copy, ' ') || next_is(copy, '\n') || next_is(copy, '\r') || next_is(copy, '\t'))
    copy->at++;
}

/* The four digits of \uXXXX at copy->at, which moves behind them; -1 when they are not there. Writes nothing. */
static int32_t hex4(struct json_copy *copy) {
  int32_t value = 0;
  if (copy->end - copy->at < 4)
    return -1;
  for (int i = 0; i < 4; i++) {
    unsigned char byte = *copy->at++;
    int digit = byte >= '0' && byte <= '9'   ? byte - '0'
                : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                             : -1;
    if (digit < 0)
      return -1;
    value = value << 4 | digit;
  }
  return value;
}

static bool copy_escape(struct json_copy *copy) {
  const unsigned char *start = copy->at++;
  if (copy->at == copy->end || *copy->at == '\0' || strchr("\"\\/bfnrtu", *copy->at) == NULL)
    return false;
  if (*copy->at++ == 'u') {
    int32_t unit = hex4(copy);
    if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff))
      return false;
    if (unit >= 0xd800 && unit <= 0xdbff) {
      if (copy->end - copy->at < 6 || copy->at[0] != '\\' || copy->at[1] != 'u')
        return false;
      copy->at += 2;
      int32_t low = hex4(copy);
      if (low < 0xdc00 || low > 0xdfff)
        return false;
    }
  }
  memcpy(copy->to, start, (size_t)(copy->at - start));
  copy->to += copy->at - start;
  return true;
}

static bool copy_string(struct json_copy *copy) {
  if (!next_is(copy, '"'))
    return false;
  take(copy);
  for (;;) {
    copy->at = copy_plain(copy->at, copy->end, &copy->to);
    if (copy->at == copy->end || *copy->at < 0x20)
      return false;
    if (*copy->at == '"') {
      take(copy);
      return true;
    }
    if (*copy->at == '\\') {
      if (!copy_escape(copy))
        return false;
      continue;
    }
    int size = tide_text_sequence(copy->at, copy->end);
    if (size < 0)
      return false;
    for (; size > 0; size--)
      take(copy);
  }
}

static bool copy_digits(struct json_copy *copy) {
  if (!next_is_digit(copy))
    return false;
  while (next_is_digit(copy))
    take(copy);
  return true;
}

static bool copy_number(struct json_copy *copy) {
  if (next_is(copy, '-'))
    take(copy);
  if (next_is(copy, '0'))
    take(copy);
  else if (!copy_digits(copy))
    return false;
  if (next_is(copy, '.')) {
    take(copy);
    if (!copy_digits(copy))
      return false;
  }
  if (next_is(copy, 'e') || next_is(copy, 'E')) {
    take(copy);
    if (next_is(copy, '+') || next_is(copy, '-'))
      take(copy);
    return copy_digits(copy);
  }
  return true;
}

static bool copy_word(struct json_copy *copy, const char *word) {
  size_t size = strlen(word);
  if ((size_t)(copy->end - copy->at) < size || memcmp(copy->at, word, size) != 0)
    return false;
  for (; size > 0; size--)
    take(copy);
  return true;
}

static bool copy_scalar(struct json_copy *copy) {
  if (copy->at == copy->end)
    return false;
  switch (*copy->at) {
  case '"':
    return copy_string(copy);
  case 't':
    return copy_word(copy, "true");
  case 'f':
    return copy_word(copy, "false");
  case 'n':
    return copy_word(copy, "null");
  default:
    return copy_number(copy);
  }
}

/* "name": of an object's member, with the space around it. */
static bool copy_name(struct json_copy *copy) {
  skip_space(copy);
  if (!copy_string(copy))
    return false;
  skip_space(copy);
  if (!next_is(copy, ':'))
    return false;
  take(copy);
  skip_space(copy);
  return true;
}

/* Closes what ends at copy->at, then takes the comma, and the name in an object, before the next value. *depth is 0 at
 * the end of the outermost value. open[i]: the bracket that closes level i. */
static bool copy_after_value(struct json_copy *copy, const unsigned char *open, size_t *depth) {
  skip_space(copy);
  while (*depth > 0 && next_is(copy, open[*depth - 1])) {
    take(copy);
    (*depth)--;
    skip_space(copy);
  }
  if (*depth == 0)
    return true;
  if (!next_is(copy, ','))
    return false;
  take(copy);
  skip_space(copy);
  return open[*depth - 1] == ']' || copy_name(copy);
}

static bool copy_text(struct json_copy *copy) {
  unsigned char open[TIDE_JSON_DEPTH_MAX];
  size_t depth = 0;
  skip_space(copy);
  do {
    if (next_is(copy, '[') || next_is(copy, '{')) {
      if (depth == TIDE_JSON_DEPTH_MAX)
        return false;
      unsigned char close = *copy->at == '[' ? ']' : '}';
      open[depth++] = close;
      take(copy);
      skip_space(copy);
      if (!next_is(copy, close)) {
        if (close == '}' && !copy_name(copy))
          return false;
        continue;
      }
    } else if (!copy_scalar(copy)) {
      return false;
    }
    if (!copy_after_value(copy, open, &depth))
      return false;
  } while (depth > 0);
  return copy->at == copy->end;
}

bool tide_json_put_strict(struct tide_buf *out, const void *text, size_t size, struct tide_err *err) {
  if (size > SIZE_MAX - SLACK) {
    tide_err_nomem(err);
    return false;
  }
  if (tide_buf_reserve(out, size + SLACK, err) != 0)
    return false;
  struct json_copy copy = {.at = text, .end = (const unsigned char *)text + size, .to = out->data + out->len};
  if (!copy_text(&copy))
    return false;
  out->len = (size_t)(copy.to - out->data);
  return true;
}
